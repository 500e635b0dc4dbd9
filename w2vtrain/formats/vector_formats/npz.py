"""A NumPy archive (.npz) with the arrays `words`, `vectors` and, if known, `counts`; with int8 vectors, also `scales`.

`numpy.load` reads it without pickle. `words` holds the words as UTF-8 joined by newlines, in an array of bytes:
``data["words"].tobytes().decode().split("\\n")`` is a list of them. An array of strings would take four bytes for each
letter of the longest word, for every word. vectors: (V, d) float32, float16 or int8; counts: (V,) int64; scales: (V,)
float32; the vectors are then ``data["vectors"] * data["scales"][:, None]``.
"""

import math
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from w2vtrain.errors import DataError
from w2vtrain.formats.vector_formats._arrays import (
    array_rows,
    as_float32,
    check_matrix,
    collected,
    read_header,
    stored_rows,
    stream_rows,
    write_array,
)
from w2vtrain.formats.vector_formats.contract import Promise, Sniff, Table, VectorFormat, Vectors
from w2vtrain.system.reading import justified, open_input, regular_size

MAGIC = b"PK\x03\x04"
NAMES = ("words", "vectors", "counts", "scales")
MAX_MEMBERS = 1000
ERRORS = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError, OSError)
"""What a damaged archive raises."""


def sniff(head: bytes, whole: bool) -> Promise | None:
    """Claim a zip archive whose first member is an array."""
    name = head[30 : 30 + int.from_bytes(head[26:28], "little")]
    return Promise() if head.startswith(MAGIC) and name.endswith(b".npy") else None


def write(file: BinaryIO, table: Table) -> None:
    """Write the arrays, uncompressed and block by block."""
    rows, scales = stored_rows(table)
    words = np.frombuffer(b"\n".join(table.words), np.uint8)
    counts = None if table.counts is None else np.asarray(table.counts, np.int64)
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in (("words", words), ("vectors", rows), ("counts", counts), ("scales", scales)):
            if array is not None:
                # A ZipInfo of its own: archives of the same vectors are equal, whenever they were written.
                with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                    write_array(member, array)  # type: ignore[arg-type]


def look(path: str | Path) -> Promise:
    """Return V and d from the header of `vectors`."""
    with _opened(path) as archive:
        _, shape, _, _ = archive.open("vectors")
    return Promise(*shape) if len(shape) == 2 else Promise()


def read(path: str | Path, sniffed: Sniff, lenient: bool, limit: int | None) -> Vectors:
    """Read an archive, compressed inside or not."""
    with _opened(path) as archive:
        member, shape, fortran, dtype = archive.open("vectors")
        check_matrix(shape, dtype, path, "scales" in archive.names)
        words = archive.array("words")
        if words.dtype != np.uint8 or words.ndim != 1:
            raise DataError(f"{path}: words is an array of {words.dtype}, expected bytes: UTF-8 joined by newlines")
        listed = words.tobytes().split(b"\n")
        scales, counts = (
            np.atleast_1d(archive.array(name)) if name in archive.names else None for name in ("scales", "counts")
        )
        for name, array in (("words", listed), ("scales", scales), ("counts", counts)):
            if array is not None and len(array) != shape[0]:
                raise DataError(f"{path}: {shape[0]:,} vectors, but {name} has {len(array):,}")
        if scales is not None and (scales.dtype.kind != "f" or scales.ndim != 1):
            raise DataError(f"{path}: scales is an array of {scales.dtype}, expected one floating-point number per row")
        if counts is not None and (counts.dtype != np.int64 or counts.ndim != 1):
            counts = None
        factors = None if scales is None else as_float32(scales)
        rows = stream_rows(listed, member, shape, dtype, path, factors)
        if fortran:
            whole = archive.array("vectors")
            rows = array_rows(listed, whole if factors is None else as_float32(whole) * factors[:, None])
        return collected(path, sniffed, (shape[0], shape[1]), rows, lenient, limit, counts)


@contextmanager
def _opened(path: str | Path) -> Iterator["_Archive"]:
    """Open an archive. Raise DataError for what is damaged, also while the block reads."""
    with open_input(path) as (file, _):
        try:
            with zipfile.ZipFile(file) as archive:
                yield _Archive(archive, path)
        except ERRORS as error:
            raise DataError(f"{path} is not a valid NumPy archive: {' '.join(str(error).split())[:100]}") from error


class _Archive:
    """An open archive: the `names` of its arrays, and their values, in no more memory than is justified."""

    def __init__(self, archive: zipfile.ZipFile, path: str | Path) -> None:
        self._zip, self._path, self._most = archive, path, justified(regular_size(path))
        members = archive.infolist()
        if len(members) > MAX_MEMBERS:
            raise DataError(f"{path}: {len(members):,} members, expected {', '.join(NAMES)}")
        self.names = {info.filename.removesuffix(".npy"): info for info in members if info.filename.endswith(".npy")}
        if missing := [name for name in ("words", "vectors") if name not in self.names]:
            there = ", ".join(self.names)[:200]
            raise DataError(f"{path}: the archive has no array {' and '.join(missing)}, but {there or 'none'}")

    def open(self, name: str) -> tuple[IO[bytes], tuple[int, ...], bool, np.dtype[Any]]:
        """Return an array's values as a file, and what `read_header` returns, compared with the size of the member."""
        info = self.names[name]
        member = self._zip.open(info)
        shape, fortran, dtype = read_header(member, f"{self._path}, {name}")
        start, needed = member.tell(), math.prod(shape) * dtype.itemsize
        if start + needed != info.file_size or needed > self._most or info.compress_size > self._most:
            raise DataError(
                f"{self._path}: the array {name} promises {needed:,} bytes, but there are {info.file_size - start:,} in"
                f" {info.compress_size:,} compressed bytes: the file is damaged"
            )
        return member, shape, fortran, dtype

    def array(self, name: str) -> NDArray[Any]:
        """Return an array."""
        member, shape, fortran, dtype = self.open(name)
        return np.frombuffer(member.read(), dtype).reshape(shape, order="F" if fortran else "C")


FORMAT = VectorFormat(
    name="npz", suffixes=(".npz",), sniff=sniff, read=read, write=write, dtypes=("float32", "float16", "int8"),
    look=look, compressible=False,
)  # fmt: skip
