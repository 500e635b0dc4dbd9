"""Train on all ranks, round by round: deal chunks, train on them, combine the replicas.

In every round, the ranks train on the next chunks of the epoch's order together. training/trainer.py has the loop over
the epochs: states, and so checkpoints, are those of one process, and any number of ranks can continue from them.
"""

import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from w2vtrain.distributed.pace import Pace
from w2vtrain.distributed.row_updates import expected_updates
from w2vtrain.distributed.session import Report, Session
from w2vtrain.distributed.synchronization import Synchronizer
from w2vtrain.errors import Stalled
from w2vtrain.training.run import Run
from w2vtrain.training.trainer import STALLED, Clock, Course, Order, SliceReport

LOOK_SECONDS = 1.0
"""Seconds between two looks at the threads that train."""


@dataclass
class Traffic:
    """What the ranks have done.

    learning, waiting, chunks: (ranks,) seconds of learning and of communication, which includes waiting for slower
    ranks, and chunks learned; rounds: synchronizations; bytes: of one rank's changes that were exchanged in them;
    interval: the last number of chunks per rank and round.
    """

    ranks: int
    learning: np.ndarray = field(init=False)
    waiting: np.ndarray = field(init=False)
    chunks: np.ndarray = field(init=False)
    rounds: int = 0
    bytes: int = 0
    interval: int = 0

    def __post_init__(self) -> None:
        self.learning, self.waiting, self.chunks = np.zeros((3, self.ranks))

    def add(self, other: "Traffic") -> None:
        """Add the traffic of a cycle."""
        self.learning, self.waiting = self.learning + other.learning, self.waiting + other.waiting
        self.chunks, self.rounds = self.chunks + other.chunks, self.rounds + other.rounds

    def facts(self, words_per_chunk: float) -> dict[str, Any]:
        """Return what the ranks have done, as JSON types, for the run's record.

        words_per_second: of learning, by rank; communication: the share of the time that the ranks spent in
        communication, which includes waiting for slower ranks; bytes_per_synchronization: of each rank's changes, on
        average; words_per_synchronization: the last interval, per rank. Only complete cycles count.
        """
        total = float((self.learning + self.waiting).sum())
        speeds = self.chunks * words_per_chunk / np.maximum(self.learning, 1e-9)
        return {
            "ranks": self.ranks,
            "words_per_second": [round(speed) for speed in speeds.tolist()],
            "communication": float(self.waiting.sum()) / max(total, 1e-9),
            "synchronizations": self.rounds,
            "bytes_per_synchronization": round(self.bytes / max(1, self.rounds)),
            "words_per_synchronization": round(self.interval * words_per_chunk),
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
    """The rounds of one of several ranks. A signal on any rank sets `run.stop_requested` on all."""

    def __init__(self, session: Session, pace: Pace, run: Run, traffic: Traffic, course: Course) -> None:
        """course: with an AgreedClock."""
        assert isinstance(course.clock, AgreedClock)
        self.session, self.pace, self.run, self.traffic, self.course = session, pace, run, traffic, course
        self.clock = course.clock
        self.rank, ranks = session.comm.rank, session.comm.size
        engine, text, schedule = course.engine, course.text, course.schedule
        updates = expected_updates(engine, text, schedule)
        self.pool = ThreadPoolExecutor(schedule.threads, "w2vtrain learner") if schedule.threads > 1 else None
        shortest = ranks * pace.shortest * float(text.words.mean())
        self.synchronizer = Synchronizer(session.comm, engine, updates, shortest, self.pool)
        self.waited = 0.0  # in the last synchronization
        self.cycle = Traffic(ranks)

    def train_epoch(self, order: Order, pause: Callable[[], bool]) -> Generator[SliceReport]:
        """Train on the rest of the epoch, or up to the end of a cycle after a pause was requested.

        Yield the sums over all ranks of each round.
        """
        wanted = ended = False
        while not ended:
            sums, is_wanted = self.round(order, pause)
            wanted = wanted or is_wanted
            yield sums
            ended = self.course.dealt == len(order.chunks) or not self.clock.has_time_for(0)
            if self.exchange(sums.words, ended) and wanted:
                return

    def round(self, order: Order, pause: Callable[[], bool]) -> tuple[SliceReport, bool]:
        """Train on the next chunks. Return the sums over all ranks, and whether any rank asks for a pause."""
        began, first = time.monotonic(), self.course.dealt
        bounds = first + self.pace.deal(len(order.chunks) - first, order.epoch * len(order.chunks) + first)
        last = self.course.deal(int(bounds[-1])).stop
        rates = self.course.rates(order, slice(last - 1, last))
        mine = self.train_share(order, slice(int(bounds[self.rank]), int(bounds[self.rank + 1])))
        now = time.monotonic()
        report = Report(
            loss=mine.loss, examples=mine.examples, cpu=mine.cpu, stop=self.run.stop_requested, save=pause(),
            elapsed=0 if self.rank else self.clock.here(),
        )  # fmt: skip
        totals, (learning, waiting) = self.session.meet(report, (now - began, self.waited))
        self.waited, self.clock.agreed = time.monotonic() - now, totals.elapsed
        self.run.stop_requested = self.run.stop_requested or totals.stop > 0
        self.cycle.learning += learning
        self.cycle.waiting += waiting
        self.cycle.chunks += np.diff(bounds)
        words, alpha = int(order.words[first:last].sum()), float(rates[-1])
        return SliceReport(totals.loss, int(totals.examples), words, alpha, totals.cpu), totals.stop + totals.save > 0

    def exchange(self, words: int, everything: bool) -> bool:
        """Combine the replicas after a round of this many words. Return whether all rows were, which ends a cycle."""
        began, self.session.together = time.monotonic(), False
        complete = self.synchronizer.synchronize(words, everything)
        self.session.together = True
        self.waited += time.monotonic() - began
        self.cycle.rounds += 1
        if complete:
            self.traffic.add(self.cycle)
            self.traffic.bytes, self.traffic.interval = self.synchronizer.bytes, self.pace.chunks
            self.pace.adapt(self.cycle.learning, self.cycle.waiting, self.cycle.chunks)
            self.cycle = Traffic(self.traffic.ranks)
        return complete

    def close_pool(self) -> None:
        """End the threads."""
        if self.pool:
            self.pool.shutdown(wait=False)

    def train_share(self, order: Order, part: slice) -> SliceReport:
        """Train on this rank's chunks of a round on all of its threads."""
        if part.start == part.stop:
            return SliceReport(0.0, 0, 0, 0.0, 0.0)
        if self.pool is None:
            return self.course.train_slice(order, part, 0)
        schedule = self.course.schedule
        bounds = np.linspace(part.start, part.stop, schedule.threads + 1).round().astype(int).tolist()
        work = {
            self.pool.submit(self.course.train_slice, order, slice(first, end), thread): thread
            for thread, (first, end) in enumerate(pairwise(bounds)) if first < end
        }  # fmt: skip
        waited, missing = 0.0, set(work)
        while missing and waited < schedule.stall_timeout:
            began = time.monotonic()
            _, missing = wait(missing, LOOK_SECONDS)
            waited += min(time.monotonic() - began, LOOK_SECONDS)  # a process that was suspended has not stalled
        if missing:
            thread = min(work[one] for one in missing)
            raise Stalled.after(schedule.stall_timeout, thread, STALLED)
        return _sum([one.result() for one in work])


def _sum(parts: list[SliceReport]) -> SliceReport:
    """Return the sums over the slices of one rank in a round. Their words do not matter."""
    loss, cpu = sum(one.loss for one in parts), sum(one.cpu for one in parts)
    return SliceReport(loss, sum(one.examples for one in parts), 0, parts[-1].alpha, cpu)
