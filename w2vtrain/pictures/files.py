"""Write pictures to files: PNG, SVG or a web page of its own, by the suffix."""

from collections.abc import Callable
from pathlib import Path

from w2vtrain.errors import ConfigError, UsageError
from w2vtrain.evaluation.figures import INSTALL, can_draw
from w2vtrain.pictures.drawing import Drawing, svg_file, write_png
from w2vtrain.system.files import atomic_write, check_writable

SUFFIXES = (".png", ".svg", ".html")


def check_picture_file(path: str, force: bool) -> None:
    """Raise an error unless a picture can be written to `path`. Call this before work whose result goes there.

    UsageError for another suffix, ConfigError for PNG without Matplotlib, OutputError for a file that exists, unless
    `force`, or that cannot be created.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"{path}: unknown suffix for a picture: use {', '.join(SUFFIXES)}")
    if suffix == ".png" and not can_draw():
        raise ConfigError(f"{path}: PNG needs the package matplotlib: {INSTALL}; .svg and .html do not")
    check_writable(path, force)


def write_picture(path: str, force: bool, drawing: Callable[[], Drawing], page: Callable[[], str]) -> str:
    """Write a picture completely or not at all; drawing, page: what is called for PNG and SVG, and for HTML.

    Return the characters for which no installed font has a glyph; only a PNG needs fonts.
    """
    suffix, missing = Path(path).suffix.lower(), ""
    with atomic_write(path, force) as file:
        if suffix == ".png":
            missing = write_png(drawing(), file)
        else:
            file.write((page() if suffix == ".html" else svg_file(drawing())).encode("utf-8"))
    return missing
