"""Small matrix products between rows of two matrices, as explicit SIMD: the inner loop of the window engine.

These operations handle only rows and coefficients; architectures and objectives define their meaning.

A tile combines `ni` rows of A with `nj` rows of B. Index arrays select the rows, so nothing is copied. Rows are float32
and padded with zeros to a multiple of ROW columns. Each operation has a NumPy reference and an emitter (see llvm.py).
The emitted code uses vectors as wide as the processor's registers, keeps sums in registers and reads each row once.
The same loops were half as fast when left to LLVM's auto-vectorizer. No inner loop may need more registers than there
are, 16 or 32, because LLVM would keep sums on the stack: benchmarks/tile_loops.py shows the loops, a test checks them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils

from w2vtrain.kernels.llvm import (
    F32,
    I32,
    I64,
    INTEGERS,
    LANES,
    REGISTERS,
    VECTOR,
    address_of_row,
    adjacent,
    constant,
    element,
    emitter_of,
    floats,
    in_blocks,
    multiply_add,
    pointer,
    row_bytes,
    splat,
)
from w2vtrain.kernels.rows import ROW

BLOCKS = (2, 1) if LANES == ROW else (2,)
"""Vectors per block of a row. If a vector is shorter than a cache line, rows have an even number of them."""

ROWS_AT_ONCE = 6 if REGISTERS == 32 else 3
"""Rows of B that the engine updates together: a block of each, the old and new block of a row of A, and a coefficient
have to fit in the registers."""


def make_dots(ni: int, nj: int) -> Callable[..., None]:
    """Return the operation that computes the dot products of ni rows of A with nj rows of B.

    A (N, d), B (R, d): float32 matrices.
    ai, bi: int32 row numbers. The tile uses ai[i : i + ni] and bi[j : j + nj].
    G: float32 matrix. The tile is G[i : i + ni, j : j + nj].
    """

    def dots(A: Any, ai: Any, i: Any, B: Any, bi: Any, j: Any, G: Any) -> None:
        """Set the tile of G to A . B'; up to ROW elements to the right of the tile may be overwritten."""
        G[i : i + ni, j : j + nj] = A[ai[i : i + ni]] @ B[bi[j : j + nj]].T

    @emitter_of(dots)
    def _(context: Any, builder: Any, signature: Any, args: Any) -> None:
        _emit_dots(_Tile(context, builder, signature, args, ni, nj))

    return dots


def make_update(nj: int) -> Callable[..., None]:
    """Return the operation that takes a gradient step on n rows of A and nj rows of B.

    Arguments are as for `make_dots`, but the rows of A are ai (n,), and G holds their coefficients in its rows [0, n).
    The nj rows of B must be distinct: a row listed twice would keep only its last change. A row of A may be listed
    twice: it gets both changes, and B learns from it first as it was, then as the first change left it.
    """

    def update(A: Any, ai: Any, n: Any, B: Any, bi: Any, j: Any, G: Any, in_turn: Any) -> None:
        """Add G . B to A and G' . A to B, both from the old values or, if `in_turn`, for one row of A at a time.

        If `in_turn`, each row of A uses B as changed by the rows before it. The choice costs nothing if `in_turn` is a
        constant, because it is then resolved at compile time.
        """
        rows, g = bi[j : j + nj], G[:n, j : j + nj]
        old = B[rows]
        for line, row in enumerate(ai[:n]):
            a = A[row].copy()
            A[row] += g[line] @ (B[rows] if in_turn else old)
            B[rows] += np.outer(g[line], a)

    @emitter_of(update)
    def _(context: Any, builder: Any, signature: Any, args: Any) -> None:
        _emit_update(context, builder, signature, args, nj)

    return update


def make_update_one(nj: int) -> Callable[..., None]:
    """Return the operation that takes a gradient step on nj rows of B for one row H (1, d).

    It writes the change of H to D (1, d) and leaves H unchanged. All matrices are float32.
    """

    def update_one(H: Any, B: Any, bi: Any, j: Any, G: Any, D: Any) -> None:
        """Set D to G . B if j is 0, otherwise add it, and add G' . H to B, with the coefficients G[0, j : j + nj].

        Both use the old values.
        """
        rows, g = bi[j : j + nj], G[:1, j : j + nj]
        b = B[rows]
        D[:1] = g @ b + (D[:1] if j > 0 else 0)
        B[rows] = b + g.T @ H[:1]

    @emitter_of(update_one)
    def _(context: Any, builder: Any, signature: Any, args: Any) -> None:
        _emit_update_one(context, builder, signature, args, nj)

    return update_one


class _Tile:
    """Addresses of the rows and coefficients of one tile."""

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
        self.bytes = row_bytes(context, builder, at, a)

    def _index(self, context: Any, kind: Any, array: Any, first: Any, k: int) -> Any:
        return element(context, self.builder, kind, array, self.builder.add(first, constant(k)))


def _emit_dots(tile: _Tile) -> None:
    """Emit the dot products, with one accumulator per pair of rows.

    Only the vectors of A stay in registers, beside the accumulators: those of B, of which there are more, take turns.
    If ni is 1, use two sets of accumulators alternately, because each addition to a register waits for the one before.
    """
    builder, sets = tile.builder, range(2 if len(tile.ni) == 1 else 1)
    sums = [[[cgutils.alloca_once_value(builder, floats(0.0)) for _ in tile.nj] for _ in tile.ni] for _ in sets]

    def multiply(offset: Any, block: int) -> None:
        a_at, b_at = ([adjacent(builder, row, offset, block) for row in rows] for rows in (tile.a, tile.b))
        for k in range(block):
            a = [builder.load(places[k], align=4) for places in a_at]
            for r in tile.nj:
                b = builder.load(b_at[r][k], align=4)
                for q in tile.ni:
                    cell = sums[k % len(sums)][q][r]
                    builder.store(multiply_add(builder, a[q], b, builder.load(cell)), cell)

    in_blocks(builder, tile.bytes, BLOCKS, multiply)
    for q in tile.ni:
        totals = [builder.load(cell) for cell in sums[0][q]]
        if len(sums) > 1:
            totals = [builder.fadd(total, builder.load(cell)) for total, cell in zip(totals, sums[1][q], strict=True)]
        for k, vector in enumerate(_sums(builder, totals)):
            builder.store(vector, builder.bitcast(tile.g[q][k * LANES], VECTOR.as_pointer()), align=4)


def _sums(builder: Any, vectors: list[Any]) -> list[Any]:
    """Return the sum of each vector's lanes, in order, packed into as few vectors as possible.

    The remaining lanes of the last vector hold arbitrary values. Folding two vectors into one takes three instructions
    per level, a third of the cost of summing each vector separately.
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


def _emit_update(context: Any, builder: Any, signature: Any, args: Any, nj: int) -> None:
    """Emit a loop over columns that keeps nj rows of B, old and new, in registers during a loop over the rows of A."""
    (at, ait, _, bt, bit, _, gt, _), (a, ai, n, b, bi, j, g, in_turn) = signature.args, args
    rows = [element(context, builder, bit, bi, builder.add(j, constant(r))) for r in range(nj)]
    b_rows = [address_of_row(context, builder, bt, b, row) for row in rows]
    cells = [[cgutils.alloca_once(builder, VECTOR) for _ in range(BLOCKS[0])] for _ in b_rows]
    # Rows of B whose old values fit in registers; others are read again. For NEON, LLVM loads all coefficients ahead.
    coefficients = nj if REGISTERS == 32 and LANES == 4 else 1
    kept = (REGISTERS - coefficients) // BLOCKS[0] - 2 - nj

    def change(offset: Any, block: int) -> None:
        b_at = [adjacent(builder, row, offset, block) for row in b_rows]
        b_old = [[builder.load(p, align=4) for p in places] for places in b_at]
        for olds, news in zip(b_old, cells, strict=True):
            for old, new in zip(olds, news, strict=False):
                builder.store(old, new)
        with cgutils.for_range(builder, n, intp=I64) as line:
            a_row = address_of_row(context, builder, at, a, element(context, builder, ait, ai, line.index))
            g_row = builder.add(address_of_row(context, builder, gt, g, line.index), builder.mul(j, constant(4)))
            a_at = adjacent(builder, a_row, offset, block)
            a_old = [builder.load(p, align=4) for p in a_at]
            a_new = list(a_old)
            for r in range(nj):
                c = splat(builder, builder.load(pointer(builder, g_row, constant(4 * r), F32), align=4))
                for k in range(block):
                    changed = builder.load(cells[r][k])
                    old = b_old[r][k] if r < kept else builder.load(b_at[r][k], align=4)
                    seen = builder.select(in_turn, changed, old)
                    a_new[k] = multiply_add(builder, c, seen, a_new[k])
                    builder.store(multiply_add(builder, c, a_old[k], changed), cells[r][k])
            for p, new in zip(a_at, a_new, strict=True):
                builder.store(new, p, align=4)
        for places, news in zip(b_at, cells, strict=True):
            for p, new in zip(places, news, strict=False):
                builder.store(builder.load(new), p, align=4)

    in_blocks(builder, row_bytes(context, builder, at, a), BLOCKS, change)


def _emit_update_one(context: Any, builder: Any, signature: Any, args: Any, nj: int) -> None:
    """Emit a loop over columns for H and nj rows of B; the coefficients stay in registers."""
    (ht, bt, bit, _, gt, dt), (h, b, bi, j, g, d) = signature.args, args
    first = constant(0)
    h_row, d_row = (address_of_row(context, builder, kind, array, first) for kind, array in ((ht, h), (dt, d)))
    g_row = builder.add(address_of_row(context, builder, gt, g, first), builder.mul(j, constant(4)))
    rows = [element(context, builder, bit, bi, builder.add(j, constant(r))) for r in range(nj)]
    b_rows = [address_of_row(context, builder, bt, b, row) for row in rows]
    c = [splat(builder, builder.load(pointer(builder, g_row, constant(4 * r), F32), align=4)) for r in range(nj)]
    # A mask instead of a choice, which LLVM would compile to a branch for each vector.
    later = splat(builder, builder.sext(builder.icmp_signed("!=", j, first), I32), INTEGERS)

    def change(offset: Any, block: int) -> None:
        h_at, d_at, *b_at = (adjacent(builder, row, offset, block) for row in (h_row, d_row, *b_rows))
        for k in range(block):
            old, bits = (builder.load(p, align=4) for p in (h_at[k], builder.bitcast(d_at[k], INTEGERS.as_pointer())))
            change = builder.bitcast(builder.and_(bits, later), VECTOR)
            for r in range(nj):
                b_old = builder.load(b_at[r][k], align=4)
                change = multiply_add(builder, c[r], b_old, change)
                builder.store(multiply_add(builder, c[r], old, b_old), b_at[r][k], align=4)
            builder.store(change, d_at[k], align=4)

    in_blocks(builder, row_bytes(context, builder, ht, h), BLOCKS, change)
