"""The commands `eval analogies` and `eval similarity`: print how well vectors do on analogies or word pairs.

The scores are computed in embeddings/analogies.py and embeddings/similarity.py.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import click

from w2vtrain.commands.inputs import readable, refuse_stdin_twice
from w2vtrain.commands.options import CODES, restrict_option, scoring_options
from w2vtrain.commands.shell import imports
from w2vtrain.commands.spelling import Catalogue
from w2vtrain.errors import BelowThreshold
from w2vtrain.system.terminal import echo

unseen_option: Any = click.option(
    "--unseen", is_flag=True,
    help="Count words that are not in the vocabulary or beyond --restrict-vocab. VECTORS must be a model with subwords,"
    " whose n-grams give vectors to them. They are then possible answers, too.",
)  # fmt: skip


@click.group(name="eval", cls=Catalogue, epilog=CODES)
def evaluate() -> None:
    """Score vectors on analogies or word similarity."""


@evaluate.command(epilog=CODES, short_help="Score vectors on analogy questions.")
@click.argument("vectors")
@click.argument("questions", default="questions-words")
@restrict_option(30_000)
@unseen_option
@scoring_options
def analogies(vectors: str, questions: str, as_json: bool, fail_under: float | None, **options: Any) -> None:
    """Answer the analogy questions in the file QUESTIONS with VECTORS, and print the accuracy by section. Without
    QUESTIONS, ask Google's 19,544 questions, which come with the package.

    Each line of QUESTIONS has four words, `a b c d`; `: name` begins a section. An answer is correct if d is the word
    nearest to b - a + c.
    """
    with imports():
        from w2vtrain.embeddings.analogies import evaluate_analogies
        from w2vtrain.embeddings.datasets import read_questions

    def asked(path: str) -> Iterator[Sequence[str]]:
        return (question for _, question in read_questions(path) if question)

    report = _evaluated(evaluate_analogies, asked, vectors, questions, as_json, **options)
    if not as_json:
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


@evaluate.command(epilog=CODES, short_help="Score vectors on human similarity judgments.")
@click.argument("vectors")
@click.argument("pairs")
@restrict_option(0)
@unseen_option
@scoring_options
def similarity(vectors: str, pairs: str, as_json: bool, fail_under: float | None, **options: Any) -> None:
    """Correlate cosines of VECTORS with the human scores in the file PAIRS, one `word word score` per line. The names
    wordsim353 and simlex999 stand for the sets that come with the package.
    """
    with imports():
        from w2vtrain.embeddings.datasets import read_pairs
        from w2vtrain.embeddings.similarity import evaluate_similarity

    def asked(path: str) -> Iterator[Sequence[str]]:
        return ((left, right) for left, right, _ in read_pairs(path))

    report = _evaluated(evaluate_similarity, asked, vectors, pairs, as_json, **options)
    if not as_json:
        low, high = report.interval
        echo(
            f"Spearman {report.spearman:.4f} (95% interval {low:.4f} to {high:.4f}), Pearson {report.pearson:.4f};"
            f" {report.answered} of {report.asked} pairs covered"
        )
    _require(report.spearman, fail_under, "Spearman's correlation")


def _evaluated(
    evaluate: Callable[..., Any], asked: Callable[[str], Iterator[Sequence[str]]], vectors: str, dataset: str,
    as_json: bool, restrict_vocab: int, case_sensitive: bool, unseen: bool,
) -> Any:  # fmt: skip
    """Return the report on a file of vectors and one of questions or pairs, of which one may be stdin; print JSON.

    asked: returns the words of each question of a dataset; unseen: compose the vectors of those that are not in the
    vocabulary.
    """
    with imports():
        from w2vtrain.embeddings.bundled import located
        from w2vtrain.embeddings.unseen import count_unseen, with_unseen
        from w2vtrain.formats.vectors import read_vectors
        from w2vtrain.system.json_text import json_text
    dataset = located(dataset)
    refuse_stdin_twice(vectors, dataset)
    with readable(vectors) as path:
        loaded = read_vectors(path)
    limit, facts = restrict_vocab or None, {}
    with readable(dataset) as path:
        if unseen:
            questions = list(asked(path))
            extended = with_unseen(loaded, chain.from_iterable(questions), limit, not case_sensitive)
            words, count = count_unseen(loaded, extended, questions, not case_sensitive)
            facts = {"restrict_vocab": limit, "unseen_words": words, "answered_with_unseen_words": count}
            echo(
                f"{words:,} words are not in the vocabulary: their n-grams give vectors; {count:,} of the questions or"
                " pairs that are answered have such a word", err=True,
            )  # fmt: skip
            loaded, limit = extended, None
        report = evaluate(loaded, path, restrict_vocab=limit, case_insensitive=not case_sensitive)
    if as_json:
        echo(json_text(report.to_dict() | facts))
    return report


def _require(value: float, threshold: float | None, score: str) -> None:
    """Raise BelowThreshold if the value is below --fail-under."""
    if threshold is not None and value < threshold:
        raise BelowThreshold(f"{score} {value:.4f} is below --fail-under {threshold:g}")
