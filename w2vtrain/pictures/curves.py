"""Draw the curves of runs: loss, learning rate, words per second, and held-out perplexity.

run_logs.py reads the runs.
"""

from collections.abc import Sequence

from w2vtrain.errors import UsageError
from w2vtrain.pictures.chart import Chart, axis_of, legend, look
from w2vtrain.pictures.drawing import Drawing, Text, inline_svg
from w2vtrain.pictures.page import escaped
from w2vtrain.pictures.run_logs import Moment, RunLog

X = {"epochs": "epochs", "words": "words of the text", "seconds": "seconds of training"}
"""The choices of a horizontal axis, with their labels."""
PANELS = {
    "loss": ("Loss (mean per example)", False, False),
    "rate": ("Learning rate", False, True),
    "speed": ("Speed (words per second)", False, True),
    "perplexity": ("Held-out perplexity", True, False),
}
"""The pictures: by the curve of a run, the title, and whether the axis is logarithmic, and whether it starts at 0."""
FEW = 12
"""Curves with at most this many points have a dot at each."""


def panels(runs: Sequence[RunLog], x: str = "epochs") -> list[Drawing]:
    """Return a drawing of each curve that at least one run has. x: a name from X."""
    if x not in X:
        raise UsageError(f"unknown axis {x!r}: use {', '.join(X)}")
    return [_panel(runs, x, name) for name in PANELS if any(getattr(run, name) for run in runs)]


def _panel(runs: Sequence[RunLog], x: str, name: str) -> Drawing:
    title, log, zero = PANELS[name]
    curves = [[(_along(at, x), value) for at, value in getattr(run, name)] for run in runs]
    horizontal = axis_of(X[x], [a for curve in curves for a, _ in curve], zero=True)
    chart = Chart(title, horizontal, axis_of(title, [b for curve in curves for _, b in curve], log, zero))
    for index, curve in enumerate(curves):
        color, dash = look(index)
        chart.curve(curve, color, dash)
        if len(curve) <= FEW:
            chart.dots(curve, color)
    return chart.drawing


def _along(at: Moment, x: str) -> float:
    value: float = getattr(at, x)
    return value


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
    drawing.add(Text(20, 28, title, 16, bold=True))
    if len(runs) > 1:
        drawing.put(key, 20, 40)
    for index, part in enumerate(parts):
        drawing.put(part, index % columns * part.width, top + index // columns * part.height)
    return drawing


def curves_svg(runs: Sequence[RunLog], x: str = "epochs") -> str:
    """Return the pictures of runs as SVG elements for a page of page.py, below a legend if there are several runs."""
    key = inline_svg(_legend(runs, 460)) if len(runs) > 1 else ""
    figures = "\n".join(f"<div>{inline_svg(part)}</div>" for part in panels(runs, x))
    return f'{key}<div class="panels">\n{figures}\n</div>'


STYLE = ".panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,21rem),1fr));gap:1rem}"
"""The style of pages with these pictures: as many beside each other as have room."""


def described(runs: Sequence[RunLog]) -> str:
    """Return one line per run with the last value of each curve, as HTML."""
    lines = []
    for run in runs:
        facts = [f"{PANELS[name][0].lower()} {getattr(run, name)[-1][1]:,.6g}" for name in PANELS if getattr(run, name)]
        lines.append(f"<li><strong>{escaped(run.name)}</strong>: at the end, {escaped('; '.join(facts))}</li>")
    return f"<ul>{''.join(lines)}</ul>"
