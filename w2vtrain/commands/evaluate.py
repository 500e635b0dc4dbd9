"""The commands `eval analogies` and `eval similarity`: print how well vectors do on analogies or word pairs.

The scores are computed in embeddings/analogies.py and embeddings/similarity.py.
"""

from collections.abc import Callable
from typing import TypeVar

from w2vtrain.commands.inputs import readable, refuse_stdin_twice
from w2vtrain.embeddings.analogies import evaluate_analogies
from w2vtrain.embeddings.similarity import evaluate_similarity
from w2vtrain.errors import BelowThreshold
from w2vtrain.formats.vectors import read_vectors
from w2vtrain.system.json_text import json_text
from w2vtrain.system.terminal import echo

Report = TypeVar("Report")


def print_analogies(
    vectors: str, questions: str, restrict_vocab: int, case_sensitive: bool, as_json: bool, fail_under: float | None
) -> None:
    """Print a table by section, or JSON. Raise BelowThreshold if the accuracy is below `fail_under`."""
    report = _evaluated(evaluate_analogies, vectors, questions, restrict_vocab, case_sensitive)
    if as_json:
        echo(json_text(report.to_dict()))
    else:
        for score in (*report.sections, report.semantic, report.syntactic, report.total):
            accuracy = "    -" if score.accuracy is None else f"{score.accuracy:5.1%}"
            counts = f"{score.correct:6,} correct of {score.answered:6,} answered, {score.asked:6,} asked"
            echo(f"{score.name:<30} {accuracy}  {counts}")
        total = report.total.to_dict()
        low, high = total["interval"]
        echo(
            f"accuracy {total['accuracy']:.4f} (95% interval {low:.4f} to {high:.4f}, by {total['pairs']:,} word pairs)"
            f" of those answered, {total['accuracy_of_all']:.4f} of all; coverage {total['coverage']:.1%}"
        )
    _require(report.total.accuracy or 0.0, fail_under, "accuracy")


def print_similarity(
    vectors: str, pairs: str, restrict_vocab: int, case_sensitive: bool, as_json: bool, fail_under: float | None
) -> None:
    """Print one line, or JSON. Raise BelowThreshold if Spearman's correlation is below `fail_under`."""
    report = _evaluated(evaluate_similarity, vectors, pairs, restrict_vocab, case_sensitive)
    if as_json:
        echo(json_text(report.to_dict()))
    else:
        low, high = report.interval
        echo(
            f"Spearman {report.spearman:.4f} (95% interval {low:.4f} to {high:.4f}), Pearson {report.pearson:.4f};"
            f" {report.answered} of {report.asked} pairs covered"
        )
    _require(report.spearman, fail_under, "Spearman's correlation")


def _evaluated(
    evaluate: Callable[..., Report], vectors: str, dataset: str, restrict_vocab: int, case_sensitive: bool
) -> Report:
    """Return the report on a file of vectors and one of questions or pairs, of which one may be standard input."""
    refuse_stdin_twice(vectors, dataset)
    with readable(vectors) as name:
        loaded = read_vectors(name)
    with readable(dataset) as name:
        return evaluate(loaded, name, restrict_vocab=restrict_vocab or None, case_insensitive=not case_sensitive)


def _require(value: float, threshold: float | None, name: str) -> None:
    """Raise BelowThreshold if the value is below --fail-under."""
    if threshold is not None and value < threshold:
        raise BelowThreshold(f"{name} {value:.4f} is below --fail-under {threshold:g}")
