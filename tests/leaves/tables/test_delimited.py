"""Cells of CSV are those of Python's csv module, however the file is cut; what it refuses is an error with the line."""

import csv
import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from w2vtrain.errors import DataError
from w2vtrain.leaves.tables.delimited import CSV, TSV
from w2vtrain.text.source import File


def text_of(form, column, data, cut=1 << 20):
    """Return the text of a column, which is read in pieces of `cut` bytes."""
    pieces = [data[i : i + cut] for i in range(0, len(data), cut)]
    return b"".join(
        piece.text for piece in form.open(File("t", None), column, lambda _: iter(pieces), False, False).pieces
    )


@given(st.text('ab,"\n\r é', max_size=30), st.integers(1, 9), st.sampled_from(["x", "y"]))
@example('a"b,"c"\n"d"e,""', 3, "x")
@example('a,"b\nc,"d\n', 3, "y")
def test_cells_are_those_of_pythons_csv_or_an_error(body, cut, column):
    text = "x,y\n" + body
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error:
        rows = []
    if not rows or any(len(row) != 2 for row in rows):
        with pytest.raises(DataError, match=r"^t:\d+: (the row that begins here|row \d+ has \d+ cells)"):
            text_of(CSV, column, text.encode(), cut)
    else:
        expected = "".join(f"{row['xy'.index(column)]}\n" for row in rows[1:]).encode()
        assert text_of(CSV, column, text.encode(), cut) == expected


def test_bytes_that_are_not_utf_8_are_kept():
    assert text_of(CSV, "y", b"\xef\xbb\xbfx,y\n1,a\xff\xc3\n", 3) == b"a\xff\xc3\n"


@given(st.lists(st.lists(st.text(max_size=9), min_size=2, max_size=2)), st.sampled_from(["\n", "\r\n", "\r"]))
def test_what_pythons_csv_writes_is_read_without_an_error(rows, end):
    for form, delimiter in ((CSV, ","), (TSV, "\t")):
        file = io.StringIO(newline="")
        csv.writer(file, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(
            [["x", "y\n"], *rows]
        )
        found = text_of(form, "y\n", file.getvalue().encode())
        assert found == "".join(f"{row[1]}\n" for row in rows).encode()


def test_a_row_may_be_longer_than_any_block():
    long = b"word " * 5_000_000
    assert text_of(CSV, "y", b'x,y\n1,"' + long + b'"\n2,end\n') == long + b"\nend\n"
