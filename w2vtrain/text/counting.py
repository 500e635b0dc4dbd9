"""Counting a corpus with all threads: its types, and on request a spool from which its ids can be made.

Nothing here knows sentences or the order of ids; encoded.py makes those.

Each worker has a hash table of its own and takes the next block from the one reader, so that memory holds a block a
worker. Numbers of words are the worker's own until `Types` brings all tables together.
"""

import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from w2vtrain.errors import DataError, OutputError, WriteError
from w2vtrain.system.parallel import parallel
from w2vtrain.text import word_table
from w2vtrain.text.corpus import Corpus
from w2vtrain.text.vocab import Vocabulary, require_words, select
from w2vtrain.text.word_table import Int32, Table

OnRead = Callable[[int, int | None, int], None]  # bytes read, bytes in all if known, tokens
TICK = 0.2  # seconds between calls of OnRead


@dataclass(frozen=True)
class CorpusStats:
    """What was met in a corpus. `sentences` and `cut` are 0 if it was counted and not encoded."""

    files: int
    bytes_read: int  # from the disk, compressed where the file is
    text_bytes: int  # the same decompressed
    lines: int  # a last line without an end is one too
    tokens: int  # without the overlong ones
    types: int  # distinct tokens
    out_of_vocabulary: int  # tokens that are not in the vocabulary
    overlong: int  # tokens of more than 1,000 bytes, skipped
    invalid: int  # tokens that were not UTF-8 (of rewritten text sequences), mended as the corpus's `errors` says
    nul: int  # bytes taken for white space
    grown: int  # files that grew meanwhile, read as far as they were at the start
    cut: int  # cuts made in lines of more than max_sentence tokens
    sentences: int  # with at least one word of the vocabulary


def count(
    corpus: Corpus,
    *,
    min_count: int = 5,
    max_vocab: int | None = None,
    threads: int = 1,
    progress: OnRead | None = None,
) -> tuple[Vocabulary, CorpusStats]:
    """The vocabulary of a corpus, without writing anything: words seen `min_count` times, of these `max_vocab`.

    `progress` is called from this thread. Raises DataError for what is not text and for fewer than 2 words,
    InputMissing if reading fails.
    """
    with Counting(corpus, threads, None) as first:
        first.run(progress)
        types = Types([w.table for w in first.workers], None, corpus.errors)
        vocabulary, _ = types.cut(first, min_count, max_vocab)
        return vocabulary, first.stats(types, int(vocabulary.counts.sum()))


class Record(NamedTuple):
    """Where a block's numbers lie, and what the next block must know."""

    worker: int
    offset: int  # bytes
    length: int  # entries
    lines: int
    tail: int  # tokens behind the last line end


class Worker:
    """One thread's table and tallies."""

    def __init__(self, folder: Path | None) -> None:
        self.table = word_table.empty()
        self.state = np.zeros(word_table.STATES, np.int64)
        self.totals = np.zeros(word_table.STATES, np.int64)
        self.out = np.empty(0, np.int32)
        self.spool = temporary(folder) if folder else None
        self.spooled = 0
        self._reading = threading.Lock()

    def add(self, block: bytes) -> None:
        """Number the tokens of a block."""
        text = np.frombuffer(block, np.uint8)
        if self.out.size < text.size:
            self.out = np.empty(text.size, np.int32)
        self.table = word_table.add(text, self.table, self.out, self.state)
        self.totals += self.state
        if self.spool:
            self.spooled += append(self.spool, self.out[: self.state[word_table.WRITTEN]])

    def numbers(self, record: "Record") -> Int32:
        """What `add` spooled for a block; any thread may ask."""
        assert self.spool
        with self._reading:  # a lock and not os.pread, which Windows does not have
            self.spool.seek(record.offset)
            return np.frombuffer(self.spool.read(4 * record.length), np.int32)


class Counting:
    """One pass over a corpus: workers that take blocks from one reader in turn.

    With a folder the numbers of block i lie in a spool there, at `records[i]`.
    """

    def __init__(self, corpus: Corpus, threads: int, folder: Path | None) -> None:
        self.corpus, self.folder, self.reader = corpus, folder, corpus.read()
        self.workers: list[Worker] = []
        self.records: dict[int, Record] = {}
        self._turn, self._next = threading.Lock(), 0
        try:
            for _ in range(max(1, threads)):
                self.workers.append(Worker(folder))
        except OutputError:
            self.close()
            raise

    def __enter__(self) -> "Counting":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close, and so remove, the spools."""
        for worker in self.workers:
            if worker.spool:
                worker.spool.close()

    def run(self, progress: OnRead | None) -> None:
        """Read the whole corpus."""

        def tick() -> None:
            if progress:
                progress(self.reader.bytes_read, self.corpus.size, self.total(word_table.TOKENS))

        with parallel(self._work, len(self.workers), "w2vtrain reader", TICK) as records:
            for record in records:
                if record is None:
                    tick()
        tick()
        assert self.corpus.size in (None, self.reader.bytes_read), "not every byte was read"

    def total(self, what: int) -> int:
        """Sum of one entry of the tokenizer's state over all blocks so far."""
        return sum(int(worker.totals[what]) for worker in self.workers)

    def _work(self, number: int, _: threading.Event) -> Iterator[Record]:
        """Number block after block in one thread, and yield where each one's numbers are."""
        worker = self.workers[number]
        while True:
            with self._turn:
                block = next(self.reader, None)
                index, self._next = self._next, self._next + 1
            if block is None:
                return
            offset = worker.spooled
            worker.add(block)
            state = worker.state.tolist()
            written, lines, tail = (state[part] for part in (word_table.WRITTEN, word_table.LINES, word_table.TAIL))
            self.records[index] = record = Record(number, offset, written, lines, tail)
            yield record

    def stats(self, types: "Types", words: int, cut: int = 0, sentences: int = 0) -> CorpusStats:
        """What was met, given how many tokens are in the vocabulary."""
        return CorpusStats(
            files=len(self.corpus.files),
            bytes_read=self.reader.bytes_read,
            text_bytes=self.reader.text_bytes,
            lines=self.total(word_table.LINES),
            tokens=types.tokens,
            types=int(np.count_nonzero(types.counts)),
            out_of_vocabulary=types.tokens - words,
            overlong=self.total(word_table.OVERLONG),
            invalid=types.invalid + self.reader.invalid,
            nul=self.reader.nul,
            grown=self.reader.grown,
            cut=cut,
            sentences=sentences,
        )


class Types:
    """The words of all workers in one table, where a word that is not UTF-8 is one with what its decoding gives.

    Without its bad bytes ("ignore") it may be empty: then it is no token, though it has a place in its sentence.
    `counts` (n,) int64, `tokens` their sum, `invalid` tokens of these not UTF-8, and for each worker `numbers` (its
    types,) int32, from its numbers to those of the table.
    """

    def __init__(self, tables: Sequence[Table], vocabulary: Vocabulary | None, errors: str) -> None:
        self.numbers: list[Int32] = []
        if vocabulary is None:
            table = tables[0]
            self.numbers.append(np.arange(table.types, dtype=np.int32))
        else:  # first, so that a word's id is its number
            table, _ = word_table.merge(word_table.listed([w.encode() for w in vocabulary.words]), word_table.empty())
            if table.types != len(vocabulary):
                raise DataError("the vocabulary has a word twice, or words with white space in them")
        for source in tables[len(self.numbers) :]:
            table, numbers = word_table.merge(source, table)
            self.numbers.append(numbers)
        bad = np.flatnonzero(table.invalid[: table.types])
        mended = [word.decode("utf-8", errors).encode() for word in table.words(bad)]
        table, good = word_table.merge(word_table.listed(mended), table)
        self.table, self.counts = table, table.counts[: table.types]
        self.invalid = int(self.counts[bad].sum())
        np.add.at(self.counts, good, self.counts[bad])
        self.counts[bad] = self.counts[[i for i, word in zip(good, mended, strict=True) if not word]] = 0
        self.tokens = int(self.counts.sum())
        merged = np.arange(table.types, dtype=np.int32)
        merged[bad] = good
        self.numbers = [merged[numbers] for numbers in self.numbers]

    def cut(
        self, first: Counting, min_count: int, max_vocab: int | None, given: Vocabulary | None = None
    ) -> tuple[Vocabulary, Int32]:
        """The vocabulary, and the id of every number, -1 for words outside it."""
        ids = np.full(self.table.types, -1, np.int32)
        name, size = first.corpus.name, first.reader.text_bytes
        if given is None:
            order = select(self.counts, self.table.words, min_count, max_vocab)
            require_words(self.counts, len(order), min_count, name, size)
            given = Vocabulary([word.decode() for word in self.table.words(order)], self.counts[order])
            ids[order] = np.arange(len(order), dtype=np.int32)
        elif not self.tokens:
            raise DataError(f"no tokens in {name} ({size} bytes)")
        else:
            ids[: len(given)] = np.arange(len(given), dtype=np.int32)
        return given, ids


def temporary(folder: Path | None) -> IO[bytes]:
    """A file without a name, which the system removes when it is closed."""
    try:
        return tempfile.TemporaryFile(dir=folder, buffering=0)
    except OSError as error:
        raise OutputError(f"{folder}: no temporary file can be created here: {error.strerror}") from error


def append(file: IO[bytes], entries: Int32) -> int:
    """Append an array to a file; returns its bytes. (A full disk may show as a short write first.)"""
    view = entries.view(np.uint8).data
    try:
        while view:
            view = view[file.write(view) :]
    except OSError as error:
        raise WriteError(f"the ids of the corpus cannot be written: {error.strerror or error}") from error
    return entries.nbytes
