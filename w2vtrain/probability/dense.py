"""Matrix products and softmax over whole blocks of examples, and the objectives' common part that needs them.

It draws no samples and walks no corpus: the block engine hands in hidden vectors, an objective decides what is scored.

Products go through the BLAS that SciPy brings, one thread a worker. `add_product` calls it without the GIL and adds
to what is there, which neither numpy.dot nor SciPy's own wrapper does; that saves two passes over the output matrix.
"""

import ctypes
import math
from functools import cache, reduce
from typing import Any

import numpy as np
from numba.extending import get_cython_function_address

from w2vtrain.kernels.softmax import log_normalizers, scale_rows
from w2vtrain.probability.problem import Problem

SCORED = 1 << 22
"""Logits that scoring holds at once: 16 MB."""


@cache
def _sgemm() -> Any:
    address = get_cython_function_address("scipy.linalg.cython_blas", "sgemm")
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 13)(address)


def add_product(out: np.ndarray, a: np.ndarray, b: np.ndarray, scale: float) -> None:
    """out (n, w) += scale * a.T @ b, for a (B, n) and b (B, w): float32 with contiguous rows, else it is slower."""
    if any(array.dtype != np.float32 or array.strides[1] != 4 for array in (out, a, b)):
        out += scale * (a.T @ b)
        return
    n, w, B = len(out), out.shape[1], len(a)
    if min(n, w, B) == 0:
        return
    sizes = [ctypes.byref(ctypes.c_int(k)) for k in (w, n, B)]
    steps = [ctypes.byref(ctypes.c_int(max(array.strides[0] // 4, 1))) for array in (b, a, out)]
    factor, one = ctypes.byref(ctypes.c_float(scale)), ctypes.byref(ctypes.c_float(1.0))
    # BLAS counts by columns: what is out to us is its transpose there.
    _sgemm()(
        b"N", b"T", *sizes, factor, b.ctypes.data, steps[0], a.ctypes.data, steps[1], one, out.ctypes.data, steps[2]
    )


class Workspace:
    """What one thread brings to a step: its stream of random numbers, the chunk it is in, memory used again and again.

    rng: numpy Generator, seeded by (seed, epoch, chunk) alone. Asking for an array by a name gives the same memory
    each time: fresh arrays of this size come from the system and cost more than the product that fills them.
    previous (B,) int32: the word before each target in its sentence, -1 at its start.
    """

    def __init__(self) -> None:
        self.previous = np.empty(0, np.int32)
        self.rng = np.random.default_rng(0)
        self.chunk = 0
        self._arrays: dict[str, np.ndarray] = {}

    def begin(self, seed: int, epoch: int, chunk: int) -> None:
        """Set the stream and the place of a chunk."""
        self.rng, self.chunk = np.random.default_rng([seed, epoch, chunk]), chunk

    def stream(self) -> np.ndarray:
        """A stream (1,) uint64 for sampling.py's draws, at a place that `rng` draws."""
        return self.rng.integers(1 << 64, size=1, dtype=np.uint64)

    def array(self, name: str, shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
        """An array with any content, contiguous."""
        size = int(np.prod(shape))
        held = self._arrays.get(name)
        if held is None or held.size < size or held.dtype != dtype:
            held = self._arrays[name] = np.empty(size, dtype)
        return held[:size].reshape(shape)


def softmax(logits: np.ndarray) -> np.ndarray:
    """In place: logits (B, n) -> probabilities. Returns log Z (B,)."""
    return scaled_softmax(logits, 1.0, np.zeros(len(logits), logits.dtype))


def softmax_errors(
    logits: np.ndarray,
    targets: np.ndarray,
    slope: np.ndarray | None = None,
    constant: float = 1.0,
    bound: float = math.inf,
) -> tuple[np.ndarray, np.ndarray]:
    """In place: logits (B, n) -> [v=target] - (constant + slope log Z) P(v), targets (B,) columns, slope (B,) or 0.

    Those are the coefficients of L = -s_target + constant log Z + slope / 2 log² Z. Where slope log Z is beyond ±bound,
    it is that: see `bounded_square`. Returns log Z and s_target, (B,).
    """
    lines = np.arange(len(logits))
    hit = logits[lines, targets]
    if slope is None:
        slope = np.zeros(len(logits), logits.dtype)
    log_z = scaled_softmax(logits, -constant, -slope, (-bound, bound))
    logits[lines, targets] += 1
    return log_z, hit


def scaled_softmax(
    logits: np.ndarray, constant: float, slope: np.ndarray, bounds: tuple[float, float] = (-math.inf, math.inf)
) -> np.ndarray:
    """In place: logits (B, n) -> (constant + slope log Z) P(v), slope (B,), slope log Z kept in bounds. log Z (B,)."""
    if _native(logits):
        log_z = np.empty(len(logits), np.float32)
        scale_rows(logits, constant, slope.astype(np.float32, copy=False), *bounds, log_z)
        return log_z
    top, z = _exponentials(logits)
    log_z = np.log(z) + top
    np.multiply(logits, ((constant + np.clip(slope * log_z, *bounds)) / z)[:, None], out=logits)
    return np.asarray(log_z)


def bounded_square(x: np.ndarray, slope: np.ndarray, low: float, high: float) -> np.ndarray:
    """The integral of slope t, kept between low and high, for t from 0 to x: slope / 2 x² near 0, linear beyond.

    x, slope (B,), slope 0 or more. Huber 1964, "Robust estimation of a location parameter".
    """
    reached = np.clip(slope * x, low, high)
    return np.asarray(reached * x - reached**2 / (2 * np.where(slope > 0, slope, 1)))


def log_sum_exp(logits: np.ndarray) -> np.ndarray:
    """log Σ exp of each row, (B,); logits (B, n) are overwritten."""
    if _native(logits):
        log_z = np.empty(len(logits), np.float32)
        log_normalizers(logits, log_z)
        return log_z
    top, z = _exponentials(logits)
    return np.asarray(np.log(z) + top)


def _native(logits: np.ndarray) -> bool:
    return bool(logits.dtype == np.float32 and logits.flags.c_contiguous)


def _exponentials(logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """In place: logits (B, n) -> exp(s - top), top their row's largest. Returns top and the rows' sums, (B,)."""
    top = logits.max(axis=1)
    np.subtract(logits, top[:, None], out=logits)
    np.exp(logits, out=logits)
    return top, logits.sum(axis=1)


def learn_softmax(
    output: np.ndarray,
    H: np.ndarray,
    targets: np.ndarray,
    lr: float,
    work: Workspace,
    slope: np.ndarray | None = None,
    bound: float = math.inf,
) -> tuple[float, np.ndarray]:
    """Learn a block by L = -log P(w|h) + slope / 2 log² Z(h), the softmax over all rows of output (V, width).

    H (B, width), targets (B,), slope (B,) or 0, bound as for `softmax_errors`. Returns the summed loss and -dL/dH
    (B, width), by the old rows.
    """
    g = np.dot(H, output.T, out=work.array("logits", (len(H), len(output)), H.dtype))
    log_z, hit = softmax_errors(g, targets, slope, bound=bound)
    dH = np.dot(g, output)
    add_product(output, g, H, lr)
    loss = log_z - hit if slope is None else log_z - hit + bounded_square(log_z, slope, -bound, bound)
    return float(loss.sum(dtype=np.float64)), dH


class RowScorer:
    """Scores of words that each have one output row: s_w = o_w·h.

    normalized=False says that the scores were trained to be log-probabilities as they are: then `log_prob` trusts
    them, which is what makes such an objective fast at scoring.
    """

    def __init__(self, output: np.ndarray, normalized: bool = True) -> None:
        self.output, self.normalized = output, normalized

    def scores(self, H: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of hidden vectors H (B, width) and targets (B,): unnormalized log-scores (B,) and exact log Z (B,)."""
        step = max(1, SCORED // max(1, len(H)))  # some words for all vectors: the product is faster than the other way
        parts = (log_sum_exp(H @ self.output[first : first + step].T) for first in range(0, len(self.output), step))
        return self.raw(H, targets), reduce(np.logaddexp, parts)

    def log_prob(self, H: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """log P(target|h), (B,), the cheapest way that the objective has."""
        if not self.normalized:
            return self.raw(H, targets)
        raw, log_z = self.scores(H, targets)
        return np.asarray(raw - log_z)

    def raw(self, H: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """o_w·h, (B,)."""
        return np.asarray(np.einsum("bd,bd->b", H, self.output[targets]))

    def log_probs(self, H: np.ndarray) -> np.ndarray:
        """log P(w|h) of all words, (B, V), exactly normalized."""
        logits = H @ self.output.T
        logits -= log_sum_exp(logits.copy())[:, None]
        return np.asarray(logits)


class RowObjective(RowScorer):
    """What block objectives with one output row a word share; a subclass gives `build` and `step`."""

    engine = "blocks"

    def parameters(self) -> dict[str, np.ndarray]:
        """Everything that is learned, by name: the arrays themselves, changed in place by `step`."""
        return {"output": self.output}

    def arrays(self) -> dict[str, np.ndarray]:
        """What the model file keeps beside `output`."""
        return {}

    @classmethod
    def scorer(
        cls, problem: Problem, options: dict[str, Any], output: np.ndarray, arrays: dict[str, np.ndarray]
    ) -> RowScorer:
        """Scores by a trained model's arrays."""
        return RowScorer(output)
