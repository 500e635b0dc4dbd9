"""Parquet tables with the columns `word`, `count` and `vector`, in row groups; the vectors are not compressed."""

from collections.abc import Container
from pathlib import Path
from typing import BinaryIO

from w2vtrain.errors import DataError
from w2vtrain.formats.vector_formats import _tables as tables
from w2vtrain.formats.vector_formats.contract import Table
from w2vtrain.system import parquet_pages
from w2vtrain.system.reading import justified


def write(file: BinaryIO, table: Table) -> None:
    """Write one row group per record batch."""
    from pyarrow import parquet

    options = {"compression": {"word": "zstd", "count": "zstd"}, "use_dictionary": False, "write_statistics": False}
    with parquet.ParquetWriter(file, tables.schema(table), **options) as writer:
        for batch in tables.batches(table):
            writer.write_batch(batch, row_group_size=len(batch))


def opened(file: BinaryIO, path: str | Path, size: int) -> tables.OpenTable:
    """Return the table of a file."""
    from pyarrow import parquet

    facts = parquet.read_metadata(file)
    word, count, vector = (parquet_pages.leaves(facts.schema, name) for name in tables.COLUMNS)
    _check_pages(file, path, size, word, {*word, *count, *vector})
    # A dictionary of words stays one, because few bytes can name a long word many times.
    words = [name for name in word.values() if name == "word"]
    table = parquet_pages.opened(file, words, facts)
    columns = [name for name in tables.COLUMNS if name in table.schema_arrow.names]
    return tables.OpenTable(
        facts.num_rows,
        table.schema_arrow,
        lambda rows: table.iter_batches(rows, columns=columns, use_threads=False),
    )


def _check_pages(file: BinaryIO, path: str | Path, size: int, word: Container[int], columns: Container[int]) -> None:
    """Raise DataError if the pages of these columns take more memory than a file of `size` bytes justifies.

    The totals of the footer are not enough: what a page takes is in its header. word: the leaves of the column `word`.
    """
    needed = values = 0
    for chunk, page in parquet_pages.checked(file, path, size, columns):
        needed, values = needed + page.bytes, values + page.values
        if chunk.column in word and (encoding := parquet_pages.EXPANDING.get(page.encoding)):
            raise DataError(
                f"{path}: the column `word` has the encoding {encoding}, which is not read, because a few bytes"
                " could exhaust the memory: write it with dictionary or plain encoding"
            )
        if max(needed, 4 * values) > justified(size):
            much = f"{needed:,} decompressed bytes and {values:,} values"
            raise DataError(f"{path}: pages of {much} or more are too many for a file of {size:,} bytes")


FORMAT = tables.table_format("parquet", (".parquet",), b"PAR1", opened, write)
