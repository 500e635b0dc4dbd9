"""Measure the time, memory and accuracy of one training run by one of the systems in systems.py.

Every measurement runs in a fresh process, so that peak memory is that of the job and no system warms another's caches.
speed.py chooses what to measure.
"""

import logging
import math
import statistics
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from w2vtrain.embeddings.analogies import evaluate_analogies
from w2vtrain.embeddings.datasets import read_pairs, read_questions
from w2vtrain.embeddings.similarity import evaluate_similarity
from w2vtrain.errors import ConfigError, DataError, NoKnownWords, Relayed, UndefinedScore, shown
from w2vtrain.formats.vectors import Vectors, read_vectors
from w2vtrain.leaves.compare.systems import Job, child
from w2vtrain.system.children import ChildEnded, run_child

T = TypeVar("T")
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Measurement:
    """The measurements of one training run. Times are in seconds; None means that a system does not report the figure.

    words: corpus words that the system counts in its vocabulary, times epochs; training: from the first trained word to
    the last; whole: from the text to written vectors, without imports; peak_memory: bytes; reading: from the text to
    the vocabulary and, for w2vtrain, to word ids (gensim also creates its matrices); tokens: words of the text read;
    preparing: from the end of reading to the first trained word; examples: that w2vtrain trained.
    """

    job: Job
    words: int
    training_cpu: float | None
    training_wall: float | None
    whole_cpu: float
    whole_wall: float
    peak_memory: int
    scores: dict[str, float]
    tokens: int | None = None
    reading: float | None = None
    preparing: float | None = None
    examples: int | None = None

    @property
    def speed(self) -> float | None:
        """Words per CPU second of training."""
        return self.words / self.training_cpu if self.training_cpu else None

    @property
    def wall_speed(self) -> float | None:
        """Words per second of training, by wall-clock time."""
        return self.words / self.training_wall if self.training_wall else None

    @property
    def read_speed(self) -> float | None:
        """Words of the text per second of counting and, for w2vtrain, encoding."""
        return self.tokens / self.reading if self.tokens and self.reading else None

    def record(self) -> dict[str, Any]:
        """Return the measurement for a JSON file."""
        return {**asdict(self), "wall_speed": self.wall_speed}


def groups(measurements: Sequence[Measurement]) -> list[list[Measurement]]:
    """Return the measurements of each job, one per seed."""
    by_job: dict[Job, list[Measurement]] = {}
    for m in measurements:
        by_job.setdefault(replace(m.job, seed=0), []).append(m)
    return list(by_job.values())


def measure(
    job: Job, questions: str | None = None, pairs: tuple[str, ...] = (), child: Callable[..., Any] = child
) -> Measurement:  # fmt: skip
    """Run a job in its own process and score its vectors. Raise Relayed, with its exit code, if the training fails.

    child: runs the job there.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        output = str(Path(folder) / "vectors.txt")
        try:
            result = run_child(child, [asdict(job), output], folder)
        except (ChildEnded, Relayed) as error:
            reason = "see its message above" if isinstance(error, ChildEnded) else error
            failed = f"{job.system} could not train {job.architecture} with {job.objective}"
            raise Relayed(f"{failed}: {reason}", error.exit_code) from None
        return Measurement(job, scores=evaluate(read_vectors(output), questions, pairs), **result)


def evaluate(
    vectors: Vectors, questions: str | None, pairs: Sequence[str], warn: Callable[[str], Any] = logger.warning
) -> dict[str, float]:  # fmt: skip
    """Return analogy accuracy and its standard error, and Spearman's correlation for each pairs file.

    If there is no score, as when no word of a file is in the vocabulary, it is NaN, and `warn` is called with the
    reason, so that the work of the training before is not lost.
    """
    names = ["analogies", "analogies standard error"] if questions else []
    scores = dict.fromkeys([*names, *(Path(path).stem for path in pairs)], math.nan)

    @contextmanager
    def warned() -> Iterator[None]:
        try:
            yield
        except (NoKnownWords, UndefinedScore) as error:
            warn(f"no score: {error}")

    if questions:
        with warned():
            total = evaluate_analogies(vectors, questions).total
            scores |= zip(names, (total.accuracy or 0.0, total.standard_error or 0.0), strict=True)
    for path in pairs:
        with warned():
            scores[Path(path).stem] = evaluate_similarity(vectors, path).spearman
    return scores


def check_scored(questions: str | None, pairs: Sequence[str]) -> None:
    """Read the files that `evaluate` reads, before training.

    Raise InputMissing or DataError if one is invalid or empty, and ConfigError if two scores would have the same name.
    """
    names = [*(["analogies"] if questions else []), *(Path(path).stem for path in pairs)]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigError(f"pairs: two scores would have the name {shown(twice)}: rename a file, or leave it out")
    files: list[tuple[str, Iterator[Any]]] = [(path, read_pairs(path)) for path in pairs]
    files += [(questions, read_questions(questions))] if questions else []
    for path, rows in files:
        if not deque(rows, 1):
            raise DataError(f"{path}: has no questions or pairs")


def warm_up(job: Job) -> None:
    """Train on 100 words, none left out, so that a later measurement finds the compiled kernel in the cache."""
    with tempfile.TemporaryDirectory() as folder:
        tiny = Path(folder) / "tiny.txt"
        tiny.write_text("a b a b a b a b a b\n" * 10)
        measure(replace(job, corpus=str(tiny), min_count=1, epochs=1, sample=0))


def median_of(measurements: Sequence[T], figure: Callable[[T], float | None]) -> float | None:
    """Return the median of a figure of those measurements that have it, None if none has."""
    known = [value for m in measurements if (value := figure(m)) is not None]
    return statistics.median(known) if known else None
