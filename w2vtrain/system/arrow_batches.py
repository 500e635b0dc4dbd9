"""Arrow's files and streams, opened so that no batch takes more memory than the size of the file justifies.

What a batch promises is found before pyarrow reserves memory for it. The layout is that of "Arrow Columnar Format",
sections IPC Streaming Format and IPC File Format, in FlatBuffers. Each buffer of a compressed batch begins with its
decompressed size, which pyarrow believes. Offsets are not trusted here: those outside the data raise struct.error.
"""

import io
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from w2vtrain.errors import DataError
from w2vtrain.system.reading import justified, stream_of

TAIL = struct.Struct("<i6s")
BLOCK = struct.Struct("<qi4xq")
"""The place of a message: the offset of its metadata, their length, and the length of its body, which follows them."""
BUFFER = struct.Struct("<qq")
RECORDS, DICTIONARY = 3, 2
"""Kinds of messages."""
OLD_COMPRESSION = b"ARROW:experimental_compression"
"""The key of a message's metadata by which Arrow 0.17 says that the buffers are compressed. pyarrow still reads it."""


class Table(NamedTuple):
    """An open table: its Arrow schema, its record batches, and the rows of each, which are unknown ([]) in a stream."""

    schema: Any
    batches: Iterator[Any]
    rows: list[int]


class Batch(NamedTuple):
    """A batch of rows, or a dictionary: its number of rows, and the bytes that its buffers have once decompressed."""

    is_dictionary: bool
    rows: int
    bytes: int


def open_file(file: BinaryIO, path: str | Path, size: int, columns: list[int] | None = None) -> Table:
    """Return the table in a file of `size` bytes. columns: the numbers of those to read, by default all.

    Raise DataError if a batch takes more memory than the file justifies; struct.error, or ValueError and other errors
    of pyarrow, if the file is damaged.
    """
    from pyarrow import ipc

    reader = ipc.open_file(file, options=ipc.IpcReadOptions(included_fields=columns, use_threads=False))
    kept, rows = 0, list[int]()
    for batch in batches(file, size):
        kept = _kept(kept, batch, path, size)
        if not batch.is_dictionary:
            rows.append(batch.rows)
    return Table(reader.schema, map(reader.get_batch, range(reader.num_record_batches)), rows)


def open_stream(pieces: Iterator[bytes], path: str | Path, size: int, columns: list[int] | None = None) -> Table:
    """Return the table in a stream. size: the bytes of its file, which may be compressed; columns: see `open_file`.

    Its errors may also occur while the batches are read.
    """
    from pyarrow import BufferReader, ipc

    kept = 0

    def checked(message: Any) -> Any:
        nonlocal kept
        batch = _promised(message.metadata.to_pybytes(), BufferReader(message.body or b""), 0)
        kept = _kept(kept, batch, path, size)
        return memoryview(message.serialize()).cast("B")  # without another copy

    messages = map(checked, ipc.MessageReader.open_stream(_Stream(pieces, path, size)))
    reader = ipc.open_stream(
        stream_of(messages), options=ipc.IpcReadOptions(included_fields=columns, use_threads=False)
    )
    return Table(reader.schema, reader, [])


def _kept(kept: int, batch: Batch, path: str | Path, size: int) -> int:
    """Return the bytes of the dictionaries so far, which stay in memory: before this batch, they were `kept`.

    Raise DataError if the batch takes more memory, beside them, than a file of `size` bytes justifies.
    """
    needed = kept + batch.bytes
    if max(needed, 4 * batch.rows) > justified(size):
        much = f"{needed:,} decompressed bytes and {batch.rows:,} rows"
        raise DataError(f"{path}: {much} are too many for a file of {size:,} bytes")
    return needed if batch.is_dictionary else kept


class _Stream(io.RawIOBase):
    """The bytes of an iterator as a file that pyarrow can read. No more memory is reserved than there are bytes."""

    def __init__(self, pieces: Iterator[bytes], path: str | Path, size: int) -> None:
        self._pieces, self._held, self._path, self._size = pieces, bytearray(), path, size

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Return `size` bytes, or fewer at the end. Raise DataError if they are more than the file justifies."""
        while (size < 0 or len(self._held) < size) and (piece := next(self._pieces, b"")):
            self._held += piece
            if len(self._held) > justified(self._size):
                held = f"a message of {len(self._held):,} bytes or more"
                raise DataError(f"{self._path}: {held} is too large for a file of {self._size:,} bytes")
        end = len(self._held) if size < 0 else size
        data = bytes(memoryview(self._held)[:end])
        del self._held[:end]
        return data


def batches(file: BinaryIO, size: int) -> Iterator[Batch]:
    """Yield what each dictionary and each batch of a file of `size` bytes promises.

    Raise struct.error or ValueError if the file is damaged.
    """
    file.seek(max(0, size - TAIL.size))
    length, _ = TAIL.unpack(file.read())
    if not 0 < length <= size:
        raise ValueError("the footer is damaged")
    file.seek(max(0, size - TAIL.size - length))
    footer = file.read(length)
    table, left = _at(footer, 0), size
    for field in (2, 3):
        for offset, metadata, body in _items(footer, table, field, BLOCK):
            left -= metadata + body
            if min(offset, metadata, body, left) < 0:
                raise ValueError("batches overlap, or one has a negative size")
            file.seek(offset)
            head = file.read(metadata)
            start = 8 if head[:4] == b"\xff\xff\xff\xff" else 4  # files before Arrow 0.15 have only the length
            yield _promised(head[start:], file, offset + metadata)


def _promised(message: bytes, file: Any, body: int) -> Batch:
    """Return what a message promises. body: where in the file its body begins."""
    table = _at(message, 0)
    (kind,) = struct.unpack_from("<B", message, at) if (at := _field(message, table, 1)) else (0,)
    if kind not in (RECORDS, DICTIONARY):
        return Batch(False, 0, 0)
    batch = _at(message, _needed(message, table, 2))
    if kind == DICTIONARY:
        batch = _at(message, _needed(message, batch, 1))
    (rows,) = struct.unpack_from("<q", message, at) if (at := _field(message, batch, 0)) else (0,)
    packed, lengths = _field(message, batch, 3) or OLD_COMPRESSION in message, list[int]()
    for where, length in _items(message, batch, 2, BUFFER):
        if packed and length:
            file.seek(body + where)
            (given,) = struct.unpack("<q", file.read(8))
            length = length if given == -1 else given  # -1: this buffer is not compressed
        lengths.append(length)
    if min([rows, *lengths]) < 0:
        raise ValueError("a batch has a negative size")
    return Batch(kind == DICTIONARY, rows, sum(lengths))


def _at(data: bytes, at: int) -> int:
    """Return the position to which the reference at `at` leads, which is always forward."""
    (step,) = struct.unpack_from("<I", data, at)
    return at + int(step)


def _field(data: bytes, table: int, number: int) -> int:
    """Return the position of a field of a table, 0 if it has its default value."""
    (back,) = struct.unpack_from("<i", data, table)
    if not 0 <= (fields := table - back) < len(data):
        raise ValueError("a table is damaged")
    (size,) = struct.unpack_from("<H", data, fields)
    if 4 + 2 * number >= size:
        return 0
    (step,) = struct.unpack_from("<H", data, fields + 4 + 2 * number)
    return table + int(step) if step else 0


def _needed(data: bytes, table: int, number: int) -> int:
    if not (at := _field(data, table, number)):
        raise ValueError("a field is missing")
    return at


def _items(data: bytes, table: int, number: int, kind: struct.Struct) -> Iterator[tuple[int, ...]]:
    """Return an iterator over the fields of each structure in a vector."""
    if not (field := _field(data, table, number)):
        return iter(())
    first = _at(data, field)
    (count,) = struct.unpack_from("<I", data, first)
    items = data[first + 4 : first + 4 + count * kind.size]
    if len(items) < count * kind.size:
        raise ValueError("a list is longer than the data")
    return kind.iter_unpack(items)
