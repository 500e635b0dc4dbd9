"""KeyedRows: the keys of vectors, their rows and attributes, how these change, and the files that hold them.

KeyedVectors adds the queries. What reads and writes files without keys is in formats/.
"""

import re
import warnings
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from w2vtrain.embeddings.neighbors import Vector, close_words, row_norms
from w2vtrain.errors import (
    DataError,
    InputMissing,
    InvalidType,
    InvalidValue,
    MalformedFile,
    MissingFile,
    MissingKey,
    TruncatedFile,
)
from w2vtrain.formats.model_file import save_keys
from w2vtrain.formats.precision import floating
from w2vtrain.formats.subwords import NgramVectors
from w2vtrain.formats.transforms import LazyRows
from w2vtrain.formats.vector_formats.contract import Coding
from w2vtrain.formats.vectors import appended, read_counts, read_keys, read_word2vec, write_word2vec
from w2vtrain.system.compression import packed_write

Key = str | int
"""A key or, if no key equals it, an index. Keys are normally strings."""
SINGLE = (str, int, np.integer)
NOT_UTF8 = re.compile("[\ud800-\udfff]")
"""What Python makes of bytes that are not UTF-8, in arguments and in what is read."""
Extras = Mapping[str, ArrayLike] | Iterable[tuple[str, ArrayLike]]


@contextmanager
def builtin_errors() -> Iterator[None]:
    """Turn this package's errors about files into subclasses that are also the built-in errors that gensim raises."""
    try:
        yield
    except InputMissing as error:
        raise MissingFile(str(error)) from error
    except (MalformedFile, TruncatedFile, MissingKey, AttributeError, NotImplementedError):
        raise
    except DataError as error:
        raise MalformedFile(str(error)) from error


class KeyedRows:
    """The keys, vectors and attributes of `KeyedVectors`, which documents them."""

    _former: Sequence[Any] = ()
    """The keys before fewer were assigned, until `_move_attributes` has moved their attributes along."""

    def __init__(
        self, vector_size: int, count: int = 0, dtype: Any = np.float32, mapfile_path: str | None = None
    ) -> None:
        if mapfile_path is not None:
            raise InvalidValue("mapfile_path has no effect: use save() and load(..., mmap='r') to map vectors")
        self.index_to_key: list[str] = [None] * count  # type: ignore[list-item]  # free rows have the key None
        self.key_to_index: dict[str, int] = {}
        self.next_index = 0
        self.expandos: dict[str, NDArray[Any]] = {}
        self.vector_size = vector_size
        self.norms: Vector | None = None
        self.vectors: Vector = np.zeros((count, vector_size), floating(dtype))
        self.mapfile_path = mapfile_path
        self.ngrams: NgramVectors | None = None

    @classmethod
    def of(
        cls, words: Sequence[Any], matrix: NDArray[Any], counts: ArrayLike | None = None,
        ngrams: NgramVectors | None = None,
    ) -> Self:  # fmt: skip
        """Return an object over a matrix, which is not checked for NaN and, unless it has integers, not copied.

        Parameters
        ----------
        words : sequence of str
            V distinct keys.
        matrix : ndarray, shape (V, d)
            One row per key. It may be a view such as ``padded[:, :d]``.
        counts : array_like of int, shape (V,), optional
            The attribute "count".
        ngrams : NgramVectors, optional
            The vectors of n-grams, such as `read_vectors` returns them, which give vectors to other words.

        Raises
        ------
        ValueError
            If the lengths do not match, the values are no real numbers, or a key occurs twice.

        Examples
        --------
        >>> padded = np.ones((2, 16), np.float32)
        >>> vectors = w2vtrain.KeyedVectors.of(["red", "green"], padded[:, :10])
        >>> np.shares_memory(vectors.vectors, padded)
        True

        """
        if matrix.ndim != 2 or len(matrix) != len(words):
            raise InvalidValue(f"a matrix of shape {list(matrix.shape)} for {len(words):,} keys: pass one row per key")
        if matrix.dtype.kind not in "fiub":
            raise InvalidValue(f"a matrix of {matrix.dtype}: vectors are real numbers")
        made = cls(matrix.shape[1], dtype=matrix.dtype)
        made.vectors, made.index_to_key = matrix.astype(made.vectors.dtype, copy=False), list(words)
        made.ngrams = made.ngrams if ngrams is None else ngrams
        made.key_to_index = dict(zip(made.index_to_key, range(len(words)), strict=True))
        if len(made.key_to_index) != len(made):
            twice = next(key for row, key in enumerate(made.index_to_key) if made.key_to_index[key] != row)
            raise InvalidValue(f"the key {twice!r} occurs twice: keys must be distinct")
        if counts is not None:
            made.expandos["count"] = np.array(counts)
            if (shape := made.expandos["count"].shape) != (len(made),):
                raise InvalidValue(f"counts of shape {list(shape)} for {len(made):,} keys: pass one per key")
        return made

    if not TYPE_CHECKING:  # type checkers know what can be assigned

        def __setattr__(self, name: str, value: Any) -> None:
            """If other vectors are assigned, follow their size and forget norms; rows that are added are not locked.

            If fewer keys are assigned, remember the old ones: `allocate_vecattrs` moves their attributes along.
            """
            if name == "index_to_key" and isinstance(value, Sized) and len(value) < len(getattr(self, name, ())):
                self._former = self._former or list(self.index_to_key)
            if name == "vectors":
                self.norms, old = None, len(getattr(self, name, ()))
                if np.ndim(value) == 2:
                    self.vector_size = np.shape(value)[1]
                locks = getattr(self, "vectors_lockf", 1)
                if np.size(locks) == old > 1 and np.shape(value)[:1] > (old,):  # one lock per row
                    self.vectors_lockf = np.append(locks, np.ones(len(value) - old, np.float32))
            super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}<vector_size={self.vector_size}, {len(self)} keys>"

    # Keys, and attributes of keys.

    def __len__(self) -> int:
        return len(self.index_to_key)

    def __contains__(self, key: object) -> bool:
        return self.has_index_for(key)

    def has_index_for(self, key: Any) -> bool:
        """Return whether `key` is a key or a valid index.

        Examples
        --------
        >>> vectors.has_index_for("king"), vectors.has_index_for("xyzzy"), "king" in vectors
        (True, False, True)

        """
        return self._index(key) >= 0

    def get_index(self, key: Key, default: int | None = None) -> int:
        """Return the row of a key, or `default`, if given, for an unknown key.

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

    def _key(self, key: Any) -> Any:
        """Return what is stored for a key."""
        return key

    def _index(self, key: Any) -> int:
        """Return the row of a key, or -1 if it is neither a key nor an index."""
        index = self.key_to_index.get(key, -1)
        if index < 0 and isinstance(key, int | np.integer) and 0 <= key < len(self.index_to_key):
            return int(key)
        return index

    def _row(self, key: Any) -> int:
        """Return the row of a key, or -1 if it is none: an index is not, unless it is the key of its own row."""
        index = self._index(key)
        return index if index >= 0 and self.index_to_key[index] == key else -1

    def _unknown(self, key: Any) -> MissingKey:
        def similar() -> str:
            if f'"{key}"' in self.key_to_index:
                return "; the words of these vectors are in quotes: remove all quotes from the file"
            if isinstance(key, str) and NOT_UTF8.search(key):
                return "; it is not UTF-8: convert the words with iconv"
            close = ", ".join(map(repr, close_words(self.index_to_key, key))) if isinstance(key, str) else ""
            return f"; similar words: {close}" if close else ""

        composes = self.ngrams is not None and isinstance(key, str)
        without = ", and none of its n-grams is known" if composes and self._composed(key) is None else ""
        return MissingKey(f"{key!r} is not in the vocabulary{without}", similar)

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
        TypeError
            If the value does not fit the type of the attribute.

        Examples
        --------
        >>> vectors.set_vecattr("king", "royal", True)
        >>> vectors.expandos["royal"].tolist()
        [True, False, False, False]

        """
        index = self.get_index(key)
        self.allocate_vecattrs([attr], [np.asarray(val).dtype if isinstance(val, int) else type(val)])
        self.expandos[attr][index] = val

    def get_vecattr(self, key: Key, attr: str) -> Any:
        """Return an attribute of a key, such as "count"; an unknown attribute is a KeyError.

        Examples
        --------
        >>> int(vectors.get_vecattr("king", "count"))
        40

        """
        index = self.get_index(key)
        if attr not in self.expandos:
            known = ", ".join(self.expandos) or "none"
            raise MissingKey(f"there is no attribute {attr!r}: the attributes are {known}")
        if len(self.expandos[attr]) != len(self):
            self.allocate_vecattrs([attr])
        return self.expandos[attr][index]

    def allocate_vecattrs(self, attrs: Iterable[str] | None = None, types: Iterable[Any] | None = None) -> None:
        """Give attributes one value per key: create those that are new, and extend those that are too short.

        All methods that need attributes do this first.

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
            If `attrs` and `types` do not match, or one of the attributes has more values than there are keys: after
            removing keys from `index_to_key` in place, remove their values from `expandos`, too.

        Examples
        --------
        >>> vectors.allocate_vecattrs(["weight"], [float])
        >>> vectors.expandos["weight"].tolist()
        [0.0, 0.0, 0.0, 0.0]

        """
        self._move_attributes()
        names = list(self.expandos if attrs is None else attrs)
        self.expandos |= {name: np.asarray(self.expandos[name]) for name in names if name in self.expandos}  # of a list
        if long := next((name for name in names if len(self.expandos.get(name, ())) > len(self)), None):
            raise InvalidValue(
                f"the attribute {long!r} has {len(self.expandos[long]):,} values for {len(self):,} keys: remove those"
                " of removed keys from expandos, too"
            )
        wanted = [self.expandos[name].dtype for name in names] if types is None else [_dtype(kind) for kind in types]
        if len(names) != len(wanted):
            raise InvalidValue(f"allocate_vecattrs: {len(names)} names and {len(wanted)} types: give one type per name")
        for name, dtype in zip(names, wanted, strict=True):
            old = self.expandos.get(name, np.zeros(0, dtype))
            if not np.can_cast(dtype, old.dtype, "safe"):
                raise InvalidType(
                    f"the attribute {name!r} has type {old.dtype}, which cannot hold values of type {dtype}"
                )
            self.expandos[name] = old if len(old) == len(self) else _rows(old, len(self))

    def _move_attributes(self) -> None:
        """Keep of the attributes of all keys those of the fewer keys that were assigned, in their order."""
        former, self._former = self._former, ()
        row_of = {key: row for row, key in enumerate(former)}
        if len(former) > len(self) and row_of.keys() >= set(self.index_to_key):
            rows = [row_of[key] for key in self.index_to_key]
            moving = {name for name, values in self.expandos.items() if len(values) == len(former)}
            taken = {name: np.asarray(self.expandos[name])[rows] for name in moving}
            self.expandos = self.expandos | taken

    # Vectors of keys.

    def __getitem__(self, key_or_keys: Key | Iterable[Key]) -> Vector:
        if isinstance(key_or_keys, SINGLE):
            return self.get_vector(key_or_keys)
        try:
            keys = list(key_or_keys)
        except TypeError:
            raise InvalidType(f"expected a key or a list of keys, not {type(key_or_keys).__name__}") from None
        rows = [self._index(key) for key in keys]
        if min(rows, default=0) < 0:  # an unknown key, whose vector may follow from n-grams
            return np.array([self.get_vector(key) for key in keys], self.vectors.dtype)
        return self.vectors[np.array(rows, np.int64)]

    def _fitting_ngrams(self) -> NgramVectors | None:
        """Return the n-grams. Raise InvalidValue if the vectors were reduced to another size."""
        if self.ngrams is not None and self.ngrams.matrix.shape[1] != self.vectors.shape[1]:
            raise InvalidValue(
                f"vectors of {self.vectors.shape[1]} values and n-grams of {self.ngrams.matrix.shape[1]}: ngrams = None"
                " leaves the words alone"
            )
        return self.ngrams

    def _composed(self, key: Any) -> Vector | None:
        """Return the vector (d,) that n-grams give to an unknown key, or None."""
        is_text = isinstance(key, str) and not NOT_UTF8.search(key)  # its n-grams would be those of another word
        ngrams = self._fitting_ngrams() if is_text else None
        vector = None if ngrams is None else ngrams.vector(key)
        return None if vector is None else vector.astype(self.vectors.dtype, copy=False)

    def get_vector(self, key: Key, norm: bool = False) -> Vector:
        """Return the vector of a key: a read-only view of its row or, with `norm`, a new array of length 1.

        Examples
        --------
        >>> vectors.get_vector("woman"), vectors["woman"], vectors[["king", "woman"]].shape
        (array([0., 2., 1.], dtype=float32), array([0., 2., 1.], dtype=float32), (2, 3))

        """
        row = self._find(key, norm)
        if row is None:
            raise self._unknown(key)
        return row

    def _find(self, key: Any, norm: bool = False) -> Vector | None:
        """Return what `get_vector` does, None for a key without a vector. All queries find vectors here."""
        index = self._index(key)
        row: Vector | None = self.vectors[index] if index >= 0 else self._composed(key)
        if row is None:
            return None
        if norm:
            with np.errstate(all="ignore"):
                normed: Vector = row / (self._norms()[index] if index >= 0 else row_norms(row[None])[0])
            return normed
        row = row.view()
        row.flags.writeable = False
        return row

    word_vec = get_vector

    def _checked(self, vector: Vector) -> Vector:
        if vector.shape != (self.vector_size,):
            raise InvalidValue(f"a vector has shape {list(vector.shape)}, expected {[self.vector_size]}")
        return vector

    def fill_norms(self, force: bool = False) -> None:
        """Compute `norms`, the lengths of all vectors, unless they are known, or in any case with `force`.

        Queries do this on first use. Code that changes `vectors` in place, as training does, calls it with `force`.

        Examples
        --------
        >>> vectors.vectors[0] *= 2
        >>> vectors.fill_norms(force=True)
        >>> vectors.norms[0]
        np.float32(8.0)

        """
        if force or self.norms is None:
            self.norms = row_norms(self.vectors)

    def _norms(self) -> Vector:
        self.fill_norms()
        assert self.norms is not None
        return self.norms

    def get_normed_vectors(self) -> Vector:
        """Return all vectors (V, d), each divided by its length, as a new array.

        Examples
        --------
        >>> vectors.get_normed_vectors()[1]
        array([0., 1., 0.], dtype=float32)

        """
        with np.errstate(all="ignore"):
            normed: Vector = self.vectors / self._norms()[:, None]
        return normed

    # Changes.

    def __setitem__(self, keys: Key | Iterable[Key], weights: ArrayLike) -> None:
        self.add_vectors(keys, weights, replace=True)

    def add_vector(self, key: Key, vector: ArrayLike) -> int:
        """Add a key with its vector, and return its row. A key that exists keeps its vector, as in `add_vectors`.

        Each new key costs a copy of all vectors, unless there are free rows (see `count` of the constructor):
        `add_vectors` adds many at once. ``vectors[key] = vector`` also replaces.

        Examples
        --------
        >>> vectors.add_vector("prince", [3, 1, 0])
        4

        """
        self.add_vectors(key, vector)
        return self._row(key)

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
        TypeError
            If an attribute exists with a type that cannot hold the values. Nothing is added then.

        Examples
        --------
        >>> vectors.add_vectors(["king", "prince"], [[9, 9, 9], [3, 1, 0]])
        >>> len(vectors), vectors["king"]
        (5, array([4., 0., 0.], dtype=float32))

        """
        names = [self._key(key) for key in ([keys] if isinstance(keys, SINGLE) else keys)]
        rows = np.asarray(weights, self.vectors.dtype)
        if rows.ndim == 1 and isinstance(keys, SINGLE):
            rows = rows.reshape(1, -1)
        if not names:
            rows = rows.reshape(0, self.vector_size)
        if rows.shape != (len(names), self.vector_size):
            raise InvalidValue(
                f"vectors of shape {list(rows.shape)} for {len(names)} keys, expected {[len(names), self.vector_size]}"
            )
        attributes = {name: np.asarray(values) for name, values in dict(extras or {}).items()}
        if any(values.shape != (len(names),) for values in attributes.values()):
            raise InvalidValue(f"extras need one value for each of the {len(names)} keys")
        row_of = {name: self._row(name) for name in names}
        source = {name: at for at, name in enumerate(names) if replace or row_of[name] < 0}
        new = {name: at for name, at in source.items() if row_of[name] < 0}
        old = {row_of[name]: at for name, at in source.items() if row_of[name] >= 0}
        # These raise errors before anything is added.
        replaced = self._writable() if old else self.vectors
        self.allocate_vecattrs(attributes, [values.dtype for values in attributes.values()])
        self.allocate_vecattrs(self.expandos if new else ())
        if old:
            replaced[list(old)] = rows[list(old.values())]
        places = old | self._add_rows(new, rows)
        self.norms = None
        self.allocate_vecattrs(self.expandos if new else ())
        for name, values in attributes.items():
            self.expandos[name][list(places)] = values[list(places.values())]

    def _add_rows(self, source: dict[Any, int], rows: Vector) -> dict[int, int]:
        """Give each new key rows[source[key]], and return the source of each row used. Free rows are used first."""
        start, first = self.next_index, len(self)
        possible = range(start, min(first, start + len(source)))
        places = list(takewhile(lambda row: self.index_to_key[row] is None, possible))
        free, added = len(places), list(source)[len(places) :]
        if added:
            if len(self.vectors) < first:
                self.resize_vectors()
            self.vectors = np.concatenate([self.vectors[:first], np.empty((len(added), self.vector_size), rows.dtype)])
            if not isinstance(self.index_to_key, list):  # a caller may have assigned an array
                self.index_to_key = list(self.index_to_key)
            self.index_to_key += added
            places += range(first, len(self))
        if source:
            self._writable()[places] = rows[list(source.values())]
        self.next_index += free
        for key, row in zip(source, places, strict=True):
            self.index_to_key[row], self.key_to_index[key] = key, row
        return dict(zip(places, source.values(), strict=True))

    def _writable(self) -> Vector:
        if not self.vectors.flags.writeable:
            raise InvalidValue(
                "the vectors are read-only: load them without mmap or with mmap='c', take a model's from its"
                " to_keyed_vectors(), or assign a copy"
            )
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
        # Other attributes have lost their keys: allocate_vecattrs refuses them.
        self.expandos |= {name: values[:count] for name, values in self.expandos.items() if len(values) == len(old)}
        self.allocate_vecattrs()
        if len(old) < count:
            drawn = np.random.default_rng(seed).random((count, self.vector_size), np.float32)
            self.vectors = ((2 * drawn - 1) / self.vector_size).astype(old.dtype, copy=False)
            self.vectors[: len(old)] = old
        else:
            self.vectors = old[:count]

    def unit_normalize_all(self) -> None:
        """Divide each vector by its length, in place. Zero vectors stay as they are.

        Examples
        --------
        >>> vectors.unit_normalize_all()
        >>> vectors["king"]
        array([1., 0., 0.], dtype=float32)

        """
        norms = row_norms(self.vectors)[:, None]
        np.divide(self._writable(), norms, out=self.vectors, where=norms > 0)
        self.fill_norms(force=True)

    def init_sims(self, replace: bool = False) -> None:
        """Do what `fill_norms` does or, with `replace`, what `unit_normalize_all` does; deprecated, as in gensim."""
        warnings.warn("init_sims is deprecated: use fill_norms or unit_normalize_all", DeprecationWarning, stacklevel=2)
        self.unit_normalize_all() if replace else self.fill_norms()

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
        self.allocate_vecattrs()
        order = _descending(self.expandos["count"])
        if (order[1:] > order[:-1]).all():
            return
        self.index_to_key = [self.index_to_key[row] for row in order.tolist()]
        self.key_to_index = {key: row for row, key in enumerate(self.index_to_key) if key is not None}
        self.vectors = self.vectors[order]
        self._take_values(order, len(order))

    def _take_values(self, rows: NDArray[np.int64], size: int) -> None:
        """Keep the attributes of the keys that were in `rows`, in this order. size: how many keys there were."""

        def taken(values: Any) -> Any:
            return np.asarray(values)[rows] if np.shape(values)[:1] == (size,) else values

        self.expandos = {name: taken(values) for name, values in self.expandos.items()}
        for name in ("own", "_settled", "vectors_lockf"):  # own: with subwords, the rows of words, and their state
            if hasattr(self, name):
                setattr(self, name, taken(getattr(self, name)))

    def vectors_for_all(self, keys: Iterable[Key], allow_inference: bool = True, copy_vecattrs: bool = False) -> Self:
        """Return a new object with the vectors of some keys, in their order; unknown keys are left out.

        Parameters
        ----------
        keys : iterable of str or int
            Repeated keys count once. An int is a key here, never an index.
        allow_inference : bool, default True
            Also compose vectors of unknown keys, if there are n-grams.
        copy_vecattrs : bool, default False
            Copy the attributes. By default, the only one is "count", which decreases from the number of keys to 1.

        Examples
        --------
        >>> vectors.vectors_for_all(["woman", "xyzzy", "king"]).index_to_key
        ['woman', 'king']

        """
        listed = list(dict.fromkeys(map(self._key, keys)))
        known = [k for k in listed if self._row(k) >= 0 or (allow_inference and self._composed(k) is not None)]
        made = type(self)(self.vector_size, dtype=self.vectors.dtype)
        made.ngrams = self.ngrams
        made.add_vectors(known, self[known], {"count": np.arange(len(known), 0, -1)})
        if copy_vecattrs and self.expandos:
            self.allocate_vecattrs()
            rows = np.array([self._row(key) for key in known], np.int64)
            made.expandos = {name: _rows(values, len(self) + 1)[rows] for name, values in self.expandos.items()}
        return made

    # Files.

    def _filled(self) -> int:
        """Return the number of rows without the free ones at the end."""
        end = len(self)
        while end and self.index_to_key[end - 1] is None:
            end -= 1
        return end

    def save(
        self,
        fname_or_handle: str | Path,
        separately: object = None,
        sep_limit: object = None,
        ignore: object = frozenset(),
        pickle_protocol: object = None,
    ) -> None:
        """Write keys, vectors and attributes to one safetensors file, completely or not at all.

        Parameters
        ----------
        fname_or_handle : str or Path
            The file to write; an existing file is replaced.
        separately, sep_limit, ignore, pickle_protocol
            Without effect: they concern pickles, which are never written.

        Raises
        ------
        TypeError
            If an attribute has a value that JSON cannot represent, such as NaN among objects, a key is neither a string
            nor an integer, or `fname_or_handle` is no path. Arrays and tuples are read back as lists.
        ValueError
            If keys have no rows yet (see `resize_vectors`), or n-grams have another size than the vectors.
        OutputError, WriteError
            If the file cannot be created or written.

        Examples
        --------
        >>> vectors.save("vectors.safetensors")
        >>> w2vtrain.KeyedVectors.load("vectors.safetensors", mmap="r")
        KeyedVectors<vector_size=3, 4 keys>

        """
        rows = self._filled()
        if len(self.vectors) < rows:
            raise InvalidValue(f"{rows:,} keys and {len(self.vectors):,} vectors: call resize_vectors first")
        ngrams = self._fitting_ngrams()
        self.allocate_vecattrs()
        attributes = {name: values[:rows] for name, values in self.expandos.items()}
        keys = self.index_to_key[:rows]
        save_keys(Path(fname_or_handle), keys, self.vectors[:rows], attributes, ngrams)

    @classmethod
    def load(cls, fname: str | Path, mmap: str | None = None) -> Self:
        """Read a file that `save` wrote, a model, or vectors in any format of `read_vectors`; never a pickle.

        Parameters
        ----------
        fname : str or Path
            The file to read.
        mmap : {None, "r", "r+", "c"}
            Map the vectors into memory instead of reading them: read-only, writing changes to the file, or with
            private changes. This needs a file that `save` wrote. Adding keys copies the vectors, and saving to the same
            file replaces it: later changes then do not reach the file.

        Raises
        ------
        FileNotFoundError
            If the file cannot be opened.
        ValueError
            If the file is invalid, or a pickle.

        Examples
        --------
        >>> vectors.save("vectors.safetensors")
        >>> w2vtrain.KeyedVectors.load("vectors.safetensors").get_vecattr("king", "count")
        np.int64(40)

        """
        with builtin_errors():
            keys, matrix, attributes, ngrams = read_keys(fname, mmap)
            try:
                made = cls.of(keys, matrix, ngrams=ngrams)
            except InvalidValue as error:
                raise DataError(f"{fname}: {error}") from error
        made.expandos.update(attributes)
        return made

    @classmethod
    def load_word2vec_format(
        cls,
        fname: str | Path,
        fvocab: str | Path | None = None,
        binary: bool = False,
        encoding: str = "utf8",
        unicode_errors: str = "strict",
        limit: int | None = None,
        datatype: Any = np.float32,
        no_header: bool = False,
    ) -> Self:
        """Read word2vec's text or binary format, or text without a header such as GloVe's.

        The file may be compressed. Of rows with the same word, only the first counts.

        Parameters
        ----------
        fname : str or Path
            The file to read.
        fvocab : str or Path, optional
            A file with a word and its count per line; words that it lacks have count 0. Without it, the counts
            decrease from the number of vectors to 1.
        binary : bool, default False
            Whether the file is binary.
        encoding, unicode_errors : str, default "utf8" and "strict"
            How to decode words, as for ``bytes.decode``.
        limit : int, optional
            Read only the first rows; 0 reads all.
        datatype : dtype, default float32
            The type of the values, which are read as float32. Types of integers become float32 or float64.
        no_header : bool, default False
            Whether the first line of a text file is a vector.

        Raises
        ------
        FileNotFoundError
            If the file cannot be opened.
        EOFError
            If there are fewer vectors than the header promises.
        UnicodeDecodeError
            If a word cannot be decoded.
        ValueError
            If the file is invalid; the message names the line or byte.

        Examples
        --------
        >>> vectors.save_word2vec_format("vectors.bin", binary=True)
        >>> w2vtrain.KeyedVectors.load_word2vec_format("vectors.bin", binary=True, limit=2).index_to_key
        ['king', 'man']

        """
        coding = Coding(encoding, unicode_errors)
        with builtin_errors():
            words, matrix = read_word2vec(fname, binary, no_header, limit, coding)
            known = None if fvocab is None else read_counts(fvocab, coding)
        counts = range(len(words), 0, -1) if known is None else [known.get(word, 0) for word in words]
        return cls.of(words, matrix.astype(floating(datatype), copy=False), np.array(counts, np.int64))

    def save_word2vec_format(
        self,
        fname: str | Path,
        fvocab: str | Path | None = None,
        binary: bool = False,
        total_vec: int | None = None,
        write_header: bool = True,
        prefix: str = "",
        append: bool = False,
        sort_attr: str | None = "count",
    ) -> None:
        """Write word2vec's text or binary format, as float32, compressed if the suffix is .gz, .bz2, .xz or .zst.

        Parameters
        ----------
        fname : str or Path
            The file to write; an existing file is replaced.
        fvocab : str or Path, optional
            A file for the keys and their values of `sort_attr`.
        binary : bool, default False
            Write the binary format.
        total_vec : int, optional
            The number of vectors in the header, if more are appended later.
        write_header : bool, default True
            Write the line with the numbers of vectors and dimensions.
        prefix : str, default ""
            What to put before each key.
        append : bool, default False
            Append to the file, and to `fvocab`.
        sort_attr : str or None, default "count"
            Write the largest values of this attribute first, if it exists. If it is None, `fvocab` gets the counts.

        Raises
        ------
        ValueError
            If a value is not finite, a key could not be read back, or there are no values for `fvocab`.
        OutputError, WriteError
            If the file cannot be created or written.

        Examples
        --------
        >>> vectors.save_word2vec_format("vectors.txt")
        >>> Path("vectors.txt").read_text().splitlines()[:2]
        ['4 3', 'king 4.0 0.0 0.0']

        """
        attribute, order = sort_attr or "count", np.arange(self._filled())
        if attribute in self.expandos and (sort_attr or fvocab is not None):
            self.allocate_vecattrs([attribute])
        if sort_attr in self.expandos:
            order = _descending(self.expandos[sort_attr][order])
        keys = [f"{prefix}{self.index_to_key[row]}" for row in order.tolist()]
        if fvocab is not None and attribute not in self.expandos:
            raise InvalidValue(f"cannot write a vocabulary: the keys have no attribute {attribute!r}")
        header = f"{len(keys) if total_vec is None else total_vec} {self.vector_size}\n" if write_header else ""
        with builtin_errors():
            shape, dtype = (len(order), self.vector_size), self.vectors.dtype
            matrix = LazyRows(shape, lambda rows: self.vectors[order[rows]], dtype)
            write_word2vec(fname, keys, matrix, binary, header, append)
        if fvocab is not None:
            values = self.expandos[attribute][order].tolist()
            with appended(fvocab) if append else packed_write(fvocab, force=True) as file:
                is_marked = not append and "".join(keys[:1]).startswith("\ufeff")
                file.write(BOM_UTF8 * is_marked)  # readers drop one byte order mark
                file.writelines(f"{key} {value}\n".encode() for key, value in zip(keys, values, strict=True))

    def intersect_word2vec_format(
        self,
        fname: str | Path,
        lockf: float = 0.0,
        binary: bool = False,
        encoding: str = "utf8",
        unicode_errors: str = "strict",
    ) -> None:
        """Replace the vectors of keys by those that a file has for them; no key is added.

        Parameters
        ----------
        fname : str or Path
            The file to read.
        lockf : float, default 0.0
            The value in `vectors_lockf` of each key that was replaced. 0 excludes it from training in gensim.
        binary, encoding, unicode_errors
            As for `load_word2vec_format`, which also lists the errors.

        Examples
        --------
        >>> _ = Path("other.txt").write_text("2 3\\nking 7 7 7\\nprince 1 2 3\\n")
        >>> vectors.intersect_word2vec_format("other.txt")
        >>> vectors["king"], len(vectors)
        (array([7., 7., 7.], dtype=float32), 4)

        """
        with builtin_errors():
            words, matrix = read_word2vec(fname, binary, False, None, Coding(encoding, unicode_errors))
        if matrix.shape[1] != self.vector_size:
            raise InvalidValue(f"{fname} has vectors of {matrix.shape[1]} values, expected {self.vector_size}")
        sources = {self.key_to_index[word]: at for at, word in enumerate(words) if word in self.key_to_index}
        rows = list(sources)
        self._writable()[rows] = matrix[list(sources.values())]
        self.norms = None
        locks = np.asarray(getattr(self, "vectors_lockf", np.ones(1, np.float32)))
        self.vectors_lockf = np.full(len(self), locks[0] if len(locks) == 1 else 1, np.float32)
        self.vectors_lockf[: len(locks)] = locks[: len(self)]
        self.vectors_lockf[rows] = lockf


def _dtype(kind: Any) -> np.dtype[Any]:
    """Return the dtype of an attribute whose values are of type `kind`."""
    with suppress(TypeError):
        dtype: np.dtype[Any] = np.dtype(kind)
        if dtype.kind in "biuf":
            return dtype
    return np.dtype(object)


def _rows(values: NDArray[Any], count: int) -> NDArray[Any]:
    """Return an array of `count` rows that begins with those of `values`; the others are 0."""
    rows = np.zeros((count, *values.shape[1:]), values.dtype)
    rows[: len(values)] = values
    return rows


def _descending(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the order of falling values; equal ones keep their order."""
    order: NDArray[np.int64] = len(values) - 1 - np.argsort(values[::-1], kind="stable")[::-1]
    return order
