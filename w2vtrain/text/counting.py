"""Count the words of a corpus on all threads, and optionally spool the word number of each token, for encoding.

Nothing here deals with sentences or with the order of ids; encoded.py does.

Each worker has its own hash table, numbers words independently, and takes the next block from a shared reader, so
memory holds one block per worker. `Types` merges the tables of all workers at the end.
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

OnRead = Callable[[int, int | None, int], None]  # bytes read, total bytes if known, tokens
TICK = 0.2  # seconds between calls of OnRead


@dataclass(frozen=True)
class CorpusStats:
    """Statistics of a corpus. `sentences` and `cut` are 0 if the corpus was counted but not encoded."""

    files: int
    bytes_read: int  # on disk, before decompression
    text_bytes: int  # after decompression
    lines: int  # including a last line without a newline
    tokens: int  # not counting overlong ones
    types: int  # distinct tokens
    out_of_vocabulary: int  # tokens that are not in the vocabulary
    overlong: int  # tokens of more than 1,000 bytes, which were skipped
    invalid: int  # tokens (`unicode`, `simple`: byte sequences) that were not UTF-8, treated as `errors` says
    nul: int  # NUL bytes, treated as white space
    grown: int  # files that grew after they were listed; the extra bytes are not read
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
    """Return the vocabulary and the statistics of a corpus, without writing anything.

    min_count: leave out words that occur less often; max_vocab: keep only this many of the most frequent words;
    progress: called from the calling thread. Raise DataError if the data are not text or fewer than 2 words are left,
    InputMissing if a file cannot be read.
    """
    with Counting(corpus, threads, None) as first:
        first.run(progress)
        types = Types([w.table for w in first.workers], None, corpus.errors)
        vocabulary, _ = types.cut(first, min_count, max_vocab)
        return vocabulary, first.stats(types, int(vocabulary.counts.sum()))


class Record(NamedTuple):
    """The location of a block's word numbers in a spool, and what the next block needs to know about its lines."""

    worker: int
    offset: int  # in bytes
    length: int  # in entries
    lines: int
    tail: int  # tokens after the last newline


class Worker:
    """The hash table, counters and spool of one thread."""

    def __init__(self, folder: Path | None) -> None:
        self.table = word_table.empty()
        self.state = np.zeros(word_table.STATES, np.int64)
        self.totals = np.zeros(word_table.STATES, np.int64)
        self.out = np.empty(0, np.int32)
        self.spool = temporary(folder) if folder else None
        self.spooled = 0
        self._reading = threading.Lock()

    def add(self, block: bytes) -> None:
        """Count and number the tokens of a block, and append the numbers to the spool, if any."""
        text = np.frombuffer(block, np.uint8)
        if self.out.size < text.size:
            self.out = np.empty(text.size, np.int32)
        self.table = word_table.add(text, self.table, self.out, self.state)
        self.totals += self.state
        if self.spool:
            self.spooled += append(self.spool, self.out[: self.state[word_table.WRITTEN]])

    def numbers(self, record: "Record") -> Int32:
        """Return the numbers that `add` spooled for a block. Any thread may call this."""
        assert self.spool
        with self._reading:  # a lock instead of os.pread, which Windows does not have
            self.spool.seek(record.offset)
            return np.frombuffer(self.spool.read(4 * record.length), np.int32)


class Counting:
    """One pass over a corpus: workers that take blocks from a shared reader.

    If a folder is given, each worker has a spool in it, and `records[i]` says where the word numbers of block i are.
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
        """Close the spools, which also deletes them."""
        for worker in self.workers:
            if worker.spool:
                worker.spool.close()

    def run(self, progress: OnRead | None) -> None:
        """Read and count the whole corpus."""

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
        """Return the sum of one entry of the tokenizer's state over all blocks so far."""
        return sum(int(worker.totals[what]) for worker in self.workers)

    def _work(self, number: int, _: threading.Event) -> Iterator[Record]:
        """Count and number blocks in one thread until there are no more; yield the record of each."""
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
        """Return the statistics. words: the number of tokens that are in the vocabulary."""
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
    """The words of all workers, merged into one table. A word that is not UTF-8 is merged with its decoded form.

    If errors is "ignore", the decoded form may be empty. Such a word is not counted as a token, although it still takes
    up a position in its sentence. counts: (n,) int64; tokens: their sum; invalid: the number of tokens that were not
    UTF-8; numbers: for each worker, an array (its types,) int32 that maps its word numbers to those of the table.
    """

    def __init__(self, tables: Sequence[Table], vocabulary: Vocabulary | None, errors: str) -> None:
        self.numbers: list[Int32] = []
        if vocabulary is None:
            table = tables[0]
            self.numbers.append(np.arange(table.types, dtype=np.int32))
        else:  # merged first, so that the number of each of its words is the word's id
            table, _ = word_table.merge(word_table.listed([w.encode() for w in vocabulary.words]), word_table.empty())
            if table.types != len(vocabulary):
                raise DataError("the vocabulary contains a word twice, or a word with white space in it")
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
        """Return the vocabulary and the id of each word number, (n,) int32: -1 if it is not in the vocabulary."""
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
    """Create an unnamed file, which the operating system deletes when it is closed."""
    try:
        return tempfile.TemporaryFile(dir=folder, buffering=0)
    except OSError as error:
        raise OutputError(f"{folder}: cannot create a temporary file in this folder: {error.strerror}") from error


def append(file: IO[bytes], entries: Int32) -> int:
    """Append an array to a file. Return its size in bytes."""
    view = entries.view(np.uint8).data
    try:
        while view:  # before a full disk is reported as an error, a write may be cut short
            view = view[file.write(view) :]
    except OSError as error:
        raise WriteError(f"cannot write the word ids of the corpus: {error.strerror or error}") from error
    return entries.nbytes
