"""Sixteen bytes of text at a time: where a word ends, and its bytes as two numbers.

What a word is worth, and where words are kept, is word_table.py's matter.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from w2vtrain.kernels.jit import FORCED, inline
from w2vtrain.kernels.llvm import I64

PIECE = 16
BYTES = ir.VectorType(ir.IntType(8), PIECE)


@inline
def is_space(byte):
    """ASCII white space."""
    return byte == 32 or (byte >= 9 and byte <= 13)


@inline
def piece_by_bytes(text, at, end):
    """`piece`, one byte after the other."""
    low, high, n = np.uint64(0), np.uint64(0), 0
    while n < PIECE and at + n < end and not is_space(text[at + n]):
        if n < 8:
            low |= np.uint64(text[at + n]) << np.uint64(8 * n)
        else:
            high |= np.uint64(text[at + n]) << np.uint64(8 * n - 64)
        n += 1
    return low, high, n


def _emit_piece(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    text, at, end = args
    struct = context.make_array(signature.args[0])(context, builder, text)
    where = builder.bitcast(builder.gep(struct.data, [at]), BYTES.as_pointer())
    found = builder.load(where, align=1)

    def all_of(value: int) -> ir.Constant:
        return ir.Constant(BYTES, [value] * PIECE)

    blank = builder.icmp_unsigned("==", found, all_of(32))
    blank = builder.or_(blank, builder.icmp_unsigned("<", builder.sub(found, all_of(9)), all_of(5)))
    mask = builder.zext(builder.bitcast(blank, ir.IntType(PIECE)), I64)
    mask = builder.or_(mask, ir.Constant(I64, 1 << PIECE))
    n = builder.cttz(mask, ir.Constant(ir.IntType(1), 1))
    left = builder.sub(end, at)
    n = builder.select(builder.icmp_signed("<", n, left), n, left)
    count = builder.insert_element(ir.Constant(BYTES, ir.Undefined), builder.trunc(n, ir.IntType(8)), I64(0))
    count = builder.shuffle_vector(count, count, ir.Constant(ir.VectorType(ir.IntType(32), PIECE), [0] * PIECE))
    inside = builder.icmp_unsigned("<", ir.Constant(BYTES, list(range(PIECE))), count)
    halves = builder.bitcast(builder.select(inside, found, all_of(0)), ir.VectorType(I64, 2))
    parts = [builder.extract_element(halves, I64(0)), builder.extract_element(halves, I64(1)), n]
    return cgutils.pack_struct(builder, parts)


@intrinsic
def _piece(typingctx, text, at, end):
    found = types.Tuple([types.uint64, types.uint64, types.int64])  # type: ignore[attr-defined]
    return found(text, types.int64, types.int64), _emit_piece


def piece(text: Any, at: int, end: int) -> Any:
    """Of the word that goes on at text[at], where `end` ends the text at the latest, up to 16 bytes.

    text (n,) uint8, n >= end. Returns (low, high, how many): the first eight bytes and the next eight as little-endian
    numbers, zeros behind the word.
    """
    return piece_by_bytes(text, at, end)


@overload(piece, jit_options=FORCED)
def _compiled_piece(text, at, end):
    def by_sixteen(text, at, end):
        if at + PIECE <= text.size:  # else bytes that are not the array's would be read
            return _piece(text, at, end)
        return piece_by_bytes(text, at, end)

    return by_sixteen
