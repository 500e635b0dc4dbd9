"""Softmax over some of the output rows, which are copied for a block of examples and updated after it.

It draws nothing: the objectives choose the rows and what to subtract from their scores.
"""

import numpy as np

from w2vtrain.kernels.jit import kernel
from w2vtrain.probability.dense import Workspace, add_product, softmax, softmax_errors


@kernel()
def add_rows(matrix: np.ndarray, rows: np.ndarray, change: np.ndarray, scale: float) -> None:
    """Add scale * change[i] to matrix[rows[i]], one i at a time: rows may repeat. scale has the matrix's dtype."""
    for i in range(len(rows)):
        row, add = matrix[rows[i]], change[i]
        for j in range(len(row)):
            row[j] += scale * add[j]


def take_rows(matrix: np.ndarray, rows: np.ndarray, work: Workspace, name: str) -> np.ndarray:
    """Return a copy of rows (n,) of a matrix, (n, width), in the workspace's array of this name."""
    out = work.array(name, (len(rows), matrix.shape[1]), matrix.dtype)
    return np.take(matrix, rows, axis=0, out=out, mode="clip")  # other modes fill a temporary copy first


def learn_rows(matrix: np.ndarray, rows: np.ndarray, g: np.ndarray, H: np.ndarray, lr: float, work: Workspace) -> None:
    """Add lr * g.T @ H to matrix[rows], for g (B, n), H (B, width) and rows (n,), which may repeat."""
    change = work.array("change", (len(rows), matrix.shape[1]), matrix.dtype)
    add_rows(matrix, rows, np.dot(g.T, H, out=change), matrix.dtype.type(lr))


def learn_all(output: np.ndarray, H: np.ndarray, lr: float, work: Workspace) -> tuple[np.ndarray, np.ndarray]:
    """Take a gradient step on log Z alone, summed exactly over all rows of output (V, width), for H (B, width).

    Return log Z (B,) and -d log Z/dH (B, width).
    """
    p = np.dot(H, output.T, out=work.array("exact", (len(H), len(output)), H.dtype))
    log_z = softmax(p)
    dH = np.dot(p, output)
    add_product(output, p, H, -lr)
    return log_z, -dH


def correct(scores: np.ndarray, places: np.ndarray, shift: np.ndarray, own: np.ndarray) -> None:
    """Subtract own (B,) from the targets' scores, in columns places (B,) of scores (B, n), and shift (n,) elsewhere.

    A shift of infinity excludes a word from the examples whose target it is not.
    """
    lines = np.arange(len(scores))
    hit = scores[lines, places] - own
    np.subtract(scores, shift.astype(scores.dtype, copy=False), out=scores)
    scores[lines, places] = hit


def learn_subset(
    output: np.ndarray,
    rows: np.ndarray,
    H: np.ndarray,
    places: np.ndarray,
    lr: float,
    work: Workspace,
    shift: np.ndarray | None = None,
    own: np.ndarray | None = None,
) -> tuple[float, np.ndarray]:
    """Train output (V, width) on a block with the softmax over some of its rows; return the summed loss and -dL/dH.

    rows: (n,) distinct row numbers.
    H: (B, width), as is -dL/dH.
    places: (B,) indices in `rows` of the targets.
    shift: (n,) values subtracted from the scores, none if omitted; infinity excludes a row.
    own: (B,) values subtracted from the targets' scores instead of `shift`; required with `shift`.
    """
    taken = take_rows(output, rows, work, "taken")
    g = np.dot(H, taken.T, out=work.array("logits", (len(H), len(rows)), H.dtype))
    if shift is not None and own is not None:
        correct(g, places, shift, own)
    log_z, hit = softmax_errors(g, places)
    dH = np.dot(g, taken)
    learn_rows(output, rows, g, H, lr, work)
    return float((log_z - hit).sum(dtype=np.float64)), dH
