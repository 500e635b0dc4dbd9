"""Measure the time, memory and accuracy of one training run by one of the systems in systems.py.

Every measurement runs in a fresh process, so that peak memory is that of the job and no system warms another's caches.
bench.py and sweep.py choose what to measure.
"""

import json
import statistics
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from w2vtrain.embeddings.analogies import evaluate_analogies
from w2vtrain.embeddings.similarity import evaluate_similarity
from w2vtrain.errors import ConfigError
from w2vtrain.evaluation.coherence import FAR, round_trip
from w2vtrain.evaluation.systems import Job, child
from w2vtrain.formats.vectors import read_vectors
from w2vtrain.system.children import run_child
from w2vtrain.system.machine import automatic_threads


@dataclass(frozen=True)
class Measurement:
    """The measurements of one training run. Times are in seconds; None means that a system does not report the figure.

    words: corpus words that the system counts in its vocabulary, times epochs; training: from the first trained word to
    the last; whole: from the text to written vectors, without imports; peak_memory: bytes; operations: float32
    operations in products and updates; row_bytes: bytes of rows that are fetched from beyond the cache and written
    back, at least (limits.rows_fetched); round_trips: of a cache line between two cores, directly before and after a
    job of several threads (coherence.py); reading: from the text to the vocabulary and, for w2vtrain, to word ids
    (gensim also creates its matrices); tokens: words of the text read; preparing: from the end of reading to the first
    trained word.
    """

    job: Job
    words: int
    training_cpu: float | None
    training_wall: float | None
    whole_cpu: float
    whole_wall: float
    peak_memory: int
    scores: dict[str, float]
    operations: float | None = None
    row_bytes: float | None = None
    round_trips: tuple[float | None, float | None] = (None, None)
    tokens: int | None = None
    reading: float | None = None
    preparing: float | None = None

    @property
    def speed(self) -> float | None:
        """Words per CPU second of training."""
        return self.words / self.training_cpu if self.training_cpu else None

    @property
    def wall_speed(self) -> float | None:
        """Words per second of training, by wall-clock time."""
        return self.words / self.training_wall if self.training_wall else None

    @property
    def cores(self) -> str | None:
        """How far apart the cores are: "near" or "far" by both round trips, "mixed" if these differ, None if unknown.

        Virtual machines move their cores about, so that this belongs to each measurement.
        """
        before, after = self.round_trips
        if before is None or after is None:
            return None
        return "near" if max(before, after) < FAR else "far" if min(before, after) >= FAR else "mixed"

    @property
    def round_trip(self) -> float | None:
        """Seconds of a cache line's round trip: the mean of those before and after the job."""
        known = [trip for trip in self.round_trips if trip is not None]
        return statistics.mean(known) if known else None

    @property
    def read_speed(self) -> float | None:
        """Words of the text per second of counting and, for w2vtrain, encoding."""
        return self.tokens / self.reading if self.tokens and self.reading else None

    @property
    def flops(self) -> float | None:
        """Float32 operations per CPU second of training."""
        return self.operations / self.training_cpu if self.operations and self.training_cpu else None

    @property
    def row_speed(self) -> float | None:
        """Bytes of rows per CPU second of training, at least."""
        return self.row_bytes / self.training_cpu if self.row_bytes is not None and self.training_cpu else None


def measure(job: Job, questions: str | None = None, pairs: tuple[str, ...] = ()) -> Measurement:
    """Run a job in its own process and score its vectors. Raise ConfigError if the training fails."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        output = str(Path(folder) / "vectors.txt")
        before = _round_trip(job)
        code, last = run_child(child, json.dumps([asdict(job), output]).encode(), folder)
        after = _round_trip(job)
        if code:
            raise ConfigError(
                f"{job.system} could not train {job.architecture} with {job.objective}: see its message above"
            )
        result = json.loads(last)
        scores = evaluate(output, questions, pairs)
    (cpu, wall), whole = result["training"], result["whole"]
    times = cpu, wall, whole[0], whole[1]
    more = {name: result.get(name) for name in ("operations", "row_bytes", "tokens", "reading", "preparing")}
    more["round_trips"] = before, after
    return Measurement(job, result["words"], *times, result["peak_memory"], scores, **more)


def _round_trip(job: Job) -> float | None:
    """Return the seconds of a cache line's round trip between two cores; None if there is one thread or one core."""
    return round_trip() if job.threads > 1 and automatic_threads()[0] > 1 else None


def evaluate(vectors: str, questions: str | None, pairs: tuple[str, ...]) -> dict[str, float]:
    """Return analogy accuracy and its standard error, and Spearman's correlation for each pairs file.

    Analogies are answered with the 30,000 most frequent words.
    """
    found, scores = read_vectors(vectors), {}
    if questions:
        total = evaluate_analogies(found, questions, restrict_vocab=30_000).total
        scores["analogies"] = total.accuracy or 0.0
        scores["analogies standard error"] = total.standard_error or 0.0
    for path in pairs:
        scores[Path(path).stem] = evaluate_similarity(found, path).spearman
    return scores


def warm_up(job: Job, folder: str) -> None:
    """Train on 100 words, so that a later measurement finds the compiled kernel in the cache."""
    tiny = Path(folder) / "tiny.txt"
    tiny.write_text("a b a b a b a b a b\n" * 10)
    measure(replace(job, corpus=str(tiny), min_count=1, epochs=1))
