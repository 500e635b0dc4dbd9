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
from numba.core import cgutils
from numba.extending import intrinsic, overload

from .jit import FORCED
from .llvm import F32, I32, I64, LANES, VECTOR, address_of_row, constant, element, multiply_add, native, pointer, splat


class _Tile:
    """Addresses of the rows and coefficients of one tile, and loops over its columns."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any, ni: int, nj: int) -> None:
        at, ait, _, bt, bit, _, gt = signature.args[:7]
        a, ai, i, b, bi, j, g = args[:7]
        self.builder, self.ni, self.nj = builder, range(ni), range(nj)
        self.a = [address_of_row(context, builder, at, a, self._index(context, ait, ai, i, q)) for q in self.ni]
        self.b = [address_of_row(context, builder, bt, b, self._index(context, bit, bi, j, r)) for r in self.nj]
        column = builder.mul(j, constant(4))
        lines = [
            builder.add(address_of_row(context, builder, gt, g, builder.add(i, constant(q))), column) for q in self.ni
        ]
        self.g = [[pointer(builder, line, constant(4 * r), F32) for r in self.nj] for line in lines]
        shape = cgutils.unpack_tuple(builder, context.make_array(at)(context, builder, a).shape)
        self.bytes = builder.mul(shape[1], constant(4))

    def _index(self, context: Any, kind: Any, array: Any, first: Any, k: int) -> Any:
        return element(context, self.builder, kind, array, self.builder.add(first, constant(k)))

    def columns(self) -> Any:
        return cgutils.for_range_slice(self.builder, constant(0), self.bytes, constant(4 * LANES), intp=I64)

    def load(self, address: Any, offset: Any) -> Any:
        return self.builder.load(pointer(self.builder, address, offset, VECTOR), align=4)

    def store(self, value: Any, address: Any, offset: Any) -> None:
        self.builder.store(value, pointer(self.builder, address, offset, VECTOR), align=4)


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
                builder.store(multiply_add(builder, a, b[r], builder.load(sums[q][r])), sums[q][r])
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
        address_of_row(context, builder, bt, b, element(context, builder, bit, bi, builder.add(j, constant(r))))
        for r in tile_b
    ]
    b_new = [cgutils.alloca_once(builder, VECTOR) for _ in tile_b]
    columns = cgutils.unpack_tuple(builder, context.make_array(at)(context, builder, a).shape)[1]
    size = builder.mul(columns, constant(4))
    with cgutils.for_range_slice(builder, constant(0), size, constant(4 * LANES), intp=I64) as (offset, _):
        b_old = [builder.load(pointer(builder, row, offset, VECTOR), align=4) for row in b_rows]
        for r in tile_b:
            builder.store(b_old[r], b_new[r])
        with cgutils.for_range(builder, n, intp=I64) as line:
            row = element(context, builder, ait, ai, line.index)
            a_row = pointer(builder, address_of_row(context, builder, at, a, row), offset, VECTOR)
            g_row = builder.add(address_of_row(context, builder, gt, g, line.index), builder.mul(j, constant(4)))
            old = builder.load(a_row, align=4)
            to, new = a_row, old
            if apart:
                d_row = address_of_row(context, builder, signature.args[7], args[7], row)
                to = pointer(builder, d_row, offset, VECTOR)
                new = builder.load(to, align=4)
            for r in tile_b:
                c = splat(builder, builder.load(pointer(builder, g_row, constant(4 * r), F32), align=4))
                changed = builder.load(b_new[r])
                b_seen = b_old[r] if apart else builder.select(args[7], changed, b_old[r])
                new = multiply_add(builder, c, b_seen, new)
                builder.store(multiply_add(builder, c, old, changed), b_new[r])
            builder.store(new, to, align=4)
        for r in tile_b:
            builder.store(builder.load(b_new[r]), pointer(builder, b_rows[r], offset, VECTOR), align=4)


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
    def compiled(typingctx, A, ai, i, B, bi, j, G):
        return native(emit, A, ai, i, B, bi, j, G)

    @overload(dots, jit_options=FORCED)
    def _dots(A, ai, i, B, bi, j, G):
        return lambda A, ai, i, B, bi, j, G: compiled(A, ai, i, B, bi, j, G)

    return dots


def make_update(nj: int) -> Callable[..., None]:
    """The gradient step of n rows of A and nj rows of B; arguments as for `make_dots`, A's rows from the first on.

    A row must not stand twice among the nj: it would keep its last change only.
    """

    def update(A: Any, ai: Any, n: Any, B: Any, bi: Any, j: Any, G: Any, in_turn: Any) -> None:
        """A += G . B and B += G' . A, both from the old values; `in_turn`, one row of A after the other.

        In turn, a row of A sees what those before it did to B. A constant costs nothing: the choice is compiled away.
        """
        b_rows, g = bi[j : j + nj], G[:n, j : j + nj]
        for part in range(n) if in_turn else [slice(n)]:
            a_rows, g_rows = np.atleast_1d(ai[part]), np.atleast_2d(g[part])
            a, b = A[a_rows], B[b_rows]
            np.add.at(A, a_rows, g_rows @ b)
            B[b_rows] = b + g_rows.T @ a

    @intrinsic
    def compiled(typingctx, A, ai, n, B, bi, j, G, in_turn):
        return native(partial(_emit_update, nj=nj, apart=False), A, ai, n, B, bi, j, G, in_turn)

    @overload(update, jit_options=FORCED)
    def _update(A, ai, n, B, bi, j, G, in_turn):
        return lambda A, ai, n, B, bi, j, G, in_turn: compiled(A, ai, n, B, bi, j, G, in_turn)

    return update


def make_update_apart(nj: int) -> Callable[..., None]:
    """The same, with A's change going to the same rows of D (N, d) instead."""

    def update_apart(A: Any, ai: Any, n: Any, B: Any, bi: Any, j: Any, G: Any, D: Any) -> None:
        """D += G . B and B += G' . A."""
        a, b, g = A[ai[:n]], B[bi[j : j + nj]], G[:n, j : j + nj]
        np.add.at(D, ai[:n], g @ b)
        B[bi[j : j + nj]] = b + g.T @ a

    @intrinsic
    def compiled(typingctx, A, ai, n, B, bi, j, G, D):
        return native(partial(_emit_update, nj=nj, apart=True), A, ai, n, B, bi, j, G, D)

    @overload(update_apart, jit_options=FORCED)
    def _update_apart(A, ai, n, B, bi, j, G, D):
        return lambda A, ai, n, B, bi, j, G, D: compiled(A, ai, n, B, bi, j, G, D)

    return update_apart
