"""Run units of scoring on threads, with progress, an estimate of the time, and a way to stop.

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
UNITS_TO_ESTIMATE = 3
"""Units of each kind that the estimate is based on."""

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

    on_progress(units done, units) is called after each unit. on_estimate(seconds) is called once, when a few units are
    done, with the expected wall-clock time of all units. Both are called in the caller's thread. `stop` is called in
    every thread before every block, and in the caller's thread at least every TICK_SECONDS; if it returns True, work
    ends.
    """

    on_progress: Callable[[int, int], None] = lambda done, total: None
    on_estimate: Callable[[float], None] = lambda seconds: None
    stop: Callable[[], bool] = lambda: False


def run_units(kinds: list[list[Unit]], threads: int, watch: Watch) -> tuple[np.ndarray, float]:
    """Run all units. Return their sums (units, n), kind by kind, and the seconds, summed over threads.

    Units of one kind must be similar in cost. Raise Interrupted if `watch.stop` returns True, once all threads have
    finished their block or parallel.GRACE_SECONDS have passed, and the first exception of a unit.
    """
    batch = _Batch(kinds, watch)
    threads, done, estimated = min(threads, len(batch.units)), 0, False
    with parallel(batch.work, threads, "w2vtrain scorer", TICK_SECONDS) as units:
        for unit in units:
            if watch.stop():
                raise Interrupted
            if unit is not None:
                done += 1
                estimated = estimated or batch.estimate(threads)
                watch.on_progress(done, len(batch.units))
    return np.array(batch.sums), float(batch.seconds.sum())


class _Batch:
    """The units of one call of `run_units`, and their results."""

    def __init__(self, kinds: list[list[Unit]], watch: Watch) -> None:
        self.units = [unit for units in kinds for unit in units]
        self.kind = np.repeat(np.arange(len(kinds)), [len(units) for units in kinds])
        self.watch = watch
        self.sums = [np.empty(0)] * len(self.units)
        self.seconds = np.full(len(self.units), np.nan)  # NaN: not done
        self.first = np.zeros(len(self.units), np.bool_)  # of their threads: kernels may be compiled meanwhile
        # A few units of each kind come first, for the estimate; then the kinds are mixed, so that progress is steady.
        share = [k / len(units) if k >= UNITS_TO_ESTIMATE else -1.0 for units in kinds for k in range(len(units))]
        self.turn = itertools.chain(np.argsort(share, kind="stable").tolist(), itertools.repeat(None))

    def work(self, _: int, ended: threading.Event) -> Iterator[int]:
        """Run units in one thread until there are no more, and yield their numbers."""

        def check() -> None:
            if ended.is_set() or self.watch.stop():
                raise Interrupted

        space, is_first = Workspace(), True
        while (unit := next(self.turn)) is not None:
            check()
            self.first[unit], is_first = is_first, False
            started = time.monotonic()
            with np.errstate(all="ignore"):  # weights near 1e38 give infinite scores: the trainer reports divergence
                self.sums[unit] = self.units[unit](space, check)
            self.seconds[unit] = time.monotonic() - started
            yield unit

    def estimate(self, threads: int) -> bool:
        """Call on_estimate if enough units of each kind are done; return whether they are."""
        total = 0.0
        for kind in range(int(self.kind[-1]) + 1):
            mine = self.seconds[(self.kind == kind) & ~self.first]
            known = mine[~np.isnan(mine)]
            if len(known) < min(UNITS_TO_ESTIMATE, len(mine)):
                return False
            if len(mine):
                total += float(np.median(known)) * len(mine)
        self.watch.on_estimate(total / threads)
        return True
