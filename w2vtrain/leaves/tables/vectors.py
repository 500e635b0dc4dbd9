"""Vectors as tables, in Parquet files and Arrow's: the columns `word`, `count` and `vector`, by pyarrow.

word: string; count: int64, null if unknown; vector: fixed_size_list of float32 or float16 ("halffloat").
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2vtrain.errors import ConfigError, DataError
from w2vtrain.formats.vector_formats.arrays import Rows, as_float32, collected, stored_rows, whole_numbers
from w2vtrain.formats.vector_formats.contract import Code, Promise, Sniff, Table, Vectors
from w2vtrain.formats.vector_formats.rows import MAX_DIM
from w2vtrain.leaves.tables.arrow import native_file, reading
from w2vtrain.leaves.tables.columns import as_bytes
from w2vtrain.system.reading import justified, regular_size

COLUMNS = ("word", "count", "vector")
STRINGS = ("string", "large_string", "string_view")  # the last is Polars'
ROWS_AT_ONCE_BYTES = 1 << 24
"""Bytes of vectors in a row group or a record batch."""
READ_AT_ONCE_BYTES = 1 << 20
"""Bytes of vectors that are read from a row group at a time."""


class _OpenTable(NamedTuple):
    """A table in an open file: V, its Arrow schema, and batches(n), which yields record batches of about n rows."""

    rows: int
    schema: Any
    batches: Callable[[int], Iterator[Any]]


_Opener = Callable[[Any], _OpenTable]
"""Returns the table in a file of pyarrow's, or raises any error of pyarrow."""


def _check() -> None:
    """Raise ConfigError if pyarrow is not installed."""
    try:
        import pyarrow  # noqa: F401 - takes 0.2 s, so only when a table is read or written
    except ImportError as error:
        raise ConfigError("Parquet and Arrow files need the package pyarrow: pip install 'w2vtrain[table]'") from error


def _schema(table: Table) -> Any:
    """Return the Arrow schema of a table."""
    import pyarrow as pa

    kind = pa.float16() if table.dtype == "float16" else pa.float32()
    vector = pa.list_(pa.field("element", kind, nullable=False), table.matrix.shape[1])
    return pa.schema([pa.field("word", pa.string(), False), ("count", pa.int64()), pa.field("vector", vector, False)])


def _batches(table: Table) -> Iterator[Any]:
    """Yield a table as record batches of about ROWS_AT_ONCE_BYTES."""
    import pyarrow as pa

    columns, vectors = _schema(table), stored_rows(table)[0]
    V, dim = vectors.shape
    step = max(1, ROWS_AT_ONCE_BYTES // (4 * dim))
    for start in range(0, V, step):
        rows = slice(start, min(start + step, V))
        words, values = [word.decode() for word in table.words[rows]], pa.array(vectors[rows].reshape(-1))
        counts = pa.nulls(len(words), pa.int64()) if table.counts is None else pa.array(table.counts[rows], pa.int64())
        lists = pa.FixedSizeListArray.from_arrays(values, type=columns.field("vector").type)
        yield pa.record_batch([pa.array(words, pa.string()), counts, lists], schema=columns)


def _dim_of(columns: Any, path: str | Path) -> int | None:
    """Return d by the columns of a schema, None for lists of any length.

    Raise DataError if they are not those of vectors.
    """
    import pyarrow as pa

    word, vector = columns.field("word").type, columns.field("vector").type
    if pa.types.is_dictionary(word):
        word = word.value_type
    if str(word) not in STRINGS:
        raise DataError(f"{path}: the column `word` has type {word}, expected string")
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not any(kind(vector) for kind in lists) or not pa.types.is_floating(vector.value_type):
        raise DataError(f"{path}: the column `vector` has type {str(vector)[:100]}, expected lists of float32")
    if not pa.types.is_fixed_size_list(vector):
        return None
    if not 0 < vector.list_size <= MAX_DIM:
        raise DataError(f"{path}: vectors of {vector.list_size:,} values")
    return int(vector.list_size)


def _write_parquet(file: BinaryIO, table: Table) -> None:
    """Write one row group per record batch."""
    from pyarrow import parquet

    options = {"compression": {"word": "zstd", "count": "zstd"}, "use_dictionary": False, "write_statistics": False}
    with parquet.ParquetWriter(file, _schema(table), **options) as writer:
        for batch in _batches(table):
            writer.write_batch(batch, row_group_size=len(batch))


def _write_arrow(file: BinaryIO, table: Table) -> None:
    """Write one record batch after another."""
    import pyarrow as pa

    with pa.ipc.new_file(file, _schema(table)) as writer:
        for batch in _batches(table):
            writer.write_batch(batch)


def _open_parquet(file: Any) -> _OpenTable:
    from pyarrow.parquet import ParquetFile

    table = ParquetFile(file)
    columns = [name for name in COLUMNS if name in table.schema_arrow.names]
    return _OpenTable(
        table.metadata.num_rows,
        table.schema_arrow,
        lambda rows: table.iter_batches(rows, columns=columns, use_threads=False),
    )


def _open_arrow(file: Any) -> _OpenTable:
    """Open an Arrow file, of which one batch is in memory at a time."""
    from pyarrow import ipc

    table = ipc.open_file(file, options=ipc.IpcReadOptions(use_threads=False))
    numbers = range(table.num_record_batches)
    return _OpenTable(table.count_rows(), table.schema, lambda _: map(table.get_batch, numbers))


@contextmanager
def _opened(opener: _Opener, path: str | Path) -> Iterator[_OpenTable]:
    """Open a table. Raise DataError for what pyarrow cannot read, also while the block reads."""
    regular_size(path)
    with reading(str(path), "Parquet or Arrow"), native_file(path) as file:
        yield opener(file)


def _look(opener: _Opener, path: str | Path) -> Promise | str:
    with _opened(opener, path) as table:
        names = table.schema.names
        for name in ("word", "vector"):
            if names.count(name) != 1:
                there = ", ".join(names)[:200]
                return f"a table that has no column `{name}`, or several: its columns are {there or 'none'}"
        dim = _dim_of(table.schema, path)
        if dim is None and (batch := next(table.batches(1), None)):
            dim = len(batch.column("vector")[0].as_py() or ())
        return Promise(table.rows, dim)


def _read(opener: _Opener, path: str | Path, sniffed: Sniff, lenient: bool, limit: int | None) -> Vectors:
    rows, dim, size = sniffed.rows or 0, sniffed.dim or 0, sniffed.size
    if not rows:
        raise DataError(f"{path} contains no vectors")
    if not dim:
        raise DataError(f"{path}, row 1: a vector without values: drop such rows")
    if dim > MAX_DIM or 4 * rows * dim > justified(size):
        raise DataError(f"{path}: {rows:,} vectors of {dim:,} values are too much for a file of {size:,} bytes")
    counts: list[NDArray[np.int64] | None] = []  # of each block
    with _opened(opener, path) as table:
        return collected(path, sniffed, (rows, dim), _blocks(table, path, dim, counts), lenient, limit, counts)


def _blocks(table: _OpenTable, path: str | Path, dim: int, counts: list[NDArray[np.int64] | None]) -> Iterator[Rows]:
    """Yield words and their vectors (n, dim), and add their counts to `counts`: None if they are not all known.

    A null word is empty, and null values are NaN, as if the file had them: what is then done depends on how it is read.
    """
    import pyarrow as pa
    from pyarrow import compute  # no attribute of pyarrow until it is imported

    row = 0
    for batch in table.batches(max(1, READ_AT_ONCE_BYTES // (4 * dim))):
        batch.validate(full=True)
        vector = batch.column("vector")
        lengths = np.asarray(compute.list_value_length(vector).fill_null(0))
        if (bad := np.flatnonzero(lengths != dim)).size:
            raise DataError(
                f"{path}, row {row + bad[0] + 1:,}: a vector of {lengths[bad[0]]:,} values, expected {dim:,}: drop"
                " such rows"
            )
        count = batch.column("count") if "count" in batch.schema.names else pa.nulls(len(batch))
        if count.null_count:
            counts.append(None)
        elif pa.types.is_integer(count.type) or pa.types.is_floating(count.type):
            counts.append(whole_numbers(np.array(count), path, row))  # a copy: the column would keep the whole batch
        else:
            raise DataError(f"{path}: the column `count` has type {str(count.type)[:100]}, expected whole numbers")
        values = as_float32(vector.flatten().to_numpy(zero_copy_only=False))
        yield [name or b"" for name in as_bytes(batch.column("word")).to_pylist()], values.reshape(-1, dim)
        row += len(batch)


CODE = {
    name: Code(write, partial(_read, opener), look=partial(_look, opener), check=_check)
    for name, write, opener in (
        ("parquet", _write_parquet, _open_parquet), ("arrow", _write_arrow, _open_arrow),
    )
}  # fmt: skip
