"""word2vec's text format, and GloVe's, which is the same without the first line "V d".

Strict and lenient reading is in rows.py; the distinction from binary files is in word2vec.py.
"""

import re
from codecs import BOM_UTF8
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from statistics import mode
from typing import Any, BinaryIO

import numpy as np
import orjson
from numpy.typing import NDArray

from w2vtrain.errors import DataError
from w2vtrain.formats.safetensors import ASCII_SPACE
from w2vtrain.formats.vector_formats.contract import Code, Promise, Sniff, Table, Vectors
from w2vtrain.formats.vector_formats.rows import MAX_WORD_BYTES, Collector, float_blocks, read_rows
from w2vtrain.formats.vector_formats.word2vec import (
    CONTROL,
    DECIMAL,
    DECIMAL_COMMAS,
    FIRST_LINES,
    SPARSE,
    has_decimal_commas,
    numbers,
    numbers_at_end,
    promise_of,
    row_values,
    whole_lines,
)
from w2vtrain.system.machine import automatic_threads
from w2vtrain.system.reading import warn_cut_off

# Longest text per value, in bytes. A float32 rarely has more than 16 characters; the rest allows for aligned columns.
MAX_NUMBER_BYTES = 64
DECIMAL_ROW = re.compile(rb"[^ \t\n\r\v\f]+ " + DECIMAL, re.IGNORECASE)
GARBLED = re.compile(r"\ufffd|_[-+.]?\d")
"""What a mended word has if bytes could not be decoded, or if it has taken up values, as only that of a line can."""
BLOCK_BYTES = 1 << 20
"""Bytes of text that are parsed at a time."""


def sniff(head: bytes, whole: bool) -> Promise | None:
    """Claim data that start with a header followed by text, or with a row that ends in numbers (GloVe).

    Most of the first rows have d numbers after their words, some of which may contain spaces or be missing. A single
    number must be no integer, in the first rows, because a vocabulary has a word and a count per line.
    """
    if header := promise_of(head, whole):
        promise, is_text = header
        return promise if is_text and not SPARSE.match(head, promise.start) else None
    start = 3 if head.startswith(b"\xef\xbb\xbf") else 0
    rows = whole_lines(head[start:], whole)[:FIRST_LINES]
    sizes = [size for row in rows if (size := numbers_at_end(row.split()[1:]))]
    dim = mode(sizes) if sizes else 0
    if dim >= 2 and numbers_at_end(rows[0].split()) >= dim:
        if row_values(rows[0], dim) is not None or not CONTROL.search(rows[0]):
            return Promise(None, dim, start)
    if dim == 1 and all(map(DECIMAL_ROW.fullmatch, rows)):
        return Promise(None, dim, start)
    return None


def read(path: str | Path, sniffed: Sniff, lenient: bool, limit: int | None) -> Vectors:
    """Read a file."""
    return read_rows(path, sniffed, lenient, limit, parse_text)


def write(file: BinaryIO, table: Table) -> None:
    """Write "V d" and one line per word, with the shortest decimals that read back to the same float32 values."""
    file.write(b"%d %d\n" % table.matrix.shape)
    write_rows(file, table.words, table.matrix)


def write_glove(file: BinaryIO, table: Table) -> None:
    """Write GloVe's format: the same lines, without "V d"."""
    file.write(BOM_UTF8 * table.words[0].startswith(BOM_UTF8))  # readers drop one byte order mark
    write_rows(file, table.words, table.matrix)


def write_rows(file: BinaryIO, words: Sequence[bytes], matrix: Any) -> None:
    """Write what follows the header; `matrix` needs only a length, a size, and slices of rows."""
    for names, block in float_blocks(words, matrix):
        file.write(lines(names, block))


def lines(names: Sequence[bytes], block: NDArray[np.float32], separator: bytes = b" ") -> bytes:
    """Return one line per row: its name and its values, with separators between; only values if names are empty."""
    # orjson prints the shortest decimals ten times as fast as repr(). Its "[[1.0,2.0],[3.0,4.0]]" is split at each "]",
    # because searching for one byte takes a tenth of the time of searching for several. The two bytes before each row
    # ("[[" or " [") are cut off.
    lists = orjson.dumps(block, option=orjson.OPT_SERIALIZE_NUMPY).replace(b",", separator).split(b"]")[:-2]
    if not any(names):
        return b"".join([b"%b\n" % values[2:] for values in lists])
    return b"".join([b"%b%b%b\n" % (name, separator, values[2:]) for name, values in zip(names, lists, strict=True)])


def parse_text(file: BinaryIO, rows: Collector, promised: int | None, start: int) -> None:
    """Read lines into `rows` until the end of the file; more lines than `promised` are an error."""
    rows.garbled = GARBLED
    line_number = 2 if start > 3 else 1  # a byte order mark has 3 bytes, the shortest header has 4
    is_over = False  # there are more lines than promised; what is wrong with those before is reported first

    def take(count: int) -> int:
        """Return how many of the next lines to read."""
        nonlocal line_number, is_over
        if is_over:
            rows.refuse(f":{line_number}", f"more rows than the {promised:,} that the header promises")
        count = rows.missing(count)
        if promised is not None and len(rows.words) + count > promised:
            count, is_over = promised - len(rows.words), True
        line_number += count
        return count

    rest = b""
    with closing(_blocks(file, rows)) as blocks:
        for names, values, rest in blocks:
            at = 0
            while count := take(len(names) - at):  # again, if rows were left out and the limit is not reached
                first, some = line_number - count, slice(at, at + count)
                rows.add(names[some], values[some], lambda i, first=first: f":{first + i}")  # type: ignore[misc]
                at += count
            left = rest.split(b"\n")
            del left[len(left) - (not left[-1]) :]  # what follows the last newline
            at = 0
            while count := take(min(rows.step, len(left) - at)):
                _parse_lines(left[at : at + count], rows, line_number - count)
                at += count
            if rows.missing(1) == 0:
                return
            take(0)
    if rest and not rest.endswith(b"\n"):
        warn_cut_off(rows.name)


def _blocks(file: BinaryIO, rows: Collector) -> Generator[tuple[list[bytes], NDArray[np.float32], bytes]]:
    """Yield the words and values of the first lines of a block, if compiled code has parsed them, and the other lines.

    Compiled code parses large files, on all cores, while the rows of earlier blocks are added.
    """
    blocks = _line_blocks(file, MAX_WORD_BYTES + MAX_NUMBER_BYTES * rows.dim)
    if not rows.is_large:
        for block in blocks:
            yield [], np.empty((0, rows.dim), np.float32), block
        return
    threads = automatic_threads()[0]
    with ThreadPoolExecutor(threads) as pool:
        ahead: deque[Future[Any]] = deque()
        for block in blocks:
            ahead.append(pool.submit(_compiled, block, rows.dim))
            if len(ahead) > threads:
                yield ahead.popleft().result()
        yield from (future.result() for future in ahead)


def _line_blocks(file: BinaryIO, longest: int) -> Iterator[bytes]:
    """Yield blocks of whole lines, of which one that is longer than `longest` bytes may be cut.

    Blank lines at the end of the file are left out.
    """
    blank = 0  # lines since the last that is not
    while block := file.read(BLOCK_BYTES):
        if not block.endswith(b"\n"):
            block += file.readline(longest)
        end = len(block.rstrip())
        if end:
            for start in range(0, blank, BLOCK_BYTES):
                yield b"\n" * min(BLOCK_BYTES, blank - start)
            blank, end = 0, block.find(b"\n", end) + 1 or len(block)
            yield block[:end]
        blank += block.count(b"\n", end)


def _compiled(block: bytes, dim: int) -> tuple[list[bytes], NDArray[np.float32], bytes]:
    """Return the words and values of the first lines of a block, as many as compiled code can parse, and the others."""
    from w2vtrain.kernels.text_rows import POWERS, text_rows

    text = np.frombuffer(block, np.uint8)[: block.rfind(b"\n") + 1]
    most = len(text) // (2 * dim + 2)
    bounds, values = np.empty((most, 2), np.int64), np.empty((most, dim), np.float32)
    count, used = text_rows(text, MAX_WORD_BYTES, POWERS, bounds, values)
    return [block[first:end] for first, end in bounds[:count].tolist()], values[:count], block[used:]


def _parse_lines(lines: list[bytes], rows: Collector, line_number: int) -> None:
    longest = MAX_WORD_BYTES + MAX_NUMBER_BYTES * rows.dim
    for i, line in enumerate(lines):
        if len(line) >= longest:
            raise DataError(f"{rows.name}:{line_number + i}: a line of more than {longest:,} bytes")
    pairs = [line.rstrip(b" \t\r").partition(b" ") for line in lines]
    text = b" ".join([rest for _, _, rest in pairs])
    # Parse all numbers in one call if each row certainly has d of them: d - 1 single spaces and no other separator.
    regular = all(rest.count(b" ") == rows.dim - 1 for _, _, rest in pairs)
    if regular and not any(space in text for space in (b"  ", b"\t", b"\r", b"\v", b"\f")):
        values = numbers(text)
        if values is not None and len(values) == len(lines) * rows.dim:
            block = values.reshape(len(lines), rows.dim)
            rows.add([name for name, _, _ in pairs], block, lambda i: f":{line_number + i}")
            return
    if len(lines) == 1:
        _parse_line(lines[0], rows, f":{line_number}")
        return
    for i, line in enumerate(lines):  # what is a word in one line does not depend on the others
        _parse_lines([line], rows, line_number + i)


def _parse_line(line: bytes, rows: Collector, place: str) -> None:
    """Parse a row with unusual spacing, which is slower, or report what is wrong with it."""
    word, *values = line.rsplit(None, rows.dim) or [b""]  # not more fields, of which millions would exhaust the memory
    row = numbers(b" ".join(values))
    if not word or (len(values) < rows.dim and line[:1].isspace()):
        rows.refuse(place, "the word is empty" if word else "the line is empty")
    elif len(values) < rows.dim:
        rows.refuse(place, f"{len(values)} values after the word, expected {rows.dim}")
    elif row is None or len(row) < rows.dim:
        if has_decimal_commas(values):
            raise DataError(f"{rows.name}{place}: {DECIMAL_COMMAS}")
        bad = next(field for field in values if numbers(field) is None)
        rows.refuse(place, f"{bad[:60].decode(errors='replace')!r} is not a number")
    elif ASCII_SPACE.search(word) and not (rows.lenient and len(word) <= MAX_WORD_BYTES):
        shown = word[:60].decode(errors="replace")
        rows.refuse(place, f"the word {shown!r} contains white space, or there are more than {rows.dim} values")
    else:
        rows.add([word], row.reshape(1, -1), lambda _: place)


CODE = {"text": Code(write, read), "glove": Code(write_glove, read)}
