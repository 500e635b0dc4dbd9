"""GloVe's text format: one line per word, without a first line "V d".

Such files are recognized and read as text: see text.py. One whose first word looks like the start of another format
begins with a byte order mark, which readers of text ignore.
"""

from codecs import BOM_UTF8
from typing import BinaryIO

from w2vtrain.formats.sniff import sniff_head
from w2vtrain.formats.vector_formats import text
from w2vtrain.formats.vector_formats.contract import Code, Table
from w2vtrain.formats.vector_formats.rows import float_blocks
from w2vtrain.system.compression import recognize


def write(file: BinaryIO, table: Table) -> None:
    """Write one line per word, with the shortest decimals that read back to the same float32 values."""
    if _misleads(table):
        file.write(BOM_UTF8)
    text.write_rows(file, table.words, table.matrix)


def _misleads(table: Table) -> bool:
    """Return whether the first row would not be recognized as what it is."""
    words, block = next(float_blocks(table.words[:1], table.matrix[:1]))
    row = text.lines(words, block)
    return recognize(row) is not None or sniff_head(row, len(row))[:4] != ("text", None, table.matrix.shape[1], 0)


CODE = {"glove": Code(write, text.read)}
