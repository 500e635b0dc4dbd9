"""For leaves that draw: create, label and write figures of Matplotlib, and say what to do without this package.

The callers decide what is drawn.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from w2vtrain.errors import ConfigError
from w2vtrain.system.files import atomic_write

INSTALL = "pip install 'w2vtrain[plot]'"
"""The command that installs Matplotlib."""


def can_draw() -> bool:
    """Return whether Matplotlib is installed. Import nothing."""
    return find_spec("matplotlib") is not None


def check_picture(path: str, option: str) -> None:
    """Raise ConfigError, which names the option, unless a picture can be written to `path` in the suffix's format.

    Call this before hours of work whose picture goes to `path`.
    """
    if not can_draw():
        raise ConfigError(f"{option}: pictures need the package matplotlib: {INSTALL}")
    suffix = Path(path).suffix.removeprefix(".") or "png"
    known = new_figure().canvas.get_supported_filetypes().keys() - {"pgf"}  # which needs a program of TeX
    if suffix.lower() not in known:
        raise ConfigError(f"{option}: {path} has none of the suffixes of pictures: .{', .'.join(sorted(known))}")


def new_figure(**options: Any) -> Any:
    """Return an empty figure that needs no screen; options: those of `matplotlib.figure.Figure`."""
    with _no_settings_here():
        from matplotlib.figure import Figure  # takes most of a second to import

    return Figure(**options)


@contextmanager
def _no_settings_here() -> Iterator[None]:
    """Hide a file matplotlibrc in the working folder from the first import of Matplotlib, which reads it then.

    Anyone may have put it there, and a pipe of this name would hang. MPLBACKEND, which notebooks set for all
    programs, is hidden: it may name a package that is not installed here, and files need no backend. Other settings
    apply.
    """
    exists, backend = os.path.exists, None
    if "matplotlib" not in sys.modules:
        os.path.exists = lambda path: path != "matplotlibrc" and exists(path)
        backend = os.environ.pop("MPLBACKEND", None)
    try:
        yield
    finally:
        os.path.exists = exists
        if backend:
            os.environ["MPLBACKEND"] = backend


def plain_numbers(axis: Any) -> None:
    """Label an axis with plain numbers: 1, 2, 5, 10, ... or, where these are too far apart, more of them."""
    from matplotlib.ticker import LogLocator, NullFormatter, NullLocator, StrMethodFormatter

    low, high = axis.get_view_interval()
    decades = np.log10(high / low)
    subs = (1.0, 2.0, 5.0) if decades > 1 else (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
    axis.set_major_locator(LogLocator(subs=subs if decades <= 4 else (1.0,)))
    axis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def label_ends(axes: Any, ends: Sequence[tuple[str, float, float]], colors: Sequence[str], gap: float) -> None:
    """Write each curve's label to the right of the plot, at the height of its end, with a line from the end to it.

    ends: (label, x, y) of each curve's end; gap: smallest distance of two labels, as a fraction of the plot's height.
    """
    if not ends:
        return
    axes.set(xlim=axes.get_xlim(), ylim=axes.get_ylim())  # labels do not widen the plot
    fractions = (axes.transScale + axes.transLimits).transform([(x, y) for _, x, y in ends])
    for (label, x, y), height, color in zip(ends, spread(fractions[:, 1], gap), colors, strict=True):
        axes.annotate(
            label, (x, y), xytext=(1.02, height), textcoords="axes fraction", color=color, fontsize=8, va="center",
            annotation_clip=False, arrowprops={"arrowstyle": "-", "color": color, "lw": 0.5, "alpha": 0.6, "shrinkA": 0,
                                               "shrinkB": 2, "relpos": (0, 0.5)},
        )  # fmt: skip


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Return heights that are at least `gap` apart, in the same order and as near to the given ones as possible.

    They are between 0 and 1, except that there may be too many labels for that: then the highest are above 1.
    """
    from scipy.optimize import isotonic_regression  # takes a quarter of a second to import

    order, steps = np.argsort(heights, kind="stable"), gap * np.arange(len(heights))
    level = isotonic_regression(np.asarray(heights, np.float64)[order] - steps).x
    placed = np.empty(len(heights))
    placed[order] = np.clip(level, 0, max(0, 1 - gap * (len(heights) - 1))) + steps
    return [float(height) for height in placed]


def save_figure(figure: Any, path: Path, dpi: int) -> None:
    """Write a figure completely or not at all, in the format of the file's suffix, or as PNG without one.

    Raise OutputError if the file cannot be created, and WriteError if it cannot be written.
    """
    with atomic_write(path, force=True) as file:
        figure.savefig(file, dpi=dpi, format=path.suffix[1:] or "png")
