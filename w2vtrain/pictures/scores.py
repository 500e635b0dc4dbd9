"""Score vectors on the evaluation sets that come with the package, and on files of the user, for a report.

The scores are computed in embeddings/, as `eval` does, with the same defaults.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from w2vtrain.embeddings.analogies import AnalogyScore, evaluate_analogies
from w2vtrain.embeddings.bundled import Kind, bundled_sets
from w2vtrain.embeddings.datasets import read_pairs, read_questions
from w2vtrain.embeddings.similarity import evaluate_similarity
from w2vtrain.errors import DataError
from w2vtrain.formats.vectors import Vectors

ANALOGY_WORDS = 30_000
"""Words, the most frequent ones, among which analogies are answered, as `eval analogies` does by default."""
FEW, LOW = 50, 0.5
"""Answered questions or pairs below which a score says nothing, and coverage below which it is not comparable."""


class Score(NamedTuple):
    """A score and its 95% interval; None for all three if there is none.

    measure: "accuracy" or "Spearman"; answered, asked: questions or pairs; part: a part of the set in the line above;
    remark: what limits the meaning of the score, or "".
    """

    name: str
    measure: str
    value: float | None
    low: float | None
    high: float | None
    answered: int
    asked: int
    remark: str = ""
    part: bool = False


def scores_of(vectors: Vectors, questions: Sequence[str] = (), pairs: Sequence[str] = ()) -> list[Score]:
    """Return the scores on all bundled sets, and on these files of analogy questions and of word pairs.

    Raise InputMissing if a file cannot be opened, and DataError, naming the line, if one is malformed.
    """
    sets: list[tuple[str, Kind, str]] = [(one.name, one.kind, str(one.path)) for one in bundled_sets()]
    sets += [(path, "analogies", path) for path in questions] + [(path, "similarity", path) for path in pairs]
    found = []
    for name, kind, path in sets:
        found += (_analogies if kind == "analogies" else _similarity)(vectors, name, path)
    return found


def _analogies(vectors: Vectors, name: str, path: str | Path) -> list[Score]:
    asked = sum(question is not None for _, question in read_questions(path))
    try:
        report = evaluate_analogies(vectors, path, restrict_vocab=ANALOGY_WORDS)
    except DataError as error:
        return [Score(name, "accuracy", None, None, None, 0, asked, _without(error, path))]
    parts = [report.semantic, report.syntactic] if report.semantic.asked and report.syntactic.asked else []
    return [_accuracy(name, report.total), *(_accuracy(part.name, part, True) for part in parts)]


def _accuracy(name: str, score: AnalogyScore, part: bool = False) -> Score:
    low, high = score.interval or (None, None)
    remark = remark_on(score.answered, score.asked)
    return Score(name, "accuracy", score.accuracy, low, high, score.answered, score.asked, remark, part)


def _similarity(vectors: Vectors, name: str, path: str | Path) -> list[Score]:
    asked = sum(1 for _ in read_pairs(path))
    try:
        report = evaluate_similarity(vectors, path, restrict_vocab=None)
    except DataError as error:
        return [Score(name, "Spearman", None, None, None, 0, asked, _without(error, path))]
    remark = remark_on(report.answered, report.asked)
    return [Score(name, "Spearman", report.spearman, *report.interval, report.answered, report.asked, remark)]


def _without(error: DataError, path: str | Path) -> str:
    """Return why there is no score, without the path, which the line names already."""
    return str(error).removeprefix(f"{path}: ")


def remark_on(answered: int, asked: int) -> str:
    """Return what a small coverage means for a score."""
    if answered < FEW:
        return f"too few to mean anything: {answered:,} of {asked:,}"
    if answered < LOW * asked:
        return f"only {answered / asked:.0%} covered: not comparable with scores on the whole set"
    return ""
