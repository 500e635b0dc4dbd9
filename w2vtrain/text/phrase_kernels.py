"""Kernels for phrases: count pairs of words, and find those that score enough, in an array of word ids.

Nothing here reads text or knows words as strings; phrase_finding.py calls these loops. phrase_join_kernels.py joins
phrases.

The arrays hold ids, with LINE_END after each line. A candidate is two words that are not connector words, and the
connector words between them. Its key is 128 bits of a polynomial hash over the parts of its words, so that the key of a
joined word is that of the candidate it was joined from: gensim's Phrases counts both under the same name. A word is
marked SEVERAL if it has several parts. All candidates without such a word that have the same key are the same words.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from w2vtrain.kernels.jit import inline, kernel
from w2vtrain.text.word_table import LINE_END, Int32, Int64

UInt64 = npt.NDArray[np.uint64]
UInt8 = npt.NDArray[np.uint8]

CONNECTOR, STARTS, SEVERAL = np.uint8(1), np.uint8(2), np.uint8(4)  # bits of the flags of a word
USED, LOW, HIGH, OPEN, MARKS, STATES = 0, 1, 2, 3, 4, 5  # indices of the state of `count`
BASES = np.array([0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93], np.uint64)
"""The bases of the two polynomials; both are odd."""
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_SIXTY_FOUR, _HALF, _THIRD = np.uint64(64), np.uint64(32), np.uint64(29)


@inline
def hashed(low: Any, high: Any) -> Any:
    """Return 64 bits of a key: the upper ones choose its partition, the lower ones its slot."""
    value = (low ^ (low >> _HALF) ^ high) * _MIX
    return value ^ (value >> _THIRD)


@inline
def extended(low: Any, high: Any, word: Any, keys: UInt64) -> Any:
    """Return a key with a word appended. keys (V, 4): two halves, and the powers of the bases that append the word."""
    return low * keys[word, 2] + keys[word, 0], high * keys[word, 3] + keys[word, 1]


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
def count(
    ids: Int32, at: int, words: UInt64, flags: UInt8, prefix: Any, bits: Any, slots: UInt64, state: UInt64
) -> int:
    """Count the candidates of a partition from ids[at] on. Stop before the table is more than 3/4 full.

    words (V, 4): keys, see `extended`. Return where to continue: the size of `ids` at the end. state (STATES,): keys in
    use, and the key that is open at that place. The place of a candidate is where its last word is; it is 0 if a word
    is marked SEVERAL.
    """
    used, limit = np.int64(state[USED]), slots.shape[0] // 4 * 3
    low, high, is_open, marks = state[LOW], state[HIGH], state[OPEN], state[MARKS]
    one = np.uint64(1)
    while at < ids.size and used < limit:
        word = ids[at]
        at += 1
        if word == LINE_END:
            is_open = np.uint64(0)
            continue
        if is_open:
            low, high = extended(low, high, word, words)
            marks |= np.uint64(flags[word])
        if flags[word] & CONNECTOR:
            continue
        if is_open:
            value = hashed(low, high)
            if within(value, prefix, bits):
                place = np.uint64(0) if marks & np.uint64(SEVERAL) else np.uint64(at - 1)
                used += added(slots, value, low, high, one, place)
        low, high, is_open, marks = words[word, 0], words[word, 1], one, np.uint64(flags[word])
    state[USED], state[LOW], state[HIGH], state[OPEN], state[MARKS] = np.uint64(used), low, high, is_open, marks
    return at


@kernel()
def count_words(
    numbers: Int64, words: UInt64, counts: Int64, prefix: Any, bits: Any, slots: UInt64, state: UInt64
) -> None:
    """Add the counts of words of several parts, whose keys may be those of candidates, too."""
    used = np.int64(state[USED])
    for number in numbers:
        low, high = words[number, 0], words[number, 1]
        value = hashed(low, high)
        if counts[number] > 0 and within(value, prefix, bits):
            used += added(slots, value, low, high, np.uint64(counts[number]), np.uint64(0))
    state[USED] = np.uint64(used)


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


@kernel()
def look_up(numbers: Int64, words: UInt64, slots: UInt64, prefix: Any, bits: Any, out: Int64) -> None:
    """Write the value of the keys of words that are in a partition to out[number]."""
    for number in numbers:
        low, high = words[number, 0], words[number, 1]
        value = hashed(low, high)
        if within(value, prefix, bits):
            out[number] = np.int64(slots[slot_of(slots, value, low, high), 2])


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
def find_at_places(
    ids: Int32, rows: UInt64, flags: UInt8, counts: Int64, types: int, total: int, min_count: int, npmi: bool,
    threshold: float, places: Int64,
) -> int:  # fmt: skip
    """List the candidates without words marked SEVERAL that score more than the threshold. Return their number.

    rows (n, 4): of the keys that have at least min_count; places (n, 3): as in `find`.
    """
    written = 0
    for i in range(rows.shape[0]):
        if rows[i, 3] == np.uint64(0):
            continue
        both, last = np.int64(rows[i, 2]), np.int64(rows[i, 3])
        first = last - 1
        while flags[ids[first]] & CONNECTOR:
            first -= 1
        if score_of(counts[ids[first]], counts[ids[last]], both, types, total, min_count, npmi) > threshold:
            places[written, 0], places[written, 1], places[written, 2] = first, last, both
            written += 1
    return written


@kernel()
def find(
    ids: Int32, first: int, last: int, words: UInt64, single: UInt64, flags: UInt8, counts: Int64, slots: UInt64,
    types: int, total: int, min_count: int, npmi: bool, threshold: float, seen: UInt64, places: Int64,
) -> int:  # fmt: skip
    """List the candidates with words marked SEVERAL that end in ids[first:last] and score more than the threshold.

    Return their number. slots: the counts of candidates that may; single (V, 4): as `words`, but every word is one
    part, so that candidates of different words with the same name differ; seen: an empty table; places (n, 3), n > 0:
    receives the place of the first and of the last word, and the count of each. Stop when it is full.
    """
    begin = first - 1  # where the first candidate begins, if at a word before `first`
    while begin >= 0 and ids[begin] != LINE_END and flags[ids[begin]] & CONNECTOR:
        begin -= 1
    rows, start = 0, -1
    low = high = mine_low = mine_high = np.uint64(0)
    marks = np.uint8(0)
    for at in range(max(begin, 0), last):
        word = ids[at]
        if word == LINE_END:
            start = -1
            continue
        if start >= 0:
            low, high = extended(low, high, word, words)
            mine_low, mine_high = extended(mine_low, mine_high, word, single)
            marks |= flags[word]
        if flags[word] & CONNECTOR:
            continue
        if start >= 0 and marks & SEVERAL:
            both = np.int64(slots[slot_of(slots, hashed(low, high), low, high), 2])
            if both:
                score = score_of(counts[ids[start]], counts[word], both, types, total, min_count, npmi)
                value = hashed(mine_low, mine_high)
                if score > threshold and added(seen, value, mine_low, mine_high, np.uint64(1), np.uint64(0)):
                    places[rows, 0], places[rows, 1], places[rows, 2] = start, at, both
                    rows += 1
                    if rows == places.shape[0]:
                        return rows
        start, marks = at, flags[word]
        low, high, mine_low, mine_high = words[word, 0], words[word, 1], single[word, 0], single[word, 1]
    return rows
