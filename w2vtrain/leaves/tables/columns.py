"""What a format of tables is, how a column of Arrow's is found, and how its rows become text or lists of words.

A format says what type a column has, and yields its rows as text, piece by piece. Files may be hostile: a format turns
whatever its parser raises into a DataError with the name of the file.

The text ends with a newline; the rows of a text column are any number of lines, and the rows of a list column one
sentence each, as token_lists.py writes them. This module opens no files. Messages say which row is wrong; `Place` turns
the number of a row into its place in a file.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from w2vtrain.errors import DataError, InputMissing, shown
from w2vtrain.text.source import File
from w2vtrain.text.token_lists import encoded, is_plain, text_of

Array: TypeAlias = Any
"""A pyarrow.Array, whose package has no types."""
Place = Callable[[int], str]
"""From the index of a row in a batch to its place in messages."""

PIECE_SIZE, PIECE_ROWS = 1 << 20, 1 << 12
"""Approximate size of the pieces into which rows from Python are cut, and rows of the pieces of an array."""
Row = TypeVar("Row")
Raw = Callable[[File], Iterator[bytes]]
"""Yields the bytes of a file, decompressed."""

LISTS = ("list", "large_list", "fixed_size_list", "list_view", "large_list_view")
TEXTS = ("string", "large_string", "binary", "large_binary", "string_view", "binary_view")
NUMBERS = ("integer", "floating")
"""Types of Arrow whose rows are lists, text and numbers."""


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
    numbers are text, too, and nulls empty text.

    suffixes: of its files, before that of a compression.
    """

    name: str
    suffixes: tuple[str, ...]
    open: Callable[[File, str, Raw, bool, bool], Opened]
    names: Callable[[File, Raw], list[str]]


class Column(NamedTuple):
    """A column of a table: the names that lead to it through structs, and whether its rows are lists of words."""

    names: list[str]
    lists: bool


def pyarrow(needed_by: str) -> Any:
    """Return the module pyarrow. Raise InputMissing, which names the extra, if it is not installed."""
    try:
        import pyarrow
    except ImportError as error:
        raise InputMissing(f"{needed_by} needs the package pyarrow: pip install 'w2vtrain[table]'") from error
    return pyarrow


def is_list(kind: Any, numbers: bool = False) -> bool | None:
    """Return whether a type of Arrow is that of lists of words (True) or of text (False), else None.

    numbers: whether these are text.
    """
    if pyarrow("a table").types.is_dictionary(kind):
        return None if _is_any(kind.value_type, LISTS) else is_list(kind.value_type, numbers)
    if _is_any(kind, LISTS):
        return True if is_list(kind.value_type, numbers) is False else None
    return False if _is_any(kind, (*TEXTS, *NUMBERS) if numbers else TEXTS) else None


def batches(values: Iterable[Row], size: Callable[[Row], int]) -> Iterator[list[Row]]:
    """Yield values in lists of about PIECE_SIZE in total, by the size of each; none for no values."""
    batch, total = list[Row](), 0
    for value in values:
        batch.append(value)
        total += size(value)
        if total >= PIECE_SIZE:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch


def one_line_each(texts: Iterable[Any], whole_rows: bool) -> Iterable[Any]:
    """Return the rows of a column of text. whole_rows: see `source.Tables`."""
    return (text.replace("\n", " ") for text in texts) if whole_rows else texts


def rows(before: str, first: int, after: str = "") -> Place:
    """Return the places of rows, of which the first has the number `first`."""
    return lambda index: f"{before}{first + index:,}{after}"


def at_column(path: str) -> str:
    """Return the end of a place in messages: the column, if it has a name."""
    return f": column {shown(path)}" if path else ""


def null_at(place: str, fill: str = "''") -> DataError:
    """Return the error for a null. fill: what may be there instead."""
    return DataError(f"{place}: null, and there must be text: drop such rows, or fill them with {fill}")


def column_of(names: Sequence[str]) -> str:
    """Return the end of a message that lists the columns of a table."""
    listed = ", ".join(map(shown, names[:20]))
    return f"{listed}{f' and {len(names) - 20:,} more' if len(names) > 20 else ''}" or "none"


def first_part(names: Container[str], path: str) -> str:
    """Return the name with which a path through structs begins: all of it if a column has that name."""
    return path if path in names else path.partition(".")[0]


def column_in(schema: Any, path: str, name: str, numbers: bool = False) -> Column:
    """Return the column that a path names, which may lead through structs, such as a.b.

    numbers: whether these are text. Raise DataError if there is no such column, or if it has neither text nor lists of
    words.
    """
    kind, rest, keys = schema, path, list[str]()
    while True:
        names = [field.name for field in kind]
        here = first_part(names, rest)
        if names.count(here) != 1:
            problem = f"{names.count(here)} columns named" if here in names else "no column"
            raise DataError(f"{name}: {problem} {shown(path)}; the columns are: {column_of(list(schema.names))}")
        keys.append(here)
        kind, rest = kind.field(names.index(here)).type, rest[len(here) + 1 :]
        if not rest:
            break
        if not pyarrow("a table").types.is_struct(kind):
            raise DataError(f"{name}: no column {shown(path)}: {shown(here)} has the type {kind}, without fields")
    lists = is_list(kind, numbers)
    if lists is None:
        raise DataError(
            f"{name}: column {shown(path)} has the type {_short(kind)}, and must have strings or lists of strings"
            f"{', or numbers' * numbers}"
        )
    return Column(keys, lists)


def selected(batch: Any, column: Column) -> Array:
    """Return a column of a record batch."""
    import pyarrow.compute as compute

    array, fields = batch.column(column.names[0]), column.names[1:]
    return compute.struct_field(array, fields) if fields else array


def _short(kind: Any) -> str:
    text = str(kind).replace("\n", " ")
    return text if len(text) <= 80 else f"{text[:80]}..."


def _is_any(kind: Any, names: Sequence[str]) -> bool:
    types = pyarrow("a table").types
    return any(getattr(types, f"is_{name}")(kind) for name in names)


def bytes_of(array: Array, lists: bool, place: Place, whole_rows: bool, numbers: bool) -> Iterator[bytes]:
    """Yield the rows of an array as bytes; only a piece of it is converted at a time.

    lists: whether the rows are lists of words; place: returns the place of a row for messages; whole_rows and numbers:
    see `source.Tables`.

    Raise DataError for the first row that is not UTF-8 where that is required and, without `numbers`, that is null or
    has a null.
    """
    if not numbers and (null := first_null(array)) is not None:
        raise null_at(place(null), "[]" if lists else "''")
    for first in range(0, len(array), PIECE_ROWS):
        piece = array.slice(first, PIECE_ROWS)
        if not lists:
            yield _text(piece, whole_rows)
            continue
        try:
            yield _joined(piece, lambda i, first=first: place(first + i), numbers)  # type: ignore[misc]
        except UnicodeDecodeError as error:
            raise DataError(
                f"{place(first)}: in this row or a later one, a word is not UTF-8 ({error.reason})"
            ) from None


def first_null(array: Array) -> int | None:
    """Return the index of the first null, also one that is an entry of a dictionary, or None."""
    missing = array.is_null()
    if hasattr(array, "dictionary") and array.dictionary.null_count:
        missing = array.dictionary.is_null().take(array.indices).fill_null(True)
    number = missing.index(True).as_py()
    return None if number < 0 else int(number)


def _text(array: Array, whole_rows: bool = False) -> bytes:
    """Return the rows of an array of strings, each followed by a newline. whole_rows: see `source.Tables`."""
    import pyarrow
    import pyarrow.compute as compute

    flat = as_bytes(array).fill_null(b"")
    if whole_rows:
        flat = compute.replace_substring(flat, b"\n", b" ")
    row = pyarrow.LargeListArray.from_arrays(pyarrow.array([0, len(flat)], pyarrow.int64()), flat)
    joined = compute.binary_join(row, pyarrow.scalar(b"\n", flat.type))
    return bytes(joined[0].as_buffer()) + b"\n"


def as_bytes(array: Array) -> Array:
    """Return an array of strings or numbers as large_binary, which is a view of most types of strings."""
    import pyarrow

    if pyarrow.types.is_dictionary(array.type):  # dictionary_decode() does not know the string_view of Polars
        return as_bytes(array.dictionary).take(array.indices)
    if pyarrow.types.is_floating(array.type):
        texts = list(map(text_of, array.to_numpy(zero_copy_only=False)))
        array = pyarrow.array(texts, pyarrow.large_string(), mask=np.asarray(array.is_null()))
    if pyarrow.types.is_string_view(array.type) or _is_any(array.type, NUMBERS):
        array = array.cast(pyarrow.large_string())
    return array.cast(pyarrow.large_binary())


def _joined(array: Array, place: Place, numbers: bool) -> bytes:
    """Return the sentences of an array of lists of words. Only if a word needs it, words become Python's."""
    import pyarrow
    import pyarrow.compute as compute

    words, sizes = array.flatten(), compute.list_value_length(array).fill_null(0).to_numpy()
    offsets = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    if not numbers and (number := first_null(words)) is not None:
        row = int(np.searchsorted(offsets, number, "right")) - 1
        raise null_at(f"{place(row)}, word {number + 1 - offsets[row]}")
    flat = as_bytes(words).fill_null(b"")
    lines = compute.binary_join(pyarrow.LargeListArray.from_arrays(offsets, flat), pyarrow.scalar(b" ", flat.type))
    data = b"\n" + _text(lines)
    lengths = compute.binary_length(lines).to_numpy()
    if is_plain(data, (len(words), len(array)), (int(np.sum(sizes == 0)), int(np.sum(lengths == 0)))):
        return data[1:]
    lists = pyarrow.LargeListArray.from_arrays(offsets, flat.cast(pyarrow.large_string(), safe=False))
    return encoded(lists.to_pylist())
