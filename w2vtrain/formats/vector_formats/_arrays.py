"""What formats that hold arrays have in common: NumPy's headers, rows to write, and checked rows to read.

Formats that hold rows one after another, each with its word, share _rows.py.
"""

import io
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from w2vtrain.errors import DataError, TruncatedFile
from w2vtrain.formats.precision import rounded, scales_of
from w2vtrain.formats.safetensors import row_slices, write_values
from w2vtrain.formats.transforms import LazyRows
from w2vtrain.formats.vector_formats._rows import MAX_DIM, Collector
from w2vtrain.formats.vector_formats.contract import Sniff, Table, Vectors
from w2vtrain.system.reading import open_input

Rows = tuple[Sequence[bytes], NDArray[Any]]
"""n words and their (n, d) values."""
MAX_HEADER_BYTES, HEAD_BYTES = 10_000, 1 << 17
"""Maximum bytes of the header of a NumPy array, and how many bytes are read in which it must end."""
HEADER_ERRORS = (
    ValueError, TypeError, KeyError, SyntaxError, EOFError, RecursionError, MemoryError, OverflowError, TokenError,
)  # fmt: skip
"""What NumPy raises for a damaged header."""


def stored_rows(table: Table) -> tuple[LazyRows, NDArray[np.float32] | None]:
    """Return the rows of a table as its dtype and, for int8, their scales (V,); otherwise None."""
    scales = scales_of(table.matrix) if table.dtype == "int8" else None

    def read(rows: slice) -> NDArray[Any]:
        return rounded(table.matrix[rows], table.dtype, None if scales is None else scales[rows])

    return LazyRows(table.matrix.shape, read, table.dtype), scales


def write_array(file: BinaryIO, array: Any) -> None:
    """Write an array in NumPy's format, version 1.0. array: as for `write_values`."""
    descr = npy.dtype_to_descr(array.dtype.newbyteorder("<"))
    npy.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": array.shape})
    write_values(file, array)


def read_header(file: Any, where: str | Path) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return the shape, the Fortran order and the dtype of an array. Raise DataError if the header is damaged."""
    try:
        version = npy.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"its version is {version[0]}.{version[1]}, expected 1.0 or 2.0")
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about headers from Python 2, which are valid
            shape, fortran, dtype = read(file, max_header_size=MAX_HEADER_BYTES)
    except HEADER_ERRORS as error:
        message = " ".join(str(error).split())[:100]
        raise DataError(f"{where}: the header of the NumPy array is damaged: {message}") from error
    if dtype.hasobject:
        raise DataError(f"{where}: an array of Python objects, which is never read: it can run any code")
    if any(size < 0 for size in shape):
        raise DataError(f"{where}: the header of the NumPy array is damaged: shape {list(shape)[:5]}")
    return shape, fortran, dtype


def header_of(head: bytes) -> tuple[int | None, int | None]:
    """Return V and d of an array that starts with `head`; None for both if it is damaged or has another shape."""
    try:
        shape, _, _ = read_header(io.BytesIO(head), "")
    except DataError:
        return None, None
    return (shape[0], shape[1]) if len(shape) == 2 else (None, None)


def check_matrix(shape: tuple[int, ...], dtype: np.dtype[Any], where: str | Path, scaled: bool = False) -> None:
    """Raise DataError unless an array can be vectors: (V, d) of floats, or of int8 if there are scales."""
    if len(shape) != 2 or not shape[0] or not 0 < shape[1] <= MAX_DIM:
        raise DataError(f"{where}: an array of shape {list(shape)[:5]}, expected a row of values per word")
    if dtype.kind != "f" and not (scaled and dtype == np.int8):
        hint = ", which need their scales" if dtype == np.int8 else ""
        raise DataError(f"{where}: an array of {dtype}, expected floating-point numbers{hint}")


class MatrixFile(NamedTuple):
    """A matrix (V, d) in a file: its first byte is at `start`, and its columns follow each other if `fortran`."""

    path: str | Path
    start: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool = False

    @classmethod
    def of(cls, path: str | Path) -> "MatrixFile":
        """Return the matrix in a file of NumPy. Raise DataError if it cannot be vectors."""
        with open_input(path) as (file, compression):
            head = io.BytesIO(b"" if compression else file.read(HEAD_BYTES))  # compressed files are not NumPy's
        shape, fortran, dtype = read_header(head, path)
        check_matrix(shape, dtype, path)
        return cls(path, head.tell(), shape, dtype, fortran)

    @property
    def end(self) -> int:
        """The number of bytes that the file must have."""
        return self.start + math.prod(self.shape) * self.dtype.itemsize

    def rows(
        self, words: Sequence[bytes], order: NDArray[np.int64] | None = None, scales: NDArray[np.float32] | None = None
    ) -> Iterator[Rows]:
        """Yield words and rows, block by block.

        order: the rows to read, by default the first; scales: factors of these, for the default order in a file with
        one row after another.
        """
        if self.fortran or order is not None:  # the rows are not together in the file, so it is mapped
            assert scales is None
            layout: Literal["C", "F"] = "F" if self.fortran else "C"
            yield from array_rows(words, np.memmap(self.path, self.dtype, "r", self.start, self.shape, layout), order)
            return
        with open_input(self.path) as (file, _):
            file.seek(self.start)
            yield from stream_rows(words, file, self.shape, self.dtype, self.path, scales)


def array_rows(words: Sequence[bytes], matrix: NDArray[Any], order: NDArray[np.int64] | None = None) -> Iterator[Rows]:
    """Yield words and the first rows of a matrix (V, d), or those that `order` says, as float32, block by block."""
    for rows in row_slices(len(words), matrix.shape[1]):
        yield words[rows], as_float32(matrix[rows if order is None else order[rows]])


def stream_rows(
    words: Sequence[bytes], file: Any, shape: tuple[int, ...], dtype: np.dtype[Any], where: str | Path,
    scales: NDArray[np.float32] | None = None,
) -> Iterator[Rows]:  # fmt: skip
    """Yield the words and the rows of an array (V, d) in C order, as float32, block by block; each row times its scale.

    file: positioned at the first row. No more than one block is in memory. Raise TruncatedFile if rows are missing.
    """
    for rows in row_slices(len(words), shape[1]):
        size = (rows.stop - rows.start) * shape[1] * dtype.itemsize
        data = file.read(size)
        if len(data) < size:
            raise TruncatedFile(f"{where}: the file ends inside row {rows.start:,} or one of the next: it is cut off")
        block = as_float32(np.frombuffer(data, dtype).reshape(-1, shape[1]))
        yield words[rows], block if scales is None else block * scales[rows, None]


def as_float32(block: NDArray[Any]) -> NDArray[np.float32]:
    """Return a copy of floating-point numbers or int8; what is too large becomes infinite, which is refused later."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.array(block, np.float32)


def collected(
    path: str | Path, sniffed: Sniff, shape: tuple[int, int], rows: Iterable[Rows], lenient: bool, limit: int | None,
    counts: NDArray[np.int64] | None = None,
) -> Vectors:  # fmt: skip
    """Return checked rows as Vectors, as `vectors.read_vectors` describes.

    shape: (V, d), which the caller has compared with the size of the file.
    """
    collector = Collector(str(path), shape[1], shape[0], lenient, limit, sniffed.size)
    start = 0
    for words, block in rows:
        count = collector.missing(len(block))
        if not count:
            break
        collector.add(list(words[:count]), block[:count], lambda i, at=start: f", row {at + i:,}")  # type: ignore[misc]
        start += count
    kept, matrix = collector.result()
    if not kept:
        raise DataError(f"{path} contains no vectors")
    known = None if counts is None or collector.skipped else counts[: len(kept)]
    skipped, mended, flaws = collector.skipped, collector.mended, collector.flaws
    return Vectors(kept, matrix, sniffed.kind, skipped=skipped, counts=known, mended=mended, flaws=flaws)
