"""Read one column of a data frame, a table or a dataset that a caller in Python passes, through Arrow's interface."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from typing import Any

import numpy as np

from w2vtrain.errors import DataError, InputMissing, TokenError, UsageError, shown, spelled
from w2vtrain.leaves.tables.columns import (
    Opened,
    Piece,
    Place,
    at_column,
    batches,
    bytes_of,
    column_in,
    column_of,
    first_part,
    is_list,
    pyarrow,
    rows,
    selected,
)
from w2vtrain.leaves.tables.source import TableReader, Tables, format_of
from w2vtrain.text.source import File, Frame
from w2vtrain.text.text_files import Corpus
from w2vtrain.text.token_lists import NULLS


def is_frame(data: object) -> bool:
    """Return whether data have the interface of Arrow, of Hugging Face's datasets, or are a column or an array of
    strings.
    """
    names = dir(type(data))
    return (
        _is_column(data)
        or _is_strings(data)
        or _is_series(data)
        or "__arrow_c_stream__" in names
        or "__arrow_c_array__" in names
        or _is_dataset(data)
    )


def needs_no_pyarrow(data: Any) -> bool:
    """Return whether pyarrow is missing and data are a column whose first row is a list or tuple, as Python's."""
    if not _is_series(data):
        return False
    try:
        pyarrow("a column")
    except InputMissing:
        return isinstance(next(iter(data), None), list | tuple)
    return False


def _is_dataset(data: Any) -> bool:
    """Return whether data have the interface of Hugging Face's datasets."""
    return {"with_format", "iter"} <= {*dir(type(data))}


def _is_series(data: Any) -> bool:
    """Return whether data are a column of pandas or Polars, or an array of pandas, as `Series.array` is."""
    return {"to_numpy", "dtype"} <= {*dir(type(data))} and not hasattr(data, "columns")


def _is_strings(data: Any) -> bool:
    """Return whether data are a NumPy array (n,) of strings."""
    if not isinstance(data, np.ndarray) or data.ndim != 1:
        return False
    return data.dtype.kind in "UST" or (data.dtype.kind == "O" and len(data) > 0 and isinstance(data[0], str))


def _is_column(data: Any) -> bool:
    """Return whether data are a column of a dataset of Hugging Face, as `dataset["text"]` is."""
    return type(data).__module__.partition(".")[0] == "datasets" and hasattr(data, "source")


def has_columns(sources: Any) -> bool:
    """Return whether sources have columns: data frames and tables, but not text, columns or lists of words."""
    if isinstance(sources, Frame):
        return any(hasattr(sources.data, name) for name in ("columns", "column_names", "schema"))
    if not isinstance(sources, list | tuple):
        return False
    return any(file.path != "-" and format_of(file.path) for file in Corpus(sources).files)


class FrameColumn(Tables):
    """A column of a data frame in Python, which is read through Arrow's interface, without a copy where possible."""

    def __init__(
        self, frame: Frame, column: str | None, tokenizer: str, errors: str, allow_nul: bool, whole_rows: bool,
        numbers: bool,
    ) -> None:  # fmt: skip
        super().__init__(["-"], column or "", tokenizer, errors, allow_nul, whole_rows, numbers)
        if not column and _is_column(frame.data):
            frame, self.column = Frame(frame.data.source), frame.data.column_name
        self.files, self.frame = (), frame

    @property
    def size(self) -> int | None:
        """None: nothing is on disk."""
        return None

    @property
    def name(self) -> str:
        """The name in messages."""
        return f"the {type(self.frame.data).__name__}"

    def read(self) -> "FrameReader":
        """Start a pass."""
        return FrameReader(self, [File(self.name, None)])


class FrameReader(TableReader):
    """One pass over a column of a data frame."""

    _corpus: FrameColumn

    def _open(self, file: File) -> Opened:
        name, column, data = self._corpus.name, self._corpus.column, self._corpus.frame.data
        whole_rows, numbers = self._corpus.whole_rows, self._corpus.numbers
        if (texts := _texts(data, column, name)) is not None:
            self._corpus.lists = False
            place = rows(f"{name}: row ", 0, f" (from 0){at_column(column)}")
            return Opened(False, map(Piece, _joined(texts, place, whole_rows, numbers)))
        pyarrow(name)
        arrays = _arrays(_narrowed(data, column, name), column, name, numbers)
        first = next(arrays, None)
        lists = self._corpus.lists = first is not None and bool(is_list(first.type, numbers))

        def pieces() -> Iterator[Piece]:
            row = 0
            for array in chain([] if first is None else [first], arrays):
                place = rows(f"{name}: row ", row, f" (from 0){at_column(column)}")
                yield from map(Piece, bytes_of(array, lists, place, whole_rows, numbers))
                row += len(array)

        return Opened(lists, pieces())

    def _place(self, file: File, byte: int) -> str:
        """Return the row of a byte of the text."""
        return f"in row {self._row(file, byte) - 1:,} (from 0)"

    def __next__(self) -> bytes:
        block = super().__next__()
        self.bytes_read = self.text_bytes
        return block


def _texts(data: Any, column: str, name: str) -> Iterable[Any] | None:
    """Return a column of strings if it is NumPy's, or pandas's or Polars's and pyarrow is missing; else None."""
    if not isinstance(data, np.ndarray):
        with suppress(InputMissing):
            pyarrow(name)
            return None
    data = _narrowed(data, column, name)
    if column and hasattr(data, "columns") and column in list(data.columns):
        data = data[column]
    is_text = isinstance(data, np.ndarray) or (_is_series(data) and isinstance(next(iter(data), None), str))
    return data if is_text else None


def _joined(texts: Iterable[Any], place: Place, whole_rows: bool, numbers: bool) -> Iterator[bytes]:
    """Yield texts as bytes, each with a newline after it. Raise TokenError for a row that is no text.

    whole_rows and numbers: see `source.Tables`; without pyarrow, no numbers are read.
    """

    def encoded(row: tuple[int, Any]) -> bytes:
        number, text = row
        if numbers and str(text) in NULLS and not isinstance(text, str):
            text = ""
        if not isinstance(text, str | bytes):
            raise TokenError(
                f"{place(number)}: {shown(text)}, and there must be text: drop such rows, or fill them with ''"
            )
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        return data.replace(b"\n", b" ") if whole_rows else data

    for batch in batches(map(encoded, enumerate(texts)), len):
        yield b"\n".join([*batch, b""])


def _narrowed(data: Any, column: str, name: str) -> Any:
    """Return only the column of a table, if the table says which columns it has."""
    names = getattr(data, "column_names", None) or getattr(data, "columns", None)
    names = None if names is None else list(map(str, names))  # pandas numbers columns without names
    if names is None and hasattr(data, "schema") and hasattr(data.schema, "names"):
        names = list(data.schema.names)
    if names is None and _is_dataset(data):  # as after map(): only its rows have their names
        if column:
            return data
        names = [name for table in islice(_tables(data, 1), 1) for name in table.column_names]
    if names is None:
        if column and (_is_series(data) or not hasattr(data, "__arrow_c_array__")):
            raise UsageError(f"{name}: has no columns: leave out {spelled('column')}")
        return data
    if not column:
        raise UsageError(
            f"{name}: name the column to read with {spelled('column')}; the columns are: {column_of(names)}"
        )
    here = first_part(names, column)
    if here not in names:
        raise DataError(f"{name}: no column {shown(column)}; the columns are: {column_of(names)}")
    return data.select_columns([here]) if hasattr(data, "select_columns") else data


def _tables(dataset: Any, rows: int = 1000) -> Iterator[Any]:
    """Return the parts of a dataset of Hugging Face as tables of Arrow, each of so many rows."""
    return iter(dataset.with_format("arrow").iter(batch_size=rows))


def _arrays(data: Any, column: str, name: str, numbers: bool) -> Iterator[Any]:
    """Yield the chunks of a column as pyarrow's arrays. Raise DataError for another type."""
    arrow = pyarrow(name)
    if _is_dataset(data):
        for table in _tables(data):
            yield from _selected(table.to_batches(), column, name, numbers)
        return
    if not column:
        yield from _chunks(arrow, data, name, numbers)
        return
    if hasattr(data, "columns") and column in list(data.columns) and hasattr(data[column], "__arrow_c_stream__"):
        # Other columns may have types that Arrow does not know.
        yield from _chunks(arrow, data[column], name, numbers)
    elif hasattr(data, "__arrow_c_stream__"):
        yield from _selected(_converted(arrow.RecordBatchReader.from_stream, data, name), column, name, numbers)
    else:
        yield from _selected([_converted(arrow.record_batch, data, name)], column, name, numbers)


def _selected(batches: Any, column: str, name: str, numbers: bool) -> Iterator[Any]:
    for batch in batches:
        yield selected(batch, column_in(batch.schema, column, name, numbers))


def _chunks(arrow: Any, data: Any, name: str, numbers: bool) -> Iterator[Any]:
    convert = arrow.chunked_array if hasattr(data, "__arrow_c_stream__") else arrow.array
    array = _converted(convert, data, name, numbers)
    if is_list(array.type, numbers) is None:
        raise TokenError(f"{name}: values of the type {array.type}, and must be strings or lists of strings")
    yield from array.chunks if hasattr(array, "chunks") else [array]


def _converted(convert: Any, data: Any, name: str, numbers: bool = False) -> Any:
    """Return what pyarrow makes of data. Raise TokenError if it cannot represent them, as with values of two types."""
    try:
        return convert(data)
    except (TypeError, ValueError, NotImplementedError) as error:
        if numbers:
            raise TokenError(f"{name}: a column has values of several types: convert it with astype(str)") from error
        for row, value in enumerate(data if _is_series(data) else ()):
            if not isinstance(value, str | bytes | list | tuple | np.ndarray) and str(value) not in NULLS:
                place = f"{name}: row {row} (from 0)"
                raise TokenError(f"{place}: {shown(value)}, and there must be text or a list of words") from error
        raise TokenError(
            f"{name}: not a column of strings or lists of strings: {' '.join(str(error).split())[:300]}"
        ) from error
