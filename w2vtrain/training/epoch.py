"""The order in which an epoch visits its chunks, what threads report about them, and the clock of a run.

Nothing here trains: trainer.py deals the chunks to threads.
"""

import time
from dataclasses import dataclass

import numpy as np

from w2vtrain.engines.chunks import Chunks
from w2vtrain.engines.schedule import Schedule
from w2vtrain.training.state import State


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
    if not shuffle or chunks < 2:
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

    limit: seconds, or None; spent: seconds of training up to the last `stop`. leaves/compare/cpu_clock.py counts CPU
    seconds instead, and leaves/mpi/rounds.py the seconds of rank 0.
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
