"""Score vectors on the evaluation sets that come with the package, and on files of the user, for a report.

The scores are computed in embeddings/, as `eval` does, with the same defaults.
"""

from collections.abc import Sequence
from typing import NamedTuple

from w2vtrain.embeddings.analogies import AnalogyScore, evaluate_analogies
from w2vtrain.embeddings.bundled import Kind, bundled_sets
from w2vtrain.embeddings.datasets import read_pairs, read_questions
from w2vtrain.embeddings.similarity import SimilarityReport, evaluate_similarity
from w2vtrain.errors import NoKnownWords, UndefinedScore
from w2vtrain.formats.vectors import Vectors

MIN_ANSWERED, MIN_COVERAGE = 50, 0.5
"""Answered questions or pairs below which a score says nothing, and coverage below which it is not comparable."""


class Score(NamedTuple):
    """A score and its 95% interval; None for both if there is none.

    measure: "accuracy" or "Spearman"; answered, asked: questions or pairs; remark: what limits the meaning of the
    score, or ""; is_part: of a part of the set in the line above.
    """

    name: str
    measure: str
    value: float | None
    interval: tuple[float, float] | None
    answered: int
    asked: int
    remark: str = ""
    is_part: bool = False


def scores_of(vectors: Vectors, questions: Sequence[str] = (), pairs: Sequence[str] = ()) -> list[Score]:
    """Return the scores on all bundled sets, and on these files of analogy questions and of word pairs.

    Raise InputMissing if a file cannot be opened, and DataError, naming the line, if one is malformed.
    """
    sets: list[tuple[str, Kind, str]] = [(one.name, one.kind, str(one.path)) for one in bundled_sets()]
    sets += [(path, "analogies", path) for path in questions] + [(path, "similarity", path) for path in pairs]
    return [score for name, kind, path in sets for score in _scores(vectors, name, kind, path)]


def _scores(vectors: Vectors, name: str, kind: Kind, path: str) -> list[Score]:
    """Return the score on one set and, for analogies, on its semantic and its syntactic part."""
    try:
        if kind == "similarity":
            measure, asked = "Spearman", sum(1 for _ in read_pairs(path))
            pairs = evaluate_similarity(vectors, path, restrict_vocab=None)
            return [_score(name, measure, pairs.spearman, pairs)]
        measure, asked = "accuracy", sum(question is not None for _, question in read_questions(path))
        report = evaluate_analogies(vectors, path)
    except (NoKnownWords, UndefinedScore) as error:  # the line names the path already
        return [Score(name, measure, None, None, 0, asked, str(error).removeprefix(f"{path}: "))]
    parts = [report.semantic, report.syntactic] if report.semantic.asked and report.syntactic.asked else []
    total = _score(name, measure, report.total.accuracy, report.total)
    return [total, *(_score(part.name, measure, part.accuracy, part, True) for part in parts)]


def _score(
    name: str, measure: str, value: float | None, report: AnalogyScore | SimilarityReport, is_part: bool = False
) -> Score:
    remark = remark_on(report.answered, report.asked)
    return Score(name, measure, value, report.interval, report.answered, report.asked, remark, is_part)


def remark_on(answered: int, asked: int) -> str:
    """Return what a small coverage means for a score."""
    if answered < MIN_ANSWERED:
        return f"too few to mean anything: {answered:,} of {asked:,}"
    if answered < MIN_COVERAGE * asked:
        return f"only {answered / asked:.0%} covered: not comparable with scores on the whole set"
    return ""
