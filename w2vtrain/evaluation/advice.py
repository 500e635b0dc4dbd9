"""Which objective to choose: the decision table, as data for the command `objectives` and for the documentation.

It has words but no figures; docs/objectives.md has the measurements.
"""

from typing import NamedTuple


class Advice(NamedTuple):
    """A row of the decision table, which claims only what docs/objectives.md shows.

    want: what a user wants; vocabulary: the numbers of words with which the row was measured; cpu: the CPU time of
    training on a million words; normalized: whether the scores are probabilities that sum to 1 over the words; scoring:
    the output rows that one word's probability takes; use: one or more objectives with their options, as for
    `--objective`; why: the reason, in words.
    """

    want: str
    vocabulary: str
    cpu: str
    normalized: str
    scoring: str
    use: tuple[str, ...]
    why: str


HEAD = ("you want", "vocabulary", "CPU time", "normalized", "scoring")
"""The titles of the first columns."""
COLUMNS = (
    "Vocabulary: the numbers of words with which a row was measured. CPU time: of training on a million words, on one"
    " thread, which gave the perplexity that the reason names; word vectors need more text. Scoring: the output rows"
    " that one word's probability takes."
)
"""What the columns mean."""

ADVICE = (
    Advice(
        "word vectors", "70,000", "seconds", "no", "-", ("neg",),
        "the default: the best of eight objectives on analogies and word similarity, and about as fast as the fastest",
    ),
    Advice(
        "a language model", "10,000", "half a minute", "nearly", "one", ("bigram-nce -O negative=50",),
        "level with the softmax after eight epochs, in a fraction of its time; with more words and short training, it"
        " is behind nce",
    ),
    Advice(
        "a language model", "10,000 to 600,000", "seconds", "nearly", "one", ("nce -O negative=25",),
        "two to six times as fast as bigram-nce, and the lowest of all after short training with the larger"
        " vocabularies; with the smallest, more than eight epochs did not help",
    ),
    Advice(
        "a language model", "10,000 to 600,000", "a second or two", "exactly", "one path", ("hs",),
        "the lowest of the normalized ones after short training, because it has then seen many times their text; after"
        " equally many epochs it is behind most of them, and it ends higher than adaptive-softmax and class-softmax",
    ),
    Advice(
        "a language model", "10,000", "a minute", "exactly", "a part", ("adaptive-softmax",),
        "the lowest of those that normalize without all rows, with a quarter of the parameters",
    ),
    Advice(
        "a language model", "10,000 to 600,000", "half a minute", "exactly", "a part", ("class-softmax",),
        "three times as fast as adaptive-softmax or more, and lower after short training with the larger vocabularies",
    ),
    Advice(
        "a language model", "10,000", "a minute", "exactly", "all", ("sampled-softmax",),
        "nearly level with the softmax after eight epochs, in an eighth of its time",
    ),
    Advice(
        "a language model", "10,000", "ten minutes", "exactly", "all", ("softmax",),
        "the reference: no other objective ended lower",
    ),
    Advice(
        "fewer parameters", "10,000 to 600,000", "a minute", "exactly", "a part", ("adaptive-softmax",),
        "narrow rows for rare words: an eighth to a quarter of the parameters",
    ),
    Advice(
        "fewer parameters", "10,000", "a minute", "exactly", "all", ("cnn-softmax", "char-softmax -O cell=lstm"),
        "rows computed from letters, or no rows at all; only two epochs were measured, and the fewer parameters, the"
        " higher was the perplexity",
    ),
)  # fmt: skip
