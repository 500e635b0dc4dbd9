"""Draw the curves of runs: loss, learning rate, words per second, and held-out perplexity.

run_logs.py reads the runs.
"""

from collections.abc import Sequence

from w2vtrain.errors import UsageError
from w2vtrain.pictures.chart import Chart, axis_of, legend, look
from w2vtrain.pictures.drawing import Drawing, Label, inline_svg
from w2vtrain.pictures.page import escaped, table
from w2vtrain.pictures.run_logs import Moment, RunLog

X = {"epochs": "epochs", "words": "words of the text", "seconds": "seconds of training"}
"""The choices of a horizontal axis, with their labels."""
PANELS = {
    "loss": ("Loss (mean per example)", False, False, "loss"),
    "rate": ("Learning rate", False, True, "learning rate"),
    "speed": ("Speed (words per second)", False, True, "words/s"),
    "perplexity": ("Held-out perplexity (logarithmic)", True, False, "held-out perplexity"),
}
"""The pictures: by the curve of a run, the title, whether the axis is logarithmic, whether it starts at 0, and the head
of the column in the table below."""
SIZE = (400.0, 290.0)
"""Width and height of one picture, in pixels: its texts can be read at the width of a phone."""
MAX_DOTTED_POINTS = 12
"""Curves with at most this many points have a dot at each."""


def panels(runs: Sequence[RunLog], x: str = "epochs") -> list[Drawing]:
    """Return a drawing of each curve that at least one run has. x: a name from X.

    Losses of different objectives cannot be compared: each objective has its own drawing of the loss.
    """
    if x not in X:
        raise UsageError(f"unknown axis {x!r}: use {', '.join(X)}")
    with_loss = list(dict.fromkeys(run.objective for run in runs if run.loss))
    losses = [_panel(runs, x, "loss", objective if len(with_loss) > 1 else None) for objective in with_loss]
    others = [name for name in PANELS if name != "loss" and any(getattr(run, name) for run in runs)]
    return [*losses, *(_panel(runs, x, name) for name in others)]


def _panel(runs: Sequence[RunLog], x: str, name: str, objective: str | None = None) -> Drawing:
    """Return a drawing of one curve of each run, or of the runs with an objective; a run has the same color in all."""
    title, log, zero, _ = PANELS[name]
    if objective is not None:
        title = title.replace("Loss", f"Loss of {objective or 'an unknown objective'}")
    curves = [
        [(float(getattr(at, x)), value) for at, value in getattr(run, name)]
        if objective in (None, run.objective)
        else []
        for run in runs
    ]
    horizontal = axis_of(X[x], [a for curve in curves for a, _ in curve], zero=True)
    vertical = axis_of(title, [b for curve in curves for _, b in curve], log, zero)
    chart = Chart(title, horizontal, vertical, *SIZE)
    for index, curve in enumerate(curves):
        color, dash = look(index)
        chart.curve(curve, color, dash)
        if len(curve) <= MAX_DOTTED_POINTS:
            chart.dots(curve, color)
    return chart.drawing


def _legend(runs: Sequence[RunLog], width: float) -> Drawing:
    return legend([(run.name, *look(index)) for index, run in enumerate(runs)], width)


def curves_drawing(runs: Sequence[RunLog], title: str, x: str = "epochs") -> Drawing:
    """Return all pictures of runs in two columns as one drawing, with a legend if there are several runs."""
    parts = panels(runs, x)
    columns = min(2, len(parts))
    width = columns * parts[0].width
    key = _legend(runs, width - 40)
    top = 44 + (key.height if len(runs) > 1 else 0)
    rows = -(-len(parts) // columns)
    drawing = Drawing(width, top + rows * parts[0].height, title)
    drawing.add(Label(20, 28, title, 16, bold=True))
    if len(runs) > 1:
        drawing.put(key, 20, 40)
    for index, part in enumerate(parts):
        drawing.put(part, index % columns * part.width, top + index // columns * part.height)
    return drawing


def curves_svg(runs: Sequence[RunLog], x: str = "epochs") -> str:
    """Return the pictures of runs as SVG elements for a page of page.py, below a legend if there are several runs."""
    key = inline_svg(_legend(runs, SIZE[0])) if len(runs) > 1 else ""
    figures = "\n".join(f"<div>{inline_svg(part)}</div>" for part in panels(runs, x))
    return f'{key}<div class="panels">\n{figures}\n</div>'


STYLE = ".panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));gap:1rem}"
"""The style of pages with these pictures: two beside each other if there is room."""


def describe_curves(runs: Sequence[RunLog]) -> str:
    """Return a table of the last value of each curve, as HTML."""
    head = ["run", *(column for _, _, _, column in PANELS.values())]
    rows = [[escaped(run.name), *(_last(getattr(run, name)) for name in PANELS)] for run in runs]
    return table(head, rows, range(1, len(head)), "At the end of each run, or so far")


def _last(curve: Sequence[tuple[Moment, float]]) -> str:
    value = curve[-1][1] if curve else None
    return "-" if value is None else f"{value:,.0f}" if value >= 10_000 else f"{value:.5g}"
