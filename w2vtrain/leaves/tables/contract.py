"""What a format of tables is: how its columns are found, and how one is read as text, piece by piece.

Files may be hostile: a format turns whatever its parser raises into a DataError with the name of the file.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from w2vtrain.text.source import File

Raw = Callable[[File], Iterator[bytes]]
"""Yields the bytes of a file, decompressed."""


class Piece(NamedTuple):
    """Some rows of a column as text, which ends with a newline: any number of lines per row, or a sentence.

    at: the byte of the file, if it is known, up to which it was read before these rows.
    """

    text: bytes
    at: int | None = None


class Opened(NamedTuple):
    """A table whose column is known.

    lists: whether its rows are lists of words, None if there are none; pieces: its rows, read on demand.
    """

    lists: bool | None
    pieces: Iterator[Piece]


class Format(NamedTuple):
    """A format of tables. open: start to read a column; names: return the names of the columns of a file.

    The last arguments of `open` are whether each row of text is one line: newlines in it become spaces; and whether
    numbers are text, too.

    suffixes: of its files, before that of a compression.
    """

    name: str
    suffixes: tuple[str, ...]
    open: Callable[[File, str, Raw, bool, bool], Opened]
    names: Callable[[File, Raw], list[str]]
