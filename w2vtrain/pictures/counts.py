"""Draw counts of words by rank, with a fitted Zipf-Mandelbrot law, and what --min-count and --sample leave of them."""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2vtrain.errors import DataError, UsageError, spelled
from w2vtrain.formats.sniff import sniff
from w2vtrain.formats.vectors import read_vectors
from w2vtrain.pictures.chart import Chart, axis_of
from w2vtrain.pictures.drawing import Dot, Drawing, Label, Line, inline_svg
from w2vtrain.pictures.labels import text_width, wrapped
from w2vtrain.probability.sampling import keep_probabilities
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


def counts_drawing(
    counts: Counts, min_count: int = 5, sample: float = 1e-3, title: str = "Counts of words by rank",
    width: float = 860.0, height: float = 560.0, notes: bool = True,
) -> Drawing:  # fmt: skip
    """Return the picture of falling counts (V,). notes: whether the sentences of `captions` are below it."""
    kept, law = kept_by(counts, min_count, sample), fit_law(counts)
    ranks = spaced_ranks(len(counts))
    sampled = counts[: kept.types] * keep_probabilities(counts[: kept.types], sample)
    x = axis_of("rank of the word (both axes logarithmic)", [1, len(counts)], log=True)
    y = axis_of("count", [min(float(counts[-1]), float(sampled.min())), float(counts[0])], log=True)
    chart = Chart(title, x, y, width, height)
    if kept.types < len(counts):
        _shade(chart, kept.types, min_count)
    pairs = [(float(r), float(counts[r - 1])) for r in ranks.tolist()]
    chart.dots(pairs, "c1", 2.2)
    line = law.at(ranks.astype(np.float64)).tolist()
    chart.curve([(r, f) for (r, _), f in zip(pairs, line, strict=True) if y.low <= f <= y.high], "c2", (), 1.8)
    entries = [("counts", "c1", "dots"), ("Zipf-Mandelbrot law", "c2", "line")]
    if sample:
        chart.curve([(float(r), float(sampled[r - 1])) for r in ranks.tolist() if r <= kept.types], "c4", (7, 4), 1.8)
        entries.append((f"after {spelled('sample', sample)}", "c4", "dash"))
    _key(chart, entries)
    drawing = chart.drawing
    sentences = captions(counts, min_count, sample) if notes else []
    for line in [part for text in sentences for part in wrapped(text, chart.right - chart.left, 12)]:
        drawing.height += 19
        drawing.add(Label(chart.left, drawing.height - 8, line, 12, "muted"))
    return drawing


def _shade(chart: Chart, types: int, min_count: int) -> None:
    """Shade the words that --min-count removes."""
    left = chart.at(types + 0.5, chart.y.low)[0]
    corners = [(left, chart.top), (chart.right, chart.top), (chart.right, chart.bottom), (left, chart.bottom)]
    chart.drawing.add(Line(corners, "muted", filled=True, opacity=0.16))
    text = f"below {spelled('min_count', min_count)}"
    end = chart.right if text_width(text, 12) < chart.right - left - 12 else left
    chart.drawing.add(Label(end - 6, chart.top + 18, text, 12, "ink", "end", halo=True))


def _key(chart: Chart, entries: list[tuple[str, str, str]]) -> None:
    """Add a legend in the lower left corner, which the falling counts leave free."""
    for index, (name, color, kind) in enumerate(entries):
        x, y = chart.left + 16, chart.bottom - 18 - 20 * (len(entries) - 1 - index)
        if kind == "dots":
            chart.drawing.add(*(Dot(x + step, y - 4, 2.2, color) for step in (2, 10, 18, 26)))
        else:
            chart.drawing.add(Line([(x, y - 4), (x + 28, y - 4)], color, 2, (7, 4) if kind == "dash" else ()))
        chart.drawing.add(Label(x + 36, y, name, 12.5, halo=True))


def counts_svg(counts: Counts, min_count: int = 5, sample: float = 1e-3) -> str:
    """Return the picture of falling counts (V,) as an SVG element for a page of page.py, without `captions`."""
    return inline_svg(counts_drawing(counts, min_count, sample, width=430, height=340, notes=False))
