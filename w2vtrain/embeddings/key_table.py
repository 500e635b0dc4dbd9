"""Keys, the row of each key, and named attributes per key, such as counts: the base class of KeyedVectors.

The vectors themselves are in vector_table.py.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.embeddings.neighbors import close_words
from w2vtrain.errors import InvalidType, InvalidValue, MissingKey

Key = str | int
"""A key or, if no key equals it, an index. Keys are normally strings."""
SINGLE = (str, int, np.integer)


class KeyTable:
    """Keys with attributes. The length of `index_to_key` is the number of rows that all arrays should have."""

    def __init__(self, count: int = 0) -> None:
        self.index_to_key: list[str] = [None] * count  # type: ignore[list-item]  # free rows have the key None
        self.key_to_index: dict[str, int] = {}
        self.next_index = 0
        self.expandos: dict[str, NDArray[Any]] = {}

    def __len__(self) -> int:
        return len(self.index_to_key)

    def __contains__(self, key: object) -> bool:
        return self.has_index_for(key)

    def has_index_for(self, key: Any) -> bool:
        """Return whether `key` is a key or a valid index.

        Parameters
        ----------
        key : str or int
            The key to look up.

        Returns
        -------
        bool

        Examples
        --------
        >>> vectors.has_index_for("king"), vectors.has_index_for("xyzzy"), "king" in vectors
        (True, False, True)

        """
        return self._index(key) >= 0

    def get_index(self, key: Key, default: int | None = None) -> int:
        """Return the row of a key.

        Parameters
        ----------
        key : str or int
            A key, or an index, which is returned as it is.
        default : int, optional
            The value to return for an unknown key.

        Returns
        -------
        int

        Raises
        ------
        KeyError
            If the key is unknown and there is no default.

        Examples
        --------
        >>> vectors.get_index("man"), vectors.get_index("xyzzy", -1)
        (1, -1)

        """
        index = self._index(key)
        if index >= 0:
            return index
        if default is not None:
            return default
        raise self._unknown(key)

    def _index(self, key: Any) -> int:
        """Return the row of a key, or -1 if it is neither a key nor an index."""
        found = self.key_to_index.get(key, -1)
        if found < 0 and isinstance(key, int | np.integer) and 0 <= key < len(self.index_to_key):
            return int(key)
        return found

    def _unknown(self, key: Any) -> MissingKey:
        def similar() -> str:
            close = ", ".join(map(repr, close_words(self.index_to_key, key))) if isinstance(key, str) else ""
            return f"; similar words: {close}" if close else ""

        return MissingKey(f"{key!r} is not in the vocabulary", similar)

    def set_vecattr(self, key: Key, attr: str, val: Any) -> None:
        """Set an attribute of a key. The first value of an attribute determines its type for all keys.

        Parameters
        ----------
        key : str or int
            A key or an index.
        attr : str
            The name of the attribute.
        val : object
            A number, a bool or any other object. Keys without a value have 0.

        Raises
        ------
        KeyError
            If the key is unknown.
        TypeError
            If the value does not fit the type of the attribute.

        Examples
        --------
        >>> vectors.set_vecattr("king", "royal", True)
        >>> vectors.expandos["royal"].tolist()
        [True, False, False, False]

        """
        index = self.get_index(key)
        self.allocate_vecattrs([attr], [type(val)])
        self.expandos[attr][index] = val

    def get_vecattr(self, key: Key, attr: str) -> Any:
        """Return an attribute of a key.

        Parameters
        ----------
        key : str or int
            A key or an index.
        attr : str
            The name of the attribute, such as "count".

        Returns
        -------
        object

        Raises
        ------
        KeyError
            If the key or the attribute is unknown.

        Examples
        --------
        >>> int(vectors.get_vecattr("king", "count"))
        40

        """
        index = self.get_index(key)
        if attr not in self.expandos:
            known = ", ".join(self.expandos) or "none"
            raise MissingKey(f"there is no attribute {attr!r}: the attributes are {known}")
        if index >= len(self.expandos[attr]):
            self.allocate_vecattrs()
        return self.expandos[attr][index]

    def allocate_vecattrs(self, attrs: Iterable[str] | None = None, types: Iterable[Any] | None = None) -> None:
        """Give attributes one value per key: create those that are new, and extend those that are too short.

        Parameters
        ----------
        attrs : iterable of str, optional
            Names of attributes; by default, those that exist.
        types : iterable of type, optional
            The type of each attribute. All types but numbers and bool are stored as objects.

        Raises
        ------
        TypeError
            If an attribute exists with a type that cannot hold values of the given type.
        ValueError
            If `attrs` and `types` do not match.

        Examples
        --------
        >>> vectors.allocate_vecattrs(["weight"], [float])
        >>> vectors.expandos["weight"].tolist()
        [0.0, 0.0, 0.0, 0.0]

        """
        names = list(self.expandos if attrs is None else attrs)
        wanted = [self.expandos[name].dtype for name in names] if types is None else [_dtype(kind) for kind in types]
        if len(names) != len(wanted):
            raise InvalidValue(f"allocate_vecattrs: {len(names)} names and {len(wanted)} types: give one type per name")
        for name, dtype in zip(names, wanted, strict=True):
            old = self.expandos.get(name, np.zeros(0, dtype))
            if not np.can_cast(dtype, old.dtype, "safe"):
                raise InvalidType(
                    f"the attribute {name!r} has type {old.dtype}, which cannot hold values of type {dtype}"
                )
            if name not in self.expandos or len(old) != len(self):
                new = np.zeros(len(self), old.dtype)
                new[: len(old)] = old[: len(self)]
                self.expandos[name] = new


def _dtype(kind: Any) -> np.dtype[Any]:
    """Return the dtype of an attribute whose values are of type `kind`."""
    try:
        dtype = np.dtype(kind)
    except TypeError:
        return np.dtype(object)
    return dtype if dtype.kind in "biuf" else np.dtype(object)
