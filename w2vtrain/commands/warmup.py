"""The command `warmup`: compile the kernels of architectures and objectives into the cache, in several processes.

What is compiled is in training/warmup.py.
"""

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import product

from w2vtrain import architectures, objectives
from w2vtrain.architectures import architecture_class
from w2vtrain.commands.console import duration
from w2vtrain.commands.shell import explained
from w2vtrain.config import Settings
from w2vtrain.errors import ResourceError, UsageError, W2VError, shell_spelling
from w2vtrain.kernels.jit import cache_folder
from w2vtrain.objectives import objective_class
from w2vtrain.system.children import each, run_child, tell
from w2vtrain.system.json_text import json_text
from w2vtrain.system.machine import automatic_threads, available_memory
from w2vtrain.system.terminal import echo
from w2vtrain.training.warmup import Warmed, warmup

PROCESS = 400 << 20
"""Bytes of memory that a process takes that compiles; measured: up to 280 MiB."""


def compile_all(named: Sequence[str], mixers: Sequence[str], everything: bool, as_json: bool) -> None:
    """Compile the kernels of all pairs of objectives (`named`) and architectures (`mixers`); print each pair.

    If there are several objectives, compile those of each in a process of its own, as many at once as there are cores
    and memory for. Without a cache folder, raise ResourceError.
    """
    named, mixers = _requested(named, mixers, everything)
    if cache_folder() is None:
        raise ResourceError("no folder for compiled kernels can be written: set NUMBA_CACHE_DIR to one that can")
    started, found = time.monotonic(), []  # type: float, list[Warmed]

    def say(one: Warmed) -> None:
        found.append(one)
        echo(json_text(asdict(one)) if as_json else _line(one))

    apart = min(len(named), automatic_threads()[0], available_memory() // PROCESS)
    if apart > 1:
        each(lambda name: _compile_apart(name, mixers, say), named, apart)
    else:
        for name, mixer in product(named, mixers):
            say(warmup(mixer, name))
    if not as_json:
        total = sum(one.kernels for one in found)
        echo(f"{total} kernels compiled into {cache_folder()} in {duration(time.monotonic() - started)}")


def _requested(named: Sequence[str], mixers: Sequence[str], everything: bool) -> tuple[list[str], list[str]]:
    """Return the objectives and architectures to compile, after a check that they exist."""
    if everything and (named or mixers):
        raise UsageError("--all includes all objectives and architectures: name none")
    if everything:
        named, mixers = list(objectives.objectives()), list(architectures.architectures())
    named, mixers = list(named) or [Settings.objective], list(mixers) or [Settings.architecture]
    for kind, find, names in ((objectives, objective_class, named), (architectures, architecture_class, mixers)):
        for name in names:
            kind.allow_code(name)
            find(name)
    return named, mixers


def _line(one: Warmed) -> str:
    what = f"compiled {one.kernels} kernels" if one.kernels else "loaded from the cache"
    return f"{f'{one.architecture} with {one.objective}':<36} {what} in {duration(one.seconds)}"


def _compile_apart(objective: str, mixers: Sequence[str], say: Callable[[Warmed], None]) -> None:
    """Compile the kernels of an objective in a process of its own, and call `say` with each pair."""

    def heard(line: bytes) -> None:
        if not line.startswith(b'{"'):  # printed by code of the user
            return
        found = json.loads(line)
        if "failed" in found:
            error = W2VError(found["failed"])
            error.exit_code = found["exit_code"]
            raise error
        say(Warmed(**found))

    task = json_text([(mixer, objective) for mixer in mixers]).encode()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        code, _ = run_child(child, task, folder, heard)
    if code:
        raise ResourceError(f"the process that compiled {objective} ended with code {code}")


def child(task: bytes) -> None:
    """Compile the kernels of pairs given as JSON; write each, or the error that ends this, as a line of JSON."""
    with shell_spelling():  # `warmup` shows the message
        try:
            for pair in json.loads(task):
                tell(asdict(warmup(*pair)))
        except Exception as error:
            code, message = explained(error)
            tell({"failed": message, "exit_code": code})
