"""Run units of work on threads, with progress, an estimate of the time, a stop, and a limit on silence.

This module does not know what a unit computes. Units share nothing that depends on their order, so the result is the
same with any number of threads.
"""

import itertools
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from w2vtrain.errors import Stalled, Stopped
from w2vtrain.probability.dense import Workspace

TICK = 0.05
"""Seconds between two looks at `stop` while no unit ends."""
GRACE = 1.0
"""Seconds that threads get to end their block after a stop or an error: then they are left behind."""
FEW = 3
"""Units of each kind behind the estimate."""

Check = Callable[[], None]
"""Raises Interrupted if the unit shall end; each unit calls it before every block."""
Unit = Callable[[Workspace, Check], np.ndarray]
"""Does one unit and returns its sums (n,); all units return as many."""


class Interrupted(Stopped):
    """`stop` asked for the end before all units were done; there is no result."""

    def __init__(self) -> None:
        super().__init__("scoring of the held-out text was stopped before its end")


class Watch(NamedTuple):
    """What the caller hears of the work and can ask of it.

    on_progress(units done, units) is called after each unit; on_estimate(seconds) once, as soon as a few units are
    done, with the expected wall-clock time of all units. Both are called in the caller's thread. `stop` is called in
    every thread, before every block and at least every TICK seconds in the caller's: if it returns True, all ends.
    stall_timeout: seconds without a finished unit after which Stalled is raised.
    """

    on_progress: Callable[[int, int], None] = lambda done, total: None
    on_estimate: Callable[[float], None] = lambda seconds: None
    stop: Callable[[], bool] = lambda: False
    stall_timeout: float = 600.0


def run_units(kinds: list[list[Unit]], threads: int, watch: Watch) -> tuple[np.ndarray, float]:
    """Do all units, which are similar in cost within a kind. Return their sums (units, n), kind by kind, and seconds.

    The seconds are summed over threads. Raises Interrupted if `watch.stop` says so, once all threads have ended their
    block or GRACE is over; Stalled if no unit ends for too long; and the first exception of a unit.
    """
    run = _Run(kinds, watch)
    workers = [
        threading.Thread(target=run.work, name=f"w2vtrain scorer {t}", daemon=True)
        for t in range(min(threads, len(run.units)))
    ]
    try:
        for worker in workers:
            worker.start()
        run.wait(len(workers))
    finally:
        run.ended.set()
        end = time.monotonic() + GRACE
        for worker in workers:
            if worker.ident:
                worker.join(max(0.0, end - time.monotonic()))
    return np.array(run.sums), float(run.seconds.sum())


class _Run:
    """One call of `run_units`."""

    def __init__(self, kinds: list[list[Unit]], watch: Watch) -> None:
        self.units = [unit for units in kinds for unit in units]
        self.kind = np.repeat(np.arange(len(kinds)), [len(units) for units in kinds])
        self.watch = watch
        self.sums = [np.empty(0)] * len(self.units)
        self.seconds = np.full(len(self.units), np.nan)  # NaN: not done
        self.ended = threading.Event()
        self.results: queue.SimpleQueue[int | BaseException] = queue.SimpleQueue()
        # A few units of each kind come first, for the estimate; then kinds take turns, so that progress is even.
        share = [k / len(units) if k >= FEW else -1.0 for units in kinds for k in range(len(units))]
        self.turn = itertools.chain(np.argsort(share, kind="stable").tolist(), itertools.repeat(None))

    def check(self) -> None:
        """Raise Interrupted if the work shall end."""
        if self.ended.is_set() or self.watch.stop():
            raise Interrupted

    def work(self) -> None:
        """Do units until there are no more; what one thread runs."""
        space = Workspace()
        try:
            while (unit := next(self.turn)) is not None:
                self.check()
                started = time.monotonic()
                self.sums[unit] = self.units[unit](space, self.check)
                self.seconds[unit] = time.monotonic() - started
                self.results.put(unit)
        except BaseException as error:
            self.results.put(error)

    def wait(self, threads: int) -> None:
        """Follow the threads until all units are done.

        The clock of the stall timeout stands still while nobody waits here: a process that slept has not stalled.
        """
        done, silent, last, estimated = 0, 0.0, time.monotonic(), False
        while done < len(self.units):
            found = None
            with suppress(queue.Empty):
                found = self.results.get(timeout=TICK)
            if isinstance(found, BaseException):
                raise found
            if self.watch.stop():
                raise Interrupted
            now = time.monotonic()
            silent, last = silent + min(now - last, TICK), now
            if found is not None:
                done, silent = done + 1, 0.0
                estimated = estimated or self._estimate(threads)
                self.watch.on_progress(done, len(self.units))
            elif silent > self.watch.stall_timeout:
                raise Stalled(
                    f"no part of the held-out text was scored for {self.watch.stall_timeout:g} s: the stacks above say"
                    " where threads are; if the parts are that slow, use a longer --stall-timeout"
                )

    def _estimate(self, threads: int) -> bool:
        """Call on_estimate if enough units of each kind are done; return whether they are."""
        total = 0.0
        for kind in range(int(self.kind[-1]) + 1):
            mine = self.seconds[self.kind == kind]
            found = mine[~np.isnan(mine)]
            if len(found) < min(FEW, len(mine)):
                return False
            total += float(np.median(found)) * len(mine)
        self.watch.on_estimate(total / threads)
        return True
