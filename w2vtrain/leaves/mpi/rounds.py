"""Train on all ranks, round by round: deal chunks, train on them, combine the replicas.

In every round, the ranks train on the next chunks of the epoch's order together. training/trainer.py has the loop over
the epochs: states, and so checkpoints, are those of one process, and any number of ranks can continue from them.
"""

import math
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from w2vtrain.leaves.mpi.pace import Pace
from w2vtrain.leaves.mpi.row_updates import expected_updates
from w2vtrain.leaves.mpi.session import MeetingStage, RankReport, Session
from w2vtrain.leaves.mpi.synchronization import Synchronizer
from w2vtrain.training.epoch import Clock, Order, SliceReport
from w2vtrain.training.trainer import Trainer


class Traffic:
    """Sums of what the ranks have done in complete cycles.

    sums: (3, ranks) seconds of learning and of communication, which includes waiting for slower ranks, and chunks
    learned; rounds: synchronizations; bytes: of one rank's changes that were exchanged in them; interval: the last
    number of chunks per rank and round; words_per_chunk: of the corpus, on average.
    """

    def __init__(self, ranks: int) -> None:
        self.sums, self.words_per_chunk = np.zeros((3, ranks)), 0.0
        self.rounds = self.bytes = self.interval = 0

    def facts(self) -> dict[str, Any]:
        """Return what the ranks have done, as JSON types, for the run's record.

        words_per_second: of learning, by rank; communication: the share of the time that the ranks spent in
        communication, which includes waiting for slower ranks; bytes_per_synchronization: of each rank's changes, on
        average; words_per_synchronization: the last interval, per rank.
        """
        learning, waiting, chunks = self.sums
        total = float((learning + waiting).sum())
        speeds = chunks * self.words_per_chunk / np.maximum(learning, 1e-9)
        return {
            "ranks": len(speeds),
            "words_per_second": [round(speed) for speed in speeds.tolist()],
            "communication": float(waiting.sum()) / max(total, 1e-9),
            "synchronizations": self.rounds,
            "bytes_per_synchronization": round(self.bytes / max(1, self.rounds)),
            "words_per_synchronization": round(self.interval * self.words_per_chunk),
        }


class AgreedClock(Clock):
    """The seconds of training on rank 0 at the last synchronization, which all ranks know."""

    agreed = 0.0

    def start(self) -> None:
        super().start()
        self.agreed = self.spent

    def elapsed(self) -> float:
        return self.agreed

    def here(self) -> float:
        """Return the seconds of training so far by this rank's clock."""
        return super().elapsed()


class Rounds:
    """The rounds of one of several ranks. A signal on any rank sets `stop_requested` of the trainer's run on all.

    pool: the threads of the rank, if it has several. They last for all rounds: `system.parallel` would start
    threads for each, which took 0.3 ms per thread, and the shortest rounds of many threads take about 1 ms.
    """

    def __init__(
        self, trainer: Trainer, clock: AgreedClock, session: Session, pace: Pace, traffic: Traffic
    ) -> None:  # fmt: skip
        self.trainer, self.clock, self.session, self.pace, self.traffic = trainer, clock, session, pace, traffic
        engine, text, threads = trainer.engine, trainer.text, trainer.schedule.threads
        self.rank, ranks = session.comm.rank, session.comm.size
        updates = expected_updates(engine, text, trainer.schedule)
        self.pool = ThreadPoolExecutor(threads, "w2vtrain learner") if threads > 1 else None
        shortest = ranks * pace.shortest * float(text.words.mean())
        self.synchronizer = Synchronizer(session.comm, engine, updates, shortest, self.pool)
        self.waited = 0.0  # in the last synchronization
        self.cycle, self.rounds = np.zeros((3, ranks)), 0  # of this cycle: see Traffic

    def train(self, order: Order) -> Generator[SliceReport]:
        """Train on the rest of an epoch, or up to the end of a cycle after a pause was requested.

        Yield the sums over all ranks of each round.
        """
        wanted = ended = False
        while not ended:
            sums, is_wanted = self.round(order)
            wanted = wanted or is_wanted
            yield sums
            ended = self.trainer.dealt == len(order.chunks) or not self.clock.has_time_for(0)
            if self.exchange(sums.words, ended) and wanted:
                return

    def round(self, order: Order) -> tuple[SliceReport, bool]:
        """Train on the next chunks. Return the sums over all ranks, and whether any rank asks for a pause."""
        trainer, run, began = self.trainer, self.trainer.run, time.monotonic()
        first, chunks = trainer.dealt, len(order.chunks)
        bounds = first + self.pace.deal(chunks - first, order.epoch * chunks + first)
        last = trainer.dealt = int(bounds[-1])
        rates = trainer.rates(order, slice(last - 1, last))
        mine = self.train_share(order, slice(int(bounds[self.rank]), int(bounds[self.rank + 1])))
        now = time.monotonic()
        report = RankReport(
            loss=sum(part.loss for part in mine), examples=sum(part.examples for part in mine),
            cpu=sum(part.cpu for part in mine), stop=run.stop_requested, save=trainer.is_pause_due(),
            elapsed=0 if self.rank else self.clock.here(),
        )  # fmt: skip
        totals, seconds = self.session.meet(report, (now - began, self.waited))
        self.waited, self.clock.agreed = time.monotonic() - now, totals.elapsed
        run.stop_requested = run.stop_requested or totals.stop > 0
        self.cycle += np.vstack([seconds, np.diff(bounds)])
        words, alpha = int(order.words[first:last].sum()), float(rates[-1])
        return SliceReport(totals.loss, int(totals.examples), words, alpha, totals.cpu), totals.stop + totals.save > 0

    def exchange(self, words: int, everything: bool) -> bool:
        """Combine the replicas after a round of this many words. Return whether all rows were, which ends a cycle."""
        began, self.session.stage = time.monotonic(), MeetingStage.EXCHANGING
        complete = self.synchronizer.synchronize(words, everything)
        self.session.stage = MeetingStage.MEETING
        self.waited += time.monotonic() - began
        self.rounds += 1
        if complete:
            self.traffic.sums += self.cycle
            self.traffic.rounds += self.rounds
            epoch = math.ceil(len(self.trainer.text.words) / self.pace.ranks)  # at its end, the ranks synchronize
            self.traffic.bytes, self.traffic.interval = self.synchronizer.bytes, min(self.pace.chunks, epoch)
            self.pace.adapt(*self.cycle)
            self.cycle, self.rounds = np.zeros_like(self.cycle), 0
        return complete

    def train_share(self, order: Order, part: slice) -> list[SliceReport]:
        """Train on this rank's chunks of a round, on all of its threads. Return the report of each thread that did."""
        train = self.trainer.train_slice
        if self.pool is None:
            return [train(order, part, 0)] if part.start < part.stop else []
        bounds = np.linspace(part.start, part.stop, self.trainer.schedule.threads + 1).round().astype(int).tolist()
        work = [
            self.pool.submit(train, order, slice(first, end), thread)
            for thread, (first, end) in enumerate(pairwise(bounds)) if first < end
        ]  # fmt: skip
        return [one.result() for one in work]

    def close(self) -> None:
        """End the threads, without waiting for them."""
        if self.pool:
            self.pool.shutdown(wait=False)
