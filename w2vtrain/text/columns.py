"""Turn the values of a column into text: a text per row, or a list of words per row, from Arrow arrays or from Python.

Each function returns bytes that end with a newline, of which the rows of a text column are any number of lines, and the
rows of a list column one sentence each, as sentences.py writes them. It opens no files. Messages say which row is
wrong; `Place` turns the number of a row into its place in a file.
"""

from collections.abc import Callable, Container, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from w2vtrain.errors import DataError, InputMissing, shown
from w2vtrain.text.sentences import REMEMBERED_WORDS, encoded, escaped, is_plain

Array: TypeAlias = Any
"""A pyarrow.Array, whose package has no types."""
Int64: TypeAlias = npt.NDArray[np.int64]
Place = Callable[[int], str]
"""From the index of a row in a batch to its place in messages."""

PIECE_BYTES = 1 << 20
"""Approximate size of the pieces into which arrays are cut."""
MAX_ROW_BYTES = 1 << 28
"""Size of the largest row as text: a few bytes of a dictionary may stand for any number of copies of a string."""

_remembered = lru_cache(REMEMBERED_WORDS)(escaped)


class Batch(NamedTuple):
    """Some rows of a column: a pyarrow array, a list of values from JSON of the right type, or text; their place."""

    values: Any
    place: Place = str
    at: int | None = None  # the byte of the file, if it is known, up to which it was read before this batch


def pyarrow(needed_by: str) -> Any:
    """Return the module pyarrow. Raise InputMissing, which names the extra, if it is not installed."""
    try:
        import pyarrow
    except ImportError as error:
        raise InputMissing(f"{needed_by} needs the package pyarrow: pip install 'w2vtrain[table]'") from error
    return pyarrow


def bytes_of(batch: Batch, lists: bool) -> Iterator[bytes]:
    """Yield the rows of a batch as bytes, in pieces. lists: whether the rows are lists of words.

    Raise DataError for the first row that is null, has a null or is not UTF-8 where that is required.
    """
    if isinstance(batch.values, bytes):
        yield batch.values
    elif not isinstance(batch.values, list):
        yield from _pieces(batch, lists)
    elif lists:
        yield _sentences(batch.values)
    elif batch.values:
        yield "\n".join([*batch.values, ""]).encode()


def is_list(kind: Any) -> bool | None:
    """Return whether a type of Arrow is that of lists of words (True) or of text (False), else None."""
    types = pyarrow("a table").types
    if types.is_dictionary(kind):
        return is_list(kind.value_type) and None if _has_items(kind.value_type) else is_list(kind.value_type)
    if _has_items(kind):
        return True if is_list(kind.value_type) is False else None
    return False if _is_text(kind) else None


def null_at(place: str) -> DataError:
    """Return the error for a null."""
    return DataError(f"{place}: null, and there must be text: drop such rows, or fill them with ''")


def column_of(names: Sequence[str]) -> str:
    """Return the end of a message that lists the columns of a table."""
    listed = ", ".join(map(shown, names[:20]))
    return f"{listed}{f' and {len(names) - 20:,} more' if len(names) > 20 else ''}" or "none"


def first_part(names: Container[str], path: str) -> str:
    """Return the name with which a path through structs begins: all of it if a column has that name."""
    return path if path in names else path.partition(".")[0]


def field_of(schema: Any, column: str, name: str) -> Any:
    """Return the type of a column, whose name may be a path through structs, such as a.b.

    Raise DataError if there is no such column, or if it has neither text nor lists of words.
    """
    kind, rest = schema, column
    while True:
        names = [kind.field(i).name for i in range(len(kind) if kind is schema else kind.num_fields)]
        here = first_part(names, rest)
        if names.count(here) != 1:
            problem = f"{names.count(here)} columns named" if here in names else "no column"
            raise DataError(f"{name}: {problem} {shown(column)}; the columns are: {column_of(list(schema.names))}")
        field, rest = kind.field(names.index(here)).type, rest[len(here) + 1 :]
        if not rest:
            break
        if not pyarrow("a table").types.is_struct(field):
            raise DataError(f"{name}: no column {shown(column)}: {shown(here)} has the type {field}, without fields")
        kind = field
    if is_list(field) is None:
        raise DataError(
            f"{name}: column {shown(column)} has the type {_short(field)}, and must have strings or lists of strings"
        )
    return field


def selected(batch: Any, column: str) -> Array:
    """Return the column of a record batch, or the field of a struct in it, that `field_of` has found."""
    import pyarrow.compute as compute

    names = list(batch.schema.names)
    here = first_part(names, column)
    array, rest = batch.column(names.index(here)), column[len(here) + 1 :]
    while rest:
        names = [array.type.field(i).name for i in range(array.type.num_fields)]
        here = first_part(names, rest)
        array, rest = compute.struct_field(array, [here]), rest[len(here) + 1 :]
    return array


def _short(kind: Any) -> str:
    text = str(kind).replace("\n", " ")
    return text if len(text) <= 80 else f"{text[:80]}..."


def _has_items(kind: Any) -> bool:
    types = pyarrow("a table").types
    tests = ("is_list", "is_large_list", "is_fixed_size_list", "is_list_view", "is_large_list_view")
    return any(getattr(types, test)(kind) for test in tests if hasattr(types, test))


def _is_view(kind: Any) -> bool:
    types = pyarrow("a table").types
    return any(getattr(types, test)(kind) for test in ("is_string_view", "is_binary_view") if hasattr(types, test))


def _is_text(kind: Any) -> bool:
    types = pyarrow("a table").types
    tests = ("is_string", "is_large_string", "is_string_view", "is_binary", "is_large_binary", "is_binary_view")
    return any(getattr(types, test)(kind) for test in tests if hasattr(types, test))


def _pieces(batch: Batch, lists: bool) -> Iterator[bytes]:
    """Yield the rows of an Arrow array, of which only a piece is converted at a time."""
    array = batch.values
    if (null := first_null(array)) is not None:
        raise null_at(batch.place(null))
    sizes = _sizes(array)
    if len(sizes) and sizes.max() > MAX_ROW_BYTES:
        raise DataError(f"{batch.place(int(sizes.argmax()))}: a row of more than {MAX_ROW_BYTES:,} bytes")
    for first, last in _ranges(sizes):
        piece = array.slice(first, last - first)
        if not lists:
            yield _text(piece)
            continue
        try:
            yield _joined(piece, lambda i, first=first: batch.place(first + i))  # type: ignore[misc]
        except UnicodeDecodeError as error:
            raise DataError(f"{batch.place(first)} or after it: a word is not UTF-8 ({error.reason})") from None


def first_null(array: Array) -> int | None:
    """Return the index of the first null, also one that is an entry of a dictionary, or None."""
    missing = array.is_null()
    if hasattr(array, "dictionary") and array.dictionary.null_count:
        missing = array.dictionary.is_null().take(array.indices).fill_null(True)
    number = missing.index(True).as_py()
    return None if number < 0 else int(number)


def _sizes(array: Array) -> Int64:
    """Return the bytes of each row as text, before strings that rows share are repeated."""
    if not _has_items(array.type):
        return _lengths(array)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(_lengths(array.values))])
    if hasattr(array, "sizes"):  # views of lists, which may overlap
        first = array.offsets.to_numpy().astype(np.int64)
        last = first + array.sizes.to_numpy()
    elif hasattr(array, "offsets"):
        offsets = array.offsets.to_numpy()
        first, last = offsets[:-1], offsets[1:]
    else:
        first = (array.offset + np.arange(len(array))) * array.type.list_size
        last = first + array.type.list_size
    return np.asarray(ends[last] - ends[first] + 1, np.int64)


def _lengths(array: Array) -> Int64:
    """Return the bytes of each string and of the separator after it."""
    import pyarrow.compute as compute

    if hasattr(array, "dictionary"):
        lengths = _lengths(array.dictionary)
        return lengths[array.indices.fill_null(0).to_numpy()] if len(lengths) else np.ones(len(array), np.int64)
    if _is_view(array.type):  # pyarrow has no function for them: a view begins with the length of its string
        views = np.frombuffer(array.buffers()[1] or b"", np.int32).reshape(-1, 4)[array.offset :][: len(array), 0]
        return np.where(array.is_null().to_numpy(zero_copy_only=False), 0, views).astype(np.int64) + 1
    return np.asarray(compute.binary_length(array).fill_null(0).to_numpy(), np.int64) + 1


def longest_entry(array: Array) -> int | None:
    """Return the bytes of the longest string that the rows of an array may have, or None if that is unknown."""
    values = array.flatten() if _has_items(array.type) else array
    lengths = _lengths(values.dictionary if hasattr(values, "dictionary") else values)
    return int(lengths.max()) if len(lengths) else None


def _ranges(sizes: Int64) -> Iterator[tuple[int, int]]:
    """Yield the first row, and the one after the last, of pieces of about PIECE_BYTES, and of at least one row."""
    ends, first, before = np.cumsum(sizes), 0, 0
    while first < len(ends):
        last = max(first + 1, int(np.searchsorted(ends, before + PIECE_BYTES, "right")))
        yield first, last
        first, before = last, int(ends[last - 1])


def _text(array: Array) -> bytes:
    """Return the rows of an array of strings, each followed by a newline."""
    import pyarrow
    import pyarrow.compute as compute

    flat = _flat(array)
    row = pyarrow.LargeListArray.from_arrays(pyarrow.array([0, len(flat)], pyarrow.int64()), flat)
    joined = compute.binary_join(row, pyarrow.scalar(b"\n", flat.type))
    return bytes(joined[0].as_buffer()) + b"\n"


def _flat(array: Array) -> Array:
    """Return an array of strings as large_binary, which is a view of most types."""
    import pyarrow

    types = pyarrow.types
    if types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if types.is_string_view(array.type):
        array = array.cast(pyarrow.large_string())
    return array.cast(pyarrow.large_binary())


def _joined(array: Array, place: Place) -> bytes:
    """Return the sentences of an array of lists of words. Only if a word needs it, words become Python's."""
    import pyarrow
    import pyarrow.compute as compute

    words = array.flatten()
    if (number := first_null(words)) is not None:
        row = compute.list_parent_indices(array)[number].as_py()
        before = sum(compute.list_value_length(array.slice(0, row)).to_pylist())
        raise null_at(f"{place(row)}, word {number + 1 - before}")
    sizes = compute.list_value_length(array).cast(pyarrow.int64())
    offsets = pyarrow.array([0], pyarrow.int64())
    offsets = pyarrow.concat_arrays([offsets, compute.cumulative_sum(sizes)])
    flat = _flat(words)
    lines = compute.binary_join(pyarrow.LargeListArray.from_arrays(offsets, flat), pyarrow.scalar(b" ", flat.type))
    data = b"\n" + _text(lines)
    empty = compute.sum(compute.equal(sizes, 0)).as_py()
    empty_lines = compute.sum(compute.equal(compute.binary_length(lines), 0)).as_py()
    if is_plain(data, (len(words), len(array)), (empty, empty_lines)):
        return data[1:]
    lists = pyarrow.LargeListArray.from_arrays(offsets, flat.cast(pyarrow.large_string(), safe=False))
    return _sentences(lists.to_pylist())


def _sentences(sentences: list[list[str]]) -> bytes:
    """Return lists of words as sentences.py writes them."""
    return encoded(sentences, [" ".join(words) for words in sentences], _remembered) if sentences else b""
