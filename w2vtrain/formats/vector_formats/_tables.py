"""Tables of the columns `word`, `count` and `vector`, which Parquet and Arrow files share, by pyarrow.

word: string; count: int64, null if unknown; vector: fixed_size_list of float32 or float16 ("halffloat").
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from w2vtrain.errors import ConfigError, DataError
from w2vtrain.formats.vector_formats._arrays import Rows, blocks, collected
from w2vtrain.formats.vector_formats._rows import MAX_DIM
from w2vtrain.formats.vector_formats.contract import Table, Vectors
from w2vtrain.system.reading import justified

DTYPES = ("float32", "float16")
ROWS_AT_ONCE_BYTES = 1 << 24
"""Bytes of vectors in a row group or a record batch."""


def check() -> None:
    """Raise ConfigError if pyarrow is not installed."""
    try:
        import pyarrow  # noqa: F401 - takes 0.2 s, so only when a table is read or written
    except ImportError as error:
        raise ConfigError("Parquet and Arrow files need the package pyarrow: pip install 'w2vtrain[table]'") from error


def schema(table: Table) -> Any:
    """Return the Arrow schema of a table."""
    import pyarrow as pa

    kind = pa.float16() if table.dtype == "float16" else pa.float32()
    vector = pa.list_(pa.field("element", kind, nullable=False), table.matrix.shape[1])
    return pa.schema([pa.field("word", pa.string(), False), ("count", pa.int64()), pa.field("vector", vector, False)])


def batches(table: Table) -> Iterator[Any]:
    """Yield a table as record batches of about ROWS_AT_ONCE_BYTES."""
    import pyarrow as pa

    columns, dim = schema(table), table.matrix.shape[1]
    step = max(1, ROWS_AT_ONCE_BYTES // (4 * dim))
    for start in range(0, len(table.words), step):
        rows = slice(start, min(start + step, len(table.words)))
        part = Table(table.words[rows], table.matrix[rows], None, table.dtype)
        values = np.concatenate([block for _, block in blocks(part)])
        counts = None if table.counts is None else pa.array(table.counts[rows], pa.int64())
        yield pa.record_batch(
            [
                pa.array([word.decode() for word in part.words], pa.string()),
                pa.nulls(len(part.words), pa.int64()) if counts is None else counts,
                pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), type=columns.field("vector").type),
            ],
            schema=columns,
        )


def dim_of(found: Any, path: str | Path) -> int | None:
    """Return d by a schema, None for lists of any length. Raise DataError if its columns are not those of vectors."""
    import pyarrow as pa

    names = found.names
    for name in ("word", "vector"):
        if names.count(name) != 1:
            there = ", ".join(names)[:200]
            raise DataError(f"{path}: the table has no column `{name}`, or several: its columns are {there or 'none'}")
    word, vector = found.field("word").type, found.field("vector").type
    if not (pa.types.is_string(word) or pa.types.is_large_string(word)):
        raise DataError(f"{path}: the column `word` has type {word}, expected string")
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not any(kind(vector) for kind in lists) or not pa.types.is_floating(vector.value_type):
        raise DataError(f"{path}: the column `vector` has type {str(vector)[:100]}, expected lists of float32")
    if not pa.types.is_fixed_size_list(vector):
        return None
    if not 0 < vector.list_size <= MAX_DIM:
        raise DataError(f"{path}: vectors of {vector.list_size:,} values")
    return int(vector.list_size)


def read_table(
    path: str | Path, kind: str, rows: int, dim: int | None, parts: Callable[[int], Iterator[Any]], lenient: bool,
    limit: int | None, size: int,
) -> Vectors:  # fmt: skip
    """Return the vectors of a table of `rows` rows. parts(n): yields its record batches, of about n rows each."""
    import pyarrow as pa

    counts: list[Any] = []
    found_dim = dim

    def blocks_of() -> Iterator[Rows]:
        nonlocal found_dim
        for batch in parts(max(1, ROWS_AT_ONCE_BYTES // (4 * (dim or 1024)))):
            batch.validate(full=True)
            word, vector = batch.column("word"), batch.column("vector")
            if word.null_count or vector.null_count or vector.flatten().null_count:
                raise DataError(f"{path}: a word or a value is null")
            if not len(word):
                continue
            values = vector.flatten().to_numpy(zero_copy_only=False)
            found_dim = found_dim or len(values) // len(word)
            lengths_differ = found_dim * len(word) != len(values) or (
                dim is None
                and not pa.compute.all(pa.compute.equal(pa.compute.list_value_length(vector), found_dim)).as_py()
            )
            if lengths_differ or not 0 < found_dim <= MAX_DIM:
                raise DataError(f"{path}: the vectors have different lengths, or none")
            if "count" in batch.schema.names and pa.types.is_integer(batch.schema.field("count").type):
                counts.append(batch.column("count"))
            with np.errstate(over="ignore"):
                yield [text.encode() for text in word.to_pylist()], values.astype(np.float32).reshape(-1, found_dim)

    blocks_found = blocks_of()
    try:
        first = next(blocks_found, None)
        if first is None:
            raise DataError(f"{path} contains no vectors")
        width = first[1].shape[1]
        if 4 * rows * width > justified(size):
            raise DataError(f"{path}: {rows:,} vectors of {width:,} values are too much for a file of {size:,} bytes")

        def all_blocks() -> Iterator[Rows]:
            yield first
            yield from blocks_found

        vectors = collected(path, kind, (rows, width), all_blocks(), lenient, limit, size)
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise damaged(path, error) from error
    return _with_counts(vectors, counts)


def _with_counts(vectors: Vectors, counts: list[Any]) -> Vectors:
    """Return vectors with the counts of their rows, if all are known."""
    import pyarrow as pa

    known = pa.chunked_array(counts) if counts else None
    if vectors.skipped or known is None or len(known) < len(vectors.words):
        return vectors
    known = known.slice(0, len(vectors.words))
    if known.null_count:
        return vectors
    try:
        values = known.cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        return vectors
    return Vectors(vectors.words, vectors.matrix, vectors.format, counts=values)


def damaged(path: str | Path, error: Exception) -> DataError:
    """Return the error for a file that pyarrow cannot read."""
    return DataError(f"{path} cannot be read as a table: {' '.join(str(error).split())[:200]}")
