"""Short rows of numbers, a vector at a time: the words of a window, the candidates of a target.

Of all arrays here up to ROW cells more than asked for may be read, and of those written to they may be overwritten: a
loop to the exact end costs a mispredicted branch, a tenth of a window of CBOW.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from w2vtrain.kernels.jit import FORCED
from w2vtrain.kernels.lanes import INTEGERS
from w2vtrain.kernels.llvm import I32, I64, LANES, VECTOR, constant, native, pointer, splat
from w2vtrain.kernels.rows import ROW


def with_room(array: np.ndarray) -> np.ndarray:
    """The same cells, and ROW more behind the end in memory."""
    return np.concatenate([array, np.zeros(ROW, array.dtype)])[: len(array)]


def _cells(context: Any, builder: Any, kind: Any, array: Any, first: Any = None) -> Any:
    """The address of a cell of a 1-d array of four bytes a cell, as an integer; without `first` of the first."""
    data = builder.ptrtoint(context.make_array(kind)(context, builder, array).data, I64)
    return data if first is None else builder.add(data, builder.mul(first, constant(4)))


def _vectors(builder: Any, n: Any, body: Callable[[Any], None]) -> None:
    """Code for n cells, a vector a turn: body takes the offset in bytes."""
    with cgutils.for_range_slice(builder, constant(0), n, constant(LANES), intp=I64) as (k, _):
        body(builder.mul(k, constant(4)))


def _load(builder: Any, address: Any, offset: Any) -> Any:
    return builder.load(pointer(builder, address, offset, INTEGERS), align=4)


def _store(builder: Any, value: Any, address: Any, offset: Any) -> None:
    builder.store(value, pointer(builder, address, offset, value.type), align=4)


def _same(n: int) -> ir.Constant:
    return ir.Constant(INTEGERS, [n] * LANES)


def _emit_copy(context: Any, builder: Any, signature: Any, args: Any) -> None:
    (tt, _, st, _, _), (to, at, source, first, n) = signature.args, args
    there, here = _cells(context, builder, tt, to, at), _cells(context, builder, st, source, first)
    _vectors(builder, n, lambda offset: _store(builder, _load(builder, here, offset), there, offset))


def copy_indices(to: Any, at: Any, source: Any, first: Any, n: Any) -> None:
    """To to[at:] the n cells source[first:], both int32."""
    to[at : at + n] = source[first : first + n]


@intrinsic
def _compiled_copy_indices(typingctx, to, at, source, first, n):
    return native(_emit_copy, to, at, source, first, n)


@overload(copy_indices, jit_options=FORCED)
def _copy_indices(to, at, source, first, n):
    return lambda to, at, source, first, n: _compiled_copy_indices(to, at, source, first, n)


def _emit_move(context: Any, builder: Any, signature: Any, args: Any) -> None:
    (tt, st, *_), (to, source, n, *numbers) = signature.args, args
    there, here = _cells(context, builder, tt, to), _cells(context, builder, st, source)
    first, size, shift = (splat(builder, builder.trunc(number, I32), INTEGERS) for number in numbers)

    def move(offset: Any) -> None:
        cells = _load(builder, here, offset)
        inside = builder.icmp_unsigned("<", builder.sub(cells, first), size)
        _store(builder, builder.select(inside, builder.add(cells, shift), cells), there, offset)

    _vectors(builder, n, move)


def copy_shifted(to: Any, source: Any, n: Any, first: Any, size: Any, shift: Any) -> None:
    """To `to` the n cells of `source`, both int32, with `shift` added to those from `first` to `first` + `size`."""
    cells = source[:n]
    to[:n] = np.where((cells >= first) & (cells < first + size), cells + shift, cells)


@intrinsic
def _compiled_copy_shifted(typingctx, to, source, n, first, size, shift):
    return native(_emit_move, to, source, n, first, size, shift)


@overload(copy_shifted, jit_options=FORCED)
def _copy_shifted(to, source, n, first, size, shift):
    return lambda to, source, n, first, size, shift: _compiled_copy_shifted(to, source, n, first, size, shift)


def _emit_unpack(context: Any, builder: Any, signature: Any, args: Any) -> None:
    (ht, bt, pt, _, _), (halves, bits, packed, first, n) = signature.args, args
    left, right = _cells(context, builder, ht, halves), _cells(context, builder, bt, bits)
    here = _cells(context, builder, pt, packed, first)

    def unpack(offset: Any) -> None:
        cells = _load(builder, here, offset)
        _store(builder, builder.lshr(cells, _same(1)), left, offset)
        _store(builder, builder.sitofp(builder.and_(cells, _same(1)), VECTOR), right, offset)

    _vectors(builder, n, unpack)


def unpack_indices(halves: Any, bits: Any, packed: Any, first: Any, n: Any) -> None:
    """Of the n cells packed[first:], int32 of 0 and more: their halves (int32) and their last bits (float32)."""
    halves[:n] = packed[first : first + n] >> 1
    bits[:n] = packed[first : first + n] & 1


@intrinsic
def _compiled_unpack_indices(typingctx, halves, bits, packed, first, n):
    return native(_emit_unpack, halves, bits, packed, first, n)


@overload(unpack_indices, jit_options=FORCED)
def _unpack_indices(halves, bits, packed, first, n):
    return lambda halves, bits, packed, first, n: _compiled_unpack_indices(halves, bits, packed, first, n)


def _emit_repeats(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    ids, n = args
    data = _cells(context, builder, signature.args[0], ids)
    found = cgutils.alloca_once_value(builder, _same(0))
    lanes = ir.Constant(INTEGERS, list(range(LANES)))

    with (
        cgutils.for_range(builder, n, intp=I64) as word,
        cgutils.for_range_slice(builder, constant(0), word.index, constant(LANES), intp=I64) as (first, _),
    ):
        this = builder.load(pointer(builder, data, builder.mul(word.index, constant(4)), I32), align=4)
        those = _load(builder, data, builder.mul(first, constant(4)))
        before = splat(builder, builder.trunc(builder.sub(word.index, first), I32), INTEGERS)
        same = builder.icmp_signed("==", those, splat(builder, this, INTEGERS))
        same = builder.and_(same, builder.icmp_signed("<", lanes, before))
        builder.store(builder.or_(builder.load(found), builder.sext(same, INTEGERS)), found)
    reduce = ir.FunctionType(I32, [INTEGERS])
    name = f"llvm.vector.reduce.or.v{LANES}i32"
    any_lane = builder.call(cgutils.get_or_insert_function(builder.module, reduce, name), [builder.load(found)])
    return builder.icmp_signed("!=", any_lane, ir.Constant(I32, 0))


def repeats(ids: Any, n: Any) -> Any:
    """Does one of ids (n,) int32 stand there twice?"""
    return len(set(ids[:n].tolist())) < n


@intrinsic
def _compiled_repeats(typingctx, ids, n):
    return types.boolean(ids, types.int64), _emit_repeats


@overload(repeats, jit_options=FORCED)
def _repeats(ids, n):
    return lambda ids, n: _compiled_repeats(ids, n)
