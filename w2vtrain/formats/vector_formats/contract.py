"""The contract between a vector format and its users, and the types that they exchange.

This module reads and writes nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
        A name from `vector_formats`, or "model".
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


class Promise(NamedTuple):
    """Facts about the rest of a file that its start promises; None for each that it does not promise.

    rows: V; dim: d; start: the byte offset of the first row in the decompressed data.
    """

    rows: int | None = None
    dim: int | None = None
    start: int = 0


class Sniff(NamedTuple):
    """The kind of a file and facts about it, judged by its first bytes.

    kind: the name of a format, "model", "vocabulary" or "unknown"; rows, dim and start: see `Promise`; size: the size
    of the file in bytes; compression: as in `Vectors`; note: for "unknown", what the file is instead.
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

    def word(self, data: bytes, path: str | Path) -> str:
        """Return the decoded word; raise UnicodeDecodeError with a reason that says what to do."""
        try:
            return data.decode(*self)
        except UnicodeDecodeError as error:
            error.reason += f", in a word of {path}: pass its encoding, or unicode_errors='replace' or 'ignore'"
            raise


@dataclass(frozen=True)
class VectorReader:
    """A format that can be read.

    name: its name. sniff(head, whole): returns a Promise if data that start with the bytes `head` are of this format,
    valid or not, else None; `whole` means that `head` is all of the data. Formats with a signature are tried before
    text, which has none. read(path, sniffed, lenient, limit): does what `vectors.read_vectors` describes, for a file
    that `sniff` has found to be of this format. compressible: whether `read` accepts compressed files.
    """

    name: str
    sniff: Callable[[bytes, bool], Promise | None]
    read: Callable[[str | Path, Sniff, bool, int | None], Vectors]
    compressible: bool = True


@dataclass(frozen=True, kw_only=True)
class VectorFormat(VectorReader):
    """A format that can be read and written; its name is the name of its module.

    suffixes: file name suffixes, in lower case and with the dot, that select this format for writing. write(file,
    words, matrix): writes V words, as UTF-8, and a (V, d) matrix of any memory layout; both are already checked.
    size(words, d): the number of bytes that `write` will write, for the message about a full disk, or None if it is not
    known in advance.
    """

    suffixes: tuple[str, ...]
    write: Callable[[BinaryIO, Sequence[bytes], Any], None]
    size: Callable[[Sequence[bytes], int], int | None] = lambda words, dim: None
