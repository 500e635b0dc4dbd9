"""Parquet tables with the columns `word`, `count` and `vector`, in row groups; the vectors are not compressed."""

from pathlib import Path
from typing import BinaryIO

from w2vtrain.errors import DataError
from w2vtrain.formats.vector_formats import _tables as tables
from w2vtrain.formats.vector_formats.contract import Table
from w2vtrain.system import parquet_pages
from w2vtrain.system.reading import justified

BUFFER_BYTES = 1 << 18
"""Bytes of a column that are read at a time."""


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
    paths = [facts.schema.column(i).path for i in range(facts.num_columns)]
    _check_pages(file, [name.split(".")[0] for name in paths], path, size)
    # A dictionary of words stays one, because few bytes can name a long word many times.
    words = ["word"] if "word" in paths else None
    table = parquet.ParquetFile(file, metadata=facts, pre_buffer=False, buffer_size=BUFFER_BYTES, read_dictionary=words)
    columns = [name for name in tables.COLUMNS if name in table.schema_arrow.names]
    return tables.OpenTable(
        facts.num_rows,
        table.schema_arrow,
        lambda rows: table.iter_batches(rows, columns=columns, use_threads=False),
    )


def _check_pages(file: BinaryIO, columns: list[str], path: str | Path, size: int) -> None:
    """Raise DataError if the pages of the columns that are read take more memory than a file of `size` bytes justifies.

    The totals of the footer are not enough: what a page takes is in its header.
    """
    needed = values = 0
    read = [number for number, name in enumerate(columns) if name in tables.COLUMNS]
    for chunk, page in parquet_pages.checked(file, path, size, read):
        needed, values = needed + page.bytes, values + page.values
        if columns[chunk.column] == "word" and (encoding := parquet_pages.EXPANDING.get(page.encoding)):
            raise DataError(
                f"{path}: the column `word` has the encoding {encoding}, which is not read, because a few bytes"
                " could exhaust the memory: write it with dictionary or plain encoding"
            )
        if max(needed, 4 * values) > justified(size):
            much = f"{needed:,} decompressed bytes and {values:,} values"
            raise DataError(f"{path}: pages of {much} or more are too many for a file of {size:,} bytes")


FORMAT = tables.table_format("parquet", (".parquet",), b"PAR1", opened, write)
