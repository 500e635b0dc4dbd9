"""The command `warmup`: compile the kernels of architectures and objectives into the cache, in several processes.

What is compiled is in training/warmup.py.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import product

from w2vtrain import architectures, objectives
from w2vtrain.architectures import architecture_class
from w2vtrain.commands.console import duration
from w2vtrain.config import Settings
from w2vtrain.errors import ResourceError, UsageError
from w2vtrain.kernels.jit import cache_folder
from w2vtrain.objectives import objective_class
from w2vtrain.system.json_text import json_text
from w2vtrain.system.machine import automatic_threads, available_memory
from w2vtrain.system.terminal import echo
from w2vtrain.training.warmup import Warmed, warmup

PROCESS = 400 << 20
"""Bytes of memory that a process takes that compiles; measured: up to 280 MiB."""
TICK = 0.05
"""Seconds between two looks at the processes."""


def compile_all(named: Sequence[str], mixers: Sequence[str], everything: bool, as_json: bool) -> None:
    """Compile the kernels of all pairs of objectives (`named`) and architectures (`mixers`); print each pair.

    If there are several objectives, compile those of each in a process of its own, as many at once as there are cores
    and memory for. Without a cache folder, raise ResourceError.
    """
    if everything and (named or mixers):
        raise UsageError("--all includes all objectives and architectures: name none")
    if everything:
        named, mixers = list(objectives.objectives()), list(architectures.architectures())
    named, mixers = list(named) or [Settings.objective], list(mixers) or [Settings.architecture]
    for kind, find, names in ((objectives, objective_class, named), (architectures, architecture_class, mixers)):
        for name in names:
            kind.allow_code(name)
            find(name)
    if cache_folder() is None:
        raise ResourceError("no folder for compiled kernels can be written: set NUMBA_CACHE_DIR to one that can")
    started, found = time.monotonic(), []
    apart = min(len(named), automatic_threads()[0], available_memory() // PROCESS)
    pairs = ((mixer, name) for name, mixer in product(named, mixers))
    for one in _in_processes(named, mixers, apart) if apart > 1 else (warmup(*pair) for pair in pairs):
        found.append(one)
        echo(json_text(asdict(one)) if as_json else _line(one))
    if not as_json:
        total = sum(one.kernels for one in found)
        echo(f"{total} kernels compiled into {cache_folder()} in {duration(time.monotonic() - started)}")


def _line(one: Warmed) -> str:
    what = f"compiled {one.kernels} kernels" if one.kernels else "loaded from the cache"
    return f"{f'{one.architecture} with {one.objective}':<36} {what} in {duration(one.seconds)}"


def _in_processes(named: Sequence[str], mixers: Sequence[str], apart: int) -> Iterator[Warmed]:
    """Yield what processes have compiled, each for one objective, `apart` of them at a time.

    On POSIX, they have sessions of their own, so that Ctrl-C reaches only this process, which then ends them. They do
    not end if this process is killed.
    """
    waiting, running = list(named), []  # type: list[str], list[subprocess.Popen[str]]
    options = [word for mixer in mixers for word in ("--architecture", mixer)]
    try:
        while waiting or running:
            while waiting and len(running) < apart:
                words = ["warmup", "--json", "--objective", waiting.pop(0), *options]
                command = [sys.executable, "-m", "w2vtrain", *words]
                running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True))
            time.sleep(TICK)
            for process in [process for process in running if process.poll() is not None]:
                running.remove(process)
                if process.returncode:
                    raise ResourceError(f"a process that compiles has ended with code {process.returncode}: see above")
                for line in process.communicate()[0].splitlines():
                    yield Warmed(**json.loads(line))
    finally:
        for process in running:
            process.kill()
            process.wait()
