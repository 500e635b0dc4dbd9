"""Plot the curves of a comparison: held-out perplexity against CPU time. Nothing is measured here."""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from w2vtrain.evaluation.figures import new_figure, save_figure
from w2vtrain.evaluation.report import Results, lines

GAP = 0.028
"""Smallest distance between two labels, as a fraction of the height of the plot."""


def curves(results: Results) -> list[tuple[str, list[float], list[float]]]:
    """Return (name, CPU seconds of training so far, held-out perplexity) of each contender, as means over seeds."""
    found = []
    for line in lines(results):
        points = [[p for p in r["curve"] if p["perplexity"] is not None] for r in line.results]  # JSON has no infinity
        length = min(map(len, points), default=0)  # two seeds may pass several fractions of the limit together
        if not length:
            continue
        timed = line.results[0]["job"]["settings"]["seconds"] is not None
        kept = [p[-length:] if timed else p[:length] for p in points]  # patience may end a seed's run earlier
        seconds = [statistics.mean(p[i]["seconds"] for p in kept) for i in range(length)]
        found.append((line.name, seconds, [statistics.mean(p[i]["perplexity"] for p in kept) for i in range(length)]))
    return found


def title(results: Results) -> str:
    """Return the title of the plot: the corpus, its words, the budget and the seeds."""
    done = [r for r in results if "test" in r]
    if not done:
        return "every run failed"
    job, first = done[0]["job"], done[0]
    budgets = {(r["job"]["settings"]["seconds"], r["job"]["settings"]["epochs"]) for r in done}
    seconds, epochs = budgets.pop()
    budget = f"{seconds:g} CPU seconds" if seconds is not None else f"{epochs:,} epochs"
    seeds = len({r["job"]["settings"]["seed"] for r in done})
    parts = [
        f"{Path(job['sources'][0]).name}: {first['corpus_words']:,} words, vocabulary {first['vocabulary']:,}",
        budget if not budgets else "several budgets",
        f"mean of {seeds} seeds" if seeds > 1 else "1 seed",
    ]
    return "; ".join(parts)


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Return heights that are at least `gap` apart, in the same order and as near to the given ones as possible.

    They are between 0 and 1, except that there may be too many labels for that: then the highest are above 1.
    """
    order = np.argsort(heights, kind="stable")
    steps = np.asarray(heights, np.float64)[order] - gap * np.arange(len(heights))
    blocks: list[list[float]] = []  # pool adjacent violators: means of groups of labels that touch
    for step in steps:
        blocks.append([step])
        while len(blocks) > 1 and statistics.mean(blocks[-2]) > statistics.mean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    level = [statistics.mean(block) for block in blocks for _ in block]
    placed = np.empty(len(heights))
    placed[order] = np.clip(level, 0, max(0, 1 - gap * (len(heights) - 1))) + gap * np.arange(len(heights))
    return [float(height) for height in placed]


def picture(results: Results, path: Path) -> None:
    """Plot held-out perplexity against CPU seconds of training; the suffix of `path` selects the format."""
    draw(curves(results), title(results), "CPU seconds of training", path)


def draw(found: Sequence[tuple[str, list[float], list[float]]], heading: str, xlabel: str, path: Path) -> None:
    """Plot curves of perplexity, given as (name, x, perplexity), with a label each. Both axes are logarithmic."""
    figure = new_figure(figsize=(10, max(5.0, 1 + 0.24 * len(found))), layout="constrained")
    axes = figure.subplots()
    axes.set_title(heading, fontsize="medium", loc="left")
    axes.set(xscale="log", yscale="log", xlabel=xlabel, ylabel="perplexity")
    colors = [f"C{k % 10}" for k in range(len(found))]
    for k, (_, seconds, perplexity) in enumerate(found):
        axes.plot(seconds, perplexity, marker="o", ms=3, lw=1.2, color=colors[k], ls=("-", "--", ":")[k // 10 % 3])
    for axis in (axes.xaxis, axes.yaxis):
        _plain_numbers(axis)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    _label(axes, found, colors)
    save_figure(figure, path, 120)


def _plain_numbers(axis: Any) -> None:
    """Label an axis with plain numbers: 1, 2, 5, 10, ... or, where these are too far apart, more of them."""
    from matplotlib.ticker import LogLocator, NullFormatter, NullLocator, StrMethodFormatter

    low, high = axis.get_view_interval()
    decades = np.log10(high / low)
    subs = (1.0, 2.0, 5.0) if decades > 1 else (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
    axis.set_major_locator(LogLocator(subs=subs if decades <= 4 else (1.0,)))
    axis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def _label(axes: Any, found: Sequence[tuple[str, list[float], list[float]]], colors: list[str]) -> None:
    """Write each curve's name to the right of the plot, at the height of its end, with a line from the end to it."""
    low, high = np.log(axes.get_ylim())
    axes.set_ylim(*np.exp([low, high]))
    ends = [(np.log(perplexity[-1]) - low) / (high - low) for _, _, perplexity in found]
    for (name, seconds, perplexity), height, color in zip(found, spread(ends, GAP), colors, strict=True):
        axes.annotate(
            f"{name} {perplexity[-1]:,.1f}", (seconds[-1], perplexity[-1]), xytext=(1.02, height),
            textcoords="axes fraction", color=color, fontsize=8, va="center", annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": color, "lw": 0.5, "alpha": 0.6, "shrinkA": 0, "shrinkB": 2,
                        "relpos": (0, 0.5)},
        )  # fmt: skip
