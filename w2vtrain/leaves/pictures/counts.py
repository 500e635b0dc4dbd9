"""Draw counts of words by rank, with a fitted Zipf-Mandelbrot law, and what --min-count and --sample leave of them."""

import math
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2vtrain.errors import DataError, UsageError, spelled
from w2vtrain.formats.sniff import sniff
from w2vtrain.formats.vectors import read_vectors
from w2vtrain.leaves.figures import plain_numbers
from w2vtrain.leaves.pictures.figures import COLORS, chart_figure
from w2vtrain.leaves.pictures.page import LIGHT, shortened
from w2vtrain.probability.subsampling import keep_probabilities
from w2vtrain.text.vocabulary import Vocabulary

Counts = NDArray[np.int64]
MAX_POINTS = 400
"""Ranks that are fitted and drawn, evenly spaced on the logarithmic axis."""


class ZipfMandelbrot(NamedTuple):
    """The law f(r) = C / (r + q)^s of the count of the word of rank r (Mandelbrot 1953). error: rms, in log10."""

    C: float
    q: float
    s: float
    error: float

    def at(self, rank: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the counts at ranks, from 1."""
        values: NDArray[np.float64] = self.C / (rank + self.q) ** self.s
        return values


class Kept(NamedTuple):
    """What is left of a vocabulary: types and tokens after --min-count, and expected tokens after --sample, too."""

    types: int
    tokens: int
    sampled: float


def read_falling_counts(path: str | Path) -> Counts:
    """Return the counts (V,) of a vocabulary or a model, in descending order.

    Raise InputMissing if the file cannot be opened, and DataError if it is damaged or has no counts.
    """
    if sniff(path).kind == "vocabulary":
        return Vocabulary.load(path).counts
    remedy = f"name a model, or a file that `w2vtrain vocab` wrote with {spelled('min_count', 1)}"
    try:
        counts = read_vectors(path).counts
    except DataError as error:
        raise DataError(f"{error}: {remedy}") from error
    if counts is None or not len(counts) or not counts.max():
        raise DataError(f"{path}: has no counts: {remedy}")
    return np.sort(np.maximum(counts, 1))[::-1]


def spaced_ranks(size: int) -> NDArray[np.int64]:
    """Return up to MAX_POINTS distinct ranks from 1 to `size`, evenly spaced on a logarithmic axis."""
    return np.unique(np.geomspace(1, size, MAX_POINTS).round().astype(np.int64))


def fit_law(counts: Counts) -> ZipfMandelbrot:
    """Fit the law to falling counts (V,) by least squares of the logarithm of the counts at `spaced_ranks`.

    Evenly spaced ranks give every decade of ranks the same weight, as the picture does; 0 <= q <= V. Raise DataError
    for fewer than 3 words.
    """
    from scipy.optimize import minimize_scalar  # takes a quarter of a second to import

    if len(counts) < 3:
        raise DataError(f"{len(counts)} words: the law of Zipf and Mandelbrot needs at least 3")
    ranks = spaced_ranks(len(counts))
    y, r = np.log(counts[ranks - 1].astype(np.float64)), ranks.astype(np.float64)

    def regression(q: float) -> tuple[float, float, float]:
        """Return the intercept, the slope and the mean squared error of y against log(r + q)."""
        x = np.log(r + q)
        slope = float(((x - x.mean()) * (y - y.mean())).sum() / np.square(x - x.mean()).sum())
        intercept = float(y.mean() - slope * x.mean())
        return intercept, slope, float(np.square(y - intercept - slope * x).mean())

    best = minimize_scalar(
        lambda t: regression(math.expm1(t))[2], bounds=(0, math.log1p(len(counts))), method="bounded",
        options={"xatol": 1e-6},
    )  # fmt: skip
    q = min((0.0, math.expm1(float(best.x))), key=lambda q: regression(q)[2])
    intercept, slope, error = regression(q)
    return ZipfMandelbrot(math.exp(intercept), q, -slope, math.sqrt(error) / math.log(10))


def kept_by(counts: Counts, min_count: int, sample: float) -> Kept:
    """Return what is left of falling counts (V,) by --min-count and then by --sample, as training applies them."""
    kept = counts[counts >= min_count]
    if not len(kept):
        raise UsageError(f"{spelled('min_count', min_count)} leaves no word: the highest count is {int(counts[0]):,}")
    return Kept(len(kept), int(kept.sum()), float(kept @ keep_probabilities(kept, sample)))


def captions(counts: Counts, min_count: int, sample: float) -> list[str]:
    """Return the sentences below the picture: the law, and the types and tokens that are left."""
    law, kept = fit_law(counts), kept_by(counts, min_count, sample)
    types, tokens = len(counts), int(counts.sum())
    lines = [
        f"Line: f(r) = C / (r + q)^s with s = {law.s:.3f}, q = {law.q:.2f}, C = {law.C:,.0f}; least squares of log f at"
        f" ranks evenly spaced in log r; rms error {law.error:.3f} decades.",
        f"{spelled('min_count', min_count)} leaves {kept.types:,} of {types:,} distinct words"
        f" ({kept.types / types:.1%}) and {kept.tokens:,} of {tokens:,} words ({kept.tokens / tokens:.1%}).",
    ]
    if sample:
        lines.append(
            f"{spelled('sample', sample)} then keeps {kept.sampled:,.0f} words per epoch"
            f" ({kept.sampled / kept.tokens:.1%})."
        )
    if counts[-1] > 1:
        lines.append(f"The rarest word here occurs {int(counts[-1]):,} times: rarer ones may have been left out.")
    return lines


def counts_figure(counts: Counts, min_count: int, sample: float, title: str, notes: Sequence[str] = ()) -> Any:
    """Return the picture of falling counts (V,). notes: sentences below it, those of `captions`."""
    kept, law = kept_by(counts, min_count, sample), fit_law(counts)
    ranks = spaced_ranks(len(counts))
    left = ranks[ranks <= kept.types]
    sampled = (counts[: kept.types] * keep_probabilities(counts[: kept.types], sample))[left - 1]
    lines = [line for note in notes for line in wrap(note, 125)]
    figure = chart_figure(860, 560 + 19 * len(lines))
    axes = figure.subplots()
    axes.set_title(shortened(title, 100), loc="left", size=11, weight="bold")
    axes.set(xscale="log", yscale="log", xlabel="rank of the word (both axes logarithmic)", ylabel="count")
    axes.plot(ranks, counts[ranks - 1], ls="", marker=".", ms=4, color=COLORS[0], label="counts")
    low, high = 0.7 * min(int(counts[-1]), sampled.min()), 1.5 * int(counts[0])
    axes.plot(ranks, law.at(ranks.astype(np.float64)), lw=1.3, color=COLORS[1], label="Zipf-Mandelbrot law")
    if sample:
        axes.plot(left, sampled, lw=1.3, ls="--", color=COLORS[3], label=f"after {spelled('sample', sample)}")
    if kept.types < len(counts):
        removed = f"below {spelled('min_count', min_count)}"
        axes.axvspan(kept.types + 0.5, 1.1 * len(counts), color="gray", alpha=0.16, lw=0, label=removed)
    axes.set(xlim=(0.9, 1.1 * len(counts)), ylim=(low, high))
    for axis in (axes.xaxis, axes.yaxis):
        plain_numbers(axis)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower left", frameon=False)
    if lines:
        figure.supxlabel("\n".join(lines), x=0.02, ha="left", size=8.5, color=LIGHT["muted"])
    return figure
