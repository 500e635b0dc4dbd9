"""A measurement of `w2vtrain bench` with what may limit the job: operations, rows to fetch, distance of the cores."""

import os
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import programs
from coherence import FAR_SECONDS, round_trip
from limits import needed
from numpy.typing import NDArray

from w2vtrain.config import Settings
from w2vtrain.evaluation.measure import Measurement, measure
from w2vtrain.evaluation.systems import Job, child
from w2vtrain.system.machine import automatic_threads
from w2vtrain.text.encoded import count
from w2vtrain.training.inputs import corpus_of


@dataclass(frozen=True)
class Observed(Measurement):
    """A measurement and what may limit its job; None means that a figure is not known.

    operations: float32 operations in products and updates; row_bytes: bytes of rows that are fetched from beyond the
    cache and written back, at least (limits.rows_fetched); round_trips: of a cache line between two cores, directly
    before and after a job of several threads (coherence.py).
    """

    operations: float | None = None
    row_bytes: float | None = None
    round_trips: tuple[float | None, float | None] = (None, None)

    @property
    def cores(self) -> str | None:
        """How far apart the cores are: "near" or "far" by both round trips, "mixed" if these differ, None if unknown.

        Virtual machines move their cores about, so that this belongs to each measurement.
        """
        before, after = self.round_trips
        if before is None or after is None:
            return None
        return "near" if max(before, after) < FAR_SECONDS else "far" if min(before, after) >= FAR_SECONDS else "mixed"

    @property
    def round_trip(self) -> float | None:
        """Seconds of a cache line's round trip: the mean of those before and after the job."""
        known = [trip for trip in self.round_trips if trip is not None]
        return statistics.mean(known) if known else None

    @property
    def flops(self) -> float | None:
        """Float32 operations per CPU second of training."""
        return self.operations / self.training_cpu if self.operations and self.training_cpu else None

    @property
    def row_speed(self) -> float | None:
        """Bytes of rows per CPU second of training, at least."""
        return self.row_bytes / self.training_cpu if self.row_bytes is not None and self.training_cpu else None

    def record(self) -> dict[str, Any]:
        """Return the measurement for a JSON file."""
        return {**super().record(), "cores": self.cores}


def observe(job: Job, questions: str | None = None, pairs: tuple[str, ...] = ()) -> Observed:
    """Run a job in its own process and score its vectors. Raise Relayed, with its exit code, if the training fails."""
    trips: list[float | None] = []
    run = programs.child if isinstance(job, programs.ProgramJob) else child
    measured = measure(job, questions, pairs, run, _between_round_trips(job, trips))
    more: dict[str, Any] = {"round_trips": tuple(trips)}
    if measured.examples is not None:
        more |= needed(job, _counts(job.corpus, job.min_count, job.max_vocab), measured.examples)
    return Observed(**vars(measured), **more)


@contextmanager
def _between_round_trips(job: Job, trips: list[float | None]) -> Iterator[None]:
    """Append the seconds of a round trip before and after a block; None if there is one thread or one core."""
    shared = job.threads > 1 and automatic_threads()[0] > 1
    trips.append(round_trip() if shared else None)
    yield
    trips.append(round_trip() if shared else None)


@cache
def _counts(corpus: str, min_count: int, max_vocab: int | None) -> NDArray[Any]:
    """Return the counts (V,) of the words in the vocabulary of a job."""
    text, threads = corpus_of([corpus], Settings()), os.cpu_count() or 1
    vocabulary, _ = count(text, min_count=min_count, max_vocab=max_vocab, threads=threads)
    return vocabulary.counts
