"""Estimate what a run will take: read the text, and train on a sample of it for a few seconds.

Nothing is saved: the model of the sample is thrown away. An unnamed temporary file holds the encoded sample.
"""

import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from w2vtrain.config import Settings
from w2vtrain.embeddings.model import Model
from w2vtrain.engines.contract import Chunks, Engine, Weights
from w2vtrain.probability.dense import one_thread
from w2vtrain.system.machine import available_memory, memory_in_use, peak_memory
from w2vtrain.text.counting import temporary
from w2vtrain.text.encoded import EncodedCorpus, encode, read
from w2vtrain.text.excerpt import Excerpt, Reservoir
from w2vtrain.text.vocabulary import Int64, Vocabulary
from w2vtrain.training.events import Events
from w2vtrain.training.fit import fit
from w2vtrain.training.inputs import corpus_of, heldout_text
from w2vtrain.training.perplexity import score
from w2vtrain.training.plan import Plan
from w2vtrain.training.predictor import predictor
from w2vtrain.training.run import Run
from w2vtrain.training.run_folder import EPOCH_END_SHARE
from w2vtrain.training.scoring_units import Interrupted, Watch
from w2vtrain.training.space import TEXT_NEEDS, Footprint, check_disk, keeps_best
from w2vtrain.training.state import Progress

MIN_COUNTS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Values of --min-count whose vocabulary is shown."""
SAMPLE_BLOCKS = 8
"""Blocks of text that are kept for training, of 4 MiB each."""
MANY_EPOCHS = 1_000_000
"""More epochs of the sample than the seconds of the estimate allow."""
PARTS_PER_THREAD, SCORING_SECONDS = 16, 5.0
"""Parts of the held-out text that are scored, and the time after which fewer are enough."""
SPEED_PARTS = 3
"""Parts of the sample's time whose speeds are compared."""


@dataclass
class Estimate:
    """What a run will take.

    words, coverage: of the chosen vocabulary; tokens: of the text; learned: the text's words that are in the
    vocabulary; reading: seconds that counting took; weights: bytes of all arrays, with the copies that the run keeps;
    free: bytes of memory that were free; peak: the most memory of the run, in bytes, with the pages of the encoded text
    that the system can take back; checkpoints, encoded, results: bytes on disk, those of the run folder and of the
    encoded text at their peaks; cpu_seconds: of all threads, per epoch; scoring: seconds per epoch for held-out text;
    speeds: words per second in each part of the sample's time; warnings: what is suspicious; vocabularies: see the
    function of this name.
    """

    words: int
    coverage: float
    tokens: int
    types: int
    learned: int
    reading: float
    oddities: dict[str, int]
    weights: int = 0
    free: int = 0
    peak: int = 0
    checkpoints: int = 0
    encoded: int = 0
    results: int = 0
    compiling: float = 0.0
    cpu_seconds: float | None = None
    scoring: float = 0.0
    speeds: list[float] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    vocabularies: list[dict[str, Any]] = field(default_factory=list)

    @property
    def seconds(self) -> tuple[float, float, float] | None:
        """Seconds per epoch: the estimate, and those at the speeds of the fastest and the slowest part."""
        if not self.speeds:
            return None
        mean = sum(self.speeds) / len(self.speeds)  # the parts take the same time
        return self.learned / mean, self.learned / max(self.speeds), self.learned / min(self.speeds)

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as built-in types, ready for JSON."""
        return vars(self) | {"seconds_per_epoch": self.seconds}


def estimate(plan: Plan, seconds: float, run: Run, progress: Callable[[int, int | None, int], None]) -> Estimate:
    """Read all of a corpus and of the held-out text, and train on a sample with the settings of a run for some seconds.

    plan: of the run; run: says what would be written besides the log; it is not changed.

    Raise the errors of `fit`, such as ResourceError if memory is too small and WriteError if the disk is.
    """
    inputs, settings = plan.inputs, plan.settings
    temporary(inputs.folder).close()  # raises OutputError
    blocks = Reservoir(SAMPLE_BLOCKS)
    result, vocabulary, ids = _read(plan, blocks, progress)
    reading, kept = peak_memory(), sum(map(len, blocks.kept))
    blocks.kept.clear()
    text = heldout_text(inputs.heldout, settings, vocabulary)[0] if inputs.heldout else None
    entries = round(result.learned * len(ids.tokens) / max(1, ids.words))
    result.encoded = 4 * (result.tokens + entries)
    encoding = inputs.folder or Path(tempfile.gettempdir())
    check_disk([(encoding, result.encoded)], TEXT_NEEDS)
    engine, model = _train(plan, ids, seconds, result)
    result.peak = training = peak_memory()
    if training == reading:
        result.peak -= kept  # a run does not keep blocks of text
    used = memory_in_use()
    if text:
        result.scoring = _score(engine, text, settings, vocabulary)
        # The memory of threads that have ended is not used by those that score after the next epoch.
        used = peak_memory() + (peak_memory() - used) * (settings.epochs > 1)
    weights = Weights(model.input, model.output, model.arrays)
    footprint = Footprint.of(engine.state(), weights, vocabulary, keeps_best(settings, text))
    _memory(result, plan, engine, footprint, run, used + 4 * max(0, entries - len(ids.tokens)))
    _disk(result, footprint, run, vocabulary, weights, (encoding, 4 * entries))
    return result


def _read(
    plan: Plan, blocks: Reservoir, progress: Callable[[int, int | None, int], None]
) -> tuple[Estimate, Vocabulary, EncodedCorpus]:
    """Read all of a corpus, and encode the sample of its blocks that it leaves in `blocks`."""
    inputs, settings = plan.inputs, plan.settings
    started, corpus, threads = time.monotonic(), corpus_of(inputs.sources, settings), int(settings.threads)
    with read(corpus, threads=threads, progress=progress, encodes=False, look=blocks.add) as counted:
        counted.require_tokens()
        vocabulary = inputs.words(counted, settings)
        counts, stats = counted.counts, counted.stats
        known = np.fromiter((word in vocabulary.index for word in counted.words), bool, len(counts))
        learned = int(counts[known].sum())
    result = Estimate(
        len(vocabulary), learned / stats.token_count, stats.token_count, stats.types, learned,
        time.monotonic() - started,
        {"overlong": stats.overlong, "invalid": stats.invalid, "nul": stats.nul, "grown": stats.grown},
        free=available_memory(), vocabularies=vocabularies(counts),
    )  # fmt: skip
    ids = encode(
        Excerpt(corpus, blocks.kept), vocabulary=vocabulary, max_sentence=settings.max_sentence,
        sentence_end=settings.sentence_end, threads=threads,
    )  # fmt: skip
    return result, vocabulary, replace(ids, sample=counted.sample)


def vocabularies(counts: Int64) -> list[dict[str, Any]]:
    """Return, for each of MIN_COUNTS that keeps 2 words or more, how many it keeps, and their share of the text.

    The keys are min_count, words and coverage. counts (n,): of all distinct words.
    """
    total, choices = int(counts.sum()), []
    for least in MIN_COUNTS:
        kept = counts[counts >= least]
        if len(kept) >= 2:
            choices.append({"min_count": least, "words": len(kept), "coverage": int(kept.sum()) / total})
    return choices


def _train(plan: Plan, sample: EncodedCorpus, seconds: float, result: Estimate) -> tuple[Engine, Model]:
    """Train on a sample for some seconds; fill in speeds, CPU seconds, warnings and the time of compiling."""
    at, engines = [(0.0, 0)], list[Engine]()  # seconds, words

    def training(progress: Progress) -> None:
        at.append((progress.seconds, progress.words))

    events = Events(training=training, warning=result.warnings.append)
    inputs = replace(plan.inputs, heldout=(), encoded=sample)
    limited = replace(plan.settings, epochs=MANY_EPOCHS, seconds=seconds, patience=None)
    model = fit(Plan.of(inputs, limited), events=events, prepare=engines.append)
    result.compiling = model.record["seconds"]["preparing"]
    result.speeds = speeds(at, int(limited.threads))
    if pace := model.record["words_per_cpu_second"]:
        result.cpu_seconds = result.learned / pace
    return engines[0], model


def _score(engine: Engine, text: Chunks, settings: Settings, vocabulary: Vocabulary) -> float:
    """Score parts of the held-out text, until it is known about how many seconds all of it takes; return these.

    Each thread scores some parts, if that takes no longer than SCORING_SECONDS, because each has memory of its own.
    """
    seconds, parts, threads = list[float](), [0], int(settings.threads)
    end = time.monotonic() + SCORING_SECONDS

    def progress(done: int, _: int) -> None:
        parts[0] = done

    def stop() -> bool:
        return bool(seconds) and (parts[0] >= PARTS_PER_THREAD * threads or time.monotonic() > end)

    watch = Watch(progress, seconds.append, stop)
    current = predictor(settings, vocabulary, engine.weights())
    with one_thread(), suppress(Interrupted):
        score(current, text, threads, watch)
    return seconds[0]


def speeds(reports: list[tuple[float, int]], threads: int) -> list[float]:
    """Return the words per second in each of SPEED_PARTS equal parts of the time of reports of (seconds, words so far).

    A thread reports words only when it has trained on a slice, so the first and the last report of each thread are
    left out if there are enough: too few words have been reported at first, and too many are reported at the end.
    """
    steady = reports[threads:-threads] if len(reports) > 2 * threads * SPEED_PARTS else reports
    times, words = np.array(steady, np.float64).T
    marks = np.linspace(times[0], times[-1], SPEED_PARTS + 1)
    learned = np.diff(np.interp(marks, times, words))
    return [float(count / (marks[1] - marks[0])) for count in learned if count > 0]


def _memory(result: Estimate, plan: Plan, engine: Engine, footprint: Footprint, run: Run, used: int) -> None:
    """Fill in memory. used: bytes of the process while it trains or scores, without copies of weights.

    A checkpoint is due after each epoch with held-out text, otherwise only in longer runs: here in half the time that
    `RunFolder` waits, because the time is an estimate, and memory must not be short. It is written in the background,
    from a copy, if there is enough memory for it, as in `RunFolder`.
    """
    result.weights = sum(array.values.nbytes for array in engine.arrays()) + footprint.best
    result.weights += footprint.state * bool(plan.inputs.start)
    total = result.seconds[0] * plan.settings.epochs if result.seconds else 0.0
    is_due = run.folder and (plan.inputs.heldout or total > run.every * EPOCH_END_SHARE / 2)
    copies = footprint.checkpoint if is_due and footprint.checkpoint <= available_memory() / 2 else 0
    result.peak = max(result.peak, used + footprint.best + copies)


def _disk(
    result: Estimate, footprint: Footprint, run: Run, vocabulary: Vocabulary, weights: Weights,
    encoded: tuple[Path, int],
) -> None:  # fmt: skip
    """Fill in disk space. Raise WriteError if the disk is too small. encoded: the encoded text in training."""
    results = run.results(vocabulary, weights)
    result.results = sum(size for _, size in results)
    if run.folder is None:
        return
    result.checkpoints = footprint.folder
    check_disk([(run.folder, footprint.left(run.folder)), *results, encoded])
