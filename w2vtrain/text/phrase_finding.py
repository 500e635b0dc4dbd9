"""Find the phrases of a corpus: pairs of words that occur together more often than by chance, as gensim's Phrases does.

Mikolov, Sutskever, Chen, Corrado & Dean 2013, "Distributed representations of words and phrases and their
compositionality", and their word2phrase.c.

The result is exact and does not depend on the number of threads: each thread reads all ids and counts one partition of
the pairs, chosen by their hash. A partition that does not fit into memory is halved, and the other half is counted
later, so memory is bounded however many pairs there are.
"""

import math
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from w2vtrain.system.parallel import parallel
from w2vtrain.text import phrase_kernels
from w2vtrain.text.phrase_joining import Lines, join_once, keys_of, numbered, slots_for
from w2vtrain.text.phrase_table import Phrase, PhraseTable, Scoring

ENTRY_BYTES = 32
"""Bytes of an entry of a table of pairs, of which at most 3/4 are in use."""
TABLE_BYTES = 1 << 31
"""Bytes of all threads' tables of pairs together, by default."""


def find_in(
    lines: Lines,
    scoring: Scoring,
    folder: Path | None = None,
    threads: int = 1,
    table_bytes: int = TABLE_BYTES,
    join_last: bool = True,
) -> tuple[PhraseTable, Lines]:
    """Return the phrases of a text and the text with the phrases joined, of the last pass only if `join_last`.

    folder: where files are created, 4 bytes per word and pass; table_bytes: memory for counting pairs, about, which
    affects no result. Besides this, memory holds the words, and the pairs that occur min_count times.
    """
    passes: list[tuple[Phrase, ...]] = []
    for number in range(1, scoring.passes + 1):
        phrases = _Pass(lines, scoring, threads, table_bytes).run()
        passes.append(tuple(sorted(phrases, key=lambda phrase: (-phrase.score, phrase.words))))
        table = PhraseTable(scoring, tuple(passes))
        if join_last or number < scoring.passes:
            lines = join_once(lines, [phrase.words for phrase in passes[-1]], table, folder, threads)
    return table, lines


class _Pass:
    """One pass over a text. keys: of its words, see phrase_kernels.py; types: grows by the candidates."""

    def __init__(self, lines: Lines, scoring: Scoring, threads: int, table_bytes: int) -> None:
        self.lines, self.scoring, self.threads = lines, scoring, threads
        self.keys, self.flags = keys_of(len(lines.words)), np.zeros(len(lines.words), np.uint8)
        self.flags[list(numbered(lines, scoring.connector_words).values())] = phrase_kernels.CONNECTOR
        self.types = int(np.count_nonzero((self.flags == 0) & (lines.counts > 0)))
        self.limit = 1 << max(10, (table_bytes // (ENTRY_BYTES * threads)).bit_length() - 1)
        self.common: list[phrase_kernels.UInt64] = []
        self._lock = threading.Lock()
        bits = (threads - 1).bit_length()
        self._partitions = [(prefix, bits) for prefix in range(1 << bits)]

    def run(self) -> list[Phrase]:
        """Return the phrases of the text."""
        with parallel(self._count, self.threads, "w2vtrain phrases") as reports:
            for _ in reports:
                pass
        return self._find()

    def _count(self, _: int, __: threading.Event) -> Iterator[None]:
        while True:
            with self._lock:
                if not self._partitions:
                    return
                prefix, bits = self._partitions.pop()
            yield from self._count_partition(prefix, bits)

    def _count_partition(self, prefix: int, bits: int) -> Iterator[None]:
        """Count the pairs of a partition, which shrinks if it does not fit."""
        slots, state, at = slots_for(1 << 12), np.zeros(phrase_kernels.STATES, np.uint64), 0
        partition = np.uint64(prefix), np.uint64(bits)
        while True:
            at = phrase_kernels.count(self.lines.ids, at, self.keys, self.flags, *partition, slots, state)
            yield
            if at == self.lines.ids.size:
                break
            size = self._next_size(len(slots), at)
            if size > self.limit and bits < 48:
                with self._lock:
                    self._partitions.append((2 * prefix + 1, bits + 1))
                prefix, bits, size = 2 * prefix, bits + 1, len(slots)
                partition = np.uint64(prefix), np.uint64(bits)
            larger = slots_for(size // 2 - 1)
            state[phrase_kernels.USED] = phrase_kernels.copied(slots, larger, *partition)
            slots = larger
        common = slots[slots[:, 2] >= self.scoring.min_count]
        with self._lock:
            self.types += int(state[phrase_kernels.USED])
            self.common.append(common)

    def _next_size(self, size: int, at: int) -> int:
        """Return the size of the table that follows one that was filled by ids[:at].

        New memory takes longer than counting, so few tables are better. Distinct pairs grow about as n^0.75.
        """
        expected = size * (self.lines.ids.size / at) ** 0.75
        return max(2 * size, min(1 << int(math.log2(expected)), self.limit))

    def _find(self) -> list[Phrase]:
        """Return the candidates that score more than the threshold."""
        scoring, lines, total = self.scoring, self.lines, int(self.lines.counts.sum())
        threshold = float(scoring.threshold or 0.0)
        loose = threshold - 1e-9 * max(1.0, threshold)  # kernels may round differently: see below
        how = self.types, total, scoring.min_count, scoring.scoring == "npmi", loose
        phrases = []
        for common in self.common:
            places = np.empty((len(common), 3), np.int64)
            n = phrase_kernels.find(lines.ids, common, self.flags, lines.counts, *how, places)
            for first, last, both in places[:n].tolist():
                ids = lines.ids[first : last + 1].tolist()
                score = scoring.score(int(lines.counts[ids[0]]), int(lines.counts[ids[-1]]), both, self.types, total)
                if score > threshold:
                    phrases.append(Phrase(tuple(lines.words[i] for i in ids), both, score))
        return phrases
