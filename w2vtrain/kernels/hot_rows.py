"""Rows that are changed all the time: each of several threads has replicas of its own, which meet every few chunks.

Two threads that write to one row wait for one another's cache lines at every window, and overwrite each other's
changes: hierarchical softmax on two threads was as slow as on one, and on two cores without a common cache it is half
as fast. Which rows are hot, and how they learn, others say.
"""

from typing import NamedTuple

import numpy as np
from numba import int64

from w2vtrain.kernels.indices import copy_shifted
from w2vtrain.kernels.jit import inline
from w2vtrain.kernels.rows import padded_rows

HOT = 256
"""Rows of which each thread has a copy; a node of Huffman's tree further down stands in less than every 256th path."""

HOTTEST = 64
"""Rows that change so often that between two meetings they come near to where they are best for each thread."""

SYNC_EVERY = 4
"""Chunks between two meetings of a thread's replicas with the shared rows: these are 0.6 MB to be read and written."""


class HotRange(NamedTuple):
    """Where one thread finds its rows: `size` of them from `first` on are `shift` further down."""

    first: int
    size: int
    shift: int


class Replicas(NamedTuple):
    """shared (count, width) float32, a thread's own, and what both were when they last met.

    share (count,) float32: how much of what a thread has learned the shared rows take: all of it, as if it had been
    written there; of the hottest a share, since the sum of what all threads learned would overshoot.
    """

    shared: np.ndarray
    own: np.ndarray
    start: np.ndarray
    share: np.ndarray


def make_replicas(shared: np.ndarray, own: np.ndarray, threads: int) -> Replicas:
    """Of rows that are all among the hottest; `own`, of the same shape, is filled where a kernel begins."""
    return Replicas(shared, own, padded_rows(*shared.shape), np.full(len(shared), 1 / threads, np.float32))


def replicate(matrix: np.ndarray, rows: int, hot: range, thread: int, threads: int) -> tuple[HotRange, Replicas]:
    """A thread's replicas of the hot ones among the first `rows` of a matrix; they stand behind those.

    hot: rows next to one another, the hottest first; its step may be -1.
    """
    first, count = min(hot, default=0), len(hot)
    at = rows + thread * count
    replicas = make_replicas(matrix[first : first + count], matrix[at : at + count], threads)
    replicas.share[[row - first for row in hot[HOTTEST:]]] = 1
    return HotRange(first, count, at - first), replicas


@inline
def replica_of(hot_range, row):
    """The row that this thread changes for a row of the matrix."""
    return int64(row + hot_range.shift if 0 <= row - hot_range.first < hot_range.size else row)


@inline
def replicas_of(hot_range, rows, n, found):
    """To `found` the rows that this thread changes for rows (n,)."""
    copy_shifted(found, rows, n, hot_range.first, hot_range.size, hot_range.shift)


@inline
def load_replicas(replicas):
    """Own rows as the shared ones are."""
    for part in replicas:
        for r in range(len(part.shared)):
            for c in range(part.shared.shape[1]):
                part.own[r, c] = part.start[r, c] = part.shared[r, c]


@inline
def synchronize(replicas):
    """The shared rows take what this thread learned since they last met, or a share of it; it goes on from there."""
    for part in replicas:
        for r in range(len(part.shared)):
            for c in range(part.shared.shape[1]):
                met = part.shared[r, c] + part.share[r] * (part.own[r, c] - part.start[r, c])
                part.shared[r, c] = part.own[r, c] = part.start[r, c] = met
