"""Cluster words and compare the clusters with categories given by people: purity, as in Baroni et al. (2014).

A data set is a file with lines "word TAB category", such as those of AP (Almuhareb 2006) and BLESS (Baroni and Lenci
2011).
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from w2vtrain.embeddings.datasets import fields_of, rows_of
from w2vtrain.embeddings.evaluation_rules import Report, case_folding, first_indices, none_known
from w2vtrain.embeddings.intervals import wilson_interval
from w2vtrain.errors import DataError, UndefinedScore
from w2vtrain.formats.transforms import unit_rows
from w2vtrain.formats.vectors import Vectors

logger = logging.getLogger(__name__)
KMEANS_STARTS, MAX_KMEANS_ROUNDS = 20, 300
"""Random starts of k-means, of which the one with the largest sum of cosines counts, and the most rounds of each."""
WORD_NAMES = {"word", "words", "concept", "concepts", "item", "items", "noun", "nouns", "term", "terms"}
CATEGORY_NAMES = {
    "category", "categories", "class", "classes", "class_name", "cluster", "group", "label", "type", "domain"
}  # fmt: skip
"""Names of columns in a first line that is a header, in lower case."""


@dataclass(frozen=True)
class CategoryReport(Report):
    """The purity of the clusters of the `answered` of `asked` words that are in the vocabulary.

    categories: the number of categories of these words, which is the number of clusters; majority: the words that
    belong to the most frequent category of their cluster; seed: of the random starts.
    """

    majority: int
    answered: int
    asked: int
    categories: int
    seed: int

    task = "categories"
    facts = ("purity", "interval", "majority", "answered", "asked", "categories", "seed")

    @property
    def purity(self) -> float:
        """The share of words that belong to the most frequent category of their cluster."""
        return self.majority / self.answered

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95% interval of the purity for these clusters, as if the words were independent."""
        return wilson_interval(self.majority, self.answered)


def read_categories(path: str | Path) -> Iterator[tuple[str, str]]:
    """Yield the word and the category of each line of `datasets.rows_of`, except for a header.

    A header may also name the category first. Raise the errors of `datasets.text_lines`, and DataError, naming the
    line, for any other line.
    """
    word, category = 0, 1
    for count, (number, line) in enumerate(rows_of(path)):
        fields = fields_of(line)
        if len(fields) != 2 or not all(fields):
            raise DataError(f"{path}:{number}: expected a word, a tab and a category, got {line[:60]!r}")
        left, right = (field.lower() for field in fields)
        if count == 0 and left in CATEGORY_NAMES and right in WORD_NAMES:
            word, category = 1, 0
        elif count > 0 or left not in WORD_NAMES or right not in CATEGORY_NAMES:
            yield fields[word], fields[category]


def evaluate_categories(
    vectors: Vectors, path: str | Path, *, restrict_vocab: int | None = None, case_insensitive: bool = True,
    seed: int = 1,
) -> CategoryReport:  # fmt: skip
    """Cluster the words of a file into as many clusters as they have categories, and return the purity.

    The clusters are those of spherical k-means (Dhillon and Modha 2001). Unknown words and zero vectors are left out. A
    word that belongs to several categories counts once for each.

    Raise the errors of `read_categories`, NoKnownWords if no word has a vector, and UndefinedScore if the known words
    are of one category.
    """
    fold = case_folding(case_insensitive)
    first = first_indices(known := vectors.words[:restrict_vocab], fold)
    rows, labels = [], []  # type: list[int], list[str]
    pairs = list(read_categories(path))
    if pairs and [category for _, category in pairs].count(name := pairs[0][1]) == 1:
        logger.warning(
            "%s: no other word has the category of the first line, %r: if it names columns, delete it", path, name
        )
    for word, category in pairs:
        row = first.get(fold(word), -1)
        if row >= 0 and vectors.matrix[row].any():
            rows.append(row)
            labels.append(category)
    if not rows:
        raise none_known(path, len(pairs), "words", "a vector", known)
    names, truth = np.unique(labels, return_inverse=True)
    if len(names) < 2:
        raise UndefinedScore(
            f"{path}: the {len(rows):,} words that have vectors are all of the category {str(names[0])!r}"
        )
    clusters = spherical_kmeans(unit_rows(vectors.matrix[rows]), len(names), seed)
    table = np.zeros((len(names), len(names)), np.int64)
    np.add.at(table, (clusters, truth), 1)
    majority = int(table.max(axis=1).sum())
    return CategoryReport(
        str(path), restrict_vocab, case_insensitive, majority, len(rows), len(pairs), len(names), seed
    )  # fmt: skip


def spherical_kmeans(unit: NDArray[np.float64], k: int, seed: int) -> NDArray[np.int64]:
    """Return the cluster (n,) of each unit vector (n, d), the best of KMEANS_STARTS random starts.

    Each start chooses its first centers as k-means++ does (Arthur and Vassilvitskii 2007). A cluster that becomes empty
    stays empty.
    """
    rng, best, chosen = np.random.default_rng(seed), -np.inf, np.zeros(len(unit), np.int64)
    for _ in range(KMEANS_STARTS):
        clusters, total = _one_start(unit, _first_centers(unit, k, rng))
        if total > best + 1e-9:
            best, chosen = total, clusters
    return chosen


# The type is quoted because other evaluations import this module, but not numpy.random.
def _first_centers(unit: NDArray[np.float64], k: int, rng: "np.random.Generator") -> NDArray[np.float64]:
    """Return k rows (k, d): each next one with a probability in proportion to its squared distance from the others."""
    rows = [int(rng.integers(len(unit)))]
    squared = np.full(len(unit), np.inf)
    while len(rows) < k:
        squared = np.minimum(squared, np.maximum(0, 2 - 2 * unit @ unit[rows[-1]]))
        total = squared.sum()
        rows.append(int(rng.choice(len(unit), p=squared / total if total > 0 else None)))
    return unit[rows]


def _one_start(unit: NDArray[np.float64], centers: NDArray[np.float64]) -> tuple[NDArray[np.int64], float]:
    """Return the clusters (n,) to which k-means converges from these centers (k, d), and the sum of the cosines."""
    clusters = np.full(len(unit), -1)
    for _ in range(MAX_KMEANS_ROUNDS):
        cosines = unit @ centers.T
        moved = cosines.argmax(axis=1)
        if (moved == clusters).all():
            break
        clusters, sums = moved, np.zeros_like(centers)
        np.add.at(sums, clusters, unit)
        centers = np.where(sums.any(axis=1, keepdims=True), unit_rows(sums), centers)
    return clusters, float(cosines.max(axis=1).sum())
