"""Pages in one file, from Jinja2 templates: their colors, and how they show foreign words.

A page loads nothing and runs no script but its own. Templates escape whatever they are given.
"""

import base64
import hashlib
from pathlib import Path
from typing import Any

from w2vtrain.system import terminal
from w2vtrain.system.amounts import counted, duration, size_text

LIGHT = {
    "bg": "#ffffff", "panel": "#f4f6f9", "ink": "#1b1f24", "muted": "#565e68", "line": "#d5dae1", "link": "#0b5cad",
    "warn": "#8a4b00", "c1": "#1b45b4", "c2": "#dd6b0d", "c3": "#5b96e0", "c4": "#8a1b1f",
}  # fmt: skip
"""Colors on a light background; pages use them as `var(--NAME)`.

ink, muted, link and warn are for text: their contrast with bg and panel is at least 4.5. c1 to c4 are for curves and
points: their contrast with bg is at least 3, and readers with any form of color blindness can tell them apart
(tests/leaves/pictures/test_page.py measures both).
"""
DARK = {
    "bg": "#14171b", "panel": "#1d2228", "ink": "#e9ecef", "muted": "#a8b1bb", "line": "#383f48", "link": "#7fbcff",
    "warn": "#f3b65c", "c1": "#6fb8fa", "c2": "#f1ab31", "c3": "#6a6fe6", "c4": "#c24e28",
}  # fmt: skip
"""The same colors on a dark background."""
MAX_CHARACTERS = 60
"""Characters of a word or a name that are shown."""


def page(template: str, script: str = "", **facts: Any) -> str:
    """Return a page as HTML, to be written as UTF-8.

    template: a file beside this module; script: JavaScript of this package, the only one that the page's
    Content-Security-Policy allows; facts: what the template shows.
    """
    from jinja2 import Environment, FileSystemLoader  # an optional package

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, finalize=_text, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters |= {
        "amount": "{:,.0f}".format, "counted": counted, "duration": duration, "short": shortened, "size": size_text,
    }  # fmt: skip
    return environment.get_template(template).render(
        script=script, policy=_policy(script), light=LIGHT, dark=DARK, **facts
    )


def visible(text: Any) -> str:
    r"""Return text in which control characters, and those that reorder a line, are escapes (\x1b, \u202e)."""
    return terminal.escaped(terminal.escaped_line(str(text)))


def shortened(text: str, most: int = MAX_CHARACTERS) -> str:
    """Return a text of at most `most` characters, if necessary without its middle."""
    return text if len(text) <= most else f"{text[: most // 2]}…{text[len(text) - (most - 1) // 2 :]}"


def _text(value: Any) -> Any:
    """Return what a template writes for a value: HTML stays as it is, and Jinja2 escapes everything else."""
    return value if hasattr(value, "__html__") else visible(value)


def _policy(script: str) -> str:
    """Return a Content-Security-Policy that allows styles, images in the page, and this script."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    source = f"'sha256-{digest}'" if script else "'none'"
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {source}; base-uri 'none';"
        " form-action 'none'"
    )
