"""Softmax over some of the output rows, taken out for a block of examples and put back when they have learned.

It draws nothing: which rows, and what is subtracted of their scores, is for the objectives.
"""

import numpy as np

from w2vtrain.kernels.jit import kernel
from w2vtrain.probability.dense import Workspace, add_product, softmax, softmax_errors


@kernel()
def add_rows(matrix: np.ndarray, rows: np.ndarray, change: np.ndarray, scale: float) -> None:
    """matrix[rows[i]] += scale * change[i], in turn: a row may stand there twice. scale in the matrix's dtype."""
    for i in range(len(rows)):
        row, add = matrix[rows[i]], change[i]
        for j in range(len(row)):
            row[j] += scale * add[j]


def take_rows(matrix: np.ndarray, rows: np.ndarray, work: Workspace, name: str) -> np.ndarray:
    """A copy of rows (n,) of a matrix, (n, width), in the workspace's array of that name."""
    out = work.array(name, (len(rows), matrix.shape[1]), matrix.dtype)
    return np.take(matrix, rows, axis=0, out=out, mode="clip")  # any other mode fills a second copy first


def learn_rows(matrix: np.ndarray, rows: np.ndarray, g: np.ndarray, H: np.ndarray, lr: float, work: Workspace) -> None:
    """matrix[rows] += lr * g.T @ H, for g (B, n) and H (B, width)."""
    change = work.array("change", (len(rows), matrix.shape[1]), matrix.dtype)
    add_rows(matrix, rows, np.dot(g.T, H, out=change), matrix.dtype.type(lr))


def learn_all(output: np.ndarray, H: np.ndarray, lr: float, work: Workspace) -> tuple[np.ndarray, np.ndarray]:
    """Learn from log Z alone, the exact sum over all rows, for H (B, width). Returns log Z (B,) and -d log Z/dH."""
    p = np.dot(H, output.T, out=work.array("exact", (len(H), len(output)), H.dtype))
    log_z = softmax(p)
    dH = np.dot(p, output)
    add_product(output, p, H, -lr)
    return log_z, -dH


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
    """Learn a block by the softmax over rows (n,), all different: H (B, width), rows[places] (B,) are the targets.

    shift (n,) is subtracted of the scores, infinity leaves a row out; own (B,) instead of it from each target's.
    Returns the summed loss and -dL/dH (B, width).
    """
    taken = take_rows(output, rows, work, "taken")
    g = np.dot(H, taken.T, out=work.array("logits", (len(H), len(rows)), H.dtype))
    if shift is not None:
        lines = np.arange(len(H))
        hit = g[lines, places] - own
        np.subtract(g, shift.astype(g.dtype, copy=False), out=g)
        g[lines, places] = hit
    log_z, hit = softmax_errors(g, places)
    dH = np.dot(g, taken)
    learn_rows(output, rows, g, H, lr, work)
    return float((log_z - hit).sum(dtype=np.float64)), dH
