"""Compare two files of vectors word by word: rotate one onto the other, and find the words that moved.

Hamilton, Leskovec and Jurafsky (2016): orthogonal Procrustes on the words that both have, or on given pairs of words,
whose vectors are scaled to unit length. Nothing is centered: on halves of the demo corpus, in one of which
words were replaced by others, centering (Schlechtweg et al. 2019) found these no better, and made cosines depend more
on how frequent a word is.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2vtrain.embeddings.neighbors import cosines
from w2vtrain.embeddings.stability import nearest_others, rows_of
from w2vtrain.errors import DataError, spelled
from w2vtrain.formats.transforms import LazyRows, unit_rows
from w2vtrain.formats.vectors import Vectors


class Moved(NamedTuple):
    """A word that moved: the cosine of its two vectors after alignment, and neighbors of one file only.

    left: neighbors in the first file that are none in the second; came: the reverse; nearest first. second: the word in
    the second file, which differs if pairs of words were given.
    """

    word: str
    cosine: float
    left: list[str]
    came: list[str]
    second: str


@dataclass(frozen=True)
class Difference:
    """Two files of vectors, aligned.

    words: the n words that both have, or the first word of each of n pairs; others: the n words of the second file;
    cosines (n,): of the two vectors of each after alignment; moved: the words or pairs with the lowest cosines, lowest
    first; only_first, only_second: how many words only one file has, or are in no pair; turn (d, d): the rotation of
    the second file.
    """

    words: list[str]
    others: list[str]
    cosines: NDArray[np.float64]
    moved: list[Moved]
    only_first: int
    only_second: int
    turn: NDArray[np.float64]

    def rotated(self, matrix: NDArray[np.float32]) -> LazyRows:
        """Return vectors (V, d) of the second file, rotated onto those of the first."""
        return LazyRows(matrix.shape, lambda rows: (matrix[rows] @ self.turn).astype(np.float32))

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
    first: Vectors, second: Vectors, *, count: int = 10, k: int = 10, restrict_vocab: int | None = None,
    min_count: int | None = None, pairs: Iterable[tuple[str, str]] | None = None,
) -> Difference:  # fmt: skip
    """Align two files of vectors, and return the `count` words that moved most, each with neighbors that changed.

    Only words are compared that both files have among their first `restrict_vocab` (None: all), and that occur
    `min_count` times in both texts. pairs: words of the first and of the second file that are compared instead; a word
    may be in several pairs, and a pair that is repeated counts once. k: the number of neighbors; fewer words have
    fewer. Neighbors are by cosine in each file alone, so alignment does not affect them; a neighbor is in both files if
    it is in a pair with a neighbor in the other, or with the word itself.

    Raise DataError if the dimensions differ, if the files have fewer than 2 words in common, or if they have no counts
    for `min_count`.
    """
    words, others, sizes = _paired(first, second, restrict_vocab, min_count, pairs)
    one, two = rows_of(first, words), rows_of(second, others)
    turn = rotation(one, two)
    similar = cosines(one, two @ turn)
    order = np.argsort(similar, kind="stable")[:count]
    k = min(k, len(set(words)) - 1, len(set(others)) - 1)
    forth, back = _partners(words, others), _partners(others, words)
    near = _neighbors(words, one, order, k), _neighbors(others, two, order, k)
    moved = []
    for row, before, after in zip(order.tolist(), *near, strict=True):
        word, other = words[row], others[row]
        left = [each for each in before if forth[each].isdisjoint([other, *after])]
        came = [each for each in after if back[each].isdisjoint([word, *before])]
        moved.append(Moved(word, float(similar[row]), left, came, other))
    return Difference(words, others, similar, moved, *sizes, turn)


def _partners(words: list[str], others: list[str]) -> dict[str, set[str]]:
    """Return the words of the other file that each word is in a pair with."""
    partners: dict[str, set[str]] = {}
    for word, other in zip(words, others, strict=True):
        partners.setdefault(word, set()).add(other)
    return partners


def _neighbors(words: list[str], matrix: NDArray[np.float32], rows: NDArray[np.int64], k: int) -> list[list[str]]:
    """Return the k words nearest to the word of each of `rows`, nearest first.

    words: n words, which may be repeated; matrix (n, d): their vectors.
    """
    first: dict[str, int] = {}
    for row, word in enumerate(words):
        first.setdefault(word, row)
    distinct = list(first)
    place = {word: i for i, word in enumerate(distinct)}
    wanted = np.array([place[words[row]] for row in rows], np.int64)
    near = nearest_others(matrix[list(first.values())], wanted, k)
    return [[distinct[i] for i in row] for row in near.tolist()]


def _paired(
    first: Vectors, second: Vectors, restrict_vocab: int | None, min_count: int | None,
    pairs: Iterable[tuple[str, str]] | None,
) -> tuple[list[str], list[str], tuple[int, int]]:  # fmt: skip
    """Return the n words of the first file to compare, their n counterparts in the second, and how many of the words
    of each file that are frequent enough are not in the other file or, with `pairs`, in no pair.
    """
    if (a := first.matrix.shape[1]) != (b := second.matrix.shape[1]):
        raise DataError(
            f"vectors of {a:,} and {b:,} dimensions cannot be aligned: train both with the same"
            " number, or compare their neighbors with `w2vtrain stability`"
        )
    known = [_comparable(file, restrict_vocab, min_count) for file in (first, second)]
    chosen: dict[tuple[str, str], None] = {}
    for word, other in ((word, word) for word in first.words) if pairs is None else pairs:
        if word in known[0] and other in known[1]:
            if first.matrix[known[0][word]].any() and second.matrix[known[1][other]].any():
                chosen[word, other] = None
    if len(chosen) < 2:
        what, paired = ("words", f", or given in {spelled('pairs')}") if pairs is None else ("pairs of words", "")
        rarer = f"; {spelled('min_count')} leaves out what is rarer in either text than {min_count or 0:,}"
        raise DataError(
            f"{what} with vectors in common: {len(chosen)}, but a comparison needs 2 or more; words must be spelled in"
            f" the same way, upper and lower case included{paired}{rarer * bool(min_count)}"
        )
    words, others = [word for word, _ in chosen], [other for _, other in chosen]
    partners = (second.words, first.words) if pairs is None else (words, others)
    alone = [len(own.keys() - set(partner)) for own, partner in zip(known, partners, strict=True)]
    return words, others, (alone[0], alone[1])


def _comparable(file: Vectors, restrict_vocab: int | None, min_count: int | None) -> dict[str, int]:
    """Return the rows of the words that are frequent enough to be compared."""
    index = {word: row for row, word in enumerate(file.words[:restrict_vocab])}
    if min_count is None:
        return index
    if file.counts is None:
        raise DataError(
            f"{spelled('min_count')}: the vectors have no counts of words: pass models, which have them, or"
            f" {spelled('restrict_vocab')}"
        )
    return {word: row for word, row in index.items() if file.counts[row] >= min_count}


def rotation(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
    """Return the rotation (d, d) of the rows of `second` (n, d) onto those of `first`.

    It may include a reflection, and minimizes the sum of squared distances between rows that are scaled to length 1
    (Schönemann 1966).
    """
    from scipy.linalg import orthogonal_procrustes

    turn: NDArray[np.float64] = orthogonal_procrustes(unit_rows(second), unit_rows(first))[0]
    return turn
