"""Files with something about each word of the vocabulary: its vector, its path in a tree, or its class.

Nothing here knows what the values are for. Options that take one of a few names or such a file are checked here, too.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from w2vtrain.errors import DataError, InputMissing, in_shell, spelled
from w2vtrain.formats.vectors import read_vectors
from w2vtrain.probability.problem import Options, bad_option
from w2vtrain.system.reading import read_lines


def check_named(objective: str, option: str, options: Options, names: Sequence[str], text: str) -> None:
    """Raise ConfigError unless an option is a name or a file, and the option vectors is given if it is "cluster".

    With any other value, there must be no vectors.

    options: all of the objective's; names: the values that are not files; text: how a message names the value. No file
    is opened.
    """
    value, vectors = options[option], options["vectors"]
    if not value:
        raise bad_option(objective, option, f"expected {', '.join(names)} or a file name")
    if value == "cluster" and not vectors:
        given = "-O vectors=FILE" if in_shell() else "options={'vectors': FILE}"
        raise bad_option(objective, "vectors", f"{option} cluster needs a file of word vectors: add {given}")
    if vectors and value != "cluster":
        raise bad_option(objective, "vectors", f"only {option} cluster uses vectors, not {text}")


def check_named_files(
    objective: str, option: str, options: Options, names: Sequence[str], read: Callable[[str], Any]
) -> None:
    """Read the files that the options of `check_named` name. Raise InputMissing or DataError if no words fit them.

    read: reads the file that the option names.
    """
    if options["vectors"]:
        read_vectors(options["vectors"])
    if options[option] not in names:
        try:
            read(options[option])
        except InputMissing as error:
            expected = f"{', '.join(names)} or a file"
            raise InputMissing(f"{error} (option {option} of objective {objective}: {expected})") from error


def read_values(
    path: str | Path, longest: int, noun: str, example: str, valid: Callable[[bytes], bool]
) -> dict[str, tuple[str, int]]:
    """Read a file with a word and its value per line; return word -> (value, line number).

    The file is UTF-8, compressed or not, with lines in any order; white space separates the fields, and empty lines are
    ignored. longest: maximum bytes per line; noun: the noun that messages use for a value; example: a valid line;
    valid: returns whether a field is a value. Raise InputMissing, or DataError with the line number if a line is
    invalid or too long, or a word occurs twice.
    """
    expected = f"expected a word, a space and its {noun}, such as {example!r}"
    values: dict[str, tuple[str, int]] = {}
    for number, line in read_lines(path, longest):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 2 or not valid(fields[1]):
            raise DataError(f"{path}:{number}: {expected}, got {b' '.join(fields)[:80]!r}")
        word, value = _decoded(fields[0], "word", f"{path}:{number}"), _decoded(fields[1], noun, f"{path}:{number}")
        if word in values:
            first = values[word][1]
            raise DataError(
                f"{path}:{number}: word {word!r} already has a {noun} on line {first}: delete one of the lines"
            )
        values[word] = value, number
    if not values:
        raise DataError(f"{path} is empty: {expected.replace('expected a word', 'expected lines with a word')}")
    return values


def _decoded(field: bytes, noun: str, where: str) -> str:
    try:
        return field.decode()
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: not UTF-8 at byte {error.start} of the {noun}: save the file as UTF-8") from error


def require_all(path: str | Path, words: Sequence[str], values: Mapping[str, Any], noun: str) -> None:
    """Raise DataError if a file with values of words lacks one of `words`; `noun` names a value."""
    if missing := [word for word in words if word not in values]:
        others = f" and {len(missing) - 1:,} other words" if len(missing) > 1 else ""
        raise DataError(
            f"{path}: no {noun} for {missing[0]!r}{others} of the vocabulary: add a line with the {noun} of each word, "
            f"or give {spelled('read_vocab')} a vocabulary of only the words in this file"
        )


def vectors_of(words: Sequence[str], path: str) -> np.ndarray:
    """Read the vectors (V, d) float32 of words from a file. Words that it lacks get zeros.

    Raise DataError if it lacks more than half of the words.
    """
    known = read_vectors(path)
    row = {word: i for i, word in enumerate(known.words)}
    rows = np.array([row.get(word, -1) for word in words])
    if 2 * np.count_nonzero(rows < 0) > len(words):
        raise DataError(
            f"{path}: no vectors for {np.count_nonzero(rows < 0):,} of the {len(words):,} words of the vocabulary, "
            f"such as {words[int(np.argmin(rows))]!r}; use vectors that were trained on similar text"
        )
    vectors: np.ndarray = known.matrix[rows]
    vectors[rows < 0] = 0
    return vectors
