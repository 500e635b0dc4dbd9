"""Read one column of tables as a stream of blocks of bytes: of files, and of data frames from Python.

A column of strings is text, of which every row ends a line: the tokenizer, and all that concerns text, work as for text
files. A column of lists of strings has a sentence per row, whose words are used as they are, as in token_lists.py.
"""

import copy
import glob
import shlex
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from w2vtrain.errors import DataError, InputMissing, UsageError, W2VError, shown, spelled
from w2vtrain.leaves.tables.arrow import ARROW, PARQUET, group_starts
from w2vtrain.leaves.tables.columns import Format, Opened, Piece, Raw, column_of
from w2vtrain.leaves.tables.delimited import CSV, TSV
from w2vtrain.leaves.tables.json_lines import JSON_LINES, cells
from w2vtrain.system.compression import decompressed, unpacked
from w2vtrain.system.foreign import refuse_foreign
from w2vtrain.system.json_text import json_object, typed
from w2vtrain.system.reading import read_small
from w2vtrain.text.source import File
from w2vtrain.text.text_files import Corpus, Reader, line_ends
from w2vtrain.text.token_lists import Sentences

FORMATS = (PARQUET, ARROW, JSON_LINES, CSV, TSV)
FORMAT_NAMES = ", ".join(known.name for known in FORMATS)
DESCRIPTIONS = ("dataset_info.json", "dataset_infos.json")
"""Files that Hugging Face's `datasets` puts beside tables."""
MAX_STATE_BYTES = 1 << 26
_WORDS = Sentences(())


class DataFile(TypedDict):
    """A file of a dataset of Hugging Face's `datasets`."""

    filename: str


class DatasetState(TypedDict):
    """The state.json of such a dataset."""

    _data_files: list[DataFile]
    _indices_data_files: NotRequired[list[Any] | None]


def by_suffix(path: str) -> Format | None:
    """Return the format of a file by its suffix, None for any other."""
    suffix = unpacked(path)[0].suffix.lower()
    return next((known for known in FORMATS if suffix in known.suffixes), None)


def format_of(path: str) -> Format | None:
    """Return the format of a file by its first bytes or, for text, by its suffix; None for any other file.

    CSV and TSV begin like any text. Raise DataError for what is neither, such as an archive.
    """
    known = by_suffix(path)
    try:
        with Path(path).open("rb") as file:
            pieces = decompressed(iter(lambda: file.read(1 << 12), b""), path)
            head = next(pieces, b"")
    except (OSError, W2VError):
        return known
    if head[:5] == b"PAR1\x15":
        return PARQUET
    if head[:7] == b"ARROW1\0" or head[:4] == b"\xff\xff\xff\xff":
        return ARROW
    if known is None:
        refuse_foreign(head, path)
    return known or (JSON_LINES if head.removeprefix(BOM_UTF8).lstrip()[:1] == b"{" else None)


class Tables(Corpus):
    """A column of the tables in files, and in folders, of which files of other formats are left out.

    column: the name of the column, or its path through structs, such as a.b. sources, tokenizer, errors, allow_nul:
    those of `Corpus`; for a column of lists, they have no effect, and a tokenizer is refused. whole_rows: whether each
    row of text is one line, in which newlines become spaces. numbers: whether these are text, too, and nulls empty
    text, as in columns of tags and of weights.

    Raise UsageError for files that are not tables, and DataError for a column that is missing or has another type.
    """

    def __init__(
        self, sources: Sequence[str], column: str, tokenizer: str = "whitespace", errors: str = "replace",
        allow_nul: bool = False, whole_rows: bool = False, numbers: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(sources, tokenizer, errors=errors, allow_nul=allow_nul)
        self.column, self.whole_rows, self.numbers = column, whole_rows, numbers
        self.lists: bool | None = None  # whether the rows are lists of words; None until it is known
        for file in self.files:
            if file.size is not None and self.lists is None:
                self.open(file)  # the first file shows the type of the column

    def _below(self, folder: str) -> list[str]:
        """Return the tables in a folder: those that a dataset of Hugging Face lists, or all, in sorted order."""
        if Path(folder, "dataset_dict.json").is_file():
            splits = sorted(path.name for path in Path(folder).iterdir() if path.is_dir())
            raise UsageError(
                f"{folder}: has several splits of a dataset: name one, such as {Path(folder, *splits[:1])}"
            )
        state = Path(folder, "state.json")
        if state.is_file():
            return _listed(state)
        paths = [path for path in super()._below(folder) if by_suffix(path) and Path(path).name not in DESCRIPTIONS]
        if not paths:
            raise InputMissing(f"{folder}: no tables ({FORMAT_NAMES}) in this directory")
        return paths

    def read(self) -> "TableReader":
        """Start a pass over the column."""
        return TableReader(self)

    def open(self, file: File, raw: Raw | None = None) -> Opened:
        """Start to read a file. raw: reads its bytes. Raise the errors of the class."""
        opened = _form(file).open(file, self.column, raw or Reader(self).raw, self.whole_rows, self.numbers)
        if opened.lists and self.tokenizer != "whitespace":
            raise UsageError(
                f"{file.path}: the rows of column {shown(self.column)} are lists of words, which the tokenizer"
                f" {self.tokenizer} does not split: name a column of text, or use {spelled('tokenizer', 'whitespace')}"
            )
        if self.lists is None:
            self.lists = opened.lists
        if opened.lists not in (None, self.lists):
            kinds = ("lists of words", "text") if opened.lists else ("text", "lists of words")
            raise DataError(
                f"{file.path}: column {shown(self.column)} has {kinds[0]}, and in files before it, {kinds[1]}"
            )
        return opened

    def ends(self, file: File, places: Sequence[int]) -> set[int]:
        """Return where a file may be divided: for each place, the next beginning of a line or of a row group."""
        form = _form(file)
        if form is PARQUET:
            starts = [*group_starts(file), file.size or 0]
            return {min(start for start in starts if start >= min(place, starts[-1])) for place in places}
        return line_ends(file, places) if form is JSON_LINES else set()

    def tokens_of(self, words: Sequence[str]) -> list[bytes]:
        """Return the token of each word: see `Corpus` for text, and `Sentences` for lists of words."""
        return super().tokens_of(words) if self.lists is False else _WORDS.tokens_of(words)

    def words_of(self, tokens: list[bytes]) -> list[bytes]:
        """Return the word of each token."""
        return tokens if self.lists is False else _WORDS.words_of(tokens)


class TableReader(Reader):
    """One pass over a column."""

    _corpus: Tables

    def _lines(self, file: File) -> Iterator[bytes]:
        before = self.bytes_read
        table = self._open(file)
        self.bytes_read = before  # some formats have read the beginning, and begin again
        pieces = self._counted(table.pieces, file, before)
        if not table.lists:  # text, or no rows
            yield from self._tokenized(file, pieces)
        else:
            for piece in pieces:
                self.note(piece)
                yield piece
        if file.size is not None:
            self.bytes_read = before + file.size

    def _open(self, file: File) -> Opened:
        return self._corpus.open(file, self.raw)

    def _place(self, file: File, byte: int) -> str:
        """Return the row of a byte of the text; in a range of a file, counted from there."""
        if file.size is None:  # a pipe, which cannot be read again
            return super()._place(file, byte)
        return f"in row {self._row(file, byte):,}{f' after byte {file.first:,}' if file.first else ''}"

    def _row(self, file: File, byte: int) -> int:
        """Return the number of the row, from 1, that has a byte of the text. The column is read again."""
        again, row, left = copy.copy(self), 1, byte - file.first
        again._corpus = copy.copy(self._corpus)
        again._corpus.whole_rows = True  # of as many bytes
        for text, _ in again._open(file).pieces:
            if left < len(text):
                return row + text.count(b"\n", 0, left)
            row, left = row + text.count(b"\n"), left - len(text)
        return row

    def _counted(self, pieces: Iterator[Piece], file: File, before: int) -> Iterator[bytes]:
        """Yield the text, and note how much of the file was read, for formats that do not read it in order."""
        for piece in pieces:
            if piece.at is not None:
                self.bytes_read = max(self.bytes_read, before + piece.at - file.first)
            yield piece.text


def _form(file: File) -> Format:
    """Return the format of a file; a pipe without a suffix has JSON lines. Raise UsageError if it cannot be read."""
    form = by_suffix(file.path) if file.size is None else format_of(file.path)  # a pipe is read only once
    if file.size is None and not Path(file.path).suffix:
        form = JSON_LINES
    if form is None:
        raise UsageError(
            f"{file.path}: not a table ({FORMAT_NAMES}): leave out {spelled('column')}"
            " for text, or name the file after its format"
        )
    if form is PARQUET and unpacked(file.path)[1]:
        raise UsageError(f"{file.path}: a Parquet file is compressed inside: decompress the file first")
    return form


def columns_of(corpus: Corpus, file: File) -> list[str]:
    """Return the names of the columns of a table."""
    return _form(file).names(file, Reader(corpus).raw)


def records_of(
    corpus: Corpus, file: File, columns: Callable[[list[str], str], list[str]]
) -> Iterator[list[str]] | None:
    """Return the records of JSON lines, see `json_lines.cells`; None for other tables, whose columns all rows have."""
    return cells(file, Reader(corpus).raw, columns) if _form(file) is JSON_LINES else None


def column_needed(corpus: Corpus) -> None:
    """Raise UsageError, which lists the columns if possible, if a file of the corpus is a table by its suffix."""
    for file in corpus.files:
        if (form := by_suffix(file.path)) and file.size is not None:
            columns = ""
            with suppress(DataError):  # other JSON, such as the record of a run
                columns = f"; the columns are: {column_of(columns_of(corpus, file))}"
            rename = "" if form in (ARROW, PARQUET) else "; if the file is text, rename it"
            texts = str(Path(glob.escape(str(Path(file.path).parent)), "*.txt"))
            raise UsageError(
                f"{file.path}: a table, not text: name the column to read with {spelled('column')}{columns}; or"
                f" leave the file out, as {shlex.quote(texts)} does{rename}"
            )


def _listed(state: Path) -> list[str]:
    """Return the files that the state.json of a dataset lists, which must be beside it."""
    start = f"{state}: not the state of a dataset that save_to_disk wrote"
    dataset = typed(json_object(read_small(state, MAX_STATE_BYTES), f"{start}: it is"), DatasetState, start)
    if dataset.get("_indices_data_files"):
        raise DataError(f"{state}: the dataset selects rows by an index: flatten_indices() and save it again")
    names = [entry["filename"] for entry in dataset["_data_files"]]
    if not names or not all(Path(name).name == name for name in names):
        raise DataError(f"{start}: _data_files does not list files")
    return [str(state.with_name(name)) for name in names]
