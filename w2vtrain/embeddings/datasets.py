"""Read the questions and word pairs of evaluation sets, within size limits, and map words to vocabulary indices.

analogies.py and similarity.py score them.
"""

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from w2vtrain.errors import DataError, UsageError
from w2vtrain.system.reading import read_lines

logger = logging.getLogger(__name__)
# Maximum size in bytes of the text of an evaluation set and of each of its lines. The largest known set has 4 MB.
MAX_SET_BYTES, MAX_LINE_BYTES = 64 << 20, 64 << 10
MAX_SECTIONS = 1 << 16


def text_lines(path: str | Path, encoding: str = "utf-8", blank: bool = False) -> Iterator[tuple[int, str]]:
    """Yield (line number, stripped text) of each line, if `blank` of blank ones, too. The file may be compressed.

    Lines are counted from 1. Raise InputMissing if the file cannot be opened, and DataError, naming the line, if a
    line is not in the encoding, if it has more than MAX_LINE_BYTES, or if the text has more than MAX_SET_BYTES.
    """
    for number, line in read_lines(path, MAX_LINE_BYTES, MAX_SET_BYTES):
        try:
            text = line.decode(encoding).removeprefix("\ufeff" if number == 1 else "").strip()
        except UnicodeDecodeError as error:
            name = error.encoding.upper()
            raise DataError(f"{path}:{number}: not {name} at byte {error.start} of the line") from error
        if text or blank:
            yield number, text


def fields_of(line: str) -> list[str]:
    """Return the fields of a line, which are separated by tabs or, without any, by white space."""
    return [field.strip() for field in line.split("\t")] if "\t" in line else line.split()


def read_questions(path: str | Path, strict: bool = True) -> Iterator[tuple[str, list[str] | None]]:
    """Yield (name, None) for the first line of a section, then (name, four words) for each of its questions.

    Raise the errors of `text_lines`, and DataError for a question before the first section, for more than MAX_SECTIONS
    and, if `strict`, for a question of another number of words; otherwise, such a line is logged and skipped.
    """
    name, sections = None, 0
    for number, line in text_lines(path):
        if line.startswith(":"):
            name, sections = line.lstrip(": ").strip(), sections + 1
            if sections > MAX_SECTIONS:
                raise DataError(f"{path}:{number}: more than {MAX_SECTIONS:,} sections: split the file")
            yield name, None
            continue
        words = line.split()
        if name is None:
            raise DataError(f"{path}:{number}: a question before the first section; a section begins with ': NAME'")
        if len(words) == 4:
            yield name, words
        elif strict:
            raise DataError(f"{path}:{number}: expected a question of 4 words, got {len(words)}")
        else:
            logger.info("%s:%d: skipped, because it does not have 4 words", path, number)


def read_pairs(
    path: str | Path, strict: bool = True, delimiter: str | None = None, encoding: str = "utf-8"
) -> Iterator[tuple[str, str, float]]:
    """Yield the two words and the rating of each line that does not begin with "#".

    strict: fields are separated by tabs or, without any, by white space, and any other line is a DataError. If False,
    they are separated by `delimiter`, ratings may be infinite, and any other line is logged and skipped.
    """
    for number, line in text_lines(path, encoding):
        if line.startswith("#"):
            continue
        fields = fields_of(line) if strict else line.split(delimiter)
        try:
            left, right, score = fields
            rating = float(score)
        except ValueError:
            rating = math.nan
        if math.isfinite(rating) or (math.isinf(rating) and not strict):
            yield left, right, rating
        elif strict:
            raise DataError(f"{path}:{number}: expected two words and a score, got {line[:60]!r}")
        else:
            logger.info("%s:%d: skipped, because it is not two words and a number", path, number)


def frequent_words(words: list[str], restrict_vocab: int | None) -> list[str]:
    """Return the first `restrict_vocab` words, or all if it is None. Raise UsageError if it is below 1."""
    if restrict_vocab is not None and restrict_vocab < 1:
        raise UsageError(f"restrict_vocab must be 1 or more, not {restrict_vocab}")
    return words[:restrict_vocab]


def case_folding(case_insensitive: bool) -> Callable[[str], str]:
    """Return the function that maps all forms of a word to one string: to upper case, as gensim does, or unchanged."""
    return str.upper if case_insensitive else str


def first_indices(words: Sequence[str], fold: Callable[[str], str]) -> dict[str, int]:
    """Return the index of each folded word; if several are equal, that of the first, which is the most frequent."""
    return {fold(word): index for index, word in reversed(list(enumerate(words)))}
