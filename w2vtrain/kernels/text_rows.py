"""A compiled loop that parses the lines of large files of vectors, as programs write them.

It stops at any other line, which vector_formats/text.py parses, or says what is wrong with it.
"""

import numpy as np
from numba import float64, int64, uint8, uint64

from w2vtrain.kernels.jit import inline, kernel

NEWLINE, SPACE, POINT, MINUS, EXPONENT, FIRST_DIGIT = 10, 32, 46, 45, ord("e"), 48
EXACT_DIGITS, EXACT_POWER = 15, 22
"""Integers of so many digits, and powers of ten up to this one, are float64 without an error, so that one division or
multiplication rounds a decimal correctly (Clinger 1990)."""
POWERS = 10.0 ** np.arange(EXACT_POWER + 1)


@inline
def digits(text, at, value):
    """Return where the digits that begin at `at` end, and `value` continued with them."""
    while True:
        digit = uint64(text[at]) - uint64(FIRST_DIGIT)  # huge for a byte before 0
        if digit > uint64(9):
            return at, value
        value = value * uint64(10) + digit
        at += 1


@inline
def decimal(text, at, powers):
    """Return where the number that begins at `at` ends, and its value; -1 and 0 unless it is short and exact."""
    negative = text[at] == uint8(MINUS)
    first = at = at + int64(negative)
    at, value = digits(text, at, uint64(0))
    count, power = at - first, int64(0)
    if text[at] == uint8(POINT):
        first = at + 1
        at, value = digits(text, first, value)
        power = first - at
        count -= power
    if text[at] | uint8(32) == uint8(EXPONENT):
        sign = int64(text[at + 1] == uint8(MINUS))
        first = at + 1 + sign
        at, size = digits(text, first, uint64(0))
        if at == first or at > first + 4:
            return int64(-1), float64(0)
        power += -int64(size) if sign else int64(size)
    if count == 0 or count > EXACT_DIGITS or abs(power) > EXACT_POWER:
        return int64(-1), float64(0)
    number = float64(value) / powers[-power] if power < 0 else float64(value) * powers[power]
    return at, -number if negative else number


@kernel(exact=True)
def text_rows(text, most, powers, bounds, values):
    """Parse lines "word v1 ... vd" with single spaces; return the number of rows, and where the last of them ends.

    text uint8: lines, all of which end with a newline; most: bytes of a word. Sets bounds[i], int64 (rows, 2), to the
    beginning and the end of word i, and values[i], float32 (rows, d). Stops at a line of any other form.
    """
    end = int64(0)
    for row in range(len(values)):
        if end == len(text):
            return row, end
        at = end
        while text[at] > uint8(SPACE):
            at += 1
        if text[at] != uint8(SPACE) or at == end or at - end > most:
            return row, end
        bounds[row, 0], bounds[row, 1] = end, at
        for column in range(values.shape[1]):
            if text[at] != uint8(SPACE):
                return row, end
            at, values[row, column] = decimal(text, at + 1, powers)
            if at < 0:
                return row, end
        at += int64(text[at] == uint8(SPACE))  # word2vec.c writes a space after each value
        if text[at] != uint8(NEWLINE):
            return row, end
        end = at + 1
    return len(values), end
