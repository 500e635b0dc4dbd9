"""Parsing that word2vec's text and binary formats share, and the distinction between the two.

Both begin with a header line "V d", the numbers of words and of dimensions; the bytes after it tell which format it is.
The formats themselves are in text.py and binary.py.
"""

import re
import warnings
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from w2vtrain.formats.vector_formats.contract import Promise
from w2vtrain.formats.vector_formats.rows import MAX_DIM, MAX_WORD_BYTES

HEADER = re.compile(rb"(?:\xef\xbb\xbf)?([-+]?\d{1,18})[ \t]+([-+]?\d{1,18})[ \t]*\r?\n")
# Bytes that do not occur in text: all below space, except for white space.
CONTROL, NEWLINE = re.compile(rb"[\x00-\x08\x0e-\x1f]"), ord("\n")

DECIMAL = rb"[-+]?(\d+\.\d*|\.\d+|\d+(?=e))(e[-+]?\d+)?"
"""A number that is not written as an integer. `text.write` writes all numbers so, and most programs do."""
NUMBER = re.compile(rb"[-+]?(\d+\.?\d*(e[-+]?\d+)?|\.\d+(e[-+]?\d+)?|nan|inf(inity)?)", re.IGNORECASE)
INTEGER = re.compile(rb"[-+]?\d+")
COMMA_NUMBER = re.compile(rb"[-+]?\d+,\d+(e[-+]?\d+)?", re.IGNORECASE)
DECIMAL_COMMAS = (
    "the numbers have decimal commas: write points, for example with sed -E 's/([[:space:]][-+]?[0-9]+),/\\1./g'"
)
FIRST_LINES = 5
SPARSE = re.compile(rb"(?:\S+[ \t]*\r?\n)*\S+[ \t]+\d+:[-+]?\.?\d")
"""How rows of a word and pairs "index:value" begin. Those without values have only a word."""


def whole_lines(head: bytes, whole: bool) -> list[bytes]:
    """Return the lines of data that start with `head`, except for a last one that may be cut off.

    whole: whether `head` is all of the data.
    """
    *lines, rest = head.split(b"\n")
    return [*lines, rest] if whole and rest else lines


def promise_of(head: bytes, whole: bool) -> tuple[Promise, bool] | None:
    """Return what a first line "V d" promises, even if it is absurd, and whether text follows; None if there is none.

    head: the first bytes of the data; whole: whether they are all of the data.
    """
    header = HEADER.match(head)
    if header is None:
        return None
    rows, dim, start = int(header[1]), int(header[2]), header.end()
    return Promise(rows, dim, start), _is_text(head[start:], dim, whole)


def _is_text(data: bytes, dim: int, whole: bool) -> bool:
    """Return whether the bytes after a header are rows of text rather than binary rows.

    Text with errors still counts as text, so that the text reader can report the line. Only the vectors of a few words
    with rare values could have nothing but bytes of text.
    """
    if not 0 < dim <= MAX_DIM:
        return True
    first = data.split(b"\n", FIRST_LINES)
    del first[len(first) - (not whole) :]  # which may be cut off
    if any(row_values(row, dim) is not None for row in first[: FIRST_LINES if dim > 1 else 1]):
        return True
    ends = [numbers_at_end(row.split()) for row in first if row.strip()]  # those of text with errors, in any encoding
    return (bool(ends) and min(ends) >= min(dim, 2)) or _looks_like_text(data)


def _looks_like_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data":
            return False
    return CONTROL.search(data) is None


def numbers(text: bytes) -> NDArray[np.float32] | None:
    """Return decimal numbers separated by white space as float32, or None if the text contains anything else."""
    try:
        with warnings.catch_warnings():
            # If the text is not a number, some versions of NumPy issue a DeprecationWarning, and others raise an error.
            warnings.simplefilter("error")
            return np.fromstring(text, dtype=np.float32, sep=" ")
    except (ValueError, DeprecationWarning):
        return None


def numbers_at_end(fields: list[bytes]) -> int:
    """Return how many fields are numbers, up to the last."""
    return sum(1 for _ in takewhile(NUMBER.fullmatch, reversed(fields)))


def has_decimal_commas(fields: list[bytes]) -> bool:
    """Return whether the values of a row are numbers, and one or more have decimal commas."""
    others = [field for field in fields if not COMMA_NUMBER.fullmatch(field)]
    return len(others) < len(fields) and all(map(NUMBER.fullmatch, others))


def is_matrix(head: bytes, whole: bool) -> bool:
    """Return whether data that start with `head` are rows of numbers without words, and without a line "V d".

    Words may be numbers, too. But if each row begins with a number that is no integer, or if tabs separate nothing but
    numbers, there are no words, unless these are distinct integers, as nodes are, before numbers that are none.
    """
    lines = whole_lines(head, whole)
    if HEADER.match(head) or not lines or not all(map(_only_numbers, lines)):
        return False
    rows = [line.split() for line in lines]
    nodes = {row[0] for row in rows if INTEGER.fullmatch(row[0]) and not any(map(INTEGER.fullmatch, row[1:]))}
    return len(nodes) < max(2, len(rows))


def names_columns(head: bytes, whole: bool) -> bool:
    """Return whether the first line of data without a line "V d" names columns 0, 1, 2, ..., as data frames do.

    A vector may have these values, too, but hardly that of `word`, or if no other row has integers alone.
    """
    rows = [fields for line in whole_lines(head, whole) if (fields := line.split())]
    if HEADER.match(head) or len(rows) < 2 or not any(map(_counts_up, (rows[0], rows[0][1:]))):  # words have no name
        return False
    return rows[0][0].lower() == b"word" or not any(all(map(INTEGER.fullmatch, row[1:])) for row in rows[1:])


def _counts_up(fields: list[bytes]) -> bool:
    """Return whether fields are 0, 1, ... or 1, 2, 3, ...; 1, 2 alone may be a vector of a small example."""
    return any(len(fields) >= 2 + at and fields == [b"%d" % (at + n) for n in range(len(fields))] for at in (0, 1))


def _only_numbers(row: bytes) -> bool:
    fields = row.replace(b",", b" ").split()
    return (
        bool(fields)
        and (re.fullmatch(DECIMAL, fields[0], re.IGNORECASE) is not None or b"\t" in row.strip())
        and numbers_at_end(fields) == len(fields)
    )


def row_values(line: bytes, dim: int) -> NDArray[np.float32] | None:
    """Return the (dim,) float32 values of a line "word v1 ... vd", or None if the line is not of this form."""
    fields = line.split()
    values = numbers(b" ".join(fields[1:])) if len(fields) == dim + 1 else None
    return values if values is not None and len(values) == dim else None


def split_binary(
    data: bytes, width: int, most: int, after: int
) -> tuple[list[bytes], list[int], list[memoryview], int]:
    """Split up to `most` complete binary rows of `width` bytes of values off `data`, with `after` or more bytes left.

    Returns the words, the offset of each word, views of the values of each word, and the number of bytes used.
    """
    names: list[bytes] = []
    starts: list[int] = []
    values: list[memoryview] = []
    at, size, view = 0, len(data), memoryview(data)
    while len(names) < most:
        # word2vec.c ends each row with a newline, other programs do not. No word begins with a newline.
        begin = at
        while begin < size and data[begin] == NEWLINE:
            begin += 1
        space = data.find(b" ", begin, begin + MAX_WORD_BYTES + 1)
        if space < 0 or space + 1 + width + after > size:
            break
        names.append(data[begin:space])
        starts.append(begin)
        at = space + 1 + width
        values.append(view[space + 1 : at])
    return names, starts, values, at
