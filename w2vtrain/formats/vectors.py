"""Writing of word vectors, and reading them from any vector format or from a model.

The formats themselves are modules of vector_formats. Other parts of a model, such as output vectors and settings, are
read by model.py.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from w2vtrain.errors import DataError, ResourceError, UsageError, spelled
from w2vtrain.formats.safetensors import encode_words, first_not_finite
from w2vtrain.formats.sniff import readers, sniff
from w2vtrain.formats.transforms import Combined
from w2vtrain.formats.vector_formats import DEFAULT, formats, names
from w2vtrain.formats.vector_formats._rows import MAX_DIM, MAX_WORD
from w2vtrain.formats.vector_formats.contract import Vectors as Vectors
from w2vtrain.system.compression import COMPRESSORS, OTHERS, check_suffix, packed_write, unpacked
from w2vtrain.system.files import STDOUT, Claim


def format_of(path: str | Path, format: str | None = None) -> str:
    """Return the format to write: `format` if given, else the one that uses the suffix of `path`.

    A suffix of a compression comes after that of the format; alone, it means DEFAULT. Raise UsageError for an unknown
    format, and for a suffix that is unknown or promises a format that is not written.
    """
    if format is not None and format not in names():
        raise UsageError(f"unknown format {format!r} for vectors: use {' or '.join(names())}")
    if format is not None:
        check_suffix(path)
        return format
    inner, compression = unpacked(path)
    if str(path) == STDOUT or (compression and not inner.suffix):
        return DEFAULT
    suffixes = {suffix: name for name, known in formats().items() for suffix in known.suffixes}
    try:
        return suffixes[inner.suffix.lower()]
    except KeyError:
        known = ", ".join(f"{suffix} ({name})" for suffix, name in suffixes.items())
        other = "" if Path(path).suffix.lower() in OTHERS else f", or {spelled('format', *names())}"
        raise UsageError(
            f"{path}: unknown suffix for vectors: use {known}{other}; then {', '.join(COMPRESSORS)} compress"
        ) from None


def write_vectors(
    path: str | Path,
    words: Sequence[str],
    matrix: NDArray[Any] | Combined,
    format: str | None = None,
    force: bool = False,
    claim: Claim | None = None,
) -> None:
    """Write words and their vectors to a file, completely or not at all.

    Values are written as float32; in text, as the shortest decimals that read back to the same float32 values.

    Parameters
    ----------
    path : str or Path
        The file to write; "-" is standard output. If its last suffix is .gz, .bz2, .xz or .zst, it is compressed.
    words : sequence of str
        V distinct words.
    matrix : ndarray, shape (V, d)
        One row per word. It may be a strided view such as ``padded[:, :d]``, which is copied block by block.
    format : str, optional
        "text" or "binary" (word2vec's formats); by default taken from the suffix of `path`.
    force : bool, default False
        Overwrite an existing file.
    claim : callable, optional
        Called before the file gets its name; see `w2vtrain.system.files.atomic_write`.

    Raises
    ------
    UsageError
        If the format is unknown or the shapes do not match.
    DataError
        If a value is not finite, or a word is empty, occurs twice, or contains ASCII white space.
    OutputError, WriteError
        If the file exists already, cannot be created, or cannot be written.

    Examples
    --------
    >>> import numpy as np
    >>> import w2vtrain
    >>> w2vtrain.write_vectors("colors.txt", ["red", "green"], np.eye(2, dtype=np.float32), force=True)

    """
    chosen = formats()[format_of(path, format)]
    if matrix.ndim != 2 or len(matrix) != len(words) or not words or not 0 < matrix.shape[1] <= MAX_DIM:
        raise UsageError(f"{path}: a matrix of shape {list(matrix.shape)} cannot be written for {len(words):,} words")
    encoded = encode_words(words, path).split(b"\n")
    if len(longest := max(encoded, key=len)) > MAX_WORD:
        raise DataError(f"{path}: the word {longest[:60]!r}... has {len(longest):,} bytes, more than {MAX_WORD:,}")
    if (bad := first_not_finite(matrix)) is not None:
        raise DataError(f"{path}: the vector of {words[bad]!r} (row {bad}) is not finite")
    with packed_write(path, force, chosen.size(encoded, matrix.shape[1]), claim) as file:
        chosen.write(file, encoded, matrix)


def read_vectors(path: str | Path, *, lenient: bool = False, limit: int | None = None) -> Vectors:
    """Read vectors from word2vec text or binary, GloVe text, or a model saved by w2vtrain.

    The format and any compression are recognized by content. The file must have as many rows as its header says, each
    with d finite values, and distinct UTF-8 words. Memory is allocated only after the sizes in the header have been
    compared with the size of the file.

    Parameters
    ----------
    path : str or Path
        The file to read.
    lenient : bool, default False
        Leave out invalid rows and count them in `Vectors.skipped`; accept a file with fewer or more rows than its
        header says.
    limit : int, optional
        Read only this many rows, from the first.

    Returns
    -------
    Vectors
        ``vectors.matrix[i]`` is the vector of ``vectors.words[i]``.

    Raises
    ------
    InputMissing
        If the file cannot be opened.
    DataError
        If the file is invalid; the message names the line or byte.
    UsageError
        If `limit` is less than 1.
    ResourceError
        If there is not enough memory.

    Examples
    --------
    >>> import w2vtrain
    >>> vectors = w2vtrain.read_vectors("vectors.txt", limit=1_000)
    >>> vectors.matrix.shape
    (1000, 100)

    """
    if limit is not None and limit < 1:
        raise UsageError(f"limit must be 1 or more, not {limit}")
    found = sniff(path)
    reader = readers().get(found.kind)
    if reader is None:
        note = found.note or "a vocabulary (lines of a word and its count): it has no vectors"
        raise DataError(f"{path} is {note}")
    try:
        return reader.read(path, found, lenient, limit)
    except MemoryError as error:
        raise ResourceError(
            f"{path}: not enough memory for its vectors; in Python, limit=N reads the first N"
        ) from error
