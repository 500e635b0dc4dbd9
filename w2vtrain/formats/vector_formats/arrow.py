"""Arrow IPC files with the columns `word`, `count` and `vector`; they are Feather version 2, and can be mapped."""

from pathlib import Path
from typing import BinaryIO

from w2vtrain.formats.vector_formats import _tables as tables
from w2vtrain.formats.vector_formats.contract import Table
from w2vtrain.system import arrow_batches


def write(file: BinaryIO, table: Table) -> None:
    """Write one record batch after another."""
    import pyarrow as pa

    with pa.ipc.new_file(file, tables.schema(table)) as writer:
        for batch in tables.batches(table):
            writer.write_batch(batch)


def opened(file: BinaryIO, path: str | Path, size: int) -> tables.OpenTable:
    """Return the table of a file, of which one batch is in memory at a time."""
    table = arrow_batches.open_file(file, path, size)
    return tables.OpenTable(sum(table.rows), table.schema, lambda _: table.batches)


FORMAT = tables.table_format("arrow", (".arrow", ".feather"), b"ARROW1\0\0", opened, write)
