"""Operations on whole rows of a matrix: sums, updates of several rows, prefetching, aligned allocation.

Products of rows are in tiles.py; operations on row numbers are in indices.py.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils

from w2vtrain.kernels.llvm import (
    I32,
    I64,
    LANES,
    VECTOR,
    address_of_row,
    constant,
    element,
    emitter_of,
    in_blocks,
    pointer,
    row_bytes,
    splat,
)

ROW = 16
"""Float32 per cache line. Rows are padded to a multiple of this."""

CACHE_LINES = 128
"""Bytes in a pair of cache lines, which processors fetch together."""

BLOCKS = (8, 4, 1)
"""Vectors per block of a row. A block stays in registers during a loop over the other rows."""


def sum_rows(T: Any, A: Any, ai: Any, n: Any, scale: Any) -> None:
    """Set T[0, :d] to `scale` times the sum of the rows ai (n,) of A.

    A (N, d), T (1, d or more) and scale are float32, ai is int32. Rows of A may have any length and start at any
    address, but the elements of a row must be contiguous. Nothing beyond a row's d columns is read or written.
    """
    T[0, : A.shape[1]] = scale * A[ai[:n]].sum(axis=0)


@emitter_of(sum_rows)
def _emit_sum_rows(context: Any, builder: Any, signature: Any, args: Any) -> None:
    """Emit a loop over whole vectors, then one over the remaining columns; padded rows have none."""
    (tt, at, ait, _, _), (to, a, ai, n, scale) = signature.args, args
    t_row, size = address_of_row(context, builder, tt, to, constant(0)), row_bytes(context, builder, at, a)
    align = 4 if at.aligned else 1

    def adder(factor: Any) -> Callable[[list[Any]], None]:
        kind = factor.type
        cells = [cgutils.alloca_once(builder, kind) for _ in range(BLOCKS[0])]

        def add(offsets: list[Any]) -> None:
            for _, cell in zip(offsets, cells, strict=False):
                builder.store(ir.Constant(kind, None), cell)
            with cgutils.for_range(builder, n, intp=I64) as line:
                row = address_of_row(context, builder, at, a, element(context, builder, ait, ai, line.index))
                for offset, cell in zip(offsets, cells, strict=False):
                    value = builder.load(pointer(builder, row, offset, kind), align=align)
                    builder.store(builder.fadd(builder.load(cell), value), cell)
            for offset, cell in zip(offsets, cells, strict=False):
                total = builder.fmul(builder.load(cell), factor)
                builder.store(total, pointer(builder, t_row, offset, kind), align=4)

        return add

    whole = builder.and_(size, constant(-4 * LANES))
    in_blocks(builder, whole, BLOCKS, adder(splat(builder, scale)))
    add_column = adder(scale)
    with cgutils.for_range_slice(builder, whole, size, constant(4), intp=I64) as (offset, _):
        add_column([offset])


def add_to_rows(A: Any, ai: Any, n: Any, D: Any, scale: Any) -> None:
    """Add scale * D[0] to each of the rows ai (n,) of A, twice to a row that is listed twice.

    A (N, d), D (1, d) and scale are float32, ai is int32, and d is a multiple of ROW.
    """
    np.add.at(A, ai[:n], scale * D[0])


@emitter_of(add_to_rows)
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


def prefetch(A: Any, row: Any) -> None:
    """Prefetch every cache line of A[row] for writing. This changes no values."""


@emitter_of(prefetch)
def _emit_prefetch(context: Any, builder: Any, signature: Any, args: Any) -> None:
    start = address_of_row(context, builder, signature.args[0], args[0], args[1])
    end = builder.add(start, row_bytes(context, builder, signature.args[0], args[0]))
    with cgutils.for_range_slice(builder, start, end, constant(64), intp=I64) as (address, _):
        _prefetch_line(builder, address, 1)


def prefetch_element(A: Any, i: Any) -> None:
    """Prefetch the cache line of A[i] for reading. This changes no values; i may be beyond the end of A (n,)."""


@emitter_of(prefetch_element)
def _emit_prefetch_element(context: Any, builder: Any, signature: Any, args: Any) -> None:
    struct = context.make_array(signature.args[0])(context, builder, args[0])
    _prefetch_line(builder, builder.ptrtoint(builder.gep(struct.data, [args[1]]), I64), 0)


def _prefetch_line(builder: Any, address: Any, to_write: int) -> None:
    """Prefetch the cache line at an address into all cache levels."""
    kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), I32, I32, I32])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    where = builder.inttoptr(address, ir.IntType(8).as_pointer())
    builder.call(function, [where, *(ir.Constant(I32, flag) for flag in (to_write, 3, 1))])


def apart_zeros(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return an array of zeros that shares no cache line with any other array.

    Threads that write to different parts of the same cache line wait for each other. With small arrays allocated by
    NumPy, hs on two threads was up to 2.5 times slower, depending on their addresses.
    """
    size = -(-int(np.prod(shape)) * np.dtype(dtype).itemsize // CACHE_LINES) * CACHE_LINES
    raw = np.zeros(size + CACHE_LINES, np.uint8)
    first = -raw.ctypes.data % CACHE_LINES
    zeros: np.ndarray = raw[first : first + size].view(dtype)[: int(np.prod(shape))].reshape(shape)
    return zeros


def padded_rows(rows: int, columns: int) -> np.ndarray:
    """Return float32 zeros (rows, columns rounded up to a multiple of ROW); each row starts on a cache line."""
    return apart_zeros((rows, -(-columns // ROW) * ROW), np.float32)
