"""The base class of the engines, and what they give back: arrays with roles, and weights.

An engine is the mathematics of training with its matrices; it knows no files and no threads.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from w2vtrain.architectures.contract import composes
from w2vtrain.engines.chunks import Chunks
from w2vtrain.engines.schedule import Schedule
from w2vtrain.formats.model_file import DOCUMENTS, INPUT_ROWS, NGRAM_BUCKETS
from w2vtrain.formats.subwords import Subwords
from w2vtrain.probability.problem import Problem
from w2vtrain.probability.subsampling import keep_thresholds


class Role(Enum):
    """What an array of a run is: see Array."""

    INPUT = "input rows"
    OUTPUT = "output rows"
    LEARNED = "other learned parameters"
    STATE = "what training changes besides"
    STRUCTURE = "what output rows stand for, such as a tree"
    DERIVED = "what follows from the words and their counts"


class Array(NamedTuple):
    """An array of a run, by the name that it has in the model. Training changes all but the last two roles."""

    name: str
    role: Role
    values: np.ndarray


@dataclass(frozen=True)
class Weights:
    """The result of training: input vectors (V, d) and output vectors (R, d), float32, and all other arrays by name.

    Output vectors are wider if the architecture concatenates rows. arrays: biases, position weights, and the arrays of
    the objective.
    """

    input: np.ndarray
    output: np.ndarray
    arrays: dict[str, np.ndarray]


@dataclass(eq=False, repr=False)
class Engine:
    """The base class of WindowEngine and BlockEngine, which train on chunks.

    architecture, objective: what is trained; problem: what the objective was built for; windows: which words are
    context, see window_kernel.Windows; subwords: the input rows of words, or None if each has one; chunks_per_call: the
    number of chunks per call of `train`; keep: see probability.subsampling.keep_thresholds; input_rows: the number of
    input rows; dim: their columns without a bias, fewer than problem.dim if the architecture concatenates rows;
    chunk_decay: the weight decay of a chunk of mean length, at a learning rate of 1. Each chunk decays
    only a part of the rows, so all chunks must decay by the same amount, whatever their length.
    """

    architecture: Any
    objective: Any
    problem: Problem
    text: Chunks
    windows: Any
    schedule: Schedule
    subwords: Subwords | None = None

    chunks_per_call = 1

    def __post_init__(self) -> None:
        self.dim = self.problem.dim // self.architecture.concatenated(self.windows.size)
        self.keep = keep_thresholds(self.text.counts, self.schedule.sample)
        self.chunk_decay = self.schedule.weight_decay * self.text.mean_length()
        self.input_rows = (self.subwords or self.architecture).input_rows(len(self.problem.counts))
        if tags := self.text.tags:
            self.windows, self.input_rows = self.windows._replace(tags=tags), self.input_rows + tags.size
        self.locked: tuple[np.ndarray, np.ndarray] | None = None  # the place of each row among the values, or -1

    def lock_rows(self, rows: np.ndarray) -> None:
        """Restore the input rows (n,) of words after each chunk, so that they end as they are now.

        Within a chunk of about 1,000 words, they follow their gradients as all others do.
        """
        places = np.full(self.input_rows, -1, np.int64)
        places[rows] = np.arange(len(rows))
        self.chunks_per_call, self.locked = 1, (places, self.matrices()[0][rows].copy())

    def restore(self, order: np.ndarray, tokens: np.ndarray, starts: np.ndarray) -> None:
        """Restore the locked rows of the words of chunks `order` (n,), which training has changed.

        tokens, starts: see `Chunks.read`.
        """
        if self.locked is None:
            return
        places, values = self.locked
        for chunk in order.tolist():
            words = np.unique(np.append(tokens[starts[chunk] : starts[chunk + 1]], self.windows.end))
            words = words[words >= 0]
            words = words[places[words] >= 0]
            self.matrices()[0][words] = values[places[words]]

    def compile(self) -> None:
        """Compile all kernels, so that no thread has to wait for them later."""
        raise NotImplementedError

    def train(self, order: np.ndarray, rates: np.ndarray, epoch: int, thread: int) -> tuple[float, int]:
        """Train on chunks `order` (n,) at learning rates `rates` (n,) float64. Return the summed loss and the examples.

        epoch: counted from 0; thread: the number of the calling thread.
        """
        raise NotImplementedError

    def matrices(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the input rows and the output rows, which may have more columns: padding."""
        raise NotImplementedError

    def trained(self) -> list[Array]:
        """Return those of `arrays` that training changes, without computing the others, such as the paths of a tree."""
        raise NotImplementedError

    def arrays(self) -> list[Array]:
        """Return all arrays of the run, with their roles. Read or write them only while no thread is training."""
        trained, structure = self.trained(), self.objective.structure()
        names = {array.name for array in trained}
        return trained + [
            Array(name, Role.STRUCTURE if name in structure else Role.DERIVED, array)
            for name, array in self.objective.arrays().items()
            if name not in names
        ]

    def state(self) -> dict[str, np.ndarray]:
        """Return the values of `trained` by name: what a checkpoint stores."""
        return {array.name: array.values for array in self.trained()}

    def weights(self) -> Weights:
        """Return views of the current weights, without the padding of rows.

        If the input rows are not the word vectors themselves, the word vectors are computed, and the rows are included
        as "input_rows", with the buckets of n-grams as "ngram_buckets". The rows of tags are "documents".
        """
        dim, architecture, subwords = self.problem.dim, self.architecture, self.subwords
        rows, output = self.matrices()
        own = vectors = rows[:, : self.dim]
        arrays = dict(self.objective.arrays())
        if tags := self.text.tags:
            vectors, arrays[DOCUMENTS] = np.split(own, [len(own) - tags.size])  # there may be no tag
        if subwords or composes(architecture):
            arrays[INPUT_ROWS], vectors = own, (subwords or architecture).vectors(own)
        if subwords:
            arrays[NGRAM_BUCKETS] = subwords.buckets
        if self.problem.bias:
            arrays["bias"] = output[:, dim]
        arrays |= {name: array[:, : self.dim] for name, array in architecture.learned().items()}
        return Weights(vectors, output[:, :dim], arrays)
