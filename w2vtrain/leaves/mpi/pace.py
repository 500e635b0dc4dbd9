"""How many chunks each rank learns between two synchronizations, how they are dealt, and how many rows are exchanged.

Nothing here learns or exchanges anything.
"""

import numpy as np

from w2vtrain.training.inputs import CHUNK_WORDS

USUAL_CHUNKS = 128
"""Chunks that all ranks together learn between two synchronizations, on long texts and if the network allows it."""
MIN_ROUNDS, MIN_LONG_ROUNDS = 200, 100
"""Minimum numbers of rounds of a run, for the shortest and the longest interval. With 100 rounds, 8 ranks lost 1 point
of analogy accuracy on texts of 5 and of 17 million words, with 50 rounds 2 to 3 points."""
WARM_UP_DIVISOR = 20
"""At the beginning of a run, a round has at most 1 / WARM_UP_DIVISOR of the chunks learned before it, but one per rank
or more. New weights change most, so they are combined most often."""
MAX_CHUNKS = 512
"""Chunks that all ranks together learn in the longest automatic interval, unless there are more threads. Longer texts
do not allow more: on 48 million words, 500 lost 1 point of analogy accuracy, and 1,500 lost 5 points, although the run
had 100 rounds."""
SLOW_SHARE, QUICK_SHARE = 0.25, 0.05
"""Shares of the time spent in communication above which the interval is doubled, and below which it is halved."""
EVEN_SPEED_RATIO = 0.9
"""Ranks get equal numbers of chunks if the slowest has at least this fraction of the speed of the fastest."""


class Pace:
    """The interval between synchronizations, and the speeds of the ranks.

    chunks: per rank and round, on average; shortest, longest: the shortest automatic interval after the beginning of
    the run, and the longest, in chunks per rank; weights: (ranks,) float64, the share of each rank in the chunks of a
    round.
    """

    def __init__(self, ranks: int, threads: int, total: int, words: int | None = None) -> None:
        """Choose the interval for a run of `total` chunks in all epochs.

        An automatic interval has at least one chunk for every thread, except at the beginning: see WARM_UP_DIVISOR.
        threads: the largest number of threads of any rank; words: the words per rank between two synchronizations, or
        None to adapt the interval and the numbers of chunks to the network and the ranks' speeds. With a given
        interval, the results of a run do not depend on time.
        """
        self.ranks, self.words = ranks, words
        self.shortest = max(threads, min(USUAL_CHUNKS, total // MIN_ROUNDS) // ranks, 1)
        self.longest = max(self.shortest, min(MAX_CHUNKS, total // MIN_LONG_ROUNDS) // ranks)
        self.chunks = self.shortest if words is None else max(1, round(words / CHUNK_WORDS))
        self.weights = np.full(ranks, 1 / ranks)

    def deal(self, left: int, done: int) -> np.ndarray:
        """Return the bounds (ranks + 1,) of the ranks' shares of the next chunks, of which `left` are left.

        done: the chunks of the whole run that are done. The first rounds are shorter: see WARM_UP_DIVISOR.
        """
        chunks = min(self.chunks, max(1, done // (WARM_UP_DIVISOR * self.ranks)))
        total = min(left, self.ranks * chunks)
        bounds = np.rint(np.cumsum(self.weights) * total).astype(np.int64)
        return np.concatenate([[0], bounds[:-1], [total]])

    def adapt(self, learning: np.ndarray, waiting: np.ndarray, chunks: np.ndarray) -> None:
        """Adapt to a cycle in which each rank spent seconds (ranks,) on learning and waiting for some chunks (ranks,).

        Waiting is the time in communication, including waiting for slower ranks. All ranks must pass the same numbers.
        """
        if self.words is not None or not (learning > 0).all() or not chunks.all():
            return
        speeds = chunks / learning
        self.weights = np.full(self.ranks, 1 / self.ranks)
        if speeds.min() < EVEN_SPEED_RATIO * speeds.max():
            self.weights = speeds / speeds.sum()
        # The slowest rank waits for nobody: what it waits is the cost of communication.
        cost = float((waiting / (learning + waiting)).min())
        if cost > SLOW_SHARE:
            self.chunks = min(2 * self.chunks, self.longest)
        elif cost < QUICK_SHARE:
            self.chunks = max(self.chunks // 2, self.shortest)
