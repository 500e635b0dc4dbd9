"""A drawing of lines, areas, points and texts, and its files: SVG, a web page, or PNG with Matplotlib,
an optional package.

What is drawn where is decided by the callers. Colors are names of page.LIGHT; an SVG follows the CSS variables of the
page that it is in, and, as a file of its own, the reader's preference of light or dark.
"""

import html
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from w2vtrain.errors import ConfigError, UsageError
from w2vtrain.evaluation.figures import INSTALL, can_draw, new_figure
from w2vtrain.pictures.page import DARK, LIGHT, escaped, variables
from w2vtrain.system.files import atomic_write, check_writable

FONT = 'system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Liberation Sans",sans-serif'
SUFFIXES = (".png", ".svg", ".html")
DPI, SHARPNESS = 100, 2
"""Pixels of a drawing per inch in a PNG, and pixels of the PNG per pixel of the drawing."""
Point = tuple[float, float]


class Line(NamedTuple):
    """A line through points, or a filled area between them if `filled`. dash: lengths in pixels."""

    points: Sequence[Point]
    color: str
    width: float = 1.0
    dash: tuple[float, ...] = ()
    filled: bool = False
    opacity: float = 1.0


class Dot(NamedTuple):
    """A filled circle."""

    x: float
    y: float
    radius: float
    color: str
    opacity: float = 1.0


class Label(NamedTuple):
    """A line of text. y: of its baseline; anchor: start, middle or end.

    halo: whether an edge in the color of the background keeps the text apart from what it covers.
    """

    x: float
    y: float
    text: str
    size: float = 12.0
    color: str = "ink"
    anchor: str = "start"
    bold: bool = False
    halo: bool = False


def visible(text: str) -> str:
    """Return a text as it is shown: control characters, and those that reorder a line, are escapes."""
    return html.unescape(escaped(text))


@dataclass
class Drawing:
    """Items in the order in which they are painted. width, height: in pixels; title: for readers who cannot see it."""

    width: float
    height: float
    title: str
    items: list[Line | Dot | Label] = field(default_factory=list)

    def add(self, *items: Line | Dot | Label) -> None:
        """Paint items above the others."""
        self.items.extend(items)

    def put(self, other: "Drawing", x: float, y: float) -> None:
        """Paint another drawing, with its upper left corner at (x, y)."""
        self.items.extend(_moved(item, x, y) for item in other.items)


def _moved(item: Line | Dot | Label, x: float, y: float) -> Line | Dot | Label:
    if isinstance(item, Line):
        return item._replace(points=[(px + x, py + y) for px, py in item.points])
    return item._replace(x=item.x + x, y=item.y + y)


def inline_svg(drawing: Drawing) -> str:
    """Return an SVG element for a page of page.py, whose colors it takes."""
    return _svg(drawing, f"<style>{RULES}</style>", f' style="width:100%;max-width:{drawing.width * 1.4:g}px"')


def svg_file(drawing: Drawing) -> str:
    """Return an SVG document on a background of its own. It loads nothing."""
    dark = f"@media screen and (prefers-color-scheme:dark){{svg{{{variables(DARK)}}}}}"
    rules = f"svg{{{variables(LIGHT)}}}{dark}{RULES}"
    paper = f'<rect width="100%" height="100%" class="w2v-f-bg" fill="{LIGHT["bg"]}"/>'
    size = f' xmlns="http://www.w3.org/2000/svg" width="{drawing.width:g}" height="{drawing.height:g}"'
    return _svg(drawing, f"<style>{rules}</style>\n{paper}", size) + "\n"


def _svg(drawing: Drawing, head: str, attributes: str) -> str:
    start = (
        f'<svg{attributes} viewBox="0 0 {drawing.width:g} {drawing.height:g}" role="img"'
        f' aria-label="{escaped(drawing.title)}" font-family="{html.escape(FONT)}">'
    )
    return "\n".join([start, head, *map(_element, drawing.items), "</svg>"])


RULES = "".join(
    f".w2v-f-{name}{{fill:var(--{name},{color})}}.w2v-s-{name}{{stroke:var(--{name},{color})}}"
    for name, color in LIGHT.items()
    if name not in ("panel", "link", "warn")
)
"""The CSS of the colors. The elements also have them as attributes, for programs that know no CSS variables."""


def _fill(color: str, opacity: float = 1.0, halo: bool = False) -> str:
    edge = f' stroke="{LIGHT["bg"]}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"' if halo else ""
    transparent = f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
    return f'class="w2v-f-{color}{" w2v-s-bg" * halo}" fill="{LIGHT[color]}"{transparent}{edge}'


def _element(item: Line | Dot | Label) -> str:
    if isinstance(item, Dot):
        return f'<circle cx="{item.x:.1f}" cy="{item.y:.1f}" r="{item.radius:g}" {_fill(item.color, item.opacity)}/>'
    if isinstance(item, Label):
        place = f'x="{item.x:.1f}" y="{item.y:.1f}"'
        place += f' text-anchor="{item.anchor}"' if item.anchor != "start" else ""
        place += ' font-weight="600"' if item.bold else ""
        place += f' font-size="{item.size:g}"'
        return f"<text {place} {_fill(item.color, halo=item.halo)}>{escaped(item.text)}</text>"
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in item.points)
    if item.filled:
        return f'<path d="{path}Z" {_fill(item.color, item.opacity)}/>'
    dash = f' stroke-dasharray="{" ".join(map("{:g}".format, item.dash))}"' if item.dash else ""
    return (
        f'<path d="{path}" class="w2v-s-{item.color}" stroke="{LIGHT[item.color]}" stroke-width="{item.width:g}"'
        f' fill="none" stroke-linejoin="round"{dash}/>'
    )


def write_png(drawing: Drawing, file: BinaryIO) -> str:
    """Write a drawing on a light background as PNG; return the characters for which no installed font has a glyph."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Circle, Polygon
    from matplotlib.patheffects import withStroke

    fonts, missing = _fonts(visible(item.text) for item in drawing.items if isinstance(item, Label))
    figure = new_figure(figsize=(drawing.width / DPI, drawing.height / DPI), dpi=DPI, facecolor=LIGHT["bg"])
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, drawing.width), ylim=(drawing.height, 0))
    axes.axis("off")
    point = 72 / DPI  # Matplotlib's unit, in pixels
    halo = [withStroke(linewidth=3 * point, foreground=LIGHT["bg"])]
    for order, item in enumerate(drawing.items):
        look: dict[str, Any] = {"color": LIGHT[item.color], "zorder": order}
        if isinstance(item, Label):
            axes.text(
                item.x, item.y, visible(item.text), fontsize=item.size * point, ha=ANCHORS[item.anchor], va="baseline",
                family=fonts, weight="bold" if item.bold else "normal", parse_math=False,
                path_effects=halo if item.halo else None, **look,
            )  # fmt: skip
        elif isinstance(item, Dot):
            axes.add_patch(Circle((item.x, item.y), item.radius, lw=0, alpha=item.opacity, **look))
        elif item.filled:
            axes.add_patch(Polygon(item.points, lw=0, alpha=item.opacity, **look))
        else:
            style = (0, [length / item.width for length in item.dash]) if item.dash else "-"
            x, y = zip(*item.points, strict=True)
            axes.add_line(Line2D(x, y, lw=item.width * point, ls=style, solid_joinstyle="round", **look))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # each missing glyph is a warning; `missing` reports them
        figure.savefig(file, format="png", dpi=DPI * SHARPNESS)
    return missing


ANCHORS = {"start": "left", "middle": "center", "end": "right"}


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
    return names, "".join(sorted(wanted))


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
