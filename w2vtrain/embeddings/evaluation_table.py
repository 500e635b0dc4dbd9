"""Score vectors on several evaluation sets, and return one row per set, with an interval.

bundled.py names the sets that come with the package; the evaluations are in the modules named after them.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from w2vtrain.embeddings.analogies import Method, evaluate_analogies
from w2vtrain.embeddings.bundled import EvaluationSet, Kind
from w2vtrain.embeddings.categories import evaluate_categories
from w2vtrain.embeddings.evaluation_rules import ANALOGY_WORDS, PLAIN, Rules
from w2vtrain.embeddings.outliers import evaluate_outliers
from w2vtrain.embeddings.similarity import evaluate_similarity
from w2vtrain.errors import NoKnownWords, UndefinedScore
from w2vtrain.formats.vectors import Vectors

EVALUATIONS: dict[Kind, tuple[Callable[..., Any], str, str]] = {
    "analogies": (evaluate_analogies, "accuracy", "accuracy"),
    "similarity": (evaluate_similarity, "Spearman", "spearman"),
    "outliers": (evaluate_outliers, "accuracy", "accuracy"),
    "categories": (evaluate_categories, "purity", "purity"),
}
"""Each kind of evaluation, the name of the score that the table shows, and the attribute that holds it."""


class Row(NamedTuple):
    """The score of vectors on a set, with its 95% interval; None if there is none.

    measure: what the score is; answered, asked: the questions, pairs or words that count, and those of the file; note:
    why there is no score.
    """

    name: str
    kind: str
    measure: str
    score: float | None
    interval: tuple[float, float] | None
    answered: int
    asked: int | None
    note: str | None = None


def evaluate_all(
    vectors: Vectors,
    sets: Iterable[EvaluationSet],
    *,
    restrict_vocab: int | None = None,
    analogy_words: int | None = ANALOGY_WORDS,
    case_insensitive: bool = True,
    method: Method = "3cosadd",
    protocol: Rules = PLAIN,
) -> list[Row]:
    """Return one row per set, in their order.

    restrict_vocab: how many of the most frequent words count (None: all); analogy_words: the same for analogies;
    method, protocol: see analogies.py and evaluation_rules.py. Raise the errors of the evaluations, except
    NoKnownWords and UndefinedScore.
    """
    common = {"restrict_vocab": restrict_vocab, "case_insensitive": case_insensitive}
    own: dict[Kind, dict[str, Any]] = {
        "analogies": {"restrict_vocab": analogy_words, "method": method, "protocol": protocol},
        "similarity": {"protocol": protocol},
    }
    rows = []
    for name, kind, path in sets:
        evaluate, measure, attribute = EVALUATIONS[kind]
        try:
            report = evaluate(vectors, path, **common | own.get(kind, {}))
        except (NoKnownWords, UndefinedScore) as error:
            note = str(error).removeprefix(f"{path}: ")
            rows.append(Row(name, kind, measure, None, None, 0, None, note))
            continue
        result = report.total if kind == "analogies" else report
        score = getattr(result, attribute)
        rows.append(Row(name, kind, measure, score, result.interval, result.answered, result.asked))
    return rows
