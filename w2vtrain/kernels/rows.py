"""Operations on rows of a matrix and on row numbers: sums, updates, prefetching, copies, and replicas of hot rows.

Products of rows are in tiles.py. Nothing here chooses the hot rows or trains them.

Operations on row numbers take short arrays, such as the words of a window or the candidates of a target word. Each
works on whole vectors, so it may read up to ROW elements beyond those requested, and overwrite up to ROW elements
beyond the result in its output arrays. A loop that stops exactly at the end mispredicts a branch, which costs a tenth
of the time of a CBOW window.

Hot rows are those updated most often. Each thread has replicas of them, synchronized every few chunks. Two threads that
write to the same row wait for each other's cache lines at every window and overwrite each other's changes: without
replicas, hierarchical softmax was as slow on two threads as on one, and half as fast on two cores that share no cache.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import int64
from numba.core import cgutils, types

from w2vtrain.kernels.jit import inline
from w2vtrain.kernels.llvm import (
    I32,
    I64,
    INTEGERS,
    LANES,
    VECTOR,
    address_of_row,
    adjacent,
    constant,
    element,
    emitter_of,
    in_blocks,
    integers,
    pointer,
    row_bytes,
    splat,
)

ROW = 16
"""Float32 per cache line. Rows are padded to a multiple of this."""

CACHE_LINE_PAIR_BYTES = 128
"""Bytes in a pair of cache lines, which processors fetch together."""

VECTORS_PER_BLOCK = sorted({8, 4, ROW // LANES}, reverse=True)
"""Vectors per block of a row; the smallest block is a cache line. A block stays in registers during a loop over the
other rows."""

HOT_INPUTS, HOT_WORDS, HOT_NODES = 128, 256, 1024
"""Maximum numbers of hot rows: input rows, output rows of words, and output rows of tree nodes."""

HOTTEST_ROWS = 64
"""Number of hottest rows. They change so fast that replicas come close to their thread's own optimum between two
synchronizations."""

SYNC_CHUNKS = 32
"""Chunks that all threads together train on between two synchronizations of a thread's replicas. For 1,000 rows of 200
dimensions, each synchronization reads and writes 5 MB. With four times as many chunks, CBOW diverges: most rows take
the changes of all threads, each computed without those of the others."""


def sum_rows(T: Any, A: Any, ai: Any, n: Any, scale: Any) -> None:
    """Set T[0, :d] to `scale` times the sum of the rows ai (n,) of A.

    A (N, d), T (1, d or more) and scale are float32, ai is int32. Rows of A may have any length and start at any
    address, but the elements of a row must be contiguous. Nothing beyond a row's d columns is read or written.
    """
    T[0, : A.shape[1]] = scale * A[ai[:n]].sum(axis=0)


@emitter_of(sum_rows)
def _emit_sum_rows(context: Any, builder: Any, signature: Any, args: Any) -> None:
    """Emit a loop over whole cache lines, then one over the remaining columns; padded rows have none."""
    (tt, at, ait, _, _), (to, a, ai, n, scale) = signature.args, args
    t_row, size = address_of_row(context, builder, tt, to, constant(0)), row_bytes(context, builder, at, a)
    align = 4 if at.aligned else 1

    def adder(factor: Any) -> Callable[[Any, int], None]:
        kind = factor.type
        cells = [cgutils.alloca_once(builder, kind) for _ in range(VECTORS_PER_BLOCK[0])]

        def add(offset: Any, block: int) -> None:
            for cell in cells[:block]:
                builder.store(ir.Constant(kind, None), cell)
            with cgutils.for_range(builder, n, intp=I64) as line:
                row = address_of_row(context, builder, at, a, element(context, builder, ait, ai, line.index))
                for p, cell in zip(adjacent(builder, row, offset, block, kind), cells, strict=False):
                    builder.store(builder.fadd(builder.load(cell), builder.load(p, align=align)), cell)
            for p, cell in zip(adjacent(builder, t_row, offset, block, kind), cells, strict=False):
                builder.store(builder.fmul(builder.load(cell), factor), p, align=4)

        return add

    whole = builder.and_(size, constant(-4 * ROW))
    in_blocks(builder, whole, VECTORS_PER_BLOCK, adder(splat(builder, scale)))
    add_column = adder(scale)
    with cgutils.for_range_slice(builder, whole, size, constant(4), intp=I64) as (offset, _):
        add_column(offset, 1)


def add_to_rows(A: Any, ai: Any, n: Any, D: Any, scale: Any) -> None:
    """Add scale * D[0] to each of the rows ai (n,) of A, twice to a row that is listed twice.

    A (N, d), D (1, d) and scale are float32, ai is int32, and d is a multiple of ROW.
    """
    np.add.at(A, ai[:n], scale * D[0])


@emitter_of(add_to_rows)
def _emit_add_to_rows(context: Any, builder: Any, signature: Any, args: Any) -> None:
    (at, ait, _, dt, _), (a, ai, n, d, scale) = signature.args, args
    d_row, factor = address_of_row(context, builder, dt, d, constant(0)), splat(builder, scale)

    def add(offset: Any, block: int) -> None:
        changes = [builder.load(p, align=4) for p in adjacent(builder, d_row, offset, block)]
        changes = [builder.fmul(factor, change) for change in changes]
        with cgutils.for_range(builder, n, intp=I64) as line:
            row = address_of_row(context, builder, at, a, element(context, builder, ait, ai, line.index))
            for p, change in zip(adjacent(builder, row, offset, block), changes, strict=True):
                builder.store(builder.fadd(builder.load(p, align=4), change), p, align=4)

    in_blocks(builder, row_bytes(context, builder, at, a), VECTORS_PER_BLOCK, add)


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
    count = math.prod(shape)
    size = -(-count * np.dtype(dtype).itemsize // CACHE_LINE_PAIR_BYTES) * CACHE_LINE_PAIR_BYTES
    raw = np.zeros(size + CACHE_LINE_PAIR_BYTES, np.uint8)
    first = -raw.ctypes.data % CACHE_LINE_PAIR_BYTES
    zeros: np.ndarray = raw[first : first + size].view(dtype)[:count].reshape(shape)
    return zeros


def padded_rows(rows: int, columns: int) -> np.ndarray:
    """Return float32 zeros (rows, columns rounded up to a multiple of ROW); each row starts on a cache line."""
    return apart_zeros((rows, -(-columns // ROW) * ROW), np.float32)


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
    repeated = cgutils.alloca_once_value(builder, integers(0))
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
        builder.store(builder.or_(builder.load(repeated), builder.sext(same, INTEGERS)), repeated)
    reduce = ir.FunctionType(I32, [INTEGERS])
    name = f"llvm.vector.reduce.or.v{LANES}i32"
    any_lane = builder.call(cgutils.get_or_insert_function(builder.module, reduce, name), [builder.load(repeated)])
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


class Hot(NamedTuple):
    """The hot rows of both matrices: adjacent rows, the hottest first; the step of a range may be -1."""

    inputs: range = range(0)
    outputs: range = range(0)


NO_HOT_ROWS = Hot()


class HotRange(NamedTuple):
    """Location of one thread's replicas: row r, first <= r < first + size, has its replica in row r + shift."""

    first: int
    size: int
    shift: int


class Replicas(NamedTuple):
    """Shared rows, one thread's replicas of them, and the values of both after their last synchronization.

    shared, own, start: (count, width) float32.
    share: (count,) float32, the fraction of a thread's changes that is added to the shared rows. Most rows take all
    of a change, as if the thread had written to them directly, unless more than SYNC_CHUNKS threads synchronize after
    each chunk. The hottest rows take a fraction, because the sum of all threads' changes would overshoot.
    """

    shared: np.ndarray
    own: np.ndarray
    start: np.ndarray
    share: np.ndarray


def make_replicas(shared: np.ndarray, own: np.ndarray, threads: int) -> Replicas:
    """Create replicas for rows that are all among the hottest: the `share` of each is 1 / threads.

    shared, own: (count, width) float32. A kernel fills `own` when it starts.
    """
    return Replicas(shared, own, padded_rows(*shared.shape), np.full(len(shared), 1 / threads, np.float32))


def replicate(matrix: np.ndarray, rows: int, hot: range, thread: int, threads: int) -> tuple[HotRange, Replicas]:
    """Create one thread's replicas of the hot rows of a matrix; return where they are, and the replicas.

    matrix: the first `rows` rows are shared; those after them hold the replicas, thread by thread.
    hot: adjacent rows, the hottest first; the step may be -1.
    """
    first, count = min(hot, default=0), len(hot)
    at = rows + thread * count
    replicas = make_replicas(matrix[first : first + count], matrix[at : at + count], threads)
    replicas.share[[row - first for row in hot[HOTTEST_ROWS:]]] = min(1.0, SYNC_CHUNKS / threads)
    return HotRange(first, count, at - first), replicas


@inline
def replica_of(hot_range, row):
    """Return the row that this thread updates in place of `row`: its replica if the row is hot, else the row itself."""
    return int64(row + hot_range.shift if 0 <= row - hot_range.first < hot_range.size else row)


@inline
def replicas_of(hot_range, rows, n, own_rows):
    """Fill own_rows (n,) with the rows that this thread updates in place of rows (n,)."""
    copy_shifted(own_rows, rows, n, hot_range.first, hot_range.size, hot_range.shift)


@inline
def load_replicas(replicas):
    """Copy the shared rows to this thread's replicas."""
    for hot in replicas:
        for r in range(len(hot.shared)):
            for c in range(hot.shared.shape[1]):
                hot.own[r, c] = hot.start[r, c] = hot.shared[r, c]


@inline
def synchronize(replicas):
    """Add this thread's changes since the last synchronization, times `share`, to the shared rows; copy these back."""
    for hot in replicas:
        for r in range(len(hot.shared)):
            for c in range(hot.shared.shape[1]):
                merged = hot.shared[r, c] + hot.share[r] * (hot.own[r, c] - hot.start[r, c])
                hot.shared[r, c] = hot.own[r, c] = hot.start[r, c] = merged
