"""Scan text 16 bytes at a time: find where a word ends, and return its bytes as two numbers.

It stores no words; word_table.py does.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from w2vtrain.kernels.jit import inline
from w2vtrain.kernels.llvm import I64, emitter_of

PIECE_BYTES = 16
VECTOR_TYPE = ir.VectorType(ir.IntType(8), PIECE_BYTES)
PIECE_TYPE = types.Tuple([types.uint64, types.uint64, types.int64])  # type: ignore[attr-defined]


@inline
def is_space(byte):
    """Return whether a byte is ASCII white space."""
    return byte == 32 or (byte >= 9 and byte <= 13)


@inline
def piece_by_bytes(text, at, end):
    """Do what `piece` does, one byte at a time."""
    low, high, n = np.uint64(0), np.uint64(0), 0
    while n < PIECE_BYTES and at + n < end and not is_space(text[at + n]):
        if n < 8:
            low |= np.uint64(text[at + n]) << np.uint64(8 * n)
        else:
            high |= np.uint64(text[at + n]) << np.uint64(8 * n - 64)
        n += 1
    return low, high, n


@inline
def piece(text, at, end):
    """Return up to 16 bytes of the word that continues at text[at], as (low, high, number of bytes).

    text (n,) uint8, n >= end; the word ends at `end` at the latest. low and high are the first eight bytes and the
    next eight as little-endian numbers, with zeros after the end of the word.
    """
    if at + PIECE_BYTES <= text.size:  # bytes beyond the array must not be read
        return _piece_by_sixteen(text, at, end)
    return piece_by_bytes(text, at, end)


def _piece_by_sixteen(text: Any, at: Any, end: Any) -> Any:
    """Do what `piece` does, if text has at least 16 bytes from `at` on."""
    return piece_by_bytes(text, at, end)


@emitter_of(_piece_by_sixteen, PIECE_TYPE)
def _emit_piece_by_sixteen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    text, at, end = args
    struct = context.make_array(signature.args[0])(context, builder, text)
    where = builder.bitcast(builder.gep(struct.data, [at]), VECTOR_TYPE.as_pointer())
    text16 = builder.load(where, align=1)

    def all_of(value: int) -> ir.Constant:
        return ir.Constant(VECTOR_TYPE, [value] * PIECE_BYTES)

    blank = builder.icmp_unsigned("==", text16, all_of(32))
    blank = builder.or_(blank, builder.icmp_unsigned("<", builder.sub(text16, all_of(9)), all_of(5)))
    mask = builder.zext(builder.bitcast(blank, ir.IntType(PIECE_BYTES)), I64)
    mask = builder.or_(mask, ir.Constant(I64, 1 << PIECE_BYTES))
    n = builder.cttz(mask, ir.Constant(ir.IntType(1), 1))
    left = builder.sub(end, at)
    n = builder.select(builder.icmp_signed("<", n, left), n, left)
    count = builder.insert_element(ir.Constant(VECTOR_TYPE, ir.Undefined), builder.trunc(n, ir.IntType(8)), I64(0))
    count = builder.shuffle_vector(
        count, count, ir.Constant(ir.VectorType(ir.IntType(32), PIECE_BYTES), [0] * PIECE_BYTES)
    )
    inside = builder.icmp_unsigned("<", ir.Constant(VECTOR_TYPE, list(range(PIECE_BYTES))), count)
    halves = builder.bitcast(builder.select(inside, text16, all_of(0)), ir.VectorType(I64, 2))
    low, high = builder.extract_element(halves, I64(0)), builder.extract_element(halves, I64(1))
    return cgutils.pack_struct(builder, [low, high, n])
