"""Building blocks of SIMD code: vectors, row addresses, loops, and the link between a NumPy reference and its emitter.

This module defines no operations; those are in tiles.py, rows.py and logits.py.

Each SIMD operation has two definitions, next to each other. The reference is a Python function that computes the result
with NumPy; Python code and tests call it. The emitter writes the LLVM code that kernels run
instead. `emitter_of` links the two:

    def negate(row, n):  # the reference
        row[:n] *= -1

    @emitter_of(negate)
    def _emit_negate(context, builder, signature, args): ...
"""

import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from llvmlite import ir
from numba.core import cgutils, config, types
from numba.core.registry import cpu_target
from numba.core.typing.templates import infer, infer_global, make_intrinsic_template


def lanes() -> int:
    """Return how many float32 fit in a vector register of the processor that Numba compiles for."""
    features = cpu_target.target_context.codegen().magic_tuple()[2].split(",")
    return 16 if "+avx512f" in features else 8 if "+avx" in features else 4


def registers(triple: str, lanes: int) -> int:
    """Return how many vector registers a processor has, by the target triple of its code and its float32 per vector."""
    return 32 if lanes == 16 or triple.startswith(("aarch64", "arm64")) else 16


LANES = lanes()
"""Float32 per vector. The 12 accumulators of a 2 x 6 tile just fit in the 16 registers of SSE and AVX; NEON has 32."""

REGISTERS = registers(cpu_target.target_context.codegen().magic_tuple()[0], LANES)
"""Vector registers: 32 with AVX-512 and NEON, else 16."""

F32, I32, I64 = ir.FloatType(), ir.IntType(32), ir.IntType(64)
VECTOR, INTEGERS = ir.VectorType(F32, LANES), ir.VectorType(I32, LANES)


def constant(n: int) -> ir.Constant:
    """Return a 64-bit integer constant."""
    return ir.Constant(I64, n)


def check_bounds(context: Any, builder: Any, struct: Any, index: Any) -> None:
    """If NUMBA_BOUNDSCHECK is set, emit a check that raises IndexError for an index outside an array's first axis."""
    if config.BOUNDSCHECK:
        cgutils.do_boundscheck(context, builder, index, cgutils.unpack_tuple(builder, struct.shape)[0])


def address_of_row(context: Any, builder: Any, kind: Any, array: Any, row: Any) -> Any:
    """Return the address of a row of a 2-d array, as an integer."""
    struct = context.make_array(kind)(context, builder, array)
    check_bounds(context, builder, struct, row)
    stride = cgutils.unpack_tuple(builder, struct.strides)[0]
    return builder.add(builder.ptrtoint(struct.data, I64), builder.mul(row, stride))


def row_bytes(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Return the number of bytes in all columns of one row of a 2-d float32 array."""
    shape = cgutils.unpack_tuple(builder, context.make_array(kind)(context, builder, array).shape)
    return builder.mul(shape[1], constant(4))


def element(context: Any, builder: Any, kind: Any, array: Any, i: Any) -> Any:
    """Return element i of a 1-d int32 array, sign-extended to 64 bits."""
    struct = context.make_array(kind)(context, builder, array)
    check_bounds(context, builder, struct, i)
    return builder.sext(builder.load(builder.gep(struct.data, [i])), I64)


def pointer(builder: Any, address: Any, offset: Any, kind: ir.Type) -> Any:
    """Return `address` plus `offset` bytes as a pointer to `kind`."""
    return builder.inttoptr(builder.add(address, offset), kind.as_pointer())


def vector_at(builder: Any, address: Any, j: Any) -> Any:
    """Return a pointer to the vector that starts at element j of the float32 array at `address`."""
    return pointer(builder, address, builder.mul(j, constant(4)), VECTOR)


def adjacent(builder: Any, row: Any, offset: Any, n: int, kind: ir.Type = VECTOR) -> list[Any]:
    """Return pointers to n adjacent values of type `kind`, the first of them `offset` bytes after the address `row`.

    The order of the additions lets LLVM use one register for all of them.
    """
    first = builder.add(row, offset)
    return [pointer(builder, first, constant(k * (4 * LANES if kind == VECTOR else 4)), kind) for k in range(n)]


def in_blocks(builder: Any, size: Any, blocks: Sequence[int], body: Callable[[Any, int], None]) -> None:
    """Emit loops over the `size` bytes of a row, in blocks of vectors.

    blocks: vectors per block, powers of 2 in descending order. Each size is used as often as it fits into the rest, and
    the last one must leave none. `body` receives the offset of a block in bytes, and its number of vectors. Leaving a
    loop mispredicts a branch, which costs as much as four vectors, and a row of 200 columns is only 13 vectors of 16
    float32.
    """
    first = constant(0)
    for block in blocks:
        step = block * 4 * LANES
        end = size if block == blocks[-1] else builder.and_(size, constant(-step))
        with cgutils.for_range_slice(builder, first, end, constant(step), intp=I64) as (offset, _):
            body(offset, block)
        first = end


def multiply_add(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a * b + c: one instruction if the processor has FMA, two otherwise, and never a library call."""
    kind = ir.FunctionType(VECTOR, [VECTOR] * 3)
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{LANES}f32"), [a, b, c])


def sum_lanes(builder: Any, vector: Any) -> Any:
    """Return the sum of a vector's lanes."""
    kind = ir.FunctionType(F32, [F32, VECTOR])
    add = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.fadd.v{LANES}f32")
    return builder.call(add, [ir.Constant(F32, 0.0), vector], fastmath=("fast",))


def splat(builder: Any, scalar: Any, kind: Any = None) -> Any:
    """Return a vector of type `kind` (float32 if omitted) with the scalar in every lane."""
    kind = kind or VECTOR
    vector = builder.insert_element(ir.Constant(kind, ir.Undefined), scalar, ir.Constant(I32, 0))
    return builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(I32, LANES), [0] * LANES))


def floats(x: float) -> ir.Constant:
    """Return a vector of float32 with x in every lane."""
    return ir.Constant(VECTOR, [float(x)] * LANES)


def integers(n: int) -> ir.Constant:
    """Return a vector of int32 with n in every lane."""
    return ir.Constant(INTEGERS, [n] * LANES)


Emitter = TypeVar("Emitter", bound=Callable[..., Any])


def emitter_of(reference: Callable[..., Any], returns: Any = types.void) -> Callable[[Emitter], Emitter]:
    """Return a decorator for an emitter: kernels that call `reference` run the code that the emitter writes.

    The emitter takes Numba's (context, builder, signature, args) and returns an LLVM value of type `returns`, or
    nothing if that is void. It receives integers as int64, floats as float32, and everything else with the type that
    the caller passes. Arguments are positional. In a factory, the reference must close over every value that the
    emitter closes over, because the cache of machine code inspects only the reference.
    """
    parameters = [inspect.Parameter("typingctx", inspect.Parameter.POSITIONAL_ONLY)]
    parameters += inspect.signature(reference).parameters.values()

    def decorate(emit: Emitter) -> Emitter:
        name = f"{reference.__qualname__}.{next(_numbers)}"

        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            if config.BOUNDSCHECK:  # an index out of range returns from the function that Numba made
                value = emit(context, builder, signature, args)
            else:
                value = builder.call(_function(context, builder.module, name, signature, emit), args)
            return context.get_dummy_value() if returns == types.void else value

        def typed(typingctx: Any, *kinds: Any) -> Any:
            return returns(*map(_widened, kinds)), code

        typed.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        template = make_intrinsic_template(reference, typed, name)
        infer(template)
        infer_global(reference, types.Function(template))
        return emit

    return decorate


_numbers = itertools.count()


def _function(context: Any, module: Any, name: str, signature: Any, emit: Callable[..., Any]) -> Any:
    """Return the LLVM function of an emitter for arguments of these types; add it to the module if it is missing.

    It is always inlined. A separate function lets LLVM optimize the code before that. Emitted directly into the kernel,
    the code made CBOW's kernel 3% larger; and compiled by Numba as a function of its own, it took 60 ms.
    """
    returns = ir.VoidType() if signature.return_type == types.void else context.get_value_type(signature.return_type)
    name = f"{name}{signature.args}"
    if name in module.globals:
        return module.globals[name]
    kind = ir.FunctionType(returns, [context.get_value_type(kind) for kind in signature.args])
    function = ir.Function(module, kind, name)
    function.linkage = "internal"
    function.attributes.add("alwaysinline")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    value = emit(context, builder, signature, function.args)
    if signature.return_type == types.void:
        builder.ret_void()
    else:
        builder.ret(value)
    return function


def _widened(kind: Any) -> Any:
    """Return the type that an emitter receives for an argument of this type."""
    if isinstance(kind, types.Integer):
        return types.int64
    return types.float32 if isinstance(kind, types.Float) else kind


_LOG = [
    -0.00837115255, 0.0434938998, -0.106850029, 0.176874767, -0.244747742, 0.332719284, -0.499971745, 0.999999781
]  # fmt: skip


class Lanes:
    """A vector of LANES float32 in LLVM code, with arithmetic operators, so that formulas look like formulas."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def _of(self, other: "Lanes | float") -> Any:
        return other.value if isinstance(other, Lanes) else floats(other)

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
