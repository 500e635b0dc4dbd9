"""Per-thread replicas of hot rows, which are the rows updated most often, synchronized every few chunks.

This module neither chooses the hot rows nor trains them. Two threads that write to the same row wait for each other's
cache lines at every window and overwrite each other's changes: without replicas, hierarchical softmax was as slow on
two threads as on one, and half as fast on two cores that share no cache.
"""

from typing import NamedTuple

import numpy as np
from numba import int64

from w2vtrain.kernels.indices import copy_shifted
from w2vtrain.kernels.jit import inline
from w2vtrain.kernels.rows import padded_rows

HOT_INPUTS, HOT_WORDS, HOT_NODES = 128, 256, 1024
"""Maximum numbers of hot rows: input rows, output rows of words, and output rows of tree nodes."""

HOTTEST = 64
"""Number of hottest rows. They change so fast that replicas come close to their thread's own optimum between two
synchronizations."""

TOGETHER = 32
"""Number of chunks that all threads together learn between two synchronizations of a thread's replicas. For 1,000 rows
of 200 dimensions, each synchronization reads and writes 5 MB. With four times as many chunks, CBOW diverges: most rows
take the changes of all threads, each computed without those of the others."""


class Hot(NamedTuple):
    """The hot rows of both matrices: adjacent rows, the hottest first; the step of a range may be -1."""

    inputs: range = range(0)
    outputs: range = range(0)


NONE = Hot()


class HotRange(NamedTuple):
    """Location of one thread's replicas: row r, first <= r < first + size, has its replica in row r + shift."""

    first: int
    size: int
    shift: int


class Replicas(NamedTuple):
    """Shared rows, one thread's replicas of them, and the values of both after their last synchronization.

    shared, own, start: (count, width) float32.
    share: (count,) float32, the fraction of a thread's changes that is added to the shared rows. Most rows take all
    of a change, as if the thread had written to them directly, unless more than TOGETHER threads synchronize after each
    chunk. The hottest rows take a fraction, because the sum of all threads' changes would overshoot.
    """

    shared: np.ndarray
    own: np.ndarray
    start: np.ndarray
    share: np.ndarray


def make_replicas(shared: np.ndarray, own: np.ndarray, threads: int) -> Replicas:
    """Create replicas for rows that are all among the hottest: the `share` of each is 1 / threads.

    shared, own: (count, width) float32. A kernel fills `own` when it starts.
    """
    return Replicas(shared, own, padded_rows(*shared.shape), np.full(len(shared), 1 / threads, np.float32))


def replicate(matrix: np.ndarray, rows: int, hot: range, thread: int, threads: int) -> tuple[HotRange, Replicas]:
    """Create one thread's replicas of the hot rows of a matrix; return where they are, and the replicas.

    matrix: the first `rows` rows are shared; those after them hold the replicas, thread by thread.
    hot: adjacent rows, the hottest first; the step may be -1.
    """
    first, count = min(hot, default=0), len(hot)
    at = rows + thread * count
    replicas = make_replicas(matrix[first : first + count], matrix[at : at + count], threads)
    replicas.share[[row - first for row in hot[HOTTEST:]]] = min(1.0, TOGETHER / threads)
    return HotRange(first, count, at - first), replicas


@inline
def replica_of(hot_range, row):
    """Return the row that this thread updates in place of `row`: its replica if the row is hot, else the row itself."""
    return int64(row + hot_range.shift if 0 <= row - hot_range.first < hot_range.size else row)


@inline
def replicas_of(hot_range, rows, n, found):
    """Fill found (n,) with the rows that this thread updates in place of rows (n,)."""
    copy_shifted(found, rows, n, hot_range.first, hot_range.size, hot_range.shift)


@inline
def load_replicas(replicas):
    """Copy the shared rows to this thread's replicas."""
    for part in replicas:
        for r in range(len(part.shared)):
            for c in range(part.shared.shape[1]):
                part.own[r, c] = part.start[r, c] = part.shared[r, c]


@inline
def synchronize(replicas):
    """Add this thread's changes since the last synchronization, times `share`, to the shared rows; copy these back."""
    for part in replicas:
        for r in range(len(part.shared)):
            for c in range(part.shared.shape[1]):
                merged = part.shared[r, c] + part.share[r] * (part.own[r, c] - part.start[r, c])
                part.shared[r, c] = part.own[r, c] = part.start[r, c] = merged
