"""KeyedVectors: vectors by key, with the names, signatures and results of gensim's class of this name.

The class keeps keys, rows and attributes together. What needs only words and a matrix is elsewhere, and the command
line uses it, too: neighbors.py ranks rows, analogies.py and similarity.py evaluate, formats/ reads and writes files.
"""

import logging
import math
import typing  # not "from": tests tell this overload from Numba's by its name
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from w2vtrain.embeddings.analogies import COSMUL_EPSILON, GENSIM_CONSIDERS, Section, answer_sections, log_section
from w2vtrain.embeddings.datasets import read_plain_pairs, read_questions
from w2vtrain.embeddings.neighbors import (
    Answers,
    Index,
    Vector,
    build_index,
    centrality,
    close_words,
    cosine,
    largest,
    nearest_rows,
    row_cosines,
    row_norms,
    unit,
    weighted_sum,
)
from w2vtrain.embeddings.similarity import correlate_pairs
from w2vtrain.errors import (
    DataError,
    InputMissing,
    InvalidType,
    InvalidValue,
    MalformedFile,
    MissingFile,
    MissingKey,
    TruncatedFile,
    shown,
    spelled,
)
from w2vtrain.formats.model_file import save_keys
from w2vtrain.formats.subwords import Ngrams, NgramVectors
from w2vtrain.formats.transforms import LazyRows
from w2vtrain.formats.vector_formats.contract import Coding
from w2vtrain.formats.vectors import read_counts, read_keys, read_word2vec, write_word2vec
from w2vtrain.successors import with_successors
from w2vtrain.system.compression import packed_write

logger = logging.getLogger(__name__)
NEEDS_GENSIM = "this needs gensim, which has no release for Python 3.14 or later: pip install 'gensim>=4.4,<5'"
Key = str | int
"""A key or, if no key equals it, an index. Keys are normally strings."""
SINGLE = (str, int, np.integer)
Extras = Mapping[str, ArrayLike] | Iterable[tuple[str, ArrayLike]]
Term = Key | Vector | tuple[Key | Vector, float]
"""A key, an index or a vector, or a pair of one of these and its weight."""
Terms = Term | Iterable[Term] | None


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


@with_successors
class KeyedVectors:
    """Vectors by key, such as words: lookups, similarity queries, evaluation and files.

    Names, signatures, results and the built-in classes of errors are those of gensim's ``KeyedVectors``.

    Parameters
    ----------
    vector_size : int
        The number of dimensions, d.
    count : int, default 0
        The number of rows to allocate. `add_vector` fills them before it adds rows.
    dtype : dtype, default float32
        The type of the values.
    mapfile_path : None
        Has no effect in gensim, and is refused here.

    Attributes
    ----------
    vectors : ndarray, shape (V, d)
        One row per key. Call ``fill_norms(force=True)`` after changing it in place.
    norms : ndarray, shape (V,), or None
        The lengths of the rows, if they are known; see `fill_norms`.
    index_to_key : list of str
        The key of each row.
    key_to_index : dict of str to int
        The row of each key.
    vector_size : int
        The number of dimensions, d.
    expandos : dict of str to ndarray
        Attributes of keys, such as "count"; see `set_vecattr`.
    ngrams : NgramVectors or None
        The vectors of n-grams. With these, ``vectors["unseen"]`` and all queries compose the vectors of words that are
        not among the keys, and ``in`` still says whether a word is a key. A word without a known n-gram is a KeyError.

    Notes
    -----
    In all methods, a key is a str or, if no key equals it, the index of a row; a vector has the shape (d,). An unknown
    key is a KeyError that names similar keys, and a vector of the wrong size is a ValueError. `topn` is the number of
    answers, and None returns the scores of all rows as an array; `restrict_vocab` is the number of rows to search, from
    the first. Cosines of zero vectors are NaN unless a method says otherwise.

    Examples
    --------
    The examples of all methods begin with these vectors.

    >>> import numpy as np
    >>> import w2vtrain
    >>> rows = np.array([[4, 0, 0], [0, 3, 0], [0, 2, 1], [4, 2, 1]], np.float32)
    >>> vectors = w2vtrain.KeyedVectors.of(["king", "man", "woman", "queen"], rows, counts=[40, 30, 20, 10])
    >>> vectors
    KeyedVectors<vector_size=3, 4 keys>

    """

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
        self.vectors: Vector = np.zeros((count, vector_size), dtype)
        self.norms: Vector | None = None
        self.mapfile_path = mapfile_path
        self.ngrams: NgramVectors | None = None

    @classmethod
    def of(
        cls, words: Sequence[Any], matrix: NDArray[Any], counts: ArrayLike | None = None,
        ngrams: NgramVectors | None = None,
    ) -> Self:  # fmt: skip
        """Return an object over a matrix, which is neither copied nor checked for NaN.

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
            If the lengths do not match, or a key occurs twice.

        Examples
        --------
        >>> padded = np.ones((2, 16), np.float32)
        >>> vectors = w2vtrain.KeyedVectors.of(["red", "green"], padded[:, :10])
        >>> np.shares_memory(vectors.vectors, padded)
        True

        """
        if matrix.ndim != 2 or len(matrix) != len(words):
            raise InvalidValue(f"a matrix of shape {list(matrix.shape)} for {len(words):,} keys: pass one row per key")
        made = cls(matrix.shape[1], dtype=matrix.dtype)
        made.vectors, made.index_to_key = matrix, list(words)
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

    def _index(self, key: Any) -> int:
        """Return the row of a key, or -1 if it is neither a key nor an index."""
        index = self.key_to_index.get(key, -1)
        if index < 0 and isinstance(key, int | np.integer) and 0 <= key < len(self.index_to_key):
            return int(key)
        return index

    def _unknown(self, key: Any) -> MissingKey:
        def similar() -> str:
            close = ", ".join(map(repr, close_words(self.index_to_key, key))) if isinstance(key, str) else ""
            return f"; similar words: {close}" if close else ""

        without = ", and none of its n-grams is known" if self.ngrams is not None and isinstance(key, str) else ""
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
        self.allocate_vecattrs([attr], [type(val)])
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

    def _composed(self, key: Any) -> Vector | None:
        """Return the vector (d,) that n-grams give to an unknown key, or None."""
        vector = self.ngrams.vector(key) if self.ngrams is not None and isinstance(key, str) else None
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
        terms, weight = [], factors.dtype.type(0)
        for key, factor in zip(keys, factors, strict=True):
            vector = self._checked(key) if isinstance(key, np.ndarray) else self._find(key, pre_normalize)
            if vector is not None:
                terms.append((factor, vector))
                weight += abs(factor)
            elif not ignore_missing:
                raise self._unknown(key)
        total = weighted_sum(terms, self.vector_size, self.vectors.dtype)
        mean = total / weight if weight > 0 else total
        return (unit(mean) if post_normalize else mean).astype(self.vectors.dtype, copy=False)

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
        if force or self.norms is None or len(self.norms) != len(self.vectors):
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
        TypeError
            If an attribute exists with a type that cannot hold the values. Nothing is added then.

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
        if not names:
            rows = rows.reshape(0, self.vector_size)
        if rows.shape != (len(names), self.vector_size):
            raise InvalidValue(
                f"vectors of shape {list(rows.shape)} for {len(names)} keys, expected {[len(names), self.vector_size]}"
            )
        attributes = {name: np.asarray(values) for name, values in dict(extras or {}).items()}
        if any(len(values) != len(names) for values in attributes.values()):
            raise InvalidValue(f"extras need one value for each of the {len(names)} keys")
        # This raises an error before a row is added.
        self.allocate_vecattrs(attributes, [values.dtype for values in attributes.values()])
        source = {name: at for at, name in enumerate(names) if replace or name not in self.key_to_index}
        old = {self.key_to_index[name]: at for name, at in source.items() if name in self.key_to_index}
        if old:
            self._writable()[list(old)] = rows[list(old.values())]
        places = old | self._add_rows({name: at for name, at in source.items() if name not in self.key_to_index}, rows)
        self.norms = None
        self.allocate_vecattrs()
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
        order = _descending(self.expandos["count"])
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
            Also compose vectors of unknown keys, if there are n-grams.
        copy_vecattrs : bool, default False
            Copy the attributes. By default, the only one is "count", which decreases from the number of keys to 1.

        Examples
        --------
        >>> vectors.vectors_for_all(["woman", "xyzzy", "king"]).index_to_key
        ['woman', 'king']

        """
        listed: list[Any] = list(dict.fromkeys(keys))
        known = [k for k in listed if k in self.key_to_index or (allow_inference and self._composed(k) is not None)]
        made = type(self)(self.vector_size, dtype=self.vectors.dtype)
        made.ngrams = self.ngrams
        rows = np.array([self.key_to_index.get(key, -1) for key in known], np.int64)
        copied = self.expandos if copy_vecattrs else {}
        extras = {name: np.where(rows >= 0, values[rows], 0) for name, values in copied.items()}
        made.add_vectors(known, self[known], extras or {"count": np.arange(len(known), 0, -1)})
        return made

    # The nearest keys. All queries compute cosines with one matrix product and the norms, without a copy.

    @typing.overload
    def most_similar(
        self, positive: Terms = None, negative: Terms = None, topn: int = 10, clip_start: int = 0,
        clip_end: int | None = None, restrict_vocab: int | None = None, indexer: Any = None,
    ) -> Answers: ...  # fmt: skip
    @typing.overload
    def most_similar(
        self, positive: Terms = None, negative: Terms = None, *, topn: None, clip_start: int = 0,
        clip_end: int | None = None, restrict_vocab: int | None = None, indexer: Any = None,
    ) -> Vector: ...  # fmt: skip
    def most_similar(
        self, positive: Terms = None, negative: Terms = None, topn: int | None = 10, clip_start: int = 0,
        clip_end: int | None = None, restrict_vocab: int | None = None, indexer: Any = None,
    ) -> Answers | Vector:  # fmt: skip
        """Return the keys nearest to the mean of unit vectors, by cosine.

        Parameters
        ----------
        positive, negative : key, index, vector, pair of one of these and a weight, or sequence of these
            What to add and what to subtract. The weights are 1 and -1 by default; vectors are not normalized.
        topn : int or None, default 10
            The number of keys. None returns the cosines of all keys.
        clip_start, clip_end : int, optional
            Search only the rows from `clip_start` up to but not including `clip_end`.
        restrict_vocab : int, optional
            Search only the first rows, instead of `clip_start` and `clip_end`.
        indexer : object, optional
            An approximate index, such as `build_index` returns: its method ``most_similar(vector, n)`` returns keys and
            cosines.

        Returns
        -------
        list of (str, float), or ndarray if `topn` is None
            Keys and cosines, nearest first, without the keys of the query. The cosine of a zero vector is NaN.

        Raises
        ------
        KeyError
            If a key is unknown.
        ValueError
            If the query is empty, or a vector has the wrong size.

        Examples
        --------
        >>> [(key, round(cosine, 3)) for key, cosine in vectors.most_similar("king", topn=2)]
        [('queen', 0.873), ('man', 0.0)]
        >>> vectors.most_similar(positive=["king", "woman"], negative=["man"], topn=1)[0][0]
        'queen'

        """
        if _none_requested(topn):
            return []
        mean, rows = self._direction(positive, negative)
        if indexer is not None and topn is not None:
            near = indexer.most_similar(mean, topn + len(rows))
            return [(key, cosine) for key, cosine in near if self.get_index(key) not in rows][:topn]
        start, end, _ = slice(*((0, restrict_vocab) if restrict_vocab else (clip_start, clip_end))).indices(len(self))
        scores = row_cosines(self.vectors[start:end], self._norms()[start:end], mean)
        return scores if topn is None else self._best(scores, rows, topn, start)

    def _direction(self, positive: Terms, negative: Terms) -> tuple[Vector, set[int]]:
        """Return the mean of the terms, scaled to length 1, and the rows of the keys among them."""
        terms = [_weighted(term, 1.0) for term in _listed(positive)]
        terms += [_weighted(term, -1.0) for term in _listed(negative)]
        keys = [key for key, _ in terms]
        weights = np.array([weight for _, weight in terms])
        mean = self.get_mean_vector(keys, weights, pre_normalize=True, post_normalize=True, ignore_missing=False)
        return mean, self._rows(keys)

    def _rows(self, terms: Iterable[Any]) -> set[int]:
        """Return the rows of the keys in a query, which may also have vectors, and unknown keys with composed ones."""
        return {self._index(term) for term in terms if not isinstance(term, np.ndarray)} - {-1}

    def _best(self, scores: Vector, excluded: set[int], topn: int, start: int = 0) -> Answers:
        """Return the keys of the largest scores of the rows from `start`, except for the rows `excluded`."""
        best = largest(scores, topn + len(excluded))
        return self._answers(best + start, scores[best], excluded, topn)

    def _answers(self, best: NDArray[np.int64], scores: Vector, excluded: set[int], topn: int) -> Answers:
        """Return the first `topn` keys of the rows `best`, except for those in `excluded`, and their scores."""
        ranked = zip(best.tolist(), scores.tolist(), strict=True)
        return [(self.index_to_key[row], score) for row, score in ranked if row not in excluded][:topn]

    def most_similar_batch(
        self, keys: Sequence[Key] | ArrayLike, topn: int = 10, restrict_vocab: int | None = None
    ) -> list[Answers]:
        """Answer many queries at once, which is much faster than `most_similar` for each.

        Parameters
        ----------
        keys : sequence of str or int, or array_like of shape (n, d)
            Keys, or vectors.
        topn, restrict_vocab : int
            The number of answers per query, and of the rows to search.

        Returns
        -------
        list of list of (str, float)
            For each query, what `most_similar` returns, up to rounding, without zero vectors.

        Examples
        --------
        >>> [answers[0][0] for answers in vectors.most_similar_batch(["king", "woman"], topn=1)]
        ['queen', 'man']

        """
        queries, own = self._batch(keys)
        if _none_requested(topn):
            return [[] for _ in queries]
        rows = slice(restrict_vocab or None)
        nearest = nearest_rows(self.vectors[rows], self._norms()[rows], queries, topn + bool(own))
        excluded: Iterable[set[int]] = ({row} for row in own) if own else (set() for _ in queries)
        return [self._answers(*best, skip, topn) for best, skip in zip(nearest, excluded, strict=True)]

    def _batch(self, keys: Sequence[Key] | ArrayLike) -> tuple[NDArray[np.float32], list[int]]:
        """Return the unit vectors of queries (n, d), and their rows if they are keys."""
        single = isinstance(keys, SINGLE)
        if single or (isinstance(keys, Sequence) and all(isinstance(key, SINGLE) for key in keys)):
            names: Sequence[Any] = [keys] if single else keys  # type: ignore[assignment]
            own = [self._index(key) for key in names]
            rows: Vector = self[names]
        else:
            rows, own = np.asarray(keys, np.float32), []
            if rows.ndim != 2 or rows.shape[1] != self.vector_size:
                raise InvalidValue(f"queries of shape {list(rows.shape)}, expected keys or {['n', self.vector_size]}")
        with np.errstate(all="ignore"):
            units = np.divide(rows, row_norms(rows)[:, None], dtype=np.float32)
        return units, own

    @typing.overload
    def similar_by_key(self, key: Key, topn: int = 10, restrict_vocab: int | None = None) -> Answers: ...
    @typing.overload
    def similar_by_key(self, key: Key, topn: None, restrict_vocab: int | None = None) -> Vector: ...
    def similar_by_key(self, key: Key, topn: int | None = 10, restrict_vocab: int | None = None) -> Answers | Vector:
        """Return the keys nearest to a key, as `most_similar` does.

        Examples
        --------
        >>> vectors.similar_by_key("man", topn=1)[0][0]
        'woman'

        """
        return self.most_similar(positive=[key], topn=topn, restrict_vocab=restrict_vocab)

    @typing.overload
    def similar_by_word(self, word: Key, topn: int = 10, restrict_vocab: int | None = None) -> Answers: ...
    @typing.overload
    def similar_by_word(self, word: Key, topn: None, restrict_vocab: int | None = None) -> Vector: ...
    def similar_by_word(self, word: Key, topn: int | None = 10, restrict_vocab: int | None = None) -> Answers | Vector:
        """Do what `similar_by_key` does.

        Examples
        --------
        >>> vectors.similar_by_word("king", topn=1)[0][0]
        'queen'

        """
        return self.similar_by_key(word, topn, restrict_vocab)

    @typing.overload
    def similar_by_vector(self, vector: ArrayLike, topn: int = 10, restrict_vocab: int | None = None) -> Answers: ...
    @typing.overload
    def similar_by_vector(self, vector: ArrayLike, topn: None, restrict_vocab: int | None = None) -> Vector: ...
    def similar_by_vector(
        self, vector: ArrayLike, topn: int | None = 10, restrict_vocab: int | None = None
    ) -> Answers | Vector:
        """Return the keys nearest to a vector, as `most_similar` does.

        Examples
        --------
        >>> vectors.similar_by_vector([0, 9, 0], topn=1)
        [('man', 1.0)]

        """
        return self.most_similar(positive=[np.asarray(vector)], topn=topn, restrict_vocab=restrict_vocab)

    @typing.overload
    def most_similar_cosmul(
        self, positive: Terms = None, negative: Terms = None, topn: int = 10, restrict_vocab: int | None = None
    ) -> Answers: ...
    @typing.overload
    def most_similar_cosmul(
        self, positive: Terms = None, negative: Terms = None, *, topn: None, restrict_vocab: int | None = None
    ) -> Vector: ...
    def most_similar_cosmul(
        self, positive: Terms = None, negative: Terms = None, topn: int | None = 10, restrict_vocab: int | None = None
    ) -> Answers | Vector:
        """Return the keys with the largest product of similarities (3CosMul, Levy and Goldberg 2014).

        With cosines shifted to (1 + cosine) / 2, the score is the product of those with `positive`, divided by the
        product of those with `negative`.

        Parameters
        ----------
        positive, negative : key, index, vector, or sequence of these
            Vectors are not normalized. At least one must be positive, or it is a ValueError.
        topn : int or None, default 10
            The number of keys. None returns the scores of all keys.
        restrict_vocab : int, optional
            Search only the first rows.

        Returns
        -------
        list of (str, float), or ndarray if `topn` is None
            Keys and scores, best first, without the keys of the query.

        Examples
        --------
        >>> vectors.most_similar_cosmul(["king", "woman"], ["man"], topn=1)[0][0]
        'queen'

        """
        if _none_requested(topn):
            return []
        keys = _listed(positive)
        if not keys:
            raise InvalidValue("cannot compute a similarity with nothing: pass at least one positive key")
        matrix, norms = self.vectors[: restrict_vocab or None], self._norms()[: restrict_vocab or None]

        def product(terms: list[Any]) -> Any:
            units = [self._checked(t) if isinstance(t, np.ndarray) else self.get_vector(t, norm=True) for t in terms]
            return np.prod([(1 + row_cosines(matrix, norms, vector)) / 2 for vector in units], axis=0)

        others = _listed(negative)
        scores: Vector = product(keys) / (product(others) + COSMUL_EPSILON)
        return scores if topn is None else self._best(scores, self._rows([*keys, *others]), topn)

    def build_index(self, **options: Any) -> Index:
        """Return an approximate index for ``most_similar(..., indexer=index)``.

        This needs the package usearch, or it is an ImportError: ``pip install 'w2vtrain[index]'``. Zero vectors are
        left out.

        Parameters
        ----------
        **options
            Options of ``usearch.index.Index``, such as ``connectivity`` and ``expansion_search``.

        """
        return build_index(self.index_to_key, self.vectors, self._norms(), options)

    def recall(self, index: Any, n: int = 1000, topn: int = 10, seed: int = 0) -> float:
        """Return the fraction of the exact nearest keys that an index finds.

        Parameters
        ----------
        index : Index
            What `build_index` returned, or another object with the method ``most_similar(vector, n)``.
        n : int, default 1000
            The number of keys to query, drawn at random; if there are fewer, all.
        topn : int, default 10
            The number of nearest keys per query.
        seed : int, default 0
            The seed of the draw.

        Raises
        ------
        ValueError
            If `n` or `topn` is below 1, or no vector but one is nonzero.

        """
        rows = np.flatnonzero(self._norms() > 0)
        drawn = np.random.default_rng(seed).permutation(rows)[: max(0, n)].tolist()
        keys = [self.index_to_key[row] for row in drawn]
        exact = self.most_similar_batch(keys, topn)
        total = sum(map(len, exact))
        if not total:
            raise InvalidValue(f"no neighbors to find: n is {n}, topn is {topn}, and {len(rows)} vectors are nonzero")
        near = [self.most_similar(key, topn=topn, indexer=index) for key in keys]
        return sum(len(dict(a).keys() & dict(b).keys()) for a, b in zip(exact, near, strict=True)) / total

    # Comparisons of given keys.

    @staticmethod
    def cosine_similarities(vector_1: ArrayLike, vectors_all: ArrayLike) -> Vector:
        """Return the cosines (n,) of a vector (d,) with several others (n, d).

        Examples
        --------
        >>> w2vtrain.KeyedVectors.cosine_similarities([1, 0], [[3, 0], [0, 2]])
        array([1., 0.])

        """
        one, others = np.asarray(vector_1), np.asarray(vectors_all)
        with np.errstate(all="ignore"):
            similar: Vector = others @ one / (np.linalg.norm(one) * np.linalg.norm(others, axis=1))
        return similar

    def similarity(self, w1: Key, w2: Key) -> np.float32:
        """Return the cosine of two keys; 0 for a zero vector.

        Examples
        --------
        >>> round(float(vectors.similarity("king", "queen")), 3)
        0.873

        """
        return np.float32(cosine(self[w1], self[w2]))

    def distance(self, w1: Key, w2: Key) -> np.float32:
        """Return 1 minus the cosine of two keys, as `similarity` computes it.

        Examples
        --------
        >>> vectors.distance("king", "king")
        np.float32(0.0)

        """
        return np.float32(1 - self.similarity(w1, w2))

    def distances(self, word_or_vector: Key | Vector, other_words: Iterable[Key] | None = ()) -> Vector:
        """Return 1 minus the cosines of a key or vector with other keys or, by default, all keys.

        Examples
        --------
        >>> vectors.distances("king", ["man", "king"])
        array([1., 0.], dtype=float32)

        """
        vector = self[word_or_vector] if isinstance(word_or_vector, SINGLE) else self._checked(word_or_vector)
        others = list(other_words or ())
        rows = self[others] if others else self.vectors
        norms = row_norms(rows) if others else self._norms()
        with np.errstate(all="ignore"):
            if not 1e-15 < np.linalg.norm(vector) < 1e15:  # squares or products might be 0 or infinite in float32
                vector = unit(vector).astype(np.float32)
            apart: Vector = 1 - rows @ vector / (np.linalg.norm(vector) * norms)
        return apart

    def closer_than(self, key1: Key, key2: Key) -> list[str]:
        """Return all keys that are closer to `key1` than `key2` is, in the order of their rows.

        Examples
        --------
        >>> vectors.closer_than("king", "woman")
        ['queen']

        """
        distances, own, other = self.distances(key1), self._index(key1), self._index(key2)
        limit = distances[other] if other >= 0 else self.distances(key1, [key2])[0]
        closer = np.flatnonzero(distances < limit).tolist()
        return [self.index_to_key[row] for row in closer if row != own]

    def words_closer_than(self, word1: Key, word2: Key) -> list[str]:
        """Do what `closer_than` does; deprecated, as in gensim."""
        warnings.warn("words_closer_than is deprecated: use closer_than", DeprecationWarning, stacklevel=2)
        return self.closer_than(word1, word2)

    def rank(self, key1: Key, key2: Key) -> int:
        """Return the rank of `key2` among all keys by distance from `key1`, from 1.

        Examples
        --------
        >>> vectors.rank("king", "queen")
        1

        """
        return len(self.closer_than(key1, key2)) + 1

    def most_similar_to_given(self, key1: Key, keys_list: Sequence[Key]) -> Key:
        """Return the key of a list that is most similar to `key1`; an empty list is a ValueError.

        Examples
        --------
        >>> vectors.most_similar_to_given("king", ["man", "queen"])
        'queen'

        """
        if not len(keys_list):
            raise InvalidValue("cannot choose a key from an empty list")
        return keys_list[int(np.argmax([self.similarity(key1, key) for key in keys_list]))]

    def n_similarity(self, ws1: Sequence[Key], ws2: Sequence[Key]) -> np.float32:
        """Return the cosine of the means of two lists of keys; unknown keys are left out.

        It is 0 if all keys of a list are unknown. An empty list is a ZeroDivisionError.

        Examples
        --------
        >>> round(float(vectors.n_similarity(["king", "woman"], ["man", "queen"])), 3)
        0.909

        """
        if not (len(ws1) and len(ws2)):
            raise ZeroDivisionError("cannot compare an empty list of keys: each list needs at least one key")
        return np.float32(cosine(*(self.get_mean_vector(keys, pre_normalize=False) for keys in (ws1, ws2))))

    def relative_cosine_similarity(self, wa: Key, wb: Key, topn: int = 10) -> float:
        """Return the cosine of two keys, divided by the sum of cosines of the `topn` keys nearest to `wa`.

        With `topn` 10, a value above 0.1 suggests synonyms (Leeuwenberg et al. 2016). It is NaN if those cosines add up
        to zero.

        Examples
        --------
        >>> round(vectors.relative_cosine_similarity("king", "queen", topn=1), 6)
        1.0

        """
        total = math.fsum(cosine for _, cosine in self.similar_by_key(wa, topn))
        return float(self.similarity(wa, wb)) / total if total else math.nan

    def rank_by_centrality(self, words: Iterable[Key], use_norm: bool = True) -> list[tuple[np.float32, str]]:
        """Rank keys by their similarity to the mean of all of them; unknown keys are left out.

        Parameters
        ----------
        words : iterable of str or int
            Keys.
        use_norm : bool, default True
            Divide each vector by its length before taking the mean.

        Returns
        -------
        list of (float32, str)
            Dot products with the mean, scaled to length 1, and keys: the most central first.

        Raises
        ------
        ValueError
            If all keys are unknown.

        Examples
        --------
        >>> [key for _, key in vectors.rank_by_centrality(["king", "queen", "man"])]
        ['queen', 'king', 'man']

        """
        rows: list[Any] = [(word, row) for word in words if (row := self._find(word, use_norm)) is not None]
        if not rows:
            raise InvalidValue("none of the keys is in the vocabulary: pass at least one known key")
        products = centrality(np.array([row for _, row in rows]))
        return sorted(zip(products, (word for word, _ in rows), strict=True), reverse=True)

    def doesnt_match(self, words: Iterable[Key]) -> str:
        """Return the key that is least similar to the mean of all, as `rank_by_centrality` ranks them.

        Examples
        --------
        >>> vectors.doesnt_match(["king", "queen", "man"])
        'man'

        """
        return self.rank_by_centrality(words)[-1][1]

    def wmdistance(self, document1: Iterable[str], document2: Iterable[str], norm: bool = True) -> float:
        """Return the Word Mover's Distance of two documents (Kusner et al. 2015).

        This needs the package POT, or it is an ImportError: ``pip install 'w2vtrain[wmd]'``.

        Parameters
        ----------
        document1, document2 : iterable of str
            The words of each document; unknown words are left out.
        norm : bool, default True
            Divide each vector by its length before computing Euclidean distances.

        Returns
        -------
        float
            Infinity if a document has no known word; NaN if a zero vector has to be divided by its length.

        """
        try:
            import ot
        except ImportError as error:
            raise ImportError("wmdistance needs the package POT: pip install 'w2vtrain[wmd]'") from error
        documents = [list(document1), list(document2)]
        row_of = {word: self._find(word, norm) for word in set().union(*documents)}
        documents = [[word for word in document if row_of[word] is not None] for document in documents]
        words = sorted(set().union(*documents), key=str)
        if not all(documents):
            return math.inf
        if len(words) == 1:
            return 0.0
        from scipy.spatial.distance import cdist

        rows = np.array([row_of[word] for word in words], np.float64)
        costs = cdist(rows, rows)
        if not np.isfinite(costs).all():  # POT would warn, and return any number
            return math.nan
        weights = [np.array([document.count(word) / len(document) for word in words]) for document in documents]
        return float(ot.emd2(*weights, costs))

    def similarity_unseen_docs(self, *args: object, **kwargs: object) -> None:
        """Refuse, as gensim does: only a Doc2Vec model can infer the vectors of documents."""
        raise NotImplementedError("similarity_unseen_docs needs a Doc2Vec model, which w2vtrain does not have")

    # Scores on evaluation sets.

    @builtin_errors()
    def evaluate_word_analogies(
        self,
        analogies: str | Path,
        restrict_vocab: int | None = 300_000,
        case_insensitive: bool = True,
        dummy4unknown: bool = False,
        similarity_function: str = "most_similar",
    ) -> tuple[float, list[Section]]:
        """Answer a file of analogy questions.

        Parameters
        ----------
        analogies : str or Path
            Lines of four words, in sections that begin with a line ": NAME". Other lines are skipped.
        restrict_vocab : int, optional
            Use only the first keys, for questions and answers.
        case_insensitive : bool, default True
            Ignore case; of keys that differ only in case, the first counts.
        dummy4unknown : bool, default False
            Count questions with unknown words as incorrect, instead of skipping them.
        similarity_function : str, default "most_similar"
            The name of the method that answers, such as "most_similar_cosmul".

        Returns
        -------
        score : float
            The fraction of correct answers.
        sections : list of dict
            {"section": name, "correct": questions, "incorrect": questions} for each section; the last is the total.

        Raises
        ------
        FileNotFoundError
            If the file cannot be opened.
        ValueError
            If a question precedes the first section, or a line is not UTF-8.

        Examples
        --------
        >>> _ = Path("questions.txt").write_text(": family\\nman king woman queen\\n")
        >>> score, sections = vectors.evaluate_word_analogies("questions.txt")
        >>> score, sections[0]["correct"]
        (1.0, [('MAN', 'KING', 'WOMAN', 'QUEEN')])

        """

        def answer(questions: NDArray[np.int64], same: NDArray[np.int64]) -> NDArray[np.int64]:
            options = {"topn": GENSIM_CONSIDERS, "restrict_vocab": restrict_vocab}
            similar, answers = getattr(self, similarity_function), np.full(len(questions), -1)
            for at, (a, b, c) in enumerate(questions.tolist()):
                positive, negative = [self.index_to_key[b], self.index_to_key[c]], [self.index_to_key[a]]
                near = similar(positive=positive, negative=negative, **options)
                rows = [row for key, _ in near if (row := self.key_to_index[key]) < len(same)]
                answers[at] = next((row for row in rows if same[row] not in (a, b, c)), -1)
            return answers

        words = [str(word) for word in self.index_to_key[:restrict_vocab]]
        sections = answer_sections(
            words, self.vectors[: len(words)], read_questions(analogies, strict=False), case_insensitive,
            dummy4unknown, None if similarity_function == "most_similar" else answer,
        )  # fmt: skip
        return log_section(sections[-1]) or 0.0, sections

    @builtin_errors()
    def evaluate_word_pairs(
        self,
        pairs: str | Path,
        delimiter: str = "\t",
        encoding: str = "utf8",
        restrict_vocab: int | None = 300_000,
        case_insensitive: bool = True,
        dummy4unknown: bool = False,
    ) -> tuple[Any, Any, float]:
        """Correlate cosines with the human ratings of word pairs.

        Parameters
        ----------
        pairs : str or Path
            Lines of two words and a number. Other lines, and those that begin with "#", are skipped.
        delimiter : str, default tab
            What separates the fields of a line.
        encoding : str, default "utf8"
            The encoding of the file.
        restrict_vocab, case_insensitive
            As for `evaluate_word_analogies`.
        dummy4unknown : bool, default False
            Give pairs with unknown words the similarity 0, instead of skipping them.

        Returns
        -------
        pearson, spearman : (float, float)
            Correlation and two-sided p-value, from SciPy.
        oov_ratio : float
            The percentage of pairs with unknown words.

        Raises
        ------
        FileNotFoundError
            If the file cannot be opened.
        ValueError
            If there are no pairs to compare, or a line is not in the encoding.

        Examples
        --------
        >>> _ = Path("pairs.tsv").write_text("king\\tqueen\\t8\\nking\\tman\\t2\\nman\\twoman\\t7\\n")
        >>> pearson, spearman, unknown = vectors.evaluate_word_pairs("pairs.tsv")
        >>> round(float(spearman[0]), 6), unknown
        (0.5, 0.0)

        """
        words = [str(word) for word in self.index_to_key[:restrict_vocab]]
        rated = read_plain_pairs(pairs, delimiter, encoding)
        results = correlate_pairs(words, self.vectors, rated, case_insensitive, dummy4unknown)
        if results is None:
            raise MalformedFile(f"{pairs}: no pair can be compared: the format is wrong, or all words are unknown")
        self.log_evaluate_word_pairs(*results, pairs)
        return results

    @staticmethod
    def log_accuracy(section: Section) -> None:
        """Log the accuracy of a section of `evaluate_word_analogies` at level INFO."""
        log_section(section)

    @staticmethod
    def log_evaluate_word_pairs(pearson: Any, spearman: Any, oov: float, pairs: object) -> None:
        """Log the results of `evaluate_word_pairs` at level INFO."""
        results = (pairs, pearson[0], spearman[0], oov)
        logger.info("%s: Pearson correlation %.4f, Spearman correlation %.4f, unknown pairs %.1f%%", *results)

    # Files.

    def _filled(self) -> int:
        """Return the number of rows without the free ones at the end."""
        end = len(self)
        while end and self.index_to_key[end - 1] is None:
            end -= 1
        return end

    def nearest_ngrams(self, word: Key | Vector, topn: int | None = 10) -> Answers:
        """Return the n-grams of keys nearest to a word or vector, by cosine; ValueError if there are no n-grams.

        N-grams that share a bucket share a vector: of these, the first of the most frequent key is named. Zero vectors
        are left out. With `topn` None, all n-grams are answers. `get_ngram_vectors` has those of one word.

        Examples
        --------
        >>> model = w2vtrain.FastText([["red", "green"], ["cat", "dog"]] * 50, vector_size=8, min_count=1, workers=1)
        >>> len(model.wv.nearest_ngrams("green", topn=3))
        3

        """
        if _none_requested(topn):
            return []
        sizes, matrix = self._ngrams().ngrams, np.asarray(self._ngrams().matrix)
        starts, buckets = sizes.buckets([str(key) for key in self.index_to_key])
        used, first = np.unique(buckets, return_index=True)
        rows = self._ngrams().rows_of(used)
        first, near = first[rows >= 0], matrix[rows[rows >= 0]]
        vector = self[word] if isinstance(word, SINGLE) else self._checked(word)
        scores = row_cosines(near, row_norms(near), unit(vector).astype(near.dtype))
        answers = []
        for best in largest(scores, len(scores) if topn is None else topn).tolist():
            key = int(np.searchsorted(starts, first[best], "right")) - 1
            answers.append((sizes.texts(str(self.index_to_key[key]))[first[best] - starts[key]], float(scores[best])))
        return [answer for answer in answers if not math.isnan(answer[1])][:topn]

    def _ngrams(self) -> NgramVectors:
        if self.ngrams is None:
            raise InvalidValue(f"there are no n-grams: train with {spelled('subwords', True)}")
        return self.ngrams

    def get_ngram_vectors(self, word: Key) -> tuple[list[str], Vector]:
        """Return the n-grams of a word and their vectors, as fastText's ``print-ngrams``.

        Parameters
        ----------
        word : str or int
            A key, an index, or a word whose vector is composed.

        Returns
        -------
        texts : list of str
            The word itself, if it is a key, then its n-grams, of which some may be equal.
        rows : ndarray, shape (n, d)
            The row of each, zeros for n-grams that are not known. Their mean is the vector of the word.

        Raises
        ------
        KeyError
            If the word has no vector.
        ValueError
            If there are no n-grams at all.

        Examples
        --------
        >>> model = w2vtrain.FastText([["red", "green"], ["cat", "dog"]] * 50, vector_size=8, min_count=1, workers=1)
        >>> texts, rows = model.wv.get_ngram_vectors("red")
        >>> texts
        ['red', '<re', '<red', '<red>', 'red', 'red>', 'ed>']
        >>> np.allclose(rows.mean(axis=0), model.wv["red"], atol=1e-6)
        True

        """
        ngrams, vector, index = self._ngrams(), self.get_vector(word), self._index(word)
        text = str(word if index < 0 else self.index_to_key[index])
        row_numbers = ngrams.rows_of(ngrams.ngrams.buckets([text])[1])
        rows = np.zeros((len(row_numbers), self.vector_size), self.vectors.dtype)
        rows[row_numbers >= 0] = ngrams.matrix[row_numbers[row_numbers >= 0]]
        texts = ngrams.ngrams.texts(text)[: len(row_numbers)]
        if index < 0:
            return texts, rows
        own = vector * np.float64(len(rows) + 1) - rows.sum(axis=0, dtype=np.float64)
        return [text, *texts], np.concatenate([own[None].astype(rows.dtype), rows])

    def get_sentence_vector(self, sentence: str | Iterable[Key]) -> Vector:
        """Return the mean of the unit vectors of the words of a sentence, as fastText and gensim do.

        Parameters
        ----------
        sentence : str or iterable of str
            Words, or text that is split at white space. Words without a vector and zero vectors are left out.

        Raises
        ------
        KeyError
            If no word is left. fastText and gensim return zeros.
        ValueError
            If there are no words.

        Examples
        --------
        >>> vectors.get_sentence_vector("king man").tolist()
        [0.5, 0.5, 0.0]

        """
        words = sentence.split() if isinstance(sentence, str) else list(sentence)
        rows = [self._find(word, norm=True) for word in words]
        units = [row for row in rows if row is not None and not np.isnan(row).any()]  # NaN: a zero vector
        if words and not units:
            raise MissingKey(f"no word of the sentence has a vector: {shown(' '.join(map(str, words)))}")
        return self.get_mean_vector(units)

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
            If an attribute has a value that JSON cannot represent, or `fname_or_handle` is no path.
        OutputError, WriteError
            If the file cannot be created or written.

        Examples
        --------
        >>> vectors.save("vectors.safetensors")
        >>> w2vtrain.KeyedVectors.load("vectors.safetensors", mmap="r")
        KeyedVectors<vector_size=3, 4 keys>

        """
        rows = self._filled()
        attributes = {name: values[:rows] for name, values in self.expandos.items()}
        keys = self.index_to_key[:rows]
        save_keys(Path(fname_or_handle), keys, self.vectors[:rows], attributes, self.ngrams)

    @classmethod
    def load(cls, fname: str | Path, mmap: str | None = None) -> Self:
        """Read a file that `save` wrote, a model, or vectors in any format of `read_vectors`; never a pickle.

        Parameters
        ----------
        fname : str or Path
            The file to read.
        mmap : {None, "r", "r+", "c"}
            Map the vectors into memory instead of reading them: read-only, writing changes to the file, or with
            private changes. This needs a file that `save` wrote.

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
            Read only the first rows.
        datatype : dtype, default float32
            The type of the values.
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
        return cls.of(words, matrix.astype(datatype, copy=False), np.array(counts, np.int64))

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
        """Write word2vec's text or binary format, as float32, compressed if the suffix is .gz, .bz2 or .xz.

        Parameters
        ----------
        fname : str or Path
            The file to write; an existing file is replaced.
        fvocab : str or Path, optional
            A file for the words and their counts.
        binary : bool, default False
            Write the binary format.
        total_vec : int, optional
            The number of vectors in the header, if more are appended later.
        write_header : bool, default True
            Write the line with the numbers of vectors and dimensions.
        prefix : str, default ""
            What to put before each key.
        append : bool, default False
            Append to the file.
        sort_attr : str or None, default "count"
            Write the largest values of this attribute first, if it exists.

        Raises
        ------
        ValueError
            If a value is not finite, a key could not be read back, or there are no counts for `fvocab`.
        OutputError, WriteError
            If the file cannot be created or written.

        Examples
        --------
        >>> vectors.save_word2vec_format("vectors.txt")
        >>> Path("vectors.txt").read_text().splitlines()[:2]
        ['4 3', 'king 4.0 0.0 0.0']

        """
        order = np.arange(self._filled())
        if sort_attr in self.expandos:
            order = _descending(self.expandos[sort_attr][order])
        keys = [f"{prefix}{self.index_to_key[row]}" for row in order.tolist()]
        if fvocab is not None and "count" not in self.expandos:
            raise InvalidValue("cannot write a vocabulary: the keys have no attribute 'count'")
        header = f"{len(keys) if total_vec is None else total_vec} {self.vector_size}\n" if write_header else ""
        with builtin_errors():
            shape, dtype = (len(order), self.vector_size), self.vectors.dtype
            matrix = LazyRows(shape, lambda rows: self.vectors[order[rows]], dtype)
            write_word2vec(fname, keys, matrix, binary, header, append)
        if fvocab is not None:
            counts = self.expandos["count"][order].tolist()
            with packed_write(fvocab, force=True) as file:
                file.writelines(f"{key} {count}\n".encode() for key, count in zip(keys, counts, strict=True))

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
        self.vectors_lockf = np.full(len(self), locks[0], np.float32) if len(locks) == 1 else locks
        self.vectors_lockf[rows] = lockf

    def to_gensim(self) -> Any:
        """Return gensim's ``KeyedVectors`` over the same matrix. This needs gensim, or it is an ImportError.

        With n-grams, it is gensim's ``FastTextKeyedVectors``, whose matrix of n-grams has a row for every bucket.
        """
        try:
            from gensim.models import KeyedVectors as Theirs
            from gensim.models.fasttext import FastTextKeyedVectors as Composing
        except ImportError as error:
            raise ImportError(NEEDS_GENSIM) from error
        kind, sizes = (Composing, self.ngrams.ngrams) if self.ngrams else (Theirs, ())
        made = kind(self.vector_size, *sizes, dtype=self.vectors.dtype)
        made.index_to_key, made.key_to_index = list(self.index_to_key), dict(self.key_to_index)
        made.vectors, made.expandos, made.next_index = self.vectors, dict(self.expandos), self.next_index
        if self.ngrams:
            made.vectors_ngrams = np.zeros((self.ngrams.ngrams.bucket, self.vector_size), np.float32)
            made.vectors_ngrams[self.ngrams.row_buckets] = self.ngrams.matrix
            made.vectors_vocab = np.array([self.get_ngram_vectors(key)[1][0] for key in self.index_to_key])
            made.recalc_char_ngram_buckets()
        return made

    @classmethod
    def from_gensim(cls, keyed: Any) -> Self:
        """Return an object over the matrix of gensim's ``KeyedVectors``, with its keys, attributes and n-grams.

        Raises
        ------
        ValueError
            If the keys are not distinct, or not one per row.

        """
        ngrams = None
        if getattr(keyed, "vectors_ngrams", None) is not None:
            ngrams = NgramVectors(Ngrams(keyed.min_n, keyed.max_n, keyed.bucket), keyed.vectors_ngrams)
        made = cls.of(keyed.index_to_key, keyed.vectors, ngrams=ngrams)
        made.expandos.update(keyed.expandos)
        return made


def _dtype(kind: Any) -> np.dtype[Any]:
    """Return the dtype of an attribute whose values are of type `kind`."""
    with suppress(TypeError):
        dtype: np.dtype[Any] = np.dtype(kind)
        if dtype.kind in "biuf":
            return dtype
    return np.dtype(object)


def _descending(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the order of falling values; equal ones keep their order."""
    order: NDArray[np.int64] = len(values) - 1 - np.argsort(values[::-1], kind="stable")[::-1]
    return order


def _none_requested(topn: Any) -> bool:
    """Return whether topn is below 1, which gives no answers; raise InvalidType unless it is an integer or None."""
    if topn is not None and not isinstance(topn, int | np.integer):
        raise InvalidType(f"topn must be an integer or None, not {topn!r}")
    return topn is not None and int(topn) < 1


def _listed(terms: Terms) -> list[Any]:
    """Return one term or several as a list."""
    if terms is None:
        return []
    if isinstance(terms, SINGLE) or (isinstance(terms, np.ndarray) and terms.ndim == 1):
        return [terms]
    try:
        return list(terms)
    except TypeError:
        raise InvalidType(f"expected a key, a vector or a list of these, not {terms!r}") from None


def _weighted(term: Any, default: float) -> tuple[Any, float]:
    """Return a term of a query and its weight."""
    if isinstance(term, (*SINGLE, np.ndarray)):
        return term, default
    with suppress(TypeError, ValueError):
        key, weight = term
        if isinstance(key, (*SINGLE, np.ndarray)):
            return key, float(weight)
    raise InvalidType(f"expected a key, a vector (ndarray), or a pair of one of these and a weight, not {term!r:.80}")
