"""Epochs over the encoded corpus on several threads: rate, progress, errors.

It knows no objective, no architecture and no weights: an engine learns chunks, this module says which, and prints
nothing.
"""

import math
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from w2vtrain.engines.block import BlockEngine
from w2vtrain.engines.schedule import Epoch, Progress, Schedule, State, Text, Weights
from w2vtrain.engines.window import WindowEngine, chunk_order
from w2vtrain.errors import Diverged, Stalled
from w2vtrain.probability.problem import Problem

TICK = 1.0
"""Seconds between two looks at threads that say nothing."""
GRACE = 1.0
"""Seconds that threads have for the end of what they do when the run is given up: then they are left behind."""

SANE = 0.1
"""A rate that most objectives bear: what is far above it is not to be halved ten times."""


class Engine(Protocol):
    """What learns chunks: see WindowEngine and BlockEngine. `slice`: chunks a call."""

    slice: int

    def compile(self) -> None:
        """Make ready, so that no thread waits later."""

    def learn(self, order: np.ndarray, before: np.ndarray, total: float, epoch: int, thread: int) -> tuple[float, int]:
        """Learn chunks `order` (n,), each after `before` (n,) of `total` words. Returns summed loss and examples."""

    def weights(self) -> Weights:
        """Views of what was learned so far."""

    def state(self) -> dict[str, np.ndarray]:
        """The arrays that learning changes, by name: to be saved, or written to, where no thread is learning."""


def make_engine(
    architecture: Any, objective: Any, problem: Problem, text: Text, windows: Any, schedule: Schedule
) -> Engine:
    """The engine that the objective is made for."""
    engine = BlockEngine if objective.engine == "blocks" else WindowEngine
    return engine(architecture, objective, problem, text, windows, schedule)


def train(
    engine: Engine,
    text: Text,
    schedule: Schedule,
    on_progress: Callable[[Progress], None] = lambda _: None,
    on_ready: Callable[[], None] = lambda: None,
    on_epoch: Callable[[Epoch, State], bool] = lambda epoch, state: False,
    state: State | None = None,
    pause: Callable[[], bool] = lambda: False,
    on_pause: Callable[[State], None] = lambda _: None,
) -> list[Epoch]:
    """Train. Diverged when the loss or a weight is not finite, Stalled when a thread says nothing for too long; what
    else goes wrong in a thread is raised here. on_ready: called once all is compiled.

    on_epoch is called after each epoch, its time not counted, and returns whether to stop. When `pause`, asked at
    every slice, returns True, all threads finish theirs and on_pause is called; so it is after each epoch. From a
    `state` that it was given, and the weights of that moment, a run continues as if it had not stopped. One thread and
    a seed give the same bytes twice. Returns the records of all epochs, or of plan.MOST_EPOCHS.
    """
    run = _Run(engine, text, schedule, state or State(), pause)
    engine.compile()
    on_ready()
    while run.state.epoch < schedule.epochs and not run.out_of_time():
        if not run.advance(on_progress):
            on_pause(run.state)
            continue
        if on_epoch(run.state.epochs[-1], run.state):
            run.state = replace(run.state, epoch=schedule.epochs)
        on_pause(run.state)
    check_finite(engine.weights(), schedule.alpha, run.state.epoch)
    return list(run.state.epochs)


def check_finite(weights: Weights, alpha: float, epochs: int) -> None:
    """Diverged if a weight is not a finite number; in an objective's arrays log 0 may stand."""
    for matrix in (weights.input, weights.output):
        if not all(np.isfinite(matrix[i : i + 4096]).all() for i in range(0, len(matrix), 4096)):
            raise _diverged(alpha, epochs)
    if any(array.dtype.kind == "f" and np.isnan(array).any() for array in weights.arrays.values()):
        raise _diverged(alpha, epochs)


@dataclass(frozen=True)
class _Result:
    """What a worker has to say: a slice done, or the exception that ended it."""

    loss: float = 0.0
    examples: int = 0
    words: int = 0
    alpha: float = 0.0
    error: BaseException | None = None


_Results = queue.SimpleQueue[tuple[int, _Result | None]]
"""Of a thread a result, or its end."""


class _Run:
    """Where one training run stands."""

    def __init__(self, engine: Engine, text: Text, schedule: Schedule, state: State, pause: Callable[[], bool]) -> None:
        self.engine, self.text, self.schedule = engine, text, schedule
        self.state, self.pause = state, pause
        self.total = int(text.words.sum()) * schedule.epochs
        self.spent = state.spent + state.seconds
        self.started, self.dealt = 0.0, 0

    def elapsed(self) -> float:
        """Seconds of training so far."""
        return self.spent + time.monotonic() - self.started

    def expected(self, done: int) -> int:
        """Words that the run will have passed at its end: all epochs' or, by those done so far, what time allows."""
        if self.schedule.seconds is None:
            return self.total
        return min(self.total, max(done, round(done * self.schedule.seconds / max(self.elapsed(), 1e-9))))

    def out_of_time(self) -> bool:
        """Whether the seconds that the schedule allows are over."""
        return self.schedule.seconds is not None and self.spent >= self.schedule.seconds

    def advance(self, on_progress: Callable[[Progress], None]) -> bool:
        """Learn the rest of the epoch, each chunk once, dealt to whichever thread is free, or up to a pause.

        Returns whether the epoch is at its end; `state` says where it stands.
        """
        self.started, s = time.monotonic(), self.state
        epoch, loss, examples = s.epoch, s.loss, s.examples
        order = chunk_order(self.schedule.seed, epoch, len(self.text.words), self.schedule.shuffle)
        words = self.text.words[order]
        before = epoch * int(words.sum()) + np.cumsum(words) - words
        self.dealt, done = s.chunks, int(before[0]) + int(words[: s.chunks].sum())
        for result in self._results(order, before, words, epoch):
            if not math.isfinite(result.loss):
                raise _diverged(self.schedule.alpha, epoch + 1)
            loss, examples, done = loss + result.loss, examples + result.examples, done + result.words
            on_progress(Progress(epoch + 1, done, self.expected(done), result.alpha, result.loss, result.examples))
        seconds = time.monotonic() - self.started
        self.spent += seconds
        seconds += s.seconds
        if self.dealt < len(order) and not self.out_of_time():
            self.state = replace(s, chunks=self.dealt, loss=loss, examples=examples, seconds=seconds)
            return False
        self.state = s.after(Epoch(epoch + 1, loss / max(1, examples), examples, done - int(before[0]), seconds))
        return True

    def _deal(self, chunks: int) -> Iterator[slice]:
        """Slices of an epoch's order, until there are no more, or the time is over, or there is to be a pause."""
        size = max(1, min(self.engine.slice, chunks // (8 * self.schedule.threads)))
        while self.dealt < chunks:
            if self.schedule.seconds is not None and self.elapsed() >= self.schedule.seconds:
                return
            first, self.dealt = self.dealt, min(self.dealt + size, chunks)
            yield slice(first, self.dealt)
            if self.pause():
                return

    def _results(self, order: np.ndarray, before: np.ndarray, words: np.ndarray, epoch: int) -> Iterator[_Result]:
        """Results as the workers deliver them. The first exception in a worker stops all and is raised here."""
        results: _Results = queue.SimpleQueue()
        deal, stop, slices = threading.Lock(), threading.Event(), self._deal(len(order))

        def work(thread: int) -> None:
            try:
                while not stop.is_set():
                    with deal:
                        part = next(slices, None)
                    if part is None:
                        break
                    results.put((thread, self._learn(order[part], before[part], int(words[part].sum()), epoch, thread)))
            except BaseException as error:
                results.put((thread, _Result(error=error)))
            finally:
                results.put((thread, None))

        names = [f"w2vtrain learner {t}" for t in range(self.schedule.threads)]
        workers = [threading.Thread(target=work, args=(t,), name=name, daemon=True) for t, name in enumerate(names)]
        try:
            for worker in workers:
                worker.start()
            yield from _watched(results, len(workers), self.schedule.stall_timeout)
        finally:
            stop.set()
            end = time.monotonic() + GRACE
            for worker in workers:
                if worker.ident:
                    worker.join(max(0.0, end - time.monotonic()))

    def _learn(self, order: np.ndarray, before: np.ndarray, words: int, epoch: int, thread: int) -> _Result:
        s, done = self.schedule, before.astype(np.float64)
        if s.seconds is not None:  # the share of the time that is over, where it is more than that of the words
            np.maximum(done, min(1.0, self.elapsed() / s.seconds) * self.total, out=done)
        loss, examples = self.engine.learn(order, done, float(self.total), epoch, thread)
        return _Result(loss, examples, words, s.alpha + (s.min_alpha - s.alpha) * float(done[-1]) / self.total)


def _watched(results: _Results, threads: int, timeout: float) -> Iterator[_Result]:
    """Results until all threads have ended. Raises the first one's exception, and Stalled for a silent thread.

    The clock stands still while nobody waits here: a process that slept for an hour has not stalled.
    """
    heard = dict.fromkeys(range(threads), 0.0)
    clock, last = 0.0, time.monotonic()
    while heard:
        found = None
        with suppress(queue.Empty):
            found = results.get(timeout=TICK)
        now = time.monotonic()
        clock, last = clock + min(now - last, TICK), now
        if found:
            thread, result = found
            heard[thread] = clock
            if result is None:
                del heard[thread]
            elif result.error is not None:
                raise result.error
            else:
                yield result
        if heard and clock - min(heard.values()) > timeout:
            raise Stalled(
                f"thread {min(heard, key=heard.__getitem__)} has finished no chunk for {timeout:g} s: the stacks above"
                " say where it is; what was saved stays, the same command goes on from there; if chunks are that"
                " slow, say a longer --stall-timeout"
            )


def _diverged(alpha: float, epoch: int) -> Diverged:
    return Diverged(
        f"training diverged in epoch {epoch} at learning rate {alpha:.4g}: the loss is not a finite number any more;"
        f" try --alpha {min(alpha / 2, SANE):.2g} or less"
    )
