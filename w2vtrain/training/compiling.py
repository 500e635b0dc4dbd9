"""Compile an engine's kernels, announce it, and reduce Numba's error messages about user code to one line.

This module knows only Numba's messages; the engine knows which kernels exist.
"""

import ast
import inspect
import linecache
import logging
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core.errors import NumbaError, UnsupportedBytecodeError

from w2vtrain.engines.base import Engine
from w2vtrain.errors import ConfigError, spelled
from w2vtrain.objectives.contract import check_candidates
from w2vtrain.registry import breach, is_ours

log = logging.getLogger(__name__)

HEADER = "Failed in nopython mode pipeline"
PLACE = re.compile(r'File "([^"]+)", line (\d+)')
SIGNATURE = "found for signature"
MEANINGS = {"Only accept returning of array": "kernels cannot create arrays"}
"""Beginnings of Numba messages that mean little to users, and what they mean."""


class Announcement:
    """One line, logged and reported once, that kernels are being compiled; silent if all come from the cache.

    Pass it to `on_compilation`. If a thread compiles, the line is reported at the next call of `deliver`, so that
    `report` is called in the thread that made the announcement.
    """

    def __init__(self, name: str, report: Callable[[str], None]) -> None:
        self.line, self.report, self.thread = f"compiling {name} once for this processor", report, threading.get_ident()
        self.due = self.delivered = False

    def __call__(self) -> None:
        """Log the line, and report it if this is the announcement's thread."""
        if not self.due:
            self.due = True
            log.info(self.line)
        if threading.get_ident() == self.thread:
            self.deliver()

    def deliver(self) -> None:
        """Report the line if it is due and was not reported."""
        if self.due and not self.delivered:
            self.delivered = True
            self.report(self.line)


def compile_engine(engine: Engine, objective: Any, architecture: Any) -> None:
    """Compile the kernels that training runs, or load them from disk.

    Raise ConfigError if Numba cannot compile the objective or the architecture. The message shows the line at fault, if
    Numba reports it.
    """
    try:
        engine.compile()
    except (NumbaError, UnsupportedBytecodeError) as error:
        message = str(error)
        classes = sorted((type(objective), type(architecture)), key=is_ours)  # user code first: the likelier cause
        lines = (own_line(message, cls) for cls in classes)
        brought = " with ".join(cls.__qualname__ for cls in classes if not is_ours(cls))
        if culprit := next(filter(None, lines), brought):
            all_of_it = f"{spelled('debug')} shows Numba's full message"
            raise ConfigError(f"{culprit} cannot be compiled: {first_cause(message)} ({all_of_it})") from error
        raise


def check_rows(engine: Engine) -> None:
    """Raise ConfigError if candidates of a user's objective, which was compiled, are not output rows."""
    cls = type(engine.objective)
    if cls.engine == "windows" and not is_ours(cls):
        try:
            check_candidates(engine.objective, len(engine.text.counts))
        except ConfigError as error:
            if isinstance(error.__cause__, OverflowError | TypeError):
                return  # plain Python, which draws here, lacks operations that kernels have
            raise breach(cls, "objective", f"cannot train: {error}") from error


def own_line(message: str, cls: type) -> str | None:
    """Return the innermost location in a class's file that a message names, with the source line there, or None."""
    source = inspect.getsourcefile(cls)
    if source is None:
        return None
    path = Path(source).resolve()
    numbers = [int(number) for file, number in PLACE.findall(_innermost(message)) if Path(file).resolve() == path]
    number = _line_of_name(message, source) or next(iter(numbers), None)
    if number is None:
        return None
    return f"{path.name}, line {number}: `{linecache.getline(source, number).strip()}`"


def first_cause(message: str) -> str:
    """Return the first line of the innermost of Numba's nested messages, in plain words if possible."""
    lines = [line.strip() for line in _innermost(message).splitlines()]
    lines = [line for line in lines if line] or [message.strip()]
    if SIGNATURE in lines[0]:
        call = next((line.removeprefix(">>>").strip() for line in lines if line.startswith(">>>")), "")
        return f"Numba has no implementation of {call}"
    return next((meaning for begin, meaning in MEANINGS.items() if lines[0].startswith(begin)), lines[0])


def _innermost(message: str) -> str:
    """Return the innermost of nested messages, and the locations of the outer ones, which follow it."""
    _, header, rest = message.rpartition(HEADER)
    return rest.partition("\n")[2] if header else message


def _line_of_name(message: str, source: str) -> int | None:
    """Return the first line of a file that uses the name in a NameError, for which Numba reports no location."""
    name = re.search(r"name '(\w+)' is not defined", first_cause(message))
    nodes = ast.walk(ast.parse("".join(linecache.getlines(source)))) if name else ()
    return min((n.lineno for n in nodes if isinstance(n, ast.Name) and name and n.id == name[1]), default=None)
