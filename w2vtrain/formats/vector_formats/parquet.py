"""Parquet tables with the columns `word`, `count` and `vector`, in row groups; the vectors are not compressed."""

from typing import BinaryIO

from w2vtrain.formats.vector_formats import _tables as tables
from w2vtrain.formats.vector_formats.contract import Table


def write(file: BinaryIO, table: Table) -> None:
    """Write one row group per record batch."""
    from pyarrow import parquet

    options = {"compression": {"word": "zstd", "count": "zstd"}, "use_dictionary": False, "write_statistics": False}
    with parquet.ParquetWriter(file, tables.schema(table), **options) as writer:
        for batch in tables.batches(table):
            writer.write_batch(batch, row_group_size=len(batch))


def opened(file: BinaryIO) -> tables.OpenTable:
    """Return the table of a file."""
    from pyarrow.parquet import ParquetFile

    table = ParquetFile(file)
    columns = [name for name in tables.COLUMNS if name in table.schema_arrow.names]
    return tables.OpenTable(
        table.metadata.num_rows,
        table.schema_arrow,
        lambda rows: table.iter_batches(rows, columns=columns, use_threads=False),
    )


FORMAT = tables.table_format("parquet", (".parquet",), b"PAR1", opened, write)
