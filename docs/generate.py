"""Write the pages that the code and the measurements determine, from templates whose names begin with _.

The code determines the reference pages; the results in docs/measured determine the comparison of the objectives and its
pictures. Run it as `make reference`. tests/test_reference.py fails if a
page differs from what this module would write.
"""

import inspect
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from w2vtrain.architectures import architecture_class, architectures
from w2vtrain.config import FIELDS, ROWS, option
from w2vtrain.errors import EXIT_CODES
from w2vtrain.formats.vector_formats import formats
from w2vtrain.objectives import objective_class, objective_defaults, objectives, option_defaults
from w2vtrain.parsers import Choice, Row, Text, Truth

sys.path.insert(0, str(Path(__file__).parent))

import fronts
import yardstick

FOLDER = Path(__file__).parent
NOTE = "<!-- Written by `make reference` from _{name} and the code. Do not edit. -->\n\n"
COMPUTED = re.compile(r"\s*\[default: (.+)\]")
"""The part of a setting's help that describes a default which depends on other settings."""


def pages() -> dict[str, str]:
    """Return the text of each page by its path in docs: its template, filled with tables."""
    parts = {
        "settings": settings(), "objectives": every_objective(),
        "architectures": every_architecture(), "formats": format_table(), "about_formats": about_formats(),
        "codes": exit_codes(),
        **yardstick.parts(),
    }  # fmt: skip
    texts = {}
    for template in sorted(FOLDER.rglob("_*.md")):
        name = template.name.removeprefix("_")
        if template.parent == FOLDER and not yardstick.is_complete():
            continue  # the comparison of the objectives is written when all of it has been measured
        filled = template.read_text(encoding="utf-8").format(**parts)
        path = template.with_name(name).relative_to(FOLDER).as_posix()
        texts[path] = NOTE.format(name=name) + filled.rstrip() + "\n"
    return texts


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(re.sub(r"(?<!\\)\|", r"\\|", cell) for cell in line) + " |\n" for line in lines)


def code(text: Any) -> str:
    """Return a text as code, or nothing for an empty one."""
    return f"`{text}`" if text != "" else ""


def escaped(text: str) -> str:
    """Return plain text in which Markdown finds no markup but code."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(
        piece if piece.startswith("`") else re.sub(r"([\\*_\[\]<>|$#~])", r"\\\1", piece) for piece in pieces
    )


def default_of(name: str) -> str:
    """Return a setting's default as it is written in TOML, or what its help says of a default that is computed."""
    value = FIELDS[name].default
    if value is None:
        computed = COMPUTED.search(ROWS[name].text)
        return computed[1] if computed else "none"
    return code(f"{value:g}" if isinstance(value, float) else json.dumps(value))


def values_of(row: Row) -> str:
    """Return the values that a setting accepts, in the words of the error for a wrong one."""
    if isinstance(row.parser, Truth):
        return "`true` or `false`"
    words = [code(word) for word in row.parser.words]
    if isinstance(row.parser, Choice):
        return ", ".join(words)
    if isinstance(row.parser, Text):
        return ", ".join([*words, "or a file or module"]) if words else "a name"
    try:
        row.parser.parse(object())
    except ValueError as error:
        return str(error).removeprefix("expected ")
    raise AssertionError(row)


def settings() -> str:
    """Return an entry for each setting, under a heading that can be linked to."""
    text = ""
    for name, row in ROWS.items():
        if name == "options":
            continue
        also = f" Also: {', '.join(code(f'--{option(other)}') for other in row.names)}." if row.names else ""
        text += f"## `--{option(name)}`\n\n{escaped(COMPUTED.sub('', row.text))}\n\n"
        text += f"*Values: {values_of(row)}. Default: {default_of(name)}.{also}*\n\n"
    return text


def paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs of a docstring, each on one line."""
    for block in re.split(r"\n\s*\n", text.strip()):
        yield escaped(" ".join(block.split()))


def documented(cls: type) -> str:
    """Return a class's docstring: its formula in the first line, then its paragraphs."""
    formula, _, rest = (inspect.getdoc(cls) or "").partition("\n")
    return f"```text\n{formula}\n```\n\n" + "".join(f"{text}\n\n" for text in paragraphs(rest) if text)


def every_objective() -> str:
    """Return an entry for each objective."""
    text = ""
    for name in objectives():
        cls = objective_class(name)
        options = [code(f"{key}={json.dumps(value)}") for key, value in option_defaults(name).items()]
        rates = ", ".join(f"{rate['alpha']:g} (`{kind}`)" for kind, rate in objective_defaults(name).items())
        unshuffled = [f"`{kind}`" for kind, rate in objective_defaults(name).items() if not rate.get("shuffle", True)]
        text += f"## {name}\n\n{documented(cls)}"
        if options:
            text += f"*Options with defaults: {', '.join(options)}.*\n\n"
            build_text = inspect.getdoc(cls.build) or ""
            if re.search(rf"\b({'|'.join(option_defaults(name))}):", build_text):  # it explains options
                text += "".join(f"{paragraph}\n\n" for paragraph in paragraphs(build_text))
        order = f" With {' and '.join(unshuffled)}, the text is not shuffled by default." if unshuffled else ""
        text += f"*Default learning rates: {rates}.{order}*\n\n"
    return text


def every_architecture() -> str:
    """Return an entry for each architecture."""
    text = ""
    for name in architectures():
        cls = architecture_class(name)
        text += f"## {name}\n\n{documented(cls)}"
        if cls.like() != name:
            text += f"Learning rates: those of `{cls.like()}`, unless the objective has others.\n\n"
    return text


def format_table() -> str:
    """Return the table of the formats of vectors."""
    rows = [
        [
            f"`{name}`", " ".join(code(suffix) for suffix in format_.suffixes),
            "also compressed" if format_.compressible else "yes" if format_.is_read else "no",
        ]
        for name, format_ in formats().items()
    ]  # fmt: skip
    return table(["format", "suffixes", "read"], rows)


def about_formats() -> str:
    """Return what the files of each format are, as a list."""
    return "".join(f"- `{name}`: {escaped(format_.about)}.\n" for name, format_ in formats().items())


def exit_codes() -> str:
    """Return the table of exit codes."""
    rows = [[str(code), escaped(summary), detail] for code, (summary, detail) in EXIT_CODES.items()]
    return table(["code", "meaning", "details"], rows)


if __name__ == "__main__":
    for name, page in pages().items():
        (FOLDER / name).write_text(page, encoding="utf-8", newline="\n")
    fronts.write()
