"""Estimate what a run will take in memory and on disk, from one count of its text. Nothing is trained or written."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from w2vtrain.engines.chunks import Chunks
from w2vtrain.system.machine import available_memory, memory_in_use
from w2vtrain.text.counting import ODDITIES, temporary
from w2vtrain.text.encoded import EncodedCorpus, read
from w2vtrain.text.source import Source
from w2vtrain.text.vocabulary import SENTENCE_END, Int64
from w2vtrain.training.inputs import Generator, corpus_of
from w2vtrain.training.memory_and_disk import TEXT_NEEDS, Footprint, check_disk, engine_that_fits, keeps_best
from w2vtrain.training.plan import Plan
from w2vtrain.training.run import Run
from w2vtrain.training.suspicions import thinned, warnings_of

MIN_COUNTS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Values of --min-count whose vocabulary is shown."""


@dataclass
class Estimate:
    """What a run will take.

    words, coverage: of the chosen vocabulary; tokens: of the text; learned: the text's words that are in the
    vocabulary; reading: seconds that counting took; weights: bytes of all arrays, with the copies that the run keeps;
    free: bytes of memory that were free; peak: memory of the process in training, in bytes; checkpoints, encoded,
    results: bytes on disk, those of the run folder and of the encoded text at their peaks; warnings: what is
    suspicious; vocabularies: see the function of this name; about: what the corpus has besides words.
    """

    words: int
    coverage: float
    tokens: int
    types: int
    learned: int
    reading: float
    oddities: dict[str, int]
    free: int
    vocabularies: list[dict[str, Any]]
    weights: int = 0
    peak: int = 0
    checkpoints: int = 0
    encoded: int = 0
    results: int = 0
    warnings: list[str] = field(default_factory=list)
    about: str = ""


def estimate(plan: Plan, run: Run, progress: Callable[[int, int | None, int], None]) -> Estimate:
    """Count the words of a corpus, and allocate what training would.

    plan: of the run; run: says what would be written besides the log; it is not changed.

    Raise the errors of `fit`, such as ResourceError if memory is too small and WriteError if the disk is.
    """
    inputs, settings = plan.inputs, plan.settings
    temporary(inputs.folder).close()  # raises OutputError
    started, corpus = time.monotonic(), corpus_of(inputs.sources, settings)
    if isinstance(corpus, Generator):
        ids, counts = corpus.generated(settings, inputs.folder), np.zeros(0, np.int64)
    else:
        ids, counts = _counted(plan, corpus, progress)
    vocabulary, learned, stats = ids.vocabulary, ids.words, ids.stats
    vocabulary.text()  # raises DataError
    result = Estimate(
        len(vocabulary), learned / stats.token_count, stats.token_count, stats.types, learned,
        time.monotonic() - started, {name: getattr(stats, name) for name in ODDITIES}, available_memory(),
        vocabularies(counts), about=ids.about(),
    )  # fmt: skip
    result.warnings = warnings_of(ids, corpus, thinned(vocabulary.counts, settings.sample), inputs.raw)
    # Each word, and the end of each sentence.
    entries = len(ids.tokens) if isinstance(corpus, Generator) else learned + stats.lines
    result.encoded = 4 * (stats.token_count + entries) if entries else 0
    folder = inputs.folder or Path(tempfile.gettempdir())
    check_disk([(folder, result.encoded)], TEXT_NEEDS)

    none, text_words = np.zeros(0, np.int32), np.zeros(0, np.int64)
    text = Chunks(none, np.zeros(1, np.int64), text_words, vocabulary.counts, settings.max_sentence, ids.tags)
    engine = engine_that_fits(plan, vocabulary, text)
    weights = engine.weights()
    footprint = Footprint.of(engine.state(), weights, vocabulary, keeps_best(settings, inputs.heldout))
    result.weights = sum(array.values.nbytes for array in engine.arrays()) + footprint.best
    result.weights += footprint.state * bool(inputs.start)
    result.peak = memory_in_use() + footprint.best + 4 * entries
    results = run.results(vocabulary, weights)
    result.results = sum(size for _, size in results)
    if run.folder:
        result.checkpoints = footprint.folder
        check_disk([(run.folder, footprint.left(run.folder)), *results, (folder, 4 * entries)])
        if footprint.checkpoint <= available_memory() / 2:  # a checkpoint is written from a copy if there is room
            result.peak += footprint.checkpoint
    return result


def _counted(
    plan: Plan, corpus: Source, progress: Callable[[int, int | None, int], None]
) -> tuple[EncodedCorpus, Int64]:
    """Return the corpus, without tokens, and the counts of all distinct words (n,)."""
    with read(corpus, threads=int(plan.settings.threads), progress=progress, encodes=False) as counted:
        counted.require_tokens()
        vocabulary = plan.inputs.words(counted, plan.settings)
        if plan.settings.sentence_end and SENTENCE_END not in vocabulary.index:
            vocabulary, _ = vocabulary.with_sentence_end(counted.lines)
        known = np.fromiter((word in vocabulary.index for word in counted.words), bool, len(counted.counts))
        learned = int(counted.counts[known].sum())
        ids = EncodedCorpus(np.zeros(0, np.int32), vocabulary, learned, counted.stats, counted.sample)
        return ids, counted.counts


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
