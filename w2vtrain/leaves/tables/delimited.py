"""CSV and TSV, which Python's csv reads: the cells of one column as text, of rows of any number of lines."""

import csv
import io
from collections.abc import Iterator
from functools import partial

from w2vtrain.errors import DataError, shown
from w2vtrain.leaves.tables.columns import Format, Opened, Piece, Raw, batches, column_of, one_line_each
from w2vtrain.system.reading import stream_of
from w2vtrain.text.source import File

MAX_CELL_CHARACTERS = 1 << 28
"""A cell that is longer begins with a quote that is not closed."""


REMEDIES = {
    ";": ";: convert the file, for example with csvformat -d ';' of csvkit",
    "\t": "tabs: name the file .tsv",
    ",": "commas: name the file .csv",
}
"""What to do about a first line of one cell that contains another separator."""


def _rows(file: File, raw: Raw, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows, each with the number of its first line.

    An empty line is none. If there is one column, it is an empty cell, as Polars writes a null, unless no row follows.
    """
    data = stream_of(raw(file))
    text = io.TextIOWrapper(data, "utf-8-sig", errors="surrogateescape", newline="")
    csv.field_size_limit(max(csv.field_size_limit(), MAX_CELL_CHARACTERS))
    rows, line = csv.reader(text, delimiter=delimiter, strict=True), 1
    try:
        columns, empty = 0, list[int]()
        for row in rows:
            if row:
                columns = columns or len(row)
                yield from ((number, [""]) for number in empty)
                yield line, row
                empty = []
            elif columns == 1:
                empty.append(line)
            line = rows.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"{file.path}:{line}: the row that begins here has a cell that begins with a quote which is not closed"
            f' ({error}): close it, or double all quotes of the cell and put it in quotes, as in """Hello"", he said"'
        ) from None


def _header(file: File, rows: Iterator[tuple[int, list[str]]], column: str = "") -> list[str]:
    """Take the names of the columns from the rows. Raise DataError if they are not separated as they should be."""
    _, names = next(rows, (1, None))
    if names is None:
        raise DataError(f"{file.path}: empty file: its first line must have the names of the columns")
    if names[0].startswith("sep="):
        raise DataError(f"{file.path}: the first line, which begins with sep=, is only for Excel: delete it")
    if len(names) == 1 and names != [column] and (mark := next((mark for mark in REMEDIES if mark in names[0]), "")):
        raise DataError(f"{file.path}: the columns seem to be separated by {REMEDIES[mark]}")
    return names


def _names(file: File, raw: Raw, delimiter: str) -> list[str]:
    return _header(file, _rows(file, raw, delimiter))


def _open(file: File, column: str, raw: Raw, whole_rows: bool, _: bool, delimiter: str) -> Opened:
    rows = _rows(file, raw, delimiter)
    names = _header(file, rows, column)
    if names.count(column) != 1:
        problem = "two columns are named" if column in names else "no column"
        raise DataError(f"{file.path}: {problem} {shown(column)}; the columns are: {column_of(names)}")
    cells = batches(one_line_each(_cells(rows, names.index(column), len(names), file.path), whole_rows), len)
    return Opened(False, (Piece("\n".join([*batch, ""]).encode("utf-8", "surrogateescape")) for batch in cells))


def _cells(rows: Iterator[tuple[int, list[str]]], column: int, columns: int, path: str) -> Iterator[str]:
    """Yield the cells of a column. Raise DataError for a row with more or fewer cells."""
    for number, (line, row) in enumerate(rows, 1):
        if len(row) != columns:
            raise DataError(
                f"{path}:{line}: row {number:,} has {len(row):,} cells, and the header {columns:,}: put cells that"
                " contain a delimiter, a newline or a quote in quotes, and double the quotes in them"
            )
        yield row[column]


CSV = Format("CSV", (".csv",), partial(_open, delimiter=","), partial(_names, delimiter=","))
TSV = Format("TSV", (".tsv",), partial(_open, delimiter="\t"), partial(_names, delimiter="\t"))
