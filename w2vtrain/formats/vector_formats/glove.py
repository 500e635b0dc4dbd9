"""GloVe's text format: one line per word, without a first line "V d".

Such files are recognized and read as text: see text.py.
"""

from typing import BinaryIO

from w2vtrain.formats.vector_formats import text
from w2vtrain.formats.vector_formats.contract import Table, VectorFormat


def write(file: BinaryIO, table: Table) -> None:
    """Write one line per word, with the shortest decimals that read back to the same float32 values."""
    text.write_rows(file, table.words, table.matrix)


FORMAT = VectorFormat(name="glove", suffixes=(".glove",), sniff=lambda head, whole: None, read=text.read, write=write)
