"""Subwords: the rows that represent a word are its own and those of its character n-grams, as in fastText.

Nothing here trains or reads files. Bojanowski, Grave, Joulin & Mikolov 2017, "Enriching word vectors with subword
information".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2vtrain.errors import MalformedFile

WHOLE = "</s>"
"""The word that marks the end of a sentence. It has no n-grams."""


class Ngrams(NamedTuple):
    """Which n-grams a word has: those of minn to maxn characters of "<word>", hashed into `bucket` buckets.

    A character is a code point, in UTF-8. The angle brackets alone are no n-grams. With maxn = 0, there are none.
    """

    minn: int = 3
    maxn: int = 6
    bucket: int = 2_000_000

    def texts(self, word: str) -> list[str]:
        """Return the n-grams of a word in fastText's order: by their first character, then by length."""
        text = f"<{word}>"
        return [
            text[first:last]
            for first in range(len(text))
            for last in range(first + max(1, self.minn), min(len(text), first + self.maxn) + 1)
            if word != WHOLE and not (last == first + 1 and (first == 0 or last == len(text)))
        ]

    def buckets(self, words: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return (starts, buckets): word i has the n-grams in buckets[starts[i] : starts[i + 1]], int32, as `texts`."""
        from w2vtrain.kernels.ngrams import hash_ngrams  # reading vectors without n-grams does not need Numba

        starts = np.zeros(len(words) + 1, np.int64)
        if not self.bucket:
            return starts, np.empty(0, np.int32)
        encoded = [b"" if word == WHOLE else b"<%b>" % word.encode("utf-8", "surrogatepass") for word in words]
        text = np.frombuffer(b"".join(encoded) or b"\0", np.uint8)
        ends = np.cumsum([len(word) for word in encoded], dtype=np.int64)
        hash_ngrams(text, ends, *self, starts, np.empty(0, np.int32))
        np.cumsum(starts, out=starts)
        buckets = np.empty(int(starts[-1]), np.int32)
        hash_ngrams(text, ends, *self, starts.copy(), buckets)
        return starts, buckets


@dataclass(frozen=True, eq=False)
class Subwords:
    """The input rows of V words: one row per word, then one for each bucket that an n-gram of a word is in.

    buckets (B,) int32: the bucket of each n-gram row, by default those that occur, in order of first use, so that
    n-grams of frequent words come first. The rows of word i are rows[starts[i] : starts[i + 1]], its own first;
    starts (V + 1,) int64, rows int32. A word's vector is the mean of its rows.
    """

    ngrams: Ngrams
    words: int
    buckets: NDArray[np.int32]
    starts: NDArray[np.int64]
    rows: NDArray[np.int32]

    @classmethod
    def of(
        cls, words: Sequence[str], ngrams: Ngrams, buckets: NDArray[np.int32] | None = None, where: str = "the model"
    ) -> "Subwords":
        """Return the rows of these words. buckets: those of a trained model, which has a row for each of them.

        Raise MalformedFile, starting with `where`, if an n-gram of a word is in none of these.
        """
        starts, of_ngrams = ngrams.buckets(words)
        if buckets is None:
            used, first = np.unique(of_ngrams, return_index=True)
            buckets = used[np.argsort(first, kind="stable")]
        row_of = np.full(ngrams.bucket + 1, -1, np.int32)
        row_of[buckets] = np.arange(len(words), len(words) + len(buckets), dtype=np.int32)
        own = np.arange(len(words), dtype=np.int32)
        rows = np.insert(row_of[of_ngrams], starts[:-1], own)
        if rows.min(initial=0) < 0:
            raise MalformedFile(f"{where}: its n-grams are damaged: one of a word has no row")
        starts = starts + np.arange(len(words) + 1)
        return cls(ngrams, len(words), buckets.astype(np.int32), starts, rows)

    def input_rows(self, words: int) -> int:
        """Return the number of rows: V + B."""
        return words + len(self.buckets)

    def per_row(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each row (V + B,) the sum of `numbers` (V,) over the words that have it."""
        weights = np.repeat(numbers, np.diff(self.starts))
        return np.bincount(self.rows, weights, self.input_rows(self.words))  # type: ignore[return-value]

    @cached_property
    def steps(self) -> NDArray[np.float32]:
        """Return for each word (V,) float32 what a row changes by per occurrence in the word.

        It is 1, unless so many n-grams of the word share a row that the mean would change by more than MAX_GRADIENTS:
        those of "==========" do.
        """
        from w2vtrain.kernels.ngrams import measure_steps

        steps = np.empty(self.words, np.float32)
        measure_steps(self.starts, self.rows, np.zeros(self.input_rows(self.words), np.int32), steps)
        return steps

    def vectors(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the vectors of the words (V, d) float32, each the mean of its rows, from all input rows (V + B, d)."""
        from w2vtrain.kernels.ngrams import compose

        vectors = np.empty((self.words, rows.shape[1]), np.float32)
        compose(self.starts, self.rows, rows, vectors)
        return vectors

    def own_rows(self, vectors: NDArray[np.float32], rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the own rows (V, d) of the words that, in place of those in `rows` (V + B, d), yield `vectors` (V, d).

        They are equal to those in `rows` if the vectors differ only by rounding, as those of another processor may.
        """
        change = vectors - self.vectors(rows)
        is_rounding = np.abs(change).max(axis=1) < 1e-5 * np.abs(vectors).max(axis=1)  # False for NaN and infinity
        change[is_rounding] = 0
        return rows[: self.words] + change * np.diff(self.starts)[:, None].astype(np.float32)


@dataclass(frozen=True, eq=False)
class NgramVectors:
    """The vectors of n-grams, from which the vectors of any words follow.

    buckets (B,) int32: the bucket of each row of `matrix` (B, d) float32, or None if there is a row for every bucket.
    """

    ngrams: Ngrams
    matrix: Any
    buckets: NDArray[np.int32] | None = None

    @classmethod
    def empty(cls, ngrams: Ngrams, dim: int) -> "NgramVectors":
        """Return vectors (0, dim) of no n-grams."""
        return cls(ngrams, np.empty((0, dim), np.float32), np.empty(0, np.int32))

    @property
    def row_buckets(self) -> NDArray[np.int32]:
        """The bucket (B,) of each row."""
        return np.arange(self.ngrams.bucket, dtype=np.int32) if self.buckets is None else self.buckets

    @cached_property
    def _order(self) -> NDArray[np.int32]:
        """The rows by increasing bucket: no table of all buckets, whose number a file gives."""
        return np.argsort(np.empty(0) if self.buckets is None else self.buckets).astype(np.int32)

    def rows_of(self, buckets: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the row of each bucket (n,), -1 for those without one."""
        if self.buckets is None:
            return buckets
        if not len(self.buckets):
            return np.full(len(buckets), -1, np.int32)
        places = np.searchsorted(self.buckets, buckets, sorter=self._order)
        rows = self._order[np.minimum(places, len(self._order) - 1)]
        return np.where(self.buckets[rows] == buckets, rows, np.int32(-1))

    def vector(self, word: str) -> NDArray[np.float32] | None:
        """Return the vector (d,) of a word that has no row of its own, None if none of its n-grams is known.

        It is the mean over all its n-grams; those without a row count as zeros, as in a file of fastText.
        """
        rows = self.rows_of(self.ngrams.buckets([word])[1])
        total: NDArray[np.float32] = np.asarray(self.matrix[rows[rows >= 0]], np.float32).sum(axis=0)
        return total / np.float32(len(rows)) if total.any() else None
