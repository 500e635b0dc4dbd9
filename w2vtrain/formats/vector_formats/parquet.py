"""Parquet tables with the columns `word`, `count` and `vector`, in row groups; the vectors are not compressed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from w2vtrain.errors import DataError
from w2vtrain.formats.vector_formats import _tables as tables
from w2vtrain.formats.vector_formats.contract import Promise, Sniff, Table, VectorFormat, Vectors
from w2vtrain.system import parquet_pages
from w2vtrain.system.reading import justified, open_input, regular_size

MAGIC = b"PAR1"
BUFFER_BYTES = 1 << 18
"""Bytes of a column that are read at a time."""


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
    with open_input(path) as (file, _):
        try:
            facts = parquet.read_metadata(file)
            paths = [facts.schema.column(i).path for i in range(facts.num_columns)]
            _check_pages(file, [name.split(".")[0] for name in paths], path, size)
            # A dictionary of words stays one, because few bytes can name a long word many times.
            words = ["word"] if "word" in paths else None
            yield parquet.ParquetFile(
                file, metadata=facts, pre_buffer=False, buffer_size=BUFFER_BYTES, read_dictionary=words
            )
        except (pa.ArrowException, OSError, ValueError, OverflowError, LookupError) as error:
            raise tables.damaged(path, error) from error


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


def look(path: str | Path) -> Promise:
    """Return V and d from the end of the file."""
    with _opened(path) as file:
        return Promise(file.metadata.num_rows, tables.dim_of(file.schema_arrow, path))


def read(path: str | Path, sniffed: Sniff, lenient: bool, limit: int | None) -> Vectors:
    """Read a table."""
    with _opened(path) as file:
        columns = [name for name in tables.COLUMNS if name in file.schema_arrow.names]

        def parts(rows: int) -> Iterator[Any]:
            yield from file.iter_batches(rows, columns=columns, use_threads=False)

        return tables.read_table(
            path, "parquet", file.metadata.num_rows, tables.dim_of(file.schema_arrow, path), parts, lenient, limit,
            sniffed.size,
        )  # fmt: skip


FORMAT = VectorFormat(
    name="parquet", suffixes=(".parquet",), sniff=sniff, read=read, write=write, dtypes=tables.DTYPES, look=look,
    check=tables.check, compressible=False,
)  # fmt: skip
