"""Arrow IPC files with the columns `word`, `count` and `vector`; they are Feather version 2, and can be mapped."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from w2vtrain.formats.vector_formats import _tables as tables
from w2vtrain.formats.vector_formats.contract import Promise, Sniff, Table, VectorFormat, Vectors
from w2vtrain.system.reading import open_input

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
def _opened(path: str | Path) -> Iterator[Any]:
    tables.check()
    import pyarrow as pa

    try:
        with open_input(path) as (file, _):
            yield pa.ipc.open_file(file)
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise tables.damaged(path, error) from error


def look(path: str | Path) -> Promise:
    """Return V and d; the number of rows is in each batch."""
    with _opened(path) as found:
        rows = sum(found.get_batch(i).num_rows for i in range(found.num_record_batches))
        return Promise(rows, tables.dim_of(found.schema, path))


def read(path: str | Path, sniffed: Sniff, lenient: bool, limit: int | None) -> Vectors:
    """Read a table."""
    with _opened(path) as found:

        def parts(_: int) -> Iterator[Any]:
            for i in range(found.num_record_batches):
                yield found.get_batch(i)

        dim = tables.dim_of(found.schema, path)
        return tables.read_table(path, "arrow", sniffed.rows or 0, dim, parts, lenient, limit, sniffed.size)


FORMAT = VectorFormat(
    name="arrow", suffixes=(".arrow", ".feather"), sniff=sniff, read=read, write=write, dtypes=tables.DTYPES, look=look,
    check=tables.check, compressible=False,
)  # fmt: skip
