"""Which objective to choose: the decision table, as data for the command `objectives` and for the documentation.

It has words but no figures; docs/objectives.md has the measurements.
"""

from typing import NamedTuple


class Advice(NamedTuple):
    """A row of the decision table.

    want: what a user wants; vocabulary: the number of words for which the row holds; training: how long training may
    take; normalized: whether the scores are probabilities that sum to 1 over the words; scoring: the output rows that
    one word's probability takes; use: one or more objectives with their options, as for `--objective`; why: the
    reason, in words.
    """

    want: str
    vocabulary: str
    training: str
    normalized: str
    scoring: str
    use: tuple[str, ...]
    why: str


HEAD = ("you want", "vocabulary", "training time", "normalized", "scoring")
"""The titles of the first columns."""

ADVICE = (
    Advice(
        "word vectors", "any", "any", "no", "-", ("neg",),
        "the default, as fast as any and good on every test of word vectors",
    ),
    Advice(
        "a language model", "any", "seconds or minutes", "nearly", "one", ("bigram-nce -O negative=50",),
        "level with the softmax after as many passes over a million words, in a fraction of its time",
    ),
    Advice(
        "a language model", "any", "seconds", "nearly", "one", ("nce -O negative=25",),
        "faster still, and overfits later on a small text",
    ),
    Advice(
        "a language model", "any", "seconds", "exactly", "one path", ("hs",),
        "normalized by construction, at a higher perplexity than the others",
    ),
    Advice(
        "a language model", "any", "minutes", "exactly", "a few", ("adaptive-softmax", "class-softmax"),
        "close to the softmax in a fraction of its time, and only some rows to score a word",
    ),
    Advice(
        "a language model", "10,000 to 100,000", "minutes", "exactly", "all", ("sampled-softmax",),
        "nearly the softmax's perplexity in a fraction of its time, if scoring may sum over all words",
    ),
    Advice(
        "a language model", "up to 20,000", "hours", "exactly", "all", ("softmax",),
        "the lowest perplexity after long training; the reference for all others",
    ),
    Advice(
        "fewer parameters", "large", "any", "exactly", "all", ("cnn-softmax", "char-softmax", "dsoftmax"),
        "rows computed from letters, or narrow rows for rare words",
    ),
)  # fmt: skip
