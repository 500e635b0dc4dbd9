"""The part of the ranks' changes that moves all scores at once, for objectives whose scores are log-probabilities.

Nothing here communicates or decides which rows are exchanged: see synchronization.py.

Without biases, such scores start at 0 and fall to about log P(w), -10 or less. Both matrices can only express that by a
component that nearly all their rows share: mean rows m and m' with m · m' about -10. A step of a row along the other
matrix's mean row changes the row's scores with all rows, by |m|² times the step, where a step in another direction
changes the score with one row. So fewer updates lead to the optimum in this direction, and the sum of the ranks'
changes overshoots after fewer: after 1 / |m|² of the limit that holds for the rest of the row.
"""

import math

import numpy as np

from w2vtrain.engines.contract import Engine, Role
from w2vtrain.kernels.jit import kernel


def shares_direction(engine: Engine, updates: dict[Role, np.ndarray]) -> bool:
    """Return whether single input rows are scored, the scores are log-probabilities, and there are no biases.

    A step of one of several context words moves the scores less. False also if updates per row are not known.
    """
    if not {Role.INPUT, Role.OUTPUT} <= updates.keys() or engine.problem.bias or not engine.architecture.pairs():
        return False
    return engine.objective.initial_bias(engine.problem) is not None


def mean_row(rows: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the direction (columns,) float32 of the mean of rows (n, columns), a unit vector, and the mean's square.

    All processors compute the same bytes.
    """
    mean = rows.mean(axis=0, dtype=np.float64)
    square = math.fsum(mean * mean)
    return (mean / math.sqrt(square or 1.0)).astype(np.float32), square


@kernel()
def scale_along(direction: np.ndarray, total: np.ndarray, scale: np.ndarray, along: np.ndarray) -> None:
    """Multiply the part of each row of total (n, columns) along a unit vector (columns,) by scale (n,).

    along: (n,) float32, set to the length of that part. It is added up column by column, because a sum over a row in
    SIMD lanes would depend on their number, and the ranks' replicas on their processors.
    """
    for i in range(len(total)):
        along[i] = 0
    for c in range(total.shape[1]):
        for i in range(len(total)):
            along[i] += total[i, c] * direction[c]
    for i in range(len(total)):
        change = (scale[i] - np.float32(1)) * along[i]
        for c in range(total.shape[1]):
            total[i, c] += change * direction[c]
