"""The commands that look words up: `neighbors`, `analogy`, `similarity` and `vector`.

The answers are computed in embeddings/keyed_vectors.py, such as `most_similar`; `eval` scores files of questions.
"""

from __future__ import annotations

import math
import os
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import chain, count
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from w2vtrain.commands.input_files import from_stdin, tag_hint, vectors_in
from w2vtrain.commands.options import command, lookup_options, method_option, query_options
from w2vtrain.commands.shell import echo_json, imports
from w2vtrain.errors import DataError, MissingKey, UsageError
from w2vtrain.system.compression import decompressed
from w2vtrain.system.foreign import refuse_foreign
from w2vtrain.system.terminal import echo, warning

if TYPE_CHECKING:
    from w2vtrain.embeddings.keyed_vectors import KeyedVectors
    from w2vtrain.embeddings.neighbors import Answers


Query = tuple[str, list[str]]
"""Where the words of a query are, for messages, and the words."""
QUERIES_AT_ONCE = 256
"""Queries that are answered in one batch."""
READ_BYTES = 1 << 16
"""Most bytes of standard input that are read at a time."""
MAX_SUGGESTIONS = 20
"""Unknown words for which similar ones are named: the search takes longer than many answers."""


class Lookup(NamedTuple):
    """How a command answers a query of `size` words, or of one or more if that is 0.

    name: of the answer in JSON; answer: returns it, or None if there is none; value: returns an answer's value in JSON;
    line: returns the text of a query and its answer; none: the value in JSON without an answer; blank: the text without
    an answer, in which {} stands for the words, or None to print nothing; batch: returns the answers of many queries at
    once, which is faster, None for those that it leaves to `answer`.
    """

    size: int
    name: str
    answer: Callable[[KeyedVectors, list[str]], Any]
    value: Callable[[Any], Any]
    line: Callable[[list[str], Any], str]
    none: list[Any] | None = None
    blank: str | None = None
    batch: Callable[[KeyedVectors, list[list[str]]], list[Any]] | None = None


@command()
@click.argument("vectors")
@click.argument("words", nargs=-1)
@query_options
def neighbors(vectors: str, words: tuple[str, ...], topn: int, as_json: bool, strict: bool) -> None:
    """Print the words nearest to each of WORDS in VECTORS. Without WORDS, read one word per line from stdin.

    With a model with subwords, such as fastText's, WORDS need not be in the vocabulary.

    Each word gives one line of output: the word, a tab, and the answers. If there is no answer, nothing follows the
    tab, and a warning says why; for words given as arguments, the exit code is then 65.
    """

    def answer(keyed: KeyedVectors, words: list[str]) -> Answers:
        return keyed.most_similar(words[0], topn=topn)

    def batch(keyed: KeyedVectors, queries: list[list[str]]) -> list[Answers | None]:
        known = [words[0] if len(words) == 1 and words[0] in keyed else None for words in queries]
        answers = iter(keyed.most_similar_batch([word for word in known if word is not None], topn=topn))
        return [(next(answers) or None) if word is not None else None for word in known]  # none: a zero vector

    _print_answers(vectors, words, _ranked(1, answer)._replace(batch=batch), as_json, strict)


@command()
@click.argument("vectors")
@click.argument("words", nargs=-1, metavar="[KING MAN WOMAN | KING - MAN + WOMAN]")
@query_options
@method_option
def analogy(vectors: str, words: tuple[str, ...], topn: int, as_json: bool, strict: bool, method: str) -> None:
    """Print the words nearest to KING - MAN + WOMAN in VECTORS. Without words or for -, read them from stdin:
    three per line. With --method 3cosmul, scores are products of cosines, cos(KING) cos(WOMAN) / cos(MAN).

    Each line gives one line of output: the words, a tab, and the answers. If there is no answer, nothing follows the
    tab, and a warning says why.
    """
    words = tuple(without_signs(words[0].split() if len(words) == 1 and words[0].strip() else words))
    if words and words != ("-",) and len(words) != 3:
        raise click.UsageError(
            f"expected three words, as in `king man woman` or `king - man + woman`, got {len(words)}"
        )

    def answer(keyed: KeyedVectors, words: list[str]) -> Answers:
        king, man, woman = words
        query = keyed.most_similar_cosmul if method == "3cosmul" else keyed.most_similar
        return query([king, woman], [man], topn=topn)

    _print_answers(vectors, words, _ranked(3, answer), as_json, strict)


def without_signs(words: Sequence[str]) -> Sequence[str]:
    """Return the words `king man woman` for `king - man + woman` or `king + woman - man`; other words as they are."""
    match words:
        case [king, "-", man, "+", woman] | [king, "+", woman, "-", man]:
            return king, man, woman
    return words


@command()
@click.argument("vectors")
@click.argument("words", nargs=-1, metavar="[WORD WORD]")
@lookup_options
def similarity(vectors: str, words: tuple[str, ...], as_json: bool, strict: bool) -> None:
    """Print the cosine of two words in VECTORS. Without words, or for -, read two per line from stdin.

    Each pair gives one line of output: the words, a tab, and the cosine. If there is no answer, nothing follows the
    tab, and a warning says why. `eval similarity` compares cosines with human judgments.
    """
    if words and words != ("-",) and len(words) != 2:
        raise click.UsageError(f"expected two words, got {len(words)}")

    def cosine(keyed: KeyedVectors, words: list[str]) -> float:
        for word in words:
            if not keyed[word].any():
                warning(f"the vector of {word!r} is zero: its cosine is 0 with every word")
        return float(keyed.similarity(*words))

    def line(words: list[str], cosine: float) -> str:
        return f"{' '.join(words)}\t{cosine:.3f}"

    lookup = Lookup(2, "similarity", cosine, lambda cosine: round(cosine, 6), line, blank="{}\t")
    _print_answers(vectors, words, lookup, as_json, strict)


@command()
@click.argument("vectors")
@click.argument("words", nargs=-1)
@lookup_options
@click.option(
    "--sentences", is_flag=True,
    help="Print `v1 v2 ...` for each line from stdin, or for WORDS: the mean of the unit vectors of its words.",
)  # fmt: skip
@click.option("--ngrams", is_flag=True, help="Print the vectors of each word's n-grams instead, one per line.")
def vector(vectors: str, words: tuple[str, ...], as_json: bool, strict: bool, sentences: bool, ngrams: bool) -> None:
    """Print the vectors of WORDS in VECTORS, one `word v1 v2 ...` per line, as in text files of vectors.

    Without WORDS, read one word per line from stdin. With a model with subwords, such as fastText's, WORDS need not be
    in the vocabulary. An unknown word prints no line, and a warning names it; for words given as arguments, the exit
    code is then 65.

    With --sentences, unknown words are left out, and a line without known words gives an empty line. With --ngrams, a
    word of the vocabulary is followed by its n-grams; the mean of their vectors is its vector.
    """
    if sentences and ngrams:
        raise click.UsageError("--sentences and --ngrams: give only one of them")
    lookup = _sentence_lookup(strict) if sentences else _ngrams_lookup() if ngrams else _vector_lookup()
    _print_answers(vectors, words, lookup, as_json, strict)


def _vector_lookup() -> Lookup:
    def answer(keyed: KeyedVectors, words: list[str]) -> Any:
        return keyed.get_vector(words[0])

    return Lookup(1, "vector", answer, _numbers, lambda words, row: _rows(words, row[None]))


def _sentence_lookup(strict: bool) -> Lookup:
    def answer(keyed: KeyedVectors, words: list[str]) -> Any:
        found = [part for word in words for part in ([word] if word in keyed.key_to_index else word.split())]
        return (strict and keyed[found], keyed.get_sentence_vector(found))[1]  # an unknown word is an error

    return Lookup(0, "vector", answer, _numbers, lambda words, row: _rows([""], row[None]), blank="")


def _ngrams_lookup() -> Lookup:
    def answer(keyed: KeyedVectors, words: list[str]) -> Any:
        return keyed.get_ngram_vectors(words[0])

    def value(ngrams: Any) -> list[list[Any]]:
        return [[text, _numbers(row)] for text, row in zip(*ngrams, strict=True)]

    return Lookup(1, "ngrams", answer, value, lambda words, ngrams: _rows(*ngrams), none=[])


def _rows(words: list[str], rows: Any) -> str:
    """Return lines `word v1 v2 ...`, as in vector files of text, without the last newline; no word if it is ""."""
    with imports():
        import numpy as np

        from w2vtrain.formats.vector_formats.text import lines
    names = [word.encode(errors="surrogateescape") for word in words]
    text = lines(names, np.ascontiguousarray(rows, np.float32))
    return text.decode(errors="surrogateescape").removesuffix("\n")


def _numbers(row: Any) -> list[float]:
    """Return the shortest numbers that are these values of float32."""
    return [float(str(value)) for value in row.astype("float32")]


def asked_words(words: tuple[str, ...], count: int, vectors: str) -> list[list[str]] | None:
    """Return the words given as arguments in groups of `count`; None if there are none and stdin has the words.

    `-` stands for stdin where it cannot be the word that is looked up.
    """
    if words and (words != ("-",) or count == 1):
        known = [os.fsencode(word).decode(errors="surrogateescape") for word in words]  # UTF-8 in every locale
        return [known[i : i + count] for i in range(0, len(known), count)]
    if vectors == "-":
        raise click.UsageError("stdin cannot provide both the vectors and the words: give the words as arguments")
    return None


def _ranked(count: int, answer: Callable[[KeyedVectors, list[str]], Answers]) -> Lookup:
    """Return the lookup whose answers are words, each with a cosine."""

    def finite(keyed: KeyedVectors, words: list[str]) -> Answers:
        answers = [pair for pair in answer(keyed, words) if not math.isnan(pair[1])]  # NaN: a zero vector
        if not answers:
            raise _without_answer(keyed, words)
        return answers

    def value(answers: Answers) -> list[list[Any]]:
        return [[word, round(cosine, 6)] for word, cosine in answers]

    def line(words: list[str], answers: Answers) -> str:
        return f"{' '.join(words)}\t" + " ".join(f"{word} {cosine:.3f}" for word, cosine in answers)

    return Lookup(count, "answers", finite, value, line, none=[], blank="{}\t")


def _without_answer(keyed: KeyedVectors, words: list[str]) -> DataError:
    """Return the error for a query of known words whose cosines are all undefined."""
    zero = next((repr(word) for word in words if not keyed[word].any()), None)
    reason = f"the vector of {zero} is zero" if zero else "the query is zero, or no other word has a vector that is not"
    return DataError(f"no answer for {' '.join(words)}: {reason}")


def _print_answers(vectors: str, words: tuple[str, ...], lookup: Lookup, as_json: bool, strict: bool) -> None:
    """Print one line per query as soon as its answer is known. The queries are `words`, or else lines of stdin.

    A query without an answer, or without exactly `lookup.size` words, gives a warning and an empty answer; with
    `strict`, or if it is the only one in `words`, it is an error. Raise DataError at the end if one of `words` failed.
    """
    asked = asked_words(words, lookup.size or len(words), vectors)
    with imports():
        from w2vtrain.embeddings.keyed_vectors import KeyedVectors
    loaded = vectors_in(vectors)
    keyed = KeyedVectors.of(loaded.words, loaded.matrix, ngrams=loaded.ngrams)
    if asked is None and sys.stdin.isatty():
        echo(f"{_words(lookup.size)} per line; end with Ctrl-D", err=True)
    count, failed, queries = 0, 0, _lines() if asked is None else [[("", query) for query in asked]]
    with _one_thread() if asked is None and lookup.batch is None else nullcontext():
        for where, query, answer in _answered(keyed, lookup, queries):
            count += 1
            try:
                if len(query) != (lookup.size or max(1, len(query))):
                    raise UsageError(f"expected {_words(lookup.size)}, got {len(query)}")
                if answer is None:
                    answer = lookup.answer(keyed, query)
            except (DataError, UsageError) as error:
                said = f"{where}{error if failed < MAX_SUGGESTIONS else error.args[0]}"
                if isinstance(error, MissingKey):
                    said += tag_hint(vectors, (word for word in query if word not in keyed))
                if lookup.size == 1 and any(" " in word for word in query):
                    said += "; quotes make one word: leave them out"
                    said += ", or add --sentences for the mean of its words" * (lookup.name == "vector")
                if strict or (asked and len(asked) == 1):
                    raise (DataError if where else type(error))(said) from error
                failed += 1
                warning(said)
            if as_json:
                echo_json({"query": query, lookup.name: lookup.none if answer is None else lookup.value(answer)})
            elif answer is not None:
                echo(lookup.line(query, answer))
            elif lookup.blank is not None:
                echo(lookup.blank.format(" ".join(query)))
    if not count:
        warning("there are no words on stdin: nothing was looked up")
    if failed and asked:
        raise DataError(f"{vectors}: {failed} of {len(asked)} lookups failed: the warnings say why")


def _one_thread() -> Any:
    """Return a context in which NumPy uses one thread: for one short query after another, several mostly wait."""
    with imports():
        from threadpoolctl import threadpool_limits
    return threadpool_limits(1, user_api="blas")


def known_phrase(word: str, keyed: KeyedVectors) -> str:
    """Return a phrase such as "new york" as its vectors call it, if its words are joined by `_` there."""
    joined = word.replace(" ", "_")
    return joined if word not in keyed.key_to_index and joined in keyed.key_to_index else word


def as_called(words: Sequence[str], keyed: KeyedVectors, size: int) -> list[str]:
    """Return the words of a query of `size` words as the vectors call them. One word may be a phrase without quotes."""
    if size == 3:
        words = without_signs(words)
    line = known_phrase(" ".join(words), keyed)
    return [line] if size == 1 and line in keyed.key_to_index else [known_phrase(word, keyed) for word in words]


def _words(count: int) -> str:
    return f"{count} word{'s' * (count > 1)}" if count else "one or more words"


def _answered(
    keyed: KeyedVectors, lookup: Lookup, queries: Iterable[list[Query]]
) -> Iterator[tuple[str, list[str], Any]]:
    """Yield the position, the words and the answer of each query; None if the answer is not known yet."""
    for available in queries:
        for start in range(0, len(available), QUERIES_AT_ONCE):
            some = available[start : start + QUERIES_AT_ONCE]
            phrases = [as_called(words, keyed, lookup.size) for _, words in some]
            answers = lookup.batch(keyed, phrases) if lookup.batch and len(some) > 1 else [None] * len(some)
            yield from zip([where for where, _ in some], phrases, answers, strict=True)


def _lines() -> Iterator[list[Query]]:
    """Yield the position and the words of each line of standard input, including empty lines.

    Lines end at newlines and words at ASCII white space, as in vector files: other separators may be part of a word.
    """
    number = count(1)
    for lines in _available_lines():
        yield [
            (f"line {next(number)}: ", [word.decode(errors="surrogateescape") for word in line.split()])
            for line in lines
        ]


def _available_lines() -> Iterator[list[bytes]]:
    """Yield the lines of standard input, decompressed, as many at a time as are there without waiting.

    Raise DataError for data that are not text, such as archives.
    """
    stdin: Any = sys.stdin.buffer
    begun, mark = list[bytes](), BOM_UTF8  # at the start of the first line
    blocks = decompressed(from_stdin(lambda: stdin.read1(READ_BYTES)), "standard input")
    first = next(blocks, b"")
    refuse_foreign(first, "standard input")
    for block in chain([first], blocks):
        lines, newline, rest = block.rpartition(b"\n")
        if newline:
            yield b"".join([*begun, lines]).removeprefix(mark).split(b"\n")
            begun, mark = [], b""
        begun.append(rest)
    if last := b"".join(begun).removeprefix(mark):
        yield [last]
