"""Estimate what a run will take: read the text, and train on a sample of it for a few seconds.

Nothing is saved: the model of the sample is thrown away. An unnamed temporary file holds the encoded sample.
"""

import io
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from w2vtrain.architectures.contract import composes
from w2vtrain.config import Settings
from w2vtrain.embeddings.model import Model
from w2vtrain.engines.schedule import Progress
from w2vtrain.formats.vector_formats.text import write_rows
from w2vtrain.system.machine import available_memory, peak_memory
from w2vtrain.text.encoded import EncodedCorpus, count_words, encode
from w2vtrain.text.excerpt import Excerpt, Observed
from w2vtrain.text.vocabulary import Int64, Vocabulary
from w2vtrain.training.checkpoint import KEPT_CHECKPOINTS
from w2vtrain.training.events import Events
from w2vtrain.training.fit import fit
from w2vtrain.training.inputs import Inputs, corpus_of
from w2vtrain.training.predictor import architecture_of, subwords_of
from w2vtrain.training.space import matrices

MIN_COUNTS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Values of --min-count whose vocabulary is shown."""
BLOCKS = 8
"""Blocks of text that are kept for training, of 4 MiB each."""
MANY_EPOCHS = 1_000_000
"""More epochs of the sample than the seconds of the estimate allow."""
PARTS = 3
"""Parts of the sample's time whose speeds are compared."""
ROWS = 200
"""Rows that are written in memory to estimate the size of a file."""


@dataclass
class Estimate:
    """What a run will take.

    choices: (min_count, words, coverage) of each of MIN_COUNTS; words, coverage: of the chosen vocabulary; tokens: of
    the text; learned: the text's words that are in the vocabulary; reading: seconds that counting took; weights:
    bytes of all matrices, with the copies that the run keeps; free: bytes of memory that were free; peak: the most
    memory of this process, in bytes, None if the system does not tell; checkpoints, encoded, vectors: bytes on disk;
    speeds: words per second in each part of the sample's time; warnings: what is suspicious.
    """

    choices: list[tuple[int, int, float]]
    words: int
    coverage: float
    tokens: int
    types: int
    learned: int
    reading: float
    oddities: dict[str, int]
    weights: int = 0
    free: int = 0
    peak: int | None = None
    checkpoints: int = 0
    encoded: int = 0
    vectors: int = 0
    compiling: float = 0.0
    speeds: list[float] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def seconds(self) -> tuple[float, float, float] | None:
        """Seconds per epoch: the estimate, and those at the speeds of the fastest and the slowest part."""
        if not self.speeds:
            return None
        mean = sum(self.speeds) / len(self.speeds)  # the parts take the same time
        return self.learned / mean, self.learned / max(self.speeds), self.learned / min(self.speeds)

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as built-in types, ready for JSON."""
        found = {name: value for name, value in vars(self).items() if name != "choices"}
        names = ("min_count", "words", "coverage")
        choices = [dict(zip(names, choice, strict=True)) for choice in self.choices]
        return found | {"vocabularies": choices, "seconds_per_epoch": self.seconds}


def estimate(
    inputs: Inputs, settings: Settings, seconds: float, saves: bool, progress: Callable[[int, int | None, int], None]
) -> Estimate:
    """Read all of a corpus, and train on a sample with the settings of a run for some seconds.

    inputs, settings: of the run, see `fit`; saves: whether the run has checkpoints. Held-out text is not read.

    Raise the errors of `fit`, such as ResourceError if memory is too small.
    """
    started, corpus = time.monotonic(), Observed(corpus_of(inputs.sources, settings), BLOCKS)
    with count_words(corpus, threads=int(settings.threads), progress=progress) as counted:
        if inputs.grow and inputs.start:
            vocabulary = inputs.start.grown(counted, settings)
        else:
            vocabulary = inputs.known_words() or counted.vocabulary(settings.min_count, settings.max_vocab)
        counts, stats = counted.counts, counted.stats
        learned = _known(vocabulary, counted.words, counts)
    result = Estimate(
        vocabularies(counts), len(vocabulary), learned / stats.tokens, stats.tokens, stats.types, learned,
        time.monotonic() - started,
        {"overlong": stats.overlong, "invalid": stats.invalid, "nul": stats.nul, "grown": stats.grown},
    )  # fmt: skip
    result.free = available_memory()
    ids = encode(
        Excerpt(corpus.source, corpus.kept), vocabulary=vocabulary, max_sentence=settings.max_sentence,
        sentence_end=settings.sentence_end, threads=int(settings.threads),
    )  # fmt: skip
    ids = replace(ids, sample=bytes(corpus.reader.sample) if corpus.reader else b"")
    model = _train(replace(inputs, heldout=(), encoded=ids), settings, seconds, result)
    _sizes(result, inputs, settings, model, ids, saves)
    return result


def vocabularies(counts: Int64) -> list[tuple[int, int, float]]:
    """Return, for each of MIN_COUNTS that keeps 2 words or more, how many it keeps, and their share of the text.

    counts (n,): of all distinct words.
    """
    total, found = int(counts.sum()), []
    for least in MIN_COUNTS:
        kept = counts[counts >= least]
        if len(kept) >= 2:
            found.append((least, len(kept), int(kept.sum()) / total))
    return found


def _known(vocabulary: Vocabulary, words: list[str], counts: Int64) -> int:
    """Return how many of the text's words are in a vocabulary."""
    known = np.fromiter((word in vocabulary.index for word in words), bool, len(words))
    return int(counts[known].sum())


def _train(inputs: Inputs, settings: Settings, seconds: float, result: Estimate) -> Model:
    """Train on a sample for some seconds; fill in speeds, warnings and the time of compiling."""
    at = [(0.0, 0)]  # seconds, words

    def training(progress: Progress) -> None:
        at.append((progress.seconds, progress.words))

    def ready(taken: float) -> None:
        result.compiling = taken

    events = Events(training=training, ready=ready, warning=result.warnings.append)
    limited = replace(settings, epochs=MANY_EPOCHS, seconds=seconds, patience=None)
    model = fit(inputs, limited, events=events)
    result.speeds = speeds(at, int(settings.threads))
    return model


def speeds(reports: list[tuple[float, int]], threads: int) -> list[float]:
    """Return the words per second in each of PARTS equal parts of the time of some reports of (seconds, words so far).

    A thread reports words only when it has learned a slice of them, so the first and the last report of each thread are
    left out if there are enough: too few words have been reported at first, and too many are reported at the end.
    """
    steady = reports[threads:-threads] if len(reports) > 2 * threads * PARTS else reports
    times, words = np.array(steady, np.float64).T
    marks = np.linspace(times[0], times[-1], PARTS + 1)
    learned = np.diff(np.interp(marks, times, words))
    return [float(part / (marks[1] - marks[0])) for part in learned if part > 0]


def _sizes(
    result: Estimate, inputs: Inputs, settings: Settings, model: Model, ids: EncodedCorpus, saves: bool
) -> None:  # fmt: skip
    """Fill in memory and disk."""
    copies = 1 + bool(inputs.heldout) + bool(inputs.start)
    words, width = result.words, settings.vector_size + settings.bias
    architecture, more = architecture_of(settings, model.words), 0
    if subwords := subwords_of(settings, model.words):
        more = subwords.input_rows(words)
    elif composes(architecture):
        more = architecture.input_rows(words)
    once = matrices(words, width, more)
    result.weights = copies * once
    peak = peak_memory()
    result.peak = None if peak is None else peak + (copies - 1 - bool(inputs.start)) * once
    # With held-out text, a checkpoint holds the best weights, too.
    result.checkpoints = (KEPT_CHECKPOINTS + 1) * (1 + bool(inputs.heldout)) * once if saves else 0
    entries = round(result.learned * len(ids.tokens) / max(1, ids.words))
    result.encoded = 4 * (result.tokens + entries)
    rows, names = model.input[:ROWS], [word.encode("utf-8", "surrogatepass") for word in model.words[:ROWS]]
    written = io.BytesIO()
    write_rows(written, names[: len(rows)], rows[: len(names)])
    result.vectors = round(written.tell() / max(1, min(len(rows), len(names))) * words)
