"""The commands that ask a finished file: evaluation, neighbours, what a file is, what objectives there are.

They print to standard output and compute nothing themselves.
"""

import inspect
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from . import evaluation
from .errors import BelowThreshold, DataError, UsageError, W2VError
from .files import STDOUT
from .model import describe
from .objectives import checked_options, objective_class, objective_defaults, objectives, option_defaults
from .vectors import load_keyed_vectors


@contextmanager
def readable(path: str) -> Iterator[str]:
    """The name of a file that can be read twice and by parts, as vectors are: `-` is what standard input holds."""
    if path != STDOUT:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="w2vtrain-") as folder:
        name = str(Path(folder, "stdin"))
        with Path(name).open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        try:
            yield name
        except W2VError as error:
            raise type(error)(str(error).replace(name, "standard input")) from error


def load(vectors: str) -> Any:
    """The KeyedVectors of gensim that a file holds."""
    with readable(vectors) as path:
        return load_keyed_vectors(path)


def print_analogies(
    vectors: str, questions: str, restrict_vocab: int, case_sensitive: bool, as_json: bool, fail_under: float | None
) -> None:
    """A table by section, or JSON."""
    once(vectors, questions)
    kv = load(vectors)
    with readable(questions) as path:
        report = evaluation.analogies(
            kv, path, restrict_vocab=restrict_vocab or None, case_insensitive=not case_sensitive
        )
    if as_json:
        click.echo(json.dumps(report.to_dict()))
    else:
        for score in (*report.sections, report.semantic, report.syntactic, report.total):
            accuracy = "    -" if score.accuracy is None else f"{score.accuracy:5.1%}"
            counts = f"{score.correct:6,} of {score.answered:6,} answered, {score.asked:6,} asked"
            click.echo(f"{score.name:<30} {accuracy}  {counts}")
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
    once(vectors, pairs)
    kv = load(vectors)
    with readable(pairs) as path:
        report = evaluation.similarity(
            kv, path, restrict_vocab=restrict_vocab or None, case_insensitive=not case_sensitive
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


def once(*paths: str) -> None:
    """UsageError if standard input is named twice."""
    if paths.count(STDOUT) > 1:
        raise UsageError("-: stdin cannot be two files")


def require(value: float, threshold: float | None, what: str) -> None:
    """BelowThreshold if the value is below what --fail-under asks."""
    if threshold is not None and value < threshold:
        raise BelowThreshold(f"{what} {value:.4f} is below --fail-under {threshold:g}")


def print_neighbors(vectors: str, words: Iterable[list[str]], topn: int, as_json: bool) -> None:
    """One word and its neighbours a line."""
    _print_answers(vectors, words, lambda kv, word: evaluation.neighbors(kv, word[0], topn), as_json)


def print_analogy(vectors: str, triples: Iterable[list[str]], topn: int, as_json: bool) -> None:
    """The three words and the answers a line."""
    _print_answers(
        vectors, triples, lambda kv, words: evaluation.analogy(kv, words[0], words[1], words[2], topn), as_json
    )


def _print_answers(
    vectors: str, queries: Iterable[list[str]], answer: Callable[[Any, list[str]], Any], as_json: bool
) -> None:
    """One answer a line as soon as it is known; an unknown word is told and does not end the others' answers."""
    kv = load(vectors)
    asked = 0
    unknown: list[DataError] = []
    for query in queries:
        asked += 1
        try:
            found = answer(kv, query)
        except DataError as error:
            if isinstance(queries, list) and len(queries) == 1:
                raise
            unknown.append(error)
            click.echo(f"w2vtrain: warning: {error}", err=True)
            continue
        if as_json:
            click.echo(json.dumps({"query": query, "answers": [[word, round(value, 6)] for word, value in found]}))
        else:
            click.echo(f"{' '.join(query)}\t" + " ".join(f"{word} {value:.3f}" for word, value in found))
        sys.stdout.flush()
    if unknown:
        raise DataError(f"{vectors}: {len(unknown)} of {asked} lookups named a word that it does not have")


def print_info(path: str, as_json: bool) -> None:
    """What a file is, a fact a line."""
    with readable(path) as name:
        about = {**describe(name), "path": path}
    if as_json:
        click.echo(json.dumps(about))
    else:
        exact = about.pop("words_exact", True)
        _print_facts(about if exact else {**about, "words": f"about {about['words']:,}"})


def _print_facts(facts: dict[str, Any], indent: str = "") -> None:
    for name, value in facts.items():
        if isinstance(value, dict):
            click.echo(f"{indent}{name}" if value else f"{indent}{name:<{20 - len(indent)}} none")
            _print_facts(value, indent + "  ")
        elif isinstance(value, list) and value and all(isinstance(part, dict) for part in value):
            click.echo(f"{indent}{name}")
            for part in value:
                click.echo(f"{indent}  " + ", ".join(f"{key} {_fact(part[key])}" for key in part))
        else:
            click.echo(f"{indent}{name:<{20 - len(indent)}} {_fact(value)}")


def _fact(value: Any) -> str:
    """A value as people write it."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " x ".join(_fact(part) for part in value)
    if isinstance(value, dict):
        return f"({', '.join(f'{key} {_fact(part)}' for key, part in value.items())})"
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}" if isinstance(value, float) else str(value)


def print_objectives(name: str | None = None) -> None:
    """All objectives with their formulas, or one with its paper, options and default rates."""
    if name is None:
        for known, cls in objectives().items():
            click.echo(f"{known:<18} {(inspect.getdoc(cls) or '').splitlines()[0]}")
        return
    cls = objective_class(name)
    click.echo(f"{name}\n\n{inspect.getdoc(cls)}\n\noptions and their defaults")
    for key, value in option_defaults(name).items():
        click.echo(f"  -O {key}={json.dumps(value)}")
    if not option_defaults(name):
        click.echo("  none")
    click.echo(f"\n{inspect.getdoc(cls.build)}\n\ndefaults")
    for model, settings in objective_defaults(name).items():
        click.echo(f"  {model:<16} " + ", ".join(f"{key} {value}" for key, value in settings.items()))


def check_objective(name: str, options: dict[str, Any]) -> None:
    """Check gradients and probabilities, with and without biases; BelowThreshold if one does not hold."""
    from .checks import check

    options, failed = checked_options(name, options), 0
    for bias in (False, True):
        click.echo(f"{name}, {'with' if bias else 'without'} biases")
        for finding in check(name, options, bias):
            click.echo(f"  {'ok  ' if finding.holds else 'FAIL'}  {finding.what}: {finding.figure}")
            failed += not finding.holds
    if failed:
        raise BelowThreshold(f"{failed} checks of {name} do not hold")
