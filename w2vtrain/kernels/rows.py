"""Whole rows of a matrix: sums, adding to several, asking memory for one, aligned matrices.

Products of rows are in tiles.py, row numbers in indices.py.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic, overload

from w2vtrain.kernels.jit import FORCED
from w2vtrain.kernels.llvm import (
    I32,
    I64,
    LANES,
    VECTOR,
    address_of_row,
    constant,
    element,
    in_blocks,
    native,
    pointer,
    row_bytes,
    splat,
)

ROW = 16
"""Rows are padded to a multiple of this many float32, one cache line."""

CACHE_LINES = 128
"""Bytes that processors fetch together: a pair of cache lines."""


BLOCKS = (8, 4, 1)
"""Vectors of a row at a time: they stay in registers while the other rows pass."""


def _emit_sum_rows(context: Any, builder: Any, signature: Any, args: Any) -> None:
    (tt, at, ait, _, _), (to, a, ai, n, scale) = signature.args, args
    t_row, factor = address_of_row(context, builder, tt, to, constant(0)), splat(builder, scale)
    cells = [cgutils.alloca_once(builder, VECTOR) for _ in range(BLOCKS[0])]

    def add(offsets: list[Any]) -> None:
        for _, cell in zip(offsets, cells, strict=False):
            builder.store(ir.Constant(VECTOR, [0.0] * LANES), cell)
        with cgutils.for_range(builder, n, intp=I64) as line:
            row = address_of_row(context, builder, at, a, element(context, builder, ait, ai, line.index))
            for offset, cell in zip(offsets, cells, strict=False):
                value = builder.load(pointer(builder, row, offset, VECTOR), align=4)
                builder.store(builder.fadd(builder.load(cell), value), cell)
        for offset, cell in zip(offsets, cells, strict=False):
            total = builder.fmul(builder.load(cell), factor)
            builder.store(total, pointer(builder, t_row, offset, VECTOR), align=4)

    in_blocks(builder, row_bytes(context, builder, at, a), BLOCKS, add)


def sum_rows(T: Any, A: Any, ai: Any, n: Any, scale: Any) -> None:
    """T[0] = scale * the sum of A's rows ai (n,); scale a float32."""
    T[0] = scale * A[ai[:n]].sum(axis=0)


@intrinsic
def _compiled_sum_rows(typingctx, T, A, ai, n, scale):
    return native(_emit_sum_rows, T, A, ai, n, scale)


@overload(sum_rows, jit_options=FORCED)
def _sum_rows(T, A, ai, n, scale):
    return lambda T, A, ai, n, scale: _compiled_sum_rows(T, A, ai, n, scale)


def _emit_add_to_rows(context: Any, builder: Any, signature: Any, args: Any) -> None:
    (at, ait, _, dt, _), (a, ai, n, d, scale) = signature.args, args
    d_row, factor = address_of_row(context, builder, dt, d, constant(0)), splat(builder, scale)

    def add(offsets: list[Any]) -> None:
        changes = [builder.load(pointer(builder, d_row, offset, VECTOR), align=4) for offset in offsets]
        changes = [builder.fmul(factor, change) for change in changes]
        with cgutils.for_range(builder, n, intp=I64) as line:
            row = address_of_row(context, builder, at, a, element(context, builder, ait, ai, line.index))
            for offset, change in zip(offsets, changes, strict=True):
                cell = pointer(builder, row, offset, VECTOR)
                builder.store(builder.fadd(builder.load(cell, align=4), change), cell, align=4)

    in_blocks(builder, row_bytes(context, builder, at, a), BLOCKS, add)


def add_to_rows(A: Any, ai: Any, n: Any, D: Any, scale: Any) -> None:
    """A's rows ai (n,) += scale * D[0], one after the other: a row that stands twice gets it twice."""
    np.add.at(A, ai[:n], scale * D[0])


@intrinsic
def _compiled_add_to_rows(typingctx, A, ai, n, D, scale):
    return native(_emit_add_to_rows, A, ai, n, D, scale)


@overload(add_to_rows, jit_options=FORCED)
def _add_to_rows(A, ai, n, D, scale):
    return lambda A, ai, n, D, scale: _compiled_add_to_rows(A, ai, n, D, scale)


def _ask(builder: Any, address: Any, to_write: int) -> None:
    """Prefetch the cache line at an address, into all caches."""
    kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), I32, I32, I32])
    ask = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    where = builder.inttoptr(address, ir.IntType(8).as_pointer())
    builder.call(ask, [where, *(ir.Constant(I32, flag) for flag in (to_write, 3, 1))])


def _emit_prefetch(context: Any, builder: Any, signature: Any, args: Any) -> None:
    start = address_of_row(context, builder, signature.args[0], args[0], args[1])
    end = builder.add(start, row_bytes(context, builder, signature.args[0], args[0]))
    with cgutils.for_range_slice(builder, start, end, constant(64), intp=I64) as (address, _):
        _ask(builder, address, 1)


def _emit_prefetch_element(context: Any, builder: Any, signature: Any, args: Any) -> None:
    struct = context.make_array(signature.args[0])(context, builder, args[0])
    _ask(builder, builder.ptrtoint(builder.gep(struct.data, [args[1]]), I64), 0)


def prefetch_element(A: Any, i: Any) -> None:
    """Ask for the cache line of A[i], to be read; i may lie behind the end. Changes nothing."""


@intrinsic
def _compiled_prefetch_element(typingctx, A, i):
    return native(_emit_prefetch_element, A, i)


@overload(prefetch_element, jit_options=FORCED)
def _prefetch_element(A, i):
    return lambda A, i: _compiled_prefetch_element(A, i)


def prefetch(A: Any, row: Any) -> None:
    """Ask for every cache line of A[row], to be written. Changes nothing."""


@intrinsic
def _compiled_prefetch(typingctx, A, row):
    return native(_emit_prefetch, A, row)


@overload(prefetch, jit_options=FORCED)
def _prefetch(A, row):
    return lambda A, row: _compiled_prefetch(A, row)


def apart_zeros(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Zeros that share no cache line with any other array.

    Two threads that write to one line, each to its own part, wait for one another: small arrays straight from NumPy
    made hs on two threads up to 2.5 times slower, by chance of the allocator.
    """
    size = -(-int(np.prod(shape)) * np.dtype(dtype).itemsize // CACHE_LINES) * CACHE_LINES
    raw = np.zeros(size + CACHE_LINES, np.uint8)
    first = -raw.ctypes.data % CACHE_LINES
    zeros: np.ndarray = raw[first : first + size].view(dtype)[: int(np.prod(shape))].reshape(shape)
    return zeros


def padded_rows(rows: int, columns: int) -> np.ndarray:
    """Zeros (rows, columns rounded up to ROW) float32, each row at the start of a cache line."""
    return apart_zeros((rows, -(-columns // ROW) * ROW), np.float32)
