"""Rows that nearly every window changes: each of several threads has copies of its own, which meet after every chunk.

Two threads that write to one row wait for one another's cache lines at every window, and overwrite each other's
changes: hierarchical softmax on two threads was as slow as on one. Which rows are busy, and how they learn, others
say.
"""

from typing import NamedTuple

import numpy as np
from numba import float32, int64

from .cells import move_cells
from .jit import inline
from .rows import padded_rows

BUSY = 64
"""Rows of which each thread has a copy: a node of Huffman's tree further down stands in less than every 64th path."""


class Copied(NamedTuple):
    """Where one thread finds its rows: `size` of them from `first` on are `shift` further down."""

    first: int
    size: int
    shift: int


class Copies(NamedTuple):
    """shared (count, width) float32, a thread's own, and what both were when they last met."""

    shared: np.ndarray
    own: np.ndarray
    start: np.ndarray


def copies_of(shared: np.ndarray, own: np.ndarray) -> Copies:
    """The two of one shape; `own` is filled where a kernel begins."""
    return Copies(shared, own, padded_rows(*shared.shape))


def copied_rows(matrix: np.ndarray, rows: int, busy: range, thread: int) -> tuple[Copied, Copies]:
    """A thread's copies of the busy ones among the first `rows` of a matrix; they stand behind those."""
    first, count = busy.start, len(busy)
    at = rows + thread * count
    return Copied(first, count, at - first), copies_of(matrix[first : first + count], matrix[at : at + count])


@inline
def own_row(copied, row):
    """The row that this thread changes for a row of the matrix."""
    return int64(row + copied.shift if 0 <= row - copied.first < copied.size else row)


@inline
def own_rows(copied, rows, n, found):
    """To `found` the rows that this thread changes for rows (n,)."""
    move_cells(found, rows, n, copied.first, copied.size, copied.shift)


@inline
def begin(copies):
    """Own rows as the shared ones are."""
    for part in copies:
        for r in range(len(part.shared)):
            for c in range(part.shared.shape[1]):
                part.own[r, c] = part.start[r, c] = part.shared[r, c]


@inline
def meet(copies, threads):
    """The shared rows take a share of what this thread has learned since they last met, and it goes on from there.

    The sum of what all threads learned would overshoot: between two meetings a busy row comes near to where it is
    best for each of them.
    """
    share = float32(1) / float32(threads)
    for part in copies:
        for r in range(len(part.shared)):
            for c in range(part.shared.shape[1]):
                met = part.shared[r, c] + share * (part.own[r, c] - part.start[r, c])
                part.shared[r, c] = part.own[r, c] = part.start[r, c] = met
