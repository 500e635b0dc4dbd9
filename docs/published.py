"""What the literature reports about each objective, and tables that put our measurements beside it.

The survey is Ruder 2016, "On word embeddings - Part 2: Approximating the softmax", as in its table 1. Chen is Chen,
Grangier & Auli 2015, "Strategies for training large vocabulary neural language models".
"""

from collections.abc import Mapping
from typing import NamedTuple

from w2vtrain.leaves.compare.comparison_tables import markdown
from w2vtrain.leaves.compare.contenders import without_budget

MISSING = "not measured"
"""What stands for a figure that has not been measured."""

CHEN_SOFTMAX = (123.8, 108.3)
"""Perplexities of the softmax in Chen: Penn Treebank, 10,000 words; One Billion Word, 800,000 words."""


class Claim(NamedTuple):
    """What is reported about an objective, and which of our runs to put beside it.

    ptb, wiki: our contenders, on the Penn Treebank and on Wikipedia. faster: the reported speed-up in training; in
    parentheses, that of the method's authors. gain: whether the survey reports a gain in training
    (T) and in scoring (S). parameters: the survey's share of the output parameters. small, large: its verdicts on the
    perplexity with a small and a large vocabulary. chen: the perplexities that belong to those of CHEN_SOFTMAX.
    """

    ptb: str
    wiki: str
    faster: str = ""
    gain: str = ""
    parameters: str = ""
    small: str = ""
    large: str = ""
    chen: tuple[float | None, float | None] = (None, None)

    @property
    def name(self) -> str:
        """The objective, in Markdown."""
        return f"`{self.wiki}`"


CLAIMS = (
    Claim("softmax(epochs=8)", "softmax", "1x", "", "100%", "very good", "very poor", CHEN_SOFTMAX),
    Claim("hs(epochs=8)", "hs", "25x (50-100x)", "T", "100%", "very poor", "very good"),
    Claim("class-softmax(epochs=8)", "class-softmax", "", "", "", "", "", (None, 92.0)),
    Claim("adaptive-softmax(epochs=4)", "adaptive-softmax", "(2-10x)"),
    Claim("dsoftmax(epochs=2)", "dsoftmax", "2x", "T, S", "< 100%", "very good", "very good", (121.1, 91.2)),
    Claim("cnn-softmax(epochs=2)", "cnn-softmax", "", "T", "30%", "", "bad to good"),
    Claim("is(epochs=2)", "is", "(19x)", "T", "100%"),
    Claim("adaptive-is(epochs=4)", "adaptive-is", "(100x)", "T", "100%"),
    Claim("target(size=4096, epochs=2)", "target", "2x", "T", "100%", "good", "bad", (124.2, 101.0)),
    Claim("sampled-softmax(epochs=8)", "sampled-softmax"),
    Claim(
        "nce(negative=25, epochs=8)", "nce(negative=25)", "8x (45x)", "T", "100%", "very bad", "very bad",
        (143.1, 104.7),
    ),
    Claim("bigram-nce(negative=50, epochs=8)", "bigram-nce(negative=50)"),
    Claim("neg(alpha=0.05, epochs=8)", "neg(alpha=0.05)", "(50-100x)", "T", "100%"),
    Claim("selfnorm(alpha=0.02, epochs=2)", "selfnorm", "(15x)", "T", "100%"),
    Claim(
        "infrequent-norm(alpha=0.02, epochs=2)", "infrequent-norm", "6x (10x)", "T", "100%", "very good", "good",
        (122.1, 94.9),
    ),
    Claim("lsh(epochs=2)", "lsh", "(up to 10x)"),
)  # fmt: skip


def speeds(figures: Mapping[str, str]) -> str:
    """Return the table of the reported speed-ups and parameters, and ours. figures: see yardstick.Figures."""
    small, medium, large = (
        _size(figures, run) for run in ("ptb|softmax(epochs=8)", "enwiki|softmax", "allwords|softmax")
    )
    head = [
        "objective", "reported", "gain", f"training: {small}", medium, large, f"scoring: {small}", medium,
        "parameters: survey", f"ours, {medium}",
    ]  # fmt: skip
    rows = []
    for claim in CLAIMS:
        runs = (f"ptb|{without_budget(claim.ptb)}", f"enwiki|{claim.wiki}", f"allwords|{claim.wiki}")
        ours = [_known(figures, f"{run}|training") for run in runs]
        ours += [_known(figures, f"{run}|scoring") for run in runs[:2]]
        parameters = [claim.parameters, _known(figures, f"{runs[1]}|parameters")]
        rows.append([claim.name, claim.faster, claim.gain, *ours, *parameters])
    return markdown([head, *rows])


def verdicts(figures: Mapping[str, str]) -> str:
    """Return the table of the reported perplexities and verdicts, and ours. figures: see yardstick.Figures."""
    studies = ("enwiki", "allwords", "phrases")
    head = [
        "objective", "small vocabulary: survey", "Chen, 10,000 words",
        f"ours, {_size(figures, 'ptb|softmax(epochs=8)')}", "large vocabulary: survey", "Chen, 800,000 words",
        *(f"ours, {_size(figures, f'{study}|softmax')}" for study in studies),
    ]  # fmt: skip
    rows = []
    for claim in CLAIMS:
        chen = [f"{p / base - 1:+.1%}" if p else "" for p, base in zip(claim.chen, CHEN_SOFTMAX, strict=True)]
        large = [_known(figures, f"{study}|{claim.wiki}|gap") for study in studies]
        small = _known(figures, f"ptb|{claim.ptb}|gap")
        rows.append([claim.name, claim.small, chen[0], small, claim.large, chen[1], *large])
    return markdown([head, *rows])


def _size(figures: Mapping[str, str], run: str) -> str:
    """Return the vocabulary of a run, in words."""
    return figures[f"{run}|vocabulary"] + " words"


def _known(figures: Mapping[str, str], key: str) -> str:
    """Return a figure without its range, or nothing if it has not been measured."""
    return "" if figures[key] == MISSING else figures[key].partition(" (")[0]
