"""The fields of what one trial of a comparison measured: those of its result file, and of an entry of compare.json."""

from typing import Annotated, Any, NotRequired, TypedDict

from msgspec import Meta

from w2vtrain.errors import DataError
from w2vtrain.system.json_text import typed

Positive = Annotated[float, Meta(gt=0.0)]
Size = Annotated[int, Meta(ge=1, le=2**63 - 1)]
FiniteOrNull = float | None
"""A number, or null if it was infinite or NaN."""


class CurvePoint(TypedDict):
    """A point of the curve: CPU seconds of training so far, and the perplexity of held-out text."""

    seconds: float
    perplexity: FiniteOrNull


class CurveSoFar(TypedDict):
    """The curve of a trial that is not finished, in a file of its own."""

    points: list[CurvePoint]


class Phases(TypedDict):
    """The seconds of training, among those of other phases."""

    training: float


class ScoredText(TypedDict):
    """The score of the test text: see training.state.PerplexityScore.

    coverage: the share of its words that the vocabulary has; parts: the predictions and the loss of each part of it.
    """

    perplexity: FiniteOrNull
    unnormalized: FiniteOrNull
    bits: FiniteOrNull
    log_z_mean: FiniteOrNull
    log_z_variance: FiniteOrNull
    examples: Size
    coverage: float
    parts: NotRequired[list[tuple[float, FiniteOrNull]]]


class ScoringSpeed(TypedDict):
    """The speed of scoring: see trial.scoring."""

    per_second: Positive
    reference: Positive
    ratios: Annotated[list[Positive], Meta(min_length=1)]
    same: bool


class Finished(TypedDict):
    """The result of a run that has ended.

    job: the fields of trial.Trial; width: of an output row; scores: of the vectors, by test.
    """

    job: dict[str, Any]
    seconds: Phases
    words_per_second: float
    words_per_cpu_second: float | None
    output_parameters: Size
    peak_memory_bytes: Size
    vocabulary: Size
    corpus_words: Size
    width: Size
    curve: list[CurvePoint]
    test: ScoredText
    scoring: ScoringSpeed
    scores: dict[str, FiniteOrNull]


class Failed(TypedDict):
    """The result of a run that diverged: its error message."""

    job: dict[str, Any]
    failed: str


def check_result(values: dict[str, Any], start: str, remedy: str) -> None:
    """Raise DataError, which begins with `start` and names the field at fault, unless parsed JSON is a result."""
    typed(values, Finished if "test" in values or "failed" not in values else Failed, start, remedy)
    if "failed" in values and "test" in values:
        raise DataError(f"{start}: it has both `failed` and `test`{remedy}")
