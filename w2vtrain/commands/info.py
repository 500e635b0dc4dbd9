"""The command `info`: print what a file is.

The facts come from formats/describe.py; this module only formats them.
"""

from typing import Any

from w2vtrain.commands.inputs import readable
from w2vtrain.formats.describe import describe
from w2vtrain.system.json_text import json_text
from w2vtrain.system.terminal import echo, escaped_line


def print_info(path: str, as_json: bool) -> None:
    """Print what a file is, one fact per line or as JSON."""
    with readable(path) as name:
        about = {**describe(name), "path": path}
    if as_json:
        echo(json_text(about))
    else:
        exact = about.pop("words_exact", True)
        _print_facts(about if exact else {**about, "words": f"about {about['words']:,}"})


def _print_facts(facts: dict[str, Any], indent: str = "") -> None:
    """Print one fact per line. Names and values may come from an untrusted file, so line ends in them are escaped."""
    for key, value in facts.items():
        name = escaped_line(key)
        if isinstance(value, dict):
            echo(f"{indent}{name}" if value else f"{indent}{name:<{20 - len(indent)}} none")
            _print_facts(value, indent + "  ")
        elif isinstance(value, list) and value and all(isinstance(part, dict) for part in value):
            echo(f"{indent}{name}")
            for part in value:
                echo(escaped_line(f"{indent}  " + ", ".join(f"{key} {_fact(part[key])}" for key in part)))
        else:
            echo(escaped_line(f"{indent}{name:<{20 - len(indent)}} {_fact(value)}"))


def _fact(value: Any) -> str:
    """Return a value formatted for people."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " x ".join(_fact(part) for part in value)
    if isinstance(value, dict):
        return f"({', '.join(f'{key} {_fact(part)}' for key, part in value.items())})"
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}" if isinstance(value, float) else str(value)
