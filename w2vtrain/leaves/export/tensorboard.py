"""TensorBoard's projector: vectors as tab-separated values (X.tsv), and beside it their words (X.metadata.tsv).

https://projector.tensorflow.org loads both. The metadata have one line per vector. With counts, they have two columns,
and then a first line that names them; a single column has no such line, as the projector expects.
"""

from typing import BinaryIO

from w2vtrain.formats.vector_formats import text
from w2vtrain.formats.vector_formats.arrays import write_words
from w2vtrain.formats.vector_formats.contract import Code, Table
from w2vtrain.formats.vector_formats.rows import float_blocks

COLUMNS = b"word\tcount"


def write(file: BinaryIO, table: Table) -> None:
    """Write one line of d values per word, with the shortest decimals that read back to the same float32 values."""
    for _, block in float_blocks(table.words, table.matrix):
        file.write(text.lines([b""] * len(block), block, b"\t"))


def write_metadata(file: BinaryIO, table: Table) -> None:
    """Write one line per word."""
    if table.counts is None:
        write_words(file, table)
        return
    file.write(COLUMNS + b"\n")
    counts = table.counts.tolist()
    file.writelines(b"%b\t%d\n" % (word, count) for word, count in zip(table.words, counts, strict=True))


CODE = {"tensorboard": Code(write, write_companion=write_metadata)}
