"""The words in which the SIMD code is written: vectors, addresses of rows, the step from Python to LLVM.

It computes nothing by itself; tiles.py, rows.py and logistic.py do.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, config, types
from numba.core.registry import cpu_target


def lanes() -> int:
    """Float32 in a vector register of the processor that Numba compiles for."""
    features = cpu_target.target_context.codegen().magic_tuple()[2].split(",")
    return 16 if "+avx512f" in features else 8 if "+avx" in features else 4


LANES = lanes()
"""Twelve accumulators of a 2 x 6 tile just fit the 16 registers of SSE, AVX and half of NEON's 32."""

F32, I32, I64 = ir.FloatType(), ir.IntType(32), ir.IntType(64)
VECTOR = ir.VectorType(F32, LANES)


def constant(n: int) -> ir.Constant:
    """A 64-bit integer."""
    return ir.Constant(I64, n)


def check_bounds(context: Any, builder: Any, struct: Any, index: Any) -> None:
    """Code that raises IndexError for an index outside an array's first axis, where NUMBA_BOUNDSCHECK asks for it."""
    if config.BOUNDSCHECK:
        cgutils.do_boundscheck(context, builder, index, cgutils.unpack_tuple(builder, struct.shape)[0])


def address_of_row(context: Any, builder: Any, kind: Any, array: Any, row: Any) -> Any:
    """LLVM code for the address of a row of a 2-d array, as an integer."""
    struct = context.make_array(kind)(context, builder, array)
    check_bounds(context, builder, struct, row)
    stride = cgutils.unpack_tuple(builder, struct.strides)[0]
    return builder.add(builder.ptrtoint(struct.data, I64), builder.mul(row, stride))


def row_bytes(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """LLVM code for the bytes of a row of a 2-d array of float32."""
    shape = cgutils.unpack_tuple(builder, context.make_array(kind)(context, builder, array).shape)
    return builder.mul(shape[1], constant(4))


def element(context: Any, builder: Any, kind: Any, array: Any, i: Any) -> Any:
    """Element i of a 1-d int32 array, widened to 64 bits."""
    struct = context.make_array(kind)(context, builder, array)
    check_bounds(context, builder, struct, i)
    return builder.sext(builder.load(builder.gep(struct.data, [i])), I64)


def pointer(builder: Any, address: Any, offset: Any, kind: ir.Type) -> Any:
    """The address plus offset bytes, as a pointer to `kind`."""
    return builder.inttoptr(builder.add(address, offset), kind.as_pointer())


def in_blocks(builder: Any, size: Any, blocks: tuple[int, ...], body: Callable[[list[Any]], None]) -> None:
    """Code for rows of `size` bytes, so many vectors at a time: body takes their offsets.

    blocks: how many, the first as often as they fit, then the next; the last is 1. A row of 200 columns is 13 vectors:
    a loop over them one by one is left by a branch that is often mispredicted, at the price of four of them.
    """
    first = constant(0)
    for block in blocks:
        step = block * 4 * LANES
        end = builder.and_(size, constant(-step)) if block > 1 else size
        with cgutils.for_range_slice(builder, first, end, constant(step), intp=I64) as (offset, _):
            body([builder.add(offset, constant(4 * LANES * k)) for k in range(block)])
        first = end


def multiply_add(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """The value of a * b + c: one instruction where the processor has it, two (not a library call) where it has not."""
    kind = ir.FunctionType(VECTOR, [VECTOR] * 3)
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{LANES}f32"), [a, b, c])


def sum_lanes(builder: Any, vector: Any) -> Any:
    """LLVM code for the sum over a vector's lanes."""
    kind = ir.FunctionType(F32, [F32, VECTOR])
    add = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.fadd.v{LANES}f32")
    return builder.call(add, [ir.Constant(F32, 0.0), vector], fastmath=("fast",))


def splat(builder: Any, scalar: Any, kind: Any = None) -> Any:
    """A vector (of float32, or `kind`) with the scalar in every lane."""
    kind = kind or VECTOR
    vector = builder.insert_element(ir.Constant(kind, ir.Undefined), scalar, ir.Constant(I32, 0))
    return builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(I32, LANES), [0] * LANES))


def native(emit: Callable[..., None], *kinds: Any) -> Any:
    """What an intrinsic returns: its signature, every integer as int64, and the code that `emit` writes."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        emit(context, builder, signature, args)
        return context.get_dummy_value()

    return types.void(*(types.int64 if isinstance(k, types.Integer) else k for k in kinds)), codegen
