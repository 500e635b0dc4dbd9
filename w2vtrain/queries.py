"""The commands that ask a finished file: evaluation, neighbours, what a file is, what objectives there are.

They print to standard output and compute nothing themselves.
"""

import inspect
import json
import sys
from collections.abc import Callable, Iterable
from typing import Any

import click

from . import evaluation
from .errors import BelowThreshold, DataError
from .model import describe
from .objectives import objective_class, objectives, option_defaults
from .vectors import load_keyed_vectors


def print_analogies(
    vectors: str, questions: str, restrict_vocab: int, case_sensitive: bool, as_json: bool, fail_under: float | None
) -> None:
    """A table by section, or JSON."""
    report = evaluation.analogies(
        load_keyed_vectors(vectors),
        questions,
        restrict_vocab=restrict_vocab or None,
        case_insensitive=not case_sensitive,
    )
    if as_json:
        click.echo(json.dumps(report.to_dict()))
    else:
        for score in (*report.sections, report.semantic, report.syntactic, report.total):
            accuracy = "    -" if score.accuracy is None else f"{score.accuracy:5.1%}"
            click.echo(f"{score.name:<30} {accuracy}  {score.correct:6,} of {score.answered:6,} answered, {score.asked:6,} asked")
        total = report.total.to_dict()
        low, high = total["interval"]
        click.echo(
            f"accuracy {total['accuracy']:.4f} (95% interval {low:.4f} to {high:.4f}) of those answered,"
            f" {total['accuracy_of_all']:.4f} of all; coverage {total['coverage']:.1%}"
        )
    require(report.total.accuracy or 0.0, fail_under, "accuracy")


def print_similarity(
    vectors: str, pairs: str, restrict_vocab: int, case_sensitive: bool, as_json: bool, fail_under: float | None
) -> None:
    """One line, or JSON."""
    report = evaluation.similarity(
        load_keyed_vectors(vectors), pairs, restrict_vocab=restrict_vocab or None, case_insensitive=not case_sensitive
    )
    if as_json:
        click.echo(json.dumps(report.to_dict()))
    else:
        low, high = report.interval
        click.echo(
            f"Spearman {report.spearman:.4f} (95% interval {low:.4f} to {high:.4f}), Pearson {report.pearson:.4f};"
            f" {report.answered} of {report.asked} pairs covered"
        )
    require(report.spearman, fail_under, "Spearman's correlation")


def require(value: float, threshold: float | None, what: str) -> None:
    """BelowThreshold if the value is below what --fail-under asks."""
    if threshold is not None and value < threshold:
        raise BelowThreshold(f"{what} {value:.4f} is below --fail-under {threshold:g}")


def print_neighbors(vectors: str, words: Iterable[list[str]], topn: int, as_json: bool) -> None:
    """One word and its neighbours a line."""
    _print_answers(vectors, words, lambda kv, word: evaluation.neighbors(kv, word[0], topn), as_json)


def print_analogy(vectors: str, triples: Iterable[list[str]], topn: int, as_json: bool) -> None:
    """The three words and the answers a line."""
    _print_answers(vectors, triples, lambda kv, words: evaluation.analogy(kv, *words, topn=topn), as_json)


def _print_answers(
    vectors: str, queries: Iterable[list[str]], answer: Callable[[Any, list[str]], Any], as_json: bool
) -> None:
    """One answer a line as soon as it is known; an unknown word is told and does not end the others' answers."""
    kv, unknown = load_keyed_vectors(vectors), []
    for query in queries:
        try:
            found = answer(kv, query)
        except DataError as error:
            unknown.append(str(error))
            click.echo(f"w2vtrain: {error}", err=True)
            continue
        if as_json:
            click.echo(json.dumps({"query": query, "answers": [[word, round(value, 6)] for word, value in found]}))
        else:
            click.echo(f"{' '.join(query)}\t" + " ".join(f"{word} {value:.3f}" for word, value in found))
        sys.stdout.flush()
    if unknown:
        raise DataError(f"{len(unknown)} quer{'y' if len(unknown) == 1 else 'ies'} with words that {vectors} does not have")


def print_info(path: str, as_json: bool) -> None:
    """What a file is, a fact a line."""
    about = describe(path)
    if as_json:
        click.echo(json.dumps(about))
    else:
        _print_facts(about)


def _print_facts(facts: dict[str, Any], indent: str = "") -> None:
    for name, value in facts.items():
        if isinstance(value, dict):
            click.echo(f"{indent}{name}")
            _print_facts(value, indent + "  ")
        else:
            text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value
            click.echo(f"{indent}{name:<14} {text}")


def print_objectives(name: str | None) -> None:
    """All objectives with their formulas, or one with its paper, options and default rates."""
    if name is None:
        for known, cls in objectives().items():
            click.echo(f"{known:<18} {(inspect.getdoc(cls) or '').splitlines()[0]}")
        return
    cls = objective_class(name)
    click.echo(f"{name}\n\n{inspect.getdoc(cls)}\n\noptions (-O key=value)")
    for key, value in option_defaults(name).items() or {"none": ""}.items():
        click.echo(f"  {key:<16} {value}")
    click.echo(f"\n{inspect.getdoc(cls.build)}\n\ndefault alpha")
    for model, alpha in cls.alpha.items():
        click.echo(f"  {model:<16} {alpha}")
