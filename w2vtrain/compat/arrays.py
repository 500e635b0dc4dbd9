"""The arrays of a `Word2Vec` model that have gensim's names: its output vectors, and the locks of its input vectors.

They are trained elsewhere.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.compat.building import TrainableVocabulary
from w2vtrain.compat.weights import grown
from w2vtrain.errors import InvalidValue


class NamedArrays(TrainableVocabulary):
    """A model whose output vectors can be read and set, and whose input vectors can be locked."""

    @property
    def syn1neg(self) -> NDArray[np.float32]:
        """The output vectors of the words (V, vector_size)."""
        if self.matrices is None or self.matrices.words is None:
            raise AttributeError("the model has no output vectors of words: negative is 0, or no vocabulary was built")
        return self.matrices.words

    @syn1neg.setter
    def syn1neg(self, matrix: NDArray[np.float32]) -> None:
        self.syn1neg[...] = _of_shape(matrix, self.syn1neg.shape, "syn1neg")

    @property
    def syn1(self) -> NDArray[np.float32]:
        """A copy of the vectors of the tree's inner nodes, and a last row of zeros (V, vector_size)."""
        if self.matrices is None or self.matrices.nodes is None:
            raise AttributeError("the model has no vectors of tree nodes: hs is 0, or no vocabulary was built")
        return grown(self.matrices.nodes, len(self.wv), self.vector_size)

    @syn1.setter
    def syn1(self, matrix: NDArray[np.float32]) -> None:
        found = _of_shape(matrix, self.syn1.shape, "syn1")
        assert self.matrices
        assert self.matrices.nodes is not None
        self.matrices.nodes[...] = found[: len(self.matrices.nodes)]

    def locked(self) -> NDArray[np.int64]:
        """Return the words, in the trainer's order, whose input vectors `wv.vectors_lockf` locks with the value 0.

        Raise NotImplementedError for values other than 0 and 1, and ValueError if there is not one value per word.
        """
        locks = np.asarray(getattr(self.wv, "vectors_lockf", 1.0))
        if not np.isin(locks, (0, 1)).all():
            raise NotImplementedError("vectors_lockf: values must be 0 (locked) or 1, other values are not supported")
        if locks.size == 1:
            locks = np.full(len(self.wv), locks.item())
        if locks.shape != (len(self.wv),):
            raise InvalidValue(f"vectors_lockf: {locks.size:,} values for {len(self.wv):,} words")
        order = self.matrices.order if self.matrices else None
        return np.flatnonzero((locks if order is None else locks[order]) == 0)


def _of_shape(matrix: Any, shape: tuple[int, ...], name: str) -> NDArray[np.float32]:
    """Return a matrix of the required shape. Raise InvalidValue for another shape."""
    found = np.asarray(matrix, np.float32)
    if found.shape != shape:
        raise InvalidValue(f"{name}: expected the shape {shape}, got {found.shape}")
    return found
