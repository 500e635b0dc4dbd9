"""Split blocks of text into tokens and number them: a compiled hash table of words, stored in one array of bytes.

Nothing here reads files, starts threads or applies min_count: every word is numbered in order of first occurrence.

The table never grows inside a kernel. If a kernel finds the table full, it stops before the word, and Python calls
it again with a larger table.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from w2vtrain.kernels.jit import inline, kernel
from w2vtrain.text.scan import PIECE_BYTES, is_space, piece
from w2vtrain.text.source import MAX_TOKEN_BYTES

Bytes = npt.NDArray[np.uint8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

LINE_END, LEFT_OUT = -1, -2  # in arrays of word numbers and ids: the end of a line, and a token without an id
WORDS_PER_CHECK = 1 << 16  # words that are looked at together
ASCII_BYTES = 128  # bytes from here on are not ASCII

TYPES, USED = 0, 1  # indices of WordTable.state
POSITION, WRITTEN, TOKENS, LINES, OVERLONG, STATES = 0, 1, 2, 3, 4, 5  # indices of the state of `tokenize`
PLACE, OPEN, WORDS, CUTS, LINE = 0, 1, 2, 3, 4  # indices of the state of `cut_sentences`

_MIX_LOW, _MIX_HIGH = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


class WordTable(NamedTuple):
    """Words and their counts. The arrays are longer than their contents."""

    slots: npt.NDArray[np.uint64]  # (a power of 2,): 32 bits of the word's hash, then its number + 1; 0 if free
    heads: npt.NDArray[np.uint64]  # (types, 2): the first 16 bytes of each word, padded with zeros; most words fit
    arena: Bytes  # all words, without separators
    starts: Int64  # (types + 1,): word i is arena[starts[i]:starts[i + 1]]
    counts: Int64  # (types,)
    state: Int64  # (2,): the number of types, and the bytes of the arena in use

    @property
    def types(self) -> int:
        """The number of words in the table."""
        return int(self.state[TYPES])

    def words(self, numbers: npt.NDArray[np.integer[Any]]) -> list[bytes]:
        """Return the words with these numbers (n,)."""
        arena, starts, ends = self.arena.data, self.starts[numbers].tolist(), self.starts[numbers + 1].tolist()
        return [arena[start:end].tobytes() for start, end in zip(starts, ends, strict=True)]

    def not_utf8(self) -> list[int]:
        """Return the numbers of the words that are not UTF-8."""
        numbers = list[int]()
        for first in range(0, self.types, WORDS_PER_CHECK):
            starts = self.starts[first : min(first + WORDS_PER_CHECK, self.types) + 1]
            places = starts[0] + np.flatnonzero(self.arena[starts[0] : starts[-1]] >= ASCII_BYTES)
            others = first + np.unique(np.searchsorted(starts, places, "right") - 1)
            words = zip(others.tolist(), self.words(others), strict=True)
            numbers += [number for number, word in words if not is_utf8(word)]
        return numbers


def is_utf8(word: bytes) -> bool:
    """Return whether bytes are UTF-8 by RFC 3629, as Python's codec decides."""
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True


def empty(types: int = 1 << 15, arena: int = 1 << 18) -> WordTable:
    """Return an empty table for up to `types` words (a power of 2) and `arena` bytes of words."""
    return WordTable(
        np.zeros(2 * types, np.uint64),
        np.zeros((types, 2), np.uint64),
        np.empty(arena, np.uint8),
        np.zeros(types + 1, np.int64),
        np.zeros(types, np.int64),
        np.zeros(2, np.int64),
    )


def grown(table: WordTable) -> WordTable:
    """Return a table of twice the size with the same words, which replaces the old one."""
    larger = empty(2 * table.counts.size, 2 * table.arena.size)
    arrays: list[tuple[Any, Any]] = list(zip(table[1:], larger[1:], strict=True))
    for old, new in arrays:
        new[: len(old)] = old
    _rehash(table.slots, larger.slots)
    return larger


def add(text: Bytes, table: WordTable, out: Int32, state: Int64) -> WordTable:
    """Number and count the tokens of a block. Return the table, or a larger one if it had to grow.

    text (n,) uint8; out (>= n,) int32: receives the word numbers, and LINE_END for each newline; state (STATES,)
    int64: receives the number of entries written to `out` (WRITTEN), of tokens (TOKENS), of newlines (LINES), and of
    tokens that are too long (OVERLONG).
    """
    state[:] = 0
    while not tokenize(text, table, out, state):
        table = grown(table)
    return table


def merge(source: WordTable, into: WordTable) -> tuple[WordTable, Int32]:
    """Add the words and counts of `source` to `into`. Return `into` or a larger table, and the words' numbers in it."""
    numbers, done = np.empty(source.types, np.int32), 0
    # Read-only, as the text of `tokenize` is: what both call is then compiled once.
    arena = source.arena.view()
    arena.flags.writeable = False
    while done < source.types:  # most texts read by one thread have nothing to merge, and need no kernel for it
        done = _merge(source, arena, into, numbers, done)
        if done < source.types:
            into = grown(into)
    return into, numbers


def listed(words: Sequence[bytes], counts: Int64 | None = None) -> WordTable:
    """Return a table of words without ASCII white space, for use as the source of `merge` only.

    counts: the count of each word, (n,) int64; 0 if omitted.
    """
    starts = np.zeros(len(words) + 1, np.int64)
    np.cumsum([len(word) for word in words], out=starts[1:])
    arena = np.frombuffer(bytearray(b"".join(words)), np.uint8)
    state = np.array([len(words), starts[-1]], np.int64)
    counts = np.zeros(len(words), np.int64) if counts is None else counts
    return WordTable(np.zeros(1, np.uint64), np.zeros((0, 2), np.uint64), arena, starts, counts, state)


@kernel()
def tokenize(text: Bytes, table: WordTable, out: Int32, state: Int64) -> bool:
    """Number tokens from state[POSITION] on. If the table is full, stop before the next word and return False."""
    position, written = state[POSITION], state[WRITTEN]
    first = written - state[LINES]
    full = False
    while position < text.size:
        byte = text[position]
        if is_space(byte):
            if byte == 10:
                out[written] = LINE_END
                written += 1
                state[LINES] += 1
            position += 1
            continue
        start = position
        low, high, position, value = _word(text, start, text.size)
        if position - start > MAX_TOKEN_BYTES:
            state[OVERLONG] += 1
            continue
        number = _number(table, text, start, position, low, high, value)
        if number < 0:
            position, full = start, True
            break
        table.counts[number] += 1
        out[written] = number
        written += 1
    state[TOKENS] += written - state[LINES] - first
    state[POSITION], state[WRITTEN] = position, written
    return not full


@kernel()
def _merge(source: WordTable, text: Bytes, into: WordTable, numbers: Int32, done: int) -> Any:
    """Add the words of `source`, whose arena is `text`, from number `done` on. Return the first that does not fit."""
    for i in range(done, source.state[TYPES]):
        start, end = source.starts[i], source.starts[i + 1]
        low, high, _, value = _word(text, start, end)
        number = _number(into, text, start, end, low, high, value)
        if number < 0:
            return i
        into.counts[number] += source.counts[i]
        numbers[i] = number
    return source.state[TYPES]


@inline
def _word(text: Bytes, start: int, end: int) -> Any:
    """Return the first piece of the word that begins at text[start], as two numbers, and the word's end and hash."""
    low, high, n = piece(text, start, end)
    position, value = start + n, _hashed(np.uint64(0), low, high)
    while n == PIECE_BYTES:
        next_low, next_high, n = piece(text, position, end)
        position, value = position + n, _hashed(value, next_low, next_high)
    return low, high, position, value


@inline
def _hashed(value: Any, low: Any, high: Any) -> Any:
    """Return the hash of a word up to this piece, given the hash of the pieces before it."""
    value = (value ^ low) * _MIX_LOW
    value = (value ^ (value >> _HALF) ^ high) * _MIX_HIGH
    return value ^ (value >> _HALF)


@inline
def _number(table: WordTable, text: Bytes, start: int, end: int, low: Any, high: Any, value: Any) -> Any:
    """Return the number of the word text[start:end], given its first piece and hash; add it if new; -1 if full."""
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
                same = PIECE_BYTES
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
    table.state[TYPES], table.state[USED] = number + 1, used + end - start
    return number


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
def cut_sentences(ids: Int32, limit: int, numbered: bool, out: Int32, state: Int64) -> int:
    """Divide the next ids of a text into sentences, none of which is empty. Return the number of entries written.

    ids (n,): LINE_END ends each line, and a token without an id is LEFT_OUT; limit: the maximum number of tokens per
    sentence; out (>= 2n,) int32: receives ids, and LINE_END after each sentence or, if `numbered`, -2 - k after each
    sentence of line k, counted from 0.

    state (5,) int64, zeros at the beginning of the text: the number of tokens (PLACE) and of ids (OPEN) of the sentence
    that the next ids continue; of ids (WORDS), of cuts in longer lines (CUTS) and of lines (LINE) so far.
    """
    written, place, open_words = 0, state[PLACE], state[OPEN]
    for word in ids:
        if word == LINE_END or place == limit:
            if open_words:
                out[written] = -2 - state[LINE] if numbered else LINE_END
                written += 1
            state[CUTS] += word != LINE_END
            state[LINE] += word == LINE_END
            place = open_words = 0
        if word != LINE_END:
            place += 1
        if word >= 0:
            out[written] = word
            written += 1
            open_words += 1
            state[WORDS] += 1
    state[PLACE] = place
    state[OPEN] = open_words
    return written


@kernel()
def runs(tokens: Int32, size: int, ends: Int64, words: Int64) -> int:
    """Write the ends of runs of whole sentences, each of at least `size` entries, and the number of words in each.

    The last run may be shorter. words: zeros, to which the numbers are added. Return the number of runs.
    """
    count = first = 0
    for i in range(tokens.size):
        if tokens[i] >= 0:
            words[count] += 1
        elif i + 1 - first >= size or i + 1 == tokens.size:
            ends[count] = first = i + 1
            count += 1
    return count


@kernel()
def first_places(tokens: Int32, out: Int64) -> None:
    """Write the place of the first occurrence of each word that occurs to `out` (V,) int64."""
    for i in range(tokens.size - 1, -1, -1):
        if tokens[i] >= 0:
            out[tokens[i]] = i
