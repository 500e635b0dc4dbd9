"""Read the lines of evaluation sets, within size limits, and map words to vocabulary indices.

analogies.py and similarity.py parse the lines and score them.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from w2vtrain.errors import DataError, UsageError
from w2vtrain.system.reading import read_lines

# Maximum size in bytes of the text of an evaluation set and of each of its lines. The largest known set has 4 MB.
LARGEST, LONGEST_LINE = 64 << 20, 64 << 10


def text_lines(path: str | Path, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Yield (line number, stripped text) of each line that is not blank. The file may be compressed.

    Lines are counted from 1. Raise InputMissing if the file cannot be opened, and DataError, naming the line, if a
    line is not in the encoding, if it has more than LONGEST_LINE bytes, or if the text has more than LARGEST bytes.
    """
    for number, line in read_lines(path, LONGEST_LINE, LARGEST):
        try:
            text = line.decode(encoding).removeprefix("\ufeff" if number == 1 else "").strip()
        except UnicodeDecodeError as error:
            name = error.encoding.upper()
            raise DataError(f"{path}:{number}: not {name} at byte {error.start} of the line") from error
        if text:
            yield number, text


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
