"""Rows of foreign vector files, parsed strictly or leniently: "word v1 v2 ..." and word2vec's binary.

Which format a file has and whether its header can be true is decided before, in vectors.py.
"""

import warnings
from collections.abc import Callable
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from w2vtrain.errors import DataError
from w2vtrain.formats.safetensors import ASCII_SPACE

# Larger dimensions and words are taken for garbage, lest a hostile header or a file without line ends fill the memory.
MAX_DIM = 1_000_000
MAX_WORD = 1 << 16
# The longest text of a float32 in common use has 16 characters; this leaves room for columns aligned with spaces.
MAX_NUMBER = 64
# Values parsed at a time, some 10 MB of text.
BLOCK = 1 << 20


class Collector:
    """The rows read so far; here strict and lenient reading differ, and nowhere else.

    `capacity` is the number of rows if that is known and believed: then the matrix is made at once.
    """

    def __init__(self, name: str, dim: int, capacity: int | None, lenient: bool, limit: int | None) -> None:
        self.name, self.dim, self.lenient, self.limit = name, dim, lenient, limit
        self.words: list[str] = []
        self.skipped = 0
        self._seen: set[str] = set()
        self._blocks: list[NDArray[np.float32]] = []
        rows = None if capacity is None else min(capacity, limit or capacity)
        self._matrix = None if rows is None else np.empty((rows, dim), np.float32)

    def missing(self, rows: int) -> int:
        """How many more rows to read, `rows` at most, 0 when the limit is reached."""
        return rows if self.limit is None else min(rows, self.limit - len(self.words))

    def refuse(self, place: str, problem: str) -> None:
        """Raise DataError, or, reading leniently, count one row that is left out."""
        if not self.lenient:
            raise DataError(f"{self.name}{place}: {problem}")
        self.skipped += 1

    def add(self, names: list[bytes], block: NDArray[np.float32], place: Callable[[int], str]) -> None:
        """Take rows: n words as bytes, (n, d) values, and a function that says where in the file row i stands."""
        start, keep = len(self.words), []
        finite: NDArray[np.bool_] = np.logical_and.reduce(np.isfinite(block), axis=1)
        for i, name in enumerate(names):
            problem = self._add_word(name) if finite[i] else "a value is not a finite number"
            if problem is None:
                keep.append(i)
            else:
                self.refuse(place(i), problem)
        if len(keep) < len(block):
            block = block[keep]
        if self._matrix is None:
            self._blocks.append(block)
        else:
            self._matrix[start : len(self.words)] = block

    def _add_word(self, name: bytes) -> str | None:
        if not name:
            return "the word is empty"
        if ASCII_SPACE.search(name):
            return f"the word {name[:60]!r} holds white space"
        try:
            word = name.decode()
        except UnicodeDecodeError:
            return f"the word {name[:60]!r} is not UTF-8"
        if word in self._seen:
            return f"the word {word[:60]!r} occurs a second time"
        self._seen.add(word)
        self.words.append(word)
        return None

    def result(self) -> tuple[list[str], NDArray[np.float32]]:
        """The words and the (V, d) float32 matrix."""
        if self._matrix is not None:
            return self.words, self._matrix[: len(self.words)]
        return self.words, np.concatenate(self._blocks or [np.empty((0, self.dim), np.float32)])


def numbers(text: bytes) -> NDArray[np.float32] | None:
    """The float32 values of decimals separated by white space; None if anything else is in between."""
    try:
        with warnings.catch_warnings():
            # NumPy reports text that is no number as a deprecation in some versions and as an error in others.
            warnings.simplefilter("error")
            return np.fromstring(text, dtype=np.float32, sep=" ")
    except (ValueError, DeprecationWarning):
        return None


def row_values(line: bytes, dim: int) -> NDArray[np.float32] | None:
    """The `dim` values of a line "word v1 ... vd"; None if it is not one."""
    fields = line.split()
    if len(fields) != dim + 1:
        return None
    values = numbers(b" ".join(fields[1:]))
    return values if values is not None and len(values) == dim else None


def parse_text(file: BinaryIO, rows: Collector, promised: int | None, start: int) -> None:
    """Read lines into `rows` until the end of the file; more than `promised` are an error."""
    line_number = 2 if start > 3 else 1  # a byte order mark has 3 bytes, the shortest header 4
    longest = MAX_WORD + MAX_NUMBER * rows.dim
    step = max(1, BLOCK // rows.dim)
    while (count := rows.missing(step)) > 0:
        lines: list[bytes] = []
        for _ in range(count):
            line = file.readline(longest)
            if not line:
                break
            if len(line) == longest:
                raise DataError(f"{rows.name}:{line_number + len(lines)}: a line of more than {longest:,} bytes")
            lines.append(line.rstrip(b" \t\r\n"))
        if promised is not None and len(rows.words) + len(lines) > promised:
            line_number += promised - len(rows.words)
            raise DataError(f"{rows.name}:{line_number}: more rows than the {promised:,} that the header promises")
        if not lines:
            return
        _parse_lines(lines, rows, line_number)
        line_number += len(lines)


def _parse_lines(lines: list[bytes], rows: Collector, line_number: int) -> None:
    pairs = [line.partition(b" ") for line in lines]
    text = b" ".join([rest for _, _, rest in pairs])
    # One call for all numbers, if every row surely has its own d of them: d - 1 single spaces and no other separator.
    regular = all(rest.count(b" ") == rows.dim - 1 for _, _, rest in pairs)
    if regular and not any(space in text for space in (b"  ", b"\t", b"\r", b"\v", b"\f")):
        values = numbers(text)
        if values is not None and len(values) == len(lines) * rows.dim:
            block = values.reshape(len(lines), rows.dim)
            rows.add([name for name, _, _ in pairs], block, lambda i: f":{line_number + i}")
            return
    for i, line in enumerate(lines):
        _parse_line(line, rows, f":{line_number + i}")


def _parse_line(line: bytes, rows: Collector, place: str) -> None:
    """The slow way for rows with unusual spacing, and to say what is wrong with a bad one."""
    fields = line.split()
    if not fields or line[:1].isspace():
        rows.refuse(place, "the word is empty" if fields else "the line is empty")
    elif len(fields) != rows.dim + 1:
        rows.refuse(place, f"{len(fields) - 1} values after the word, expected {rows.dim}")
    elif (values := row_values(line, rows.dim)) is None:
        bad = next(field for field in fields[1:] if numbers(field) is None)
        rows.refuse(place, f"{bad[:60].decode(errors='replace')!r} is not a number")
    else:
        rows.add([fields[0]], values.reshape(1, -1), lambda _: place)


def parse_binary(file: BinaryIO, rows: Collector, promised: int | None, start: int) -> None:
    """Read rows "word", space, d little-endian float32, perhaps "\\n" into `rows`, as many as there are.

    More than `promised` are an error, and so are bytes left at the end; positions in messages count from the start of
    the (decompressed) file.
    """
    width, data = 4 * rows.dim, b""
    total = 0
    while (most := rows.missing(1 << 62 if promised is None else promised - total)) > 0:
        more = file.read(max(4 * BLOCK, width))
        data += more
        names, starts, values, used = split_binary(data, width, most)
        if names:
            block = np.frombuffer(b"".join(values), "<f4").astype(np.float32, copy=False).reshape(-1, rows.dim)
            rows.add(names, block, lambda i, at=start, offsets=starts: f", byte {at + offsets[i]:,}")  # type: ignore[misc]
        total, start, data = total + len(names), start + used, data[used:]
        if not names and len(data) > MAX_WORD + width:
            raise DataError(f"{rows.name}, byte {start:,}: no word ends within {MAX_WORD:,} bytes")
        if not more:
            break
    if rows.limit is not None and len(rows.words) >= rows.limit:
        return
    data += file.read(2 + MAX_WORD)
    if data not in (b"", b"\n"):
        if promised is not None and total == promised:
            problem = f"more bytes than the {promised:,} vectors that the header promises"
        else:
            problem = f"the file ends inside row {total + 1:,}"
        rows.refuse(f", byte {start:,}", problem)


def split_binary(data: bytes, width: int, most: int) -> tuple[list[bytes], list[int], list[bytes], int]:
    """Cut whole rows off the start of `data`: words, where each begins, their values as bytes, and bytes used."""
    names: list[bytes] = []
    starts: list[int] = []
    values: list[bytes] = []
    at = 0
    while len(names) < most:
        # word2vec.c ends a row with a newline, other writers do not; no word begins with one.
        begin = at + 1 if data[at : at + 1] == b"\n" else at
        space = data.find(b" ", begin, begin + MAX_WORD + 1)
        if space < 0 or space + 1 + width > len(data):
            break
        names.append(data[begin:space])
        starts.append(begin)
        at = space + 1 + width
        values.append(data[space + 1 : at])
    return names, starts, values, at
