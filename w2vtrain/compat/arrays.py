"""The arrays of a `Word2Vec` model that users see and change: output vectors by gensim's names, `wv`, and its locks.

They are trained elsewhere.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.compat.building import TrainableVocabulary
from w2vtrain.compat.matrices import Matrices, grown
from w2vtrain.errors import InvalidValue


class NamedArrays(TrainableVocabulary):
    """A model whose output vectors can be read and set, and whose `wv` can be changed and locked."""

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

    def fit_matrices(self) -> None:
        """Let the output vectors follow changes of `wv` itself: words that were added have zeros.

        If words were removed, the others may be in any order, and keep their counts and output vectors. Nodes of a tree
        then start at zero, because the tree is another one. Raise RuntimeError if words were only moved, or if the
        vectors of `wv` have another shape than before.
        """
        matrices, keys = self.matrices, self.wv.index_to_key
        assert matrices
        fewer = len(keys) < len(matrices.keys) and set(keys) <= set(matrices.keys)
        if not fewer and keys[: len(matrices.keys)] != matrices.keys:
            raise RuntimeError("the words of wv were replaced or sorted in another way: call build_vocab again")
        if np.shape(self.wv.vectors) != (len(keys), self.vector_size):
            raise RuntimeError(
                f"wv.vectors has shape {np.shape(self.wv.vectors)}; expected {(len(keys), self.vector_size)}"
            )
        if (matrices.words is None, matrices.nodes is None) != (not self.negative, not self.hs):
            raise RuntimeError("hs or negative has changed since the vocabulary was built: call build_vocab again")
        if fewer:
            self._take_rows(matrices)
        if len(keys) != len(matrices.keys):
            self.prepare_weights(update=True)

    def _take_rows(self, matrices: Matrices) -> None:
        """Keep the output vectors and attributes of the words that are left in `wv`, in their order."""
        old = {key: row for row, key in enumerate(matrices.keys)}
        rows, wv = np.array([old[key] for key in self.wv.index_to_key], np.int64), self.wv
        if matrices.words is not None:
            matrices.words = matrices.words[rows]
        wv.expandos = {
            name: values[rows] if len(values) == len(old) else values for name, values in wv.expandos.items()
        }
        locks: Any = getattr(wv, "vectors_lockf", ())
        if np.size(locks) == len(old):
            wv.vectors_lockf = np.asarray(locks)[rows]

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
