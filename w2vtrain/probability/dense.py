"""Matrix products and softmax over whole blocks of examples, and the base classes of objectives that use them.

It neither draws samples nor reads the corpus: the block engine passes in hidden vectors, and the objective decides
what is scored.

Products use the BLAS that SciPy ships, with one thread per worker. `add_product` calls it without the GIL and adds to
the existing values, which neither numpy.dot nor SciPy's own wrapper can do. This saves two passes over the output
matrix.
"""

import ctypes
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, reduce
from typing import Any

import numpy as np
from numba.extending import get_cython_function_address

from w2vtrain.kernels.jit import kernel
from w2vtrain.kernels.logits import log_normalizers, scale_rows
from w2vtrain.probability.problem import Arrays

_LIMITING, _LIMITS = threading.Lock(), list[Any]()
LOGITS_AT_ONCE = 1 << 22
"""Maximum number of logits that scoring holds in memory at once: 16 MB of float32."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Run matrix products in the calling thread inside this context, because the trainer has its own threads.

    The limit applies to the whole process, until the last of the contexts ends that overlap in several threads.
    """
    import scipy.linalg.cython_blas  # noqa: F401  # the limit applies only to libraries that are already loaded
    from threadpoolctl import threadpool_limits

    with _LIMITING:
        _LIMITS.append(threadpool_limits(1, user_api="blas"))
    try:
        yield
    finally:
        with _LIMITING:  # whichever context ends: only the first limit, which is left for the last, restores more
            _LIMITS.pop().restore_original_limits()


@cache
def _sgemm() -> Any:
    address = get_cython_function_address("scipy.linalg.cython_blas", "sgemm")
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 13)(address)


def add_product(out: np.ndarray, a: np.ndarray, b: np.ndarray, scale: float) -> None:
    """Add scale * a.T @ b to out (n, w), for a (B, n) and b (B, w).

    This is fast only if all three are float32 with contiguous rows.
    """
    if any(array.dtype != np.float32 or array.strides[1] != 4 for array in (out, a, b)):
        out += scale * (a.T @ b)
        return
    n, w, B = len(out), out.shape[1], len(a)
    if min(n, w, B) == 0:
        return
    sizes = [ctypes.byref(ctypes.c_int(k)) for k in (w, n, B)]
    steps = [ctypes.byref(ctypes.c_int(max(array.strides[0] // 4, 1))) for array in (b, a, out)]
    factor, one = ctypes.byref(ctypes.c_float(scale)), ctypes.byref(ctypes.c_float(1.0))
    # BLAS arrays are column-major, so BLAS sees the transposes of these arrays.
    _sgemm()(
        b"N", b"T", *sizes, factor, b.ctypes.data, steps[0], a.ctypes.data, steps[1], one, out.ctypes.data, steps[2]
    )


class Workspace:
    """Per-thread state that is passed to each step: random numbers, the current chunk, and reusable memory.

    rng: NumPy Generator, seeded with (seed, epoch, chunk) alone.
    chunk: number of the current chunk.
    previous: (B,) int32, the word before each target word in its sentence, -1 at the start of a sentence.
    """

    def __init__(self) -> None:
        self.previous = np.empty(0, np.int32)
        self.rng = np.random.default_rng(0)
        self.chunk = 0
        self._arrays: Arrays = {}

    def begin(self, seed: int, epoch: int, chunk: int) -> None:
        """Seed `rng` for a chunk and store the chunk's number."""
        self.rng, self.chunk = np.random.default_rng([seed, epoch, chunk]), chunk

    def stream(self) -> np.ndarray:
        """Return a stream (1,) uint64 for the draws of random_streams.py, with a state drawn from `rng`."""
        return self.rng.integers(1 << 64, size=1, dtype=np.uint64)

    def array(self, name: str, shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
        """Return a contiguous array with arbitrary content. Calls with the same name reuse the same memory.

        Memory for new arrays of this size comes from the operating system, which takes longer than the product
        that fills them.
        """
        size = math.prod(shape)
        held = self._arrays.get(name)
        if held is None or held.size < size or held.dtype != dtype:
            held = self._arrays[name] = np.empty(size, dtype)
        return held[:size].reshape(shape)


def softmax(logits: np.ndarray) -> np.ndarray:
    """Replace logits (B, n) with probabilities; return log Z (B,)."""
    return scaled_softmax(logits, 1.0, np.zeros(len(logits), logits.dtype))


def softmax_errors(
    logits: np.ndarray,
    targets: np.ndarray,
    slope: np.ndarray | None = None,
    bound: float = math.inf,
) -> tuple[np.ndarray, np.ndarray]:
    """Replace logits (B, n) with [v = target] - (1 + slope log Z) P(v); return log Z and s_target, both (B,).

    The result is -dL/ds_v of L = -s_target + log Z + slope / 2 log² Z, where s are the logits.

    targets: (B,) column numbers.
    slope: (B,), zeros if omitted.
    bound: slope log Z is clipped to [-bound, bound]; `bounded_square` then replaces the last term of the loss.
    """
    lines = np.arange(len(logits))
    hit = logits[lines, targets]
    if slope is None:
        slope = np.zeros(len(logits), logits.dtype)
    log_z = scaled_softmax(logits, -1.0, -slope, (-bound, bound))
    logits[lines, targets] += 1
    return log_z, hit


def scaled_softmax(
    logits: np.ndarray, constant: float, slope: np.ndarray, bounds: tuple[float, float] = (-math.inf, math.inf)
) -> np.ndarray:
    """Replace logits (B, n) with (constant + slope log Z) P(v); return log Z (B,).

    slope is (B,), and slope log Z is clipped to `bounds`.
    """
    if _native(logits):
        log_z = np.empty(len(logits), np.float32)
        scale_rows(logits, constant, slope.astype(np.float32, copy=False), *bounds, log_z)
        return log_z
    top, z = _exponentials(logits)
    log_z = np.log(z) + top
    np.multiply(logits, ((constant + np.clip(slope * log_z, *bounds)) / z)[:, None], out=logits)
    return np.asarray(log_z)


def bounded_square(x: np.ndarray, slope: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return the integral of clip(slope t, low, high) for t from 0 to x: slope / 2 x² near 0, linear further out.

    x and slope are (B,), with slope >= 0 and low <= 0 <= high. Huber 1964, "Robust estimation of a location parameter".
    """
    reached = np.clip(slope * x, low, high)
    return np.asarray(reached * x - reached**2 / (2 * np.where(slope > 0, slope, 1)))


def log_sum_exp(logits: np.ndarray) -> np.ndarray:
    """Return log Σ exp of each row, (B,); logits (B, n) are overwritten."""
    if _native(logits):
        log_z = np.empty(len(logits), np.float32)
        log_normalizers(logits, log_z)
        return log_z
    top, z = _exponentials(logits)
    return np.asarray(np.log(z) + top)


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Replace logits (B, n) with log-probabilities, and return them."""
    logits -= log_sum_exp(logits.copy())[:, None]
    return logits


def log_one_plus(x: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Fill `out` with log(1 + exp(-|x|)), which cannot overflow, and return it; x and out have the same shape."""
    np.abs(x, out=out)
    np.exp(np.negative(out, out=out), out=out)
    out += 1
    np.log(out, out=out)  # log1p is several times slower, and exact digits of tiny losses are not needed
    return out


def _native(logits: np.ndarray) -> bool:
    return bool(logits.dtype == np.float32 and logits.flags.c_contiguous)


def _exponentials(logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Replace logits s (B, n) with exp(s - top), where top is the row's maximum; return top and row sums, both (B,)."""
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
    """Train output (V, width) on a block of examples with L = -log P(w|h) + slope / 2 log² Z(h).

    P is the softmax over all rows of `output`. H is (B, width), targets is (B,); slope and bound are as for
    `softmax_errors`. Return the summed loss and -dL/dH (B, width), both computed from the rows before the update.
    """
    g = np.dot(H, output.T, out=work.array("logits", (len(H), len(output)), H.dtype))
    log_z, hit = softmax_errors(g, targets, slope, bound)
    dH = np.dot(g, output)
    add_product(output, g, H, lr)
    loss = log_z - hit if slope is None else log_z - hit + bounded_square(log_z, slope, -bound, bound)
    return float(loss.sum(dtype=np.float64)), dH


@kernel()
def add_rows(matrix: np.ndarray, rows: np.ndarray, change: np.ndarray, scale: float) -> None:
    """Add scale * change[i] to matrix[rows[i]], one i at a time: rows may repeat. scale has the matrix's dtype."""
    for i in range(len(rows)):
        row, add = matrix[rows[i]], change[i]
        for j in range(len(row)):
            row[j] += scale * add[j]


def take_rows(matrix: np.ndarray, rows: np.ndarray, work: Workspace, name: str) -> np.ndarray:
    """Return a copy of rows (n,) of a matrix, (n, width), in the workspace's array of this name."""
    out = work.array(name, (len(rows), matrix.shape[1]), matrix.dtype)
    return np.take(matrix, rows, axis=0, out=out, mode="clip")  # other modes fill a temporary copy first


def learn_rows(matrix: np.ndarray, rows: np.ndarray, g: np.ndarray, H: np.ndarray, lr: float, work: Workspace) -> None:
    """Add lr * g.T @ H to matrix[rows], for g (B, n), H (B, width) and rows (n,), which may repeat."""
    change = work.array("change", (len(rows), matrix.shape[1]), matrix.dtype)
    add_rows(matrix, rows, np.dot(g.T, H, out=change), matrix.dtype.type(lr))


def learn_all(output: np.ndarray, H: np.ndarray, lr: float, work: Workspace) -> tuple[np.ndarray, np.ndarray]:
    """Take a gradient step on log Z alone, summed exactly over all rows of output (V, width), for H (B, width).

    Return log Z (B,) and -d log Z/dH (B, width).
    """
    p = np.dot(H, output.T, out=work.array("exact", (len(H), len(output)), H.dtype))
    log_z = softmax(p)
    dH = np.dot(p, output)
    add_product(output, p, H, -lr)
    return log_z, -dH


def subtract_shifts(scores: np.ndarray, places: np.ndarray, shift: np.ndarray, own: np.ndarray) -> None:
    """Subtract own (B,) from the targets' scores, in columns places (B,) of scores (B, n), and shift (n,) elsewhere.

    A shift of infinity excludes a word from the examples whose target it is not.
    """
    lines = np.arange(len(scores))
    hit = scores[lines, places] - own
    np.subtract(scores, shift.astype(scores.dtype, copy=False), out=scores)
    scores[lines, places] = hit


def learn_subset(
    output: np.ndarray,
    rows: np.ndarray,
    H: np.ndarray,
    places: np.ndarray,
    lr: float,
    work: Workspace,
    shift: np.ndarray | None = None,
    own: np.ndarray | None = None,
) -> tuple[float, np.ndarray]:
    """Train output (V, width) on a block with the softmax over some of its rows; return the summed loss and -dL/dH.

    rows: (n,) distinct row numbers.
    H: (B, width), as is -dL/dH.
    places: (B,) indices in `rows` of the targets.
    shift: (n,) values subtracted from the scores, none if omitted; infinity excludes a row.
    own: (B,) values subtracted from the targets' scores instead of `shift`; required with `shift`.
    """
    taken = take_rows(output, rows, work, "taken")
    g = np.dot(H, taken.T, out=work.array("logits", (len(H), len(rows)), H.dtype))
    if shift is not None and own is not None:
        subtract_shifts(g, places, shift, own)
    log_z, hit = softmax_errors(g, places)
    dH = np.dot(g, taken)
    learn_rows(output, rows, g, H, lr, work)
    return float((log_z - hit).sum(dtype=np.float64)), dH


class RowScorer:
    """Scorer for words with one output row each: s_w = o_w·h.

    output: (V, width).
    normalized: False if the scores were trained to be log-probabilities themselves. `log_prob` then returns them
    without computing log Z, which makes such an objective fast at scoring.
    """

    def __init__(self, output: np.ndarray, normalized: bool = True) -> None:
        self.output, self.normalized = output, normalized

    def scores(self, H: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        step = max(1, LOGITS_AT_ONCE // max(1, len(H)))  # blocks of words are faster than blocks of hidden vectors
        parts = (log_sum_exp(H @ self.output[first : first + step].T) for first in range(0, len(self.output), step))
        return self.raw(H, targets), reduce(np.logaddexp, parts)

    def log_prob(self, H: np.ndarray, targets: np.ndarray) -> np.ndarray:
        if not self.normalized:
            return self.raw(H, targets)
        raw, log_z = self.scores(H, targets)
        return np.asarray(raw - log_z)

    def raw(self, H: np.ndarray, targets: np.ndarray) -> np.ndarray:
        return np.asarray(np.einsum("bd,bd->b", H, self.output[targets]))

    def log_probs(self, H: np.ndarray) -> np.ndarray:
        return log_softmax(H @ self.output.T)


class ShiftedScorer(RowScorer):
    """Scores minus a constant, used as log-probabilities. shift: the constant, or one per example, (B,)."""

    def __init__(self, output: np.ndarray, shift: float | np.ndarray) -> None:
        super().__init__(output, normalized=False)
        self.shift = np.asarray(shift, output.dtype)

    def scores(self, H: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        raw, log_z = super().scores(H, targets)
        return raw, log_z - self.shift

    def raw(self, H: np.ndarray, targets: np.ndarray) -> np.ndarray:
        return np.asarray(super().raw(H, targets) - self.shift)


class NormalizedScorer:
    """Base class of scorers whose scores are log-probabilities, so that log Z is 0.

    Subclasses define `log_prob` and `log_probs`.
    """

    def scores(self, H: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        log_probs = self.log_prob(H, targets)
        return log_probs, np.zeros_like(log_probs)

    def raw(self, H: np.ndarray, targets: np.ndarray) -> np.ndarray:
        return self.log_prob(H, targets)

    def log_prob(self, H: np.ndarray, targets: np.ndarray) -> np.ndarray:
        raise NotImplementedError


class RowObjective(RowScorer):
    """Base class of block objectives with one output row per word; subclasses define `build` and `step`."""

    engine = "blocks"

    def parameters(self) -> Arrays:
        return {"output": self.output}
