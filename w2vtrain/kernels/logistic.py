"""Logistic loss over a block of logits, as explicit SIMD; the objectives hs, neg and nce share it.

It neither chooses labels nor draws candidates; the objectives differ in these.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from w2vtrain.kernels.llvm import (
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
