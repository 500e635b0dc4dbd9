"""Combine the replicas of all ranks: which rows, how often, and in which proportion.

Nothing here trains or decides when a round of training ends. quantized_sum.py adds up what the ranks send.

**Which rows.** Each matrix is ordered by how often its rows are updated. After every round, the `base` most frequent
rows are exchanged; after every second round twice as many, after every fourth round four times as many, and so on, as
in pWord2Vec (Ji et al. 2019, "Parallelizing word2vec in shared and distributed memory"). When all rows are due, a cycle
ends, and all replicas are equal. Since the frequency of words falls in inverse proportion to their place in this order,
every row beyond the base is updated about equally often between two of its exchanges, and seldom enough for the changes
to be summed. The base does not grow with the interval, so longer intervals mean less traffic.

**The rule.** A synchronization adds up the changes that all ranks made to a row since the last one, multiplies the sum
by the row's share, and adds it to the row's common value, which all ranks have. A share of 1 adds all changes, as if
one process had made them. That is right for rows that change little between two synchronizations. The sum overshoots
for frequent rows, because each rank alone has moved them most of the way: they get the mean, a share of 1 / ranks, or
something in between. kernels/rows.py combines the threads of a rank in the same way, but with shares that depend only
on the number of threads.

**The direction that moves all scores at once.** Scores that are log-probabilities start at 0 and fall to about log
P(w), -10 or less. Without biases, both matrices can only express that by a component that nearly all their rows share:
mean rows m and m' with m · m' about -10. A step of a row along the other matrix's mean row changes the row's scores
with all rows, by |m|² times the step, where a step in another direction changes the score with one row. So fewer
updates lead to the optimum in this direction, and the sum of the ranks' changes overshoots after fewer: after 1 / |m|²
of the limit that holds for the rest of the row.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from w2vtrain.engines.base import Engine, Role
from w2vtrain.leaves.mpi.communicator import Communicator
from w2vtrain.leaves.mpi.quantized_sum import QuantizedSum
from w2vtrain.leaves.mpi.row_kernels import apply_changes, scale_along, take_changes
from w2vtrain.leaves.mpi.row_updates import shares_direction

MIN_EXCHANGED_ROWS = 64
"""Minimum number of rows of a matrix that are exchanged after every round."""
VALUES_PER_MESSAGE = 1 << 22
"""Values per message, 16 MiB."""
INPUT_UPDATES, OUTPUT_UPDATES = 300.0, 400.0
"""Updates of a row by all ranks since its last exchange that are summed in full; the sum of more is scaled down."""
BASE_LIMIT_DIVISOR = 4
"""Rows belong to the base if a round of the shortest automatic interval updates them more often than the limit divided
by this."""
MIN_ROWS_FOR_THREADS = 1000
"""Rows below which a rank uses one thread only."""


def shares(updates: np.ndarray, words: np.ndarray, ranks: int, limit: float) -> np.ndarray:
    """Return the fraction (n,) float32 of the ranks' summed changes that each row takes.

    updates: (n,) float64, updates per word; words: (n,) or a number, the words that all ranks have learned since the
    row's last synchronization; limit: the number of updates that are summed in full. With more, the share falls in
    proportion, so that a row moves as far as `limit` updates would move it, but never less than the mean of the ranks.
    """
    share: np.ndarray = np.clip(limit / np.maximum(updates * words, 1e-9), 1 / ranks, 1.0)
    return share.astype(np.float32)


def mean_row(rows: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the direction (columns,) float32 of the mean of rows (n, columns), a unit vector, and the mean's square.

    All processors compute the same bytes.
    """
    mean = rows.mean(axis=0, dtype=np.float64)
    square = math.fsum(mean * mean)
    return (mean / math.sqrt(square or 1.0)).astype(np.float32), square


class ExchangedArray:
    """One array that the ranks exchange, with its rows in descending order of how often training updates them.

    array: (R, width) float32, this rank's replica, of which training changes the first columns; common: (R, columns)
    float32, the value that all ranks had after the last synchronization; order: (R,) int64, row numbers; updates: (R,)
    float64, in this order, the expected number of updates per word of the corpus; limit: the number of updates that are
    summed in full; base: rows that are exchanged after every round; since: (R,) float64, the words that all ranks had
    learned at each row's last exchange; other: the matrix whose mean row has limits of its own in this one, or None.
    """

    other: "ExchangedArray | None" = None

    def __init__(self, array: np.ndarray, columns: int, updates: np.ndarray, limit: float, words: float) -> None:
        """words: what all ranks together learn in a round of the shortest automatic interval."""
        self.array, self.common, self.limit = array, array[:, :columns].copy(), limit
        self.order = np.argsort(-updates, kind="stable")
        self.updates, self.since = updates[self.order], np.zeros(len(array))
        self.base = max(MIN_EXCHANGED_ROWS, int(np.count_nonzero(updates * words > limit / BASE_LIMIT_DIVISOR)))

    def due(self, number: int) -> int:
        """Return how many rows are due after a round of a cycle, counted from 1."""
        return min(self.base * (number & -number), len(self.since))


class Synchronizer:
    """The exchange of rows between the replicas of all ranks.

    bytes: of this rank's changes that were exchanged so far, without what the algorithm of the communicator adds.
    """

    def __init__(
        self, comm: Communicator, engine: Engine, updates: dict[Role, np.ndarray], words: float,
        pool: ThreadPoolExecutor | None = None,
    ) -> None:  # fmt: skip
        """updates: from `expected_updates`; words: see ExchangedArray; pool: the rank's threads, if it has several."""
        self.comm, self.pool, self.bytes = comm, pool, 0
        self.threads, self._sum = engine.schedule.threads, QuantizedSum(comm, self._spread)
        self._rounds, self._words = 0, 0  # in this cycle; in all cycles
        self.exchanged: list[ExchangedArray] = []
        scored: dict[Role, ExchangedArray] = {}
        padded, learned = {Role.INPUT, *updates}, engine.architecture.learned()
        for name, role, array in engine.trained():
            comm.broadcast(array)
            if array.dtype == np.float32 and array.size:
                matrix = array.reshape(len(array), -1) if array.ndim > 1 else array.reshape(-1, 1)
                columns = engine.problem.width if role in padded or name in learned else matrix.shape[1]
                rates = updates.get(role, np.full(len(matrix), np.inf))
                limit = OUTPUT_UPDATES if role is Role.OUTPUT else INPUT_UPDATES
                self.exchanged.append(ExchangedArray(matrix, columns, rates, limit, words))
                if role in updates:
                    scored[role] = self.exchanged[-1]
        if shares_direction(engine, updates):
            scored[Role.INPUT].other, scored[Role.OUTPUT].other = scored[Role.OUTPUT], scored[Role.INPUT]
        longest = max((one.common.shape[1] for one in self.exchanged), default=0)
        # Of a message: new memory each time would be slow.
        self._values = np.empty(max(VALUES_PER_MESSAGE, longest), np.float32)

    def synchronize(self, words: int, everything: bool = False) -> bool:
        """Exchange the rows that are due after a round in which all ranks together learned this many words.

        everything: exchange all rows. Return whether that was done, which ends a cycle.
        """
        self._rounds += 1
        self._words += words
        everything = everything or all(one.due(self._rounds) == len(one.since) for one in self.exchanged)
        for one in self.exchanged:
            self._combine(one, len(one.since) if everything else one.due(self._rounds))
        if everything:
            self._rounds = 0
        return everything

    def _combine(self, one: ExchangedArray, count: int) -> None:
        """Combine the first `count` rows of an array, one message after another."""
        updates, words, ranks = one.updates[:count], self._words - one.since[:count], self.comm.size
        share, direction = shares(updates, words, ranks, one.limit), None
        if one.other:
            direction, square = mean_row(one.other.common[one.other.order[: one.other.base]])
            scale = shares(updates, words, ranks, one.limit / max(1.0, square)) / share
        one.since[:count] = self._words
        columns = one.common.shape[1]
        step = max(1, VALUES_PER_MESSAGE // columns)
        for first in range(0, count, step):
            some = slice(first, min(count, first + step))
            total = self._values[: (some.stop - first) * columns].reshape(-1, columns)
            self._spread(partial(take_changes, one.array, one.common), one.order[some], total)
            self.bytes += self._sum(total)
            if direction is not None:
                self._spread(partial(scale_along, direction), total, scale[some], np.empty(len(total), np.float32))
            self._spread(partial(apply_changes, one.array, one.common), one.order[some], total, share[some])

    def _spread(self, function: Any, *by_row: np.ndarray) -> None:
        """Call a function on all threads of the rank, each with its part of the arrays (n, ...) in `by_row`."""
        if self.pool is None or len(by_row[0]) < MIN_ROWS_FOR_THREADS:
            function(*by_row)
        else:
            list(self.pool.map(function, *(np.array_split(array, self.threads) for array in by_row)))
