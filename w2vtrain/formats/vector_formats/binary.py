"""word2vec's binary format: a line "V d", then one row per word: the word, a space and d little-endian float32 values.

Strict and lenient reading is in rows.py; the distinction from text is in word2vec.py.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from w2vtrain.errors import DataError, TruncatedFile
from w2vtrain.formats.vector_formats.contract import Code, Promise, Sniff, Table, Vectors
from w2vtrain.formats.vector_formats.rows import MAX_WORD_BYTES, Collector, float_blocks, read_rows
from w2vtrain.formats.vector_formats.word2vec import CONTROL, promise_of, split_binary

ENOUGH_VALUES = 64
"""Values other than 0 by which the order of their bytes is judged: a few may be anything."""
SPACE, PART_BYTES = re.compile(b" "), 128
"""What follows a space in a word is searched for in so many bytes of values. More of them are hardly ever UTF-8."""


def sniff(head: bytes, whole: bool) -> Promise | None:
    """Claim data with a header that is not followed by text."""
    header = promise_of(head, whole)
    return header[0] if header and not header[1] else None


def read(path: str | Path, sniffed: Sniff, lenient: bool, limit: int | None) -> Vectors:
    """Read a file."""
    return read_rows(path, sniffed, lenient, limit, parse_binary)


def write(file: BinaryIO, table: Table) -> None:
    """Write "V d" and one row per word, with a newline at the end of each row, as word2vec.c does."""
    file.write(b"%d %d\n" % table.matrix.shape)
    write_rows(file, table.words, table.matrix)


def write_rows(file: BinaryIO, words: Sequence[bytes], matrix: Any) -> None:
    """Write what follows the header; `matrix` needs only a length, a size, and slices of rows."""
    for names, block in float_blocks(words, matrix):
        file.write(b"".join([b"%b %b\n" % (name, row.data) for name, row in zip(names, block, strict=True)]))


def size(words: Sequence[bytes], dim: int) -> int:
    """Return the size in bytes of a file of these words with d values each."""
    return len(b"%d %d\n" % (len(words), dim)) + sum(map(len, words)) + len(words) * (4 * dim + 2)


def parse_binary(file: BinaryIO, rows: Collector, promised: int | None, start: int) -> None:
    """Read rows of a word, a space, d little-endian float32 values and an optional "\\n" into `rows`, up to the end.

    More rows than `promised` are an error, and so are leftover bytes at the end. Byte offsets in messages count from
    the start of the decompressed file.
    """
    width, data = 4 * rows.dim, b""
    while (most := rows.missing(1 << 62 if promised is None else promised - rows.added)) > 0:
        more = file.read(width * rows.step)
        data += more
        names, starts, values, used = split_binary(data, width, most, PART_BYTES if more else 0)
        if names:
            block = np.frombuffer(b"".join(values), "<f4").astype(np.float32, copy=False).reshape(-1, rows.dim)
            if not rows.added and _is_swapped(block):
                raise DataError(f"{rows.name}: the values are big-endian: write them little-endian, as word2vec.c does")
            after = data[used : used + MAX_WORD_BYTES].lstrip(b"\n").partition(b" ")[0]
            if found := _without_word(data, [*names, after], starts, block, not rows.coding or rows.coding.is_utf8):
                row, byte = rows.added + min(found) + 1, start + [*starts, used][min(found)]
                raise DataError(
                    f"{rows.name}, row {row:,}, byte {byte:,}: values in place of a word: a word before it contains a"
                    " space, or the header is wrong: write such words as text"
                )

            def place(i: int, at: int = start, offsets: list[int] = starts) -> str:
                return f", row {rows.added + i + 1:,}, byte {at + offsets[i]:,}"

            rows.add(names, block, place)
        start, data = start + used, data[used:]
        if not names and len(data) > MAX_WORD_BYTES + width + PART_BYTES:
            raise DataError(f"{rows.name}, byte {start:,}: no word ends within {MAX_WORD_BYTES:,} bytes")
        if not (names or more):
            break
    if rows.missing(1) == 0:
        return
    data += file.read(2 + MAX_WORD_BYTES)
    if data.strip(b"\n"):
        if promised is not None and rows.added == promised:
            rows.refuse(f", byte {start:,}", f"more bytes than the {promised:,} vectors that the header promises")
        else:
            rows.refuse(f", byte {start:,}", f"the file ends inside row {rows.added + 1:,}", TruncatedFile)


def _without_word(
    data: bytes, names: list[bytes], starts: list[int], block: NDArray[np.float32], is_utf8: bool
) -> list[int]:
    """Return which rows certainly have values in place of a word: those of the block, or the one after them.

    names: the words of all of these. If a word contains a space, the part after it is read as values, and the last
    values as the beginning of the next word. That word has a newline, or control bytes and is not UTF-8, or the values
    are of usual size only if they begin after a later space.
    """
    dim, usual = block.shape[1], _is_usual(block).sum(axis=1)
    others = [i for i, name in enumerate(names) if not name.isascii()] if is_utf8 else []
    invalid = [i for i in others if names[i].decode(errors="ignore").encode() != names[i]]
    found = [i for i, name in enumerate(names) if b"\n" in name] + [i for i in invalid if CONTROL.search(names[i])]
    # Fewer than four values may be anything, and so may those of tables of probabilities.
    unusual = np.flatnonzero(usual < dim).tolist() if dim > 3 and np.median(usual) == dim else []
    for i in {*unusual, *(i - 1 for i in invalid if i)}:
        at, least = starts[i] + len(names[i]) + 1, max(min(usual[i] + 1, dim), 0.75 * dim + 0.25)
        spaces = SPACE.finditer(data, at, at + min(PART_BYTES, 4 * dim, len(data) - 4 * dim - at))
        if any(_is_usual(np.frombuffer(data, "<f4", dim, space.end())).sum() >= least for space in spaces):
            found.append(i + 1)
    return found


def _is_usual(values: NDArray[np.float32]) -> NDArray[np.bool_]:
    sizes = np.abs(values)
    usual: NDArray[np.bool_] = (sizes == 0) | ((sizes > 1e-12) & (sizes < 1e6))
    return usual


def _is_swapped(block: NDArray[np.float32]) -> bool:
    """Return whether values are certainly big-endian.

    A tenth of them would be beyond 1e30, or all denormal if they are whole numbers; swapped, all are of usual size.
    """
    sizes, swapped = (np.abs(values[block != 0]) for values in (block, block.byteswap()))
    is_possible = (sizes > np.finfo(np.float32).tiny) & (sizes < 1e30)
    return len(sizes) >= ENOUGH_VALUES and not is_possible.all() and bool(_is_usual(swapped).all())


CODE = {"binary": Code(write, read, size=size)}
