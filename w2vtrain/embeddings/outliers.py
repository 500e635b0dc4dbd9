"""Detect the word that does not belong to a group (Camacho-Collados and Navigli 2016): accuracy and OPP.

A data set is a file, or a folder of .txt files, in the format of their 8-8-8 data set: the words of a topic, one per
line, a blank line, and the outliers, one per line.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.embeddings.datasets import text_lines
from w2vtrain.embeddings.evaluation_rules import Report, among, case_folding, first_indices
from w2vtrain.embeddings.intervals import grouped_interval
from w2vtrain.errors import DataError, InputMissing, NoKnownWords
from w2vtrain.formats.transforms import unit_rows
from w2vtrain.formats.vectors import Vectors
from w2vtrain.system.files import distinct


@dataclass(frozen=True)
class OutlierReport(Report):
    """How well outliers were found. All counts are of outliers, each of which is one question.

    found: questions whose outlier fits the other words least; positions: the sum over questions of the outlier's
    position, divided by the last position; interval: 95% interval of the accuracy, by topics; compactness: the mean
    cosine of two words of a topic, over topics.
    """

    found: int
    positions: float
    answered: int
    asked: int
    topics: int
    compactness: float
    interval: tuple[float, float]

    task = "outliers"
    facts = ("accuracy", "interval", "opp", "compactness", "found", "answered", "asked", "topics")

    @property
    def accuracy(self) -> float:
        """The share of the answered questions whose outlier was found."""
        return self.found / self.answered

    @property
    def opp(self) -> float:
        """The mean outlier position percentage of the answered questions, 0 to 1."""
        return self.positions / self.answered


def read_topics(path: str | Path) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the words and the outliers of each topic, in the order of files: of one, or of all .txt files of a folder,
    each once, except for hidden ones.

    Blank lines after the outliers are ignored. Raise InputMissing if nothing can be read, and DataError, naming the
    line, if a line is not UTF-8 or too long, for a topic with fewer than 2 words or without outliers, and for a second
    topic in a file.
    """
    folder = Path(path)
    files = [folder]
    if folder.is_dir():
        files = distinct(sorted(file for file in folder.glob("*.txt") if not file.name.startswith(".")))
    if not files:
        raise InputMissing(f"{path}: the folder has no .txt file")
    for file in files:
        yield _topic(file)


def _topic(path: Path) -> tuple[list[str], list[str]]:
    parts: tuple[list[str], list[str]] = [], []
    part, number, ended = 0, 0, False
    for number, word in text_lines(path, blank=True):
        if word and ended:
            raise DataError(f"{path}:{number}: a word after the outliers: write one file per topic, all in one folder")
        if word:
            parts[part].append(word)
        elif parts[0]:
            part, ended = 1, bool(parts[1])
    words, outliers = parts
    if len(words) < 2 or not outliers:
        raise DataError(
            f"{path}:{max(1, number)}: expected 2 words or more, a blank line, and outliers; got {len(words)} words and"
            f" {len(outliers)} outliers"
        )
    return parts


def evaluate_outliers(
    vectors: Vectors, path: str | Path, *, restrict_vocab: int | None = None, case_insensitive: bool = True
) -> OutlierReport:
    """Return how well vectors find the outliers of each topic.

    For each outlier, the words of the topic and the outlier are ordered by their compactness score, the mean cosine of
    the other words without them. The outlier is found if that is the largest without it; its position counts from 0.
    Unknown words of a topic and zero vectors are left out, and so are such outliers, which are not answered. A word
    with spaces is looked up with underscores, too.

    Raise the errors of `read_topics`, and NoKnownWords if no outlier can be compared with two words of its topic.
    """
    fold = case_folding(case_insensitive)
    first = first_indices(known := vectors.words[:restrict_vocab], fold)

    def rows(words: list[str]) -> list[int]:
        ids = [first.get(fold(word), first.get(fold(word.replace(" ", "_")), -1)) for word in words]
        return [row for row in dict.fromkeys(ids) if row >= 0 and vectors.matrix[row].any()]

    asked, is_last, positions, compact = 0, [], 0.0, []
    for listed, added in read_topics(path):
        asked += len(added)
        words, outliers = rows(listed), rows(added)
        if len(words) < 2 or not outliers:
            continue
        places, compactness = outlier_positions(vectors.matrix[words], vectors.matrix[outliers])
        is_last.append(places == len(words))
        positions += float((places / len(words)).sum())
        compact.append(compactness)
    if not is_last:
        raise NoKnownWords(f"{path}: no topic has an outlier and two of its words {among(known)}")
    counts = [int(topic.sum()) for topic in is_last]
    sizes = [len(topic) for topic in is_last]
    return OutlierReport(
        str(path), restrict_vocab, case_insensitive, sum(counts), positions, sum(sizes), asked, len(is_last),
        math.fsum(compact) / len(compact), grouped_interval(counts, sizes),
    )  # fmt: skip


def outlier_positions(words: NDArray[Any], outliers: NDArray[Any]) -> tuple[NDArray[np.int64], float]:
    """Return the position of each outlier (m, d) among itself and n words (n, d), and the words' mean cosine.

    The position (m,) is n if all words fit the others better, and 0 if none does. Ties count against the outlier.
    """
    # c(w) = sum of the cosines of all pairs without w, over their number = (sum of all - sum of those with w) / number,
    # so the order of c is the reverse of that of the sums of the cosines with w.
    inner, n = unit_rows(words), len(words)
    cosines = inner @ inner.T
    np.fill_diagonal(cosines, 0)
    across = unit_rows(outliers) @ inner.T
    with_others = cosines.sum(axis=1) + across  # (m, n): for each outlier, the sum of each word's cosines
    positions = (with_others > across.sum(axis=1, keepdims=True) + 1e-12).sum(axis=1)
    return positions, float(cosines.sum() / (n * (n - 1)))
