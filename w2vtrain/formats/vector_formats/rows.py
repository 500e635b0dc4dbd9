"""Strict or lenient reading of rows, each a word and its values, and comparison with what the header promises.

Lenient reading mends words that are not UTF-8 or contain white space, and leaves out all other invalid rows.

How a format stores a row, and how it is recognized, is up to the modules of vector_formats.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from w2vtrain.errors import DataError, TruncatedFile
from w2vtrain.formats.safetensors import row_blocks
from w2vtrain.formats.vector_formats.contract import Coding, Sniff, Vectors
from w2vtrain.system.compression import MAX_EXPANSION
from w2vtrain.system.machine import available_memory
from w2vtrain.system.reading import justified, open_input

# Larger dimensions and longer words (in bytes) count as garbage, so that a malicious header or a file without line ends
# cannot exhaust the memory.
MAX_DIM = 1_000_000
MAX_WORD_BYTES = 1 << 16
# Numbers of values and of rows parsed at a time. The values are 256 KiB, which stay in the cache, and about 700 kB of
# text; the rows are about 20 MB of objects.
VALUES_AT_ONCE, ROWS_AT_ONCE = 1 << 16, 1 << 16
LARGE_BYTES = 1 << 26
"""Size of a text file from which compiled code parses it. Loading Numba and the code takes as long as 30 MB of text."""
UNCHECKED_BYTES = 1 << 26
"""Bytes of words and vectors up to which the free memory is not asked for."""
BYTES_PER_WORD = 100
"""Bytes that a word takes in a list and a set, besides its string."""
REPAIR = "`w2vtrain convert --repair` writes a clean copy"
"""The end of messages about an invalid row or header."""
REPORTED = 10
"""Invalid rows that lenient reading describes; the others are only counted."""
Parse = Callable[[BinaryIO, "Collector", int | None, int], None]
"""parse(file, rows, promised, start): adds rows to the Collector `rows` until the file ends or the Collector needs no
more. file: the file, positioned at its first row; promised: the number of rows in the header, or None; start: the byte
offset of the first row."""


class Collector:
    """The rows read so far. An invalid row is an error in strict reading; lenient reading mends or skips it.

    name: the file's name, for messages; capacity: the number of rows if it is known and trusted, so that the matrix is
    allocated at once, or None; lenient and limit: see `vectors.read_vectors`; size: the file's size in bytes, which
    bounds the memory that words and vectors may take: see `_take`; coding: if given, words are read as gensim does:
    any bytes that it decodes are a word, and of rows with the same word, only the first is kept, but all count.
    added: the number of rows that were added, whether they were kept or not. garbled: what a mended word has if it is
    hardly the one that was meant: here, if bytes could not be decoded.
    """

    garbled = re.compile("\ufffd")

    def __init__(
        self, name: str, dim: int, capacity: int | None, lenient: bool, limit: int | None, size: int,
        coding: Coding | None = None,
    ) -> None:  # fmt: skip
        self.name, self.dim, self.lenient, self.limit, self.coding = name, dim, lenient, limit, coding
        self.step = max(1, min(ROWS_AT_ONCE, VALUES_AT_ONCE // dim))  # rows to parse at a time
        self.is_large = size >= LARGE_BYTES
        self.words: list[str] = []
        self.skipped = self.mended = 0
        self.flaws: list[str] = []  # of the first REPORTED rows that were skipped or mended
        self.left_out: list[int] = []  # the numbers of the added rows that were skipped, from 0
        self.added = 0
        self._garbled = 0  # rows that were invalid, but for those whose mended word is likely the one that was meant
        self._seen: set[str] = set()
        self._blocks: list[NDArray[np.float32]] = []
        self._bytes, self._free = 0, 0  # bytes of words and vectors so far; bytes that fit, once it matters
        self._most = 2 * justified(size)  # a value of text has 2 bytes or more, and 4 in memory
        rows = None if capacity is None else min(capacity, limit or capacity)
        self._matrix: NDArray[np.float32] | None = None
        if rows is not None:
            self._take(4 * rows * dim)
            self._matrix = np.empty((rows, dim), np.float32)

    def _take(self, size: int) -> None:
        """Count `size` more bytes of memory.

        Raise DataError if the file is too small for all of them, which only a compressed file can be, and MemoryError
        if they do not fit: the system would rather end a process than refuse them.
        """
        before, self._bytes = self._bytes, self._bytes + size
        if self._bytes > self._most:
            raise DataError(
                f"{self.name}: words and vectors of more than {MAX_EXPANSION} times the size of the compressed file:"
                " decompress the file and check that it is what you expect"
            )
        if self._bytes > UNCHECKED_BYTES:
            self._free = self._free or before + available_memory()
            if self._bytes > self._free:
                raise MemoryError

    def missing(self, rows: int) -> int:
        """Return how many more rows to read: at most `rows`, and 0 if the limit is reached."""
        used = len(self.words) + (self.skipped if self.coding else 0)
        return rows if self.limit is None else min(rows, self.limit - used)

    def refuse(self, place: str, problem: str, kind: type[DataError] = DataError, mended: str | None = None) -> None:
        """Raise an error of class `kind` or, when reading leniently, count one row as skipped or as mended.

        mended: the word of a row that is kept.
        """
        if not self.lenient:
            condition = "" if self.words else "if most of the other rows are valid, "
            raise kind(f"{self.name}{place}: {problem}; {condition}{REPAIR}")
        self._garbled += not mended or self.garbled.search(mended) is not None
        if self.skipped + self.mended < REPORTED:
            self.flaws.append(f"{self.name}{place}: {problem}: {f'now {mended[:60]!r}' if mended else 'left out'}")
        self.skipped, self.mended = self.skipped + (not mended), self.mended + bool(mended)

    def add(self, names: list[bytes], block: NDArray[np.float32], place: Callable[[int], str]) -> None:
        """Add n rows. names: the words as bytes; block: their (n, d) values; place: where row i is, for messages."""
        start = len(self.words)
        finite: NDArray[np.bool_] = np.logical_and.reduce(np.isfinite(block), axis=1)
        if not (finite.all() and self._add_words(names)):
            kept = self._kept(names, finite.tolist(), place)
            self.left_out += (self.added + np.delete(np.arange(len(names)), kept)).tolist()
            block = block[kept]
        self.added += len(names)
        self._take(sum(map(sys.getsizeof, self.words[start:])) + BYTES_PER_WORD * (len(self.words) - start))
        if self._matrix is None:
            self._take(block.nbytes)
            self._blocks.append(block)
        else:
            self._matrix[start : len(self.words)] = block

    def _add_words(self, names: list[bytes]) -> bool:
        """Add all words and return True if nothing is wrong with any; else add none."""
        text = b" ".join(names)
        if self.coding and not self.coding.is_utf8:
            return False  # what joins the words here may not be a space in this encoding
        if text.split() != names:  # a word is empty or contains white space
            return False
        try:
            words = text.decode().split(" ")
        except UnicodeDecodeError:
            return False
        distinct = set(words)
        if len(distinct) < len(words) or not self._seen.isdisjoint(distinct):
            return False
        self._seen |= distinct
        self.words += words
        return True

    def _kept(self, names: list[bytes], finite: list[bool], place: Callable[[int], str]) -> list[int]:
        """Add words one by one, refuse those that are invalid, and return the numbers of those that were added."""
        keep = []
        for i, name in enumerate(names):
            word, problem = self._decoded(name)
            if not finite[i]:
                word, problem = None, "a value is not a finite number"
            elif word in self._seen:
                if self.coding:
                    self.skipped += 1
                    continue
                self._garbled -= not problem  # it will be counted, although the row is valid
                problem += f"{'; ' * bool(problem)}the word {word[:60]!r} occurs a second time"
                word = None
            if problem:
                self.refuse(place(i), problem, mended=word)
            if word is not None:
                self._seen.add(word)
                self.words.append(word)
                keep.append(i)
        return keep

    def _decoded(self, name: bytes) -> tuple[str | None, str]:
        """Return a word, mended if it is invalid, or None if that is impossible, and what is wrong with it."""
        if self.coding:
            return self.coding.word(name, self.name), ""
        mended = b"_".join(name.split())
        word = mended.decode(errors="replace")
        if not word:
            return None, "the word is empty"
        if mended != name:
            return word, f"the word {name[:60].decode(errors='replace')!r} contains white space"
        return word, "" if word.encode() == name else f"the word {name[:60]!r} is not UTF-8"

    def result(self) -> tuple[list[str], NDArray[np.float32]]:
        """Return the words and the (V, d) float32 matrix. Raise DataError if most rows are not what was meant."""
        invalid, rows = self._garbled, len(self.words) + self.skipped
        if 2 * invalid > rows:
            raise DataError(
                f"{self.flaws[0]}; {invalid:,} of {rows:,} rows are invalid, too many to repair: check the header and"
                " the encoding"
            )
        if self._matrix is not None:
            return self.words, self._matrix[: len(self.words)]
        matrix, end = np.empty((len(self.words), self.dim), np.float32), len(self.words)
        while self._blocks:  # each is freed once it is copied, so there are never two matrices in memory
            block = self._blocks.pop()
            end -= len(block)
            matrix[end : end + len(block)] = block
            del block
        return self.words, matrix


def read_rows(path: str | Path, sniffed: Sniff, lenient: bool, limit: int | None, parse: Parse) -> Vectors:
    """Read a file of rows with the parser `parse`, as described in `vectors.read_vectors`.

    Raise DataError, InputMissing and MemoryError.
    """
    rows = collect_rows(path, sniffed, lenient, limit, parse)
    words, matrix = rows.result()
    if sniffed.rows is not None and len(words) + rows.skipped != min(sniffed.rows, limit or sniffed.rows):
        problem = f"{path}: the header promises {sniffed.rows:,} vectors, the file has {len(words) + rows.skipped:,}"
        if not lenient:
            raise TruncatedFile(f"{problem}; {REPAIR}")
        if limit is None:
            rows.flaws.append(problem)
    if not words:
        raise DataError(f"{path} contains no vectors: name a file with a line or record per word")
    header = sniffed.rows is not None
    return Vectors(
        words, matrix, sniffed.kind, header, sniffed.compression, rows.skipped, mended=rows.mended, flaws=rows.flaws
    )


def collect_rows(
    path: str | Path, sniffed: Sniff, lenient: bool, limit: int | None, parse: Parse, coding: Coding | None = None
) -> Collector:
    """Return the rows of a file, as for `read_rows`; with a `coding`, it may have more than the header promises."""
    dim = check_promise(path, sniffed, lenient)
    # The true size of compressed data is unknown, so the matrix grows with the rows that are actually read.
    capacity = None if lenient or sniffed.compression else sniffed.rows
    rows = Collector(str(path), dim, capacity, lenient, limit, sniffed.size, coding)
    with open_input(path) as (file, _):
        file.read(sniffed.start)
        parse(file, rows, None if lenient or coding else sniffed.rows, sniffed.start)
    return rows


def check_promise(path: str | Path, sniffed: Sniff, lenient: bool = False) -> int:
    """Return d; raise DataError if a file of this size, compressed or not, cannot contain the promised rows."""
    rows, dim = sniffed.rows, sniffed.dim
    if dim is None or dim < 1 or dim > MAX_DIM or (rows is not None and rows < 1):
        raise DataError(f"{path}:1: the header promises {rows} vectors of {dim} values, which is impossible")
    if rows is not None and not lenient:
        shortest = (4 if sniffed.kind == "binary" else 2) * dim + 1  # of an empty word
        needed, most = rows * shortest, justified(sniffed.size) if sniffed.compression else sniffed.size
        if needed > most - sniffed.start + 1:
            but = f"the file has {most:,}: it is cut off or its header is wrong; if rows have {dim:,} values, {REPAIR}"
            if sniffed.compression:
                but = f"{sniffed.size:,} compressed bytes may expand to {most:,} here: decompress it if that is right"
            raise TruncatedFile(
                f"{path}:1: the header promises {rows:,} vectors of {dim:,} values, at least"
                f" {needed + sniffed.start:,} bytes, but {but}"
            )
    return dim


def float_blocks(words: Sequence[bytes], matrix: Any) -> Iterator[tuple[Sequence[bytes], NDArray[np.float32]]]:
    """Yield words and their rows block by block, with the rows as contiguous little-endian float32."""
    for rows in row_blocks(matrix):
        yield words[rows], np.ascontiguousarray(matrix[rows], dtype="<f4")
