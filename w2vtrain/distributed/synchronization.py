"""Combine the replicas of all ranks: which rows, how often, and in which proportion.

Nothing here trains or decides when a round of training ends. replica.py has the rule that combines the changes.

Each matrix is ordered by how often its rows are updated. After every round, the `base` most frequent rows are
exchanged; after every second round twice as many, after every fourth round four times as many, and so on, as in
pWord2Vec (Ji et al. 2019, "Parallelizing word2vec in shared and distributed memory"). When all rows are due, a cycle
ends, and all replicas are equal. Since a word's frequency falls in inverse proportion to its rank, every row beyond the
base is updated about equally often between two of its exchanges, and seldom enough for the changes to be summed.
"""

from typing import Any, NamedTuple

import numpy as np

from w2vtrain.architectures.contract import composes
from w2vtrain.distributed.communicator import Communicator, Request
from w2vtrain.distributed.replica import Rows, apply_changes, rows_of, shares, take_changes
from w2vtrain.engines.schedule import Schedule, Text
from w2vtrain.probability.sampling import keep_thresholds

LEAST = 64
"""Minimum number of rows of a matrix that are exchanged after every round."""
PIECE = 1 << 22
"""Values per message, 16 MiB: this bounds the memory that an exchange takes."""
INPUT_UPDATES, OUTPUT_UPDATES = 50.0, 400.0
"""Updates of a row by all ranks since its last exchange that are summed in full; the sum of more is scaled down."""
OFTEN = 4
"""Rows belong to the base if a round updates them more often than the limit divided by this."""


def expected_updates(engine: Any, text: Text, schedule: Schedule) -> dict[str, np.ndarray]:
    """Return how often each row of the engine's arrays is updated per word of the corpus, by the name of the array.

    Arrays that are not listed are updated at every step.
    """
    windows, found = engine.windows, {}
    kept = text.counts / text.counts.sum() * (keep_thresholds(text.counts, schedule.sample) / 2.0**32)
    contexts = (windows.left + windows.right) * ((windows.size + 1) / 2 if windows.shrink else windows.size)
    if not composes(engine.architecture):
        found["input"] = kept * contexts
    if engine.objective.engine == "windows":
        examples = contexts if engine.architecture.pairs() else 1.0
        found["output"] = engine.objective.draws(kept / kept.sum()) * kept.sum() * examples
    return found


class Part:
    """One array that the ranks exchange.

    limit: the number of updates that are summed in full; base: rows that are exchanged after every round; since: (R,)
    the words that all ranks had learned at each row's last exchange.
    """

    def __init__(self, rows: Rows, limit: float) -> None:
        self.rows, self.limit, self.base = rows, limit, LEAST
        self.since = np.zeros(len(rows.order))

    def begin(self, words: int) -> None:
        """Choose the base for rounds in which all ranks together learn this many words."""
        self.base = max(LEAST, int(np.count_nonzero(self.rows.updates * words > self.limit / OFTEN)))

    def due(self, number: int) -> int:
        """Return how many rows are due after a round of a cycle, counted from 1."""
        return min(self.base * (number & -number), len(self.since))


class Pending(NamedTuple):
    """An exchange of some rows that has begun: this rank's changes, their sum over all ranks once it is known."""

    rows: Rows
    numbers: np.ndarray
    share: np.ndarray
    own: np.ndarray
    total: np.ndarray
    request: Request


class Synchronizer:
    """The exchange of rows between the replicas of all ranks.

    overlap: let the exchange of a round go on while the next one is learned; bytes: sent by this rank so far.
    """

    def __init__(
        self, team: Communicator, engine: Any, updates: dict[str, np.ndarray], words: int, overlap: bool = False
    ) -> None:
        """words: what all ranks together learn in a round."""
        self.team, self.overlap, self.bytes = team, overlap, 0
        self._rounds, self._words = 0, 0  # in this cycle; in all cycles
        self._pending: list[Pending] = []
        self.parts: list[Part] = []
        padded = {"input", *engine.architecture.learned()} | ({"output"} & updates.keys())
        for name, array in engine.state().items():
            team.broadcast(array)
            if array.dtype == np.float32 and array.size:
                matrix = array.reshape(len(array), -1) if array.ndim > 1 else array.reshape(-1, 1)
                columns = engine.problem.width if name in padded else matrix.shape[1]
                rates = updates.get(name, np.full(len(matrix), np.inf))
                limit = OUTPUT_UPDATES if name == "output" else INPUT_UPDATES
                self.parts.append(Part(rows_of(matrix, rates, columns), limit))
        self.begin(words)

    def begin(self, words: int) -> None:
        """Begin a cycle of rounds in which all ranks together learn this many words."""
        self._rounds = 0
        for part in self.parts:
            part.begin(words)

    def synchronize(self, words: int, everything: bool = False) -> bool:
        """Exchange the rows that are due after a round in which all ranks together learned this many words.

        everything: exchange all rows. Return whether that was done: then a cycle has ended, and `begin` must follow.
        """
        self._rounds += 1
        self._words += words
        everything = everything or all(part.due(self._rounds) == len(part.since) for part in self.parts)
        self._finish()
        for part in self.parts:
            self._begin(part, len(part.since) if everything else part.due(self._rounds), everything)
        if not self.overlap:
            self._finish()
        return everything

    def poll(self) -> None:
        """Let an exchange that goes on make progress."""
        for one in self._pending:
            one.request.poll()

    def _begin(self, part: Part, count: int, at_once: bool) -> None:
        """Begin to combine the first `count` rows of an array; if `at_once`, piece after piece, until it is done."""
        rows, columns = part.rows, part.rows.common.shape[1]
        share = shares(rows.updates[:count], self._words - part.since[:count], self.team.size, part.limit)
        part.since[:count] = self._words
        step = max(1, PIECE // columns)
        for first in range(0, count, step):
            some = slice(first, min(count, first + step))
            own = np.empty((some.stop - first, columns), np.float32)
            take_changes(rows.array, rows.common, rows.order[some], own)
            total = own.copy()
            self.bytes += own.nbytes
            request = self.team.begin_sum(total)
            self._pending.append(Pending(rows, rows.order[some], share[some], own, total, request))
            if at_once:
                self._finish()

    def _finish(self) -> None:
        """Wait for the exchanges that have begun, and change the replica."""
        for one in self._pending:
            one.request.wait()
            apply_changes(one.rows.array, one.rows.common, one.numbers, one.share, one.total, one.own)
        self._pending = []
