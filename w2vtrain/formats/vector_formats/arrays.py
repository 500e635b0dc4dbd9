r"""NumPy's files: an array (.npy) with its words in a text file beside it, and an archive (.npz) that has both.

X.npy has V rows, and X.words.txt their words, one per line. `numpy.load` reads the array, also with mmap_mode="r".

An archive has the arrays `words`, `vectors` and, if known, `counts`; with int8 vectors, also `scales`. `numpy.load`
reads it without pickle. `words` holds the words as UTF-8 joined by newlines, in an array of bytes:
``data["words"].tobytes().decode().split("\n")`` is a list of them. An array of strings would take four bytes for each
letter of the longest word, for every word. vectors: (V, d) float32, float16 or int8; counts: (V,) int64; scales: (V,)
float32; the vectors are then ``data["vectors"] * data["scales"][:, None]``.

Nothing is unpickled, and no memory is taken before the sizes in headers have been compared with those of the files.
"""

import io
import lzma
import math
import struct
import warnings
import zipfile
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from w2vtrain.errors import DataError, InputMissing, TruncatedFile, W2VError
from w2vtrain.formats.precision import rounded, scales_of
from w2vtrain.formats.safetensors import row_slices, write_values
from w2vtrain.formats.transforms import LazyRows
from w2vtrain.formats.vector_formats import WORD_LIST
from w2vtrain.formats.vector_formats.contract import Code, Promise, Sniff, Table, Vectors
from w2vtrain.formats.vector_formats.rows import MAX_DIM, MAX_WORD_BYTES, NOT_FINITE, Collector
from w2vtrain.system.compression import MAX_EXPANSION
from w2vtrain.system.reading import justified, open_input, read_lines, regular_size

Rows = tuple[Sequence[bytes], NDArray[Any]]
"""n words and their (n, d) values."""
MAX_HEADER_BYTES, HEAD_BYTES = 10_000, 1 << 17
"""Maximum bytes of the header of a NumPy array, and how many bytes are read in which it must end."""
HEADER_ERRORS = (
    ValueError, TypeError, KeyError, SyntaxError, EOFError, RecursionError, MemoryError, OverflowError, TokenError,
)  # fmt: skip
"""What NumPy raises for a damaged header."""
MEMBERS = ("words", "vectors", "counts", "scales")
MAX_MEMBERS = 1000
ARCHIVE_ERRORS = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, RuntimeError, ValueError, OSError)
"""What a damaged archive raises."""


class Header(NamedTuple):
    """What the header of a NumPy array says. fortran: whether columns, not rows, follow each other."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, file: IO[bytes], where: str | Path) -> "Header":
        """Read the header of an array, after which the file is positioned. Raise DataError if it is damaged."""
        head = io.BytesIO(file.read(HEAD_BYTES))
        try:
            version = npy.read_magic(head)
            if version not in ((1, 0), (2, 0)):
                raise ValueError(f"its version is {version[0]}.{version[1]}, expected 1.0 or 2.0")
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about headers from Python 2, which are valid
                header = cls(*read(head, max_header_size=MAX_HEADER_BYTES))
        except HEADER_ERRORS as error:
            message = " ".join(str(error).split())[:100]
            raise DataError(f"{where}: the header of the NumPy array is damaged: {message}") from error
        if header.dtype.hasobject:
            raise DataError(f"{where}: an array of Python objects, which is never read: it can run any code")
        if any(size < 0 for size in header.shape):
            raise DataError(f"{where}: the header of the NumPy array is damaged: shape {list(header.shape)[:5]}")
        file.seek(head.tell())
        return header

    @property
    def size(self) -> int:
        """The number of bytes of the values."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def promise(self) -> Promise:
        """V and d, if the array has two dimensions."""
        return Promise(*self.shape) if len(self.shape) == 2 else Promise()

    def check(self, where: str | Path, scaled: bool = False) -> tuple[int, int]:
        """Return V and d. Raise DataError unless an array can be vectors: of floats, or of int8 if there are scales."""
        shape, dtype = self.shape, self.dtype
        if len(shape) != 2 or not shape[0] or not 0 < shape[1] <= MAX_DIM:
            raise DataError(f"{where}: an array of shape {list(shape)[:5]}, expected a row of values per word")
        if dtype.kind != "f" and not (scaled and dtype == np.int8):
            hint = ", which need their scales" if dtype == np.int8 else ""
            raise DataError(f"{where}: an array of {dtype}, expected floating-point numbers{hint}")
        return shape[0], shape[1]

    def values(self, file: IO[bytes], where: str | Path) -> NDArray[Any]:
        """Return the values that follow in a file. Raise TruncatedFile if some are missing."""
        data = file.read(self.size)
        if len(data) < self.size:
            raise TruncatedFile(f"{where}: the file ends inside the array: it is cut off")
        return np.frombuffer(data, self.dtype).reshape(self.shape, order="F" if self.fortran else "C")

    def rows(
        self, words: Sequence[bytes], file: IO[bytes], where: str | Path, scales: NDArray[np.float32] | None = None
    ) -> Iterator[Rows]:
        """Yield words and the rows that follow in a file as float32, each times its scale if there are scales.

        One block is in memory at a time, or the whole matrix if its columns follow each other. Raise TruncatedFile if
        rows are missing.
        """
        whole = self.values(file, where) if self.fortran else None
        for rows in row_slices(len(words), self.shape[1]):
            if whole is not None:
                block = whole[rows]
            else:
                size = (rows.stop - rows.start) * self.shape[1] * self.dtype.itemsize
                data = file.read(size)
                if len(data) < size:
                    at = f"row {rows.start + 1:,} or one of the next"
                    raise TruncatedFile(f"{where}: the file ends inside {at}: it is cut off")
                block = np.frombuffer(data, self.dtype).reshape(-1, self.shape[1])
            yield words[rows], as_float32(block, None if scales is None else scales[rows])


def as_float32(block: NDArray[Any], scales: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
    """Return a copy of floating-point numbers or int8, each row times its scale if there are scales.

    What is too large becomes infinite, which is refused later.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.array(block, np.float32)
        return values if scales is None else values * scales[:, None]


def whole_numbers(counts: NDArray[Any], path: str | Path, first: int = 0) -> NDArray[np.int64]:
    """Return counts (V,) of any type as int64. first: the number of the first row, from 0; messages count from 1.

    Raise DataError if they are not numbers, or for the first that is not a whole number or too large.
    """
    if counts.ndim != 1 or counts.dtype.kind not in "iuf":
        raise DataError(f"{path}: counts is a {counts.ndim}-d array of {counts.dtype}, expected whole numbers")
    with np.errstate(invalid="ignore"):
        whole = counts.astype(np.int64)
    if (bad := np.flatnonzero((whole != counts) | ((whole < 0) & (counts > 0)))).size:
        raise DataError(
            f"{path}, row {first + bad[0] + 1:,}: the count {counts[bad[0]]} is not a whole number below 2^63"
        )
    return whole


def collected(
    path: str | Path, sniffed: Sniff, shape: tuple[int, int], rows: Iterable[Rows], lenient: bool, limit: int | None,
    counts: NDArray[np.int64] | None = None, why: Callable[[int], str] = lambda _: NOT_FINITE,
) -> Vectors:  # fmt: skip
    """Return checked rows as Vectors, as `vectors.read_vectors` describes.

    shape: (V, d), which the caller has compared with the size of the file; why: what is wrong with a row whose values
    are not finite, by its number from 0.
    """
    collector = Collector(str(path), shape[1], shape[0], lenient, limit, sniffed.size)
    start = 0
    for words, block in rows:
        count = collector.missing(len(block))
        if not count:
            break
        place, reason = (lambda i, at=start: f", row {at + i + 1:,}"), (lambda i, at=start: why(at + i))
        collector.add(list(words[:count]), block[:count], place, reason)
        start += count
    kept, matrix = collector.result()
    if not kept:
        raise DataError(f"{path} contains no vectors")
    known = None if counts is None or collector.skipped else counts[: len(kept)]
    skipped, mended, flaws = collector.skipped, collector.mended, collector.flaws
    return Vectors(kept, matrix, sniffed.kind, skipped=skipped, counts=known, mended=mended, flaws=flaws)


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


def write_npy(file: BinaryIO, table: Table) -> None:
    """Write the array."""
    write_array(file, stored_rows(table)[0])


def write_words(file: BinaryIO, table: Table) -> None:
    """Write one word per line. A byte order mark is only written before a first word that looks as if it had one."""
    if table.words[0].startswith(BOM_UTF8):
        file.write(BOM_UTF8)
    file.writelines(word + b"\n" for word in table.words)


def look_npy(path: str | Path) -> Promise:
    """Return V and d from the header, which agrees with the size of the file."""
    with open_input(path) as (file, _):
        header = Header.of(file, path)
        if (end := file.tell() + header.size) != (size := regular_size(path)):
            why = "it is cut off or its header is wrong" if end > size else "bytes follow the array"
            problem = f"{path}: the header promises {end:,} bytes, but the file has {size:,}: {why}"
            raise (TruncatedFile if end > size else DataError)(problem)
        return header.promise


def read_npy(path: str | Path, sniffed: Sniff, lenient: bool, limit: int | None) -> Vectors:
    """Read the array block by block, and the words beside it."""
    with open_input(path) as (file, _):
        header = Header.of(file, path)
        V, d = header.check(path)
        beside = WORD_LIST.beside(path)
        words = _lines(path, beside, V + 1)
        problem = f"{beside}: {len(words):,} words, but {path} has {V:,} vectors" if len(words) != V else ""
        if problem and not lenient:
            raise TruncatedFile(problem)
        words = words[:V]
        vectors = collected(path, sniffed, (len(words), d), header.rows(words, file, path), lenient, limit)
        if problem:
            vectors.flaws.append(problem)
        return vectors


def _lines(path: str | Path, beside: Path, most: int) -> list[bytes]:
    """Return the lines of the file beside an array, at most `most`. Raise DataError if it is missing.

    Blank lines at the end are left out.
    """
    try:
        regular_size(beside)
    except InputMissing as error:
        raise DataError(f"{path} has no words, which are expected one per line beside it: {error}") from error
    lines = []
    for number, line in read_lines(beside, 2 * MAX_WORD_BYTES):
        if number > most:
            break
        lines.append(line.rstrip(b"\r\n"))
    while lines and not lines[-1]:
        lines.pop()
    return lines


def write_npz(file: BinaryIO, table: Table) -> None:
    """Write the arrays, uncompressed and block by block."""
    rows, scales = stored_rows(table)
    words = np.frombuffer(b"\n".join(table.words), np.uint8)
    counts = None if table.counts is None else np.asarray(table.counts, np.int64)
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in zip(MEMBERS, (words, rows, counts, scales), strict=True):
            if array is not None:
                # A ZipInfo of its own: archives of the same vectors are equal, whenever they were written.
                with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                    write_array(member, array)  # type: ignore[arg-type]


def look_npz(path: str | Path) -> Promise:
    """Return V and d from the header of `vectors`."""
    with _opened(path) as archive:
        return archive.open("vectors")[1].promise


def read_npz(path: str | Path, sniffed: Sniff, lenient: bool, limit: int | None) -> Vectors:
    """Read an archive, compressed inside or not."""
    with _opened(path) as archive:
        member, header = archive.open("vectors")
        shape = header.check(path, "scales" in archive.names)
        words = archive.array("words")
        if words.ndim != 1 or (words.dtype != np.uint8 and words.dtype.kind != "U"):
            raise DataError(
                f"{path}: words is an array of {words.dtype}, expected strings, or bytes: UTF-8 joined by newlines"
            )
        listed = list(map(str.encode, words.tolist())) if words.dtype.kind == "U" else words.tobytes().split(b"\n")
        scales, counts = (
            np.atleast_1d(archive.array(name)) if name in archive.names else None for name in ("scales", "counts")
        )
        for name, array in (("words", listed), ("scales", scales), ("counts", counts)):
            if array is not None and len(array) != shape[0]:
                raise DataError(f"{path}: {shape[0]:,} vectors, but {name} has {len(array):,}")
        if scales is not None and (scales.dtype.kind != "f" or scales.ndim != 1):
            raise DataError(f"{path}: scales is an array of {scales.dtype}, expected one floating-point number per row")
        factors = None if scales is None else as_float32(scales)
        whole = None if counts is None else whole_numbers(counts, path)
        return collected(path, sniffed, shape, header.rows(listed, member, path, factors), lenient, limit, whole)


@contextmanager
def _opened(path: str | Path) -> Iterator["_Archive"]:
    """Open an archive. Raise DataError for what is damaged, also while the block reads."""
    with open_input(path) as (file, _):
        try:
            with zipfile.ZipFile(file) as archive:
                yield _Archive(archive, path)
        except W2VError:
            raise
        except EOFError as error:  # without a message
            raise TruncatedFile(f"{path}: the file ends inside an array: it is cut off") from error
        except ARCHIVE_ERRORS as error:
            why = " ".join(str(error).split())[:100]
            raise DataError(f"{path} is not a valid NumPy archive ({why}): is the copy incomplete?") from error


class _Archive:
    """An open archive: the `names` of its arrays, and their values, in no more memory than is justified."""

    def __init__(self, archive: zipfile.ZipFile, path: str | Path) -> None:
        self._zip, self._path, self._most = archive, path, justified(regular_size(path))
        members = archive.infolist()
        if len(members) > MAX_MEMBERS:
            raise DataError(f"{path}: {len(members):,} members, expected {', '.join(MEMBERS)}")
        self.names = {info.filename.removesuffix(".npy"): info for info in members if info.filename.endswith(".npy")}
        if missing := [name for name in ("words", "vectors") if name not in self.names]:
            there = ", ".join(self.names)[:200]
            raise DataError(f"{path}: the archive has no array {' and '.join(missing)}, but {there or 'none'}")

    def open(self, name: str) -> tuple[IO[bytes], Header]:
        """Return an array's values as a file, and its header, which agrees with the size of the member."""
        info = self.names[name]
        member = self._zip.open(info)
        header = Header.of(member, f"{self._path}, {name}")
        start, needed = member.tell(), header.size
        if start + needed != info.file_size or info.compress_size > self._most:
            raise DataError(
                f"{self._path}: the array {name} promises {needed:,} bytes, but there are {info.file_size - start:,} in"
                f" {info.compress_size:,} compressed bytes: the file is damaged"
            )
        if needed > self._most:
            raise DataError(
                f"{self._path}: the array {name} has {needed:,} bytes, more than {MAX_EXPANSION} times the size of the"
                " file: if that is right, save it uncompressed, by numpy.savez"
            )
        return member, header

    def array(self, name: str) -> NDArray[Any]:
        """Return an array."""
        member, header = self.open(name)
        return header.values(member, self._path)


CODE = {
    "npy": Code(write_npy, read_npy, write_words, look=look_npy),
    "npz": Code(write_npz, read_npz, look=look_npz),
}
