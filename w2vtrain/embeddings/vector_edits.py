"""Change vectors and keys: add, replace, resize, normalize and reorder them.

Code that writes into the matrix itself, as training does, calls fill_norms of vector_table.py.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from w2vtrain.embeddings.key_table import SINGLE, Key
from w2vtrain.embeddings.neighbors import row_norms
from w2vtrain.embeddings.vector_table import Vector, VectorTable
from w2vtrain.errors import InvalidValue

Extras = Mapping[str, ArrayLike] | Iterable[tuple[str, ArrayLike]]


class VectorEdits(VectorTable):
    """Vectors that can be changed through methods, which keep the attributes and norms consistent."""

    def __setitem__(self, keys: Key | Iterable[Key], weights: ArrayLike) -> None:
        self.add_vectors(keys, weights, replace=True)

    def add_vector(self, key: Key, vector: ArrayLike) -> int:
        """Add a key with its vector, or replace the vector of a key that exists.

        Each new key costs a copy of all vectors, unless there are free rows (see `count` of the constructor):
        `add_vectors` adds many at once.

        Parameters
        ----------
        key : str or int
            The key.
        vector : array_like, shape (d,)
            Its vector.

        Returns
        -------
        int
            The row of the key.

        Raises
        ------
        ValueError
            If the vector has the wrong size.

        Examples
        --------
        >>> vectors.add_vector("prince", [3, 1, 0])
        4

        """
        self.add_vectors(key, vector, replace=True)
        return self.key_to_index[key]  # type: ignore[index]

    def add_vectors(
        self, keys: Key | Iterable[Key], weights: ArrayLike, extras: Extras | None = None, replace: bool = False
    ) -> None:
        """Add keys with their vectors.

        The vectors are copied into a new array. If a new key occurs more than once, its last vector counts.

        Parameters
        ----------
        keys : str, int or iterable of these
            The keys.
        weights : array_like, shape (n, d)
            One vector per key.
        extras : dict of str to array_like, optional
            Attributes: one value per key.
        replace : bool, default False
            Replace the vectors of keys that exist; by default, they keep their vectors and attributes.

        Raises
        ------
        ValueError
            If the shapes do not match, or a vector is to be replaced that is mapped read-only. Nothing is added then.

        Examples
        --------
        >>> vectors.add_vectors(["king", "prince"], [[9, 9, 9], [3, 1, 0]])
        >>> len(vectors), vectors["king"]
        (5, array([4., 0., 0.], dtype=float32))

        """
        names: list[Any] = [keys] if isinstance(keys, SINGLE) else list(keys)
        rows = np.asarray(weights, self.vectors.dtype)
        if rows.ndim == 1 and isinstance(keys, SINGLE):
            rows = rows.reshape(1, -1)
        if rows.shape != (len(names), self.vector_size):
            raise InvalidValue(
                f"vectors of shape {list(rows.shape)} for {len(names)} keys, expected {[len(names), self.vector_size]}"
            )
        values = {name: np.asarray(found) for name, found in dict(extras or {}).items()}
        if any(len(found) != len(names) for found in values.values()):
            raise InvalidValue(f"extras need one value for each of the {len(names)} keys")
        source = {name: at for at, name in enumerate(names) if replace or name not in self.key_to_index}
        old = {self.key_to_index[name]: at for name, at in source.items() if name in self.key_to_index}
        if old:
            self._writable()[list(old)] = rows[list(old.values())]
        places = old | self._add_rows({name: at for name, at in source.items() if name not in self.key_to_index}, rows)
        self.norms = None
        self.allocate_vecattrs()
        for name, found in values.items():
            self.allocate_vecattrs([name], [found.dtype])
            self.expandos[name][list(places)] = found[list(places.values())]

    def _add_rows(self, source: dict[Any, int], rows: Vector) -> dict[int, int]:
        """Give each new key rows[source[key]], and return the source of each row used. Free rows are used first."""
        start, free = self.next_index, 0
        while free < len(source) and start + free < len(self) and self.index_to_key[start + free] is None:
            free += 1
        taken, added = list(source)[:free], list(source)[free:]
        if free:
            self._writable()[start : start + free] = rows[[source[key] for key in taken]]
            self.index_to_key[start : start + free] = taken
            self.next_index += free
        first = len(self)
        if added:
            if len(self.vectors) < first:
                self.resize_vectors()
            self.vectors = np.concatenate([self.vectors[:first], rows[[source[key] for key in added]]])
            self.index_to_key.extend(added)
        places = [*range(start, start + free), *range(first, first + len(added))]
        self.key_to_index.update(zip(source, places, strict=True))
        return dict(zip(places, source.values(), strict=True))

    def _writable(self) -> Vector:
        if not self.vectors.flags.writeable:
            raise InvalidValue("the vectors are read-only: load them without mmap, or with mmap='c', to change them")
        return self.vectors

    def resize_vectors(self, seed: int = 0) -> None:
        """Give each key of `index_to_key` a row: drop the rows beyond them, and draw the missing ones at random.

        Parameters
        ----------
        seed : int, default 0
            New values are uniform in [-1/d, 1/d), drawn with this seed.

        Examples
        --------
        >>> vectors.index_to_key.append("prince")
        >>> vectors.resize_vectors()
        >>> vectors.vectors.shape
        (5, 3)

        """
        count, old = len(self), self.vectors
        if len(old) < count:
            drawn = np.random.default_rng(seed).random((count, self.vector_size), np.float32)
            self.vectors = ((2 * drawn - 1) / self.vector_size).astype(old.dtype, copy=False)
            self.vectors[: len(old)] = old
        else:
            self.vectors = old[:count]
        self.allocate_vecattrs()
        self.norms = None

    def unit_normalize_all(self) -> None:
        """Divide each vector by its length, in place. Zero vectors stay as they are.

        Examples
        --------
        >>> vectors.unit_normalize_all()
        >>> vectors["king"]
        array([1., 0., 0.], dtype=float32)

        """
        self.fill_norms(force=True)
        norms = self._norms()[:, None]
        np.divide(self._writable(), norms, out=self.vectors, where=norms > 0)
        self.norms = row_norms(self.vectors)

    def sort_by_descending_frequency(self) -> None:
        """Sort the keys by the attribute "count", largest first; equal counts keep their order.

        Without counts, nothing changes.

        Examples
        --------
        >>> vectors.set_vecattr("man", "count", 99)
        >>> vectors.sort_by_descending_frequency()
        >>> vectors.index_to_key[0]
        'man'

        """
        if not len(self) or "count" not in self.expandos:
            return
        order = len(self) - 1 - np.argsort(self.expandos["count"][::-1], kind="stable")[::-1]
        self.index_to_key = [self.index_to_key[row] for row in order.tolist()]
        self.key_to_index = {key: row for row, key in enumerate(self.index_to_key) if key is not None}
        self.expandos = {name: values[order] for name, values in self.expandos.items()}
        self.vectors, self.norms = self.vectors[order], None

    def vectors_for_all(self, keys: Iterable[Key], allow_inference: bool = True, copy_vecattrs: bool = False) -> Self:
        """Return a new object with the vectors of some keys, in their order; unknown keys are left out.

        Parameters
        ----------
        keys : iterable of str or int
            Repeated keys count once.
        allow_inference : bool, default True
            Without effect: unknown keys have no vectors here.
        copy_vecattrs : bool, default False
            Copy the attributes. By default, the only one is "count", which decreases from the number of keys to 1.

        Returns
        -------
        KeyedVectors

        Examples
        --------
        >>> vectors.vectors_for_all(["woman", "xyzzy", "king"]).index_to_key
        ['woman', 'king']

        """
        found = [key for key in dict.fromkeys(keys) if key in self.key_to_index]
        made = type(self)(self.vector_size, dtype=self.vectors.dtype)
        rows = [self.key_to_index[key] for key in found]
        extras = {name: values[rows] for name, values in self.expandos.items()} if copy_vecattrs else None
        made.add_vectors(found, self.vectors[rows], extras or {"count": np.arange(len(found), 0, -1)})
        return made
