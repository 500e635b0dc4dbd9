"""Score vectors on several evaluation sets, and return one row per set, with an interval.

bundled.py names the sets that come with the package; the evaluations are in the modules named after them.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from w2vtrain.embeddings.analogies import Method, evaluate_analogies
from w2vtrain.embeddings.bundled import EvaluationSet
from w2vtrain.embeddings.categories import evaluate_categories
from w2vtrain.embeddings.outliers import evaluate_outliers
from w2vtrain.embeddings.protocols import PLAIN, Protocol
from w2vtrain.embeddings.similarity import evaluate_similarity
from w2vtrain.errors import NoKnownWords, UndefinedScore
from w2vtrain.formats.vectors import Vectors

ANALOGY_WORDS = 30_000
"""The words among which `eval analogies` searches unless told otherwise. The other evaluations use all words."""


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

    def to_dict(self) -> dict[str, Any]:
        """Return the row as built-in types, ready for JSON."""
        return self._asdict()


MEASURES = {"analogies": "accuracy", "similarity": "Spearman", "outliers": "accuracy", "categories": "purity"}
"""The score of each kind of evaluation that the table shows."""


def evaluate_all(
    vectors: Vectors,
    sets: Iterable[EvaluationSet],
    *,
    restrict_vocab: int | None = None,
    analogy_words: int | None = ANALOGY_WORDS,
    case_insensitive: bool = True,
    method: Method = "3cosadd",
    protocol: Protocol = PLAIN,
) -> list[Row]:
    """Return one row per set, in their order.

    restrict_vocab: how many of the most frequent words count (None: all); analogy_words: the same for analogies;
    method, protocol: see analogies.py and protocols.py. Raise the errors of the evaluations, except NoKnownWords and
    UndefinedScore.
    """
    options: dict[str, Any] = {"restrict_vocab": restrict_vocab, "case_insensitive": case_insensitive}

    def row(one: EvaluationSet) -> Row:
        if one.kind == "analogies":
            among = options | {"restrict_vocab": analogy_words, "method": method, "protocol": protocol}
            total = evaluate_analogies(vectors, one.path, **among).total
            return Row(one.name, one.kind, "accuracy", total.accuracy, total.interval, total.answered, total.asked)
        if one.kind == "similarity":
            pairs = evaluate_similarity(vectors, one.path, **options, protocol=protocol)
            score, interval = pairs.spearman, pairs.interval
            return Row(one.name, one.kind, "Spearman", score, interval, pairs.answered, pairs.asked)
        if one.kind == "outliers":
            odd = evaluate_outliers(vectors, one.path, **options)
            return Row(one.name, one.kind, "accuracy", odd.accuracy, odd.interval, odd.answered, odd.asked)
        found = evaluate_categories(vectors, one.path, **options)
        return Row(one.name, one.kind, "purity", found.purity, found.interval, found.answered, found.asked)

    rows = []
    for one in sets:
        try:
            rows.append(row(one))
        except (NoKnownWords, UndefinedScore) as error:
            note = str(error).removeprefix(f"{one.path}: ")
            rows.append(Row(one.name, one.kind, MEASURES[one.kind], None, None, 0, None, note))
    return rows
