"""Combine the replicas of all ranks: which rows, how often, and in which proportion.

Nothing here trains or decides when a round of training ends. replica.py has the rule that combines the changes.

Each matrix is ordered by how often its rows are updated. After every round, the `base` most frequent rows are
exchanged; after every second round twice as many, after every fourth round four times as many, and so on, as in
pWord2Vec (Ji et al. 2019, "Parallelizing word2vec in shared and distributed memory"). When all rows are due, a cycle
ends, and all replicas are equal. Since the frequency of words falls in inverse proportion to their place in this order,
every row beyond the base is updated about equally often between two of its exchanges, and seldom enough for the changes
to be summed. The base does not grow with the interval, so longer intervals mean less traffic.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from w2vtrain.architectures.contract import composes
from w2vtrain.distributed.common_direction import mean_row, scale_along, shares_direction
from w2vtrain.distributed.communicator import Communicator
from w2vtrain.distributed.quantized_sum import QuantizedSum, row_bytes
from w2vtrain.distributed.replica import Rows, apply_changes, rows_of, shares, take_changes
from w2vtrain.engines.contract import Chunks, Engine, Role, Schedule
from w2vtrain.engines.window_kernel import PLANNED_WORDS
from w2vtrain.errors import ConfigError
from w2vtrain.probability.sampling import keep_thresholds

MIN_EXCHANGED_ROWS = 64
"""Minimum number of rows of a matrix that are exchanged after every round."""
VALUES_PER_MESSAGE = 1 << 22
"""Values per message, 16 MiB."""
INPUT_UPDATES, OUTPUT_UPDATES = 300.0, 400.0
"""Updates of a row by all ranks since its last exchange that are summed in full; the sum of more is scaled down."""
BASE_LIMIT_DIVISOR = 4
"""Rows belong to the base if a round of the shortest automatic interval updates them more often than the limit divided
by this."""
WINDOW_UPDATES = 4.0
"""The number of updates that one update of an output row counts as if a window makes one example, as with CBOW, rather
than one per context word. It was measured: with 1, CBOW lost 2 points of analogy accuracy on 8 ranks."""
ALL_CANDIDATES = 6.0
"""The number of updates that one example counts as for its input rows if the objective scores all words, instead of the
number of its candidates."""
MIN_ROWS_FOR_THREADS = 1000
"""Rows below which a rank uses one thread only."""


def expected_updates(engine: Engine, text: Chunks, schedule: Schedule) -> dict[Role, np.ndarray]:
    """Return how often each input row and each output row is updated per word of the corpus.

    The numbers of updates are (rows,) float64. Every pair of a hidden vector and a candidate counts as one update of an
    output row and of each input row of the hidden vector, except for WINDOW_UPDATES and ALL_CANDIDATES. Arrays whose
    roles are not in the result count as updated at every step: biases, the input rows of architectures that compose
    them, and the output rows of objectives that score all words. Raise ConfigError if the objective's `draws` is wrong.
    """
    windows, updates = engine.windows, {}
    kept = text.counts / text.counts.sum() * (keep_thresholds(text.counts, schedule.sample) / 2.0**32)
    size = windows.size if windows.size <= PLANNED_WORDS else min(windows.size, _mean_reach(text))
    contexts = (windows.left + windows.right) * ((size + 1) / 2 if windows.shrink else size)
    candidates = ALL_CANDIDATES
    if engine.objective.engine == "windows":
        (output,) = (array for array in engine.trained() if array.role is Role.OUTPUT)
        draws = _draws(engine.objective, kept / kept.sum(), len(output.values))
        candidates = draws.sum()
        updates[Role.OUTPUT] = draws * kept.sum() * (contexts if engine.architecture.pairs() else WINDOW_UPDATES)
    if engine.subwords:
        updates[Role.INPUT] = engine.subwords.per_row(kept * contexts * candidates)
    elif not composes(engine.architecture):
        updates[Role.INPUT] = kept * contexts * candidates
    return updates


def _mean_reach(text: Chunks) -> float:
    """Return the mean number of words on each side of a target if its window is its sentence."""
    words = int(text.words.sum())
    return max(1.0, (words / max(1, len(text.tokens) - words) - 1) / 2)


def _draws(objective: Any, targets: np.ndarray, rows: int) -> np.ndarray:
    """Return what `draws` of an objective returns. Raise ConfigError if that is not one number per output row."""
    draws = np.asarray(objective.draws(targets), np.float64)
    if draws.shape != (rows,) or not (np.isfinite(draws) & (draws >= 0)).all():
        raise ConfigError(
            f"{type(objective).__name__}.draws returns an array of shape {draws.shape}; expected a number from 0 on for"
            f" each of {rows:,} output rows"
        )
    return draws


class ExchangedArray:
    """One array that the ranks exchange.

    limit: the number of updates that are summed in full; words: what all ranks together learn in a round of the
    shortest automatic interval; base: rows that are exchanged after every round; since: (R,) float64, the words that
    all ranks had learned at each row's last exchange; other: the matrix whose mean row has limits of its own in this
    one, or None: see common_direction.py.
    """

    other: "ExchangedArray | None" = None

    def __init__(self, rows: Rows, limit: float, words: float) -> None:
        self.rows, self.limit = rows, limit
        self.base = max(MIN_EXCHANGED_ROWS, int(np.count_nonzero(rows.updates * words > limit / BASE_LIMIT_DIVISOR)))
        self.since = np.zeros(len(rows.order))

    def due(self, number: int) -> int:
        """Return how many rows are due after a round of a cycle, counted from 1."""
        return min(self.base * (number & -number), len(self.since))

    def frequent(self) -> np.ndarray:
        """Return the common values (base, columns) of the rows that are exchanged after every round."""
        return np.asarray(self.rows.common[self.rows.order[: self.base]])


class Synchronizer:
    """The exchange of rows between the replicas of all ranks.

    bytes: of this rank's changes that were exchanged so far, without what the algorithm of the communicator adds.
    """

    def __init__(
        self, comm: Communicator, engine: Engine, updates: dict[Role, np.ndarray], words: float,
        pool: ThreadPoolExecutor | None = None,
    ) -> None:  # fmt: skip
        """words: see ExchangedArray; pool: the rank's threads, if it has several."""
        self.comm, self.pool, self.bytes = comm, pool, 0
        self.threads, self._quantized_sum = engine.schedule.threads, QuantizedSum(comm, self._spread)
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
                self.exchanged.append(ExchangedArray(rows_of(matrix, rates, columns), limit, words))
                if role in updates:
                    scored[role] = self.exchanged[-1]
        if shares_direction(engine, updates):
            scored[Role.INPUT].other, scored[Role.OUTPUT].other = scored[Role.OUTPUT], scored[Role.INPUT]
        longest = max((one.rows.common.shape[1] for one in self.exchanged), default=0)
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

    def _combine(self, exchanged: ExchangedArray, count: int) -> None:
        """Combine the first `count` rows of an array, one message after another."""
        rows, columns = exchanged.rows, exchanged.rows.common.shape[1]
        updates, words = rows.updates[:count], self._words - exchanged.since[:count]
        share = shares(updates, words, self.comm.size, exchanged.limit)
        direction, scale = None, share
        if exchanged.other:
            direction, square = mean_row(exchanged.other.frequent())
            scale = shares(updates, words, self.comm.size, exchanged.limit / max(1.0, square)) / share
        exchanged.since[:count] = self._words
        step = max(1, VALUES_PER_MESSAGE // columns)
        for first in range(0, count, step):
            some = slice(first, min(count, first + step))
            total = self._values[: (some.stop - first) * columns].reshape(-1, columns)
            self._spread(partial(take_changes, rows.array, rows.common), rows.order[some], total)
            self.bytes += self._sum(total)
            if direction is not None:
                self._spread(partial(scale_along, direction), total, scale[some], np.empty(len(total), np.float32))
            self._spread(partial(apply_changes, rows.array, rows.common), rows.order[some], total, share[some])

    def _sum(self, values: np.ndarray) -> int:
        """Replace values (n, columns) by their sum over all ranks, quantized if that is smaller. Return its bytes."""
        columns = values.shape[1]
        if self.comm.size > 1 and row_bytes(columns) < columns * values.itemsize:
            return self._quantized_sum(values)
        self.comm.allreduce(values)
        return values.nbytes

    def _spread(self, function: Any, *by_row: np.ndarray) -> None:
        """Call a function on all threads of the rank, each with its part of the arrays (n, ...) in `by_row`."""
        if self.pool is None or len(by_row[0]) < MIN_ROWS_FOR_THREADS:
            function(*by_row)
            return
        bounds = np.linspace(0, len(by_row[0]), self.threads + 1).astype(int).tolist()
        work = [self.pool.submit(function, *(part[first:end] for part in by_row)) for first, end in pairwise(bounds)]
        for one in work:
            one.result()
