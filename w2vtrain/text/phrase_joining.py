"""Join the phrases of a table in the words that counting left on disk, before the vocabulary is chosen.

Nothing here finds phrases, and the text is not read again: everything works on word ids, on all threads.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from w2vtrain.system.parallel import in_order
from w2vtrain.text import phrase_kernels, word_table
from w2vtrain.text.counting import Counting, MergedWords, append, temporary
from w2vtrain.text.phrase_table import PhraseTable
from w2vtrain.text.word_table import LEFT_OUT, LINE_END, Int32, Int64

log = logging.getLogger(__name__)
STRETCH_IDS = 1 << 20
"""Entries that one thread joins at a time."""


@dataclass(frozen=True, eq=False)
class Lines:
    """All words of a text, as ids in an unnamed file.

    ids (n,) int32, read-only: LINE_END follows each line, also each empty one; words: V strings; counts (V,) int64.
    """

    ids: Int32
    words: list[str]
    counts: Int64

    def mapped(self, ids: Sequence[Int32], threads: int) -> Iterator[Int32]:
        """Yield other ids of all words, and LINE_END after each line, block by block, as `Counting.mapped` does."""
        others = np.append(ids[0], np.int32(LINE_END))

        def block_ids(index: int) -> Int32:
            return others.take(self.ids[index * STRETCH_IDS : (index + 1) * STRETCH_IDS])

        return in_order(block_ids, -(-self.ids.size // STRETCH_IDS), threads, "w2vtrain encoder")

    def first_seen(self, words: MergedWords) -> Int64:
        """Return numbers (n,) int64 that order words by their first appearance."""
        first_seen = np.zeros(words.counts.size, np.int64)
        word_table.first_places(self.ids, first_seen)
        return first_seen


def lines_of(counting: Counting, merged: MergedWords) -> Lines:
    """Return the text that was counted, in the order of the source."""
    used = np.flatnonzero(merged.counts)
    ranks = np.full(merged.counts.size, LEFT_OUT, np.int32)
    ranks[used] = np.arange(used.size, dtype=np.int32)
    blocks = counting.mapped([ranks[numbers] for numbers in merged.numbers], len(counting.workers))
    ids = written((block[block != LEFT_OUT] for block in blocks), counting.folder)
    return Lines(ids, merged.texts(used), merged.counts[used].copy())


def written(blocks: Iterable[Int32], folder: Path | None, look: Callable[[Int32], object] | None = None) -> Int32:
    """Write blocks of ids to an unnamed file, one after the other. Return all as a memory-mapped array.

    look: called with each block.
    """
    size = 0
    with temporary(folder) as file:
        for block in blocks:
            if look:
                look(block)
            size += append(file, block) // 4
        return np.memmap(file, np.int32, "r", shape=(size,)) if size else np.empty(0, np.int32)


def numbered(lines: Lines, names: Iterable[str]) -> dict[str, int]:
    """Return the ids of those names that are words of the text."""
    wanted = set(names)
    if not wanted:
        return {}
    return {word: number for number, word in enumerate(lines.words) if word in wanted}


def keys_of(size: int) -> phrase_kernels.UInt64:
    """Return random keys (size, 2) of words."""
    keys = np.empty((size, 2), np.uint64)
    for column, salt in enumerate((0x243F6A8885A308D3, 0x13198A2E03707344)):
        value = (np.arange(size, dtype=np.uint64) + np.uint64(salt)) * np.uint64(0x9E3779B97F4A7C15)  # splitmix64
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        keys[:, column] = value ^ (value >> np.uint64(31))
    return keys


def slots_for(count: int) -> phrase_kernels.UInt64:
    """Return an empty table for up to `count` keys, which fill at most half of it."""
    return np.zeros((1 << max(4, (2 * count).bit_length()), 4), np.uint64)


def join_once(
    lines: Lines, phrases: Sequence[tuple[str, ...]], table: PhraseTable, folder: Path | None, threads: int
) -> Lines:
    """Return the text with the phrases of one pass joined, and the counts of its words, some of which may be 0."""
    delimiter = table.scoring.delimiter
    names = [delimiter.join(words) for words in phrases]
    index = numbered(lines, [*(word for words in phrases for word in words), *names])
    known = [(words, name) for words, name in zip(phrases, names, strict=True) if all(word in index for word in words)]
    words = list(lines.words)
    for _, name in known:
        if index.setdefault(name, len(words)) == len(words):
            words.append(name)
    parts = [index[word] for phrase, _ in known for word in phrase]
    starts = np.cumsum([0, *(len(phrase) for phrase, _ in known)], dtype=np.int64)
    keys, flags = keys_of(len(words)), np.zeros(len(words), np.uint8)
    flags[list(numbered(lines, table.scoring.connector_words).values())] = phrase_kernels.CONNECTOR
    flags[[parts[start] for start in starts[:-1]]] |= phrase_kernels.STARTS
    slots, joined_ids = slots_for(len(known)), np.array([index[name] for _, name in known], np.int32)
    phrase_kernels.put(np.array(parts, np.int32), starts, keys, joined_ids, slots)
    bounds = [0]
    while bounds[-1] < lines.ids.size:
        bounds.append(
            phrase_kernels.cut_after(lines.ids, min(bounds[-1] + STRETCH_IDS, lines.ids.size), keys, flags, slots)
        )

    def join(number: int) -> Int32:
        ids = lines.ids[bounds[number] : bounds[number + 1]]
        out = np.empty(ids.size, np.int32)
        return out[: phrase_kernels.join(ids, keys, flags, slots, out)]

    counts = np.zeros(len(words), np.int64)
    blocks = in_order(join, len(bounds) - 1, threads, "w2vtrain joiner")
    ids = written(blocks, folder, lambda block: np.add.at(counts, block[block != LINE_END], 1))
    return Lines(ids, words, counts)


def join_all(lines: Lines, table: PhraseTable, name: str, folder: Path | None, threads: int) -> Lines:
    """Return the text with the phrases of all passes joined. name: of the text, for a warning if it has no phrase."""
    size = lines.ids.size
    for phrases in table.passes:
        lines = join_once(lines, [phrase.words for phrase in phrases], table, folder, threads)
    if lines.ids.size == size:
        log.warning(
            "%s: has no phrase of %s, as a short text may; a long one needs the tokenizer with which the table was"
            " found", name, table.name,
        )  # fmt: skip
    return lines


def join_counted(counting: Counting, merged: MergedWords, table: PhraseTable) -> tuple[Lines, MergedWords]:
    """Join the phrases of a table in a text that was counted. Return the text, and its words in one table."""
    lines = lines_of(counting, merged)
    lines = join_all(lines, table, counting.source.name, counting.folder, len(counting.workers))
    words = word_table.listed(counting.source.tokens_of(lines.words), lines.counts)
    return lines, MergedWords(counting.source, [word_table.merge(words, word_table.empty())[0]])


def joined_text(lines: Lines, block_bytes: int = 1 << 20) -> Iterator[bytes]:
    """Yield the text in blocks: words separated by spaces, one line per line of the source."""
    words = [word.encode("utf-8", "surrogatepass") for word in lines.words]
    starts = np.cumsum([0, *map(len, words)], dtype=np.int64)
    arena = np.frombuffer(b"".join(words) or b" ", np.uint8)
    out = np.empty(max(block_bytes, int(np.diff(starts).max(initial=0)) + 1), np.uint8)
    at, state = 0, np.zeros(2, np.int64)
    while at < lines.ids.size:
        at = phrase_kernels.spell(lines.ids, at, arena, starts, out, state)
        yield out[: state[0]].tobytes()
