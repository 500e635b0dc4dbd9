"""Epochs over the encoded corpus on several threads: weights, rate, progress, errors.

It knows no objective and no architecture, and prints nothing: progress goes to a callback as it happens.
"""

import math
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .architectures import make_scratch
from .errors import Diverged
from .rows import padded_rows
from .sampling import keep_thresholds
from .windows import chunk_order, train_chunks

SLICE = 64
"""Chunks a call of the kernel: some 30 ms, so that calls cost nothing and progress and errors are seen at once."""


@dataclass(frozen=True)
class Schedule:
    """How to walk the corpus. alpha falls linearly to min_alpha over all epochs; sample: subsampling threshold."""

    window: int = 5
    shrink_windows: bool = True
    sample: float = 1e-3
    alpha: float = 0.05
    min_alpha: float = 5e-6
    epochs: int = 5
    threads: int = 1
    seed: int = 1
    shuffle: bool = True


@dataclass(frozen=True)
class Progress:
    """Where training stands. words: so far, before subsampling; loss and examples: sums since the last event."""

    epoch: int
    words: int
    total_words: int
    alpha: float
    loss: float
    examples: int


@dataclass(frozen=True)
class Epoch:
    """What one epoch did. loss: mean an example, in float64."""

    epoch: int
    loss: float
    examples: int
    seconds: float


@dataclass(frozen=True)
class Text:
    """An encoded corpus in chunks, the unit of shuffling, dealing and random streams.

    tokens: int32 ids, -1 ends a sentence of at most longest_sentence words; starts (C+1,) int64: offsets of the chunks
    in it; words (C,) int64: words in each; counts (V,) int64, descending.
    """

    tokens: np.ndarray
    starts: np.ndarray
    words: np.ndarray
    counts: np.ndarray
    longest_sentence: int = 10_000


@dataclass(frozen=True)
class Weights:
    """input (V, d), output (R, d) float32: views of padded rows."""

    input: np.ndarray
    output: np.ndarray


@dataclass(frozen=True)
class _Result:
    """What a worker has to say: a slice done, or the exception that ended it."""

    loss: float = 0.0
    examples: int = 0
    words: int = 0
    alpha: float = 0.0
    error: BaseException | None = None


def initial_weights(size: int, rows: int, dim: int, threads: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Padded matrices as word2vec.c starts them: input uniform in ±1/(2 dim), output 0, with a sink row a thread."""
    w_in, w_out = padded_rows(size, dim), padded_rows(rows + threads, dim)
    rng = np.random.default_rng(seed)
    for first in range(0, size, 4096):
        block = w_in[first : min(first + 4096, size), :dim]
        block[:] = (rng.random(block.shape, np.float32) - np.float32(0.5)) / np.float32(dim)
    return w_in, w_out


def train(
    architecture: Any,
    objective: Any,
    text: Text,
    dim: int,
    schedule: Schedule,
    on_progress: Callable[[Progress], None] = lambda _: None,
    on_ready: Callable[[], None] = lambda: None,
) -> tuple[Weights, list[Epoch]]:
    """Train from the start. Diverged when the loss or a weight is not finite. on_ready: called once all is compiled.

    One thread and a seed give the same bytes twice.
    """
    run = _Run(architecture, objective, text, dim, schedule)
    run.compile()
    on_ready()
    epochs = [run.epoch(epoch, on_progress) for epoch in range(schedule.epochs)]
    size, rows = len(text.counts), objective.output_rows(len(text.counts))
    weights = Weights(run.w_in[:size, :dim], run.w_out[:rows, :dim])
    for matrix in (weights.input, weights.output):
        if not all(np.isfinite(matrix[i : i + 4096]).all() for i in range(0, len(matrix), 4096)):
            raise _diverged(float(schedule.alpha), schedule.epochs)
    return weights, epochs


class _Run:
    """The arrays of one training run."""

    def __init__(self, architecture: Any, objective: Any, text: Text, dim: int, schedule: Schedule) -> None:
        self.architecture, self.objective, self.text, self.schedule = architecture, objective, text, schedule
        self.total = int(text.words.sum()) * schedule.epochs
        self.keep = keep_thresholds(text.counts, schedule.sample)
        size, threads = len(text.counts), schedule.threads
        self.w_in, self.w_out = initial_weights(size, objective.output_rows(size), dim, threads, schedule.seed)
        self.scratches = [
            make_scratch(
                self.w_in, self.w_out, t, threads, schedule.window, objective.candidate_limit, text.longest_sentence
            )
            for t in range(threads)
        ]

    def compile(self) -> None:
        """Compile the kernel or load it from disk, so that no thread waits for it later."""
        nothing = np.empty(0, np.int64)
        self._learn(nothing, nothing, 0, 0, self.scratches[0])

    def epoch(self, epoch: int, on_progress: Callable[[Progress], None]) -> Epoch:
        """Every chunk once, in the epoch's order, dealt to whichever thread is free."""
        started = time.monotonic()
        order = chunk_order(self.schedule.seed, epoch, len(self.text.words), self.schedule.shuffle)
        words = self.text.words[order]
        before = epoch * int(words.sum()) + np.cumsum(words) - words
        size = max(1, min(SLICE, len(order) // (8 * self.schedule.threads)))
        slices = iter([slice(i, min(i + size, len(order))) for i in range(0, len(order), size)])
        loss, examples, done = 0.0, 0, int(before[0])
        for result in self._results(slices, order, before, words, epoch):
            if not math.isfinite(result.loss):
                raise _diverged(result.alpha, epoch + 1)
            loss, examples, done = loss + result.loss, examples + result.examples, done + result.words
            on_progress(Progress(epoch, done, self.total, result.alpha, result.loss, result.examples))
        return Epoch(epoch, loss / max(1, examples), examples, time.monotonic() - started)

    def _results(
        self, slices: Iterator[slice], order: np.ndarray, before: np.ndarray, words: np.ndarray, epoch: int
    ) -> Iterator[_Result]:
        """Results as the workers deliver them. The first exception in a worker stops all and is raised here."""
        results: queue.SimpleQueue[_Result | None] = queue.SimpleQueue()
        deal, stop = threading.Lock(), threading.Event()

        def work(scratch: Any) -> None:
            try:
                while not stop.is_set():
                    with deal:
                        part = next(slices, None)
                    if part is None:
                        break
                    results.put(self._learn(order[part], before[part], int(words[part].sum()), epoch, scratch))
            except BaseException as error:
                results.put(_Result(error=error))
            finally:
                results.put(None)

        workers = [threading.Thread(target=work, args=(s,), daemon=True) for s in self.scratches]
        for worker in workers:
            worker.start()
        try:
            running = len(workers)
            while running:
                result = results.get()
                if result is None:
                    running -= 1
                elif result.error is not None:
                    raise result.error
                else:
                    yield result
        finally:
            stop.set()
            for worker in workers:
                worker.join()

    def _learn(self, order: np.ndarray, before: np.ndarray, words: int, epoch: int, scratch: Any) -> _Result:
        s = self.schedule
        loss, examples = train_chunks(
            self.architecture, self.objective, self.text.tokens, self.text.starts, order, before, self.w_in, self.w_out,
            self.keep, s.window, s.shrink_windows, s.alpha, s.min_alpha, float(self.total), s.seed, epoch, scratch,
        )  # fmt: skip
        alpha = s.alpha + (s.min_alpha - s.alpha) * (int(before[-1]) / self.total) if len(before) else s.alpha
        return _Result(loss, examples, words, alpha)


def _diverged(alpha: float, epoch: int) -> Diverged:
    return Diverged(
        f"training diverged in epoch {epoch} at learning rate {alpha:.4g}: the loss is no longer a finite number;"
        f" try --alpha {alpha / 2:.2g} or less"
    )
