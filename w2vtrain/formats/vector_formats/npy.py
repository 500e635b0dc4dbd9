"""A NumPy array (.npy) of V rows, and beside it a text file with their words, one per line: X.npy and X.words.txt.

`numpy.load` reads the array, also with mmap_mode="r". The words are not part of it.
"""

from pathlib import Path
from typing import BinaryIO

from w2vtrain.errors import DataError, InputMissing, TruncatedFile
from w2vtrain.formats.vector_formats._arrays import MatrixFile, collected, header_of, stored_rows, write_array
from w2vtrain.formats.vector_formats._rows import MAX_WORD_BYTES
from w2vtrain.formats.vector_formats.contract import Companion, Promise, Sniff, Table, VectorFormat, Vectors
from w2vtrain.system.reading import read_lines, regular_size

MAGIC = b"\x93NUMPY"


def sniff(head: bytes, whole: bool) -> Promise | None:
    """Claim data that start with NumPy's magic number."""
    return Promise(*header_of(head)) if head.startswith(MAGIC) else None


def write(file: BinaryIO, table: Table) -> None:
    """Write the array."""
    write_array(file, stored_rows(table)[0])


def write_words(file: BinaryIO, table: Table) -> None:
    """Write one word per line."""
    file.writelines(word + b"\n" for word in table.words)


def companion_lines(path: str | Path, companion: Companion, rows: int) -> list[bytes]:
    """Return the lines of the file beside a file of vectors, at most `rows`, without blank lines at the end.

    Raise DataError if the file is missing.
    """
    beside = companion.beside(path)
    try:
        regular_size(beside)
    except InputMissing as error:
        raise DataError(f"{path} has no words, which are expected one per line beside it: {error}") from error
    lines = []
    for number, line in read_lines(beside, 2 * MAX_WORD_BYTES):
        if number > rows:
            break
        lines.append(line.rstrip(b"\r\n"))
    while lines and not lines[-1]:
        lines.pop()
    return lines


def read(path: str | Path, sniffed: Sniff, lenient: bool, limit: int | None) -> Vectors:
    """Read the array block by block, and the words beside it."""
    array = MatrixFile.of(path)
    V, d = array.shape
    if array.end > sniffed.size:
        raise TruncatedFile(
            f"{path}: the header promises {array.end:,} bytes, but the file has {sniffed.size:,}: it is cut off or its"
            " header is wrong"
        )
    words = companion_lines(path, WORD_LIST, V + 1)
    if len(words) != V and not lenient:
        raise TruncatedFile(f"{WORD_LIST.beside(path)}: {len(words):,} words, but {path} has {V:,} vectors")
    words = words[:V]
    return collected(path, sniffed, (len(words), d), array.rows(words), lenient, limit)


WORD_LIST = Companion(".words.txt", write_words)
FORMAT = VectorFormat(
    name="npy", suffixes=(".npy",), sniff=sniff, read=read, write=write, dtypes=("float32", "float16"),
    companion=WORD_LIST, compressible=False,
)  # fmt: skip
