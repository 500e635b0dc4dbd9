"""Arrow IPC files with the columns `word`, `count` and `vector`; they are Feather version 2, and can be mapped."""

from typing import BinaryIO

from w2vtrain.formats.vector_formats import _tables as tables
from w2vtrain.formats.vector_formats.contract import Table


def write(file: BinaryIO, table: Table) -> None:
    """Write one record batch after another."""
    import pyarrow as pa

    with pa.ipc.new_file(file, tables.schema(table)) as writer:
        for batch in tables.batches(table):
            writer.write_batch(batch)


def opened(file: BinaryIO) -> tables.OpenTable:
    """Return the table of a file, of which one batch is in memory at a time."""
    from pyarrow import ipc

    table = ipc.open_file(file, options=ipc.IpcReadOptions(use_threads=False))
    numbers = range(table.num_record_batches)
    return tables.OpenTable(table.count_rows(), table.schema, lambda _: map(table.get_batch, numbers))


FORMAT = tables.table_format("arrow", (".arrow", ".feather"), b"ARROW1\0\0", opened, write)
