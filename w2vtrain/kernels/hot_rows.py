"""Rows that are changed all the time: each of several threads has copies of its own, which meet every few chunks.

Two threads that write to one row wait for one another's cache lines at every window, and overwrite each other's
changes: hierarchical softmax on two threads was as slow as on one, and on two cores without a common cache it is half
as fast. Which rows are busy, and how they learn, others say.
"""

from typing import NamedTuple

import numpy as np
from numba import int64

from w2vtrain.kernels.indices import move_cells
from w2vtrain.kernels.jit import inline
from w2vtrain.kernels.rows import padded_rows

BUSY = 256
"""Rows of which each thread has a copy; a node of Huffman's tree further down stands in less than every 256th path."""

BUSIEST = 64
"""Rows that change so often that between two meetings they come near to where they are best for each thread."""

MEET = 4
"""Chunks between two meetings of a thread's copies with the shared rows: these are 0.6 MB to be read and written."""


class Copied(NamedTuple):
    """Where one thread finds its rows: `size` of them from `first` on are `shift` further down."""

    first: int
    size: int
    shift: int


class Copies(NamedTuple):
    """shared (count, width) float32, a thread's own, and what both were when they last met.

    share (count,) float32: how much of what a thread has learned the shared rows take: all of it, as if it had been
    written there; of the busiest a share, since the sum of what all threads learned would overshoot.
    """

    shared: np.ndarray
    own: np.ndarray
    start: np.ndarray
    share: np.ndarray


def copies_of(shared: np.ndarray, own: np.ndarray, threads: int) -> Copies:
    """Of rows that are all among the busiest; `own`, of the same shape, is filled where a kernel begins."""
    return Copies(shared, own, padded_rows(*shared.shape), np.full(len(shared), 1 / threads, np.float32))


def copied_rows(matrix: np.ndarray, rows: int, busy: range, thread: int, threads: int) -> tuple[Copied, Copies]:
    """A thread's copies of the busy ones among the first `rows` of a matrix; they stand behind those.

    busy: rows next to one another, the busiest first; its step may be -1.
    """
    first, count = min(busy, default=0), len(busy)
    at = rows + thread * count
    copies = copies_of(matrix[first : first + count], matrix[at : at + count], threads)
    copies.share[[row - first for row in busy[BUSIEST:]]] = 1
    return Copied(first, count, at - first), copies


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
def meet(copies):
    """The shared rows take what this thread learned since they last met, or a share of it; it goes on from there."""
    for part in copies:
        for r in range(len(part.shared)):
            for c in range(part.shared.shape[1]):
                met = part.shared[r, c] + part.share[r] * (part.own[r, c] - part.start[r, c])
                part.shared[r, c] = part.own[r, c] = part.start[r, c] = met
