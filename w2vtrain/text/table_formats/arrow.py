"""Parquet and Arrow's files and streams, which pyarrow reads."""

import struct
from collections.abc import Container, Iterator
from contextlib import contextmanager
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from w2vtrain.errors import DataError, InputMissing, UsageError, W2VError, reason
from w2vtrain.system import arrow_batches, parquet_pages
from w2vtrain.system.compression import unpacked
from w2vtrain.system.reading import justified
from w2vtrain.text.columns import Column, bytes_of, column_in, longest_entry, pyarrow, rows, selected
from w2vtrain.text.source import File
from w2vtrain.text.table_formats.contract import Format, Opened, Piece, Raw

BATCH_BYTES = 1 << 22  # of a column, approximately
MAX_BATCH_ROWS = 1 << 14
ROWS_AT_ONCE = 1 << 20  # of a batch of Arrow; what is computed of each row takes more memory than an empty row
REPEATED_BYTES = 1 << 26  # of a batch of a Parquet file, if all of its strings are the longest of the dictionary
DAMAGED = (OSError, ValueError, LookupError, MemoryError, ArithmeticError, RuntimeError, TypeError, struct.error)
PROBED_ROWS = 64  # rows that are read one by one to find a dictionary, which empty lists do not show


@contextmanager
def _reading(path: str, name: str) -> Iterator[None]:
    """Turn what is raised for malformed data into a DataError with the file and the format."""
    try:
        yield
    except W2VError:
        raise
    except FileNotFoundError as error:
        raise InputMissing(f"{path}: cannot be read: {reason(error)}") from error
    except DAMAGED as error:
        text = " ".join(str(error).split())
        raise DataError(f"{path}: damaged or unsupported {name} data: {text[:300] or type(error).__name__}") from error


# Parquet


@contextmanager
def _parquet(path: str) -> Iterator[tuple[BinaryIO, Any]]:
    """Yield a file, and its reader."""
    pyarrow(f"{path}: Parquet")
    with _reading(path, "Parquet"), Path(path).open("rb") as file:
        yield file, parquet_pages.opened(file)


def _parquet_names(file: File, _: Raw) -> list[str]:
    with _parquet(file.path) as (_data, table):
        return list(table.schema_arrow.names)


def _parquet_open(file: File, path: str, _: Raw) -> Opened:
    if file.size is None:
        raise UsageError(f"{file.path}: Parquet must be a regular file, because its index is at its end")
    with _parquet(file.path) as (data, table):
        column = column_in(table.schema_arrow, path, file.path)
        held = _held(data, file.path, parquet_pages.leaves(table.schema, path))
    return Opened(column.lists, _parquet_pieces(file, path, column, held))


class _Held(NamedTuple):
    """What a column's pages in a row group hold: their bytes, the bytes of the largest, and whether one expands."""

    bytes: int = 0
    largest: int = 1
    expands: bool = False


def _held(data: BinaryIO, path: str, leaves: Container[int]) -> dict[int, _Held]:
    """Return what the pages of a column hold, by the number of the row group, from the headers of the pages.

    pyarrow reserves what these say. Raise DataError for a page or a group that is larger than the file justifies.
    """
    held: dict[int, _Held] = {}
    size = Path(path).stat().st_size
    for chunk, page in parquet_pages.checked(data, path, size, leaves):
        before, expands = held.get(chunk.group, _Held()), page.encoding in parquet_pages.EXPANDING
        now = _Held(before.bytes + page.bytes, max(before.largest, page.bytes), before.expands or expands)
        if now.bytes > justified(size):
            raise DataError(
                f"{path}: row group {chunk.group + 1:,} has {now.bytes:,} bytes or more, too many for a file of"
                f" {size:,}: write it with smaller row groups, and check that it is what you expect"
            )
        held[chunk.group] = now
    return held


def group_starts(file: File) -> list[int]:
    """Return a place in the file for each row group of a Parquet file, by its rows, in ascending order from 0 on."""
    with _parquet(file.path) as (_data, table):
        return _starts(table.metadata, file.size or 0)


def _starts(metadata: Any, size: int) -> list[int]:
    rows = [max(0, int(metadata.row_group(number).num_rows)) for number in range(metadata.num_row_groups)]
    return [before * size // max(1, sum(rows)) for before in accumulate(rows[:-1], initial=0)][: len(rows)]


def _parquet_pieces(file: File, path: str, column: Column, held: dict[int, _Held]) -> Iterator[Piece]:
    """Yield the rows of the groups whose places are in the file's range of bytes. held: see `_held`."""
    with _parquet(file.path) as (data, table):
        metadata, row = table.metadata, 1
        whole = Path(file.path).stat().st_size
        coded = parquet_pages.opened(data, parquet_pages.leaves(table.schema, path).values(), metadata)
        for number, start in enumerate(_starts(metadata, whole)):
            group = metadata.row_group(number)
            if file.first <= start < file.first + (file.size or 0):
                pages = held.get(number, _Held())
                # A few bytes of a page that expands can repeat a text as long as the page once per value.
                most = (
                    REPEATED_BYTES // pages.largest if pages.expands else _repeatable_rows(coded, number, path, column)
                )
                size = max(1, min(most, MAX_BATCH_ROWS, group.num_rows * BATCH_BYTES // max(1, pages.bytes)))
                for batch in _batches(table, size, number, path):
                    for text in bytes_of(selected(batch, column), column.lists, rows(f"{file.path}: row ", row)):
                        yield Piece(text, start)
                    row += len(batch)
            else:
                row += group.num_rows


def _repeatable_rows(coded: Any, number: int, path: str, column: Column) -> int:
    """Return how many rows of a group have at most REPEATED_BYTES if all have the longest string of its dictionary.

    A dictionary of a few kilobytes may have a string of megabytes, which each row may repeat. coded: the reader that
    keeps strings in their dictionaries.
    """
    for batch in islice(_batches(coded, 1, number, path), PROBED_ROWS):
        if (longest := longest_entry(selected(batch, column))) is not None:
            return max(1, REPEATED_BYTES // longest)
    return PROBED_ROWS


def _batches(table: Any, size: int, group: int, column: str) -> Iterator[Any]:
    return table.iter_batches(size, row_groups=[group], columns=[column], use_threads=False)  # type: ignore[no-any-return]


# Arrow


@contextmanager
def _arrow(file: File, raw: Raw, columns: list[int] | None = None) -> Iterator[arrow_batches.Table]:
    """Yield a table in either format of Arrow: of files or of streams."""
    pyarrow(f"{file.path}: Arrow")
    with _reading(file.path, "Arrow"):
        pieces = raw(file)
        head = next(pieces, b"")
        if head[:6] != b"ARROW1":
            yield arrow_batches.open_stream(chain([head], pieces), file.path, file.size or 0, columns)
            return
        if file.size is None or unpacked(file.path)[1]:
            raise UsageError(f"{file.path}: Arrow's file format must be a regular file, not compressed: decompress it")
        with Path(file.path).open("rb") as plain:
            yield arrow_batches.open_file(plain, file.path, Path(file.path).stat().st_size, columns)


def _arrow_names(file: File, raw: Raw) -> list[str]:
    with _arrow(file, raw) as table:
        return list(table.schema.names)


def _arrow_open(file: File, path: str, raw: Raw) -> Opened:
    if file.size is None:
        raise UsageError(f"{file.path}: Arrow must be a regular file")
    with _arrow(file, raw) as table:
        column = column_in(table.schema, path, file.path)
        field = list(table.schema.names).index(column.names[0])
    return Opened(column.lists, _arrow_pieces(file, column, raw, field))


def _arrow_pieces(file: File, column: Column, raw: Raw, field: int) -> Iterator[Piece]:
    row = 1
    with _arrow(file, raw, [field]) as table:
        for number, batch in enumerate(table.batches):
            batch.validate(full=True)  # otherwise a malformed file could make pyarrow read anywhere in memory
            at = (file.size or 0) * number // len(table.rows) if table.rows else None
            for start in range(0, len(batch), ROWS_AT_ONCE):
                part = selected(batch.slice(start, ROWS_AT_ONCE), column)
                for text in bytes_of(part, column.lists, rows(f"{file.path}: row ", row)):
                    yield Piece(text, at)
                row += len(part)


PARQUET = Format("Parquet", (".parquet", ".pq"), _parquet_open, _parquet_names)
ARROW = Format("Arrow", (".arrow", ".feather", ".ipc", ".arrows"), _arrow_open, _arrow_names)
