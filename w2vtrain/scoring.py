"""Held-out text under a language model: exact and unnormalised perplexity, log Z, coverage.

It trains nothing, and knows an objective only as something that scores targets.
"""

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from .dense import Workspace
from .errors import DataError
from .hidden import Mixing, forward, gather
from .plan import Text

BLOCK = 256
"""Examples a block."""


@dataclass(frozen=True)
class Score:
    """How a model predicts a text.

    perplexity: exp of the mean negative log-probability, exactly normalised; unnormalised: the same of the scores as
    they are, without Z; bits: log2 of the perplexity; log_z_mean, log_z_variance: of log Z; examples: predictions
    made, which for skip-gram are pairs; seconds: of scoring, summed over threads.
    """

    perplexity: float
    unnormalised: float
    bits: float
    log_z_mean: float
    log_z_variance: float
    examples: int
    seconds: float


def score(
    scorer: Any,
    mixing: Mixing,
    windows: Any,
    text: Text,
    threads: int = 1,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Score:
    """Score every target of a text in full windows. on_progress(chunks done, chunks) as it goes.

    DataError where the text has no word with a context.
    """
    keep = np.full(len(text.counts), 2**32 - 1, np.uint32)
    windows = windows._replace(shrink=False)
    local, chunks = threading.local(), len(text.words)

    def work(chunk: int) -> np.ndarray:
        if not hasattr(local, "work"):
            local.work = Workspace()
        started = time.monotonic()
        first, last = int(text.starts[chunk]), int(text.starts[chunk + 1])
        examples = gather(text.tokens, first, last, keep, windows, mixing.pairs, (0, 0, chunk), local.work)
        sums = np.zeros(6)
        for at in range(0, len(examples.targets), BLOCK):
            targets = examples.targets[at : at + BLOCK]
            H = np.empty((len(targets), mixing.dim + mixing.bias), np.float32)
            forward(mixing, examples, at, H)
            with np.errstate(all="ignore"):  # what diverges is told by the trainer
                raw, log_z = (part.astype(np.float64) for part in scorer.scores(H, targets))
            sums[:5] += len(targets), raw.sum(), (raw - log_z).sum(), log_z.sum(), (log_z**2).sum()
        sums[5] = time.monotonic() - started
        return sums

    total = np.zeros(6)
    with ThreadPoolExecutor(threads) as pool:
        for done, sums in enumerate(pool.map(work, range(chunks)), 1):
            total += sums
            on_progress(done, chunks)
    n, raw, exact, z, z2, seconds = total.tolist()
    if n == 0:
        raise DataError("the held-out text has no word with a context")
    variance = max(0.0, z2 / n - (z / n) ** 2)
    return Score(_exp(-exact / n), _exp(-raw / n), -exact / n / math.log(2), z / n, variance, int(n), seconds)


def speed(scorer: Any, mixing: Mixing, windows: Any, text: Text, seconds: float = 2.0) -> float:
    """Targets a second that one thread scores in the objective's own cheapest way, measured for so many seconds."""
    keep = np.full(len(text.counts), 2**32 - 1, np.uint32)
    first, last = int(text.starts[0]), int(text.starts[1])
    work = Workspace()
    examples = gather(text.tokens, first, last, keep, windows._replace(shrink=False), mixing.pairs, (0, 0, 0), work)
    targets = examples.targets[:BLOCK]
    H = np.empty((len(targets), mixing.dim + mixing.bias), np.float32)
    forward(mixing, examples, 0, H)
    scorer.log_prob(H, targets)  # the first call compiles and builds tables
    rounds, started = 0, time.perf_counter()
    while (spent := time.perf_counter() - started) < seconds:
        scorer.log_prob(H, targets)
        rounds += 1
    return rounds * len(targets) / spent


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf
