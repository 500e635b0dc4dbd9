"""The commands that ask a finished file: evaluation, neighbours, what a file is, what objectives there are.

They print to standard output and compute nothing themselves.
"""

import inspect
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from w2vtrain.errors import BelowThreshold, DataError, InputMissing, UsageError, W2VError, WriteError
from w2vtrain.evaluation import evaluation
from w2vtrain.formats.describe import describe
from w2vtrain.formats.vectors import read_vectors, to_keyed_vectors
from w2vtrain.objectives import (
    allow_code,
    checked_options,
    objective_class,
    objective_defaults,
    objectives,
    option_defaults,
)
from w2vtrain.system.files import STDOUT
from w2vtrain.system.json_text import json_text
from w2vtrain.system.terminal import echo, escaped_line, interrupts_end_imports, warning

Queries = Sequence[list[str]]
COPIED = 1 << 20
"""Bytes of standard input that are copied at a time."""


@contextmanager
def readable(path: str) -> Iterator[str]:
    """Give the name of a file that can be read twice and in parts, as vectors are; `-` is a copy of standard input.

    Raises InputMissing if standard input cannot be read, WriteError if the folder for temporary files has no room.
    """
    if path != STDOUT:
        yield path
        return
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="w2vtrain-"))
            name = str(Path(folder, "stdin"))
            with Path(name).open("wb") as file:
                for block in from_stdin(lambda: sys.stdin.buffer.read(COPIED)):
                    file.write(block)
        except OSError as error:
            raise WriteError(
                f"{tempfile.tempdir or 'the folder for temporary files'} cannot be written: {error.strerror}; standard"
                " input is copied there: set TMPDIR to a folder with room"
            ) from error
        try:
            yield name
        except W2VError as error:
            raise type(error)(str(error).replace(name, "standard input")) from error


def from_stdin(read: Callable[[], bytes]) -> Iterator[bytes]:
    """Give what calls of `read` find in standard input, to its end; InputMissing if it cannot be read."""
    try:
        yield from iter(read, b"")
    except OSError as error:
        raise InputMissing(f"standard input cannot be read: {error.strerror}") from error


def load(vectors: str) -> Any:
    """Return the vectors of a file as gensim's KeyedVectors."""
    with readable(vectors) as path:
        found = read_vectors(path)
    with interrupts_end_imports():  # gensim's take a second
        return to_keyed_vectors(found)


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
        echo(json_text(report.to_dict()))
    else:
        for score in (*report.sections, report.semantic, report.syntactic, report.total):
            accuracy = "    -" if score.accuracy is None else f"{score.accuracy:5.1%}"
            counts = f"{score.correct:6,} of {score.answered:6,} answered, {score.asked:6,} asked"
            echo(f"{score.name:<30} {accuracy}  {counts}")
        total = report.total.to_dict()
        low, high = total["interval"]
        echo(
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
        echo(json_text(report.to_dict()))
    else:
        low, high = report.interval
        echo(
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


def print_neighbors(vectors: str, words: Queries | None, topn: int, as_json: bool, strict: bool) -> None:
    """Print each word and its neighbors. words, topn, as_json, strict: see `_print_answers`."""
    _print_answers(vectors, words, 1, lambda kv, word: evaluation.neighbors(kv, word[0], topn), as_json, strict)


def print_analogy(vectors: str, triples: Queries | None, topn: int, as_json: bool, strict: bool) -> None:
    """Print each three words and the answers. triples, topn, as_json, strict: see `_print_answers`."""
    _print_answers(
        vectors,
        triples,
        3,
        lambda kv, words: evaluation.analogy(kv, words[0], words[1], words[2], topn),
        as_json,
        strict,
    )


def _print_answers(
    vectors: str,
    asked: Queries | None,
    count: int,
    answer: Callable[[Any, Sequence[str]], evaluation.Pairs],
    as_json: bool,
    strict: bool,
) -> None:
    """Print one line per query as soon as its answer is known; without `asked`, one per line of standard input.

    A query of another number of words than `count`, or with an unknown word, is a warning and an empty answer; with
    `strict`, or if it is the only one, an error. DataError at the end if one of `asked` failed.
    """
    kv = load(vectors)
    if asked is None and sys.stdin.isatty():
        echo(f"{_words(count)} per line; end with Ctrl-D", err=True)
    failed = 0
    for where, query in _lines() if asked is None else [("", query) for query in asked]:
        found: evaluation.Pairs = []
        try:
            if len(query) != count:
                raise UsageError(f"expected {_words(count)}, got {len(query)}")
            found = answer(kv, query)
        except (DataError, UsageError) as error:
            if strict or (asked and len(asked) == 1):
                raise (DataError if where else type(error))(f"{where}{error}") from error
            failed += 1
            warning(f"{where}{error}")
        if as_json:
            echo(json_text({"query": query, "answers": [[word, round(value, 6)] for word, value in found]}))
        else:
            echo(f"{' '.join(query)}\t" + " ".join(f"{word} {value:.3f}" for word, value in found))
    if failed and asked:
        raise DataError(f"{vectors}: {failed} of {len(asked)} lookups named a word that it does not have")


def _words(count: int) -> str:
    return f"{count} word{'s' * (count > 1)}"


def _lines() -> Iterator[tuple[str, list[str]]]:
    """Give the place and the words of each line of standard input, also of an empty one.

    Lines end at newlines and words at ASCII white space, as they do in files of vectors: others may be part of a word.
    """
    for number, line in enumerate(from_stdin(sys.stdin.buffer.readline), 1):
        yield f"line {number}: ", [word.decode(errors="surrogateescape") for word in line.split()]


def print_info(path: str, as_json: bool) -> None:
    """What a file is, a fact a line."""
    with readable(path) as name:
        about = {**describe(name), "path": path}
    if as_json:
        echo(json_text(about))
    else:
        exact = about.pop("words_exact", True)
        _print_facts(about if exact else {**about, "words": f"about {about['words']:,}"})


def _print_facts(facts: dict[str, Any], indent: str = "") -> None:
    """Print a fact per line. Names and values may be a foreign file's: no line end in them begins a line."""
    for key, value in facts.items():
        name = escaped_line(key)
        if isinstance(value, dict):
            echo(f"{indent}{name}" if value else f"{indent}{name:<{20 - len(indent)}} none")
            _print_facts(value, indent + "  ")
        elif isinstance(value, list) and value and all(isinstance(part, dict) for part in value):
            echo(f"{indent}{name}")
            for part in value:
                echo(escaped_line(f"{indent}  " + ", ".join(f"{key} {_fact(part[key])}" for key in part)))
        else:
            echo(escaped_line(f"{indent}{name:<{20 - len(indent)}} {_fact(value)}"))


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
            echo(f"{known:<18} {(inspect.getdoc(cls) or '').splitlines()[0]}")
        return
    allow_code(name)
    cls = objective_class(name)
    echo(f"{name}\n\n{inspect.getdoc(cls)}\n\noptions and their defaults")
    for key, value in option_defaults(name).items():
        echo(f"  -O {key}={json_text(value)}")
    if not option_defaults(name):
        echo("  none")
    echo(f"\n{inspect.getdoc(cls.build)}\n\ndefaults")
    for model, settings in objective_defaults(name).items():
        echo(f"  {model:<16} " + ", ".join(f"{key} {value}" for key, value in settings.items()))


def check_objective(name: str, options: dict[str, Any]) -> None:
    """Check gradients and probabilities, with and without biases; BelowThreshold if one does not hold."""
    from w2vtrain.evaluation.objective_checks import check

    allow_code(name)
    options, failed = checked_options(name, options), 0
    for bias in (False, True):
        echo(f"{name}, {'with' if bias else 'without'} biases")
        for finding in check(name, options, bias):
            echo(f"  {'ok  ' if finding.holds else 'FAIL'}  {finding.what}: {finding.figure}")
            failed += not finding.holds
    if failed:
        raise BelowThreshold(f"{failed} checks of {name} do not hold")
