"""TensorBoard's projector: vectors as tab-separated values (X.tsv), and beside it their words (X.metadata.tsv).

https://projector.tensorflow.org loads both. The metadata have one line per vector. With counts, they have two columns,
and then a first line that names them; a single column has no such line, as the projector expects.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from w2vtrain.errors import DataError, TruncatedFile
from w2vtrain.formats.safetensors import ASCII_SPACE
from w2vtrain.formats.vector_formats import text
from w2vtrain.formats.vector_formats._rows import REPAIR, Collector, float_blocks, read_rows
from w2vtrain.formats.vector_formats._word2vec import DECIMAL, first_lines_are, only_numbers
from w2vtrain.formats.vector_formats.contract import Companion, Promise, Sniff, Table, VectorFormat, Vectors
from w2vtrain.formats.vector_formats.npy import companion_lines
from w2vtrain.formats.vector_formats.text import MAX_NUMBER_BYTES
from w2vtrain.system.reading import stream_of

COLUMNS = b"word\tcount"
SINGLE = re.compile(DECIMAL)
SPACES = bytes.maketrans(b"\t ", b" _")
"""Tabs separate the values, and a space is not part of a number, as "_" is not."""


def sniff(head: bytes, whole: bool) -> Promise | None:
    """Claim a first line of numbers separated by tabs, unless it is the header "V d" of a text file.

    A single number must be no integer, in the first lines.
    """
    if first_lines_are(SINGLE, head, whole):
        return Promise(None, 1)
    line, newline, rest = head.partition(b"\n")
    if not (newline or whole) or not only_numbers(line):
        return None
    second, newline, _ = rest.partition(b"\n")
    if second and (newline or whole) and not only_numbers(second):
        return None
    return Promise(None, line.count(b"\t") + 1)


def write(file: BinaryIO, table: Table) -> None:
    """Write one line of d values per word, with the shortest decimals that read back to the same float32 values."""
    for _, block in float_blocks(table.words, table.matrix):
        file.write(text.lines([b""] * len(block), block, b"\t"))


def write_metadata(file: BinaryIO, table: Table) -> None:
    """Write one line per word."""
    if table.counts is None:
        file.writelines(word + b"\n" for word in table.words)
        return
    file.write(COLUMNS + b"\n")
    counts = table.counts.tolist()
    file.writelines(b"%b\t%d\n" % (word, count) for word, count in zip(table.words, counts, strict=True))


def read(path: str | Path, sniffed: Sniff, lenient: bool, limit: int | None) -> Vectors:
    """Read the values and the words beside them; a row of d values has 2 d bytes or more."""
    lines = companion_lines(path, METADATA, sniffed.size // (2 * (sniffed.dim or 1)) + 3)
    named = bool(lines) and b"\t" in lines[0]
    words, counts = [line.partition(b"\t")[0] for line in lines[named:]], None
    if named and lines[0] == COLUMNS and not lenient:
        values = [line.partition(b"\t")[2] for line in lines[1:]]
        if all(value.isdigit() and len(value) <= 18 for value in values):
            counts = np.array(values, "S18").astype(np.int64)

    for number, word in enumerate(words, 1 + named):
        if not lenient and (not word or ASCII_SPACE.search(word)):
            problem = "contains white space" if word else "is empty"
            raise DataError(f"{METADATA.beside(path)}:{number}: the word {word[:60]!r} {problem}; {REPAIR}")

    def parse(file: BinaryIO, rows: Collector, promised: int | None, start: int) -> None:
        with stream_of(_with_words(file, path, words, lenient, MAX_NUMBER_BYTES * rows.dim)) as stream:
            text.parse_text(stream, rows, None, 0)
        if not lenient and rows.missing(1) and (count := len(rows.words)) < len(words):
            raise TruncatedFile(f"{path}: {count:,} vectors, but {METADATA.beside(path)} has {len(words):,} words")

    vectors = read_rows(path, sniffed, lenient, limit, parse, lambda dim: 2 * dim)
    kept = None if counts is None else counts[: len(vectors.words)]
    return replace(vectors, header=True, counts=kept)


def _with_words(file: BinaryIO, path: str | Path, given: list[bytes], lenient: bool, longest: int) -> Iterator[bytes]:
    """Yield the lines of a file of values after their words, as text, which the reader of text parses.

    In text, a line without a word begins with a space, which is an error. longest: the most bytes of a line.
    """
    count = 0
    for block in text.line_blocks(file, longest):
        lines = block.translate(SPACES).split(b"\n")
        if not lines[-1]:
            lines.pop()
        words = given[count : count + len(lines)]
        if len(words) < len(lines) and not lenient:
            number = len(given) + 1
            raise TruncatedFile(f"{path}:{number}: no word: {METADATA.beside(path)} has {len(given):,}")
        words += [b""] * (len(lines) - len(words))
        for number, line in enumerate(lines, count + 1):
            if len(line) >= longest:
                raise DataError(f"{path}:{number}: a line of more than {longest:,} bytes")
        count += len(lines)
        yield b"".join([b"%b %b\n" % pair for pair in zip(words, lines, strict=True)])


METADATA = Companion(".metadata.tsv", write_metadata)
FORMAT = VectorFormat(
    name="tensorboard", suffixes=(".tsv",), sniff=sniff, read=read, write=write, companion=METADATA, compressible=False,
)  # fmt: skip
