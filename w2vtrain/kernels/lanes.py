"""Arithmetic on vectors of float32 in LLVM code: operators, exp, log.

It contains no operation that kernels call directly; logistic.py and softmax.py are built on it.
"""

from typing import Any

from llvmlite import ir

from w2vtrain.kernels.llvm import INTEGERS, LANES, VECTOR, integers

_LOG = [
    -0.00837115255, 0.0434938998, -0.106850029, 0.176874767, -0.244747742, 0.332719284, -0.499971745, 0.999999781
]  # fmt: skip


class Lanes:
    """A vector of LANES float32 in LLVM code, with arithmetic operators, so that formulas look like formulas."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def _of(self, other: "Lanes | float") -> Any:
        return other.value if isinstance(other, Lanes) else ir.Constant(VECTOR, [float(other)] * LANES)

    def __add__(self, other: "Lanes | float") -> "Lanes":
        return Lanes(self.builder, self.builder.fadd(self.value, self._of(other)))

    def __sub__(self, other: "Lanes | float") -> "Lanes":
        return Lanes(self.builder, self.builder.fsub(self.value, self._of(other)))

    def __mul__(self, other: "Lanes | float") -> "Lanes":
        return Lanes(self.builder, self.builder.fmul(self.value, self._of(other)))

    def __truediv__(self, other: "Lanes | float") -> "Lanes":
        return Lanes(self.builder, self.builder.fdiv(self.value, self._of(other)))

    def above(self, other: "Lanes | float") -> Any:
        """Return the mask of the lanes that are greater than the other's; it is unset where either is NaN."""
        return self.builder.fcmp_ordered(">", self.value, self._of(other))

    def is_nan(self) -> Any:
        """Return the mask of the lanes that are NaN."""
        return self.builder.fcmp_unordered("uno", self.value, self.value)

    def where(self, mask: Any, other: "Lanes | float") -> "Lanes":
        """Return this vector's lanes where the mask is set, and the other's elsewhere."""
        return Lanes(self.builder, self.builder.select(mask, self.value, self._of(other)))


def _polynomial(x: Lanes, coefficients: list[float]) -> Lanes:
    """Evaluate a polynomial by Horner's scheme; coefficients are ordered from the highest power down."""
    result = x * coefficients[0]
    for coefficient in coefficients[1:-1]:
        result = (result + coefficient) * x
    return result + coefficients[-1]


def exp(builder: Any, x: Lanes) -> Lanes:
    """Return the exponential of x <= 0, but at least 2^-126. NaN also gives 2^-126.

    The relative error is below 1e-6 for x >= -15. For smaller x it is |x| 2^-24, as much as the rounding of x causes.
    """
    z = x * 1.4426950408889634
    z = z.where(z.above(-126.0), -126.0)
    n = builder.fptosi((z - 0.5).value, INTEGERS)  # truncates toward 0, which rounds z <= 0 to nearest
    r = z - Lanes(builder, builder.sitofp(n, VECTOR))
    bits = builder.shl(builder.add(n, integers(127)), integers(23))
    # 2^r on [-1/2, 1/2] by its Taylor series: ln(2)^k / k!
    taylor = [1.540353e-4, 1.3333558e-3, 9.6181291e-3, 5.5504109e-2, 2.4022651e-1, 6.9314718e-1, 1.0]
    return Lanes(builder, builder.bitcast(bits, VECTOR)) * _polynomial(r, taylor)


def log(builder: Any, y: Lanes) -> Lanes:
    """Return the natural logarithm of 1 <= y < 2^127, with a relative error below 1e-6.

    It is the exponent times log 2, plus log(1 + t) for the mantissa 1 + t, by a polynomial that interpolates
    log(1 + t) / t at Chebyshev nodes in [0, 1].
    """
    bits = builder.bitcast(y.value, INTEGERS)
    exponent = builder.sub(builder.lshr(bits, integers(23)), integers(127))
    mantissa = builder.or_(builder.and_(bits, integers(0x7FFFFF)), integers(127 << 23))
    t = Lanes(builder, builder.bitcast(mantissa, VECTOR)) - 1.0
    return Lanes(builder, builder.sitofp(exponent, VECTOR)) * 0.6931471805599453 + t * _polynomial(t, _LOG)
