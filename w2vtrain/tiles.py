"""Small matrix products between rows of two matrices, as explicit SIMD: the inner loop of the window engine.

It knows rows and coefficients only; what they mean is the architectures' and objectives' business.

A tile is `ni` rows of A against `nj` rows of B, picked by index arrays, so nothing is copied. Rows are float32 and
their length is a multiple of ROW (pad with zeros). Each operation is a Python function that says what is computed, and
an LLVM twin that Numba compiles in its place: vectors as wide as the processor's registers, accumulators kept in
registers, each row read once. Left to LLVM's auto-vectoriser the same loops reached half the speed.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.registry import cpu_target
from numba.extending import intrinsic, overload

ROW = 16
"""Rows are padded to a multiple of this many float32, one cache line."""


def _lanes() -> int:
    """Float32 in a vector register of the processor that Numba compiles for."""
    features = cpu_target.target_context.codegen().magic_tuple()[2].split(",")
    return 16 if "+avx512f" in features else 8 if "+avx" in features else 4


LANES = _lanes()
"""Twelve accumulators of a 2 x 6 tile just fit the 16 registers of SSE, AVX and half of NEON's 32."""

F32, I32, I64 = ir.FloatType(), ir.IntType(32), ir.IntType(64)
VECTOR = ir.VectorType(F32, LANES)


def _int(n: int) -> ir.Constant:
    return ir.Constant(I64, n)


def address_of_row(context: Any, builder: Any, kind: Any, array: Any, row: Any) -> Any:
    """LLVM code for the address of a row of a 2-d array, as an integer."""
    struct = context.make_array(kind)(context, builder, array)
    stride = cgutils.unpack_tuple(builder, struct.strides)[0]
    return builder.add(builder.ptrtoint(struct.data, I64), builder.mul(row, stride))


def _element(context: Any, builder: Any, kind: Any, array: Any, i: Any) -> Any:
    """Element i of a 1-d int32 array, widened to 64 bits."""
    struct = context.make_array(kind)(context, builder, array)
    return builder.sext(builder.load(builder.gep(struct.data, [i])), I64)


def _pointer(builder: Any, address: Any, offset: Any, kind: ir.Type) -> Any:
    return builder.inttoptr(builder.add(address, offset), kind.as_pointer())


def _multiply_add(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """The value of a * b + c: one instruction where the processor has it, two (not a library call) where it has not."""
    kind = ir.FunctionType(VECTOR, [VECTOR] * 3)
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{LANES}f32"), [a, b, c])


def sum_lanes(builder: Any, vector: Any) -> Any:
    """LLVM code for the sum over a vector's lanes."""
    kind = ir.FunctionType(F32, [F32, VECTOR])
    add = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.fadd.v{LANES}f32")
    return builder.call(add, [ir.Constant(F32, 0.0), vector], fastmath=("fast",))


def _splat(builder: Any, scalar: Any) -> Any:
    vector = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), scalar, ir.Constant(I32, 0))
    return builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(I32, LANES), [0] * LANES))


class _Tile:
    """Addresses of the rows and coefficients of one tile, and loops over its columns."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any, ni: int, nj: int) -> None:
        at, ait, _, bt, bit, _, gt = signature.args[:7]
        a, ai, i, b, bi, j, g = args[:7]
        self.builder, self.ni, self.nj = builder, range(ni), range(nj)
        self.a = [address_of_row(context, builder, at, a, self._index(context, ait, ai, i, q)) for q in self.ni]
        self.b = [address_of_row(context, builder, bt, b, self._index(context, bit, bi, j, r)) for r in self.nj]
        column = builder.mul(j, _int(4))
        lines = [builder.add(address_of_row(context, builder, gt, g, builder.add(i, _int(q))), column) for q in self.ni]
        self.g = [[_pointer(builder, line, _int(4 * r), F32) for r in self.nj] for line in lines]
        shape = cgutils.unpack_tuple(builder, context.make_array(at)(context, builder, a).shape)
        self.bytes = builder.mul(shape[1], _int(4))

    def _index(self, context: Any, kind: Any, array: Any, first: Any, k: int) -> Any:
        return _element(context, self.builder, kind, array, self.builder.add(first, _int(k)))

    def columns(self) -> Any:
        return cgutils.for_range_slice(self.builder, _int(0), self.bytes, _int(4 * LANES), intp=I64)

    def load(self, address: Any, offset: Any) -> Any:
        return self.builder.load(_pointer(self.builder, address, offset, VECTOR), align=4)

    def store(self, value: Any, address: Any, offset: Any) -> None:
        self.builder.store(value, _pointer(self.builder, address, offset, VECTOR), align=4)


def _emit_dots(tile: _Tile) -> None:
    builder, zero = tile.builder, ir.Constant(VECTOR, [0.0] * LANES)
    sums = [[cgutils.alloca_once_value(builder, zero) for _ in tile.nj] for _ in tile.ni]
    for line in sums:
        for cell in line:
            builder.store(zero, cell)
    with tile.columns() as (offset, _):
        b = [tile.load(address, offset) for address in tile.b]
        for q in tile.ni:
            a = tile.load(tile.a[q], offset)
            for r in tile.nj:
                builder.store(_multiply_add(builder, a, b[r], builder.load(sums[q][r])), sums[q][r])
    for q in tile.ni:
        for k, vector in enumerate(_sums(builder, [builder.load(cell) for cell in sums[q]])):
            builder.store(vector, builder.bitcast(tile.g[q][k * LANES], VECTOR.as_pointer()), align=4)


def _sums(builder: Any, vectors: list[Any]) -> list[Any]:
    """The sum of each vector's lanes, one after the other in as few vectors as hold them; the lanes left are waste.

    Folding two vectors into one costs three instructions a level for all: a third of summing one by one.
    """
    width = LANES
    while width > 1:
        half = width // 2
        low = [lane for lane in range(2 * LANES) if lane % width < half]
        picks = [ir.Constant(ir.VectorType(I32, LANES), [lane + shift for lane in low]) for shift in (0, half)]
        pairs = [(vectors[k], vectors[min(k + 1, len(vectors) - 1)]) for k in range(0, len(vectors), 2)]
        vectors = [builder.fadd(*(builder.shuffle_vector(a, b, pick) for pick in picks)) for a, b in pairs]
        width = half
    return vectors


def _emit_update(context: Any, builder: Any, signature: Any, args: Any, nj: int, apart: bool) -> None:
    """Columns outside, rows of A inside: nj vectors of B stay in registers, old and new, while all rows of A pass."""
    (at, ait, _, bt, bit, _, gt), (a, ai, n, b, bi, j, g) = signature.args[:7], args[:7]
    tile_b = range(nj)
    b_rows = [
        address_of_row(context, builder, bt, b, _element(context, builder, bit, bi, builder.add(j, _int(r))))
        for r in tile_b
    ]
    b_new = [cgutils.alloca_once(builder, VECTOR) for _ in tile_b]
    columns = cgutils.unpack_tuple(builder, context.make_array(at)(context, builder, a).shape)[1]
    size = builder.mul(columns, _int(4))
    with cgutils.for_range_slice(builder, _int(0), size, _int(4 * LANES), intp=I64) as (offset, _):
        b_old = [builder.load(_pointer(builder, row, offset, VECTOR), align=4) for row in b_rows]
        for r in tile_b:
            builder.store(b_old[r], b_new[r])
        with cgutils.for_range(builder, n, intp=I64) as line:
            row = _element(context, builder, ait, ai, line.index)
            a_row = _pointer(builder, address_of_row(context, builder, at, a, row), offset, VECTOR)
            g_row = builder.add(address_of_row(context, builder, gt, g, line.index), builder.mul(j, _int(4)))
            old = builder.load(a_row, align=4)
            to, new = a_row, old
            if apart:
                d_row = address_of_row(context, builder, signature.args[7], args[7], row)
                to = _pointer(builder, d_row, offset, VECTOR)
                new = builder.load(to, align=4)
            for r in tile_b:
                c = _splat(builder, builder.load(_pointer(builder, g_row, _int(4 * r), F32), align=4))
                new = _multiply_add(builder, c, b_old[r], new)
                builder.store(_multiply_add(builder, c, old, builder.load(b_new[r])), b_new[r])
            builder.store(new, to, align=4)
        for r in tile_b:
            builder.store(builder.load(b_new[r]), _pointer(builder, b_rows[r], offset, VECTOR), align=4)


def _native(emit: Callable[..., None], *kinds: Any) -> Any:
    """What an intrinsic returns: its signature, every integer as int64, and the code that `emit` writes."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        emit(context, builder, signature, args)
        return context.get_dummy_value()

    return types.void(*(types.int64 if isinstance(k, types.Integer) else k for k in kinds)), codegen


def make_dots(ni: int, nj: int) -> Callable[..., None]:
    """The product of ni rows of A and nj rows of B.

    A (N, d), B (R, d) float32 matrices; ai, bi int32 row numbers, of which those from i and j on are taken; G (., .)
    float32, whose cells from (i, j) on are the tile's.
    """

    def dots(A: Any, ai: Any, i: Any, B: Any, bi: Any, j: Any, G: Any) -> None:
        """G = A . B': every row of A with every row of B. May overwrite up to ROW cells to the right of the tile's."""
        G[i : i + ni, j : j + nj] = A[ai[i : i + ni]] @ B[bi[j : j + nj]].T

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> None:
        _emit_dots(_Tile(context, builder, signature, args, ni, nj))

    @intrinsic
    def native(typingctx, A, ai, i, B, bi, j, G):
        return _native(emit, A, ai, i, B, bi, j, G)

    @overload(dots)
    def _dots(A, ai, i, B, bi, j, G):
        return lambda A, ai, i, B, bi, j, G: native(A, ai, i, B, bi, j, G)

    return dots


def make_update(nj: int) -> Callable[..., None]:
    """The gradient step of n rows of A and nj rows of B; arguments as for `make_dots`, A's rows from the first on.

    A row must not stand twice among the nj: it would keep its last change only.
    """

    def update(A: Any, ai: Any, n: Any, B: Any, bi: Any, j: Any, G: Any) -> None:
        """A += G . B and B += G' . A, both from the old values."""
        a, b, g = A[ai[:n]], B[bi[j : j + nj]], G[:n, j : j + nj]
        np.add.at(A, ai[:n], g @ b)
        B[bi[j : j + nj]] = b + g.T @ a

    @intrinsic
    def native(typingctx, A, ai, n, B, bi, j, G):
        return _native(partial(_emit_update, nj=nj, apart=False), A, ai, n, B, bi, j, G)

    @overload(update)
    def _update(A, ai, n, B, bi, j, G):
        return lambda A, ai, n, B, bi, j, G: native(A, ai, n, B, bi, j, G)

    return update


def make_update_apart(nj: int) -> Callable[..., None]:
    """The same, with A's change going to the same rows of D (N, d) instead."""

    def update_apart(A: Any, ai: Any, n: Any, B: Any, bi: Any, j: Any, G: Any, D: Any) -> None:
        """D += G . B and B += G' . A."""
        a, b, g = A[ai[:n]], B[bi[j : j + nj]], G[:n, j : j + nj]
        np.add.at(D, ai[:n], g @ b)
        B[bi[j : j + nj]] = b + g.T @ a

    @intrinsic
    def native(typingctx, A, ai, n, B, bi, j, G, D):
        return _native(partial(_emit_update, nj=nj, apart=True), A, ai, n, B, bi, j, G, D)

    @overload(update_apart)
    def _update_apart(A, ai, n, B, bi, j, G, D):
        return lambda A, ai, n, B, bi, j, G, D: native(A, ai, n, B, bi, j, G, D)

    return update_apart


def _emit_add_row(context: Any, builder: Any, signature: Any, args: Any) -> None:
    a, i, b, j, scale = args
    to = address_of_row(context, builder, signature.args[0], a, i)
    source = address_of_row(context, builder, signature.args[2], b, j)
    columns = cgutils.unpack_tuple(builder, context.make_array(signature.args[0])(context, builder, a).shape)[1]
    factor = _splat(builder, scale)
    with cgutils.for_range_slice(builder, _int(0), builder.mul(columns, _int(4)), _int(4 * LANES), intp=I64) as (at, _):
        cell = _pointer(builder, to, at, VECTOR)
        value = builder.load(_pointer(builder, source, at, VECTOR), align=4)
        builder.store(_multiply_add(builder, factor, value, builder.load(cell, align=4)), cell, align=4)


def add_row(A: Any, i: Any, B: Any, j: Any, scale: Any) -> None:
    """A[i] += scale * B[j]; scale a float32."""
    A[i] += scale * B[j]


@intrinsic
def _native_add_row(typingctx, A, i, B, j, scale):
    return _native(_emit_add_row, A, i, B, j, scale)


@overload(add_row)
def _add_row(A, i, B, j, scale):
    return lambda A, i, B, j, scale: _native_add_row(A, i, B, j, scale)


def _emit_repeats(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    ids, n = args
    kind = ir.VectorType(I32, LANES)
    data = builder.ptrtoint(context.make_array(signature.args[0])(context, builder, ids).data, I64)
    found = cgutils.alloca_once_value(builder, ir.Constant(kind, [0] * LANES))
    builder.store(ir.Constant(kind, [0] * LANES), found)
    zeros, lanes = ir.Constant(kind, [0] * LANES), ir.Constant(kind, list(range(LANES)))

    def splat(scalar: Any) -> Any:
        return builder.shuffle_vector(
            builder.insert_element(ir.Constant(kind, ir.Undefined), scalar, ir.Constant(I32, 0)), zeros, zeros
        )

    with (
        cgutils.for_range(builder, n, intp=I64) as word,
        cgutils.for_range_slice(builder, _int(0), word.index, _int(LANES), intp=I64) as (first, _),
    ):
        this = builder.load(_pointer(builder, data, builder.mul(word.index, _int(4)), I32), align=4)
        those = builder.load(_pointer(builder, data, builder.mul(first, _int(4)), kind), align=4)
        before = builder.icmp_signed("<", lanes, splat(builder.trunc(builder.sub(word.index, first), I32)))
        same = builder.and_(builder.icmp_signed("==", those, splat(this)), before)
        builder.store(builder.or_(builder.load(found), builder.sext(same, kind)), found)
    reduce = ir.FunctionType(I32, [kind])
    name = f"llvm.vector.reduce.or.v{LANES}i32"
    any_lane = builder.call(cgutils.get_or_insert_function(builder.module, reduce, name), [builder.load(found)])
    return builder.icmp_signed("!=", any_lane, ir.Constant(I32, 0))


def repeats(ids: Any, n: Any) -> Any:
    """Does one of ids (n,) int32 stand there twice? May read up to ROW cells beyond."""
    return len(set(ids[:n].tolist())) < n


@intrinsic
def _native_repeats(typingctx, ids, n):
    return types.boolean(ids, types.int64), _emit_repeats


@overload(repeats)
def _repeats(ids, n):
    return lambda ids, n: _native_repeats(ids, n)


def _emit_prefetch(context: Any, builder: Any, signature: Any, args: Any) -> None:
    struct = context.make_array(signature.args[0])(context, builder, args[0])
    start = address_of_row(context, builder, signature.args[0], args[0], args[1])
    end = builder.add(start, builder.mul(cgutils.unpack_tuple(builder, struct.shape)[1], _int(4)))
    kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), I32, I32, I32])
    ask = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    write, keep, data = ir.Constant(I32, 1), ir.Constant(I32, 3), ir.Constant(I32, 1)
    with cgutils.for_range_slice(builder, start, end, _int(64), intp=I64) as (address, _):
        builder.call(ask, [builder.inttoptr(address, ir.IntType(8).as_pointer()), write, keep, data])


def prefetch(A: Any, row: Any) -> None:
    """Ask for every cache line of A[row], to be written. Changes nothing."""


@intrinsic
def _native_prefetch(typingctx, A, row):
    return _native(_emit_prefetch, A, row)


@overload(prefetch)
def _prefetch(A, row):
    return lambda A, row: _native_prefetch(A, row)


def padded_rows(rows: int, columns: int) -> np.ndarray:
    """Zeros (rows, columns rounded up to ROW) float32, each row at the start of a cache line."""
    width = -(-columns // ROW) * ROW
    raw = np.zeros(rows * width + ROW, np.float32)
    first = -(raw.ctypes.data // 4) % ROW
    return raw[first : first + rows * width].reshape(rows, width)
