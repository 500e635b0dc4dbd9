"""Softmax over rows of logits, as explicit SIMD: all passes over a row happen while it is in cache.

It handles neither targets nor losses. It supports only float32; probability/dense.py uses NumPy for other types.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from w2vtrain.kernels.jit import inline, kernel
from w2vtrain.kernels.llvm import (
    F32,
    I64,
    LANES,
    VECTOR,
    Lanes,
    address_of_row,
    constant,
    emitter_of,
    exp,
    floats,
    splat,
    sum_lanes,
    vector_at,
)

VECTORS_COMPARED = 4
"""Vectors compared in parallel. With a single register, each comparison would wait for the previous one."""
STRIDE = VECTORS_COMPARED * LANES
FLOAT32_SUM_COLUMNS = 4096
"""Columns summed in float32; these sums are then added in float64."""
MIN_EXPONENT = -69.0
"""exp(x) is taken as 0 for x <= MIN_EXPONENT, below 1e-30 of the largest term. This avoids slow denormal numbers."""


def _largest(logits: Any, row: Any, last: Any) -> Any:
    """Return the maximum of columns [0, last) of a row, ignoring NaN; `last` is a multiple of STRIDE."""
    return np.fmax.reduce(logits[row, :last], initial=-np.inf)


@emitter_of(_largest, types.float32)
def _emit_largest(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    logits, row, last = args
    address = address_of_row(context, builder, signature.args[0], logits, row)
    kept = [cgutils.alloca_once_value(builder, floats(-np.inf)) for _ in range(VECTORS_COMPARED)]
    with cgutils.for_range_slice(builder, constant(0), last, constant(STRIDE), intp=I64) as (j, _):
        for i, top in enumerate(kept):
            at = vector_at(builder, address, builder.add(j, constant(i * LANES)))
            x, best = Lanes(builder, builder.load(at, align=4)), Lanes(builder, builder.load(top))
            builder.store(x.where(x.above(best), best).value, top)
    kind = ir.FunctionType(F32, [VECTOR])
    across = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.fmax.v{LANES}f32")
    best = Lanes(builder, builder.load(kept[0]))
    for top in kept[1:]:
        other = Lanes(builder, builder.load(top))
        best = other.where(other.above(best), best)
    return builder.call(across, [best.value])


def _exp(logits: Any, row: Any, first: Any, last: Any, top: Any) -> Any:
    """Replace each s in columns [first, last) of a row with exp(s - top); return the sum.

    last - first is a multiple of LANES.
    """
    x = logits[row, first:last] - top
    logits[row, first:last] = np.where(x <= MIN_EXPONENT, 0, np.exp(x))
    return logits[row, first:last].sum()


@emitter_of(_exp, types.float32)
def _emit_exp(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    logits, row, first, last, top = args
    address = address_of_row(context, builder, signature.args[0], logits, row)
    highest = Lanes(builder, splat(builder, top))
    total = cgutils.alloca_once_value(builder, floats(0.0))
    with cgutils.for_range_slice(builder, first, last, constant(LANES), intp=I64) as (j, _):
        at = vector_at(builder, address, j)
        x = Lanes(builder, builder.load(at, align=4)) - highest
        small = x.where(x.is_nan(), 0.0)
        e = exp(builder, x).where(x.above(MIN_EXPONENT), small)
        builder.store(e.value, at, align=4)
        builder.store((Lanes(builder, builder.load(total)) + e).value, total)
    return sum_lanes(builder, builder.load(total))


@inline
def _exponentials(logits, row):
    """Replace each s of a row with exp(s - top), where top is the largest s; return (top, Σ exp(s - top))."""
    n = logits.shape[1]
    end = n // STRIDE * STRIDE
    top = _largest(logits, row, end)
    for j in range(end, n):
        if logits[row, j] > top:
            top = logits[row, j]
    end, z = n // LANES * LANES, 0.0
    for first in range(0, end, FLOAT32_SUM_COLUMNS):
        z += _exp(logits, row, first, min(first + FLOAT32_SUM_COLUMNS, end), top)
    for j in range(end, n):
        e = math.exp(logits[row, j] - top)
        logits[row, j] = e
        z += e
    return top, z


@kernel()
def log_normalizers(logits: np.ndarray, log_z: np.ndarray) -> None:
    """Fill log_z (B,) with log Σ exp of each row; logits (B, n) are overwritten. Both are float32 and contiguous."""
    for row in range(len(logits)):
        top, z = _exponentials(logits, row)
        log_z[row] = top + math.log(z)


@kernel()
def scale_rows(
    logits: np.ndarray, constant: float, slope: np.ndarray, low: float, high: float, log_z: np.ndarray
) -> None:
    """Replace logits (B, n) with (constant + slope log Z) * softmax, and fill log_z (B,) with log Z.

    slope is (B,), and slope log Z is clipped to [low, high]. All arrays are float32.
    """
    for row in range(len(logits)):
        top, z = _exponentials(logits, row)
        log_z[row] = top + math.log(z)
        change = slope[row] * log_z[row]
        if change > high:  # NaN fails both comparisons and is kept
            change = high
        elif change < low:
            change = low
        factor = np.float32((constant + change) / z)
        for j in range(logits.shape[1]):
            logits[row, j] *= factor
