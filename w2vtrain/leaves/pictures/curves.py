"""Draw the curves of runs: loss, learning rate, words per second, and held-out perplexity.

run_logs.py reads the runs.
"""

from collections.abc import Sequence
from typing import Any

from w2vtrain.leaves.figures import plain_numbers
from w2vtrain.leaves.pictures.figures import chart_figure, look
from w2vtrain.leaves.pictures.page import shortened
from w2vtrain.leaves.pictures.run_logs import RunLog

X = {"epochs": "epochs", "words": "words of the text", "seconds": "seconds of training"}
"""The choices of a horizontal axis, with their labels."""
PANELS = {
    "loss": "Loss (mean per example)", "rate": "Learning rate", "speed": "Speed (words per second)",
    "perplexity": "Held-out perplexity",
}  # fmt: skip
"""The pictures: by the curve of a run, the title."""
FROM_ZERO = ("rate", "speed")
"""Curves whose vertical axis begins at 0."""
WIDE_RANGE = 5
"""Ratio of the largest to the smallest perplexity from which their axis is logarithmic."""
WIDTH, HEIGHT = 400, 290
"""Size of one picture, in pixels."""
MAX_DOTTED_POINTS = 12
"""Curves with at most this many points have a dot at each."""


def curves_figure(runs: Sequence[RunLog], title: str, x: str = "epochs") -> Any:
    """Return a figure with a picture of each curve that at least one run has, and a legend if there are several runs.

    x: a name from X. Losses of different objectives, or numbers of noise words, cannot be compared: each has its own
    picture of the loss.
    """
    objectives = list(dict.fromkeys(run.objective for run in runs if run.loss))
    panels: list[tuple[str, str | None]] = [("loss", objective) for objective in objectives]
    panels += [(name, None) for name in PANELS if name != "loss" and any(getattr(run, name) for run in runs)]
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    figure = chart_figure(WIDTH * columns, HEIGHT * rows + 40)
    if title:
        figure.suptitle(shortened(title, 45 * columns), x=0.02, ha="left", size=12, weight="bold")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, (name, objective) in zip(grid, panels, strict=False):
        several = name == "loss" and len(objectives) > 1
        heading = f"Loss of {objective or 'an unknown objective'} (mean per example)" if several else PANELS[name]
        _draw(axes, [run if objective in (None, run.objective) else None for run in runs], name, x, heading)
    for axes in grid[len(panels) :]:
        axes.axis("off")
    if len(runs) > 1:
        names = [shortened(run.name, 45 * columns) for run in runs]
        fitting = max(1, 50 * columns // (max(map(len, names)) + 8))
        figure.legend(grid[0].get_lines(), names, loc="outside lower left", ncols=fitting, frameon=False, fontsize=9)
    return figure


def _draw(axes: Any, runs: Sequence[RunLog | None], name: str, x: str, heading: str) -> None:
    """Draw one curve of each run that is not None; a run has the same color in all pictures."""
    from matplotlib.ticker import EngFormatter

    values = []
    for index, run in enumerate(runs):
        curve = getattr(run, name) if run else []
        values += [value for _, value in curve]
        color, dash = look(index)
        marker = "o" if len(curve) <= MAX_DOTTED_POINTS else None
        axes.plot(
            [getattr(at, x) for at, _ in curve], [value for _, value in curve], color=color, ls=dash, lw=1.5,
            marker=marker, ms=4,
        )  # fmt: skip
    axes.xaxis.set_major_formatter(EngFormatter(sep="") if x == "words" else "{x:,g}")
    axes.yaxis.set_major_formatter(EngFormatter(sep="") if name == "speed" else "{x:,g}")
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlim(left=0)
    if name in FROM_ZERO:
        axes.set_ylim(bottom=min(0, *values))
    elif name == "perplexity" and max(values) > WIDE_RANGE * min(values):
        axes.set_yscale("log")
        plain_numbers(axes.yaxis)
        heading += " (logarithmic)"
    axes.set_title(shortened(heading, 46), loc="left", size=10)
    axes.set_xlabel(X[x], size=9)
    axes.tick_params(labelsize=8.5)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
