"""Rows of logits to multiples of their softmax, one pass after the other while a row is in cache, as explicit SIMD.

It knows no targets and no loss, and float32 alone: dense.py takes NumPy for anything else.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from w2vtrain.kernels.jit import inline, kernel
from w2vtrain.kernels.lanes import Lanes, exp
from w2vtrain.kernels.llvm import F32, I64, LANES, VECTOR, address_of_row, constant, pointer, splat, sum_lanes

STEPS = 4
"""Vectors that are compared at once: one comparison waits for the one before it in the same register."""
STRIDE = STEPS * LANES
EXACT = 4096
"""Columns that are added up in float32; their sums are added in float64."""
LEAST = -69.0
"""Below it exp is 0, about 1e-30 of the largest: no product then meets the numbers that processors are slow with."""


def _vector(builder: Any, address: Any, j: Any) -> Any:
    return pointer(builder, address, builder.mul(j, constant(4)), VECTOR)


def _emit_largest(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    logits, row, last = args
    address = address_of_row(context, builder, signature.args[0], logits, row)
    kept = [cgutils.alloca_once(builder, VECTOR) for _ in range(STEPS)]
    for top in kept:
        builder.store(ir.Constant(VECTOR, [float(-np.inf)] * LANES), top)
    with cgutils.for_range_slice(builder, constant(0), last, constant(STRIDE), intp=I64) as (j, _):
        for i, top in enumerate(kept):
            at = _vector(builder, address, builder.add(j, constant(i * LANES)))
            x, best = Lanes(builder, builder.load(at, align=4)), Lanes(builder, builder.load(top))
            builder.store(x.where(x.above(best), best).value, top)
    kind = ir.FunctionType(F32, [VECTOR])
    across = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.fmax.v{LANES}f32")
    best = Lanes(builder, builder.load(kept[0]))
    for top in kept[1:]:
        other = Lanes(builder, builder.load(top))
        best = other.where(other.above(best), best)
    return builder.call(across, [best.value])


@intrinsic
def _largest(typingctx, logits, row, last):
    """Largest of columns 0 .. last, a multiple of STRIDE, of a row; what is not a number is passed over."""
    return types.float32(logits, types.int64, types.int64), _emit_largest


def _emit_exp(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    logits, row, first, last, top = args
    address = address_of_row(context, builder, signature.args[0], logits, row)
    highest = Lanes(builder, splat(builder, top))
    total = cgutils.alloca_once(builder, VECTOR)
    builder.store(ir.Constant(VECTOR, [0.0] * LANES), total)
    with cgutils.for_range_slice(builder, first, last, constant(LANES), intp=I64) as (j, _):
        at = _vector(builder, address, j)
        x = Lanes(builder, builder.load(at, align=4)) - highest
        small = x.where(x.no_number(), 0.0)
        e = exp(builder, x).where(x.above(LEAST), small)
        builder.store(e.value, at, align=4)
        builder.store((Lanes(builder, builder.load(total)) + e).value, total)
    return sum_lanes(builder, builder.load(total))


@intrinsic
def _exp(typingctx, logits, row, first, last, top):
    """In place, s -> exp(s - top) in columns first .. last of a row, a multiple of LANES of them. Returns their sum."""
    return types.float32(logits, types.int64, types.int64, types.int64, types.float32), _emit_exp


@inline
def _exponentials(logits, row):
    n = logits.shape[1]
    end = n // STRIDE * STRIDE
    top = _largest(logits, row, end)
    for j in range(end, n):
        if logits[row, j] > top:
            top = logits[row, j]
    end, z = n // LANES * LANES, 0.0
    for first in range(0, end, EXACT):
        z += _exp(logits, row, first, min(first + EXACT, end), top)
    for j in range(end, n):
        e = math.exp(logits[row, j] - top)
        logits[row, j] = e
        z += e
    return top, z


@kernel()
def log_normalizers(logits: np.ndarray, log_z: np.ndarray) -> None:
    """Fill log_z (B,) with log Σ exp of each row; logits (B, n) are overwritten. Both float32 and contiguous."""
    for row in range(len(logits)):
        top, z = _exponentials(logits, row)
        log_z[row] = top + math.log(z)


@kernel()
def scale_rows(
    logits: np.ndarray, constant: float, slope: np.ndarray, low: float, high: float, log_z: np.ndarray
) -> None:
    """In place: logits (B, n) -> (constant + slope log Z) * softmax, slope (B,); fill log_z (B,). All float32.

    slope log Z is taken no lower than low and no higher than high.
    """
    for row in range(len(logits)):
        top, z = _exponentials(logits, row)
        log_z[row] = top + math.log(z)
        change = slope[row] * log_z[row]
        if change > high:  # what is not a number stays so
            change = high
        elif change < low:
            change = low
        factor = np.float32((constant + change) / z)
        for j in range(logits.shape[1]):
            logits[row, j] *= factor
