"""The window engine, a compiled kernel that trains on one window at a time.

It serves objectives that score only a few output rows per target, and does not depend on a particular architecture or
objective. Threads share the weights without locks (Hogwild: Niu et al. 2011).
"""

from typing import Any

import numpy as np
from numba import float32, int64

from w2vtrain.engines.schedule import Schedule, Text, Weights
from w2vtrain.engines.step import (
    MODEST,
    Extent,
    Matrices,
    Scratch,
    examples_of,
    gather_context,
    make_scratch,
    reach_of,
    read_sentence,
    train_window,
    words_at_once,
)
from w2vtrain.engines.weights import decay, initial_input, initial_output, learned_weights
from w2vtrain.errors import ConfigError, shown
from w2vtrain.kernels.jit import inline, kernel
from w2vtrain.kernels.rows import (
    NO_HOT_ROWS,
    SYNC_CHUNKS,
    Hot,
    load_replicas,
    make_replicas,
    padded_rows,
    prefetch,
    replica_of,
    replicas_of,
    synchronize,
)
from w2vtrain.objectives.contract import Candidates, Window
from w2vtrain.probability.problem import Problem
from w2vtrain.probability.sampling import keep_thresholds, seed_stream


@inline
def next_candidates(objective, w_out, scratch, length, position):
    """Draw the candidates of a later target and prefetch their rows. Return their number, 0 past the sentence's end."""
    if position >= length:
        return int64(0)
    k = position & 1
    rows = scratch.rows[k]
    m = objective.candidates(scratch.sentence, position, scratch.rng, rows, scratch.labels[k], scratch.shifts[k])
    for j in range(objective.prefetch_from(rows, m), m):
        prefetch(w_out, replica_of(scratch.hot_outputs, rows[j]))
    return int64(m)


@inline
def train_sentence(architecture, objective, matrices, length, windows, lr, scratch):
    """Train on every window of the sentence in scratch. Return (summed loss, number of examples)."""
    sentence, context = scratch.sentence, scratch.context
    loss, examples = 0.0, 0
    m_next = next_candidates(objective, matrices.output, scratch, length, windows.pads)
    for position in range(windows.pads, length):
        k, m = position & 1, m_next
        m_next = next_candidates(objective, matrices.output, scratch, length, position + 1)
        if position + 1 + windows.size < length:
            prefetch(matrices.input, replica_of(scratch.hot_inputs, sentence[position + 1 + windows.size]))
        reach = reach_of(windows, scratch.rng)
        n, left = gather_context(sentence, length, position, reach, windows, context)
        if scratch.hot_inputs.size > 0:  # otherwise, the copy would take 3% of the time of a CBOW window
            replicas_of(scratch.hot_inputs, context, n, scratch.inputs)
        if n > 0 and m > 0:
            candidates = Candidates(scratch.rows[k], scratch.labels[k], scratch.shifts[k], m)
            loss += train_window(architecture, objective, matrices, Window(context, n, left), candidates, lr, scratch)
            examples += examples_of(architecture, n)
    return loss, examples


@kernel()
def train_chunks(
    architecture, objective, windows, tokens, starts, order, rates, matrices, dim, keep, shrinkage, seed, epoch,
    scratch,
):  # fmt: skip
    """Train on the chunks `order` (n,) of one epoch. Return (summed loss, number of examples).

    tokens int32: word ids, with -1 at the end of each sentence; starts (chunks + 1,) int64: the offsets of the chunks
    in tokens; rates (n,) float64: the learning rate of each chunk; keep: see probability.sampling.keep_thresholds;
    shrinkage: weight decay, applied to the first `dim` columns. The random numbers depend only on (seed, epoch,
    chunk).
    """
    loss, examples = 0.0, 0
    load_replicas(scratch.replicas)
    for k in range(len(order)):
        chunk = order[k]
        seed_stream(scratch.rng, seed, epoch, chunk)
        objective.begin(scratch.rng)
        scratch.rng[1] = scratch.rng[0]
        lr = float32(rates[k])
        position, end = starts[chunk], starts[chunk + 1]
        if shrinkage > 0:
            step = lr * shrinkage * (end - position)
            decay(matrices.input[: scratch.input_rows], dim, chunk, len(starts) - 1, step)
            decay(matrices.output[: scratch.output_rows], dim, chunk, len(starts) - 1, step)
        while position < end:
            position, length = read_sentence(tokens, position, end, keep, windows, scratch.rng, scratch.sentence)
            sentence_loss, count = train_sentence(architecture, objective, matrices, length, windows, lr, scratch)
            loss += sentence_loss
            examples += count
        if (k + 1) % scratch.sync_every == 0 or k == len(order) - 1:
            synchronize(scratch.replicas)
    return loss, examples


def hot_rows(owner: Any, rows: int) -> range:
    """Return the hot rows of an architecture or objective. Raise ConfigError if they are not adjacent rows."""
    hot = owner.hot_rows(rows)
    if not isinstance(hot, range) or (hot and (abs(hot.step) > 1 or min(hot) < 0 or max(hot) >= rows)):
        raise ConfigError(
            f"{type(owner).__name__}.hot_rows({rows}) returns {shown(hot)}; expected a range with step 1 or -1 within"
            f" {rows:,} rows"
        )
    return hot


class WindowEngine:
    """The matrices of one run, and the kernel that trains them.

    slice: the number of chunks per call of `learn`, about 30 ms of work unless windows are wide; reach: the most
    context words on one side of a target.
    """

    SLICE = 64

    def __init__(
        self, architecture: Any, objective: Any, problem: Problem, text: Text, windows: Any, schedule: Schedule
    ) -> None:
        self.architecture, self.objective, self.problem = architecture, objective, problem
        self.text, self.windows, self.schedule = text, windows, schedule
        self.reach = windows.reach(text.longest_sentence)
        self.slice = max(1, self.SLICE * MODEST // max(MODEST, self.reach))
        self.keep = keep_thresholds(text.counts, schedule.sample)
        self.input_rows = architecture.input_rows(len(problem.counts))
        self.output_rows = objective.output_rows(len(text.counts))
        self.hot = NO_HOT_ROWS
        # On a small text, a thread would rarely contribute its share of the changes to the hottest rows.
        if schedule.threads > 1 and len(text.words) >= max(SYNC_CHUNKS, schedule.threads):
            self.hot = Hot(hot_rows(architecture, self.input_rows), hot_rows(objective, self.output_rows))
        more = schedule.threads * len(self.hot.inputs), schedule.threads * (len(self.hot.outputs) + 1)
        self.w_in = initial_input(problem, self.input_rows, more[0])
        self.w_out = initial_output(problem, self.output_rows, more[1], objective.initial_bias(problem))
        self.use(objective)

    def use(self, objective: Any) -> None:
        """Train with another instance of the objective, such as one with another tree. Its weights stay as they are."""
        self.objective, threads = objective, self.schedule.threads
        self.objectives = objective.for_threads(threads)
        self.threads = [self._thread(t) for t in range(threads)]

    def _thread(self, thread: int) -> tuple[Any, Any, Scratch]:
        """Return the architecture, the objective and the working memory of one thread.

        If there are several threads, each gets its own replicas of the arrays that the architecture learns.
        """
        threads, problem = self.schedule.threads, self.problem
        longest = self.text.longest_sentence + self.windows.pads
        extent = Extent(self.reach, self.objective.candidate_limit, longest, words_at_once(self.windows.size))
        architecture, replicas = self.architecture, {}
        if threads > 1:
            for name, shared in architecture.learned().items():
                replicas[name] = make_replicas(shared, padded_rows(*shared.shape), threads)
            architecture = architecture._replace(**{name: replica.own for name, replica in replicas.items()})
        bias = problem.dim if problem.bias else -1
        scratch = make_scratch(self.w_in, self.w_out, thread, threads, extent, bias, self.hot, tuple(replicas.values()))
        return architecture, self.objectives[thread], scratch

    def compile(self) -> None:
        """Compile the kernel, or load it from disk, so that no thread waits for it later."""
        nothing = np.empty(0, np.int64)
        self.learn(nothing, nothing.astype(np.float64), 0, 0)

    def learn(self, order: np.ndarray, rates: np.ndarray, epoch: int, thread: int) -> tuple[float, int]:
        """Train on the chunks `order` (n,) at learning rates `rates` (n,). Return (summed loss, number of examples).

        thread: the number of the calling thread, which selects its working memory.
        """
        s, (architecture, objective, scratch) = self.schedule, self.threads[thread]
        loss, examples = train_chunks(
            architecture, objective, self.windows, self.text.tokens, self.text.starts, order, rates,
            Matrices(self.w_in, self.w_out), self.problem.dim, self.keep, s.weight_decay, s.seed, epoch, scratch,
        )  # fmt: skip
        return loss, examples

    def state(self) -> dict[str, np.ndarray]:
        """Return the arrays that training changes, by name. Save or overwrite them only while no thread is training."""
        learned = {**self.architecture.learned(), **self.objective.learned()}
        return {"input": self.w_in[: self.input_rows], "output": self.w_out[: self.output_rows], **learned}

    def weights(self) -> Weights:
        """Return views of the weights learned so far."""
        rows, output = self.w_in[: self.input_rows], self.w_out[: self.output_rows]
        return learned_weights(self.problem, self.architecture, rows, output, self.objective.arrays())


def chunk_order(seed: int, epoch: int, chunks: int, shuffle: bool = True) -> np.ndarray:
    """Return the order (chunks,) int64 in which an epoch visits its chunks.

    With `shuffle`, this is a permutation that depends only on (seed, epoch); without it, the order of the corpus.
    """
    if not shuffle:
        return np.arange(chunks, dtype=np.int64)
    return np.random.default_rng([seed, epoch]).permutation(chunks).astype(np.int64)
