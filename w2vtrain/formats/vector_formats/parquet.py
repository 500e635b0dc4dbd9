"""Parquet tables with the columns `word`, `count` and `vector`, in row groups; the vectors are not compressed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from w2vtrain.errors import DataError
from w2vtrain.formats.vector_formats import _tables as tables
from w2vtrain.formats.vector_formats.contract import Promise, Sniff, Table, VectorFormat, Vectors
from w2vtrain.system.reading import justified, open_input, regular_size

MAGIC = b"PAR1"


def sniff(head: bytes, whole: bool) -> Promise | None:
    """Claim data that start with Parquet's magic number."""
    return Promise() if head.startswith(MAGIC) else None


def write(file: BinaryIO, table: Table) -> None:
    """Write one row group per record batch."""
    from pyarrow import parquet

    options = {"compression": {"word": "zstd", "count": "zstd"}, "use_dictionary": False, "write_statistics": False}
    with parquet.ParquetWriter(file, tables.schema(table), **options) as writer:
        for batch in tables.batches(table):
            writer.write_batch(batch, row_group_size=len(batch))


@contextmanager
def _opened(path: str | Path) -> Iterator[Any]:
    """Yield a ParquetFile whose sizes are justified by the size of the file."""
    tables.check()
    import pyarrow as pa
    from pyarrow import parquet

    size = regular_size(path)
    try:
        with open_input(path) as (file, _):
            found = parquet.ParquetFile(file, pre_buffer=False, memory_map=False)
            facts = found.metadata
            needed = sum(facts.row_group(i).total_byte_size for i in range(facts.num_row_groups))
            if needed > justified(size):
                raise DataError(f"{path}: {needed:,} decompressed bytes are too many for a file of {size:,} bytes")
            yield found
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise tables.damaged(path, error) from error


def look(path: str | Path) -> Promise:
    """Return V and d from the end of the file."""
    with _opened(path) as found:
        return Promise(found.metadata.num_rows, tables.dim_of(found.schema_arrow, path))


def read(path: str | Path, sniffed: Sniff, lenient: bool, limit: int | None) -> Vectors:
    """Read a table."""
    with _opened(path) as found:
        columns = [name for name in ("word", "count", "vector") if name in found.schema_arrow.names]

        def parts(rows: int) -> Iterator[Any]:
            yield from found.iter_batches(rows, columns=columns, use_threads=False)

        return tables.read_table(
            path, "parquet", found.metadata.num_rows, tables.dim_of(found.schema_arrow, path), parts, lenient, limit,
            sniffed.size,
        )  # fmt: skip


FORMAT = VectorFormat(
    name="parquet", suffixes=(".parquet",), sniff=sniff, read=read, write=write, dtypes=tables.DTYPES, look=look,
    check=tables.check, compressible=False,
)  # fmt: skip
