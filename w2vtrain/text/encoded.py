"""Encode a corpus as int32 word ids in an unnamed file. The ids do not depend on the number of threads.

Nothing here deals with training, subsampling or windows, which read `EncodedCorpus.tokens`.

Counting leaves provisional word numbers in spools, block by block. Here they are mapped to ids, divided into
sentences, and written in corpus order.
"""

import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from w2vtrain.errors import DataError, WriteError
from w2vtrain.system.parallel import parallel
from w2vtrain.text import word_table
from w2vtrain.text.corpus import Corpus
from w2vtrain.text.counting import TICK, CorpusStats, Counting, OnRead, Types, append, count, temporary
from w2vtrain.text.vocab import SENTENCE_END, Vocabulary
from w2vtrain.text.word_table import Int32, Int64

__all__ = ["CorpusStats", "EncodedCorpus", "OnRead", "count", "encode"]


@dataclass(frozen=True, eq=False)
class EncodedCorpus:
    """An encoded corpus.

    tokens (n,) int32, read-only: word ids, with -1 after each sentence; no sentence is empty. sample: the beginning of
    the text, as it was before the tokenizer rewrote it; at most corpus.SAMPLE bytes, which may end inside a character.
    """

    tokens: Int32
    vocabulary: Vocabulary
    words: int  # the number of words in `tokens`
    stats: CorpusStats
    sample: bytes = b""

    def chunks(self, size: int = 1000) -> Int64:
        """Return offsets (n + 1,) int64 that divide `tokens` into n runs of whole sentences.

        Each run has at least `size` entries, including sentence ends, and no more sentences than it needs to reach that
        size. The last run may be shorter.
        """
        offsets = np.zeros(self.tokens.size // max(1, size) + 2, np.int64)
        return offsets[: 1 + word_table.cuts(np.asarray(self.tokens), max(1, size), offsets[1:])].copy()

    def chunk_words(self, chunks: Int64) -> Int64:
        """Return the number of words, without sentence ends, in each of the runs `chunks` (n + 1,): (n,) int64."""
        words = np.zeros(chunks.size - 1, np.int64)
        word_table.words_between(np.asarray(self.tokens), chunks, words)
        return words


def encode(
    corpus: Corpus,
    *,
    min_count: int = 5,
    max_vocab: int | None = None,
    vocabulary: Vocabulary | None = None,
    max_sentence: int = 10_000,
    sentence_end: bool = False,
    threads: int = 1,
    folder: Path | None = None,
    progress: OnRead | None = None,
) -> EncodedCorpus:
    """Count and encode a corpus.

    min_count, max_vocab, progress: see `count`. vocabulary: words and counts to use instead of those of the corpus.
    max_sentence: longer lines are cut into sentences of this many tokens. sentence_end: add `</s>` to the vocabulary,
    with the number of sentences as its count, unless `vocabulary` has it; in `tokens`, sentences still end with -1.
    folder: where the file of ids is created (None: the system's folder for temporary files). The file has no name, so
    nothing is left behind however the process ends. Encoding needs about twice its size in free disk space.

    Raise OutputError if the file cannot be created, WriteError if the disk is full, and the errors of `count`.
    """
    where = folder or Path(tempfile.gettempdir())
    with _named(where), Counting(corpus, threads, where) as first:
        first.run(progress)
        types = Types([w.table for w in first.workers], vocabulary, corpus.errors)
        vocabulary, ids = types.cut(first, min_count, max_vocab, vocabulary)
        with temporary(first.folder) as file:
            second = _Mapping(first, [ids[numbers] for numbers in types.numbers], max(1, max_sentence), file)
            with parallel(second.work, len(first.workers), "w2vtrain encoder") as blocks:
                for _ in blocks:
                    pass
            if not second.words:
                raise DataError(f"none of the {types.tokens} tokens of {corpus.name} is in the vocabulary")
            if sentence_end and SENTENCE_END not in vocabulary.index:
                vocabulary, place = vocabulary.with_sentence_end(second.written - second.words)
                _make_room(np.memmap(file, np.int32, "r+", shape=(second.written,)), place)
            array = np.memmap(file, np.int32, "r", shape=(second.written,))
        if progress:
            progress(first.reader.bytes_read, corpus.size, types.tokens)
        return EncodedCorpus(
            array,
            vocabulary,
            second.words,
            first.stats(types, second.words, second.cuts, second.written - second.words),
            bytes(first.reader.sample),
        )


@contextmanager
def _named(folder: Path) -> Iterator[None]:
    """Add to the message of a WriteError the folder that is full, the option that helps, and what is not lost."""
    try:
        yield
    except WriteError as error:
        raise WriteError(
            f"{folder}: {error}; use --cache-dir to name a folder with more free space (training has not started, and"
            " checkpoints of this run are kept)"
        ) from error


def _make_room(ids: Int32, place: int) -> None:
    """Increase all ids from `place` on by one, to free the id `place`."""
    for first in range(0, ids.size, 1 << 20):
        part = ids[first : first + (1 << 20)]
        part += part >= place


class _Mapping:
    """Workers that map blocks to ids in parallel and write them in corpus order."""

    def __init__(self, first: Counting, ids: list[Int32], limit: int, file: IO[bytes]) -> None:
        self.words = self.cuts = self.written = 0
        self._first, self._ids, self._limit, self._file = first, ids, limit, file
        self._turn, self._done, self._open = threading.Condition(), 0, False
        self._places = [0]  # by block: how many tokens of its first line are in earlier blocks
        for index in range(len(first.records)):
            record = first.records[index]
            self._places.append(record.tail + (0 if record.lines else self._places[-1]))

    def work(self, worker: int, ended: threading.Event) -> Iterator[int]:
        """Map every n-th block, as one of n threads, and yield the index of each."""
        out, result = np.empty(0, np.int32), np.zeros(4, np.int64)
        for index in range(worker, len(self._first.records), len(self._ids)):
            record = self._first.records[index]
            if out.size < 2 * record.length:
                out = np.empty(2 * record.length, np.int32)
            numbers = self._first.workers[record.worker].numbers(record)
            place = self._places[index]
            place = (place - 1) % self._limit + 1 if place else 0
            written = word_table.sentences(numbers, self._ids[record.worker], self._limit, place, out, result)
            with self._turn:
                while self._done != index:
                    if ended.is_set():
                        return
                    self._turn.wait(TICK)
                self._append(out[:written], *result.tolist())
                self._done += 1
                self._turn.notify_all()
            yield index

    def _append(self, entries: Int32, words: int, cuts: int, open_words: int, lone: int) -> None:
        """Append the sentences of the next block to the file, leaving out the end of a sentence that has no words."""
        if lone and not self._open:
            entries = entries[1:]
        self._open = open_words > 0 if open_words >= 0 else self._open or words > 0
        self.words += words
        self.cuts += cuts
        self.written += len(entries)
        append(self._file, entries)
