"""Create and write figures of Matplotlib, an optional package, and say what to do without it.

The callers decide what is drawn.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

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
    known = new_figure().canvas.get_supported_filetypes()
    if suffix.lower() not in known:
        raise ConfigError(f"{option}: {path} has none of the suffixes of pictures: .{', .'.join(sorted(known))}")


def new_figure(**options: Any) -> Any:
    """Return an empty figure that needs no screen; options: those of `matplotlib.figure.Figure`."""
    from matplotlib.figure import Figure  # takes most of a second to import

    return Figure(**options)


def save_figure(figure: Any, path: Path, dpi: int) -> None:
    """Write a figure completely or not at all, in the format of the file's suffix, or as PNG without one.

    Raise OutputError if the file cannot be created, and WriteError if it cannot be written.
    """
    with atomic_write(path, force=True) as file:
        figure.savefig(file, dpi=dpi, format=path.suffix[1:] or "png")
