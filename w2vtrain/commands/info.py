"""The command `info`: print what a file or a run folder is.

The facts come from formats/describe.py and training/run_status.py; this module only formats them.
"""

import os
import re
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

import click

from w2vtrain.commands.input_files import readable
from w2vtrain.commands.options import command, json_option
from w2vtrain.commands.shell import echo_json, imports
from w2vtrain.doors import is_there, leaf
from w2vtrain.errors import InputMissing
from w2vtrain.system.amounts import duration
from w2vtrain.system.files import STDOUT
from w2vtrain.system.terminal import echo, escaped_line

LABELS = {"seconds": "time", "seconds_left": "time left"}
"""What people read in place of a fact's name."""


OTHERS = {
    rb"# w2vtrain phrases ": ("table of phrases", "`w2vtrain fit --phrases` joins them"),
    rb'\{"event":"': ("log of a run", "`w2vtrain plot curves` draws it"),
    rb'\[?\s*\{\s*"job":': ("results of a comparison", "`w2vtrain compare` wrote them; `info` describes their folder"),
}
"""Other files that commands write, by how they begin: their kind, and what they are for."""


@command()
@click.argument("file")
@json_option
def info(file: str, as_json: bool) -> None:
    """Print what FILE is: vectors, a vocabulary, a model and how it was trained, a run folder or record, a log, a
    table of phrases, or the folder of a comparison.

    For a run folder, this is its progress, the time left, whether it is running, and the command that continues it.
    """
    facts = facts_of(file)
    if as_json:
        echo_json(facts)
    else:
        _print_facts(for_people(facts))


def facts_of(path: str) -> dict[str, Any]:
    """Return the description of a file, a run folder or a folder of `compare`."""
    with imports():
        from w2vtrain.formats.describe import describe
        from w2vtrain.formats.sniff import read_head, vector_folder
    if path != STDOUT and os.path.isdir(path) and not vector_folder(Path(path)):  # noqa: PTH112 - any length
        from w2vtrain.training.run_status import describe_run, is_run_folder

        if is_run_folder(path):
            return dict(describe_run(path))
        if is_there("comparisons") and (comparison := leaf("comparisons").describe_comparison(Path(path))):
            return dict(comparison)
        raise InputMissing(f"{path} is a folder: name a file, or a run folder, which has a config.json")
    with readable(path) as name:
        facts = {**describe(name), "path": path}
        if facts["kind"] == "unknown":
            from w2vtrain.training.run_status import describe_record  # loads what training needs

            if record := describe_record(name):
                return {**record, "path": path}
            head = read_head(name)[0].removeprefix(BOM_UTF8)
            for start, (kind, note) in OTHERS.items():
                if re.match(start, head):
                    facts |= {"kind": kind, "note": note}
    return facts


def for_people(facts: dict[str, Any]) -> dict[str, Any]:
    """Return a description with numbers as people read them; what is unknown about a run is left out."""
    shown = dict(facts)
    settings = facts.get("settings")
    if isinstance(settings, dict) and isinstance(options := settings.get("options"), dict):
        automatic = {name: "automatic" if value == -1 else value for name, value in options.items()}
        shown["settings"] = {**settings, "options": automatic}
    if not shown.pop("words_exact", True):
        shown["words"] = f"about {facts['words']:,}"
    if facts["kind"] == "run folder":
        shown = {name: value for name, value in shown.items() if value is not None}
        shown["outputs"] = ", ".join(facts["outputs"])
        shown |= {name: duration(facts[name]) for name in ("seconds", "seconds_left") if name in shown}
        if "progress" in shown:
            shown["progress"] = f"{facts['progress']:.0%}"
    labels = {**LABELS, "command": "continue" if "run" in facts or facts["kind"] == "run folder" else "train further"}
    return {labels.get(name, name): value for name, value in shown.items()}


def _print_facts(facts: dict[str, Any], indent: str = "") -> None:
    """Print one fact per line. Names and values may come from an untrusted file, so line ends in them are escaped."""
    for key, value in facts.items():
        name = escaped_line(key)
        if isinstance(value, dict):
            echo(f"{indent}{name}" if value else f"{indent}{name:<{20 - len(indent)}} none")
            _print_facts(value, indent + "  ")
        elif isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
            echo(f"{indent}{name}")
            for row in value:
                echo(escaped_line(f"{indent}  " + ", ".join(f"{key} {_fact(row[key])}" for key in row)))
        else:
            echo(escaped_line(f"{indent}{name:<{20 - len(indent)}} {_fact(value)}"))


def _fact(value: Any) -> str:
    """Return a value formatted for people."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " x ".join(_fact(item) for item in value)
    if isinstance(value, dict):
        return f"({', '.join(f'{key} {_fact(item)}' for key, item in value.items())})"
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}" if isinstance(value, float) else str(value)
