"""Empty figures of Matplotlib, an optional package, and what to say without it. The callers decide what is drawn."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from w2vtrain.errors import ConfigError

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
    suffix = Path(path).suffix.removeprefix(".") or "png"  # Matplotlib adds .png to a name without a suffix
    known = new_figure().canvas.get_supported_filetypes()
    if suffix.lower() not in known:
        raise ConfigError(f"{option}: {path} has none of the suffixes of pictures: .{', .'.join(sorted(known))}")


def new_figure(**options: Any) -> Any:
    """Return an empty figure that needs no screen; options: those of `matplotlib.figure.Figure`."""
    from matplotlib.figure import Figure  # takes most of a second to import

    return Figure(**options)
