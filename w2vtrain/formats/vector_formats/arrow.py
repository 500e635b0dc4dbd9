"""Arrow IPC files with the columns `word`, `count` and `vector`; they are Feather version 2, and can be mapped."""

from pathlib import Path
from typing import BinaryIO

from w2vtrain.errors import DataError
from w2vtrain.formats.vector_formats import _ipc
from w2vtrain.formats.vector_formats import _tables as tables
from w2vtrain.formats.vector_formats.contract import Table
from w2vtrain.system.reading import justified


def write(file: BinaryIO, table: Table) -> None:
    """Write one record batch after another."""
    import pyarrow as pa

    with pa.ipc.new_file(file, tables.schema(table)) as writer:
        for batch in tables.batches(table):
            writer.write_batch(batch)


def opened(file: BinaryIO, path: str | Path, size: int) -> tables.OpenTable:
    """Return the table of a file, of which one batch is in memory at a time."""
    import pyarrow as pa

    table = pa.ipc.open_file(file)
    batches = list(_ipc.batches(file, size))
    needed = max((batch.bytes for batch in batches), default=0)
    needed += sum(batch.bytes for batch in batches if batch.is_dictionary)  # they stay in memory
    if needed > justified(size):
        raise DataError(f"{path}: {needed:,} decompressed bytes are too many for a file of {size:,} bytes")
    rows = sum(batch.rows for batch in batches if not batch.is_dictionary)
    return tables.OpenTable(rows, table.schema, lambda _: map(table.get_batch, range(table.num_record_batches)))


FORMAT = tables.table_format("arrow", (".arrow", ".feather"), b"ARROW1\0\0", opened, write)
