"""Parquet and Arrow's files and streams, which pyarrow reads: a batch of rows is in memory at a time."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, BinaryIO

from w2vtrain.errors import DataError, InputMissing, UsageError, W2VError, reason
from w2vtrain.leaves.tables.columns import (
    Column,
    Format,
    Opened,
    Piece,
    Raw,
    at_column,
    bytes_of,
    column_in,
    pyarrow,
    rows,
    selected,
)
from w2vtrain.system.compression import unpacked
from w2vtrain.system.foreign import refuse_foreign
from w2vtrain.system.reading import stream_of, warn_cut_off
from w2vtrain.text.source import File

BATCH_ROWS = 1 << 12
"""Rows of a Parquet file that are decoded at a time."""
END_MARK = b"\xff\xff\xff\xff"
"""Begins each message, and the mark at the end of a stream, before zeros, which the format lets writers omit. Streams
in the format of before 2019 have zeros alone at their end.
"""
DAMAGED = (OSError, ValueError, LookupError, MemoryError, ArithmeticError, RuntimeError, TypeError)
"""What pyarrow raises for a damaged file."""


@contextmanager
def reading(path: str, name: str) -> Iterator[None]:
    """Turn what is raised for malformed data into a DataError with the file and the format."""
    pyarrow(f"{path}: {name}")
    try:
        yield
    except W2VError:
        raise
    except FileNotFoundError as error:
        raise InputMissing(f"{path}: cannot be read: {reason(error)}") from error
    except DAMAGED as error:
        text = " ".join(str(error).split())
        raise DataError(f"{path}: damaged or unsupported {name} data: {text[:300] or type(error).__name__}") from error


@contextmanager
def _parquet(path: str) -> Iterator[Any]:
    """Yield pyarrow's reader of a file."""
    with reading(path, "Parquet"), native_file(path) as file:
        from pyarrow.parquet import ParquetFile

        yield ParquetFile(file)


def native_file(path: str | Path) -> Any:
    """Open a regular file for pyarrow. Raise OSError if that fails.

    Threads of Arrow read ahead, and if they called a file of Python while the process exits, they would abort it.
    """
    return pyarrow("a table").OSFile(os.fsencode(path))


def _parquet_names(file: File, _: Raw) -> list[str]:
    with _parquet(file.path) as table:
        return list(table.schema_arrow.names)


def _parquet_open(file: File, path: str, _: Raw, whole_rows: bool, numbers: bool) -> Opened:
    if file.size is None:
        raise UsageError(f"{file.path}: Parquet must be a regular file, because its index is at its end")
    with _parquet(file.path) as table:
        column = column_in(table.schema_arrow, path, file.path, numbers)
    return Opened(column.lists, _parquet_pieces(file, path, column, whole_rows, numbers))


def group_starts(file: File) -> list[int]:
    """Return a place in the file for each row group of a Parquet file, by its rows, in ascending order from 0 on."""
    with _parquet(file.path) as table:
        return _starts(table.metadata, file.size or 0)


def _starts(metadata: Any, size: int) -> list[int]:
    rows = [max(0, int(metadata.row_group(number).num_rows)) for number in range(metadata.num_row_groups)]
    return [before * size // max(1, sum(rows)) for before in accumulate(rows[:-1], initial=0)][: len(rows)]


def _parquet_pieces(file: File, path: str, column: Column, whole_rows: bool, numbers: bool) -> Iterator[Piece]:
    """Yield the rows of the groups whose places are in the file's range of bytes."""
    with _parquet(file.path) as table:
        row = 1
        for number, start in enumerate(_starts(table.metadata, Path(file.path).stat().st_size)):
            if not file.first <= start < file.first + (file.size or 0):
                row += table.metadata.row_group(number).num_rows
                continue
            for batch in table.iter_batches(BATCH_ROWS, row_groups=[number], columns=[path], use_threads=False):
                place = rows(f"{file.path}: row ", row, at_column(path))
                for text in bytes_of(selected(batch, column), column.lists, place, whole_rows, numbers):
                    yield Piece(text, start)
                row += len(batch)


@contextmanager
def _arrow(file: File, raw: Raw, columns: list[int] | None = None) -> Iterator[tuple[Any, int, Iterator[Any]]]:
    """Yield the schema, the number of batches, and the batches of a file or, with 0 batches, of a stream.

    columns: the numbers of those to read, by default all.
    """
    with reading(file.path, "Arrow"):
        from pyarrow import ipc

        options, pieces = ipc.IpcReadOptions(included_fields=columns, use_threads=False), raw(file)
        head = next(pieces, b"")
        if head[:6] != b"ARROW1":
            refuse_foreign(head, file.path)
            end = bytearray()
            stream = stream_of(_noting_end(chain([head], pieces), end))
            reader = ipc.open_stream(stream, options=options)
            is_old = not head.startswith(END_MARK)
            yield reader.schema, 0, _only(reader, stream, None if is_old else end, file.path)
            return
        if file.size is None or unpacked(file.path)[1]:
            raise UsageError(f"{file.path}: Arrow's file format must be a regular file, not compressed: decompress it")
        with native_file(file.path) as plain:
            reader = ipc.open_file(plain, options=options)
            yield reader.schema, reader.num_record_batches, map(reader.get_batch, range(reader.num_record_batches))


def _noting_end(pieces: Iterator[bytes], end: bytearray) -> Iterator[bytes]:
    """Yield pieces, and keep in `end` the last bytes so far that are not zero, as many as END_MARK has."""
    for piece in pieces:
        end[:] = (end + piece.rstrip(b"\0")[-len(END_MARK) :])[-len(END_MARK) :]
        yield piece


def _only(batches: Iterator[Any], stream: BinaryIO, end: bytearray | None, path: str) -> Iterator[Any]:
    """Yield the batches of a stream. Raise DataError if the file goes on after them with more than padding.

    Warn if there is no end mark, because a stream that is cut off after a batch looks complete to pyarrow. end: see
    `_noting_end`, or None for a format without a mark.
    """
    yield from batches
    if any(piece.strip(b"\0") for piece in iter(lambda: stream.read(1 << 20), b"")):
        raise DataError(f"{path}: more data after the end of an Arrow stream: save each stream in a file of its own")
    if end not in (None, END_MARK):
        warn_cut_off(path, "the Arrow stream has no end mark", "rows")


def _arrow_names(file: File, raw: Raw) -> list[str]:
    with _arrow(file, raw) as (schema, _, _batches):
        return list(schema.names)


def _arrow_open(file: File, path: str, raw: Raw, whole_rows: bool, numbers: bool) -> Opened:
    if file.size is None:
        raise UsageError(f"{file.path}: Arrow must be a regular file")
    with _arrow(file, raw) as (schema, _, _batches):
        column = column_in(schema, path, file.path, numbers)
        field = list(schema.names).index(column.names[0])
    return Opened(column.lists, _arrow_pieces(file, column, raw, field, whole_rows, numbers))


def _arrow_pieces(file: File, column: Column, raw: Raw, field: int, whole_rows: bool, numbers: bool) -> Iterator[Piece]:
    row = 1
    with _arrow(file, raw, [field]) as (_, count, batches):
        for number, batch in enumerate(batches):
            batch.validate(full=True)  # otherwise a malformed file could make pyarrow read anywhere in memory
            at = (file.size or 0) * number // count if count else None
            place = rows(f"{file.path}: row ", row, at_column(".".join(column.names)))
            for text in bytes_of(selected(batch, column), column.lists, place, whole_rows, numbers):
                yield Piece(text, at)
            row += len(batch)


PARQUET = Format("Parquet", (".parquet", ".pq"), _parquet_open, _parquet_names)
ARROW = Format("Arrow", (".arrow", ".feather", ".ipc", ".arrows"), _arrow_open, _arrow_names)
