"""A measurement of `w2vtrain bench` with what may limit the job: operations, and rows to fetch."""

import os
from dataclasses import dataclass
from functools import cache
from typing import Any

import programs
from limits import needed
from numpy.typing import NDArray

from w2vtrain.config import Settings
from w2vtrain.leaves.compare.measure import Measurement, measure
from w2vtrain.leaves.compare.systems import Job, child
from w2vtrain.text.encoded import read
from w2vtrain.training.inputs import corpus_of


@dataclass(frozen=True)
class Observed(Measurement):
    """A measurement and what may limit its job; None means that a figure is not known.

    operations: float32 operations in products and updates; row_bytes: bytes of rows that are fetched from beyond the
    cache and written back, at least (limits.rows_fetched).
    """

    operations: float | None = None
    row_bytes: float | None = None

    @property
    def flops(self) -> float | None:
        """Float32 operations per CPU second of training."""
        return self.operations / self.training_cpu if self.operations and self.training_cpu else None

    @property
    def row_speed(self) -> float | None:
        """Bytes of rows per CPU second of training, at least."""
        return self.row_bytes / self.training_cpu if self.row_bytes is not None and self.training_cpu else None


def observe(job: Job, questions: str | None = None, pairs: tuple[str, ...] = ()) -> Observed:
    """Run a job in its own process and score its vectors. Raise Relayed, with its exit code, if the training fails."""
    run = programs.child if isinstance(job, programs.ProgramJob) else child
    measured = measure(job, questions, pairs, run)
    more: dict[str, Any] = {}
    if measured.examples is not None:
        more = needed(job, _counts(job.corpus, job.min_count, job.max_vocab), measured.examples)
    return Observed(**vars(measured), **more)


@cache
def _counts(corpus: str, min_count: int, max_vocab: int | None) -> NDArray[Any]:
    """Return the counts (V,) of the words in the vocabulary of a job."""
    text, threads = corpus_of([corpus], Settings()), os.cpu_count() or 1
    with read(text, threads=threads, encodes=False) as counted:
        return counted.vocabulary(min_count, max_vocab).counts
