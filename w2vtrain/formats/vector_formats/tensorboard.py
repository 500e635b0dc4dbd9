"""TensorBoard's projector: vectors as tab-separated values (X.tsv), and beside it their words (X.metadata.tsv).

https://projector.tensorflow.org loads both. The metadata have one line per vector. With counts, they have two columns,
and then a first line that names them; a single column has no such line, as the projector expects.
"""

from pathlib import Path
from typing import BinaryIO

import numpy as np

from w2vtrain.errors import DataError, TruncatedFile
from w2vtrain.formats.vector_formats import text
from w2vtrain.formats.vector_formats._rows import Collector, float_blocks, read_rows
from w2vtrain.formats.vector_formats._word2vec import numbers, only_numbers
from w2vtrain.formats.vector_formats.contract import Companion, Promise, Sniff, Table, VectorFormat, Vectors
from w2vtrain.formats.vector_formats.npy import companion_lines
from w2vtrain.formats.vector_formats.text import MAX_NUMBER

COLUMNS = b"word\tcount"
LONGEST_FILE_ROWS = 1 << 40


def sniff(head: bytes, whole: bool) -> Promise | None:
    """Claim a first line of two or more numbers separated by tabs, unless it is the header "V d" of a text file."""
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
    """Read the values and the words beside them."""
    lines = companion_lines(path, METADATA, LONGEST_FILE_ROWS)
    named = bool(lines) and b"\t" in lines[0]
    words, counts = [line.partition(b"\t")[0] for line in lines[named:]], None
    if named and lines[0] == COLUMNS and not lenient:
        values = [line.partition(b"\t")[2] for line in lines[1:]]
        if all(value.isdigit() and len(value) <= 18 for value in values):
            counts = np.array(values, "S18").astype(np.int64)

    def parse(file: BinaryIO, rows: Collector, promised: int | None, start: int) -> None:
        longest, number = MAX_NUMBER * rows.dim, 0
        while rows.missing(1) and (line := file.readline(longest)):
            number += 1
            if len(line) == longest:
                raise DataError(f"{path}:{number}: a line of more than {longest:,} bytes")
            found = numbers(line) if line.count(b"\t") == rows.dim - 1 else None
            if number > len(words):
                rows.refuse(f":{number}", f"no word: {METADATA.beside(path)} has {len(words):,}", TruncatedFile)
            elif found is None or len(found) != rows.dim:
                rows.refuse(f":{number}", f"not {rows.dim} numbers separated by tabs")
            else:
                rows.add([words[number - 1]], found.reshape(1, -1), lambda _, at=number: f":{at}")  # type: ignore[misc]
        if not lenient and rows.missing(1) and number < len(words):
            raise TruncatedFile(f"{path}: {number:,} vectors, but {METADATA.beside(path)} has {len(words):,} words")

    found = read_rows(path, sniffed, lenient, limit, parse, lambda dim: 2 * dim)
    kept = None if counts is None else counts[: len(found.words)]
    return Vectors(found.words, found.matrix, "tensorboard", skipped=found.skipped, counts=kept)


METADATA = Companion(".metadata.tsv", write_metadata)
FORMAT = VectorFormat(
    name="tensorboard", suffixes=(".tsv",), sniff=sniff, read=read, write=write, companion=METADATA, compressible=False,
)  # fmt: skip
