"""The window engine, which trains on one window at a time: its matrices, and the working memory of its threads.

It serves objectives that score only a few output rows per target, and does not depend on a particular architecture or
objective. The kernel that trains is in window_kernel.py. Threads share the weights without locks (Hogwild: Niu et al.
2011).
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from w2vtrain.engines.base import Array, Engine, Role
from w2vtrain.engines.chunks import Chunks
from w2vtrain.engines.initial_weights import initial_input, initial_output
from w2vtrain.engines.row_cache import TARGETS_PER_CACHE, RowCache, make_row_cache
from w2vtrain.engines.schedule import Schedule
from w2vtrain.engines.window_kernel import PLANNED_WORDS, TARGETS_AT_ONCE, Matrices, train_chunks, words_at_once
from w2vtrain.errors import ConfigError, shown
from w2vtrain.formats.subwords import Subwords
from w2vtrain.kernels.rows import (
    NO_HOT_ROWS,
    ROW,
    SYNC_CHUNKS,
    Hot,
    HotRange,
    Replicas,
    apart_zeros,
    make_replicas,
    padded_rows,
    replicate,
)


class Scratch(NamedTuple):
    """The working memory of one thread. Arrays (2, ...) have one entry for the current target and one for the next."""

    rng: np.ndarray  # (2,) uint64: the state of the random stream, and a state for the objective's own use
    sentence: np.ndarray  # (longest sentence,) int32
    context: np.ndarray  # (2 window + tags + padding,) int32: context words, then the rows of tags
    places: np.ndarray  # of the same size, int32: their rows, replicas or slots; the same array as context if rows
    rows: np.ndarray  # (2, candidates + padding) int32
    outputs: np.ndarray  # (candidates + padding,) int32: the candidates' rows, or this thread's replicas of them
    labels: np.ndarray  # (2, candidates + padding) float32
    shifts: np.ndarray  # (2, candidates + padding) float32, zeros unless the objective's candidates set them
    logits: np.ndarray  # (words_at_once or all + padding, candidates + padding) float32
    words_at_once: int | None  # context words that are trained together; None: all of a window
    hidden: np.ndarray  # (1, columns) float32: a hidden vector that the architecture computed
    gradient: np.ndarray  # (1, columns) float32: the learning rate times -dL/dhidden
    zero: np.ndarray  # (1,) int32: the row number 0
    sink: int  # the output row that padding points to
    bias: int  # the column of ones in hidden vectors, -1 if there are no biases
    input_rows: int  # the number of input rows, without replicas
    output_rows: int  # the number of output rows, without replicas and sinks
    hot_inputs: HotRange
    hot_outputs: HotRange
    replicas: tuple[Replicas, ...]
    sync_every: int  # the number of chunks between synchronizations of the replicas
    cache: RowCache | None  # the slots of words with subwords
    trained: np.ndarray  # (rows or slots, columns) float32: what windows train, the input rows or the slots


class Extent(NamedTuple):
    """The sizes of a thread's memory: context words on each side, candidates per target, words per sentence.

    words_at_once: how many context words are trained together, or None for all of a window; subwords: the input rows
    of each word, if it has several; examples: hidden vectors that are scored together, by default one per context word;
    tags: the most tags of a document.
    """

    window: int
    candidates: int
    sentence: int
    words_at_once: int | None = None
    subwords: Subwords | None = None
    examples: int | None = None
    tags: int = 0


def make_scratch(
    w_in: Any, w_out: Any, thread: int, threads: int, extent: Extent,
    bias: int = -1, hot: Hot = NO_HOT_ROWS, more: tuple[Replicas, ...] = (),
) -> Scratch:  # fmt: skip
    """Allocate the working memory of one of `threads` threads.

    w_in holds the input rows, then each thread's replicas of the hot ones. w_out holds the output rows, then each
    thread's replicas of the hot ones, then one more row for each thread, the sink that padding points to. bias: the
    column of ones, or -1; more: the thread's other replicas.
    """
    input_rows, output_rows = len(w_in) - threads * len(hot.inputs), len(w_out) - threads * (len(hot.outputs) + 1)
    hot_inputs, inputs = replicate(w_in, input_rows, hot.inputs, thread, threads)
    hot_outputs, outputs = replicate(w_out, output_rows, hot.outputs, thread, threads)
    width, contexts = extent.candidates + TARGETS_AT_ONCE + ROW, 2 * extent.window + extent.tags + ROW
    context = apart_zeros((contexts,), np.int32)
    # The words of these targets, and of a window before and after them.
    slots = TARGETS_PER_CACHE + 2 * (extent.window + 1) + 1
    cache = make_row_cache(extent.subwords, slots, w_in.shape[1], contexts, bias)
    examples = extent.examples or extent.words_at_once or contexts
    return Scratch(
        rng=apart_zeros((2,), np.uint64),
        sentence=apart_zeros((extent.sentence + extent.window + ROW,), np.int32),
        context=context,
        places=apart_zeros((contexts,), np.int32) if hot.inputs or cache else context,
        rows=apart_zeros((2, width), np.int32),
        outputs=apart_zeros((width,), np.int32),
        labels=apart_zeros((2, width), np.float32),
        shifts=apart_zeros((2, width), np.float32),
        logits=apart_zeros((min(contexts, examples + ROW), width), np.float32),
        words_at_once=extent.words_at_once,
        hidden=padded_rows(1, w_out.shape[1]),
        gradient=padded_rows(1, w_out.shape[1]),
        zero=apart_zeros((1,), np.int32),
        sink=len(w_out) - threads + thread,
        bias=bias,
        input_rows=input_rows,
        output_rows=output_rows,
        hot_inputs=hot_inputs,
        hot_outputs=hot_outputs,
        replicas=(inputs, outputs, *more),
        sync_every=max(1, SYNC_CHUNKS // threads),
        cache=cache,
        trained=w_in if cache is None else cache.vectors,
    )


def hot_rows(owner: Any, rows: int) -> range:
    """Return the hot rows of an architecture or objective. Raise ConfigError if they are not adjacent rows."""
    hot = owner.hot_rows(rows)
    if not isinstance(hot, range) or (hot and (abs(hot.step) > 1 or min(hot) < 0 or max(hot) >= rows)):
        raise ConfigError(
            f"{type(owner).__name__}.hot_rows({rows}) returns {shown(hot)}; expected a range with step 1 or -1 within"
            f" {rows:,} rows"
        )
    return hot


class WindowEngine(Engine):
    """The matrices of one run, and the kernel that trains them.

    A call of `train` is about 30 ms of work, unless windows are wide. reach: the most context words on one side of a
    target; workers: the architecture, the objective and the memory of each thread; locked: numbers (n,) and values of
    the input rows that do not change, if any.
    """

    MAX_CHUNKS_PER_CALL = 64

    def __post_init__(self) -> None:
        self._measure()
        objective, problem, text, schedule = self.objective, self.problem, self.text, self.schedule
        self.output_rows = objective.output_rows(len(text.counts))
        self.hot = NO_HOT_ROWS
        # On a small text, a thread would rarely contribute its share of the changes to the hottest rows.
        if schedule.threads > 1 and len(text.words) >= max(SYNC_CHUNKS, schedule.threads):
            inputs = range(0) if self.subwords else hot_rows(self.architecture, self.input_rows)
            self.hot = Hot(inputs, hot_rows(objective, self.output_rows))
        more = schedule.threads * len(self.hot.inputs), schedule.threads * (len(self.hot.outputs) + 1)
        self.w_in = initial_input(replace(problem, dim=self.dim), self.input_rows, more[0])
        self.w_out = initial_output(problem, self.output_rows, more[1], objective.initial_bias(problem))
        self.use(objective)

    def use(self, objective: Any) -> None:
        """Train with another instance of the objective, such as one with another tree. Its weights stay as they are."""
        self.objective, own = objective, objective.for_threads(self.schedule.threads)
        self.workers = [self._worker(thread, mine) for thread, mine in enumerate(own)]

    def restart(self, text: Chunks, schedule: Schedule) -> None:
        """Train on another text with the same words, on as many threads. The weights stay as they are.

        No row may be hot. Every chunk seeds its threads' memory anew, which also stays if sentences are as long.
        """
        longest, self.text, self.schedule = self.text.longest_sentence, text, schedule
        self._measure()
        if text.longest_sentence != longest:
            self.use(self.objective)

    def _measure(self) -> None:
        """Set what follows from the text and the schedule, without any row locked."""
        super().__post_init__()
        self.reach = self.windows.reach(self.text.longest_sentence)
        self.chunks_per_call = max(1, self.MAX_CHUNKS_PER_CALL * PLANNED_WORDS // max(PLANNED_WORDS, self.reach))

    def lock_rows(self, rows: np.ndarray) -> None:
        super().lock_rows(rows)
        if self.hot.inputs:  # replicas would carry changes on to the next chunk
            self.hot = self.hot._replace(inputs=range(0))
            self.use(self.objective)

    def _worker(self, thread: int, objective: Any) -> tuple[Any, Any, Scratch]:
        """Return the architecture, the objective and the working memory of one thread.

        If there are several threads, each gets its own replicas of the arrays that the architecture learns.
        """
        threads, problem = self.schedule.threads, self.problem
        longest = self.text.longest_sentence + self.windows.pads
        in_place = self.architecture.in_place()
        tags = self.text.tags.most if self.text.tags else 0
        # Only used in place. A number has another type than None, for which the kernel would be compiled again.
        at_once = words_at_once(self.windows.size + tags // 2, self.objective.in_turn()) if in_place else None
        examples = None if in_place else 1
        extent = Extent(self.reach, self.objective.candidate_limit, longest, at_once, self.subwords, examples, tags)
        architecture, replicas = self.architecture, {}
        if threads > 1:
            for name, shared in architecture.learned().items():
                replicas[name] = make_replicas(shared, padded_rows(*shared.shape), threads)
            architecture = architecture._replace(**{name: replica.own for name, replica in replicas.items()})
        bias = problem.dim if problem.bias else -1
        scratch = make_scratch(self.w_in, self.w_out, thread, threads, extent, bias, self.hot, tuple(replicas.values()))
        return architecture, objective, scratch

    def compile(self) -> None:
        nothing = np.empty(0, np.int64)
        self.train(nothing, nothing.astype(np.float64), 0, 0)

    def train(self, order: np.ndarray, rates: np.ndarray, epoch: int, thread: int) -> tuple[float, int]:
        s, (architecture, objective, scratch) = self.schedule, self.workers[thread]
        tokens, starts = self.text.read(order, epoch)
        loss, examples = train_chunks(
            architecture, objective, self.windows, tokens, starts, order, rates,
            Matrices(self.w_in, self.w_out), self.problem.dim, self.keep, self.chunk_decay, s.seed, epoch, scratch,
        )  # fmt: skip
        self.restore(order, tokens, starts)
        return loss, examples

    def matrices(self) -> tuple[np.ndarray, np.ndarray]:
        return self.w_in[: self.input_rows], self.w_out[: self.output_rows]

    def trained(self) -> list[Array]:
        rows, outputs = self.matrices()
        learned = {**self.architecture.learned(), **self.objective.learned()}
        return [
            Array("input", Role.INPUT, rows),
            Array("output", Role.OUTPUT, outputs),
            *(Array(name, Role.LEARNED, array) for name, array in learned.items()),
        ]
