"""`FastTextKeyedVectors`: KeyedVectors with n-grams, and gensim's names for their parts.

Queries are those of KeyedVectors, which composes the vectors of unknown words itself.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.embeddings.keyed_vectors import KeyedVectors
from w2vtrain.formats.subwords import Ngrams, NgramVectors, Subwords


class BucketRows:
    """A matrix (bucket, d) float32 with a row for every bucket, which stores only the rows that exist.

    Indexing returns copies. `np.asarray`, attributes of arrays and functions of NumPy take the memory of all rows.
    """

    def __init__(self, ngrams: NgramVectors, dim: int) -> None:
        self._ngrams = ngrams
        self.shape, self.dtype, self.ndim = (ngrams.ngrams.bucket, dim), np.dtype(np.float32), 2

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> NDArray[np.float32]:
        """Return the rows of buckets, which may also be numbers counted from the end, slices or masks."""
        first, others = (index[0], index[1:]) if isinstance(index, tuple) else (index, ())
        if not isinstance(first, int | np.integer):  # one bucket needs no list of all
            first = np.arange(len(self), dtype=np.int32)[first]
        elif not -len(self) <= first < len(self):
            raise IndexError(f"bucket {first} is out of range: there are {len(self):,}")
        rows = self._ngrams.rows_of(np.asarray(first) % max(1, len(self)))
        vectors = np.zeros((*np.shape(rows), self.shape[1]), np.float32)
        vectors[rows >= 0] = self._ngrams.matrix[rows[rows >= 0]]
        return vectors[(*(slice(None),) * np.ndim(rows), *others)] if others else vectors

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return all rows, also those that are zeros."""
        return self[:].astype(dtype or np.float32, copy=False)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # while an object is being copied, it has no n-grams
            raise AttributeError(name)
        return getattr(np.asarray(self), name)


class FastTextKeyedVectors(KeyedVectors):
    """Vectors by key whose n-grams give vectors to all other words, with the names of gensim's class of this name.

    Parameters
    ----------
    vector_size, count, dtype
        As for `KeyedVectors`.
    min_n, max_n : int
        The lengths of n-grams, in characters of ``<word>``.
    bucket : int
        The number of hash buckets; 0, the default, for no n-grams.

    Attributes
    ----------
    vectors_vocab : ndarray, shape (V, d)
        The keys' own rows. A vector is the mean of a key's own row and those of its n-grams.
    vectors_ngrams : BucketRows, shape (bucket, d)
        The rows of n-grams by the number of their bucket. It looks like gensim's matrix, but stores only the rows of
        buckets that occur, which are ``ngrams.matrix``: the others are zeros.
    buckets_word : list of ndarray of int32
        For each key, the buckets of its n-grams.
    own : ndarray or None
        The keys' own rows, if they are known: `vectors_vocab` computes those that are missing or outdated.
    vectors_vocab_lockf, vectors_ngrams_lockf, compatible_hash
        Constants for programs written for gensim: rows cannot be locked, and hashes are those of fastText.

    Notes
    -----
    ``word in vectors`` says whether a word is a key; in gensim, it is always True.

    A vector that is added or changed is kept: the key's own row follows. After a change of `vectors_vocab` or
    ``ngrams.matrix``, call `adjust_vectors`.

    Examples
    --------
    >>> import w2vtrain
    >>> model = w2vtrain.FastText([["red", "green"], ["cat", "dog"]] * 50, vector_size=8, min_count=1)
    >>> "greenish" in model.wv, model.wv["greenish"].shape
    (False, (8,))

    """

    def __init__(
        self, vector_size: int, min_n: int = 3, max_n: int = 6, bucket: int = 0, count: int = 0,
        dtype: Any = np.float32,
    ) -> None:  # fmt: skip
        super().__init__(vector_size, count, dtype)
        self.ngrams: NgramVectors = NgramVectors.empty(Ngrams(min_n, max_n, bucket), vector_size)
        self.own: NDArray[np.float32] | None = None
        self._settled = np.empty(0, np.uint64)  # digests of the vectors that `own` and the n-grams yield
        self.vectors_vocab_lockf = self.vectors_ngrams_lockf = np.ones(1, np.float32)
        self.compatible_hash = True

    @property
    def min_n(self) -> int:
        """The length of the shortest n-grams."""
        return self.ngrams.ngrams.minn

    @property
    def max_n(self) -> int:
        """The length of the longest n-grams."""
        return self.ngrams.ngrams.maxn

    @property
    def bucket(self) -> int:
        """The number of hash buckets."""
        return self.ngrams.ngrams.bucket

    @property
    def vectors_ngrams(self) -> BucketRows:
        """The rows of n-grams (bucket, d), of which those that exist are stored."""
        return BucketRows(self.ngrams, self.vector_size)

    @property
    def vectors_vocab(self) -> NDArray[np.float32]:
        """The keys' own rows (V, d), with which the n-grams yield the vectors."""
        digests, old = _digests(self.vectors), self.own
        known = 0 if old is None or len(old) > len(self) else len(old)
        changed = np.ones(len(self), bool)
        changed[:known] = digests[:known] != self._settled[:known]
        if changed.any() or old is None:
            self._add_ngrams(lambda rows: np.zeros((rows, self.vector_size), np.float32))
            subwords = Subwords.of(list(map(str, np.array(self.index_to_key, object)[changed])), self.ngrams.ngrams)
            rows = np.zeros((subwords.input_rows(subwords.words), self.vector_size), np.float32)
            rows[subwords.words :] = self.ngrams.matrix[self.ngrams.rows_of(subwords.buckets)]
            own = np.empty((len(self), self.vector_size), np.float32)
            own[:known] = 0 if old is None else old[:known]
            own[changed] = subwords.own_rows(self.vectors[changed], rows)
            self.own, self._settled = own, digests
            return own
        return old

    @vectors_vocab.setter
    def vectors_vocab(self, rows: NDArray[np.float32]) -> None:
        self.own, self._settled = rows, _digests(self.vectors)

    @property
    def buckets_word(self) -> list[NDArray[np.int32]]:
        """For each key, the buckets of its n-grams."""
        starts, buckets = self.ngrams.ngrams.buckets(list(map(str, self.index_to_key)))
        return np.split(buckets, starts[1:-1])

    def adjust_vectors(self) -> None:
        """Compose `vectors` again, after a change of `vectors_vocab` or `ngrams.matrix`."""
        own = self.vectors_vocab
        subwords = Subwords.of(list(map(str, self.index_to_key)), self.ngrams.ngrams, self.ngrams.row_buckets)
        self.vectors = subwords.vectors(np.concatenate([own, self.ngrams.matrix]))
        self.vectors_vocab = own

    def sort_by_descending_frequency(self) -> None:
        """Sort the keys by falling count, with their rows, as `KeyedVectors.sort_by_descending_frequency` does."""
        if self.own is not None:
            self.own = self.vectors_vocab  # one row for each key, up to date
        super().sort_by_descending_frequency()

    def grow(self, known: int, initial: Any) -> None:
        """Let the vectors of the keys from row `known` on be their own rows, and compose their vectors anew.

        initial(n) returns n rows for the new buckets of their n-grams.
        """
        before = self.vectors
        own = before.copy()
        own[:known] = self.own[:known] if self.own is not None else 0
        self._add_ngrams(initial)
        self.vectors_vocab = own
        self.adjust_vectors()
        self.vectors[:known] = before[:known]
        self.vectors_vocab = own

    def _add_ngrams(self, initial: Any) -> None:
        """Give the n-grams of all keys a row; initial(n) returns n rows for new buckets."""
        old, needed = self.ngrams, Subwords.of(list(map(str, self.index_to_key)), self.ngrams.ngrams).buckets
        new = np.setdiff1d(needed, old.row_buckets, assume_unique=True)
        if len(new):
            buckets = np.concatenate([old.row_buckets, new])
            matrix = np.concatenate([old.matrix, initial(len(new))])
            self.ngrams = NgramVectors(old.ngrams, matrix, buckets.astype(np.int32))


def _digests(vectors: Any) -> NDArray[np.uint64]:
    """Return a digest (V,) of each vector's bits."""
    bits = np.asarray(vectors, np.float32).view(np.uint32)
    weights = np.random.default_rng(0).integers(2**64, size=bits.shape[1], dtype=np.uint64)
    return np.einsum("vd,d->v", bits, weights, dtype=np.uint64)  # type: ignore[no-any-return]
