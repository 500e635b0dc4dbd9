"""Score held-out text with a model as a language model: exact and unnormalized perplexity, and log Z.

This module trains nothing, and uses an objective only through its scorer.
"""

import itertools
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from w2vtrain.embeddings.model import Model
from w2vtrain.engines.block_engine import Examples, gather
from w2vtrain.engines.chunks import Chunks
from w2vtrain.engines.window_kernel import PLANNED_WORDS
from w2vtrain.errors import DataError
from w2vtrain.objectives.contract import SCORER, Contexts
from w2vtrain.probability.dense import Workspace, one_thread
from w2vtrain.training.inputs import Sources, heldout_text
from w2vtrain.training.predictor import Predictor, model_predictor
from w2vtrain.training.scoring_units import Check, Unit, Watch, run_units
from w2vtrain.training.state import PerplexityScore
from w2vtrain.training.warm_start import check_phrases

EXAMPLES_PER_BLOCK = 256
"""Examples, or context words, that are scored together."""
MIN_UNITS = 64
"""A text with fewer chunks is divided into about this many units, so that threads end together."""
SAMPLES_PER_UNIT = 16
"""Sampled examples per unit, if log Z is computed for a sample only."""


def score(predictor: Predictor, text: Chunks, threads: int = 1, watch: Watch | None = None) -> PerplexityScore:
    """Score every target word of a text, with full windows.

    With skip-gram, whose hidden vectors are input rows, log Z is computed once per context word if the scorer has
    `raw`: see objectives.contract.Scorer. If `scorer.affordable` is not 0, log Z is computed for a random sample of
    about that many examples.

    The result does not depend on the number of threads. Raise DataError if no word of the text has a context word, and
    Interrupted if `watch.stop` returns True.
    """
    return score_parts(predictor, text, threads, watch)[0]


def score_parts(
    predictor: Predictor, text: Chunks, threads: int = 1, watch: Watch | None = None
) -> tuple[PerplexityScore, np.ndarray | None]:
    """Return what `score` does, and for each of the text's C chunks, in its order, the predictions and their loss.

    parts (C, 2) float64: predictions, and the sum of their negative log-probabilities, so that two models can be
    compared chunk by chunk; None if log Z is computed once per context word or for a sample only.
    """
    work = _Work(predictor, text)
    sums, seconds = run_units(work.kinds(), threads, watch or Watch())
    n, raw, normalized, z, z2 = work.totals(sums)
    if n == 0:
        raise DataError("the held-out text has no word with a context word: it needs lines of two or more known words")
    if normalized == 0:  # all sampled places are in chunks without examples
        raise DataError(
            "too few words of the held-out text have a context word to estimate log Z from a sample: use a longer text"
        )
    mean = z / normalized
    variance, exact = max(0.0, z2 / normalized - mean**2), raw / n - mean
    bits = -exact / math.log(2)
    error = math.sqrt(variance / normalized) if normalized < n else 0.0
    parts = None
    if work.is_exact:  # the units are parts of chunks, chunk by chunk
        parts = np.stack([sums[:, 0], sums[:, 3] - sums[:, 1]], axis=1).reshape(len(text.words), -1, 2).sum(axis=1)
    score = PerplexityScore(_exp(-exact), _exp(-raw / n), bits, mean, variance, int(n), int(normalized), seconds, error)
    return score, parts


def perplexity(
    model: Model, sources: Sources, threads: int = 1, watch: Watch | None = None, phrases: str | None = None,
    warn: Callable[[str], None] = lambda sentence: None,
) -> tuple[PerplexityScore, np.ndarray | None, float]:  # fmt: skip
    """Return a model's score on text with its parts, see score_parts, and the share of known tokens, 0 to 1.

    phrases: the table of the phrases that the model was trained with, see `check_phrases`; warn: called with what was
    skipped or replaced.
    """
    with one_thread():
        settings, vocabulary, predictor = model_predictor(model)
        check_phrases(settings.phrases, phrases, "the model")
        settings = replace(settings, phrases=phrases)
        text, coverage = heldout_text(sources, settings, vocabulary, warn=warn)
        return (*score_parts(predictor, text, threads, watch), coverage)


class _Block(NamedTuple):
    """Consecutive examples of a chunk: hidden vectors H (B, width) float32 and targets (B,) int32.

    words (B,) int32: with skip-gram, the context word of each example; meaningless otherwise. contexts: the context
    words of each example.
    """

    H: np.ndarray
    targets: np.ndarray
    words: np.ndarray
    contexts: Contexts


class _Work:
    """The work of scoring a text, divided into units that threads can process in any order.

    A unit returns five sums: examples, their raw scores, examples with known log Z, log Z, log² Z.
    """

    def __init__(self, predictor: Predictor, text: Chunks) -> None:
        self.scorer, self.layer, self.text = predictor.scorer, predictor.layer, text
        self.windows = predictor.windows._replace(shrink=False)
        self.keep = np.full(len(text.counts), 2**32 - 1, np.uint32)
        SCORER.verify(type(self.scorer), "scorer")
        self.sampled = self.scorer.affordable > 0
        in_place = self.layer.architecture.in_place()
        self.by_word = in_place and self.scorer.raw is not None and not self.sampled
        self.is_exact = not (self.by_word or self.sampled)
        # For each context word: the number of examples that have it, and its log Z.
        self.lock = threading.Lock()
        self.examples = np.zeros(len(text.counts), np.int64)
        self.log_z = np.zeros(len(text.counts))

    def kinds(self) -> list[list[Unit]]:
        """Return the units in groups of similar cost."""
        chunks = range(len(self.text.words))
        blocks = -(-int(self.text.words.max(initial=1)) // EXAMPLES_PER_BLOCK)
        parts = min(-(-MIN_UNITS // max(1, len(chunks))), blocks)
        stretches: list[Unit] = [
            partial(self._stretch, chunk, part, parts) for chunk in chunks for part in range(parts)
        ]
        if self.is_exact:
            return [stretches]
        return [stretches, self._samples() if self.sampled else self._words()]

    def totals(self, sums: np.ndarray) -> list[float]:
        """Return the five sums over all units. If log Z is known per word, use each example's context word."""
        with np.errstate(all="ignore"):
            total = sums.sum(axis=0)
            if self.by_word:
                used = self.examples > 0
                n, log_z = self.examples[used], self.log_z[used]
                total[2:] = n.sum(), (n * log_z).sum(), (n * log_z**2).sum()
        return [float(x) for x in total]

    def blocks(self, chunk: int, work: Workspace, part: int = 0, parts: int = 1) -> Iterator[_Block]:
        """Yield blocks part, part + parts, part + 2 parts, ... of a chunk, with all its words and full windows."""
        first, last = int(self.text.starts[chunk]), int(self.text.starts[chunk + 1])
        stream = (0, 0, chunk)  # never drawn from: all words are kept and no window shrinks
        architecture, pairs = self.layer.architecture, self.layer.architecture.pairs()
        gathered = gather(self.text.tokens, first, last, self.keep, self.windows, architecture, stream, work)
        places = ((some, at) for some in gathered for at in range(0, len(some.targets), EXAMPLES_PER_BLOCK))
        for examples, at in itertools.islice(places, part, None, parts):
            block = slice(at, at + EXAMPLES_PER_BLOCK)
            targets, contexts = examples.targets[block], examples.contexts_of(block, pairs)
            yield _Block(self._hidden(examples, at, len(targets)), targets, examples.words(block), contexts)

    def _hidden(self, examples: Examples, first: int, count: int) -> np.ndarray:
        H = np.empty((count, self.layer.width), np.float32)
        self.layer.hidden(examples, first, H)
        return H

    def _stretch(self, chunk: int, part: int, parts: int, work: Workspace, check: Check) -> np.ndarray:
        """Score a part of a chunk. Compute log Z of each example, unless that is done by word or for a sample."""
        sums = np.zeros(5)
        for block in self.blocks(chunk, work, part, parts):
            check()
            scorer = given(self.scorer, block.contexts)
            if self.is_exact:
                raw, log_z = (values.astype(np.float64) for values in scorer.scores(block.H, block.targets))
                sums[2:] += len(log_z), log_z.sum(), (log_z**2).sum()
            else:
                raw = scorer.raw(block.H, block.targets).astype(np.float64)
            sums[:2] += len(raw), raw.sum()
            if self.by_word:
                with self.lock:
                    np.add.at(self.examples, block.words, 1)
        return sums

    def _words(self) -> list[Unit]:
        """Return the units that compute log Z for each word that occurs in the text."""
        occurs = np.zeros(len(self.text.counts) + 1, np.bool_)
        for first, last in itertools.pairwise(self.text.starts.tolist()):
            occurs[self.text.tokens[first:last]] = True
        occurs[-1] = False  # -1 marks the end of a sentence
        if self.windows.end >= 0:
            occurs[self.windows.end] = True
        words = np.flatnonzero(occurs).astype(np.int32)
        return [
            partial(self._log_z_of, words[at : at + EXAMPLES_PER_BLOCK])
            for at in range(0, len(words), EXAMPLES_PER_BLOCK)
        ]

    def _log_z_of(self, words: np.ndarray, work: Workspace, check: Check) -> np.ndarray:
        check()
        none = np.zeros_like(words)
        alone = Examples(words, np.arange(len(words)), none + 1, none, none, words, words)
        H, scorer = self._hidden(alone, 0, len(words)), given(self.scorer, alone.contexts_of(slice(None), pairs=True))
        self.log_z[words] = scorer.scores(H, words)[1]  # log Z does not depend on the target
        return np.zeros(5)

    def _samples(self) -> list[Unit]:
        """Return the units that compute log Z of sampled examples, drawn from the first blocks of each chunk."""
        units: list[Unit] = []
        chunks, reach = len(self.text.words), self.windows.size
        quotas = np.diff(np.arange(chunks + 1) * self.scorer.affordable // max(1, chunks))  # their sum is `affordable`
        for chunk, (tokens, quota) in enumerate(zip(np.diff(self.text.starts).tolist(), quotas.tolist(), strict=True)):
            most = tokens * 2 * min(reach, max(PLANNED_WORDS, tokens)) if self.layer.architecture.pairs() else tokens
            quota = min(quota, most)
            for at in range(0, quota, EXAMPLES_PER_BLOCK):
                size = min(EXAMPLES_PER_BLOCK, quota - at)
                shares = -(-size // SAMPLES_PER_UNIT)
                units += [partial(self._sample, chunk, at, size, slice(k, None, shares)) for k in range(shares)]
        return units

    def _sample(self, chunk: int, at: int, size: int, share: slice, work: Workspace, check: Check) -> np.ndarray:
        """Draw `size` random examples from the block that begins at `at`; compute log Z of the part `share` of them."""
        sums = np.zeros(5)
        for block in itertools.islice(self.blocks(chunk, work, at // EXAMPLES_PER_BLOCK), 1):
            check()
            n = len(block.targets)
            some = np.random.default_rng([chunk, at]).permutation(n)[:size] if size < n else np.arange(n)
            times = np.ones(len(some), np.int64)
            if self.layer.architecture.in_place():  # examples with the same context word share log Z
                _, first, times = np.unique(block.words[some], return_index=True, return_counts=True)
                some = some[first]
            some, times = some[share], times[share]
            if len(some):
                words, starts, sizes = block.contexts
                scorer = given(self.scorer, Contexts(words, starts[some], sizes[some]))
                log_z = scorer.scores(block.H[some], block.targets[some])[1].astype(np.float64)
                sums[2:] = times.sum(), (times * log_z).sum(), (times * log_z**2).sum()
        return sums


def given(scorer: Any, contexts: Contexts) -> Any:
    """Return the scorer for examples with these contexts."""
    return scorer if scorer.given is None else scorer.given(contexts)


def paces(
    predictor: Predictor, others: Sequence[Any], text: Chunks, rounds: int = 7, seconds: float = 0.1
) -> list[list[float]]:
    """Return the targets per CPU second that one thread scores with each scorer's `log_prob`, one figure per round.

    The first scorer is the predictor's, and `others` score the same hidden vectors. The scorers take turns, each for at
    least `seconds` per round, so that a change in the machine's speed affects all of them. Their figures of one round
    can be compared.
    """
    work, scorers = _Work(predictor, text), [predictor.scorer, *others]
    block = next(b for chunk in range(len(text.words)) for b in work.blocks(chunk, Workspace()))
    by_scorer: list[list[float]] = [[] for _ in scorers]
    for scorer in scorers:
        SCORER.verify(type(scorer), "scorer")
    for number in range(rounds + 1):
        for scorer, paces_of_scorer in zip(scorers, by_scorer, strict=True):
            calls, started = 0, time.thread_time()
            while (spent := time.thread_time() - started) < seconds or not calls:
                given(scorer, block.contexts).log_prob(block.H, block.targets)
                calls += 1
            if number:  # the first round compiles and builds tables
                paces_of_scorer.append(calls * len(block.targets) / spent)
    return by_scorer


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf
