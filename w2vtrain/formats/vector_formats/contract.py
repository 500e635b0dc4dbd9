"""Define the contract between a format of word vectors and its users, and the types that pass between them.

It reads and writes nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Vectors:
    """Words and their vectors, and what was seen on the way.

    words: V different words; matrix: (V, d) float32; format: a name from `vector_formats` or "model"; header: False
    for a text file without a first line "V d", as GloVe writes it; compression: a name from compression.COMPRESSIONS,
    or None; skipped: rows that a lenient reading left out; counts: (V,) int64 occurrences in the corpus if the file
    knows them.
    """

    words: list[str]
    matrix: NDArray[np.float32]
    format: str = "text"
    header: bool = True
    compression: str | None = None
    skipped: int = 0
    counts: NDArray[np.int64] | None = None


class Promise(NamedTuple):
    """What the beginning of a file says about the rest; None for what it does not say.

    rows: V; dim: d; start: the byte of the decompressed data where the first row begins.
    """

    rows: int | None = None
    dim: int | None = None
    start: int = 0


class Sniff(NamedTuple):
    """What the first bytes of a file say.

    kind: the name of a format, "model", "vocabulary" or "unknown"; rows, dim and start: see `Promise`; size: bytes of
    the file; compression: as in `Vectors`; note: more about "unknown".
    """

    kind: str
    rows: int | None
    dim: int | None
    start: int
    size: int
    compression: str | None
    note: str = ""


@dataclass(frozen=True)
class VectorReader:
    """What a format that can be read consists of.

    sniff(head, whole): returns a Promise if data that begin with the bytes `head` are of this format, sound or not,
    else None; `whole` says that they are all there is. Formats with a signature are asked before text, which has none.
    read(path, found, lenient, limit): does what `vectors.read_vectors` promises for a file that `sniff` found to be
    of this format. compressible: whether `read` takes compressed files, too.
    """

    name: str
    sniff: Callable[[bytes, bool], Promise | None]
    read: Callable[[str | Path, Sniff, bool, int | None], Vectors]
    compressible: bool = True


@dataclass(frozen=True, kw_only=True)
class VectorFormat(VectorReader):
    """What a format that can be written, too, consists of; its name is its module's.

    suffixes: file names with one of them, lower case and with the dot, are written in this format. write(file, words,
    matrix): writes V words as UTF-8 and a (V, d) matrix of any memory layout, both already checked. size(words, d):
    the bytes that `write` will write, for the message about a full disk, or None if they are unknown before.
    """

    suffixes: tuple[str, ...]
    write: Callable[[BinaryIO, Sequence[bytes], NDArray[Any]], None]
    size: Callable[[Sequence[bytes], int], int | None] = lambda words, dim: None
