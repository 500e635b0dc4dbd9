"""Write word vectors, and read them from any format of vectors or from a model.

The formats are the modules of vector_formats; what else a model has (counts, output vectors, settings) is in model.py.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from w2vtrain.errors import DataError, ResourceError, UsageError
from w2vtrain.formats.safetensors import encode_words, first_not_finite
from w2vtrain.formats.sniff import readers, sniff
from w2vtrain.formats.vector_formats import DEFAULT, formats, names
from w2vtrain.formats.vector_formats._rows import MAX_DIM, MAX_WORD
from w2vtrain.formats.vector_formats.contract import Vectors as Vectors
from w2vtrain.system.files import STDOUT, Claim, atomic_write


def format_of(path: str | Path, format: str | None = None) -> str:
    """Return the format to write: `format` if given, else by the suffix of `path`; UsageError for an unknown one."""
    if format is not None:
        if format not in names():
            raise UsageError(f"unknown format {format!r} for vectors: use {' or '.join(names())}")
        return format
    if str(path) == STDOUT:
        return DEFAULT
    suffixes = {suffix: name for name, known in formats().items() for suffix in known.suffixes}
    try:
        return suffixes[Path(path).suffix.lower()]
    except KeyError:
        known = ", ".join(f"{suffix} ({name})" for suffix, name in suffixes.items())
        raise UsageError(f"{path}: the suffix names no known format: use {known}, or say --format") from None


def write_vectors(
    path: str | Path,
    words: Sequence[str],
    matrix: NDArray[Any],
    format: str | None = None,
    force: bool = False,
    claim: Claim | None = None,
) -> None:
    """Write V words and their (V, d) vectors in a format from `vector_formats`, atomically; "-" is standard output.

    The values are written as float32; text has the shortest decimals that read back to the same bits. `matrix` may
    be a strided view such as `padded[:, :d]`: it is copied block by block. Raises UsageError for an unknown format or
    shapes that do not fit, DataError for values that are not finite and for words that are empty, double or hold
    ASCII white space, OutputError and WriteError as `atomic_write` does, which explains claim.
    """
    chosen = formats()[format_of(path, format)]
    if matrix.ndim != 2 or len(matrix) != len(words) or not words or not 0 < matrix.shape[1] <= MAX_DIM:
        raise UsageError(f"{path}: a matrix of shape {list(matrix.shape)} cannot be written for {len(words):,} words")
    encoded = encode_words(words, path).split(b"\n")
    if len(longest := max(encoded, key=len)) > MAX_WORD:
        raise DataError(f"{path}: the word {longest[:60]!r}... has {len(longest):,} bytes, more than {MAX_WORD:,}")
    if (bad := first_not_finite(matrix)) is not None:
        raise DataError(f"{path}: the vector of {words[bad]!r} (row {bad}) is not finite")
    with atomic_write(path, force, chosen.size(encoded, matrix.shape[1]), claim) as file:
        chosen.write(file, encoded, matrix)


def read_vectors(path: str | Path, *, lenient: bool = False, limit: int | None = None) -> Vectors:
    """Read vectors from word2vec text or binary, GloVe text or a model of ours, plain or compressed, told by content.

    A file must hold exactly what it promises: as many rows as its header says, d finite values each, different UTF-8
    words. `lenient` leaves bad rows out, counts them in `skipped` and takes the rows that are there. `limit` reads the
    first rows only. Memory is taken only after the promised sizes have been held against the file's size.
    Raises InputMissing for a file that cannot be opened, DataError naming line or byte for one that is wrong, and
    ResourceError if there is not enough memory.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"limit must be 1 or more, not {limit}")
    found = sniff(path)
    reader = readers().get(found.kind)
    if reader is None:
        note = found.note or "a vocabulary, lines of a word and its count: it has no vectors"
        raise DataError(f"{path} is {note}")
    try:
        return reader.read(path, found, lenient, limit)
    except MemoryError as error:
        raise ResourceError(f"{path}: not enough memory for its vectors; read fewer with a limit") from error
