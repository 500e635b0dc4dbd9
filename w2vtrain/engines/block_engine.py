"""The block engine, which trains on blocks of examples by matrix products.

It serves objectives that score many output rows per example, or all of them. It gathers examples, computes their
hidden vectors, passes these to the objective, and updates the input rows from the gradient that the objective returns.
It does not know how the objective scores them. Threads share the weights without locks, as in the window engine.
"""

from typing import Any

import numpy as np

from w2vtrain.engines.examples import Examples, InputLayer, gather
from w2vtrain.engines.schedule import Schedule, Text, Weights
from w2vtrain.engines.weights import decay, initial_input, learned_weights
from w2vtrain.kernels.jit import kernel
from w2vtrain.probability.dense import Workspace
from w2vtrain.probability.problem import Problem
from w2vtrain.probability.sampling import keep_thresholds


@kernel()
def _decay(matrix, columns, chunk, chunks, step):
    decay(matrix, columns, chunk, chunks, step)


class BlockEngine:
    """The input rows of one run and the loop that trains them; the objective holds its own parameters.

    slice: the number of chunks per call of `learn`.
    """

    slice = 1

    def __init__(
        self, architecture: Any, objective: Any, problem: Problem, text: Text, windows: Any, schedule: Schedule
    ) -> None:
        self.architecture, self.objective, self.problem = architecture, objective, problem
        self.text, self.windows, self.schedule = text, windows, schedule
        self.keep = keep_thresholds(text.counts, schedule.sample)
        self.w_in = initial_input(problem, architecture.input_rows(len(problem.counts)))
        self.layer = InputLayer(architecture, self.w_in, problem.dim, problem.bias)
        self.work = [Workspace() for _ in range(schedule.threads)]

    def compile(self) -> None:
        """Compile the kernels, or load them from disk, and try one step of the objective at a learning rate of 0."""
        one, work = np.array([0, 1, -1], np.int32), Workspace()
        everything = np.full_like(self.keep, 2**32 - 1)  # otherwise subsampling could drop both words
        (examples,) = gather(one, 0, 3, everything, self.windows, self.architecture, (0, 0, 0), work)
        H = np.zeros((len(examples.targets), self.problem.width), np.float32)
        self.layer.hidden(examples, 0, H)
        if len(H):
            work.previous = examples.previous
            work.begin(self.schedule.seed, 0, 0)
            self.objective.step(H, examples.targets, 0.0, work)
        self.layer.learn(examples, 0, np.zeros_like(H), 0.0)
        _decay(self.w_in, self.problem.dim, 0, 1, 0.0)

    def learn(self, order: np.ndarray, rates: np.ndarray, epoch: int, thread: int) -> tuple[float, int]:
        """Train on the chunks `order` (n,) at learning rates `rates` (n,). Return (summed loss, number of examples).

        thread: the number of the calling thread, which selects its working memory.
        """
        loss, seen = 0.0, 0
        with np.errstate(all="ignore"):  # the caller checks that the loss is finite
            for chunk, lr in zip(order.tolist(), rates.tolist(), strict=True):
                part, count = self._chunk(chunk, lr, epoch, self.work[thread])
                loss, seen = loss + part, seen + count
        return loss, seen

    def _chunk(self, chunk: int, lr: float, epoch: int, work: Workspace) -> tuple[float, int]:
        text, s = self.text, self.schedule
        first, last = int(text.starts[chunk]), int(text.starts[chunk + 1])
        work.begin(s.seed, epoch, chunk)
        stream = (s.seed, epoch, chunk)
        if s.weight_decay:
            for matrix, columns in self.decayed():
                _decay(matrix, columns, chunk, len(text.words), lr * s.weight_decay * (last - first))
        loss, count = 0.0, 0
        for examples in gather(text.tokens, first, last, self.keep, self.windows, self.architecture, stream, work):
            count += len(examples.targets)
            for at in range(0, len(examples.targets), s.block):
                loss += self._step(examples, at, lr, work)
        return loss, count

    def _step(self, examples: Examples, at: int, lr: float, work: Workspace) -> float:
        """Train on the block of examples that begins at `at`, and return its summed loss."""
        block = slice(at, at + self.schedule.block)
        targets = examples.targets[block]
        H = work.array("hidden", (len(targets), self.problem.width))
        self.layer.hidden(examples, at, H)
        work.previous = examples.previous[block]
        lr *= self.architecture.pace(int(examples.sizes[block].max()))
        loss, dH = self.objective.step(H, targets, lr, work)
        self.layer.learn(examples, at, dH, lr)
        return float(loss)

    def decayed(self) -> list[tuple[np.ndarray, int]]:
        """Return the matrices that weight decay shrinks, each with its number of columns that are not biases."""
        matrices = [(self.w_in, self.problem.dim)]
        for array in self.objective.decayed():
            matrices.append((array, array.shape[1] - self.problem.bias))
        return matrices

    def state(self) -> dict[str, np.ndarray]:
        """Return the arrays that training changes, by name. Save or overwrite them only while no thread is training."""
        found = {"input": self.w_in, **self.architecture.learned()}
        parts = {"learned": self.objective.parameters(), "state": self.objective.state}
        for part, arrays in {**parts, "kept": self.objective.arrays()}.items():
            for name, array in arrays.items():
                if not any(array is other for other in found.values()):
                    found[f"{part}.{name}"] = array
        return found

    def weights(self) -> Weights:
        """Return views of the weights learned so far."""
        output, arrays = self.objective.output, self.objective.arrays()
        return learned_weights(self.problem, self.architecture, self.w_in, output, arrays)
