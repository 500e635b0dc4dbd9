"""Operations on short arrays of indices, such as the words of a window or the candidates of a target word.

They handle row numbers only, not the contents of the rows. Each operation works on whole vectors, so it may read up to
ROW elements beyond those requested, and overwrite up to ROW elements beyond the result in its output arrays. A loop
that stops exactly at the end mispredicts a branch, which costs a tenth of the time of a CBOW window.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from w2vtrain.kernels.llvm import I32, I64, INTEGERS, LANES, VECTOR, constant, emitter_of, integers, pointer, splat
from w2vtrain.kernels.rows import ROW


def with_room(array: np.ndarray) -> np.ndarray:
    """Return a copy of a 1-d array that is followed by ROW spare elements in memory."""
    return np.concatenate([array, np.zeros(ROW, array.dtype)])[: len(array)]


def copy_indices(to: Any, at: Any, source: Any, first: Any, n: Any) -> None:
    """Copy n indices from `source`, starting at `first`, to position `at` of `to`; both are int32."""
    to[at : at + n] = source[first : first + n]


@emitter_of(copy_indices)
def _emit_copy(context: Any, builder: Any, signature: Any, args: Any) -> None:
    (tt, _, st, _, _), (to, at, source, first, n) = signature.args, args
    there, here = _element_address(context, builder, tt, to, at), _element_address(context, builder, st, source, first)
    _vectors(builder, n, lambda offset: _store(builder, _load(builder, here, offset), there, offset))


def copy_shifted(to: Any, source: Any, n: Any, first: Any, size: Any, shift: Any) -> None:
    """Copy n indices from `source` to `to`, both int32, adding `shift` to those in [first, first + size)."""
    rows = source[:n]
    to[:n] = np.where((rows >= first) & (rows < first + size), rows + shift, rows)


@emitter_of(copy_shifted)
def _emit_copy_shifted(context: Any, builder: Any, signature: Any, args: Any) -> None:
    (tt, st, *_), (to, source, n, *numbers) = signature.args, args
    there, here = _element_address(context, builder, tt, to), _element_address(context, builder, st, source)
    first, size, shift = (splat(builder, builder.trunc(number, I32), INTEGERS) for number in numbers)

    def move(offset: Any) -> None:
        rows = _load(builder, here, offset)
        inside = builder.icmp_unsigned("<", builder.sub(rows, first), size)
        _store(builder, builder.select(inside, builder.add(rows, shift), rows), there, offset)

    _vectors(builder, n, move)


def unpack_indices(halves: Any, bits: Any, packed: Any, first: Any, n: Any) -> None:
    """Split each x of packed[first : first + n], int32 >= 0, into halves (x >> 1, int32) and bits (x & 1, float32)."""
    halves[:n] = packed[first : first + n] >> 1
    bits[:n] = packed[first : first + n] & 1


@emitter_of(unpack_indices)
def _emit_unpack(context: Any, builder: Any, signature: Any, args: Any) -> None:
    (ht, bt, pt, _, _), (halves, bits, packed, first, n) = signature.args, args
    left, right = _element_address(context, builder, ht, halves), _element_address(context, builder, bt, bits)
    here = _element_address(context, builder, pt, packed, first)

    def unpack(offset: Any) -> None:
        values = _load(builder, here, offset)
        _store(builder, builder.lshr(values, integers(1)), left, offset)
        _store(builder, builder.sitofp(builder.and_(values, integers(1)), VECTOR), right, offset)

    _vectors(builder, n, unpack)


def has_repeats(ids: Any, n: Any) -> Any:
    """Return True if any of ids (n,) int32 appears more than once."""
    return len(set(ids[:n].tolist())) < n


@emitter_of(has_repeats, types.boolean)
def _emit_repeats(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    ids, n = args
    data = _element_address(context, builder, signature.args[0], ids)
    found = cgutils.alloca_once_value(builder, integers(0))
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


def _element_address(context: Any, builder: Any, kind: Any, array: Any, first: Any = None) -> Any:
    """Return the address of element `first` (0 if omitted) of a 1-d array of 4-byte elements, as an integer."""
    data = builder.ptrtoint(context.make_array(kind)(context, builder, array).data, I64)
    return data if first is None else builder.add(data, builder.mul(first, constant(4)))


def _vectors(builder: Any, n: Any, body: Callable[[Any], None]) -> None:
    """Emit a loop over the vectors that hold n elements. `body` receives each vector's offset in bytes."""
    with cgutils.for_range_slice(builder, constant(0), n, constant(LANES), intp=I64) as (k, _):
        body(builder.mul(k, constant(4)))


def _load(builder: Any, address: Any, offset: Any) -> Any:
    return builder.load(pointer(builder, address, offset, INTEGERS), align=4)


def _store(builder: Any, value: Any, address: Any, offset: Any) -> None:
    builder.store(value, pointer(builder, address, offset, value.type), align=4)
