"""Parse the list of objectives that `compare` takes, with their options and settings. Nothing is trained here."""

import re
from dataclasses import dataclass
from typing import Any

from w2vtrain.config import ROWS, SYNONYMS
from w2vtrain.errors import ConfigError
from w2vtrain.objectives import checked_options, objectives, option_defaults

SHARED = ("objective", "options", "seed")
"""Settings that no contender sets."""


@dataclass(frozen=True)
class Contender:
    """One row of the table: the name that the user gave, and the settings that differ from those of the comparison."""

    name: str
    settings: dict[str, Any]


def contenders(text: str) -> list[Contender]:
    """Parse objectives with optional options and settings, such as `softmax, nce(negative=25, alpha=0.1)`.

    `all` means every objective. Raise ConfigError, naming the objective and the mistake.
    """
    if text.strip() == "all":
        return [Contender(name, {"objective": name}) for name in objectives()]
    listed = []
    for entry in re.split(r",(?![^()]*\))", text):  # not at the commas inside parentheses
        if not entry.strip():
            continue
        match = re.fullmatch(r"\s*([\w-]+)\s*(?:\(([^()]*)\))?\s*", entry)
        if not match:
            code = "; make code in a file an entry point: see docs/adding-an-objective.md" * (".py" in entry)
            raise ConfigError(f"objectives: {entry.strip()!r} is not NAME or NAME(KEY=VALUE, ...){code}")
        listed.append(_contender(match[1], match[2] or ""))
    if not listed:
        raise ConfigError("objectives: the list is empty")
    if twice := [c.name for c in listed if [d.name for d in listed].count(c.name) > 1]:
        raise ConfigError(f"objectives: {twice[0]} is listed twice")
    return listed


def _contender(objective: str, inside: str) -> Contender:
    known = option_defaults(objective)
    settings: dict[str, Any] = {"objective": objective}
    options: dict[str, Any] = {}
    for pair in filter(str.strip, re.split(r",(?=[^,]*=|\s*$)", inside)):  # a value may be a list: cutoffs=2000,20000
        key, equals, value = (part.strip() for part in pair.partition("="))
        key = key.replace("-", "_")
        key = key if key in known else SYNONYMS.get(key, key)
        if not equals or (key not in known and (key not in ROWS or key in SHARED)):
            hint = "; --seeds N trains all with the same seeds" if key == "seed" else ""
            raise ConfigError(
                f"objectives: {pair.strip()!r} is not KEY=VALUE, where KEY is an option of {objective} or a setting"
                f" of its own{hint}"
            )
        if key in {**settings, **options}:
            raise ConfigError(f"objectives: {key} of {objective} is given twice")
        (options if key in known else settings)[key] = value
    checked_options(objective, options)
    name = f"{objective}({', '.join(part.strip() for part in inside.split(','))})" if inside.strip() else objective
    return Contender(name, {**settings, "options": options} if options else settings)


def without_budget(name: str) -> str:
    """Return a contender's name without its epochs and seconds, as in `nce` for `nce(epochs=2)`."""
    objective, _, inside = name.partition("(")
    keys = ((part, part.partition("=")[0].strip()) for part in inside.removesuffix(")").split(", "))
    kept = [part for part, key in keys if SYNONYMS.get(key, key) not in ("epochs", "seconds")]
    return f"{objective}({', '.join(kept)})" if any(kept) else objective
