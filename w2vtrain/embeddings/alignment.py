"""Compare two files of vectors word by word: rotate one onto the other, and find the words that moved.

Hamilton, Leskovec and Jurafsky (2016): orthogonal Procrustes on the words that both have, after each file's vectors
were scaled to unit length and their mean was subtracted.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2vtrain.embeddings.neighbors import cosines
from w2vtrain.embeddings.stability import nearest_others, rows_of, shared_words
from w2vtrain.errors import DataError
from w2vtrain.formats.transforms import unit_rows
from w2vtrain.formats.vectors import Vectors


class Moved(NamedTuple):
    """A word that moved: the cosine of its two vectors after alignment, and neighbors of one file only.

    left: neighbors in the first file that are none in the second; came: the reverse; nearest first.
    """

    word: str
    cosine: float
    left: list[str]
    came: list[str]


@dataclass(frozen=True)
class Difference:
    """Two files of vectors, aligned.

    words: the n words that both have; cosines (n,): of the two vectors of each after alignment; moved: the words with
    the lowest cosines, lowest first; only_first, only_second: how many words only one file has.
    """

    words: list[str]
    cosines: NDArray[np.float64]
    moved: list[Moved]
    only_first: int
    only_second: int

    @property
    def mean(self) -> float:
        """The mean cosine after alignment: 1 for vectors that differ by a rotation."""
        return float(self.cosines.mean())

    def to_dict(self) -> dict[str, Any]:
        """Return the result as built-in types, ready for JSON."""
        return {
            "shared": len(self.words),
            "only_first": self.only_first,
            "only_second": self.only_second,
            "mean_cosine": self.mean,
            "median_cosine": float(np.median(self.cosines)),
            "moved": [word._asdict() for word in self.moved],
        }


def difference(
    first: Vectors, second: Vectors, *, count: int = 10, k: int = 10, restrict_vocab: int | None = None
) -> Difference:
    """Align two files of vectors, and return the `count` words that moved most, each with neighbors that changed.

    Only words that both have among their first `restrict_vocab` (None: all) are compared. k: the number of neighbors;
    fewer words have fewer. Neighbors are by cosine in each file alone, so alignment does not affect them.

    Raise DataError if the dimensions differ, or if the files have fewer than 2 words in common.
    """
    if (a := first.matrix.shape[1]) != (b := second.matrix.shape[1]):
        raise DataError(
            f"vectors of {a:,} and {b:,} dimensions cannot be aligned: train both with the same"
            " number, or compare their neighbors with `w2vtrain stability`"
        )
    words = shared_words([first, second], restrict_vocab)
    one, two = rows_of(first, words), rows_of(second, words)
    similar = cosines(*aligned(one, two))
    order = np.argsort(similar, kind="stable")[:count]
    k = min(k, len(words) - 1)
    near = [nearest_others(matrix, order, k).tolist() for matrix in (one, two)]
    moved = []
    for row, before, after in zip(order.tolist(), *near, strict=True):
        left, came = ([words[i] for i in a if i not in b] for a, b in ((before, after), (after, before)))
        moved.append(Moved(words[row], float(similar[row]), left, came))
    sizes = [len(file.words[:restrict_vocab]) - len(words) for file in (first, second)]
    return Difference(words, similar, moved, *sizes)


def aligned(first: NDArray[Any], second: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both matrices (n, d), centered, the second rotated onto the first. No row may be zero.

    The rotation, which may include a reflection, minimizes the sum of squared distances (Schönemann 1966).
    """
    from scipy.linalg import orthogonal_procrustes

    one, two = _centered(first), _centered(second)
    rotation, _ = orthogonal_procrustes(two, one)
    return one, two @ rotation


def _centered(rows: NDArray[Any]) -> NDArray[np.float64]:
    """Return rows (n, d) scaled to length 1, less their mean."""
    unit = unit_rows(rows)
    centered: NDArray[np.float64] = unit - unit.mean(axis=0)
    return centered
