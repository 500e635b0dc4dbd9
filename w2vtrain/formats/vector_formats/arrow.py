"""Arrow IPC files with the columns `word`, `count` and `vector`; they are Feather version 2, and can be mapped."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from w2vtrain.errors import DataError
from w2vtrain.formats.vector_formats import _ipc
from w2vtrain.formats.vector_formats import _tables as tables
from w2vtrain.formats.vector_formats.contract import Promise, Sniff, Table, VectorFormat, Vectors
from w2vtrain.system.reading import justified, open_input, regular_size

MAGIC = b"ARROW1\0\0"


def sniff(head: bytes, whole: bool) -> Promise | None:
    """Claim data that start with Arrow's magic number."""
    return Promise() if head.startswith(MAGIC) else None


def write(file: BinaryIO, table: Table) -> None:
    """Write one record batch after another."""
    import pyarrow as pa

    with pa.ipc.new_file(file, tables.schema(table)) as writer:
        for batch in tables.batches(table):
            writer.write_batch(batch)


@contextmanager
def _opened(path: str | Path) -> Iterator[tuple[Any, int]]:
    """Yield a file whose sizes are justified by the size of the file, and its number of rows."""
    tables.check()
    import pyarrow as pa

    size = regular_size(path)
    with open_input(path) as (file, _):
        try:
            table = pa.ipc.open_file(file)
            batches = list(_ipc.batches(file, size))
            needed = max((batch.bytes for batch in batches), default=0)
            needed += sum(batch.bytes for batch in batches if batch.is_dictionary)  # they stay in memory
            if needed > justified(size):
                raise DataError(f"{path}: {needed:,} decompressed bytes are too many for a file of {size:,} bytes")
            yield table, sum(batch.rows for batch in batches if not batch.is_dictionary)
        except (pa.ArrowException, OSError, ValueError, OverflowError, struct.error) as error:
            raise tables.damaged(path, error) from error


def look(path: str | Path) -> Promise:
    """Return V and d."""
    with _opened(path) as (table, rows):
        return Promise(rows, tables.dim_of(table.schema, path))


def read(path: str | Path, sniffed: Sniff, lenient: bool, limit: int | None) -> Vectors:
    """Read a table, of which one batch is in memory at a time."""
    with _opened(path) as (table, rows):

        def parts(_: int) -> Iterator[Any]:
            for i in range(table.num_record_batches):
                yield table.get_batch(i)

        dim = tables.dim_of(table.schema, path)
        return tables.read_table(path, "arrow", rows, dim, parts, lenient, limit, sniffed.size)


FORMAT = VectorFormat(
    name="arrow", suffixes=(".arrow", ".feather"), sniff=sniff, read=read, write=write, dtypes=tables.DTYPES, look=look,
    check=tables.check, compressible=False,
)  # fmt: skip
