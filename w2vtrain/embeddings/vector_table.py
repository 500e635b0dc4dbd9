"""Vectors by key: looking them up and averaging them.

They are changed in vector_edits.py; queries about similarity are in queries.py and comparisons.py.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from w2vtrain.embeddings.key_table import SINGLE, Key, KeyTable
from w2vtrain.embeddings.neighbors import row_norms
from w2vtrain.errors import InvalidType, InvalidValue

Vector = NDArray[Any]


class VectorTable(KeyTable):
    """Keys, attributes and one vector per key."""

    def __init__(
        self, vector_size: int, count: int = 0, dtype: Any = np.float32, mapfile_path: str | None = None
    ) -> None:
        if mapfile_path is not None:
            raise InvalidValue("mapfile_path has no effect: use save() and load(..., mmap='r') to map vectors")
        super().__init__(count)
        self.vector_size = vector_size
        self.vectors: Vector = np.zeros((count, vector_size), dtype)
        self.norms: Vector | None = None
        self.mapfile_path = mapfile_path

    def __getitem__(self, key_or_keys: Key | Iterable[Key]) -> Vector:
        if isinstance(key_or_keys, SINGLE):
            return self.get_vector(key_or_keys)
        try:
            keys = list(key_or_keys)
        except TypeError:
            raise InvalidType(f"expected a key or a list of keys, not {type(key_or_keys).__name__}") from None
        return self.vectors[np.array([self.get_index(key) for key in keys], np.int64)]

    def get_vector(self, key: Key, norm: bool = False) -> Vector:
        """Return the vector of a key.

        Parameters
        ----------
        key : str or int
            A key or an index.
        norm : bool, default False
            Return the vector divided by its length.

        Returns
        -------
        ndarray, shape (d,)
            A read-only view of the row or, with `norm`, a new array.

        Raises
        ------
        KeyError
            If the key is unknown.

        Examples
        --------
        >>> vectors.get_vector("woman"), vectors["woman"], vectors[["king", "woman"]].shape
        (array([0., 2., 1.], dtype=float32), array([0., 2., 1.], dtype=float32), (2, 3))

        """
        index = self.get_index(key)
        row: Vector = self.vectors[index]
        if norm:
            with np.errstate(all="ignore"):
                normed: Vector = row / self._norms()[index]
            return normed
        row = row.view()
        row.flags.writeable = False
        return row

    word_vec = get_vector

    def get_mean_vector(
        self,
        keys: Sequence[Key | Vector] | Vector,
        weights: ArrayLike | None = None,
        pre_normalize: bool = True,
        post_normalize: bool = False,
        ignore_missing: bool = True,
    ) -> Vector:
        """Return the weighted mean of the vectors of keys.

        Parameters
        ----------
        keys : sequence of str, int or ndarray
            Keys, indices, and vectors, which are never normalized.
        weights : sequence of float, optional
            One weight per key; 1 by default. The sum is divided by the sum of their absolute values.
        pre_normalize : bool, default True
            Divide the vector of each key by its length.
        post_normalize : bool, default False
            Divide the mean by its length.
        ignore_missing : bool, default True
            Leave out unknown keys. If all are unknown, the mean is a zero vector.

        Returns
        -------
        ndarray, shape (d,)

        Raises
        ------
        ValueError
            If there are no keys, or not one weight per key.
        KeyError
            If a key is unknown and `ignore_missing` is False.

        Examples
        --------
        >>> vectors.get_mean_vector(["king", "man"], weights=[1, 3], pre_normalize=False)
        array([1.  , 2.25, 0.  ], dtype=float32)

        """
        if not len(keys):
            raise InvalidValue("cannot compute the mean of no vectors: pass at least one key")
        # The types of weights are those of gensim, so that the results are the same bit for bit.
        default = np.ones(len(keys)) if weights is None else weights
        factors = default if isinstance(default, np.ndarray) else np.asarray(default, np.float32)
        if factors.shape != (len(keys),):
            raise InvalidValue(f"{len(keys)} keys and weights of shape {list(factors.shape)}: pass one weight per key")
        parts, weight = [], factors.dtype.type(0)
        for key, factor in zip(keys, factors, strict=True):
            if isinstance(key, np.ndarray):
                parts.append((factor, self._checked(key)))
            elif key in self:
                parts.append((factor, self.get_vector(key, norm=pre_normalize)))
            elif ignore_missing:
                continue
            else:
                raise self._unknown(key)
            weight += abs(factor)
        total = weighted_sum(parts, self.vector_size, self.vectors.dtype)
        mean = total / weight if weight > 0 else total
        return (unit(mean) if post_normalize else mean).astype(self.vectors.dtype, copy=False)

    def _checked(self, vector: Vector) -> Vector:
        if vector.shape != (self.vector_size,):
            raise InvalidValue(f"a vector has shape {list(vector.shape)}, expected {[self.vector_size]}")
        return vector

    def fill_norms(self, force: bool = False) -> None:
        """Compute `norms`, the lengths of all vectors, unless they are known.

        Queries do this on first use. Code that changes `vectors` in place, as training does, calls it with `force`.

        Parameters
        ----------
        force : bool, default False
            Compute them even if they are known.

        Examples
        --------
        >>> vectors.vectors[0] *= 2
        >>> vectors.fill_norms(force=True)
        >>> vectors.norms[0]
        np.float32(8.0)

        """
        if force or self.norms is None or len(self.norms) != len(self.vectors):
            self.norms = row_norms(self.vectors)

    def _norms(self) -> Vector:
        self.fill_norms()
        assert self.norms is not None
        return self.norms

    def get_normed_vectors(self) -> Vector:
        """Return all vectors, each divided by its length, as a new array.

        Returns
        -------
        ndarray, shape (V, d)

        Examples
        --------
        >>> vectors.get_normed_vectors()[1]
        array([0., 1., 0.], dtype=float32)

        """
        with np.errstate(all="ignore"):
            found: Vector = self.vectors / self._norms()[:, None]
        return found


def weighted_sum(parts: Sequence[tuple[Any, Vector]], size: int, dtype: Any) -> Vector:
    """Return the sum of factor * vector (size,) in a dtype or, if it is not finite there, in float64."""
    total = np.zeros(size, dtype)
    with np.errstate(over="ignore", invalid="ignore"):  # found below
        for factor, vector in parts:
            total += factor * vector
    if np.isfinite(total).all():
        return total
    wide: Vector = np.sum([float(factor) * vector.astype(np.float64) for factor, vector in parts], axis=0)
    return wide


def unit(vector: Vector) -> Vector:
    """Return a vector divided by its length, as float64; a zero vector stays as it is."""
    wide = vector.astype(np.float64)
    length = np.linalg.norm(wide)
    found: Vector = wide * (1 / length) if length > 0 else wide
    return found
