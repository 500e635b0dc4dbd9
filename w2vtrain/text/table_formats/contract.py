"""What a format of tables is: how its columns are found, and how one is read batch by batch.

Files may be hostile: a format turns whatever its parser raises into a DataError with the name of the file.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from w2vtrain.text.columns import Batch
from w2vtrain.text.source import File

Raw = Callable[[File], Iterator[bytes]]
"""Yields the bytes of a file, decompressed."""


class Opened(NamedTuple):
    """A table whose column is known.

    lists: whether its rows are lists of words, None if there are none; batches: its rows, read on demand.
    """

    lists: bool | None
    batches: Iterator[Batch]


class Format(NamedTuple):
    """A format of tables. open: start to read a column; names: return the names of the columns.

    suffixes: of its files, before that of a compression; binary: whether the file is not text.
    """

    name: str
    suffixes: tuple[str, ...]
    binary: bool
    open: Callable[[File, str, Raw], Opened]
    names: Callable[[File, Raw], list[str]]
