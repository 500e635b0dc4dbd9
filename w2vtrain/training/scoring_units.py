"""Run units of scoring on threads, with progress and a way to stop.

This module does not know how a unit scores its text. Units share nothing that depends on their order, so the result
does not depend on the number of threads.
"""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from w2vtrain.errors import Stopped
from w2vtrain.probability.dense import Workspace
from w2vtrain.system.parallel import parallel

TICK_SECONDS = 0.05
"""Seconds between calls of `stop` while no unit ends."""

Check = Callable[[], None]
"""Raises Interrupted if the unit must end. Each unit calls it before every block."""
Unit = Callable[[Workspace, Check], np.ndarray]
"""Processes one unit and returns its sums (n,), with the same n for all units."""


class Interrupted(Stopped):
    """Raised if `stop` returned True before all units were done; there is no result."""

    def __init__(self) -> None:
        super().__init__("scoring of the held-out text was stopped before it was done")


class Watch(NamedTuple):
    """The callbacks of a call of `run_units`.

    on_progress(units done, units) is called after each unit in the caller's thread. `stop` is called in every thread
    before every block, and in the caller's thread at least every TICK_SECONDS; if it returns True, work ends.
    """

    on_progress: Callable[[int, int], None] = lambda done, total: None
    stop: Callable[[], bool] = lambda: False


def run_units(kinds: list[list[Unit]], threads: int, watch: Watch) -> tuple[np.ndarray, float]:
    """Run all units. Return their sums (units, n), kind by kind, and the seconds, summed over threads.

    The kinds are mixed, so that progress is steady: units of one kind must be similar in cost. Raise Interrupted if
    `watch.stop` returns True, once all threads have finished their block or parallel.GRACE_SECONDS have passed, and the
    first exception of a unit.
    """
    units = [unit for kind in kinds for unit in kind]
    shares = [place / len(kind) for kind in kinds for place in range(len(kind))]
    turn = itertools.chain(np.argsort(shares, kind="stable").tolist(), itertools.repeat(None))
    sums, seconds, done = [np.empty(0)] * len(units), np.zeros(len(units)), 0

    def work(_: int, ended: threading.Event) -> Iterator[bool]:
        """Run units in one thread until there are no more."""

        def check() -> None:
            if ended.is_set() or watch.stop():
                raise Interrupted

        space = Workspace()
        while (number := next(turn)) is not None:
            check()
            started = time.monotonic()
            with np.errstate(all="ignore"):  # weights near 1e38 give infinite scores: the trainer reports divergence
                sums[number] = units[number](space, check)
            seconds[number] = time.monotonic() - started
            yield True

    with parallel(work, min(threads, len(units)), "w2vtrain scorer", TICK_SECONDS) as reports:
        for is_done in reports:
            if watch.stop():
                raise Interrupted
            if is_done:
                done += 1
                watch.on_progress(done, len(units))
    return np.array(sums), float(seconds.sum())
