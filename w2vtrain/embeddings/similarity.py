"""Correlate the cosines of word pairs with human ratings: a report with an interval, or SciPy's results as in gensim.

Analogies and single queries are answered in analogies.py and neighbors.py. Nothing here prints.
"""

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.embeddings.datasets import columns_option, read_pairs
from w2vtrain.embeddings.evaluation_rules import PLAIN, Report, Rules, case_folding, first_indices, none_known
from w2vtrain.embeddings.intervals import fisher_interval
from w2vtrain.embeddings.neighbors import cosines, have_vectors
from w2vtrain.errors import UndefinedScore
from w2vtrain.formats.vectors import Vectors


@dataclass(frozen=True)
class SimilarityReport(Report):
    """Correlations of cosines with human ratings over `answered` of the `asked` pairs.

    unknown: the number of pairs that are not in the vocabulary, or have a zero vector: they are left out, or have the
    cosine 0 if the protocol counts them.
    """

    spearman: float
    pearson: float
    answered: int
    asked: int
    unknown: int

    task = "similarity"
    facts = ("spearman", "pearson", "answered", "asked", "unknown", "coverage", "interval")

    @property
    def coverage(self) -> float:
        """The share of the pairs that were answered."""
        return self.answered / self.asked

    @property
    def interval(self) -> tuple[float, float]:
        """95% confidence interval of Spearman's correlation."""
        return fisher_interval(self.spearman, self.answered)


def evaluate_similarity(
    vectors: Vectors,
    path: str | Path,
    *,
    restrict_vocab: int | None = None,
    case_insensitive: bool = True,
    protocol: Rules = PLAIN,
    columns: str | None = None,
) -> SimilarityReport:
    """Return Spearman's and Pearson's correlation of cosines with the scores in a file of word pairs.

    The layout of the file and `columns` are those of `read_pairs`. Words are looked up as in gensim's
    `evaluate_word_pairs`. protocol: its rules replace gensim's, except for `restrict_vocab`.

    Raise InputMissing if the file cannot be opened; the errors of `read_pairs`; NoKnownWords if no pair is in the
    vocabulary; and UndefinedScore if all cosines or all scores are equal.
    """
    fold = protocol.fold if case_insensitive else str
    words = vectors.words[:restrict_vocab]
    pairs = list(read_pairs(path, columns))
    gold, similar, known = _compared(pairs, words, vectors.matrix, fold, without_zeros=True)
    if not known.any():
        is_misread = pairs and all(left.isdigit() or right.isdigit() for left, right, _ in pairs)
        hint = f": one of each is a number; {columns_option()} names other columns" if is_misread else ""
        raise none_known(path, len(gold), "pairs", "both words", words, hint)
    counted = known | protocol.unknown
    gold, similar, unknown = _scaled(gold[counted]), similar[counted], int(np.count_nonzero(~known))
    for kind, values in (("scores", gold), ("similarities", similar)):
        if np.ptp(values) <= 1e-12 * np.abs(values).max():
            covered = f"{len(values):,} of {len(known):,} pairs are covered, and their {kind} are equal"
            raise UndefinedScore(f"{path}: the correlation is undefined: {covered}")
    rank, linear = spearman(gold, similar), pearson(gold, similar)
    return SimilarityReport(
        str(path), restrict_vocab, case_insensitive, rank, linear, len(gold), len(known), unknown
    )  # fmt: skip


def correlate_pairs(
    words: list[str],
    matrix: NDArray[Any],
    pairs: Iterable[tuple[str, str, float]],
    case_insensitive: bool,
    dummy4unknown: bool,
) -> tuple[Any, Any, float] | None:
    """Return what gensim's `evaluate_word_pairs` does: SciPy's two correlations, and the percentage of unknown pairs.

    Return None if there are fewer than two pairs to compare. pairs: as `read_plain_pairs` yields them; dummy4unknown:
    give pairs with unknown words the cosine 0 instead of leaving them out.
    """
    ratings, similar, known = _compared(pairs, words, matrix, case_folding(case_insensitive))
    compared = known | bool(dummy4unknown)
    if compared.sum() < 2:
        return None
    from scipy import stats

    gold, single = ratings[compared], similar[compared].astype(np.float32).astype(np.float64)  # rounded as in gensim
    return stats.pearsonr(gold, single), stats.spearmanr(gold, single), 100 * int((~known).sum()) / len(known)


def _compared(
    pairs: Iterable[tuple[str, str, float]], words: list[str], matrix: NDArray[Any], fold: Callable[[str], str],
    without_zeros: bool = False,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:  # fmt: skip
    """Return the ratings (n,) of all pairs, their cosines, and whether both words are known; if not, the cosine is 0.

    without_zeros: whether words with zero vectors are unknown, which they are not in gensim.
    matrix: the vectors of `words`, and perhaps of more; fold: maps all forms of a word to one.
    """
    first, ids, ratings = first_indices(words, fold), array("q"), array("d")
    for left, right, rating in pairs:
        ids.extend((first.get(fold(left), -1), first.get(fold(right), -1)))
        ratings.append(rating)
    rows = np.array(ids, np.int64).reshape(-1, 2)
    known, similar = rows.min(axis=1, initial=0) >= 0, np.zeros(len(rows))
    if without_zeros:
        known[known] = have_vectors(matrix, rows[known])
    similar[known] = cosines(*(matrix[column] for column in rows[known].T))
    return np.array(ratings), similar, known


def _scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values times the power of 2 that makes the largest about 1, so that no square is infinite or 0."""
    scaled: NDArray[np.float64] = np.ldexp(values, -np.frexp(np.abs(values).max())[1])
    return scaled


# Both correlations are computed here because importing scipy.stats takes longer than the rest of an evaluation.


def pearson(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return Pearson's correlation of x and y, (n,) each; n > 1, and neither may have all values equal."""
    return float(np.corrcoef(x, y)[1, 0])


def spearman(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return Spearman's rank correlation of x and y, with the conditions of `pearson`."""
    return pearson(_average_ranks(x), _average_ranks(y))


def _average_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rank of each value, from 1; equal values share the mean of their ranks."""
    _, groups, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: NDArray[np.float64] = (last - (counts - 1) / 2)[groups]
    return ranks
