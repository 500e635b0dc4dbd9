"""Map the word numbers that counting left on disk to the ids of a vocabulary, sentence by sentence, on all threads.

Nothing here chooses words; encoded.py does.
"""

import threading
from collections.abc import Iterator
from typing import IO

import numpy as np

from w2vtrain.text import word_table
from w2vtrain.text.counting import PROGRESS_SECONDS, Counting, append
from w2vtrain.text.joining import JoinedNumbers
from w2vtrain.text.word_table import Int32


class Mapping:
    """Workers that map blocks to ids in parallel and write them in corpus order."""

    def __init__(self, counting: Counting | JoinedNumbers, ids: list[Int32], limit: int, file: IO[bytes]) -> None:
        self.words = self.cuts = self.entries = 0
        self._counting, self._ids, self._limit, self._file = counting, ids, limit, file
        self._turn, self._next, self._open = threading.Condition(), 0, False
        self._blocks = [counting.spooled[index] for index in range(len(counting.spooled))]
        self._places = [0]  # by block: how many tokens of its first line are in earlier blocks
        for block in self._blocks:
            self._places.append(block.tail + (0 if block.lines else self._places[-1]))

    def work(self, thread: int, ended: threading.Event) -> Iterator[int]:
        """Map every n-th block, as one of n threads, and yield the index of each."""
        out, result = np.empty(0, np.int32), np.zeros(4, np.int64)
        for index in range(thread, len(self._blocks), len(self._ids)):
            block, place = self._blocks[index], self._places[index]
            if out.size < 2 * block.length:
                out = np.empty(2 * block.length, np.int32)
            numbers = self._counting.workers[block.worker].numbers(block)
            place = (place - 1) % self._limit + 1 if place else 0
            written = word_table.map_sentences(numbers, self._ids[block.worker], self._limit, place, out, result)
            with self._turn:
                while self._next != index:
                    if ended.is_set():
                        return
                    self._turn.wait(PROGRESS_SECONDS)
                self._append(out[:written], *result.tolist())
                self._next += 1
                self._turn.notify_all()
            yield index

    def _append(self, entries: Int32, words: int, cuts: int, open_words: int, lone: int) -> None:
        """Append the sentences of the next block to the file, leaving out the end of a sentence that has no words."""
        if lone and not self._open:
            entries = entries[1:]
        self._open = open_words > 0 if open_words >= 0 else self._open or words > 0
        self.words += words
        self.cuts += cuts
        self.entries += len(entries)
        append(self._file, entries)
