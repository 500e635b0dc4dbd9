"""Run the epochs of training on several threads: the order of chunks, their learning rates, progress and errors.

`Course.run` is the loop over epochs, also for ranks: distributed/rounds.py changes how one epoch is trained.

This module does not depend on the objective or the architecture: it decides which chunks to train on at which rate, and
an engine trains on them.
"""

import math
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from w2vtrain.engines.block_engine import BlockEngine
from w2vtrain.engines.contract import Chunks, Engine, Schedule, Weights
from w2vtrain.engines.window_engine import WindowEngine
from w2vtrain.errors import Diverged, spelled
from w2vtrain.formats.subwords import Subwords
from w2vtrain.probability.problem import Problem
from w2vtrain.system.parallel import parallel
from w2vtrain.text.sentences import TINY
from w2vtrain.training.state import Epoch, Progress, State

TOLERATED_ALPHA = 0.1
"""A learning rate that most objectives tolerate, and the highest that is suggested after training has diverged."""


def make_engine(
    architecture: Any, objective: Any, problem: Problem, text: Chunks, windows: Any, schedule: Schedule,
    subwords: Subwords | None = None,
) -> Engine:  # fmt: skip
    """Return an engine of the kind that the objective requires. subwords: the input rows of words, if these share."""
    engine = BlockEngine if objective.engine == "blocks" else WindowEngine
    return engine(architecture, objective, problem, text, windows, schedule, subwords)


def check_weights(weights: Weights, alpha: float, epochs: int, limit: float = math.inf) -> None:
    """Raise Diverged if an input or output weight is NaN, infinite or beyond `limit`, or another array contains NaN.

    Other arrays may contain -inf: the objective's arrays can hold log 0.
    """
    extremes = [size for rows in (weights.input, weights.output) if rows.size for size in (-rows.min(), rows.max())]
    largest = float(np.max(extremes, initial=0.0))  # NaN if a weight is
    others = (array for array in weights.arrays.values() if array.dtype.kind == "f")
    if not math.isfinite(largest) or any(np.isnan(array).any() for array in others):
        raise diverged(alpha, epochs)
    if largest > limit:
        raise diverged(alpha, epochs, f"a weight is {largest:.2g}, where the largest after training are near 1")


@dataclass(frozen=True)
class SliceReport:
    """A thread's report on a slice: the summed loss, examples, words, the final learning rate, and CPU seconds."""

    loss: float
    examples: int
    words: int
    alpha: float
    cpu: float


def chunk_order(seed: int, epoch: int, chunks: int, shuffle: bool = True) -> np.ndarray:
    """Return the order (chunks,) int64 in which an epoch visits its chunks.

    With `shuffle`, this is a permutation that depends only on (seed, epoch); without it, the order of the corpus.
    """
    if not shuffle:
        return np.arange(chunks, dtype=np.int64)
    return np.random.default_rng([seed, epoch]).permutation(chunks).astype(np.int64)


@dataclass(frozen=True)
class Order:
    """The chunks of one epoch, in the order in which they are trained on.

    chunks (n,): their numbers; words (n,): words in each; before (n,): words of the whole run before each.
    """

    epoch: int
    chunks: np.ndarray
    words: np.ndarray
    before: np.ndarray

    @classmethod
    def of(cls, text: Chunks, schedule: Schedule, epoch: int) -> "Order":
        """Return the order of an epoch, which depends on the seed and the epoch's number, counted from 0."""
        chunks = chunk_order(schedule.seed, epoch, len(text.words), schedule.shuffle)
        words = text.words[chunks]
        return cls(epoch, chunks, words, epoch * int(words.sum()) + np.cumsum(words) - words)


class Clock:
    """How long a run has trained, and when its time is over: by the clock on the wall, while it trains.

    limit: seconds, or None; spent: seconds of training up to the last `stop`. evaluation/cpu_clock.py counts CPU
    seconds instead, and distributed/rounds.py the seconds of rank 0.
    """

    def __init__(self, limit: float | None) -> None:
        self.limit, self.spent, self.started = limit, 0.0, 0.0

    def resume(self, state: State) -> None:
        """Continue from the time that a run had trained in this state."""
        self.spent = state.spent + state.seconds

    def start(self) -> None:
        """Let the time run."""
        self.started = time.monotonic()

    def stop(self) -> float:
        """Stop the time, and return the seconds since `start`."""
        seconds = self.elapsed() - self.spent
        self.spent += seconds
        return seconds

    def elapsed(self) -> float:
        """Return the seconds of training so far."""
        return self.spent + time.monotonic() - self.started

    def used(self) -> float:
        """Return how much of the time limit is used up, in seconds."""
        return self.elapsed()

    def has_time_for(self, words: int) -> bool:
        """Return whether a slice of this many words may begin. Called by any thread, one at a time."""
        return self.limit is None or self.used() < self.limit

    def count(self, report: SliceReport) -> None:
        """Note that a thread has trained on a slice."""

    def is_over(self) -> bool:
        """Return whether the time limit had passed at the last `stop`."""
        return self.limit is not None and self.spent >= self.limit


class Course:
    """The loop over the epochs of a run.

    engine, text, schedule: what is trained, on what, and how; state: at the last pause or end of an epoch, with the
    sums of the slices since then; clock: decides when the time limit is reached, by default the clock on the wall;
    dealt: chunks of the epoch's order that were given to threads; total: words of all epochs.

    Compile the engine first: an epoch in which a thread compiles looks slow.
    """

    def __init__(self, engine: Engine, text: Chunks, state: State | None = None, clock: Clock | None = None) -> None:
        self.engine, self.text, self.schedule, self.state = engine, text, engine.schedule, state or State()
        self.clock = clock or Clock(self.schedule.seconds)
        self.clock.resume(self.state)
        self.total, self.dealt = int(text.words.sum()) * self.schedule.epochs, 0

    def expected(self, done: int) -> int:
        """Return the words of the whole run: those of all epochs, or fewer if the time limit will end it earlier."""
        if self.schedule.seconds is None:
            return self.total
        return min(self.total, max(done, round(done * self.schedule.seconds / max(self.clock.used(), 1e-9))))

    def has_ended(self) -> bool:
        """Return whether nothing is left to learn: all epochs are complete, or time or patience has run out."""
        return self.state.has_ended(self.schedule.epochs) or self.clock.is_over()

    def run(
        self, on_progress: Callable[[Progress], None] = lambda _: None, pause: Callable[[], bool] = lambda: False
    ) -> Iterator[State]:  # fmt: skip
        """Train, and yield the state after each epoch and whenever `train_epoch` pauses, while no thread is training.

        An epoch has ended if the state's `chunks` is 0. The time until the caller requests the next state does not
        count as training; if it requests no more, the run ends there. With a state that this method yielded and the
        weights at that moment, training continues as if it had never stopped. Raise Diverged if the loss is not finite.
        The caller checks the weights at the end: see `check_weights`.

        pause: returns whether to pause.
        """
        while not self.has_ended():
            self.clock.start()
            self.dealt = self.state.chunks
            order = Order.of(self.text, self.schedule, self.state.epoch)
            done = int(order.before[0]) + int(order.words[: self.dealt].sum())
            with closing(self.train_epoch(order, pause)) as reports:
                for report in reports:
                    done += report.words
                    on_progress(self.add(report, order, done))
            self.close(order, done)
            yield self.state

    def add(self, report: SliceReport, order: Order, done: int) -> Progress:
        """Add a slice, and return the progress after `done` words of the run.

        Raise Diverged if its loss is not finite.
        """
        loss, examples, state = report.loss, report.examples, self.state
        if not math.isfinite(loss):
            raise diverged(self.schedule.alpha, order.epoch + 1)
        self.state = replace(
            state, loss=state.loss + loss, examples=state.examples + examples, cpu=state.cpu + report.cpu,
            timed=state.timed + report.words,
        )  # fmt: skip
        expected, seconds = self.expected(done), self.clock.elapsed()
        return Progress(order.epoch + 1, done, expected, report.alpha, loss, examples, seconds)

    def close(self, order: Order, done: int) -> None:
        """Set the state after the chunks that were dealt, after `done` words of the run."""
        state = self.state
        seconds = self.clock.stop() + state.seconds
        if self.dealt < len(order.chunks) and not self.clock.is_over():
            state = replace(state, chunks=self.dealt, seconds=seconds)
        else:
            mean = state.loss / state.examples if state.examples else None
            state = state.after(Epoch(order.epoch + 1, mean, state.examples, done - int(order.before[0]), seconds))
        self.state = replace(state, is_over=self.clock.is_over())

    def train_epoch(self, order: Order, pause: Callable[[], bool]) -> Generator[SliceReport]:
        """Train on the rest of the epoch, or up to a pause, on several threads. Any free thread takes the next slice.

        Yield a report per slice, and deal the chunks from `dealt` on. `pause` is called by any thread after each slice;
        if it returns True, all threads finish their slices. With one thread, the same seed gives the same bytes. Raise
        any exception of a thread.
        """
        turn, slices = threading.Lock(), self.slices(order, pause)

        def work(thread: int, _: threading.Event) -> Iterator[SliceReport]:
            while True:
                with turn:
                    part = next(slices, None)
                if part is None:
                    return
                yield self.train_slice(order, part, thread)

        threads = 0 if self.total <= TINY and isinstance(self.engine, WindowEngine) else self.schedule.threads
        with parallel(work, threads, "w2vtrain learner") as reports:
            yield from filter(None, reports)

    def slices(self, order: Order, pause: Callable[[], bool]) -> Iterator[slice]:
        """Deal slices of an epoch's order until there are no more, time is up, or a pause is requested.

        `pause` is asked by the thread that comes for the next slice.
        """
        chunks = len(order.chunks)
        size = max(1, min(self.engine.chunks_per_call, chunks // (8 * self.schedule.threads)))
        while self.dealt < chunks:
            part = slice(self.dealt, min(self.dealt + size, chunks))
            if not self.clock.has_time_for(int(order.words[part].sum())):
                return
            self.dealt = part.stop
            yield part
            if pause():
                return

    def rates(self, order: Order, part: slice) -> np.ndarray:
        """Return the learning rate of each chunk of a slice, (n,) float64."""
        done = order.before[part] / self.total
        if self.schedule.seconds is not None:  # the share of the time that is used up, if larger
            np.maximum(done, min(1.0, self.clock.used() / self.schedule.seconds), out=done)
        return np.asarray(self.schedule.rate(done))

    def train_slice(self, order: Order, part: slice, thread: int) -> SliceReport:
        """Train on a slice in this thread, each chunk at the learning rate of its position in the run."""
        rates, started = self.rates(order, part), time.thread_time()
        loss, examples = self.engine.train(order.chunks[part], rates, order.epoch, thread)
        cpu = time.thread_time() - started
        report = SliceReport(loss, examples, int(order.words[part].sum()), float(rates[-1]), cpu)
        self.clock.count(report)
        return report


def diverged(alpha: float, epoch: int, sign: str = "the loss or a weight is NaN or infinite") -> Diverged:
    """Return the exception for training that diverged. epoch: counted from 1; sign: by which this was noticed."""
    return Diverged(
        f"training diverged in epoch {epoch} at learning rate {alpha:.4g}: {sign};"
        f" try {spelled('alpha', float(f'{min(alpha / 2, TOLERATED_ALPHA):.2g}'))} or less"
    )
