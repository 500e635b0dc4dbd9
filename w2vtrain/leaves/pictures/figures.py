"""Figures of Matplotlib: their look, their fonts, and their files, which depend on nothing but the input."""

import base64
import warnings
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from w2vtrain.errors import ConfigError, UsageError
from w2vtrain.leaves.figures import INSTALL, new_figure
from w2vtrain.leaves.pictures.page import LIGHT
from w2vtrain.system import terminal
from w2vtrain.system.files import atomic_write
from w2vtrain.system.locks import check_output

SUFFIXES = (".png", ".svg", ".pdf")
DPI, SHARPNESS = 100, 2
"""Pixels of a figure per inch, and pixels of a PNG per pixel of the figure."""
POINT = 72 / DPI
"""A pixel in Matplotlib's unit of fonts and lines."""
COLORS, DASHES = tuple(LIGHT[name] for name in ("c1", "c2", "c3", "c4")), ("-", "--", ":", "-.")
"""What distinguishes curves: a color and, after four of them, the next dash."""
UNDATED = {
    "svg": dict.fromkeys(("Creator", "Date", "Format", "Type")), "pdf": {"CreationDate": None}, "png": None
}  # fmt: skip
"""The metadata of each format: what Matplotlib would write, without dates."""


def look(index: int) -> tuple[str, str]:
    """Return the color and the dash of a curve by its number, from 0."""
    return COLORS[index % len(COLORS)], DASHES[index // len(COLORS) % len(DASHES)]


def chart_figure(width: float, height: float) -> Any:
    """Return an empty figure of this size, in pixels, whose axes make room for their texts."""
    figure = new_figure(figsize=(width / DPI, height / DPI), dpi=DPI, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)
    return figure


def check_packages(path: str) -> None:
    """Raise ConfigError, which names the file to write, unless the packages of pictures and pages are installed."""
    for name in ("matplotlib", "jinja2"):
        if find_spec(name) is None:
            raise ConfigError(f"{path}: pictures need the package {name}: {INSTALL}")


def check_picture_file(path: str, force: bool, suffixes: Sequence[str] = SUFFIXES) -> None:
    """Raise an error unless a picture can be written to `path`. Call this before work whose result goes there.

    UsageError for another suffix, ConfigError without the packages, OutputError for a file that exists, unless `force`,
    or that cannot be created.
    """
    if Path(path).suffix.lower() not in suffixes:
        raise UsageError(f"{path}: unknown suffix for this picture: use {', '.join(suffixes)}")
    check_packages(path)
    check_output(path, force)


def write_figure(figure: Any, path: str, force: bool) -> str:
    """Write a figure completely or not at all, in the format of the suffix.

    Return the characters for which no installed font has a glyph; an SVG takes the fonts of its reader.
    """
    kind = Path(path).suffix[1:].lower()
    with atomic_write(path, force) as file:
        missing = _save(figure, file, kind)
    return "" if kind == "svg" else missing


def svg_image(figure: Any) -> str:
    """Return a figure as the address of an image in a page: there, no part of it can be more than a picture."""
    file = BytesIO()
    _save(figure, file, "svg")
    return f"data:image/svg+xml;base64,{base64.b64encode(file.getvalue()).decode()}"


def _save(figure: Any, file: BinaryIO, kind: str) -> str:
    """Write a figure; return the characters without a glyph. All texts are shown as they are: none is mathematics."""
    from matplotlib import rc_context
    from matplotlib.text import Text

    texts = figure.findobj(Text)
    fonts, missing = _fonts(text.get_text() for text in texts)
    for text in texts:
        text.set(text=terminal.escaped(text.get_text()), family=fonts, parse_math=False, usetex=False)
    look = {"svg.fonttype": "none", "svg.hashsalt": "w2vtrain", "font.sans-serif": fonts[:1]}
    with warnings.catch_warnings(), rc_context(look):
        warnings.simplefilter("ignore")  # each missing glyph is a warning; `missing` reports them
        figure.savefig(file, format=kind, dpi=DPI * SHARPNESS, facecolor="white", metadata=UNDATED[kind])
    return missing


def _fonts(texts: Iterable[str]) -> tuple[list[str], str]:
    """Return the names of installed fonts that have the glyphs of texts, and the characters that none has."""
    from matplotlib.font_manager import FontProperties, findfont, fontManager
    from matplotlib.ft2font import FT2Font

    names, wanted = ["DejaVu Sans"], {character for text in texts for character in text if not character.isspace()}
    font = FT2Font(findfont(FontProperties(family=names)))
    wanted = {character for character in wanted if not font.get_char_index(ord(character))}
    for entry in sorted(fontManager.ttflist, key=lambda entry: (entry.style != "normal", entry.name, entry.fname)):
        if not wanted:
            break
        if not Path(entry.fname).is_file() or entry.name.startswith("Last Resort"):  # removed, or only boxes
            continue
        font = FT2Font(entry.fname)
        has = {character for character in wanted if font.get_char_index(ord(character))}
        if has and entry.weight in (400, "normal", "regular", "book") and entry.name not in names:
            names.append(entry.name)
            wanted -= has
    return [*names, "sans-serif"], "".join(sorted(wanted))
