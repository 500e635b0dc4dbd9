"""What objectives do with blocks of logits, as explicit SIMD: the logistic loss, and the softmax of each row.

Nothing here chooses labels, draws candidates or knows targets. The objectives hs, neg and nce share the logistic loss.
The softmax makes all passes over a row while it is in cache. It supports only float32; probability/dense.py uses NumPy
for other types.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from w2vtrain.kernels.jit import inline, kernel
from w2vtrain.kernels.llvm import (
    F32,
    I32,
    I64,
    INTEGERS,
    LANES,
    VECTOR,
    Lanes,
    address_of_row,
    constant,
    emitter_of,
    exp,
    floats,
    log,
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


def logistic_errors(logits: Any, n: Any, m: Any, labels: Any, shifts: Any, lr: Any) -> Any:
    """Replace logits (n, m) with lr * (label - sigma(logit - shift)); return the sum of their losses.

    The loss of a logit is log(1 + exp(x)) - label * x, with x = logit - shift. logits, labels (m,), shifts (m,) and lr
    are float32, n < 127. All arrays have rows.ROW more columns than m; the extra ones of `logits` may be overwritten.
    A NaN logit makes the loss NaN.
    """
    x, y = logits[:n, :m] - shifts[:m], labels[:m]
    e = np.exp(-np.abs(x))
    loss = np.maximum(x, 0) + np.log1p(e) - y * x
    logits[:n, :m] = (y - np.where(x > 0, 1, e) / (1 + e)) * lr
    return float(loss.sum(dtype=np.float64))


@emitter_of(logistic_errors, types.float64)
def _emit_logistic_errors(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    block = _Block(context, builder, signature, args)
    with cgutils.for_range_slice(builder, constant(0), args[2], constant(LANES), intp=I64) as (j, _):
        block.columns(j)
    return builder.fpext(sum_lanes(builder, builder.load(block.total)), ir.DoubleType())


class _Block:
    """Emitter for LANES columns of the logits: labels and shifts stay in registers during a loop over the rows."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        self.context, self.builder, self.kinds, self.args = context, builder, signature.args, args
        self.rate = Lanes(builder, splat(builder, args[5]))
        self.total = cgutils.alloca_once_value(builder, floats(0.0))
        self.product = cgutils.alloca_once(builder, VECTOR)

    def load(self, array: int, j: Any) -> Lanes:
        struct = self.context.make_array(self.kinds[array])(self.context, self.builder, self.args[array])
        address = self.builder.ptrtoint(struct.data, I64)
        return Lanes(self.builder, self.builder.load(vector_at(self.builder, address, j), align=4))

    def columns(self, j: Any) -> None:
        """Emit columns [j, j + LANES) of n rows, with one logarithm per column: that of a product over the rows."""
        builder, (logits, n, m) = self.builder, self.args[:3]
        left = splat(builder, builder.trunc(builder.sub(m, j), I32), INTEGERS)
        inside = builder.icmp_signed("<", ir.Constant(INTEGERS, list(range(LANES))), left)
        label, shift = self.load(3, j), self.load(4, j)
        builder.store(floats(1.0), self.product)
        with cgutils.for_range(builder, n, intp=I64) as line:
            row = address_of_row(self.context, builder, self.kinds[0], logits, line.index)
            cell = vector_at(builder, row, j)
            x = (Lanes(builder, builder.load(cell, align=4)) - shift).where(inside, 0.0)
            self.line(x, label, inside, cell)
        logs = log(builder, Lanes(builder, builder.load(self.product))).where(inside, 0.0)
        builder.store((Lanes(builder, builder.load(self.total)) + logs).value, self.total)

    def line(self, x: Lanes, label: Lanes, inside: Any, cell: Any) -> None:
        """Emit one vector of logits: store its coefficients, and update the sum and product that give the loss."""
        builder = self.builder
        positive = x.above(0.0)
        e = exp(builder, x.where(positive, x * -1.0) * -1.0)
        one_plus = e + 1.0
        numerator = Lanes(builder, floats(1.0)).where(positive, e)
        g = (label - numerator / one_plus) * self.rate
        builder.store(g.where(inside, 0.0).value, cell, align=4)
        linear = (x.where(positive, 0.0) - label * x).where(inside, 0.0)
        builder.store((Lanes(builder, builder.load(self.total)) + linear).value, self.total)
        builder.store((Lanes(builder, builder.load(self.product)) * one_plus).value, self.product)


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
