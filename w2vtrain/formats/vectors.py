"""Word vectors in word2vec's text and binary formats and GloVe's: writing, telling them apart and reading.

What else a model has (counts, output vectors, settings) is kept by model.py; vectors of a model can be read here, too.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from w2vtrain.errors import DataError, ResourceError, UsageError
from w2vtrain.formats.safetensors import (
    decode_words,
    encode_words,
    first_not_finite,
    is_safetensors,
    open_safetensors,
    row_blocks,
)
from w2vtrain.formats.vector_rows import (
    MAX_DIM,
    MAX_WORD,
    Collector,
    parse_binary,
    parse_text,
    row_values,
    split_binary,
)
from w2vtrain.system.files import STDOUT, Claim, atomic_write, open_input

SUFFIXES = {".txt": "text", ".vec": "text", ".bin": "binary"}
FORMATS = ("text", "binary")
HEAD = 1 << 16
HEADER = re.compile(rb"(?:\xef\xbb\xbf)?([-+]?\d{1,18})[ \t]+([-+]?\d{1,18})[ \t]*\r?\n")
VOCABULARY_LINE = re.compile(rb"[^ \t\n\r\v\f]+[ \t]+\d{1,18}[ \t]*\r?")
# Bytes that text has no use for: all below space but the white space.
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
# What is often taken for vectors, by its first bytes.
STRANGERS = {
    b"\x93NUMPY": "a NumPy array: it has no words",
    b"PK\x03\x04": "a zip archive: unpack it first",
    b"PAR1": "a Parquet table",
    b"\xba\x16\x4f\x2f": "a fastText model: use its .vec file",
    **{
        bytes([0x80, protocol]): "a pickle, as gensim's save() makes: it is never opened, because a pickle can run "
        "anything; let gensim write it with save_word2vec_format"
        for protocol in range(2, 6)
    },
}


@dataclass(frozen=True, eq=False)
class Vectors:
    """Words and their vectors, and what was seen on the way.

    words: V different words; matrix: (V, d) float32; format: "text", "binary" or "model"; header: False for a text file
    without a first line "V d", as GloVe writes it; compression: a key of files.MAGIC, or None; skipped: rows that a
    lenient reading left out; counts: (V,) int64 occurrences in the corpus if the file knows them.
    """

    words: list[str]
    matrix: NDArray[np.float32]
    format: str = "text"
    header: bool = True
    compression: str | None = None
    skipped: int = 0
    counts: NDArray[np.int64] | None = None


class Sniff(NamedTuple):
    """What the first bytes of a file say: kind "text", "binary", "model", "vocabulary" or "unknown", and details.

    rows and dim are what a header promises (None without one; a GloVe line still gives dim), start is the byte where
    the first row begins in the decompressed data, size is the file's size in bytes, note says more about "unknown".
    """

    kind: str
    rows: int | None
    dim: int | None
    start: int
    size: int
    compression: str | None
    note: str = ""


def format_of(path: str | Path, format: str | None = None) -> str:
    """The format to write: `format` if given, else by the suffix of `path`; UsageError for an unknown one."""
    if format is not None:
        if format not in FORMATS:
            raise UsageError(f"unknown format {format!r} for vectors: use {' or '.join(FORMATS)}")
        return format
    if str(path) == STDOUT:
        return "text"
    try:
        return SUFFIXES[Path(path).suffix.lower()]
    except KeyError:
        known = ", ".join(f"{suffix} ({name})" for suffix, name in SUFFIXES.items())
        raise UsageError(f"{path}: the suffix names no known format: use {known}, or say --format") from None


def write_vectors(
    path: str | Path,
    words: Sequence[str],
    matrix: NDArray[Any],
    format: str | None = None,
    force: bool = False,
    claim: Claim | None = None,
) -> None:
    """Write V words and their (V, d) vectors as word2vec's text or binary format, atomically; "-" is standard output.

    The values are written as float32; text has the shortest decimals that read back to the same bits. `matrix` may
    be a strided view such as `padded[:, :d]`: it is copied block by block. Raises UsageError for an unknown format or
    shapes that do not fit, DataError for values that are not finite and for words that are empty, double or hold
    ASCII white space, OutputError and WriteError as `atomic_write` does, which explains claim.
    """
    format = format_of(path, format)
    if matrix.ndim != 2 or len(matrix) != len(words) or not words or not 0 < matrix.shape[1] <= MAX_DIM:
        raise UsageError(f"{path}: a matrix of shape {list(matrix.shape)} cannot be written for {len(words):,} words")
    names = encode_words(words, path).split(b"\n")
    if len(longest := max(names, key=len)) > MAX_WORD:
        raise DataError(f"{path}: the word {longest[:60]!r}... has {len(longest):,} bytes, more than {MAX_WORD:,}")
    if (bad := first_not_finite(matrix)) is not None:
        raise DataError(f"{path}: the vector of {words[bad]!r} (row {bad}) is not finite")
    head = b"%d %d\n" % matrix.shape
    size = len(head) + sum(map(len, names)) + matrix.size * 4 + 2 * len(names) if format == "binary" else None
    with atomic_write(path, force, size, claim) as file:
        file.write(head)
        for rows in row_blocks(matrix):
            block = np.ascontiguousarray(matrix[rows], dtype="<f4")
            (_write_text if format == "text" else _write_binary)(file, names[rows], block)


def _write_text(file: BinaryIO, names: list[bytes], block: NDArray[np.float32]) -> None:
    # orjson prints the shortest decimals ten times as fast as repr(). "[[1.0,2.0],[3.0,4.0]]" becomes lines: one byte
    # is looked for, which takes a tenth of the time of several, and two are then left out.
    lists = orjson.dumps(block, option=orjson.OPT_SERIALIZE_NUMPY).replace(b",", b" ").split(b"]")[:-2]
    file.write(b"".join([b"%b %b\n" % (name, values[2:]) for name, values in zip(names, lists, strict=True)]))


def _write_binary(file: BinaryIO, names: list[bytes], block: NDArray[np.float32]) -> None:
    file.write(b"".join([b"%b %b\n" % (name, row.data) for name, row in zip(names, block, strict=True)]))


def sniff(path: str | Path) -> Sniff:
    """Tell what a file is by its first 64 KiB, never by its name; costs the same for any size.

    Raises InputMissing, and DataError where the first bytes cannot be decompressed.
    """
    with open_input(path) as (file, compression):
        head = file.read(HEAD)
        size = Path(path).stat().st_size
    return sniff_head(head, size, compression)


def sniff_head(head: bytes, size: int, compression: str | None = None) -> Sniff:
    """Tell what data is by `head`, its first HEAD bytes decompressed, or all of them where there are fewer.

    `size` is the file's size in bytes and `compression` a key of files.MAGIC or None, for the answer.
    """
    if is_safetensors(head):
        if compression:
            return Sniff("unknown", None, None, 0, size, compression, "a compressed model: decompress it first")
        return Sniff("model", None, None, 0, size, None)
    for magic, note in STRANGERS.items():
        if head.startswith(magic):
            return Sniff("unknown", None, None, 0, size, compression, note)
    header = HEADER.match(head)
    if header is None:
        return _sniff_headless(head, size, compression)
    rows, dim = int(header[1]), int(header[2])
    kind = "text" if _is_text(head[header.end() :], rows, dim, len(head) < HEAD) else "binary"
    return Sniff(kind, rows, dim, header.end(), size, compression)


def _is_text(data: bytes, rows: int, dim: int, whole: bool) -> bool:
    """Whether text follows a header, not binary rows; `whole` says that `data` is all there is.

    Text with a mistake in its first row is still called text, so that its reader can name the line.
    """
    if not 0 < dim <= MAX_DIM:
        return True
    row, newline, _ = data.partition(b"\n")
    if (newline or whole) and row_values(row, dim) is not None:
        return True
    if whole:
        names, _, _, used = split_binary(data, 4 * dim, rows)
        if len(names) == rows and data[used:] in (b"", b"\n"):
            return False  # four printable bytes may be a float
    return _looks_like_text(data)


def _sniff_headless(head: bytes, size: int, compression: str | None) -> Sniff:
    """GloVe's text begins with a word and two numbers or more, a vocabulary with a word and one integer."""
    start = 3 if head.startswith(b"\xef\xbb\xbf") else 0
    row, newline, _ = head[start:].partition(b"\n")
    dim = len(row.split()) - 1
    if dim >= 2 and (newline or len(head) < HEAD) and row_values(row, dim) is not None:
        return Sniff("text", None, dim, start, size, compression)
    lines = head[start:].split(b"\n", 5)[:5]
    if len(lines) > 1 and all(VOCABULARY_LINE.fullmatch(line) for line in lines if line):
        return Sniff("vocabulary", None, None, start, size, compression)
    note = "an empty file" if not head else "neither vectors nor a model: no line of numbers at its start"
    return Sniff("unknown", None, None, start, size, compression, note)


def _looks_like_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data":
            return False
    return CONTROL.search(data) is None


def read_vectors(path: str | Path, *, lenient: bool = False, limit: int | None = None) -> Vectors:
    """Read vectors from word2vec text or binary, GloVe text or a model of ours, plain or compressed, told by content.

    A file must hold exactly what it promises: as many rows as its header says, d finite values each, different UTF-8
    words. `lenient` leaves bad rows out, counts them in `skipped` and takes the rows that are there. `limit` reads the
    first rows only. Memory is taken only after the promised sizes have been held against the file's size.
    Raises InputMissing for a file that cannot be opened, DataError naming line or byte for one that is wrong, and
    ResourceError where the memory does not suffice.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"limit must be 1 or more, not {limit}")
    found = sniff(path)
    try:
        if found.kind == "model":
            return _read_model(path, limit)
        if found.kind not in FORMATS:
            note = found.note or "a vocabulary, lines of a word and its count: it has no vectors"
            raise DataError(f"{path} is {note}")
        return _read_rows(path, found, lenient, limit)
    except MemoryError as error:
        raise ResourceError(f"{path}: not enough memory for its vectors; read fewer with a limit") from error


def _read_rows(path: str | Path, found: Sniff, lenient: bool, limit: int | None) -> Vectors:
    _check_promise(path, found, lenient)
    assert found.dim is not None
    parse: Callable[..., None] = parse_text if found.kind == "text" else parse_binary
    # Compressed data says nothing about its true size, so then the matrix grows with what is really there.
    rows = Collector(str(path), found.dim, None if lenient or found.compression else found.rows, lenient, limit)
    with open_input(path) as (file, compression):
        file.read(found.start)
        parse(file, rows, None if lenient else found.rows, found.start)
    words, matrix = rows.result()
    if not lenient and found.rows is not None and len(words) != min(found.rows, limit or found.rows):
        raise DataError(f"{path}: the header promises {found.rows:,} vectors, the file holds {len(words):,}")
    if not words:
        raise DataError(f"{path} holds no vectors")
    return Vectors(words, matrix, found.kind, found.rows is not None, compression, rows.skipped)


def _check_promise(path: str | Path, found: Sniff, lenient: bool) -> None:
    """Hold the header against the file's size: a row of text is 2 bytes a value and more, one of binary 4."""
    rows, dim = found.rows, found.dim
    if dim is None or dim < 1 or dim > MAX_DIM or (rows is not None and rows < 1):
        raise DataError(f"{path}:1: the header promises {rows} vectors of {dim} values: neither can be so")
    smallest = 2 * dim + 2 if found.kind == "text" else 4 * dim + 2
    if rows is not None and not lenient and not found.compression and rows * smallest > found.size - found.start + 1:
        raise DataError(
            f"{path}:1: the header promises {rows:,} vectors of {dim:,} values, at least {rows * smallest:,} bytes, "
            f"but the file has {found.size:,}: it is cut off or its header is wrong"
        )


def _read_model(path: str | Path, limit: int | None) -> Vectors:
    """The input vectors alone: a model's other matrices stay on the disk."""
    with open_safetensors(path) as box:
        box.check_format()
        words = decode_words(box.array("words", "U8", 1).tobytes(), path)
        matrix = box.array("input", "F32", 2)
        counts = box.array("counts", "I64", 1)
    if not len(words) == len(matrix) == len(counts):
        raise DataError(f"{path}: {len(words):,} words, {len(matrix):,} vectors and {len(counts):,} counts do not fit")
    if (bad := first_not_finite(matrix)) is not None:
        raise DataError(f"{path}: the vector of {words[bad]!r} (row {bad}) is not finite")
    return Vectors(words[:limit], matrix[:limit], "model", counts=counts[:limit])


def to_keyed_vectors(vectors: Vectors) -> Any:
    """Gensim's KeyedVectors over the same matrix (not a copy), with the attribute "count" if the counts are known."""
    from gensim.models import KeyedVectors

    keyed = KeyedVectors(vectors.matrix.shape[1])
    keyed.vectors, keyed.index_to_key = vectors.matrix, list(vectors.words)
    keyed.key_to_index = {word: index for index, word in enumerate(keyed.index_to_key)}
    keyed.next_index = len(keyed.index_to_key)
    if vectors.counts is not None:
        keyed.allocate_vecattrs(attrs=["count"], types=[np.int64])
        keyed.expandos["count"][:] = vectors.counts
    return keyed


def load_keyed_vectors(path: str | Path, limit: int | None = None) -> Any:
    """Gensim's KeyedVectors from a file in any format that `read_vectors` knows, with the same errors."""
    return to_keyed_vectors(read_vectors(path, limit=limit))
