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
        "a language model", "any", "several epochs", "nearly", "one", ("bigram-nce -O negative=50",),
        "ends level with the softmax on a million words, in a fraction of its time",
    ),
    Advice(
        "a language model", "any", "an epoch or less", "nearly", "one", ("nce -O negative=25",),
        "several times as fast as bigram-nce; more epochs soon stop helping",
    ),
    Advice(
        "a language model", "any", "an epoch or less", "exactly", "one path", ("hs",),
        "the best normalized one after short training; later, adaptive-softmax and class-softmax end lower",
    ),
    Advice(
        "a language model", "any", "several epochs", "exactly", "a part", ("adaptive-softmax", "class-softmax"),
        "adaptive-softmax ends lower, and with fewer parameters; class-softmax is several times as fast",
    ),
    Advice(
        "a language model", "10,000 to 100,000", "several epochs", "exactly", "all", ("sampled-softmax",),
        "ends nearly level with the softmax, in a fraction of its time",
    ),
    Advice(
        "a language model", "up to 20,000", "many epochs", "exactly", "all", ("softmax",),
        "the reference: no other objective ends lower",
    ),
    Advice(
        "fewer parameters", "any", "several epochs", "exactly", "a part", ("adaptive-softmax",),
        "narrow rows for rare words",
    ),
    Advice(
        "fewer parameters", "any", "many epochs", "exactly", "all", ("cnn-softmax", "char-softmax -O cell=lstm"),
        "rows computed from letters, or no rows at all; the fewer parameters, the higher the perplexity",
    ),
)  # fmt: skip
