"""Held-out text under a language model: exact and unnormalised perplexity, log Z, coverage.

It trains nothing, and knows an objective only as something that scores targets.
"""

import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from .dense import Workspace
from .errors import DataError, Stalled
from .hidden import Mixing, forward, gather
from .plan import Text

BLOCK = 256
"""Examples a block."""


@dataclass(frozen=True)
class Score:
    """How a model predicts a text.

    perplexity: exp of the mean negative log-probability, exactly normalised; unnormalised: the same of the scores as
    they are, without Z; bits: log2 of the perplexity; log_z_mean, log_z_variance: of log Z; examples: predictions
    made, which for skip-gram are pairs; normalised: of how many log Z was computed, which is all but where that is
    too dear (char-softmax): there its mean over a random sample stands for the mean over all; seconds: of scoring,
    summed over threads.
    """

    perplexity: float
    unnormalised: float
    bits: float
    log_z_mean: float
    log_z_variance: float
    examples: int
    normalised: int
    seconds: float


def score(
    scorer: Any,
    mixing: Mixing,
    windows: Any,
    text: Text,
    threads: int = 1,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    stall_timeout: float = 600.0,
) -> Score:
    """Score every target of a text in full windows. on_progress(chunks done, chunks) as it goes.

    DataError where the text has no word with a context, Stalled where no chunk is done for so many seconds.
    """
    local, chunks = threading.local(), len(text.words)
    # An objective may say of how many examples it can compute log Z in reasonable time.
    quota = -(-scorer.affordable // chunks) if hasattr(scorer, "affordable") else None

    def work(chunk: int, quota: int | None = quota) -> np.ndarray:
        if not hasattr(local, "work"):
            local.work = Workspace()
        started = time.monotonic()
        sums = np.zeros(6)
        for k, (H, targets) in enumerate(_blocks(mixing, windows, text, chunk, local.work)):
            with np.errstate(all="ignore"):  # what diverges is told by the trainer
                raw, log_z = _scores(scorer, H, targets, quota, np.random.default_rng([chunk, k * BLOCK]))
            quota = None if quota is None else max(0, quota - len(log_z))
            sums[:5] += len(targets), raw.sum(), len(log_z), log_z.sum(), (log_z**2).sum()
        sums[5] = time.monotonic() - started
        return sums

    total = np.zeros(6)
    pool = ThreadPoolExecutor(threads, "w2vtrain scorer")
    try:
        for done, future in enumerate([pool.submit(work, chunk) for chunk in range(chunks)], 1):
            total += future.result(stall_timeout)
            on_progress(done, chunks)
        pool.shutdown()
    except TimeoutError:
        raise Stalled(
            f"no chunk of the held-out text was scored for {stall_timeout:g} s: the stacks above say where threads are;"
            " if chunks are that slow, say a longer --stall-timeout"
        ) from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    n, raw, normalised, z, z2, seconds = total.tolist()
    if n == 0:
        raise DataError("the held-out text has no word with a context")
    mean = z / normalised
    variance, exact = max(0.0, z2 / normalised - mean**2), raw / n - mean
    bits = -exact / math.log(2)
    return Score(_exp(-exact), _exp(-raw / n), bits, mean, variance, int(n), int(normalised), seconds)


def _blocks(
    mixing: Mixing, windows: Any, text: Text, chunk: int, work: Workspace
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Hidden vectors (B, width) and targets (B,) of a chunk: all its words, in full windows."""
    keep = np.full(len(text.counts), 2**32 - 1, np.uint32)
    first, last = int(text.starts[chunk]), int(text.starts[chunk + 1])
    windows = windows._replace(shrink=False)
    examples = gather(text.tokens, first, last, keep, windows, mixing.pairs, (0, 0, chunk), work)
    for at in range(0, len(examples.targets), BLOCK):
        targets = examples.targets[at : at + BLOCK]
        H = np.empty((len(targets), mixing.dim + mixing.bias), np.float32)
        forward(mixing, examples, at, H)
        yield H, targets


def _scores(
    scorer: Any, H: np.ndarray, targets: np.ndarray, quota: int | None, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of all targets, and log Z of all, or of so many, drawn at random; float64."""
    if quota is None or quota >= len(targets):
        raw, log_z = scorer.scores(H, targets)
    else:
        few = rng.permutation(len(targets))[:quota]
        raw, log_z = scorer.log_prob(H, targets), scorer.scores(H[few], targets[few])[1]
    return raw.astype(np.float64), log_z.astype(np.float64)


def speed(scorer: Any, mixing: Mixing, windows: Any, text: Text, seconds: float = 2.0) -> float:
    """Targets a second that one thread scores in the objective's own cheapest way, measured for so many seconds."""
    H, targets = next(b for chunk in range(len(text.words)) for b in _blocks(mixing, windows, text, chunk, Workspace()))
    scorer.log_prob(H, targets)  # the first call compiles and builds tables
    rounds, started = 0, time.perf_counter()
    while (spent := time.perf_counter() - started) < seconds:
        scorer.log_prob(H, targets)
        rounds += 1
    return rounds * len(targets) / spent


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf
