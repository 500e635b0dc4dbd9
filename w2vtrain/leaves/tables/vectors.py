"""Vectors as tables, in Parquet files and Arrow's: the columns `word`, `count` and `vector`, by pyarrow.

word: string; count: int64, null if unknown; vector: fixed_size_list of float32 or float16 ("halffloat").
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2vtrain.errors import ConfigError, DataError
from w2vtrain.formats.vector_formats.arrays import Rows, as_float32, collected, stored_rows, whole_numbers
from w2vtrain.formats.vector_formats.contract import Code, Promise, Sniff, Table, Vectors
from w2vtrain.formats.vector_formats.rows import MAX_DIM, NOT_FINITE
from w2vtrain.leaves.tables.columns import as_bytes
from w2vtrain.system.reading import justified, open_input, regular_size

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


_Opener = Callable[[BinaryIO], _OpenTable]
"""Returns the table in a file, or raises any error of pyarrow."""


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

    names = columns.names
    for name in ("word", "vector"):
        if names.count(name) != 1:
            there = ", ".join(names)[:200]
            raise DataError(f"{path}: the table has no column `{name}`, or several: its columns are {there or 'none'}")
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


def _open_parquet(file: BinaryIO) -> _OpenTable:
    from pyarrow.parquet import ParquetFile

    table = ParquetFile(file)
    columns = [name for name in COLUMNS if name in table.schema_arrow.names]
    return _OpenTable(
        table.metadata.num_rows,
        table.schema_arrow,
        lambda rows: table.iter_batches(rows, columns=columns, use_threads=False),
    )


def _open_arrow(file: BinaryIO) -> _OpenTable:
    """Open an Arrow file, of which one batch is in memory at a time."""
    from pyarrow import ipc

    table = ipc.open_file(file, options=ipc.IpcReadOptions(use_threads=False))
    numbers = range(table.num_record_batches)
    return _OpenTable(table.count_rows(), table.schema, lambda _: map(table.get_batch, numbers))


@contextmanager
def _opened(opener: _Opener, path: str | Path) -> Iterator[_OpenTable]:
    """Open a table. Raise DataError for what pyarrow cannot read, also while the block reads."""
    _check()
    import pyarrow as pa

    regular_size(path)
    with open_input(path) as (file, _):
        try:
            yield opener(file)
        except (pa.ArrowException, OSError, ValueError, OverflowError, LookupError) as error:
            raise DataError(f"{path} cannot be read as a table: {' '.join(str(error).split())[:200]}") from error


def _look(opener: _Opener, path: str | Path) -> Promise:
    with _opened(opener, path) as table:
        dim = _dim_of(table.schema, path)
        if dim is None and (batch := next(table.batches(1), None)):
            dim = len(batch.column("vector")[0].as_py() or ())
        return Promise(table.rows, dim)


def _read(opener: _Opener, path: str | Path, sniffed: Sniff, lenient: bool, limit: int | None) -> Vectors:
    with _opened(opener, path) as table:
        return _read_table(path, sniffed, table, lenient, limit)


def _read_table(path: str | Path, sniffed: Sniff, table: _OpenTable, lenient: bool, limit: int | None) -> Vectors:
    rows, dim, size = table.rows, _dim_of(table.schema, path), sniffed.size
    counts: dict[int, NDArray[np.int64] | None] = {}  # by the number of their first row
    problems: dict[int, str] = {}  # of rows of the last block, by their number

    def blocks() -> Iterator[Rows]:
        width, row = dim, 0
        for batch in table.batches(max(1, READ_AT_ONCE_BYTES // (4 * (dim or 1024)))):
            if len(batch):
                batch.validate(full=True)
                counts[row] = _counts(batch, row, path)
                lengths = _lengths(batch)
                width = width or 1 + int(np.bincount(lengths[lengths > 0], minlength=2)[1:].argmax())  # the most common
                if width > MAX_DIM or 4 * rows * width > justified(size):
                    raise DataError(
                        f"{path}: {rows:,} vectors of {width:,} values are too much for a file of {size:,} bytes"
                    )
                problems.clear()
                for i in np.flatnonzero((lengths >= 0) & (lengths != width)).tolist():
                    problems[row + i] = f"a vector of {lengths[i]:,} values, expected {width:,}"
                yield _block(batch, lengths == width, width)
                row += len(batch)

    parsed = blocks()
    first = next(parsed, None)
    if first is None:
        raise DataError(f"{path} contains no vectors")
    shape, why = (rows, first[1].shape[1]), lambda row: problems.get(row, NOT_FINITE)
    vectors = collected(path, sniffed, shape, chain([first], parsed), lenient, limit, why=why)
    known = [values for values in counts.values() if values is not None]
    if vectors.skipped or not known:
        return vectors
    if len(known) < len(counts):
        raise _null_count(next(row for row, values in counts.items() if values is None), path)
    return replace(vectors, counts=np.concatenate(known)[: len(vectors.words)])


def _counts(batch: Any, row: int, path: str | Path) -> NDArray[np.int64] | None:
    """Return a copy of the column `count`, which would keep the whole batch in memory; None if there is none.

    row: the number of the first row. All counts may be null, which means that they are unknown. Raise DataError if some
    are, or are not whole numbers.
    """
    import pyarrow as pa

    if "count" not in batch.schema.names or (column := batch.column("count")).null_count == len(batch):
        return None
    if column.null_count:
        raise _null_count(row + column.is_null().index(True).as_py(), path)
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise DataError(f"{path}: the column `count` has type {str(column.type)[:100]}, expected whole numbers")
    return whole_numbers(np.array(column), path, row)


def _null_count(row: int, path: str | Path) -> DataError:
    return DataError(
        f"{path}, row {row + 1:,}: the count is null, and others are not: write it, or leave out the column"
    )


def _lengths(batch: Any) -> NDArray[np.int64]:
    """Return the number of values of each vector; -1 for a null."""
    from pyarrow import compute  # no attribute of pyarrow until it is imported

    return np.asarray(compute.list_value_length(batch.column("vector")).fill_null(-1), np.int64)


def _block(batch: Any, whole: NDArray[np.bool_], dim: int) -> Rows:
    """Return the words and the values of a few rows. A null word is empty, and null values are NaN, as if the file had
    them: what is then done depends on how it is read. whole (n,): which vectors have d values; the others are NaN, too.
    """
    vector = batch.column("vector")
    present = as_float32((vector if whole.all() else vector.filter(whole)).flatten().to_numpy(zero_copy_only=False))
    values = np.full((len(batch), dim), np.nan, np.float32)
    values[whole] = present.reshape(-1, dim)
    return [name or b"" for name in as_bytes(batch.column("word")).to_pylist()], values


CODE = {
    name: Code(write, partial(_read, opener), look=partial(_look, opener), check=_check)
    for name, write, opener in (
        ("parquet", _write_parquet, _open_parquet), ("arrow", _write_arrow, _open_arrow),
    )
}  # fmt: skip
