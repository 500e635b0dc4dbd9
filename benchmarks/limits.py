"""Measure the limits of this machine and count the operations of training: the two parts of a roofline model.

Nothing is trained here. roofline.py combines these figures with measured times.
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

from w2vtrain.architectures import architecture_class
from w2vtrain.kernels.jit import kernel
from w2vtrain.kernels.llvm import I64, LANES, VECTOR, multiply_add, splat, sum_lanes
from w2vtrain.kernels.rows import ROW, add_to_rows, padded_rows, prefetch
from w2vtrain.leaves.compare.systems import Job
from w2vtrain.objectives import option_defaults
from w2vtrain.objectives.hs import CACHED_NODES
from w2vtrain.probability.noise import noise_distribution
from w2vtrain.probability.noise_pool import pool_size
from w2vtrain.probability.subsampling import keep_thresholds
from w2vtrain.probability.trees import huffman
from w2vtrain.training.inputs import CHUNK_WORDS

CHAINS = 12
"""Number of independent sums: more than latency times throughput, and fewer than SSE has registers."""
TIMED_CALLS = 7
ROWS_AHEAD = 8
"""Number of rows between prefetching a row and using it."""


@dataclass(frozen=True)
class Limits:
    """Limits of one thread.

    flops: float32 operations per second in registers; triad: bytes per second of a = b + s c over arrays much larger
    than the cache; rows: bytes per second when rows of a matrix are changed in random order, with prefetching. Bytes
    read and bytes written both count.
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
    """Compute s = s x + x in each of CHAINS vectors, `rounds` times; return the sum of all elements."""
    return types.float32(types.int64, types.float32), _emit_chains


@kernel()
def multiply_adds(rounds: int, x: float) -> float:
    """Compute `rounds` rounds of 2 * LANES * CHAINS operations in registers; return the sum of the results."""
    total: float = _chains(rounds, float32(x))
    return total


@kernel()
def triad(a: np.ndarray, b: np.ndarray, c: np.ndarray, s: float) -> None:
    """Compute a = b + s c; all three arrays are (n,) float32."""
    scale = float32(s)
    for i in range(len(a)):
        a[i] = b[i] + scale * c[i]


@kernel()
def change_rows(matrix: np.ndarray, order: np.ndarray, row: np.ndarray) -> None:
    """Add half of `row` (1, width) to the rows `order` (n,) of a matrix, one at a time."""
    for k in range(len(order)):
        if k + ROWS_AHEAD < len(order):
            prefetch(matrix, order[k + ROWS_AHEAD])
        add_to_rows(matrix, order[k:], 1, row, float32(0.5))


def fastest(act: Callable[[], Any]) -> float:
    """Return the shortest of TIMED_CALLS times in seconds; a first call, which may compile, does not count."""
    act()
    seconds = []
    for _ in range(TIMED_CALLS):
        started = time.perf_counter()
        act()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def measure_limits(rows: int = 1 << 16, width: int = 208) -> Limits:
    """Measure one thread of this machine, in about 2 seconds. rows, width: shape of the matrix that is changed."""
    rounds, n = 1 << 22, 1 << 24
    a, b, c = np.zeros(n, np.float32), np.ones(n, np.float32), np.ones(n, np.float32)
    matrix, row = padded_rows(rows, width), np.ones((1, width), np.float32)
    order = np.random.default_rng(1).permutation(rows)
    return Limits(
        flops=2 * LANES * CHAINS * rounds / fastest(lambda: multiply_adds(rounds, 0.5)),
        triad=3 * a.nbytes / fastest(lambda: triad(a, b, c, 0.5)),
        rows=2 * matrix.nbytes / fastest(lambda: change_rows(matrix, order, row)),
    )


def operations(dim: int, rows: float, contexts: float) -> float:
    """Return the float32 operations per example: products with `rows` candidates and the updates of both sides.

    Logistic functions are not counted. contexts: input rows that CBOW sums and updates in addition; 0 for skip-gram,
    whose single input row is one of the two sides.
    """
    return 2.0 * _columns(dim) * (3 * rows + 2 * contexts)


def row_bytes(dim: int, rows: float) -> float:
    """Return the bytes read and written to change a number of rows, as Limits.rows counts them."""
    return 2.0 * 4 * _columns(dim) * rows


def _columns(dim: int) -> int:
    """Return the number of columns of a row in memory."""
    return -(-dim // ROW) * ROW


def rows_fetched(counts: np.ndarray, sample: float, windows: float, noise: np.ndarray | None, draws: float) -> float:
    """Return how many rows training must at least fetch from beyond the second-level cache and write back.

    The CACHED_NODES rows of each matrix that are used most often count as being in the cache. A window fetches the
    input row of one new context word, because the others are also in the window before it, and the output row of its
    target, or the nodes of its target's path. A noise word's row is fetched once per draw from the whole vocabulary, so
    once per chunk if it comes from the pool of a chunk.

    counts (V,): of the words in descending order; sample: the subsampling threshold; windows: the number of windows
    trained on; noise (V,): the distribution Q, None for hs; draws: how many words are drawn from Q in all.
    """
    word = _beyond_cache(_kept(counts, sample))
    if noise is None:
        return windows * (word + path_length(counts, sample, CACHED_NODES))
    return windows * 2 * word + draws * _beyond_cache(noise)


def _beyond_cache(weights: np.ndarray) -> float:
    """Return the share of all weights (V,), in descending order, after the first CACHED_NODES."""
    return float(weights[CACHED_NODES:].sum() / weights.sum())


def _kept(counts: np.ndarray, sample: float) -> np.ndarray:
    """Return how many tokens of each word (V,) subsampling keeps on average."""
    kept: np.ndarray = counts * (keep_thresholds(counts, sample) / 2.0**32)
    return kept


def path_length(counts: np.ndarray, sample: float, cached: int = 0) -> float:
    """Return the mean number of Huffman tree nodes that hs scores per target word, after subsampling.

    cached: the number of nodes nearest the root that do not count.
    """
    tree, kept = huffman(counts), _kept(counts, sample)
    counted = (tree.nodes < len(counts) - 1 - cached).astype(np.int64)  # the root has the highest number
    return float((np.add.reduceat(counted, tree.start[:-1]) * kept).sum() / kept.sum())


def needed(job: Job, counts: Any, examples: int) -> dict[str, float]:
    """Return the operations and the bytes of rows that training on `examples` examples needs at least.

    Return nothing if the objective scores another number of rows. counts (V,): of the words. A window of random size
    has window + 1 context words on average, away from the ends of sentences.
    """
    if job.objective not in ("neg", "nce", "hs"):
        return {}
    architecture = architecture_class(job.architecture)
    context = 2 * job.window if architecture.fixed_positions() else job.window + 1
    windows = examples / context if architecture.pairs() else examples
    if job.objective == "hs":
        scored, noise, draws = path_length(counts, job.sample), None, 0.0
    else:
        options = option_defaults(job.objective)
        scored, noise = 1.0 + job.negative, noise_distribution(counts, options["ns_exponent"])
        pool = pool_size(options["pool"], job.negative, len(counts))
        draws = pool * job.epochs * counts.sum() / CHUNK_WORDS if pool else windows * job.negative
    per_example = operations(job.vector_size, scored, 0 if architecture.pairs() else context)
    rows = rows_fetched(counts, job.sample, windows, noise, float(draws))
    return {"operations": examples * per_example, "row_bytes": row_bytes(job.vector_size, rows)}
