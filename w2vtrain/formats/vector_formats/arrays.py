r"""NumPy's files: an array (.npy) with its words in a text file beside it, and an archive (.npz) that has both.

X.npy has V rows, and X.words.txt their words, one per line. `numpy.load` reads the array, also with mmap_mode="r".

An archive has the arrays `words`, `vectors` and, if known, `counts`; with int8 vectors, also `scales`. `numpy.load`
reads it without pickle. `words` holds the words as UTF-8 joined by newlines, in an array of bytes:
``data["words"].tobytes().decode().split("\n")`` is a list of them. An array of strings would take four bytes for each
letter of the longest word, for every word. vectors: (V, d) float32, float16 or int8; counts: (V,) int64; scales: (V,)
float32; the vectors are then ``data["vectors"] * data["scales"][:, None]``.

Nothing is unpickled: arrays of Python objects are refused, and an archive that expands too much is refused.
"""

import math
import os
import zipfile
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from w2vtrain.errors import DataError, InputMissing, TruncatedFile, W2VError
from w2vtrain.formats.precision import rounded, scales_of
from w2vtrain.formats.safetensors import row_slices, write_values
from w2vtrain.formats.transforms import LazyRows
from w2vtrain.formats.vector_formats import WORD_LIST
from w2vtrain.formats.vector_formats.contract import Code, Promise, Sniff, Table, Vectors
from w2vtrain.formats.vector_formats.rows import MAX_DIM, MAX_WORD_BYTES, Collector
from w2vtrain.system.compression import MAX_EXPANSION
from w2vtrain.system.reading import justified, read_lines, regular_size, unchanged

Rows = tuple[Sequence[bytes], NDArray[Any]]
"""n words and their (n, d) values."""
END, END_BYTES = b"PK\x05\x06", 18
"""How the last record of an archive begins, and the number of bytes in it after that, before a comment."""
MEMBERS = ("vectors.npy", "words.npy", "scales.npy", "counts.npy")


@contextmanager
def _reading(path: str | Path) -> Iterator[None]:
    """Turn what NumPy raises for a damaged file into a DataError."""
    try:
        yield
    except (W2VError, MemoryError):
        raise
    except Exception as error:  # NumPy and the modules that decompress have no class in common
        why = " ".join(str(error).split())[:100]
        raise DataError(f"{path} cannot be read by NumPy ({why}): is the copy incomplete?") from error


def _refuse_objects(dtype: np.dtype[Any], path: str | Path, name: str) -> None:
    """Raise DataError if the array `name` of a file has Python objects, which NumPy stores as a pickle."""
    if dtype.hasobject:
        kind = "str" if name == "words" else "float"
        raise DataError(
            f"{path}: the array {name} has Python objects, stored as a pickle, which is not loaded: save"
            f" numpy.array({name}, {kind})"
        )


def _check(array: NDArray[Any], where: str | Path, scaled: bool = False) -> None:
    """Raise DataError unless an array can be vectors: of floats, or of int8 if there are scales."""
    shape, dtype = list(array.shape), array.dtype
    if len(shape) != 2 or not shape[0] or not 0 < shape[1] <= MAX_DIM:
        raise DataError(f"{where}: an array of shape {shape[:5]}, expected a row of values per word")
    if dtype.kind != "f" and not (scaled and dtype == np.int8):
        hint = ", which need their scales" if dtype == np.int8 else ""
        raise DataError(f"{where}: an array of {dtype}, expected floating-point numbers{hint}")


def _blocks(words: Sequence[bytes], matrix: NDArray[Any], scales: NDArray[np.float32] | None = None) -> Iterator[Rows]:
    """Yield words and their rows as float32, each times its scale if there are scales."""
    for rows in row_slices(len(words), matrix.shape[1]):
        yield words[rows], as_float32(matrix[rows], None if scales is None else scales[rows])


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
    counts: Sequence[NDArray[np.int64] | None] = (),
) -> Vectors:  # fmt: skip
    """Return checked rows as Vectors, as `vectors.read_vectors` describes.

    shape: (V, d), which the caller has compared with the size of the file. counts: blocks of the counts of all rows, to
    which `rows` may append while it is read; None for a block of unknown counts.
    """
    collector = Collector(str(path), shape[1], shape[0], lenient, limit, sniffed.size)
    for words, block in rows:
        at = 0
        while count := collector.missing(len(block) - at):  # again, if rows were left out and the limit is not reached
            some = slice(at, at + count)
            collector.add(list(words[some]), block[some], lambda i: f", row {collector.added + i + 1:,}")
            at += count
        if at < len(block):
            break
    kept, matrix = collector.result()
    if not kept:
        raise DataError(f"{path} contains no vectors")
    blocks = [block for block in counts if block is not None]
    is_known = len(blocks) == len(counts) > 0
    known = np.delete(np.concatenate(blocks), collector.left_out)[: len(kept)] if is_known else None
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
    """Write one word per line."""
    file.write(BOM_UTF8 * table.words[0].startswith(BOM_UTF8))  # `read_lines` drops one byte order mark
    file.writelines(word + b"\n" for word in table.words)


def _mapped(path: str | Path) -> NDArray[Any]:
    """Return an array whose memory is the file. Raise DataError if it has Python objects, or bytes follow it."""
    with _reading(path):
        with Path(path).open("rb") as file:
            _refuse_objects(_header(file)[1], path, "vectors")
        array: Any = np.load(path, mmap_mode="r")
        if extra := regular_size(path) - array.offset - array.nbytes:
            raise DataError(f"{path}: {extra:,} bytes after the array: the file is damaged, or has several arrays")
    return array  # type: ignore[no-any-return]


def look_npy(path: str | Path) -> Promise:
    """Return V and d, if the array has two dimensions."""
    array = _mapped(path)
    return Promise(*array.shape) if array.ndim == 2 else Promise()


def read_npy(path: str | Path, sniffed: Sniff, lenient: bool, limit: int | None) -> Vectors:
    """Read the array block by block, and the words beside it."""
    beside = Path(path).with_suffix(WORD_LIST)
    with unchanged(path, may_be_replaced=False):  # the words would be those of the array before
        array = _mapped(path)
        _check(array, path)
        V, d = array.shape
        words = _lines(path, beside, V + 1)
    known = f"more than {V:,}" if len(words) > V else f"{len(words):,}"
    problem = f"{beside}: {known} words, but {path} has {V:,} vectors" if len(words) != V else ""
    if problem and not lenient:
        raise TruncatedFile(problem)
    words = words[:V]
    vectors = collected(path, sniffed, (len(words), d), _blocks(words, array), lenient, limit)
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
    lines = [line.rstrip(b"\r\n") for _, line in islice(read_lines(beside, 2 * MAX_WORD_BYTES), most)]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def write_npz(file: BinaryIO, table: Table) -> None:
    """Write the arrays, uncompressed and block by block."""
    rows, scales = stored_rows(table)
    words = np.frombuffer(b"\n".join(table.words), np.uint8)
    counts = None if table.counts is None else np.asarray(table.counts, np.int64)
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in zip(MEMBERS, (rows, words, scales, counts), strict=True):
            if array is not None:
                # A ZipInfo of its own: archives of the same vectors are equal, whenever they were written.
                with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as member:
                    write_array(member, array)  # type: ignore[arg-type]


def _header(member: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and the type that the header of an array has."""
    is_first = npy.read_magic(member) == (1, 0)
    shape, _, dtype = (npy.read_array_header_1_0 if is_first else npy.read_array_header_2_0)(member)
    return shape, dtype


def _array(archive: zipfile.ZipFile, name: str, path: str | Path) -> NDArray[Any]:
    """Return an array of an archive, whose name is `path`.

    Raise DataError if it has Python objects, and ValueError if it has not the size that its header promises.
    """
    with archive.open(name) as member:
        shape, dtype = _header(member)
        _refuse_objects(dtype, path, name.removesuffix(".npy"))
        size = member.tell() + math.prod(shape) * dtype.itemsize
        if size != archive.getinfo(name).file_size:
            raise ValueError(f"{name} has not the size that its header promises")
    with archive.open(name) as member:
        array: NDArray[Any] = npy.read_array(member)
    return array


def look_npz(path: str | Path) -> Promise:
    """Return V and d from the header of `vectors`."""
    with _opened(path) as archive, archive.open("vectors.npy") as member:
        shape, _ = _header(member)
    return Promise(*shape) if len(shape) == 2 else Promise()


def read_npz(path: str | Path, sniffed: Sniff, lenient: bool, limit: int | None) -> Vectors:
    """Read an archive, compressed inside or not."""
    with _opened(path) as archive:
        arrays = {name: _array(archive, name, path) for name in MEMBERS if name in archive.namelist()}
        matrix, words, scales, counts = arrays[MEMBERS[0]], arrays[MEMBERS[1]], *map(arrays.get, MEMBERS[2:])
        if words.ndim != 1 or (words.dtype != np.uint8 and words.dtype.kind != "U"):
            raise DataError(
                f"{path}: words is an array {words.shape} of {words.dtype}, expected one dimension of strings, or of"
                " bytes: UTF-8 joined by newlines"
            )
        listed = list(map(str.encode, words.tolist())) if words.dtype.kind == "U" else words.tobytes().split(b"\n")
    _check(matrix, path, scales is not None)
    for name, array in (("words", listed), ("scales", scales), ("counts", counts)):
        if array is not None and np.shape(array)[:1] != (len(matrix),):
            raise DataError(f"{path}: {len(matrix):,} vectors, but {name} has {np.size(array):,}")
    if scales is not None and (scales.dtype.kind != "f" or scales.ndim != 1):
        raise DataError(f"{path}: scales is an array of {scales.dtype}, expected one floating-point number per row")
    blocks = _blocks(listed, matrix, None if scales is None else as_float32(scales))
    whole = [] if counts is None else [whole_numbers(counts, path)]
    return collected(path, sniffed, (len(matrix), matrix.shape[1]), blocks, lenient, limit, whole)


@contextmanager
def _opened(path: str | Path) -> Iterator[zipfile.ZipFile]:
    """Open an archive. Raise DataError for what is damaged, also while the block reads."""
    with _reading(path), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        _whole(archive, path)
        if missing := [name for name in ("words", "vectors") if f"{name}.npy" not in names]:
            there = ", ".join(name.removesuffix(".npy") for name in names)[:200]
            raise DataError(f"{path}: the archive has no array {' and '.join(missing)}, but {there or 'none'}")
        size = sum(member.file_size for member in archive.infolist())
        if size > justified(regular_size(path)):
            raise DataError(
                f"{path}: the archive has {size:,} bytes, more than {MAX_EXPANSION} times the size of the file: if that"
                " is right, save it uncompressed, by numpy.savez"
            )
        yield archive


def _whole(archive: zipfile.ZipFile, path: str | Path) -> None:
    """Raise DataError if bytes follow the end of an archive, which zipfile would skip."""
    with Path(path).open("rb") as file:
        file.seek(-len(END) - END_BYTES - len(archive.comment), os.SEEK_END)
        if file.read(len(END)) != END:
            raise DataError(f"{path}: bytes follow the end of the archive: the file is damaged")


CODE = {
    "npy": Code(write_npy, read_npy, write_words, look=look_npy),
    "npz": Code(write_npz, read_npz, look=look_npz),
}
