"""Read and write files of word vectors: any format, recognized by content, or word2vec's with gensim's options.

The formats themselves are in vector_formats, whose table lists them. Other parts of a model, such as output vectors and
settings, are read by model_file.py.
"""

import io
import logging
import os
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from w2vtrain import __version__
from w2vtrain.errors import DataError, ResourceError, TruncatedFile, UsageError, WriteError, reason, spelled
from w2vtrain.formats.model_file import KIND, KeyedArrays, check_counts, read_keyed
from w2vtrain.formats.precision import check_range, floating
from w2vtrain.formats.safetensors import encode_words, first_not_finite
from w2vtrain.formats.sniff import SNIFFED_BYTES, read_head, reader_of, sniff
from w2vtrain.formats.transforms import LazyRows
from w2vtrain.formats.vector_formats import DEFAULT, MARK, MODELS, binary, code, formats, text
from w2vtrain.formats.vector_formats.contract import Coding, Sniff, Table
from w2vtrain.formats.vector_formats.contract import Vectors as Vectors
from w2vtrain.formats.vector_formats.rows import MAX_DIM, MAX_WORD_BYTES, REPAIR, collect_rows
from w2vtrain.formats.vector_formats.word2vec import promise_of
from w2vtrain.system.compression import COMPRESSORS, OTHER_SUFFIXES, check_suffix, packed, packed_write, unpacked
from w2vtrain.system.files import Claim, atomic_write, is_stream, not_created, resolved
from w2vtrain.system.folder_writing import atomic_folder, check_folder
from w2vtrain.system.foreign import refuse_foreign
from w2vtrain.system.json_text import json_text
from w2vtrain.system.locks import check_free, check_output
from w2vtrain.system.reading import read_lines, unchanged

log = logging.getLogger(__name__)
SAMPLED_ROWS = 1000
"""Rows that `Output.estimated_size` writes in memory."""
ENTRY_BYTES = 64
"""Bytes per word, besides the word itself, that a format of folders takes at most for its list of words."""


def format_of(path: str | Path, format: str | None = None, models: bool = False) -> str:
    """Return the format to write: `format` if given, else the one that uses the suffix of `path`.

    models: whether a model can be written, or only vectors. A suffix of a compression comes after that of the format;
    alone, it means DEFAULT, as does a stream without a suffix. Raise UsageError for an unknown format, and for a suffix
    that is unknown or promises a format that is not written.
    """
    possible = [*formats(), *(MODELS if models else ())]
    if format is not None and format not in possible:
        why = f"{format} holds a model, not vectors alone" if format in MODELS else f"unknown format {format!r}"
        raise UsageError(f"{path}: {why}: use {' or '.join(possible)}")
    inner, compression = unpacked(path)
    suffixes = {suffix: name for name, member in formats().items() for suffix in member.suffixes}
    suffixes |= {suffix: name for name, ends in MODELS.items() for suffix in ends if models}
    is_plain = (is_stream(path) or compression) and not inner.suffix
    form = format or (DEFAULT if is_plain else suffixes.get(inner.suffix.lower()))
    if form:
        own = None if form in MODELS else formats()[form]
        check_suffix(path, bool(own and own.compressible), own.suffixes if own else ())
        return form
    if Path(path).is_dir() or str(path).endswith(("/", os.sep)):
        raise UsageError(f"{path}: is a folder: name a file")
    stem = str(path).removesuffix(Path(path).suffix)
    first = f"write {stem}.txt or {stem}.bin" + f", or {stem}.safetensors for a model" * models
    known = ", ".join(f"{suffix} ({name})" for suffix, name in suffixes.items())
    other = "" if Path(path).suffix.lower() in OTHER_SUFFIXES else f", or {spelled('format', *possible)}"
    raise UsageError(
        f"{path}: unknown suffix for vectors: {first}; known are {known}{other}; then {', '.join(COMPRESSORS)} compress"
    )


@dataclass(frozen=True)
class Output:
    """Where vectors or a model are written, and how.

    path: the file, or the folder if the format is one; form: the name of the format, as `format_of` returns it; dtype:
    of the values.
    """

    path: str
    form: str
    dtype: str = "float32"

    @property
    def is_model(self) -> bool:
        """Whether a model is written, which embeddings.model does, and not vectors alone."""
        return self.form in MODELS

    @property
    def names(self) -> list[str]:
        """The names of all files that are written, that of the vectors last."""
        return [*([] if self.is_model else formats()[self.form].beside(self.path)), self.path]

    def check(self) -> None:
        """Raise an error if this can never be written, whatever exists there now.

        UsageError: the name ends with a slash, or the format has no such dtype or cannot be standard output;
        ConfigError: a package is missing.
        """
        path, form, dtype = self.path, self.form, self.dtype
        if path.endswith(("/", os.sep)):
            raise UsageError(f"{path}: leave out the slash at the end of the name")
        if self.is_model:
            if dtype != "float32":
                raise UsageError(
                    f"{path}: {form} holds a model, whose values are float32: leave out {spelled('dtype')}"
                )
            return
        chosen = formats()[form]
        if dtype not in chosen.dtypes:
            able = [name for name, known in formats().items() if dtype in known.dtypes]
            raise UsageError(
                f"{path}: the format {form} has no {dtype} values, but {' or '.join(chosen.dtypes)}"
                + (f": {dtype} needs {spelled('format')} {' or '.join(able)}" if able else "")
            )
        if (chosen.files or chosen.companion) and is_stream(path):
            raise UsageError(f"{path}: {form} writes more than one file, which a stream cannot hold: name a file")
        code(form).check()

    def check_writable(self, overwrite: Callable[[str], bool]) -> None:
        """Raise OutputError if the files cannot be written now. overwrite: whether one may be overwritten."""
        if not self.is_model and (form := formats()[self.form]).files:
            check_folder(self.path, overwrite(self.path), form.is_ours)
            check_free(self.path)
            return
        for file in self.names:
            check_output(file, overwrite(file))

    def write(
        self, words: Sequence[str], matrix: NDArray[Any] | LazyRows, overwrite: Callable[[str], bool],
        claim: Claim | None = None, counts: NDArray[np.int64] | None = None,
    ) -> None:  # fmt: skip
        """Write vectors as `write_vectors` does. overwrite: see `check_writable`. Call `check` first."""
        path, chosen, does = self.path, formats()[self.form], code(self.form)
        table = self._table(words, matrix, counts)
        if chosen.files:
            with atomic_folder(path, overwrite(path), chosen.is_ours, claim) as folder:
                does.write(folder, table)
                with atomic_write(folder / MARK) as file:
                    file.write(json_text({"w2vtrain": __version__, "format": self.form}).encode())
            return
        with ExitStack() as stack:  # both files are written before either gets its name, so that they belong together
            for beside in chosen.beside(path):
                file = stack.enter_context(atomic_write(beside, overwrite(beside), claim=claim))
                does.write_companion(file, table)
                file.flush()
            size = does.size(table.words, matrix.shape[1])
            does.write(stack.enter_context(packed_write(path, overwrite(path), size, self._alone(claim))), table)

    def _alone(self, claim: Claim | None) -> Claim:
        """Return a claim that first removes the old files beside the vectors, before these get their name.

        A file of vectors without words is an error for readers; with the words of others, it would be wrong.
        """

        def take(target: Path, temporary: Path) -> None:
            if claim is not None:
                claim(target, temporary)
            for beside in map(resolved, formats()[self.form].beside(self.path)):
                try:
                    if beside.is_file():
                        beside.unlink()
                except OSError as error:
                    raise not_created(beside, error) from error

        return take

    def _table(self, words: Sequence[str], matrix: NDArray[Any] | LazyRows, counts: NDArray[np.int64] | None) -> Table:
        """Return what to write; raise UsageError or DataError if it is not as `write_vectors` describes."""
        path, shape = self.path, list(matrix.shape)
        if matrix.ndim != 2 or len(matrix) != len(words) or not words or not 0 < matrix.shape[1] <= MAX_DIM:
            raise UsageError(f"{path}: a matrix of shape {shape} cannot be written for {len(words):,} words")
        if np.dtype(matrix.dtype).kind not in "fiub":
            raise UsageError(f"{path}: a matrix of {matrix.dtype} cannot be written: its values must be real numbers")
        if counts is not None and len(counts) != len(words):
            raise UsageError(f"{path}: {len(counts):,} counts cannot be written for {len(words):,} words")
        encoded = encode_words(words, path).split(b"\n")
        if len(longest := max(encoded, key=len)) > MAX_WORD_BYTES:
            raise DataError(
                f"{path}: the word {longest[:60]!r}... has {len(longest):,} bytes, more than {MAX_WORD_BYTES:,}"
            )
        if (bad := first_not_finite(matrix)) is not None:
            raise DataError(f"{path}: the vector of {words[bad]!r} (row {bad}) is not finite")
        check_range(matrix, words, self.dtype, path)
        if counts is not None:
            check_counts(words, counts, path)
        return Table(encoded, matrix, counts, self.dtype)

    def estimated_size(self, words: Sequence[str], matrix: NDArray[np.float32]) -> int:
        """Return about how many bytes the files take for V words and a vector (V, d) for each.

        Rows at equal distances are written in memory; those of a format that is a folder are only counted.
        """
        does = code(self.form)
        places = np.linspace(0, len(words) - 1, min(SAMPLED_ROWS, len(words))).astype(np.int64)
        names = [words[i].encode("utf-8", "surrogatepass") for i in places.tolist()]
        if formats()[self.form].files:
            values = matrix.shape[1] * len(names) * np.dtype(self.dtype).itemsize
            size = sum(len(name) + ENTRY_BYTES for name in names) + values
        else:
            table, files = Table(names, matrix[places], np.ones(len(names), np.int64), self.dtype), io.BytesIO()
            with packed(files, self.path) as stream:
                does.write(stream, table)
            does.write_companion(files, table)
            size = len(files.getbuffer())
        return int(size * len(words) / len(names))


def check_words(words: Sequence[str], where: str | Path) -> None:
    """Raise DataError, with the remedy, for words that models and KeyedVectors may have, and files of vectors not."""
    try:
        encode_words(words, where)
    except DataError as error:
        raise DataError(f"{error}; {REPAIR}") from error


def write_vectors(
    path: str | Path,
    words: Sequence[str],
    matrix: NDArray[Any] | LazyRows,
    format: str | None = None,
    force: bool = False,
    claim: Claim | None = None,
    *,
    counts: ArrayLike | None = None,
    dtype: str = "float32",
) -> None:
    """Write words and their vectors to a file or a folder, completely or not at all.

    In text, values are the shortest decimals that read back to the same float32 values.

    Parameters
    ----------
    path : str or Path
        The file to write, or the folder; "-" is standard output. If its last suffix is .gz, .bz2, .xz or .zst, it is
        compressed.
    words : sequence of str
        V distinct words.
    matrix : ndarray, shape (V, d)
        One row per word. It may be a strided view such as ``padded[:, :d]``, which is copied block by block.
    format : str, optional
        "text" or "binary" (word2vec's formats), "glove", "npy", "npz", "parquet", "arrow", "tensorboard", "spacy" or
        "model2vec"; by default taken from the suffix of `path`.
    force : bool, default False
        Overwrite an existing file, or a folder that w2vtrain wrote.
    claim : callable, optional
        Called before the file gets its name; see `w2vtrain.system.files.atomic_write`.
    counts : array_like of int, shape (V,), optional
        Occurrences of the words, which some formats keep.
    dtype : str, default "float32"
        "float16" or "int8" for formats that have them; int8 values have one scale per row.

    Raises
    ------
    UsageError
        If the format is unknown or does not have this dtype, the shapes do not match, or a word is no string.
    ConfigError
        If the format needs a package that is not installed.
    DataError
        If a value is not finite, a count is negative or not a whole number, or a word is empty, occurs twice, or
        contains ASCII white space.
    OutputError, WriteError
        If the file exists already, cannot be created, or cannot be written.

    Examples
    --------
    >>> import numpy as np
    >>> import w2vtrain
    >>> w2vtrain.write_vectors("colors.txt", ["red", "green"], np.eye(2, dtype=np.float32), force=True)

    """
    output = Output(os.fspath(path), format_of(path, format), dtype)
    output.check()
    if not isinstance(matrix, LazyRows):
        try:
            matrix = np.asarray(matrix)
        except ValueError as error:
            raise UsageError(f"{path}: the vectors are no matrix: they differ in length") from error
        matrix = matrix.astype(floating(matrix.dtype), copy=False)
    if counts is not None:
        from w2vtrain.formats.vector_formats.arrays import whole_numbers

        counts = whole_numbers(np.asarray(counts), path)
    output.write(list(words), matrix, lambda _: force, claim, counts)


def read_vectors(path: str | Path, *, lenient: bool = False, limit: int | None = None) -> Vectors:
    """Read vectors in word2vec's formats, GloVe's, npy, npz, Parquet or Arrow, or those of a model.

    The format and any compression are recognized by content. The file must have as many rows as its header says, each
    with d finite values, and distinct UTF-8 words. Memory is allocated only after the sizes in the header have been
    compared with the size of the file.

    Parameters
    ----------
    path : str or Path
        The file to read.
    lenient : bool, default False
        Mend words: white space becomes "_", and invalid UTF-8 becomes U+FFFD. Leave out other invalid rows, among them
        rows with a word that occurred before. Accept a file with fewer or more rows than its header says. `skipped`,
        `mended` and `flaws` of the result describe what was done.
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
    >>> len(vectors.matrix)
    1000

    """
    if limit is not None and limit < 1:
        raise UsageError(f"limit must be 1 or more, not {limit}")
    try:
        with unchanged(path):
            sniffed = sniff(path)
            read = reader_of(sniffed.kind)
            if read is None:
                note = sniffed.note or "a vocabulary (lines of a word and its count): it has no vectors"
                raise DataError(f"{path} is {note}")
            vectors = read(path, sniffed, lenient, limit)
    except MemoryError as error:
        raise ResourceError(
            f"{path}: not enough memory for its vectors; in Python, limit=N reads the first N"
        ) from error
    if lenient and sniffed.kind not in formats():
        vectors = mended(vectors, path)
    if vectors.counts is not None:
        check_counts(vectors.words, vectors.counts, path)
    return vectors


def mended(vectors: Vectors, path: str | Path) -> Vectors:
    """Return the vectors of a model as lenient reading returns those of other files: models may have any words."""
    from w2vtrain.formats.vector_formats.arrays import collected

    names = [word.encode("utf-8", "surrogatepass") for word in vectors.words]
    V, d = vectors.matrix.shape
    sniffed = Sniff(vectors.format, V, d, 0, vectors.matrix.nbytes, None)
    clean = collected(path, sniffed, (V, d), [(names, vectors.matrix)], True, None, [vectors.counts])
    return replace(clean, ngrams=vectors.ngrams)


def read_keys(path: str | Path, mmap: str | None = None) -> KeyedArrays:
    """Return the keys, vectors, attributes and n-grams of a file of KeyedVectors, or of any that `read_vectors` reads.

    mmap: None, or the mode in which the vectors of a file of KeyedVectors are mapped instead of read ("r", "r+", "c").
    The errors are those of `read_vectors`, but for a value that is not finite in a file of KeyedVectors, which may have
    any: unless mapped, that is a warning.
    """
    if sniff(path).kind == KIND:
        keys, matrix, attributes, ngrams = read_keyed(path, mmap)
        if mmap is None and matrix.size and (bad := first_not_finite(matrix)) is not None:
            log.warning("%s: the vector of %r (row %d) has a value that is NaN or too large", path, keys[bad], bad)
        return keys, matrix, attributes, ngrams
    if mmap is not None:
        raise DataError(f"{path}: only files written by KeyedVectors.save can be mapped: leave out mmap")
    vectors = read_vectors(path)
    return vectors.words, vectors.matrix, {} if vectors.counts is None else {"count": vectors.counts}, vectors.ngrams


def read_word2vec(
    path: str | Path, is_binary: bool, no_header: bool, limit: int | None, coding: Coding
) -> tuple[list[str], NDArray[np.float32]]:
    """Return the words and vectors of a file in word2vec's format that the caller names, with gensim's options.

    Words may have any encoding, and be empty; of rows with the same word, only the first counts; there may be more rows
    than the header promises, or no header. Parameters and errors are those of `KeyedVectors.load_word2vec_format`.
    """
    if is_binary and no_header:
        raise NotImplementedError("no_header needs binary=False: a binary file without a header has no dimension")
    if limit is not None and limit < 0:
        raise DataError(f"limit must be 0 or more, not {limit}")
    limit = limit or None
    promise = _promised(path, is_binary, no_header)
    if promise.rows == 0 and promise.dim is not None and 0 < promise.dim <= MAX_DIM:
        return [], np.empty((0, promise.dim), np.float32)  # what gensim writes for an empty vocabulary
    if promise.rows is not None:
        limit = min(limit or promise.rows, promise.rows)
        promise = promise._replace(rows=limit)
    parse = binary.parse_binary if is_binary else text.parse_text
    try:
        rows = collect_rows(path, promise, False, limit, parse, coding)
    except DataError as error:
        if no_header and (note := sniff(path).note):  # such as a line of column names to delete
            raise DataError(f"{path} is {note}") from error
        raise
    if promise.rows is not None and (read := len(rows.words) + rows.skipped) < promise.rows:
        raise TruncatedFile(f"{path}: expected {promise.rows:,} vectors, the file ends after {read:,}")
    return rows.result()


def _promised(path: str | Path, is_binary: bool, no_header: bool) -> Sniff:
    """Return what the first line of a file in word2vec's format promises. Raise DataError if it is another format."""
    head, size, compression = read_head(path)
    header = promise_of(head, len(head) < SNIFFED_BYTES)
    if no_header or header is None:
        if (kind := sniff(path).kind) not in ("text", "binary") and reader_of(kind):
            raise DataError(f"{path} is not in word2vec's format: read it with load, which knows its format")
        refuse_foreign(head, str(path))
    if no_header:
        if header is not None:
            raise DataError(f"{path}:1: the file begins with a header line: leave out no_header")
        if (dim := len(head.partition(b"\n")[0].split()) - 1) < 1:
            raise DataError(f"{path}:1: expected a word and its values, separated by spaces")
        return Sniff("text", None, dim, len(BOM_UTF8) * head.startswith(BOM_UTF8), size, compression)
    if header is None:
        advice = "" if is_binary else "; if the first line is a vector, pass no_header=True"
        raise DataError(f"{path}:1: expected the numbers of vectors and dimensions{advice}")
    promise, is_text = header
    if promise.rows and is_text == is_binary:
        kind = "text: pass binary=False" if is_text else "not text: if it is word2vec's binary format, pass binary=True"
        raise DataError(f"{path} is {kind}")
    return Sniff("binary" if is_binary else "text", *promise, size, compression)


def read_counts(path: str | Path, coding: Coding) -> dict[str, int]:
    """Return the counts in a file that belongs to vectors, with a word and its count per line.

    `KeyedVectors` writes the count 0 for keys that have none. A repeated word gets its first count, because its first
    row is kept; gensim uses the last.
    """
    counts: dict[str, int] = {}
    for number, line in read_lines(path, MAX_WORD_BYTES, number_ends=True):
        fields = line.split()
        if len(fields) != 2 or not fields[1].isdigit() or len(fields[1]) > 18:
            raise DataError(f"{path}:{number}: expected a word and its count, got {line[:60]!r}")
        counts.setdefault(coding.word(fields[0], path), int(fields[1]))
    return counts


def write_word2vec(
    path: str | Path, words: Sequence[str], matrix: LazyRows, is_binary: bool, header: str, append: bool
) -> None:
    """Write words and vectors after `header`. With `append`, add them to the file; else replace it atomically.

    Raise DataError, before writing, if a value is not finite or a word could not be read back.
    """
    encoded = encode_words(words, path).split(b"\n") if words else []
    if (bad := first_not_finite(matrix)) is not None:
        raise DataError(f"{path}: the vector of {words[bad]!r} is not finite")
    with appended(path) if append else packed_write(path, force=True) as file:
        is_first = not (header or append or is_binary)
        file.write(BOM_UTF8 if is_first and encoded[:1] and encoded[0].startswith(BOM_UTF8) else header.encode())
        (binary if is_binary else text).write_rows(file, encoded, matrix)


@contextmanager
def appended(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file to append to it, compressed if its suffix says so."""
    check_output(path, force=True)
    try:
        with Path(path).open("ab") as file, packed(file, path) as stream:
            yield stream
    except OSError as error:
        if error.filename is None:  # an error of a write does not name the file
            raise WriteError(f"{path} cannot be written: {reason(error)}") from error
        raise
