"""Blocks of text split into tokens and numbered: a hash table of words over a byte arena, compiled.

Nothing here reads files, starts threads or knows min_count: every word gets a number in the order of first sight.

The table never grows inside a kernel. One that finds no room stops in front of the word, and Python calls it again
with a larger table.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from w2vtrain.kernels.jit import inline, kernel
from w2vtrain.text.corpus import MAX_TOKEN
from w2vtrain.text.scan import PIECE, is_space, piece

Bytes = npt.NDArray[np.uint8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

LINE_END = -1  # stands among the numbers of words

TYPES, USED = 0, 1  # Table.state
POSITION, WRITTEN, TOKENS, LINES, OVERLONG, TAIL, STATES = 0, 1, 2, 3, 4, 5, 6  # the state of `tokenize`

_MIX_LOW, _MIX_HIGH = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


class Table(NamedTuple):
    """Words and how often each was seen. Arrays are longer than what they hold."""

    slots: npt.NDArray[np.uint64]  # (a power of 2,): 32 bits of the word's hash, then its number + 1; 0 where free
    heads: npt.NDArray[np.uint64]  # (types, 2): the first 16 bytes of each, zeros behind: most words are no longer
    arena: Bytes  # all words, one behind the other
    starts: Int64  # (types + 1,): word i is arena[starts[i]:starts[i + 1]]
    counts: Int64  # (types,)
    invalid: Bytes  # (types,): 1 where the word is not UTF-8
    state: Int64  # (2,): number of types, bytes of the arena in use

    @property
    def types(self) -> int:
        """How many words are in the table."""
        return int(self.state[TYPES])

    def words(self, numbers: npt.NDArray[np.integer[Any]]) -> list[bytes]:
        """The words of these numbers (n,)."""
        arena, starts, ends = self.arena.data, self.starts[numbers].tolist(), self.starts[numbers + 1].tolist()
        return [arena[start:end].tobytes() for start, end in zip(starts, ends, strict=True)]


def empty(types: int = 1 << 15, arena: int = 1 << 18) -> Table:
    """A table with room for so many types (a power of 2) and so many bytes of words."""
    return Table(
        np.zeros(2 * types, np.uint64),
        np.zeros((types, 2), np.uint64),
        np.empty(arena, np.uint8),
        np.zeros(types + 1, np.int64),
        np.zeros(types, np.int64),
        np.zeros(types, np.uint8),
        np.zeros(2, np.int64),
    )


def grown(table: Table) -> Table:
    """The same words with twice the room, of which the old one is of no more use."""
    larger = empty(2 * table.counts.size, 2 * table.arena.size)
    arrays: list[tuple[Any, Any]] = list(zip(table[1:], larger[1:], strict=True))
    for old, new in arrays:
        new[: len(old)] = old
    _rehash(table.slots, larger.slots)
    return larger


def add(text: Bytes, table: Table, out: Int32, state: Int64) -> Table:
    """Number the tokens of a block and count them; returns the table, a larger one if it had to grow.

    `text` (n,) uint8. `out` (>= n,) int32 takes the numbers, LINE_END for each line end. `state` (STATES,) int64 says
    what was found: WRITTEN entries of `out`, TOKENS, LINES, OVERLONG tokens, and TAIL, the tokens behind the last line
    end.
    """
    state[:] = 0
    while not tokenize(text, table, out, state):
        table = grown(table)
    return table


def merge(source: Table, into: Table) -> tuple[Table, Int32]:
    """Add the words of one table to another, with their counts: the other, perhaps larger, and their numbers there."""
    numbers = np.empty(source.types, np.int32)
    done = 0
    while (done := _merge(source, into, numbers, done)) < source.types:
        into = grown(into)
    return into, numbers


def listed(words: Sequence[bytes]) -> Table:
    """Words without ASCII white space, all with count 0, in a table that only `merge` can use, as its source."""
    starts = np.zeros(len(words) + 1, np.int64)
    np.cumsum([len(word) for word in words], out=starts[1:])
    arena = np.frombuffer(bytearray(b"".join(words)), np.uint8)
    state = np.array([len(words), starts[-1]], np.int64)
    numbers, flags = np.zeros(len(words), np.int64), np.zeros(len(words), np.uint8)
    return Table(np.zeros(1, np.uint64), np.zeros((0, 2), np.uint64), arena, starts, numbers, flags, state)


@kernel()
def tokenize(text: Bytes, table: Table, out: Int32, state: Int64) -> bool:
    """Number tokens from state[POSITION] on; False if the table is full, with the state in front of the word."""
    position, written, tail = state[POSITION], state[WRITTEN], state[TAIL]
    first = written - state[LINES]
    full = False
    while position < text.size:
        byte = text[position]
        if is_space(byte):
            if byte == 10:
                out[written] = LINE_END
                written += 1
                state[LINES] += 1
                tail = 0
            position += 1
            continue
        start = position
        low, high, position, value = _word(text, start, text.size)
        if position - start > MAX_TOKEN:
            state[OVERLONG] += 1
            continue
        number = _number(table, text, start, position, low, high, value)
        if number < 0:
            position, full = start, True
            break
        table.counts[number] += 1
        out[written] = number
        written += 1
        tail += 1
    state[TOKENS] += written - state[LINES] - first
    state[POSITION], state[WRITTEN], state[TAIL] = position, written, tail
    return not full


@kernel()
def _merge(source: Table, into: Table, numbers: Int32, done: int) -> Any:
    """Add the words of `source` from number `done` on; returns the number in front of which there was no room."""
    for i in range(done, source.state[TYPES]):
        start, end = source.starts[i], source.starts[i + 1]
        low, high, _, value = _word(source.arena, start, end)
        number = _number(into, source.arena, start, end, low, high, value)
        if number < 0:
            return i
        into.counts[number] += source.counts[i]
        numbers[i] = number
    return source.state[TYPES]


@inline
def _word(text: Bytes, start: int, end: int) -> Any:
    """The word that begins at text[start]: its first piece as two numbers, where it ends, its hash."""
    low, high, n = piece(text, start, end)
    position, value = start + n, _hashed(np.uint64(0), low, high)
    while n == PIECE:
        more, most, n = piece(text, position, end)
        position, value = position + n, _hashed(value, more, most)
    return low, high, position, value


@inline
def _hashed(value: Any, low: Any, high: Any) -> Any:
    """The hash of a word by that of its pieces before this one."""
    value = (value ^ low) * _MIX_LOW
    value = (value ^ (value >> _HALF) ^ high) * _MIX_HIGH
    return value ^ (value >> _HALF)


@inline
def _number(table: Table, text: Bytes, start: int, end: int, low: Any, high: Any, value: Any) -> Any:
    """The number of the word text[start:end], whose first piece and hash these are; a new one, or -1 without room."""
    tag = (value * _MIX_LOW) >> _HALF
    mask = table.slots.size - 1
    slot = np.int64(tag) & mask
    while table.slots[slot] != np.uint64(0):
        entry = table.slots[slot]
        if entry >> _HALF == tag:
            number = np.int64(entry & _LOW) - 1
            at = table.starts[number]
            heads = table.heads[number, 0] == low and table.heads[number, 1] == high
            if heads and table.starts[number + 1] - at == end - start:
                same = PIECE
                while same < end - start and table.arena[at + same] == text[start + same]:
                    same += 1
                if same >= end - start:
                    return number
        slot = (slot + 1) & mask
    number, used = table.state[TYPES], table.state[USED]
    if number == table.counts.size or used + end - start > table.arena.size:
        return -1
    for j in range(end - start):
        table.arena[used + j] = text[start + j]
    table.heads[number, 0], table.heads[number, 1] = low, high
    table.slots[slot] = (tag << _HALF) | np.uint64(number + 1)
    table.starts[number + 1] = used + end - start
    table.invalid[number] = not is_utf8(text, start, end)
    table.state[TYPES], table.state[USED] = number + 1, used + end - start
    return number


@inline
def is_utf8(text: Bytes, start: int, end: int) -> bool:
    """Whether text[start:end] is UTF-8 as RFC 3629 has it: shortest forms, no surrogates, up to U+10FFFF."""
    i = start
    while i < end:
        byte = text[i]
        i += 1
        if byte < 0x80:
            continue
        low, high = 0x80, 0xBF  # the range of the second byte, which the first one may narrow
        if byte >= 0xC2 and byte <= 0xDF:
            more = 1
        elif byte >= 0xE0 and byte <= 0xEF:
            more = 2
            if byte == 0xE0:
                low = 0xA0
            elif byte == 0xED:
                high = 0x9F
        elif byte >= 0xF0 and byte <= 0xF4:
            more = 3
            if byte == 0xF0:
                low = 0x90
            elif byte == 0xF4:
                high = 0x8F
        else:
            return False
        for _ in range(more):
            if i == end or text[i] < low or text[i] > high:
                return False
            low, high = 0x80, 0xBF
            i += 1
    return True


@kernel()
def _rehash(old: npt.NDArray[np.uint64], new: npt.NDArray[np.uint64]) -> None:
    mask = new.size - 1
    for entry in old:
        if entry != np.uint64(0):
            slot = np.int64(entry >> _HALF) & mask
            while new[slot] != np.uint64(0):
                slot = (slot + 1) & mask
            new[slot] = entry


@kernel()
def sentences(numbers: Int32, ids: Int32, limit: int, place: int, out: Int32, result: Int64) -> int:
    """Turn the numbers of a block into final ids, sentence by sentence; returns how many entries `out` got.

    `numbers` (n,) as `add` gave them; `ids[number]` is the final id, negative for a word outside the vocabulary;
    `limit` tokens make a full sentence, of which `place` came in earlier blocks. `out` (>= 2n,) int32.
    `result` (4,) int64: words written; cuts made; words behind the last sentence end, -1 if the block has no end;
    1 if its first sentence has no word in this block, so that out[0], its end, is wanted only if earlier ones had.
    """
    written = words = cuts = open_words = lone = 0
    ended = False
    for number in numbers:
        if number < 0 or place == limit:
            if open_words or not ended:
                lone |= open_words == 0
                out[written] = LINE_END
                written += 1
            ended, open_words, place = True, 0, 0
            cuts += number >= 0
        if number >= 0:
            place += 1
            word = ids[number]
            if word >= 0:
                out[written] = word
                written += 1
                open_words += 1
                words += 1
    result[0], result[1], result[3] = words, cuts, lone
    result[2] = open_words if ended else -1
    return written


@kernel()
def cuts(tokens: Int32, size: int, out: Int64) -> int:
    """Write the ends of runs of whole sentences of at least `size` entries to `out`; returns how many there are."""
    found = end = 0
    while end < tokens.size:
        end = min(end + size, tokens.size)
        while tokens[end - 1] != LINE_END:
            end += 1
        out[found] = end
        found += 1
    return found


@kernel()
def words_between(tokens: Int32, offsets: Int64, out: Int64) -> None:
    """How many entries between one offset and the next are words, not sentence ends; `out` (offsets - 1,) int64."""
    for i in range(out.size):
        words = 0
        for j in range(offsets[i], offsets[i + 1]):
            words += tokens[j] >= 0
        out[i] = words
