"""Kernels that join phrases in an array of word ids, and write the ids as text. phrase_kernels.py has keys and tables.

phrase_joining.py calls these loops.
"""

from typing import Any

import numpy as np

from w2vtrain.kernels.jit import inline, kernel
from w2vtrain.text.phrase_kernels import CONNECTOR, STARTS, UInt8, UInt64, added, extended, hashed, slot_of
from w2vtrain.text.word_table import LINE_END, Int32, Int64


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
