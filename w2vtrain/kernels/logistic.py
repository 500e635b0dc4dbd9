"""Logistic loss over a block of logits, as explicit SIMD; the objectives hs, neg and nce share it.

It neither chooses labels nor draws candidates; the objectives differ in these.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from w2vtrain.kernels.lanes import Lanes, exp, log
from w2vtrain.kernels.llvm import (
    F32,
    I32,
    I64,
    INTEGERS,
    LANES,
    VECTOR,
    address_of_row,
    constant,
    emitter_of,
    splat,
    sum_lanes,
    vector_at,
)
from w2vtrain.kernels.rows import apart_zeros

MOST_FACTORS = 126
"""Factors 1 + exp(-|x|) <= 2 that a product in float32 holds."""


def no_losses() -> np.ndarray:
    """Return the losses that `logistic_errors` has collected before its first call: (3, LANES) float32.

    Line 0 has products of 1 + exp(-|x|), whose logarithms are still missing, line 1 the sums of the rest of the losses,
    and line 2, in its first element, the number of factors in a product.
    """
    losses = apart_zeros((3, LANES), np.float32)
    losses[0] = 1
    return losses


def logistic_errors(logits: Any, candidates: Any, lr: Any) -> Any:
    """Replace logits with lr * (label - sigma(logit - shift)), and add up the losses.

    The loss of a logit is log(1 + exp(x)) - label * x, with x = logit - shift. logits (n, m + ROW or more) and lr are
    float32, n < 127; columns from m on may be overwritten. Return the summed loss. Compiled code collects losses in
    `candidates.losses` instead, until a product is full, so that one logarithm serves up to 126 rows: it returns what
    it takes from there, usually 0, and `take_losses` takes the rest. A NaN logit makes the loss NaN.
    """
    m = candidates.m
    x, y = logits[:, :m] - candidates.shifts[:m], candidates.labels[:m]
    e = np.exp(-np.abs(x))
    loss = np.maximum(x, 0) + np.log1p(e) - y * x
    logits[:, :m] = (y - np.where(x > 0, 1, e) / (1 + e)) * lr
    return float(loss.sum(dtype=np.float64))


@emitter_of(logistic_errors, types.float64)
def _emit_logistic_errors(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    block = _Block(context, builder, signature, args)
    with cgutils.for_range_slice(builder, constant(0), block.m, constant(LANES), intp=I64) as (j, _):
        block.columns(j)
    return builder.load(block.taken)


def take_losses(losses: Any) -> Any:
    """Return the sum of the losses that `logistic_errors` has collected, and empty `losses`."""
    total = np.log(losses[0]).sum(dtype=np.float64) + losses[1].sum(dtype=np.float64)
    losses[0], losses[1:] = 1, 0
    return float(total)


@emitter_of(take_losses, types.float64)
def _emit_take_losses(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return _take(builder, _lines(context, builder, signature.args[0], args[0]))


def _lines(context: Any, builder: Any, kind: Any, losses: Any) -> list[Any]:
    """Return pointers to the lines of `losses`."""
    rows = (address_of_row(context, builder, kind, losses, constant(line)) for line in range(3))
    return [vector_at(builder, row, constant(0)) for row in rows]


def _take(builder: Any, lines: list[Any]) -> Any:
    product, rest, _ = (Lanes(builder, builder.load(line, align=4)) for line in lines)
    for line, value in zip(lines, (1.0, 0.0, 0.0), strict=True):
        builder.store(ir.Constant(VECTOR, [value] * LANES), line, align=4)
    return builder.fpext(sum_lanes(builder, (log(builder, product) + rest).value), ir.DoubleType())


class _Block:
    """Emitter for LANES columns of the logits: labels and shifts stay in registers during a loop over the rows."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        self.context, self.builder = context, builder
        (self.kind, kinds, _), (self.logits, candidates, lr) = signature.args, args
        self.rows = context.make_array(self.kind)(context, builder, self.logits).shape
        kind = dict(zip(kinds.fields, kinds.types, strict=True))
        part = {name: builder.extract_value(candidates, k) for k, name in enumerate(kinds.fields)}
        self.vectors = [self.address(kind[name], part[name]) for name in ("labels", "shifts")]
        self.m, self.rate = part["m"], Lanes(builder, splat(builder, lr))
        self.lines = _lines(context, builder, kind["losses"], part["losses"])
        self.taken = cgutils.alloca_once_value(builder, ir.Constant(ir.DoubleType(), 0.0))

    def address(self, kind: Any, array: Any) -> Any:
        struct = self.context.make_array(kind)(self.context, self.builder, array)
        return self.builder.ptrtoint(struct.data, I64)

    def columns(self, j: Any) -> None:
        """Emit columns [j, j + LANES) of all rows."""
        builder, n = self.builder, self.builder.extract_value(self.rows, 0)
        left = splat(builder, builder.trunc(builder.sub(self.m, j), I32), INTEGERS)
        inside = builder.icmp_signed("<", ir.Constant(INTEGERS, list(range(LANES))), left)
        label, shift = (Lanes(builder, builder.load(vector_at(builder, at, j), align=4)) for at in self.vectors)
        self.make_room(n)
        cells = [cgutils.alloca_once_value(builder, builder.load(line, align=4)) for line in self.lines[:2]]
        with cgutils.for_range(builder, n, intp=I64) as line:
            row = address_of_row(self.context, builder, self.kind, self.logits, line.index)
            cell = vector_at(builder, row, j)
            x = (Lanes(builder, builder.load(cell, align=4)) - shift).where(inside, 0.0)
            self.line(x, label, inside, cell, cells)
        for stored, cell in zip(self.lines, cells, strict=False):
            builder.store(builder.load(cell), stored, align=4)

    def make_room(self, n: Any) -> None:
        """Emit the count of n more factors per product; if that is too many, take the losses first."""
        builder = self.builder
        count, more = builder.bitcast(self.lines[2], F32.as_pointer()), builder.sitofp(n, F32)
        after = builder.fadd(builder.load(count), more)
        too_many = builder.fcmp_ordered(">", after, ir.Constant(F32, MOST_FACTORS))
        with builder.if_else(too_many, likely=False) as (full, fits):
            with full:
                builder.store(builder.fadd(builder.load(self.taken), _take(builder, self.lines)), self.taken)
                builder.store(more, count)
            with fits:
                builder.store(after, count)

    def line(self, x: Lanes, label: Lanes, inside: Any, cell: Any, cells: list[Any]) -> None:
        """Emit one vector of logits: store its coefficients, and update the product and the sum that give the loss."""
        builder = self.builder
        positive = x.above(0.0)
        e = exp(builder, x.where(positive, x * -1.0) * -1.0)
        one_plus = e + 1.0
        numerator = Lanes(builder, ir.Constant(VECTOR, [1.0] * LANES)).where(positive, e)
        g = (label - numerator / one_plus) * self.rate
        builder.store(g.where(inside, 0.0).value, cell, align=4)
        linear = (x.where(positive, 0.0) - label * x).where(inside, 0.0)
        product, rest = cells
        builder.store((Lanes(builder, builder.load(product)) * one_plus.where(inside, 1.0)).value, product)
        builder.store((Lanes(builder, builder.load(rest)) + linear).value, rest)
