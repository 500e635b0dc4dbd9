"""Measure how much the nearest neighbors of words vary between vectors, such as those of several seeds.

Wendlandt, Kummerfeld and Mihalcea (2018), Antoniak and Mimno (2018). The files must have words in common; their
vectors are never compared with each other, so they may have different dimensions.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.embeddings.intervals import Z95
from w2vtrain.embeddings.neighbors import nearest_rows, row_norms
from w2vtrain.errors import DataError, UsageError
from w2vtrain.formats.vectors import Vectors


@dataclass(frozen=True)
class StabilityReport:
    """How many nearest neighbors files of vectors have in common.

    words: n words, in descending order of frequency; overlap (n,): of each, the mean over pairs of files of the share
    of its k neighbors that both have; jaccard (n,): the same for neighbors of both over those of either; pairs: the
    mean overlap of each pair of files, in the order of itertools.combinations; shared: the number of words that all
    files have.
    """

    words: list[str]
    overlap: NDArray[np.float64]
    jaccard: NDArray[np.float64]
    pairs: list[float]
    k: int
    shared: int

    @property
    def mean(self) -> float:
        """The mean overlap, 0 to 1."""
        return float(self.overlap.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """95% interval of the mean overlap for other words, as if the words were independent; not for other seeds."""
        if len(self.words) < 2:
            return 0.0, 1.0
        half = Z95 * float(self.overlap.std(ddof=1)) / math.sqrt(len(self.words))
        return max(0.0, self.mean - half), min(1.0, self.mean + half)

    def ranked(self, count: int) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
        """Return the least stable and the most stable words with their overlaps; frequent words come first in ties."""
        rising = np.argsort(self.overlap, kind="stable")[:count]
        falling = np.argsort(-self.overlap, kind="stable")[:count]
        least, most = ([(self.words[i], float(self.overlap[i])) for i in order] for order in (rising, falling))
        return least, most

    def to_dict(self, count: int) -> dict[str, Any]:
        """Return the report as built-in types, ready for JSON, with `count` words at each end."""
        least, most = self.ranked(count)
        return {
            "overlap": self.mean,
            "interval": self.interval,
            "jaccard": float(self.jaccard.mean()),
            "pairs": self.pairs,
            "k": self.k,
            "words": len(self.words),
            "shared": self.shared,
            "least_stable": least,
            "most_stable": most,
        }


def shared_words(files: Sequence[Vectors], restrict_vocab: int | None = None) -> list[str]:
    """Return the words that all files have among their first `restrict_vocab` words, in the order of the first file.

    Words whose vector is zero in a file are left out. Raise DataError if these are fewer than 2 words.
    """
    others = [set(file.words[:restrict_vocab]) for file in files[1:]]
    words = [word for word in files[0].words[:restrict_vocab] if all(word in other for other in others)]
    for file in files:
        words = [words[i] for i in np.flatnonzero(rows_of(file, words).any(axis=1))]
    if len(words) < 2:
        raise DataError(
            f"words with vectors in common: {len(words)}, but a comparison needs 2 or more; words must be spelled"
            " in the same way, upper and lower case included"
        )
    return words


def rows_of(vectors: Vectors, words: Sequence[str]) -> NDArray[np.float32]:
    """Return the vectors (n, d) of n words that a file has."""
    index = {word: row for row, word in enumerate(vectors.words)}
    rows: NDArray[np.float32] = np.asarray(vectors.matrix[[index[word] for word in words]], np.float32)
    return rows


def nearest_others(matrix: NDArray[np.float32], rows: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Return the numbers (n, k) of the k rows of `matrix` (V, d) nearest to each of `rows`, nearest first, without it.

    rows: (n,) numbers of rows. No row may be zero, and k is less than V.
    """
    norms = row_norms(matrix)
    nearest = nearest_rows(matrix, norms, matrix[rows] / norms[rows, None], k + 1)
    return np.array([near[near != row][:k] for row, (near, _) in zip(rows, nearest, strict=True)])


def stability(
    files: Sequence[Vectors], *, k: int = 10, words: int | None = 10_000, restrict_vocab: int | None = None
) -> StabilityReport:
    """Return how many of the k nearest neighbors of words are the same in each pair of files.

    Neighbors are searched among the words that all files have among their first `restrict_vocab` (None: all), and the
    `words` most frequent of these are compared (None: all).

    Raise UsageError for fewer than two files, and DataError if they have too few words in common for k neighbors.
    """
    if len(files) < 2:
        raise UsageError("stability compares the neighbors in two files or more")
    shared = shared_words(files, restrict_vocab)
    if len(shared) <= k:
        raise DataError(f"the files have {len(shared):,} words with vectors in common, too few for {k:,} neighbors")
    asked = np.arange(min(len(shared), words or len(shared)))
    near = [np.sort(nearest_others(rows_of(file, shared), asked, k), axis=1) for file in files]
    common = np.array([_common(a, b) for a, b in combinations(near, 2)])
    overlap, jaccard = common / k, common / (2 * k - common)
    return StabilityReport(
        shared[: len(asked)], overlap.mean(axis=0), jaccard.mean(axis=0), overlap.mean(axis=1).tolist(), k, len(shared)
    )  # fmt: skip


def _common(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many values the sorted rows of `a` and `b` (n, k), each without repetitions, have in common, (n,)."""
    both = np.sort(np.concatenate([a, b], axis=1), axis=1)
    same: NDArray[np.int64] = (both[:, 1:] == both[:, :-1]).sum(axis=1)
    return same
