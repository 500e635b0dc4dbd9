"""Measure how long a cache line takes to another core and back.

Threads that train together write to the same rows, and a row that another core wrote last has to travel. On two cores
that share a cache this takes about 30 ns there and back; on cores that share none, more than 100 ns. Virtual machines
move their cores about, so that both happen within seconds.
"""

import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba.core import types

from w2vtrain.kernels.jit import kernel
from w2vtrain.kernels.llvm import emitter_of
from w2vtrain.kernels.rows import apart_zeros

FAR_SECONDS = 100e-9
"""Seconds of a round trip above which two cores are called far from each other."""

MAX_SPINS = 40_000_000
"""Looks at the cell after which a thread gives up, about 10 ms. On a busy machine both threads may get the same core,
where each answer takes a time slice."""


def load_shared(cell: np.ndarray) -> int:
    """Return cell[0], int64, which another thread may change at any time."""
    return int(cell[0])


@emitter_of(load_shared, returns=types.int64)
def _emit_load_shared(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    return builder.load_atomic(data, "acquire", 8)


def store_shared(cell: np.ndarray, value: int) -> None:
    """Set cell[0], int64, so that other threads see it, and everything written before it."""
    cell[0] = value


@emitter_of(store_shared)
def _emit_store_shared(context: Any, builder: Any, signature: Any, args: Any) -> None:
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    builder.store_atomic(args[1], data, "release", 8)


@kernel()
def bounce(cell: np.ndarray, player: int, first: int, end: int, spins: int) -> bool:
    """Wait for the other player's number in cell (1,) int64 and answer with the next one, in the turns [first, end).

    player: 0 or 1; the cell starts at 0. Return False if all turns together take more than `spins` looks.
    """
    waited = 0
    for turn in range(first, end):
        while load_shared(cell) != 2 * turn + player:
            waited += 1
            if waited > spins:
                return False
        store_shared(cell, 2 * turn + player + 1)
    return True


def round_trip(turns: int = 1000, tries: int = 9) -> float | None:
    """Return the median of the seconds that a cache line takes to another core and back; each try takes some turns.

    The operating system chooses the two cores, as in training. Return None if no try was answered, because there is
    only one core, or because the machine is too busy to run both threads at once. A first call compiles the kernel.
    """
    bounce(np.zeros(1, np.int64), 0, 0, 0, 0)  # compile
    with ThreadPoolExecutor(1, "w2vtrain coherence") as other:  # ends the thread after an error, too
        seconds = [trip for _ in range(tries) if (trip := _round_trip(other, turns)) is not None]
    return statistics.median(seconds) if seconds else None


def _round_trip(other: ThreadPoolExecutor, turns: int) -> float | None:
    """Return the mean of the seconds of all turns but two, None if a thread gave up."""
    cell = apart_zeros((1,), np.int64)
    answers = other.submit(bounce, cell, 1, 0, turns, MAX_SPINS)
    answered = bounce(cell, 0, 0, 2, MAX_SPINS)  # at its second turn, the other thread runs
    started = time.perf_counter()
    answered = answered and bounce(cell, 0, 2, turns, MAX_SPINS)
    seconds = time.perf_counter() - started
    return seconds / (turns - 2) if answers.result() and answered else None
