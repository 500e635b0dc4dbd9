"""The learned matrices of a `Word2Vec` model, in the order of its words, and their way into the trainer and back.

The trainer orders words by falling count. If the model's words have the same order, its matrices are views of the
trainer's; otherwise, they are copied before and after training.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.engines.schedule import Weights
from w2vtrain.engines.weights import initial_input
from w2vtrain.probability.problem import Problem
from w2vtrain.probability.trees import Tree

Float32 = NDArray[np.float32]


class Matrices:
    """Output vectors and vectors of tree nodes.

    Input vectors are in the model's KeyedVectors `wv`. words: output vectors of words (V, d), if there is negative
    sampling; nodes: those of the inner nodes of the Huffman tree (V - 1, d), the root last, if there is hierarchical
    softmax; order (V,): the model's row of each word in the trainer's order, None if both orders are equal; keys: the
    words that have rows; tree: in the trainer's order, None for the one that follows from the counts.
    """

    def __init__(
        self, words: Float32 | None, nodes: Float32 | None, order: NDArray[np.int64] | None, keys: list[Any],
        tree: Tree | None = None,
    ) -> None:  # fmt: skip
        self.words, self.nodes, self.order, self.keys, self.tree = words, nodes, order, keys, tree
        self._views: tuple[Float32, Float32 | None] | None = None

    def adopt(self, wv: Any, weights: Weights) -> None:
        """Copy the matrices into the trainer's, and become views of them, or remember them for `fetch`."""
        order = slice(None) if self.order is None else self.order
        output = weights.output  # first the nodes, then the words, as in the objective hs-neg
        split = 0 if self.nodes is None else len(self.nodes)
        weights.input[...] = wv.vectors[order]
        if self.nodes is not None:
            output[:split] = self.nodes
            self.nodes = output[:split]
        if self.words is not None:
            output[split:] = self.words[order]
        words = output[split:] if self.words is not None else None
        if self.order is None:
            wv.vectors, self.words = weights.input, words
        self._views = weights.input, words

    def give_back(self, wv: Any) -> None:
        """Copy the model's matrices to the trainer's if a callback may have changed them."""
        assert self._views
        vectors, words = self._views
        if self.order is not None:
            vectors[...] = wv.vectors[self.order]
            if words is not None and self.words is not None:
                words[...] = self.words[self.order]
        elif wv.vectors is not vectors:
            vectors[...] = wv.vectors
            wv.vectors = vectors

    def release(self) -> None:
        """Forget the trainer's matrices, after the last `fetch`."""
        self._views = None

    def fetch(self, wv: Any) -> None:
        """Make the model's matrices equal to the trainer's; norms that were computed before are dropped."""
        if self._views is not None and self.order is not None:
            vectors, words = self._views
            wv.vectors[self.order] = vectors
            if words is not None and self.words is not None:
                self.words[self.order] = words
        wv.norms = None


def grown(matrix: Float32 | None, rows: int, width: int) -> Float32:
    """Return a matrix (rows, width) that begins with the rows of `matrix`; the others are 0."""
    found: Float32 = np.zeros((rows, width), np.float32)
    if matrix is not None:
        found[: len(matrix)] = matrix[:rows]
    return found


def initial_vectors(rows: int, width: int, seed: int) -> Float32:
    """Return initial input vectors (rows, width), uniform in ±1/width as gensim's: twice those of `w2vtrain fit`.

    With gensim's default learning rate of 0.025, CBOW scores higher than with those of `fit`, by a point of analogies;
    with the default of this class, there is no difference.
    """
    problem = Problem((), np.zeros(0, np.int64), width, seed=seed)
    return 2 * initial_input(problem, rows)[:, :width]
