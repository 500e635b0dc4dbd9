"""The command `warmup`: compile the kernels of architectures and objectives into the cache, one process per objective.

What is compiled is in training/compile_ahead.py.
"""

import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import click

from w2vtrain.commands.options import CODES, command
from w2vtrain.commands.shell import explained, imports
from w2vtrain.config import Settings
from w2vtrain.errors import Relayed, ResourceError, UsageError
from w2vtrain.registry import our_name
from w2vtrain.system.amounts import duration
from w2vtrain.system.machine import automatic_threads, available_memory
from w2vtrain.system.terminal import echo

PROCESS_BYTES = 400 << 20
"""Memory that a process takes that compiles; measured: up to 280 MiB."""


@command(epilog=CODES)
@click.option("--architecture", "architectures", multiple=True, metavar="NAME", help="As for `fit`; repeatable.")
@click.option("--objective", "objectives", multiple=True, metavar="NAME", help="As for `fit`; repeatable.")
@click.option("--all", "everything", is_flag=True, help="All architectures with all objectives; takes minutes.")
def warmup(architectures: tuple[str, ...], objectives: tuple[str, ...], everything: bool) -> None:
    """Compile the kernels that read text and train, once for this processor, and keep them in the cache.

    Otherwise, the first run with an architecture and an objective compiles them, which takes seconds. The cache is in
    NUMBA_CACHE_DIR, the package's folder or your cache folder. Settings other than --architecture and --objective
    rarely need other kernels.
    """
    with imports():
        from w2vtrain.kernels.jit import cache_folder
        from w2vtrain.system.children import each
        from w2vtrain.training.compile_ahead import Warmed
    if everything and (objectives or architectures):
        raise UsageError("--all includes all objectives and architectures: name none")
    outputs, inputs = _requested(objectives, architectures, everything)
    if cache_folder() is None:
        raise ResourceError("no folder for compiled kernels can be written: set NUMBA_CACHE_DIR to one that can")
    started, kernels = time.monotonic(), 0

    def say(pair: Warmed) -> None:
        nonlocal kernels
        kernels += pair.kernels
        result = f"compiled {pair.kernels} kernels" if pair.kernels else "loaded from the cache"
        echo(f"{f'{pair.architecture} with {pair.objective}':<36} {result} in {duration(pair.seconds)}")

    processes = max(1, min(len(outputs), automatic_threads()[0], available_memory() // PROCESS_BYTES))
    each(lambda objective: _compile_apart(objective, inputs, say), outputs, processes)
    echo(f"{kernels} kernels compiled into {cache_folder()} in {duration(time.monotonic() - started)}")


def _requested(
    named_objectives: tuple[str, ...], named_architectures: tuple[str, ...], everything: bool
) -> tuple[list[str], list[str]]:
    """Return the objectives and architectures to compile, after a check that they exist."""
    from w2vtrain import architectures, objectives

    if everything:
        return list(objectives.objectives()), list(architectures.architectures())
    outputs = {our_name("objective", name): None for name in named_objectives or [Settings.objective]}
    inputs = {our_name("architecture", name): None for name in named_architectures or [Settings.architecture]}
    for name in outputs:
        objectives.allow_code(name)
        objectives.objective_class(name)
    for name in inputs:
        architectures.allow_code(name)
        architectures.architecture_class(name)
    return list(outputs), list(inputs)


def _compile_apart(objective: str, architectures: list[str], say: Callable[[Any], None]) -> None:
    """Compile the kernels of an objective in a process of its own, and call `say` with each pair."""
    from w2vtrain.system.children import run_child
    from w2vtrain.training.compile_ahead import Warmed

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        run_child(child, [objective, architectures], folder, lambda pair: say(Warmed(**pair)))


def child(objective: str, architectures: list[str]) -> None:
    """Compile the kernels of an objective, and tell the parent about each pair, or the error that ends this."""
    from w2vtrain.system.children import tell
    from w2vtrain.training.compile_ahead import warmup as compile_pair

    try:
        for architecture in architectures:
            tell(asdict(compile_pair(architecture, objective)))
    except Exception as error:
        code, message = explained(error)
        raise Relayed(message, code) from error
