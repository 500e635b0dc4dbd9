"""Compile an engine's kernels, and turn what Numba says about a user's own code into one line.

It knows Numba's messages only: which classes are somebody's own is the caller's knowledge.
"""

import inspect
import linecache
import re
from pathlib import Path
from typing import Any

from numba.core.errors import NumbaError

from w2vtrain.errors import ConfigError
from w2vtrain.training.trainer import Engine

HEADER = "Failed in nopython mode pipeline"
PLACE = re.compile(r'File "([^"]+)", line (\d+)')
SIGNATURE = "found for signature"


def compile_engine(engine: Engine, objective: Any, architecture: Any) -> None:
    """Compile, or load from disk, what training runs.

    ConfigError if Numba cannot compile the objective or the architecture: it shows the line of theirs that is at fault.
    """
    try:
        engine.compile()
    except NumbaError as error:
        for part in (objective, architecture):
            if found := own_line(str(error), type(part)):
                raise ConfigError(f"{found} (--debug shows all that Numba says)") from error
        raise


def own_line(message: str, cls: type) -> str | None:
    """Return the place in a class's file, its line, and why it cannot be compiled; None if the file is not at fault."""
    path = inspect.getsourcefile(cls)
    if path is None:
        return None
    why = reason(message)
    numbers = [int(number) for file, number in PLACE.findall(message) if Path(file).name == Path(path).name]
    number = numbers[-1] if numbers else _line_of_name(why, cls)
    if number is None:
        return None
    return f"{Path(path).name}, line {number}: `{linecache.getline(path, number).strip()}` cannot be compiled: {why}"


def reason(message: str) -> str:
    """Return what the innermost of Numba's nested messages says first, on one line."""
    lines = [line.strip() for line in message.rpartition(HEADER)[2].splitlines()[1:]]
    lines = [line for line in lines if line]
    if not lines:
        return message.strip().splitlines()[0]
    if SIGNATURE in lines[0]:
        call = next((line.removeprefix(">>>").strip() for line in lines if line.startswith(">>>")), "")
        return f"Numba has no implementation of {call}"
    return lines[0]


def _line_of_name(why: str, cls: type) -> int | None:
    """Return the line of a class that uses the name which a NameError is about: Numba gives no place for it."""
    name = re.search(r"name '(\w+)' is not defined", why)
    lines, first = inspect.getsourcelines(cls)
    return next((first + k for k, line in enumerate(lines) if name and re.search(rf"\b{name[1]}\b", line)), None)
