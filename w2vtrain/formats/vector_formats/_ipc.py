"""The sizes that an Arrow IPC file promises, found before pyarrow reserves memory for them.

The layout is that of "Arrow Columnar Format", section IPC File Format, in FlatBuffers. Each buffer of a compressed
batch begins with its decompressed size, which pyarrow believes. Offsets are not trusted here: those outside the data
raise struct.error.
"""

import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

TAIL = struct.Struct("<i6s")
BLOCK = struct.Struct("<qi4xq")
"""The place of a message: the offset of its metadata, their length, and the length of its body, which follows them."""
BUFFER = struct.Struct("<qq")
RECORDS, DICTIONARY = 3, 2
"""Kinds of messages."""


class Batch(NamedTuple):
    """A batch of rows, or a dictionary: its number of rows, and the bytes that its buffers have once decompressed."""

    is_dictionary: bool
    rows: int
    bytes: int


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
        for at in _items(footer, table, field, BLOCK):
            offset, metadata, body = BLOCK.unpack_from(footer, at)
            left -= metadata + body
            if min(offset, metadata, body, left) < 0:
                raise ValueError("batches overlap, or one has a negative size")
            yield _batch(file, offset, metadata)


def _batch(file: BinaryIO, offset: int, metadata: int) -> Batch:
    file.seek(offset)
    head = file.read(metadata)
    start = 8 if head[:4] == b"\xff\xff\xff\xff" else 4  # files before Arrow 0.15 have only the length
    message = head[start:]
    table = _at(message, 0)
    (kind,) = struct.unpack_from("<B", message, at) if (at := _field(message, table, 1)) else (0,)
    batch = _at(message, _needed(message, table, 2))
    if kind == DICTIONARY:
        batch = _at(message, _needed(message, batch, 1))
    elif kind != RECORDS:
        raise ValueError("a batch has no rows")
    (rows,) = struct.unpack_from("<q", message, at) if (at := _field(message, batch, 0)) else (0,)
    packed, total = bool(_field(message, batch, 3)), 0
    for at in _items(message, batch, 2, BUFFER):
        where, length = BUFFER.unpack_from(message, at)
        if packed and length:
            file.seek(offset + metadata + where)
            (given,) = struct.unpack("<q", file.read(8))
            length = length if given == -1 else given  # -1: this buffer is not compressed
        if rows < 0 or length < 0:
            raise ValueError("a batch has a negative size")
        total += length
    return Batch(kind == DICTIONARY, rows, total)


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


def _items(data: bytes, table: int, number: int, kind: struct.Struct) -> range:
    """Return the positions of the structures in a vector."""
    if not (field := _field(data, table, number)):
        return range(0)
    first = _at(data, field)
    (count,) = struct.unpack_from("<I", data, first)
    if first + 4 + count * kind.size > len(data):
        raise ValueError("a list is longer than the data")
    return range(first + 4, first + 4 + count * kind.size, kind.size)
