"""The formats of tables: Parquet, Arrow, JSON lines, CSV and TSV, each read batch by batch.

A format says what type a column has, and yields batches of it; columns.py turns these into text. Files may be hostile:
whatever pyarrow or msgspec raises becomes a DataError with the name of the file.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import orjson

from w2vtrain.errors import DataError, InputMissing, UsageError, W2VError, reason, shown
from w2vtrain.system.compression import decompressed, unpacked
from w2vtrain.text.columns import Batch, column_of, field_of, is_list, longest_entry, null_at, pyarrow, selected
from w2vtrain.text.source import File

BATCH_BYTES = 1 << 22  # of a column, approximately
MAX_BATCH_ROWS = 1 << 14
REPEATED_BYTES = 1 << 26  # of a batch of a Parquet file, if all of its strings are the longest of the dictionary
PROBED_ROWS = 64  # rows that are read one by one to find a dictionary, which empty lists do not show
CSV_BLOCK_BYTES = 1 << 24  # a row of a CSV file must be shorter
MAX_RECORD_BYTES = 1 << 28  # of one line of JSON

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


def format_of(path: str) -> Format | None:
    """Return the format of a file by its suffix or, failing that, by its first bytes; None for any other file."""
    suffix = unpacked(path)[0].suffix.lower()
    if known := next((known for known in FORMATS if suffix in known.suffixes), None):
        return known
    try:
        with Path(path).open("rb") as file:
            pieces = decompressed(iter(lambda: file.read(1 << 12), b""), path)
            return format_of_head(next(pieces, b""))
    except (OSError, W2VError):
        return None


def format_of_head(head: bytes) -> Format | None:
    """Return the format of a file by its first bytes, except those that look like any text."""
    if head[:4] == b"PAR1":
        return PARQUET
    if head[:6] == b"ARROW1" or head[:4] == b"\xff\xff\xff\xff":
        return ARROW
    return JSON_LINES if head.lstrip()[:1] == b"{" else None


@contextmanager
def reading(path: str, name: str) -> Iterator[None]:
    """Turn what pyarrow raises for malformed data into a DataError with the file and the format."""
    try:
        yield
    except W2VError:
        raise
    except FileNotFoundError as error:
        raise InputMissing(f"{path}: cannot be read: {reason(error)}") from error
    except (OSError, ValueError, LookupError, MemoryError, ArithmeticError, NotImplementedError, TypeError) as error:
        text = " ".join(str(error).split())
        raise DataError(f"{path}: damaged or unsupported {name} data: {text[:300] or type(error).__name__}") from error


def _rows(path: str, first: int) -> Callable[[int], str]:
    """Return the places of a batch's rows. first: the number of the first, counted from 1."""
    return lambda index: f"{path}: row {first + index:,}"


def _checked(name: str, opened: Callable[[], Iterator[Batch]], path: str) -> Iterator[Batch]:
    """Yield batches while pyarrow's errors are turned into ours."""
    batches = opened()
    while True:
        with reading(path, name):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


class Stream(io.RawIOBase):
    """The bytes of an iterator as a file that pyarrow can read. No more memory is reserved than there are bytes."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._held = pieces, bytearray()

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return `size` bytes, or fewer at the end."""
        while (size < 0 or len(self._held) < size) and (piece := next(self._pieces, b"")):
            self._held += piece
        end = len(self._held) if size < 0 else size
        data = bytes(self._held[:end])
        del self._held[:end]
        return data


# Parquet


@contextmanager
def _parquet(path: str, dictionaries: Sequence[str] = ()) -> Iterator[Any]:
    """Yield a reader. dictionaries: the leaves to read as dictionaries of strings."""
    pyarrow(f"{path}: Parquet")
    from pyarrow import parquet

    options = {"pre_buffer": False, "buffer_size": 1 << 20, "read_dictionary": [*dictionaries]}
    with Path(path).open("rb") as file, parquet.ParquetFile(file, **options) as table:
        yield table


def _parquet_names(file: File, _: Raw) -> list[str]:
    with reading(file.path, "Parquet"), _parquet(file.path) as table:
        return list(table.schema_arrow.names)


def _parquet_open(file: File, column: str, _: Raw) -> Opened:
    if file.size is None:
        raise UsageError(f"{file.path}: Parquet must be a regular file, because its index is at its end")
    with reading(file.path, "Parquet"), _parquet(file.path) as table:
        lists = is_list(field_of(table.schema_arrow, column, file.path))
    return Opened(bool(lists), _checked("Parquet", lambda: _parquet_batches(file, column), file.path))


def group_starts(file: File) -> list[int]:
    """Return the first byte of each row group of a Parquet file, in ascending order, within the file."""
    with reading(file.path, "Parquet"), _parquet(file.path) as table:
        return _starts(table.metadata, file.size or 0)


def _starts(metadata: Any, size: int) -> list[int]:
    starts: list[int] = []
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        chunk = group.column(0) if group.num_columns else None
        offsets = [chunk.data_page_offset, chunk.dictionary_page_offset or chunk.data_page_offset] if chunk else [0]
        starts.append(max(0, min(size - 1, *offsets)) if chunk else 0)
    return list(accumulate(starts, max))


def _parquet_batches(file: File, column: str) -> Iterator[Batch]:
    """Yield the rows of the groups that begin in the file's range of bytes."""
    with _parquet(file.path) as table:
        metadata, row = table.metadata, 1
        whole = Path(file.path).stat().st_size
        for number, start in enumerate(_starts(metadata, whole)):
            group = metadata.row_group(number)
            if file.first <= start < file.first + (file.size or 0):
                rows = min(_batch_rows(group, column), _repeatable_rows(file.path, number, group, column))
                for batch in table.iter_batches(rows, row_groups=[number], columns=[column], use_threads=False):
                    yield Batch(selected(batch, column), _rows(file.path, row), start)
                    row += len(batch)
            else:
                row += group.num_rows


def _chunks(group: Any, column: str) -> list[Any]:
    chunks = [group.column(i) for i in range(group.num_columns)]
    return [chunk for chunk in chunks if f"{chunk.path_in_schema}.".startswith(f"{column}.")]


def _repeatable_rows(path: str, number: int, group: Any, column: str) -> int:
    """Return how many rows of a group have at most REPEATED_BYTES if all have the longest string of its dictionary.

    A dictionary of a few kilobytes may have a string of megabytes, which each row may repeat.
    """
    with _parquet(path, [chunk.path_in_schema for chunk in _chunks(group, column)]) as table:
        batches = table.iter_batches(1, row_groups=[number], columns=[column], use_threads=False)
        for batch in islice(batches, PROBED_ROWS):
            array = selected(batch, column)
            if (longest := longest_entry(array)) is not None:
                return max(1, REPEATED_BYTES // longest)
    return PROBED_ROWS


def _batch_rows(group: Any, column: str) -> int:
    """Return how many rows of a group have about BATCH_BYTES."""
    size = sum(chunk.total_uncompressed_size for chunk in _chunks(group, column))
    return max(1, min(MAX_BATCH_ROWS, int(group.num_rows) * BATCH_BYTES // max(1, int(size))))


# Arrow


@contextmanager
def _arrow(file: File, raw: Raw, columns: list[int] | None = None) -> Iterator[Any]:
    """Yield a reader of either format of Arrow: of files or of streams."""
    pyarrow(f"{file.path}: Arrow")
    from pyarrow import ipc

    options = ipc.IpcReadOptions(included_fields=columns, use_threads=False)
    pieces = raw(file)
    head = next(pieces, b"")
    if head[:6] != b"ARROW1":
        with ipc.open_stream(Stream(chain([head], pieces)), options=options) as stream:
            yield stream
        return
    if file.size is None or unpacked(file.path)[1]:
        raise UsageError(f"{file.path}: Arrow's file format must be a regular file, not compressed: decompress it")
    with Path(file.path).open("rb") as plain, ipc.open_file(plain, options=options) as opened:
        yield opened


def _arrow_names(file: File, raw: Raw) -> list[str]:
    with reading(file.path, "Arrow"), _arrow(file, raw) as table:
        return list(table.schema.names)


def _arrow_open(file: File, column: str, raw: Raw) -> Opened:
    if file.size is None:
        raise UsageError(f"{file.path}: Arrow must be a regular file")
    with reading(file.path, "Arrow"), _arrow(file, raw) as table:
        schema = table.schema
        lists = is_list(field_of(schema, column, file.path))
    names = list(schema.names)
    field = names.index(column if column in names else column.partition(".")[0])
    return Opened(bool(lists), _checked("Arrow", lambda: _arrow_batches(file, column, raw, field), file.path))


def _arrow_batches(file: File, column: str, raw: Raw, field: int) -> Iterator[Batch]:
    row = 1
    with _arrow(file, raw, [field]) as table:
        stream = hasattr(table, "read_next_batch")
        batches = table if stream else map(table.get_batch, range(table.num_record_batches))
        for number, batch in enumerate(batches):
            batch.validate(full=True)  # otherwise a malformed file could make pyarrow read anywhere in memory
            at = None if stream else (file.size or 0) * number // table.num_record_batches
            yield Batch(selected(batch, column), _rows(file.path, row), at)
            row += len(batch)


# CSV and TSV


def _csv_reader(file: File, raw: Raw, delimiter: str, column: str | None) -> Any:
    arrow = pyarrow(f"{file.path}: CSV")
    from pyarrow import csv

    stream = io.BufferedReader(Stream(raw(file)))
    chosen = {} if column is None else {"include_columns": [column], "column_types": {column: arrow.binary()}}
    return csv.open_csv(
        stream.raw,
        read_options=csv.ReadOptions(use_threads=False, block_size=CSV_BLOCK_BYTES),
        parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=csv.ConvertOptions(check_utf8=False, strings_can_be_null=False, **chosen),
    )


def _csv_names(file: File, raw: Raw, delimiter: str) -> list[str]:
    with reading(file.path, "CSV"):
        return list(_csv_reader(file, raw, delimiter, None).schema.names)


def _csv_open(file: File, column: str, raw: Raw, delimiter: str) -> Opened:
    if file.path != "-" and file.size is not None:  # otherwise, the file can be read only once
        names = _csv_names(file, raw, delimiter)
        if names.count(column) != 1:
            problem = "two columns are named" if column in names else "no column"
            raise DataError(f"{file.path}: {problem} {shown(column)}; the columns are: {column_of(names)}")

    def batches() -> Iterator[Batch]:
        row = 1
        for batch in _csv_reader(file, raw, delimiter, column):
            yield Batch(batch.column(0), _rows(file.path, row))
            row += len(batch)

    return Opened(False, _checked("CSV", batches, file.path))


# JSON lines


def _record_blocks(pieces: Iterator[bytes], path: str) -> Iterator[bytes]:
    """Join pieces into blocks of whole lines, without a byte order mark."""
    held, size, first = list[bytes](), 0, True
    for piece in pieces:
        end = piece.rfind(b"\n") + 1
        if end and size + end >= BATCH_BYTES >> 2:
            block = b"".join([*held, piece[:end]])
            yield block.removeprefix(b"\xef\xbb\xbf") if first else block
            held, size, first = [piece[end:]], len(piece) - end, False
            continue
        held.append(piece)
        size += len(piece)
        if size > MAX_RECORD_BYTES:
            raise DataError(f"{path}: a line of more than {MAX_RECORD_BYTES:,} bytes is no record of JSON lines")
    if last := b"".join(held):
        yield last.removeprefix(b"\xef\xbb\xbf") if first else last


_LINES = ": write one record per line, for example with jq -c '.[]' for an array, or jq -c . for records"


def _record(block: bytes, place: str) -> dict[str, Any]:
    """Return the first record of a block. Raise DataError unless it is a JSON object."""
    line = next((line for line in block.split(b"\n") if line.strip()), b"{}")
    try:
        record = orjson.loads(line.decode("utf-8", "replace"))
    except ValueError as error:
        raise DataError(f"{place}: not a record of JSON on one line: {str(error)[:200]}{_LINES}") from None
    if not isinstance(record, dict):
        raise DataError(f"{place}: {shown(record)} is not a JSON object{_LINES}")
    return record


def _json_names(file: File, raw: Raw) -> list[str]:
    return list(_record(next(_record_blocks(raw(file), file.path), b""), file.path))


def _json_path(record: dict[str, Any], column: str, path: str) -> tuple[list[str], Any]:
    """Return the keys that lead to a column in the first record, and its value there."""
    keys, value, rest = list[str](), record, column
    while rest:
        if not isinstance(value, dict):
            raise DataError(f"{path}: no column {shown(column)}: {shown('.'.join(keys))} is {shown(value)}, no object")
        here = rest if rest in value else rest.partition(".")[0]
        if here not in value:
            raise DataError(
                f"{path}: no column {shown(column)} in the first record, which has: {column_of(list(record))}"
            )
        keys, value, rest = [*keys, here], value[here], rest[len(here) + 1 :]
    return keys, value


def _json_open(file: File, column: str, raw: Raw) -> Opened:
    blocks = _record_blocks(raw(file), file.path)
    first = next(blocks, b"")
    if not first.strip():
        return Opened(None, iter(()))
    keys, value = _json_path(_record(first, _lines(file, 1)(0)), column, file.path)
    if value is None:
        raise null_at(f"{_lines(file, 1)(0)}: column {shown(column)}")
    if not isinstance(value, str | list):
        raise DataError(
            f"{_lines(file, 1)(0)}: column {shown(column)} is {shown(value)}, and must be a string or a list of strings"
        )
    lists = isinstance(value, list)
    return Opened(lists, _json_batches(file, chain([first], blocks), keys, lists))


def _lines(file: File, first: int) -> Callable[[int], str]:
    after = f" after byte {file.first:,}" if file.first else ""
    return lambda index: f"{file.path}:{first + index}{after}"


def _decoder(keys: list[str], lists: bool) -> Any:
    """Return a decoder of records that keeps only the value under these keys, and skips all others."""
    kind: Any = list[str] if lists else str
    for key in reversed(keys):
        kind = msgspec.defstruct("Record", [("value", kind)], rename={"value": key}, gc=False)
    return msgspec.json.Decoder(kind)


def _json_batches(file: File, blocks: Iterator[bytes], keys: list[str], lists: bool) -> Iterator[Batch]:
    try:
        decoder = _decoder(keys, lists)
    except ValueError as error:
        raise DataError(f"{file.path}: the column has a name that is not supported: {error}") from None
    line = 1
    for block in blocks:
        place = _lines(file, line)
        try:
            values = decoder.decode_lines(block)
        except (ValueError, RecursionError):
            values = [_decoded(decoder, text, place(i)) for i, text in enumerate(block.split(b"\n")) if text.strip()]
        for _ in keys:
            values = [record.value for record in values]
        yield Batch(values, place)
        line += block.count(b"\n")


def _decoded(decoder: Any, line: bytes, place: str) -> Any:
    """Return a record. Raise DataError with its place if it has another type, or is not JSON in UTF-8."""
    try:
        return decoder.decode(line)
    except (ValueError, RecursionError) as error:
        text = str(error).replace("`", "")
    if "got null" in text or "missing required" in text:
        raise null_at(f"{place}: {text}")
    raise DataError(f"{place}: {text[:300]}")


PARQUET = Format("Parquet", (".parquet", ".pq"), True, _parquet_open, _parquet_names)
ARROW = Format("Arrow", (".arrow", ".feather", ".ipc", ".arrows"), True, _arrow_open, _arrow_names)
JSON_LINES = Format("JSON lines", (".jsonl", ".ndjson", ".json"), False, _json_open, _json_names)
CSV = Format(
    "CSV", (".csv",), False,
    lambda file, column, raw: _csv_open(file, column, raw, ","), lambda file, raw: _csv_names(file, raw, ","),
)  # fmt: skip
TSV = Format(
    "TSV", (".tsv",), False,
    lambda file, column, raw: _csv_open(file, column, raw, "\t"), lambda file, raw: _csv_names(file, raw, "\t"),
)  # fmt: skip
FORMATS = (PARQUET, ARROW, JSON_LINES, CSV, TSV)
