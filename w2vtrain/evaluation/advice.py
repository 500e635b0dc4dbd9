"""Which objective to choose: the decision table, as data for the command `objectives` and for the documentation.

It has words but no figures; docs/objectives.md has the measurements.
"""

from typing import NamedTuple


class Advice(NamedTuple):
    """A row of the decision table.

    want: what a user wants; vocabulary: the number of words for which the row holds; training: how long training may
    take; use: one or more objectives with their options, as for `--objective`; why: the reason, in words.
    """

    want: str
    vocabulary: str
    training: str
    use: tuple[str, ...]
    why: str


ADVICE = (
    Advice(
        "word vectors", "any", "any", ("neg",),
        "the default, as fast as any and good on every test of word vectors",
    ),
    Advice(
        "a language model", "any", "seconds or minutes", ("bigram-nce -O negative=50",),
        "level with the softmax after as many passes over a million words, in a fraction of its time",
    ),
    Advice(
        "a language model of less text", "any", "seconds", ("nce -O negative=25",),
        "overfits later than bigram-nce, and is faster still",
    ),
    Advice(
        "a language model", "10,000 to 100,000", "minutes", ("sampled-softmax",),
        "nearly the softmax's perplexity in a fraction of its time",
    ),
    Advice(
        "a language model", "up to 20,000", "hours", ("softmax",),
        "the lowest perplexity after long training; the reference for all others",
    ),
    Advice(
        "exact probabilities, cheaply", "any", "any", ("hs",),
        "normalized by construction; a word costs one path through a tree",
    ),
    Advice(
        "scores without normalizing", "any", "any", ("nce", "selfnorm"),
        "log Z stays near 0, so one output row is enough to score a word",
    ),
    Advice(
        "few output parameters", "large", "any", ("cnn-softmax", "char-softmax", "dsoftmax"),
        "rows computed from letters, or narrow rows for rare words",
    ),
)  # fmt: skip
