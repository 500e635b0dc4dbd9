"""The part of a rank's weights that it exchanges with the other ranks, and the rule that combines their changes.

Nothing here decides when to synchronize, or communicates: see synchronization.py.

Each rank trains a full replica. A synchronization adds up the changes that all ranks made to a row since the last one,
multiplies the sum by the row's `share`, and adds it to the row's common value, which all ranks have. A share of 1 adds
all changes, as if one process had made them. That is right for rows that change little between two synchronizations.
The sum overshoots for frequent rows, because each rank alone has moved them most of the way: they get the mean, a share
of 1 / ranks, or something in between. kernels/rows.py combines the threads of a rank in the same way, but with
shares that depend only on the number of threads.
"""

from typing import NamedTuple

import numpy as np

from w2vtrain.kernels.jit import kernel


class Rows(NamedTuple):
    """Rows of one array that the ranks exchange, in descending order of how often training updates them.

    array: (R, width) float32, this rank's replica, which training changes; common: (R, columns) float32, the value
    that all ranks had after the last synchronization; order: (R,) int64, row numbers; updates: (R,) float64, in this
    order, the expected number of updates per word of the corpus.
    """

    array: np.ndarray
    common: np.ndarray
    order: np.ndarray
    updates: np.ndarray


def rows_of(array: np.ndarray, updates: np.ndarray, columns: int) -> Rows:
    """Return the rows of an array (R, width), of which training changes the first `columns` columns.

    updates: (R,) float64, the expected number of updates of each row per word of the corpus.
    """
    order = np.argsort(-updates, kind="stable")
    return Rows(array, array[:, :columns].copy(), order, updates[order])


def shares(updates: np.ndarray, words: np.ndarray, ranks: int, limit: float) -> np.ndarray:
    """Return the fraction (n,) float32 of the ranks' summed changes that each row takes.

    updates: (n,) float64, updates per word; words: (n,) or a number, the words that all ranks have learned since the
    row's last synchronization; limit: the number of updates that are summed in full. With more, the share falls in
    proportion, so that a row moves as far as `limit` updates would move it, but never less than the mean of the ranks.
    """
    share: np.ndarray = np.clip(limit / np.maximum(updates * words, 1e-9), 1 / ranks, 1.0)
    return share.astype(np.float32)


@kernel()
def take_changes(array: np.ndarray, common: np.ndarray, rows: np.ndarray, changes: np.ndarray) -> None:
    """Set changes (n, columns) to the change of each of rows (n,) since the last synchronization."""
    for i in range(len(rows)):
        r = rows[i]
        for c in range(common.shape[1]):
            changes[i, c] = array[r, c] - common[r, c]


@kernel()
def apply_changes(
    array: np.ndarray, common: np.ndarray, rows: np.ndarray, total: np.ndarray, share: np.ndarray
) -> None:
    """Add share (n,) times the summed changes total (n, columns) to the common values of rows (n,); copy these back."""
    for i in range(len(rows)):
        r = rows[i]
        for c in range(common.shape[1]):
            common[r, c] += share[i] * total[i, c]
            array[r, c] = common[r, c]
