"""The contract between a vector format and its users, and the types that they exchange.

This module reads and writes nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2vtrain.formats.subwords import NgramVectors


@dataclass(frozen=True, eq=False)
class Vectors:
    """Words and their vectors, with facts about the file they were read from.

    Attributes
    ----------
    words : list of str
        V distinct words.
    matrix : ndarray of float32, shape (V, d)
        One row per word.
    format : str
        A name from `vector_formats`, "model", "keyed vectors" or "fasttext".
    header : bool
        False for a text file without a first line "V d", such as GloVe's.
    compression : str or None
        A name from ``compression.COMPRESSIONS``, or None.
    skipped : int
        Rows left out by ``lenient=True``.
    counts : ndarray of int64, shape (V,), or None
        Occurrences of the words in the corpus, if the file has them.
    ngrams : NgramVectors or None
        The vectors of n-grams, from which those of other words follow, if the file has them.
    mended : int
        Words changed by ``lenient=True``.
    flaws : list of str
        What was wrong with the first rows that were left out or changed, and where.

    Examples
    --------
    >>> import w2vtrain
    >>> vectors = w2vtrain.read_vectors("vectors.txt")
    >>> vector = dict(zip(vectors.words, vectors.matrix))["water"]
    >>> vector.shape == (vectors.matrix.shape[1],)
    True

    """

    words: list[str]
    matrix: NDArray[np.float32]
    format: str = "text"
    header: bool = True
    compression: str | None = None
    skipped: int = 0
    counts: NDArray[np.int64] | None = None
    ngrams: NgramVectors | None = None
    mended: int = 0
    flaws: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"Vectors({len(self.words):,} words x {self.matrix.shape[-1]:,}, {self.format})"


class Promise(NamedTuple):
    """Facts about the rest of a file that its start promises; None for each that it does not promise.

    rows: V; dim: d; start: the byte offset of the first row in the decompressed data.
    """

    rows: int | None = None
    dim: int | None = None
    start: int = 0


class Sniff(NamedTuple):
    """The kind of a file and facts about it, judged by its first bytes.

    kind: the name of a reader, "vocabulary" or "unknown"; rows, dim and start: see `Promise`; size: the size of the
    file in bytes; compression: as in `Vectors`; note: for "unknown", what the file is instead.
    """

    kind: str
    rows: int | None
    dim: int | None
    start: int
    size: int
    compression: str | None
    note: str = ""


class Coding(NamedTuple):
    """An encoding of words, and what to do with bytes that it cannot decode, as for `bytes.decode`."""

    encoding: str = "utf-8"
    errors: str = "strict"

    @property
    def is_utf8(self) -> bool:
        """Whether the encoding is UTF-8."""
        return self.encoding.lower() in ("utf-8", "utf8")

    def word(self, data: bytes, path: str | Path) -> str:
        """Return the decoded word; raise UnicodeDecodeError with a reason that says what to do."""
        try:
            return data.decode(*self)
        except UnicodeDecodeError as error:
            error.reason += f", in a word of {path}: pass its encoding, or unicode_errors='replace' or 'ignore'"
            raise


Read = Callable[[str | Path, Sniff, bool, int | None], Vectors]
"""read(path, sniffed, lenient, limit): does what `vectors.read_vectors` describes, for a file that `sniff` has found to
be of this kind."""


class VectorReader(NamedTuple):
    """A kind of model file whose vectors can be read.

    name: its name. sniff(head, whole): returns a Promise if data that start with the bytes `head` are of this kind,
    valid or not, else None; `whole` means that `head` is all of the data.
    """

    name: str
    sniff: Callable[[bytes, bool], Promise | None]
    read: Read


class Table(NamedTuple):
    """What a format writes, all of it checked: V words and their vectors.

    words: as UTF-8; matrix: (V, d), of any memory layout; it needs a shape and slices of rows. counts: (V,) int64, or
    None if they are unknown. dtype: that of the values to write, one of the format's.
    """

    words: Sequence[bytes]
    matrix: Any
    counts: NDArray[np.int64] | None = None
    dtype: str = "float32"


class Code(NamedTuple):
    """The functions of a vector format.

    write(file, table): writes a table to a binary file or, if the format is a folder, into an empty folder, whose path
    it gets. read: None for a format that is only written. write_companion(file, table): writes the second file, if the
    format has one. size(words, d): the number of bytes that `write` will write, for the message about a full disk, or
    None if it is not known in advance. look(path): if the start of a file does not tell V and d, returns the Promise of
    a file of this format, or what the file is if it has no vectors; it raises DataError. check(): raises ConfigError if
    a package that the format needs is not installed.
    """

    write: Callable[[Any, Table], None]
    read: Read | None = None
    write_companion: Callable[[BinaryIO, Table], None] = lambda file, table: None
    size: Callable[[Sequence[bytes], int], int | None] = lambda words, dim: None
    look: Callable[[str | Path], Promise | str] | None = None
    check: Callable[[], None] = lambda: None
