"""Kernels for phrases in an array of word ids: count pairs of words, find those that score enough, and join phrases.

Nothing here reads text or knows words as strings; phrase_finding.py and phrase_joining.py call these loops.

The arrays hold ids, with LINE_END after each line. A candidate is two words that are not connector words, and the
connector words between them. Its key is 128 bits of a polynomial hash over its words.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from w2vtrain.kernels.jit import inline, kernel
from w2vtrain.text.word_table import LINE_END, Int32, Int64

UInt64 = npt.NDArray[np.uint64]
UInt8 = npt.NDArray[np.uint8]

CONNECTOR, STARTS = np.uint8(1), np.uint8(2)  # bits of the flags of a word
USED, LOW, HIGH, OPEN, STATES = 0, 1, 2, 3, 4  # indices of the state of `count`
_BASE_LOW, _BASE_HIGH = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)  # of the polynomials; both are odd
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_SIXTY_FOUR, _HALF, _THIRD = np.uint64(64), np.uint64(32), np.uint64(29)


@inline
def hashed(low: Any, high: Any) -> Any:
    """Return 64 bits of a key: the upper ones choose its partition, the lower ones its slot."""
    value = (low ^ (low >> _HALF) ^ high) * _MIX
    return value ^ (value >> _THIRD)


@inline
def extended(low: Any, high: Any, word: Any, keys: UInt64) -> Any:
    """Return a key with a word appended. keys (V, 2): the halves of the key of each word."""
    return low * _BASE_LOW + keys[word, 0], high * _BASE_HIGH + keys[word, 1]


@inline
def within(value: Any, prefix: Any, bits: Any) -> Any:
    """Return whether a hash is in the partition whose upper bits are `prefix`."""
    return bits == np.uint64(0) or value >> (_SIXTY_FOUR - bits) == prefix


@inline
def slot_of(slots: UInt64, value: Any, low: Any, high: Any) -> Any:
    """Return the slot of a key, or the free one where it belongs.

    slots (n, 4): two halves of a key, a value, and a place.
    """
    mask = slots.shape[0] - 1
    slot = np.int64(value & np.uint64(mask))
    while slots[slot, 2] != np.uint64(0) and (slots[slot, 0] != low or slots[slot, 1] != high):
        slot = (slot + 1) & mask
    return slot


@inline
def added(slots: UInt64, value: Any, low: Any, high: Any, more: Any, place: Any) -> Any:
    """Add to the value of a key, and store a place unless it is 0. Return the number of new keys, 0 or 1."""
    slot = slot_of(slots, value, low, high)
    is_new = slots[slot, 2] == np.uint64(0)
    slots[slot, 0], slots[slot, 1] = low, high
    slots[slot, 2] += more
    if place:
        slots[slot, 3] = place
    return np.int64(is_new)


@kernel()
def count(ids: Int32, at: int, keys: UInt64, flags: UInt8, prefix: Any, bits: Any, slots: UInt64, state: UInt64) -> int:
    """Count the candidates of a partition from ids[at] on. Stop before the table is more than 3/4 full.

    keys (V, 2): of the words. Return where to continue: the size of `ids` at the end. state (STATES,): keys in use, and
    the key that is open at that place. The place of a candidate is where its last word is.
    """
    used, limit = np.int64(state[USED]), slots.shape[0] // 4 * 3
    low, high, is_open = state[LOW], state[HIGH], state[OPEN]
    one = np.uint64(1)
    while at < ids.size and used < limit:
        word = ids[at]
        at += 1
        if word == LINE_END:
            is_open = np.uint64(0)
            continue
        if is_open:
            low, high = extended(low, high, word, keys)
        if flags[word] & CONNECTOR:
            continue
        if is_open:
            value = hashed(low, high)
            if within(value, prefix, bits):
                used += added(slots, value, low, high, one, np.uint64(at - 1))
        low, high, is_open = keys[word, 0], keys[word, 1], one
    state[USED], state[LOW], state[HIGH], state[OPEN] = np.uint64(used), low, high, is_open
    return at


@kernel()
def copied(old: UInt64, new: UInt64, prefix: Any, bits: Any) -> int:
    """Add the keys of a partition to another table. Return their number."""
    used = 0
    for i in range(old.shape[0]):
        if old[i, 2] != np.uint64(0):
            value = hashed(old[i, 0], old[i, 1])
            if within(value, prefix, bits):
                used += added(new, value, old[i, 0], old[i, 1], old[i, 2], old[i, 3])
    return used


@inline
def score_of(first: Any, second: Any, both: Any, types: Any, total: Any, min_count: Any, npmi: Any) -> Any:
    """Return the score of a candidate that occurs `both` times, at least `min_count`.

    Mikolov et al. 2013: (both - min_count) / (first * second) * types; NPMI, Bouma 2009: log(p / (p1 p2)) / -log(p).
    """
    if npmi:
        p = both / total
        return np.log(p / ((first / total) * (second / total))) / -np.log(p)
    return (both - min_count) / (np.float64(first) * np.float64(second)) * types


@kernel()
def find(
    ids: Int32, rows: UInt64, flags: UInt8, counts: Int64, types: int, total: int, min_count: int, npmi: bool,
    threshold: float, places: Int64,
) -> int:  # fmt: skip
    """List the candidates that score more than the threshold. Return their number.

    rows (n, 4): of the keys that have at least min_count; places (n, 3): receives the place of the first and of the
    last word, and the count of each.
    """
    written = 0
    for i in range(rows.shape[0]):
        both, last = np.int64(rows[i, 2]), np.int64(rows[i, 3])
        first = last - 1
        while flags[ids[first]] & CONNECTOR:
            first -= 1
        if score_of(counts[ids[first]], counts[ids[last]], both, types, total, min_count, npmi) > threshold:
            places[written, 0], places[written, 1], places[written, 2] = first, last, both
            written += 1
    return written


@kernel()
def put(phrases: Int32, starts: Int64, keys: UInt64, joined: Int32, slots: UInt64) -> None:
    """Store the word that each phrase is joined to. phrases: the ids of phrase i are phrases[starts[i]:starts[i + 1]].

    The value of a phrase is the id of its word plus 1.
    """
    for i in range(joined.size):
        low = high = np.uint64(0)
        for at in range(starts[i], starts[i + 1]):
            low, high = extended(low, high, phrases[at], keys)
        added(slots, hashed(low, high), low, high, np.uint64(joined[i] + 1), np.uint64(0))


@inline
def joined_to(first: Any, second: Any, keys: UInt64, flags: UInt8, slots: UInt64) -> Any:
    """Return the id of the word that two adjacent words are joined to, or -1."""
    if not flags[first] & STARTS:
        return -1
    low, high = extended(keys[first, 0], keys[first, 1], second, keys)
    return np.int64(slots[slot_of(slots, hashed(low, high), low, high), 2]) - 1


@kernel()
def cut_after(ids: Int32, at: int, keys: UInt64, flags: UInt8, slots: UInt64) -> int:
    """Return the first place from `at` on where the words before do not matter to how the words after are joined.

    That is after a line's end, and between two words that are not joined, if neither is a connector word.
    """
    while at < ids.size:
        before, after = ids[at - 1], ids[at]
        if before == LINE_END:
            return at
        if after != LINE_END and not (flags[before] | flags[after]) & CONNECTOR:
            if joined_to(before, after, keys, flags, slots) < 0:
                return at
        at += 1
    return ids.size


@kernel()
def join(ids: Int32, keys: UInt64, flags: UInt8, slots: UInt64, out: Int32) -> int:
    """Join the phrases of a stretch greedily from left to right, as gensim does. Return the entries written to `out`.

    out: at least as long as `ids`.
    """
    written, begin = 0, -1  # begin: where a phrase may begin in `out`, or -1
    low = high = np.uint64(0)
    for word in ids:
        out[written] = word
        written += 1
        if begin >= 0 and word != LINE_END:
            low, high = extended(low, high, word, keys)
            if flags[word] & CONNECTOR:
                continue
            value = slots[slot_of(slots, hashed(low, high), low, high), 2]
            if value:
                out[begin] = np.int32(value) - 1
                written, begin = begin + 1, -1
                continue
        begin = -1
        if word != LINE_END and flags[word] & STARTS:
            begin, low, high = written - 1, keys[word, 0], keys[word, 1]
    return written


@kernel()
def spell(ids: Int32, at: int, arena: UInt8, starts: Int64, out: UInt8, state: Int64) -> int:
    """Write words as text, separated by spaces, from ids[at] on, until `out` is full. Return where to continue.

    state (2,): receives the number of bytes written; and whether the line has begun, which the next call needs.
    """
    written, begun = 0, state[1]
    while at < ids.size:
        word = ids[at]
        size = 0 if word == LINE_END else starts[word + 1] - starts[word]
        if written + size + 1 > out.size:
            break
        at += 1
        if word == LINE_END:
            out[written] = 10
            written, begun = written + 1, 0
            continue
        if begun:
            out[written] = 32
            written += 1
        for i in range(size):
            out[written + i] = arena[starts[word] + i]
        written, begun = written + size, 1
    state[0], state[1] = written, begun
    return at
