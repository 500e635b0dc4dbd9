"""The commands `neighbors` and `analogy`: print the words nearest to a word, or to king - man + woman.

The answers are computed in embeddings/queries.py; `eval` scores files of questions.
"""

import math
import sys
from collections.abc import Callable, Iterator, Sequence

from w2vtrain.commands.inputs import from_stdin, readable
from w2vtrain.embeddings.keyed_vectors import KeyedVectors
from w2vtrain.embeddings.queries import Answers
from w2vtrain.errors import DataError, UsageError
from w2vtrain.formats.vectors import read_vectors
from w2vtrain.system.json_text import json_text
from w2vtrain.system.terminal import echo, warning

Queries = Sequence[list[str]]


def print_neighbors(vectors: str, words: Queries | None, topn: int, as_json: bool, strict: bool) -> None:
    """Print each word and its neighbors. words, topn, as_json, strict: see `_print_answers`."""
    _print_answers(vectors, words, 1, lambda keyed, words: keyed.most_similar(words[0], topn=topn), as_json, strict)


def print_analogy(vectors: str, triples: Queries | None, topn: int, as_json: bool, strict: bool) -> None:
    """Print the words of each analogy and the answers. triples, topn, as_json, strict: see `_print_answers`."""

    def answer(keyed: KeyedVectors, words: list[str]) -> Answers:
        king, man, woman = words
        return keyed.most_similar([king, woman], [man], topn=topn)

    _print_answers(vectors, triples, 3, answer, as_json, strict)


def _print_answers(
    vectors: str,
    asked: Queries | None,
    count: int,
    answer: Callable[[KeyedVectors, list[str]], Answers],
    as_json: bool,
    strict: bool,
) -> None:
    """Print one line per query as soon as its answer is known. If `asked` is None, the queries are lines of stdin.

    A query with an unknown word, or without exactly `count` words, gives a warning and an empty answer; with `strict`,
    or if it is the only one in `asked`, it is an error. Raise DataError at the end if one of `asked` failed.
    """
    with readable(vectors) as path:
        found = read_vectors(path)
        keyed = KeyedVectors.of(found.words, found.matrix)
    if asked is None and sys.stdin.isatty():
        echo(f"{_words(count)} per line; end with Ctrl-D", err=True)
    failed = 0
    for where, query in _lines() if asked is None else [("", query) for query in asked]:
        answers: Answers = []
        try:
            if len(query) != count:
                raise UsageError(f"expected {_words(count)}, got {len(query)}")
            answers = [pair for pair in answer(keyed, query) if not math.isnan(pair[1])]  # NaN: a zero vector
        except (DataError, UsageError) as error:
            if strict or (asked and len(asked) == 1):
                raise (DataError if where else type(error))(f"{where}{error}") from error
            failed += 1
            warning(f"{where}{error}")
        if as_json:
            echo(json_text({"query": query, "answers": [[word, round(value, 6)] for word, value in answers]}))
        else:
            echo(f"{' '.join(query)}\t" + " ".join(f"{word} {value:.3f}" for word, value in answers))
    if failed and asked:
        raise DataError(f"{vectors}: {failed} of {len(asked)} lookups failed: their words are not in the vocabulary")


def _words(count: int) -> str:
    return f"{count} word{'s' * (count > 1)}"


def _lines() -> Iterator[tuple[str, list[str]]]:
    """Yield the position and the words of each line of standard input, including empty lines.

    Lines end at newlines and words at ASCII white space, as in vector files: other separators may be part of a word.
    """
    for number, line in enumerate(from_stdin(sys.stdin.buffer.readline), 1):
        yield f"line {number}: ", [word.decode(errors="surrogateescape") for word in line.split()]
