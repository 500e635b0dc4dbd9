"""Read and write keys and vectors in word2vec's text and binary formats, with gensim's options.

formats/vectors.py reads strictly, and detects the format. This module does what the caller says: encodings other than
UTF-8, prefixes, files without a header line, and files with more rows than their header promises.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2vtrain.errors import DataError, InputMissing, MalformedFile, MissingFile, TruncatedFile, WriteError, reason
from w2vtrain.formats.safetensors import encode_words, first_not_finite
from w2vtrain.formats.sniff import HEAD
from w2vtrain.formats.vector_formats import binary as binary_format
from w2vtrain.formats.vector_formats import text as text_format
from w2vtrain.formats.vector_formats._rows import MAX_DIM, MAX_WORD, Collector, check_promise
from w2vtrain.formats.vector_formats._word2vec import promise_of
from w2vtrain.formats.vector_formats.contract import Sniff
from w2vtrain.system.compression import packed
from w2vtrain.system.files import atomic_write
from w2vtrain.system.reading import open_input, read_lines, regular_size

DUPLICATE = "the word occurs a second time"


class Coding(NamedTuple):
    """An encoding of words, and what to do with bytes that it cannot decode, as for `bytes.decode`."""

    encoding: str = "utf-8"
    errors: str = "strict"

    def word(self, data: bytes, path: str | Path) -> str:
        """Return the decoded word; raise UnicodeDecodeError with a reason that says what to do."""
        try:
            return data.decode(*self)
        except UnicodeDecodeError as error:
            error.reason += f", in a word of {path}: pass its encoding, or unicode_errors='replace' or 'ignore'"
            raise


@contextmanager
def builtin_errors() -> Iterator[None]:
    """Turn this package's errors about files into subclasses that are also the built-in errors that gensim raises."""
    try:
        yield
    except InputMissing as error:
        raise MissingFile(str(error)) from error
    except (MalformedFile, TruncatedFile, AttributeError):
        raise
    except DataError as error:
        raise MalformedFile(str(error)) from error


class _Rows(Collector):
    """Rows of any encoding. Of rows with the same word, only the first counts, as in gensim."""

    def __init__(self, name: str, dim: int, found: Sniff, limit: int | None, coding: Coding) -> None:
        super().__init__(name, dim, None if found.compression else found.rows, False, limit, found.size)
        self.coding = coding

    @property
    def seen(self) -> int:
        """The number of rows read, including those left out."""
        return len(self.words) + self.skipped

    def missing(self, rows: int) -> int:
        return rows if self.limit is None else min(rows, self.limit - self.seen)

    def refuse(self, place: str, problem: str, kind: type[DataError] = MalformedFile) -> None:
        if problem is not DUPLICATE:
            super().refuse(place, problem, kind)
        self.skipped += 1

    def _add_word(self, name: bytes) -> str | None:
        word = self.coding.word(name, self.name)
        if word in self._seen:
            return DUPLICATE
        self._seen.add(word)
        self.words.append(word)
        return None


def read_key_file(
    path: str | Path, binary: bool, no_header: bool, limit: int | None, coding: Coding
) -> tuple[list[str], NDArray[np.float32]]:
    """Return the words and vectors of a file; parameters and errors are those of `KeyedVectors.load_word2vec_format`.

    Memory is allocated only after the sizes in the header have been compared with the size of the file.
    """
    if binary and no_header:
        raise NotImplementedError("no_header needs binary=False: a binary file without a header has no dimension")
    found = _found(path, binary, no_header)
    if found.rows == 0 and found.dim is not None and 0 < found.dim <= MAX_DIM:
        return [], np.empty((0, found.dim), np.float32)  # what gensim writes for an empty vocabulary
    if found.rows is not None:
        limit = min(limit or found.rows, found.rows)
        found = found._replace(rows=limit)
    dim = check_promise(path, found, False, lambda dim: 4 * dim + 1 if binary else 2 * dim + 1)
    rows = _Rows(str(path), dim, found, limit, coding)
    with open_input(path) as (file, _):
        file.read(found.start)
        (binary_format.parse_binary if binary else text_format.parse_text)(file, rows, None, found.start)
    if found.rows is not None and rows.seen < found.rows:
        raise TruncatedFile(f"{path}: expected {found.rows:,} vectors, the file ends after {rows.seen:,}")
    return rows.result()


def _found(path: str | Path, binary: bool, no_header: bool) -> Sniff:
    """Return what the first line of a file promises."""
    size = regular_size(path)
    with open_input(path) as (file, compression):
        head = file.read(HEAD)
    whole = len(head) < HEAD
    header = promise_of(head, whole)
    if no_header:
        if header is not None:
            raise MalformedFile(f"{path}:1: the file begins with a header line: leave out no_header")
        dim = len(head.partition(b"\n")[0].split()) - 1
        return Sniff("text", None, dim, 0, size, compression)
    if header is None:
        advice = "" if binary else "; if the first line is a vector, pass no_header=True"
        raise MalformedFile(f"{path}:1: expected the numbers of vectors and dimensions{advice}")
    promise, is_text = header
    if promise.rows and is_text == binary:
        kind = "text: pass binary=False" if is_text else "not text: if it is word2vec's binary format, pass binary=True"
        raise MalformedFile(f"{path} is {kind}")
    return Sniff("binary" if binary else "text", *promise, size, compression)


def read_counts(path: str | Path, coding: Coding) -> dict[str, int]:
    """Return the counts in a vocabulary file, one word and its count per line."""
    counts = {}
    for number, line in read_lines(path, MAX_WORD):
        fields = line.split()
        if len(fields) != 2 or not fields[1].isdigit() or len(fields[1]) > 18:
            raise MalformedFile(f"{path}:{number}: expected a word and its count, got {line[:60]!r}")
        counts[coding.word(fields[0], path)] = int(fields[1])
    return counts


@dataclass(frozen=True, eq=False)
class Reordered:
    """The rows `order` of a matrix, copied only block by block as they are used."""

    matrix: NDArray[Any]
    order: NDArray[np.int64]

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.order) * int(self.matrix.shape[1])

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        return self.matrix[self.order[rows]]  # type: ignore[no-any-return]


def write_key_file(
    path: str | Path, words: Sequence[str], matrix: Reordered, binary: bool, header: str, append: bool
) -> None:
    """Write words and vectors after `header`. With `append`, add them to the file; else replace it atomically.

    Raise DataError, before writing, if a value is not finite or a word could not be read back.
    """
    encoded = encode_words(words, path).split(b"\n") if words else []
    if (bad := first_not_finite(matrix)) is not None:
        raise DataError(f"{path}: the vector of {words[bad]!r} is not finite")
    with _output(path, append) as file:
        file.write(header.encode())
        (binary_format if binary else text_format).write_rows(file, encoded, matrix)


@contextmanager
def _output(path: str | Path, append: bool) -> Iterator[BinaryIO]:
    """Open a file for writing, compressed if its suffix says so."""
    try:
        with Path(path).open("ab") if append else atomic_write(path, force=True) as file, packed(file, path) as stream:
            yield stream
    except OSError as error:
        if error.filename is None:  # an error of a write does not name the file
            raise WriteError(f"{path} cannot be written: {reason(error)}") from error
        raise
