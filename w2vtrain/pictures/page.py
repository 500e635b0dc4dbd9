"""The shell of a web page in one file, its colors, its rules for screens, phones and paper, and parts such as tables.

The page loads nothing and runs no script but its own. What a page shows is decided by its callers, who escape every
word, name and path with `escaped`.
"""

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from w2vtrain.system import terminal

LIGHT = {
    "bg": "#ffffff", "panel": "#f4f6f9", "ink": "#1b1f24", "muted": "#565e68", "line": "#d5dae1", "link": "#0b5cad",
    "warn": "#8a4b00", "c1": "#1b45b4", "c2": "#dd6b0d", "c3": "#5b96e0", "c4": "#8a1b1f",
}  # fmt: skip
"""Colors on a light background, which the pages use as `var(--NAME)`.

ink, muted, link and warn are for text: their contrast with bg and panel is at least 4.5. c1 to c4 are for curves and
points: their contrast with bg is at least 3, and readers with any form of color blindness can tell them apart
(tests/pictures/test_page.py measures both).
"""
DARK = {
    "bg": "#14171b", "panel": "#1d2228", "ink": "#e9ecef", "muted": "#a8b1bb", "line": "#383f48", "link": "#7fbcff",
    "warn": "#f3b65c", "c1": "#6fb8fa", "c2": "#f1ab31", "c3": "#6a6fe6", "c4": "#c24e28",
}  # fmt: skip
"""The same colors on a dark background."""

MAX_WORD_CHARACTERS = 60
"""Characters of a word that a page shows; the whole word is its title."""


def page(title: str, body: str, style: str = "", script: str = "") -> str:
    """Return a page as HTML, to be written as UTF-8.

    title: plain text; body: HTML; style: CSS; script: JavaScript. The script runs, as one; no other does, even if
    `body` has one, and nothing is loaded, because the page's Content-Security-Policy forbids both.
    """
    script = script.replace("</", "<\\/").replace("<!--", "<\\!--")  # only in strings, where these mean the same
    # Dark colors where the reader prefers them, and light ones on paper.
    dark = f"@media screen and (prefers-color-scheme:dark){{:root{{{variables(DARK)}}}}}"
    colors = f":root{{color-scheme:light dark;{variables(LIGHT)}}}\n{dark}"
    rules = f"{colors}\n{Path(__file__).with_suffix('.css').read_text(encoding='utf-8')}\n{style}"
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{html.escape(_policy(script))}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">',
            f"<title>{escaped(title)}</title>\n<style>\n{rules.replace('</', '<')}\n</style>\n</head>\n<body>",
            body,
            f"<script>{script}</script>" if script else "",
            "</body>\n</html>\n",
        ]
    )


def escaped(text: Any) -> str:
    r"""Return text that HTML shows as it is, in elements and in quoted attributes.

    Control characters, and those that reorder a line, are shown as escapes (\x1b, \u202e).
    """
    return html.escape(terminal.escaped(terminal.escaped_line(str(text))))


def embedded(value: Any) -> str:
    """Return a value as JSON for a script: no text in it can end the script or begin an element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in text)


def word_html(word: str) -> str:
    """Return a word, which may be of any script, as HTML; a very long one is cut in the middle."""
    if len(word) <= MAX_WORD_CHARACTERS:
        return f"<bdi>{escaped(word)}</bdi>"
    half = MAX_WORD_CHARACTERS // 2
    return f'<bdi title="{escaped(word[:1000])}">{escaped(word[:half])}…{escaped(word[-half:])}</bdi>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = (), caption: str = "") -> str:
    """Return a table of HTML cells, the first of each row being its title. right: columns of figures."""
    kinds = [' class="n"' if column in right else "" for column in range(len(head))]
    titles = "".join(f'<th scope="col"{kind}>{text}</th>' for kind, text in zip(kinds, head, strict=True))
    lines = []
    for first, *others in rows:
        cells = "".join(f"<td{kind}>{text}</td>" for kind, text in zip(kinds[1:], others, strict=True))
        lines.append(f'<tr><th scope="row"{kinds[0]}>{first}</th>{cells}</tr>')
    body = "\n".join(lines)
    above = f"<caption>{caption}</caption>" if caption else ""
    return f'<div class="scroll"><table>{above}<thead><tr>{titles}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def pairs(rows: Iterable[tuple[str, str | None]], kind: str = "pairs") -> str:
    """Return names and values, which are HTML, as a list; those without a value are left out."""
    items = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in rows if value is not None)
    return f'<dl class="{kind}">{items}</dl>' if items else ""


def lacks(sentence: str) -> str:
    """Return the line of a section that says what it lacks."""
    return f'<p class="lacks">{escaped(sentence)}</p>'


def _policy(script: str) -> str:
    """Return a Content-Security-Policy that allows styles, images in the page, and this script."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    source = f"'sha256-{digest}'" if script else "'none'"
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {source}; base-uri 'none';"
        " form-action 'none'"
    )


def variables(colors: Mapping[str, str]) -> str:
    """Return colors as CSS variables."""
    return ";".join(f"--{name}:{color}" for name, color in colors.items())
