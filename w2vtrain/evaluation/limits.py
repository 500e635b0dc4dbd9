"""What the machine can do, and what share of it a training reaches: a roofline, measured.

It trains nothing: bench.py hands in measurements, this module knows what they had to compute.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir
from numba import float32
from numba.core import cgutils, types
from numba.extending import intrinsic

from w2vtrain.kernels.jit import kernel
from w2vtrain.kernels.llvm import I64, LANES, VECTOR, multiply_add, splat, sum_lanes
from w2vtrain.kernels.rows import ROW, add_to_rows, padded_rows, prefetch
from w2vtrain.probability.sampling import keep_thresholds
from w2vtrain.probability.trees import huffman

CHAINS = 12
"""Sums that do not wait for one another: more than latency times throughput, and fewer than SSE has registers."""
ROUNDS = 7
AHEAD = 8
"""Rows between asking for one and using it."""


@dataclass(frozen=True)
class Limits:
    """Of one thread: float32 operations a second in registers; bytes a second of the triad a = b + s c over arrays far
    beyond cache, and of rows of a matrix changed in random order, prefetched; both count what is read and written.
    """

    flops: float
    triad: float
    rows: float


def _emit_chains(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    rounds, x = args
    factor, sums = splat(builder, x), [cgutils.alloca_once(builder, VECTOR) for _ in range(CHAINS)]
    for cell in sums:
        builder.store(ir.Constant(VECTOR, [1.0] * LANES), cell)
    with cgutils.for_range(builder, rounds, intp=I64):
        for cell in sums:
            builder.store(multiply_add(builder, builder.load(cell), factor, factor), cell)
    total = builder.load(sums[0])
    for cell in sums[1:]:
        total = builder.fadd(total, builder.load(cell))
    return sum_lanes(builder, total)


@intrinsic
def _chains(typingctx: Any, rounds: Any, x: Any) -> Any:
    """`rounds` times s = s x + x in each of CHAINS vectors; the sum of all."""
    return types.float32(types.int64, types.float32), _emit_chains


@kernel()
def multiply_adds(rounds: int, x: float) -> float:
    """2 * LANES * CHAINS operations a round."""
    total: float = _chains(rounds, float32(x))
    return total


@kernel()
def triad(a: np.ndarray, b: np.ndarray, c: np.ndarray, s: float) -> None:
    """a = b + s c, all (n,) float32."""
    scale = float32(s)
    for i in range(len(a)):
        a[i] = b[i] + scale * c[i]


@kernel()
def change_rows(matrix: np.ndarray, order: np.ndarray, one: np.ndarray) -> None:
    """Add one (1, width) to rows order (n,) of a matrix."""
    for k in range(len(order)):
        if k + AHEAD < len(order):
            prefetch(matrix, order[k + AHEAD])
        add_to_rows(matrix, order[k:], 1, one, float32(0.5))


def fastest(act: Callable[[], Any]) -> float:
    """Least seconds of several calls, the first, which may compile, not counted."""
    act()
    seconds = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        act()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def measure_limits(rows: int = 1 << 16, width: int = 208) -> Limits:
    """Measure this machine with one thread, in some 2 seconds; rows and width: of the matrix that is changed."""
    rounds, n = 1 << 22, 1 << 24
    a, b, c = np.zeros(n, np.float32), np.ones(n, np.float32), np.ones(n, np.float32)
    matrix, one = padded_rows(rows, width), np.ones((1, width), np.float32)
    order = np.random.default_rng(1).permutation(rows)
    return Limits(
        flops=2 * LANES * CHAINS * rounds / fastest(lambda: multiply_adds(rounds, 0.5)),
        triad=3 * a.nbytes / fastest(lambda: triad(a, b, c, 0.5)),
        rows=2 * matrix.nbytes / fastest(lambda: change_rows(matrix, order, one)),
    )


def operations(dim: int, rows: float, contexts: float) -> float:
    """Float32 operations an example: `rows` candidates' products and both sides' changes, logistic functions left out.

    contexts: input rows that CBOW sums and adds to, beside; 0 for skip-gram, whose input row is one of the two sides.
    """
    return 2.0 * (-(-dim // ROW) * ROW) * (3 * rows + 2 * contexts)


def path_length(counts: np.ndarray, sample: float) -> float:
    """Nodes of Huffman's tree that hs scores for a target, on average over the words that subsampling leaves."""
    kept = counts * (keep_thresholds(counts, sample) / 2.0**32)
    return float((np.diff(huffman(counts).start) * kept).sum() / kept.sum())
