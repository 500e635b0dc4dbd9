"""The logistic loss over a block of logits: what hs, neg and nce have in common, as explicit SIMD.

It decides no labels and draws no candidates: that is what tells those objectives apart.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from .jit import FORCED
from .llvm import I32, I64, LANES, VECTOR, address_of_row, splat, sum_lanes

INTEGERS, MASK = ir.VectorType(I32, LANES), ir.VectorType(ir.IntType(1), LANES)


class _Lanes:
    """A vector of LANES float32 in LLVM code, with the operators of arithmetic, so that formulas read as such."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def _of(self, other: "_Lanes | float") -> Any:
        return other.value if isinstance(other, _Lanes) else ir.Constant(VECTOR, [float(other)] * LANES)

    def __add__(self, other: "_Lanes | float") -> "_Lanes":
        return _Lanes(self.builder, self.builder.fadd(self.value, self._of(other)))

    def __sub__(self, other: "_Lanes | float") -> "_Lanes":
        return _Lanes(self.builder, self.builder.fsub(self.value, self._of(other)))

    def __mul__(self, other: "_Lanes | float") -> "_Lanes":
        return _Lanes(self.builder, self.builder.fmul(self.value, self._of(other)))

    def __truediv__(self, other: "_Lanes | float") -> "_Lanes":
        return _Lanes(self.builder, self.builder.fdiv(self.value, self._of(other)))

    def above(self, other: float) -> Any:
        """Mask of the lanes that are greater; not those that are not a number."""
        return self.builder.fcmp_ordered(">", self.value, self._of(other))

    def where(self, mask: Any, other: "_Lanes | float") -> "_Lanes":
        """These lanes where the mask is set, the other's elsewhere."""
        return _Lanes(self.builder, self.builder.select(mask, self.value, self._of(other)))


def _polynomial(x: _Lanes, coefficients: list[float]) -> _Lanes:
    """Horner's scheme, highest power first."""
    result = x * coefficients[0]
    for coefficient in coefficients[1:-1]:
        result = (result + coefficient) * x
    return result + coefficients[-1]


def _exp(builder: Any, x: _Lanes) -> _Lanes:
    """exp(x) for x <= 0, relative error below 1e-6, not below 2^-126."""
    z = x * 1.4426950408889634
    z = z.where(z.above(-126.0), -126.0)
    n = builder.fptosi((z - 0.5).value, INTEGERS)  # cuts towards 0, hence rounds z <= 0 to nearest
    r = z - _Lanes(builder, builder.sitofp(n, VECTOR))
    bits = builder.shl(builder.add(n, _integers(127)), _integers(23))
    # 2^r on [-1/2, 1/2] by its Taylor series: ln(2)^k / k!
    taylor = [1.540353e-4, 1.3333558e-3, 9.6181291e-3, 5.5504109e-2, 2.4022651e-1, 6.9314718e-1, 1.0]
    return _Lanes(builder, builder.bitcast(bits, VECTOR)) * _polynomial(r, taylor)


def _log(builder: Any, y: _Lanes) -> _Lanes:
    """log(y) for 1 <= y < 2^127, error below 1e-6: the exponent, and 2 artanh(u), u <= 1/3, of the mantissa."""
    bits = builder.bitcast(y.value, INTEGERS)
    exponent = builder.sub(builder.lshr(bits, _integers(23)), _integers(127))
    mantissa = builder.or_(builder.and_(bits, _integers(0x7FFFFF)), _integers(127 << 23))
    m = _Lanes(builder, builder.bitcast(mantissa, VECTOR))
    u = (m - 1.0) / (m + 1.0)
    artanh = u * _polynomial(u * u, [2 / 11, 2 / 9, 2 / 7, 2 / 5, 2 / 3, 2.0])
    return _Lanes(builder, builder.sitofp(exponent, VECTOR)) * 0.6931471805599453 + artanh


def _integers(n: int) -> ir.Constant:
    return ir.Constant(INTEGERS, [n] * LANES)


class _Block:
    """The code for LANES columns of the block: labels and shifts in registers, a loop over the lines."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        self.context, self.builder, self.kinds, self.args = context, builder, signature.args, args
        self.rate = _Lanes(builder, splat(builder, args[5]))
        self.total = cgutils.alloca_once(builder, VECTOR)
        self.product = cgutils.alloca_once(builder, VECTOR)
        builder.store(ir.Constant(VECTOR, [0.0] * LANES), self.total)

    def pointer(self, address: Any, j: Any) -> Any:
        at = self.builder.add(address, self.builder.mul(j, ir.Constant(I64, 4)))
        return self.builder.inttoptr(at, VECTOR.as_pointer())

    def load(self, array: int, j: Any) -> _Lanes:
        struct = self.context.make_array(self.kinds[array])(self.context, self.builder, self.args[array])
        address = self.builder.ptrtoint(struct.data, I64)
        return _Lanes(self.builder, self.builder.load(self.pointer(address, j), align=4))

    def columns(self, j: Any) -> None:
        """Lines (n) of columns j .. j + LANES; the loss's logarithm is taken once, of a product over the lines."""
        builder, (logits, n, m) = self.builder, self.args[:3]
        left = splat(builder, builder.trunc(builder.sub(m, j), I32), INTEGERS)
        inside = builder.icmp_signed("<", ir.Constant(INTEGERS, list(range(LANES))), left)
        label, shift = self.load(3, j), self.load(4, j)
        builder.store(ir.Constant(VECTOR, [1.0] * LANES), self.product)
        with cgutils.for_range(builder, n, intp=I64) as line:
            row = address_of_row(self.context, builder, self.kinds[0], logits, line.index)
            cell = self.pointer(row, j)
            x = (_Lanes(builder, builder.load(cell, align=4)) - shift).where(inside, 0.0)
            self.line(x, label, inside, cell)
        log = _log(builder, _Lanes(builder, builder.load(self.product))).where(inside, 0.0)
        builder.store((_Lanes(builder, builder.load(self.total)) + log).value, self.total)

    def line(self, x: _Lanes, label: _Lanes, inside: Any, cell: Any) -> None:
        """One vector of logits: coefficients to memory, the loss to the sum and the product."""
        builder = self.builder
        positive = x.above(0.0)
        e = _exp(builder, x.where(positive, x * -1.0) * -1.0)
        one_plus = e + 1.0
        numerator = _Lanes(builder, ir.Constant(VECTOR, [1.0] * LANES)).where(positive, e)
        g = (label - numerator / one_plus) * self.rate
        builder.store(g.where(inside, 0.0).value, cell, align=4)
        linear = (x.where(positive, 0.0) - label * x).where(inside, 0.0)
        builder.store((_Lanes(builder, builder.load(self.total)) + linear).value, self.total)
        builder.store((_Lanes(builder, builder.load(self.product)) * one_plus).value, self.product)


def _emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    block = _Block(context, builder, signature, args)
    with cgutils.for_range_slice(builder, ir.Constant(I64, 0), args[2], ir.Constant(I64, LANES), intp=I64) as (j, _):
        block.columns(j)
    return builder.fpext(sum_lanes(builder, builder.load(block.total)), ir.DoubleType())


def logistic_errors(logits: Any, n: Any, m: Any, labels: Any, shifts: Any, lr: Any) -> Any:
    """In place: logits (n, m) -> lr * (label - sigma(logit - shift)). Returns the loss, summed over all cells.

    Loss of a cell: log(1 + exp(x)) - label x, with x = logit - shift. labels, shifts (m,) float32; lr float32. All
    arrays hold rows.ROW columns more than m, which may be overwritten; n < 127. A logit that is not a number makes
    the loss not a number.
    """
    x, y = logits[:n, :m] - shifts[:m], labels[:m]
    e = np.exp(-np.abs(x))
    loss = np.maximum(x, 0) + np.log1p(e) - y * x
    logits[:n, :m] = (y - np.where(x > 0, 1, e) / (1 + e)) * lr
    return float(loss.sum(dtype=np.float64))


@intrinsic
def _native(typingctx, logits, n, m, labels, shifts, lr):
    return types.float64(logits, types.int64, types.int64, labels, shifts, types.float32), _emit


@overload(logistic_errors, jit_options=FORCED)
def _logistic_errors(logits, n, m, labels, shifts, lr):
    return lambda logits, n, m, labels, shifts, lr: _native(logits, n, m, labels, shifts, lr)
