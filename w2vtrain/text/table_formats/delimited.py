"""CSV and TSV: the cells of one column as text, of rows of any length, from files that are read once.

A parser of our own because others merge the rows after a quote that is not closed without a word, and because it needs
no row in memory. Cells follow RFC 4180: a cell that begins with a quote ends at the next quote that is not doubled.
"""

import csv
import io
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from w2vtrain.errors import DataError, shown
from w2vtrain.kernels.jit import kernel
from w2vtrain.text.columns import column_of
from w2vtrain.text.source import File
from w2vtrain.text.table_formats.contract import Format, Opened, Piece, Raw

HEADER_BYTES = 1 << 20  # the first line must be shorter

UInt8 = npt.NDArray[np.uint8]
START, PLAIN, QUOTED, CLOSED = 0, 1, 2, 3  # modes: at the start of a cell, in it, in quotes, after the second quote
MODE, CELL, ROW, LINE, OPENED, BEFORE, STATES = 0, 1, 2, 3, 4, 5, 6
"""Indices of the state: mode, numbers of the cell, the row and the line from 0, line of the quote, previous byte."""
NEWLINE, RETURN, QUOTE = 10, 13, 34


@kernel()
def cells(data: UInt8, delimiter: Any, column: int, columns: int, out: UInt8, state: npt.NDArray[np.int64]) -> int:
    """Write the cells of a column, each followed by a newline, and leave out those of the first row.

    out: at least as long as `data`; state (STATES,): of the text before. Empty lines are no rows. Return the number of
    bytes written; or -1 in a row with another number of cells than `columns`, or where text follows the quote that
    closes a cell of several lines, which both show that a quote is missing.
    """
    mode, cell, row, line, before = state[MODE], state[CELL], state[ROW], state[LINE], state[BEFORE]
    written = 0
    for byte in data:
        line += (byte == NEWLINE and before != RETURN) or byte == RETURN
        before = byte
        if mode == QUOTED:
            if byte == QUOTE:
                mode = CLOSED
                continue
        elif byte == QUOTE and mode == START:
            mode, state[OPENED] = QUOTED, line
            continue
        elif byte == delimiter:
            mode, cell = START, cell + 1
            continue
        elif byte in (NEWLINE, RETURN):
            if cell == 0 and mode == START:
                continue
            if cell != columns - 1:
                written = -1
                break
            if row > 0:
                out[written] = NEWLINE
                written += 1
            mode, cell, row = START, 0, row + 1
            continue
        elif byte == QUOTE and mode == CLOSED:
            mode = QUOTED
        elif mode == CLOSED:
            if line != state[OPENED]:
                written = -1
                break
            mode = PLAIN
        else:
            mode = PLAIN
        if cell == column and row > 0:
            out[written] = byte
            written += 1
    state[MODE], state[CELL], state[ROW], state[LINE], state[BEFORE] = mode, cell, row, line, before
    return written


def _header(pieces: Iterator[bytes], path: str, name: str, delimiter: str) -> tuple[list[str], bytes]:
    """Return the names of the columns, and all that was read, without a byte order mark."""
    head = b""
    while len(head) < HEADER_BYTES and (piece := next(pieces, b"")):
        head += piece
    head = head.removeprefix(b"\xef\xbb\xbf")
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise DataError(f"{path}: UTF-16 or UTF-32, expected UTF-8: convert it with iconv")
    text = io.StringIO(head[:HEADER_BYTES].decode("utf-8", "replace"), newline="")
    try:
        names = next((row for row in csv.reader(text, delimiter=delimiter, strict=True) if row), None)
    except csv.Error as error:
        raise DataError(f"{path}: the first line does not have the names of the columns: {error}") from None
    if names is None:
        raise DataError(f"{path}: empty {name} file: its first line must have the names of the columns")
    return names, head


def _open(file: File, column: str, raw: Raw, name: str, delimiter: str) -> Opened:
    pieces = raw(file)
    names, head = _header(pieces, file.path, name, delimiter)
    if names.count(column) != 1:
        problem = "two columns are named" if column in names else "no column"
        raise DataError(f"{file.path}: {problem} {shown(column)}; the columns are: {column_of(names)}")
    chosen = np.uint8(ord(delimiter)), names.index(column), len(names)

    def pieces_of_text() -> Iterator[Piece]:
        state = np.zeros(STATES, np.int64)
        for piece in chain([head], pieces, [b"\n"]):
            out = np.empty(len(piece), np.uint8)
            written = cells(np.frombuffer(piece, np.uint8), *chosen, out, state)
            if written < 0:
                raise _problem(state, len(names), file.path)
            yield Piece(out[:written].tobytes())
        if state[MODE] == QUOTED:
            raise _problem(state, len(names), file.path)

    return Opened(False, pieces_of_text())


def _problem(state: npt.NDArray[np.int64], columns: int, path: str) -> DataError:
    """Return the error for the place where `cells` stopped, or for a file that ends in a quoted cell."""
    if state[MODE] != QUOTED and state[BEFORE] in (NEWLINE, RETURN):
        return DataError(
            f"{path}:{state[LINE]}: row {state[ROW]:,} has {state[CELL] + 1:,} cells, and the header {columns:,}: put"
            " cells that contain a delimiter, a newline or a quote in quotes, and double the quotes in them"
        )
    return DataError(
        f"{path}:{state[OPENED] + 1}: row {state[ROW]:,} has a cell that begins with a quote which is not closed: close"
        ' it, or double all quotes of the cell and put it in quotes, as in """Hello"", he said"'
    )


CSV = Format("CSV", (".csv",), partial(_open, name="CSV", delimiter=","))
TSV = Format("TSV", (".tsv",), partial(_open, name="TSV", delimiter="\t"))
