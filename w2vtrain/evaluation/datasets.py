"""Read the lines of evaluation sets within limits, and find their words among the most frequent ones.

What a line means is known to analogies.py and similarity.py; nothing is scored here.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from w2vtrain.errors import DataError, UsageError
from w2vtrain.system.reading import read_lines

# The text of an evaluation set and each of its lines may have this many bytes. The largest known set has 4 MB.
LARGEST, LONGEST_LINE = 64 << 20, 64 << 10


def text_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """Yield the number, from 1, and the stripped text of each line that is not blank; the file may be compressed.

    Raises InputMissing if the file cannot be opened, and DataError, naming the line, if it is not UTF-8 or the text is
    larger than LARGEST or LONGEST_LINE.
    """
    for number, line in read_lines(path, LONGEST_LINE, LARGEST):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError as error:
            raise DataError(f"{path}:{number}: not UTF-8 at byte {error.start} of the line") from error
        if text:
            yield number, text


def frequent_words(words: list[str], restrict_vocab: int | None) -> list[str]:
    """Return the first `restrict_vocab` words, or all for None; UsageError if it is below 1."""
    if restrict_vocab is not None and restrict_vocab < 1:
        raise UsageError(f"restrict_vocab must be 1 or more, not {restrict_vocab}")
    return words[:restrict_vocab]


def case_folding(case_insensitive: bool) -> Callable[[str], str]:
    """Return the function that makes equal what counts as the same word: capitals, as in gensim, or nothing."""
    return str.upper if case_insensitive else str


def first_indices(words: Sequence[str], fold: Callable[[str], str]) -> dict[str, int]:
    """Return indices by folded word; the first of several equal ones, which is the most frequent, wins."""
    return {fold(word): index for index, word in reversed(list(enumerate(words)))}
