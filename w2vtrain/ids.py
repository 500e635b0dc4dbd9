"""A corpus as int32 word ids in a nameless file: tokenised once, by all threads, whatever their number the same ids.

Nothing here knows training, subsampling or windows; those read `Ids.tokens`.

Pass 1 reads, counts and spools: each worker has a hash table of its own and writes the numbers that it gave to its
own spool. Then the tables are merged and the vocabulary cut. Pass 2 maps numbers to ids, in the order of the text.
"""

import os
import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from . import tokens
from .corpus import Corpus
from .errors import DataError, OutputError, WriteError
from .tokens import Int32, Int64, Table
from .vocab import Vocabulary, require_words, select

Progress = Callable[[int, int | None, int], None]  # bytes read, bytes in all if known, tokens
TICK = 0.2  # seconds between calls of Progress


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
    invalid: int  # tokens that were not UTF-8 (tokenizer simple: sequences), decoded with U+FFFD
    cut: int  # cuts made in lines of more than max_sentence tokens
    sentences: int  # with at least one word of the vocabulary


@dataclass(frozen=True, eq=False)
class Ids:
    """An encoded corpus. `tokens` (n,) int32, read-only: word ids, each sentence followed by -1, none empty."""

    tokens: Int32
    vocabulary: Vocabulary
    words: int  # entries of `tokens` that are words
    stats: CorpusStats

    def chunks(self, size: int = 1000) -> Int64:
        """Offsets (n + 1,) int64 that cut `tokens` into runs of whole sentences.

        Each run has at least `size` entries, sentence ends counted, and no more sentences than that takes; the last
        run may be shorter.
        """
        offsets = np.zeros(self.tokens.size // max(1, size) + 2, np.int64)
        return offsets[: 1 + tokens.cuts(np.asarray(self.tokens), max(1, size), offsets[1:])].copy()

    def chunk_words(self, chunks: Int64) -> Int64:
        """How many words, sentence ends not counted, each run has: (n,) int64 for `chunks` (n + 1,)."""
        words = np.zeros(chunks.size - 1, np.int64)
        tokens.words_between(np.asarray(self.tokens), chunks, words)
        return words


def count(
    corpus: Corpus,
    *,
    min_count: int = 5,
    max_vocab: int | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> tuple[Vocabulary, CorpusStats]:
    """The vocabulary of a corpus, without writing anything: words seen `min_count` times, of these `max_vocab`.

    `progress` is called from this thread. Raises DataError for what is not text and for fewer than 2 words,
    InputMissing if reading fails.
    """
    with _Pass(corpus, threads, None) as first:
        first.run(progress)
        types = _Types([w.table for w in first.workers], None)
        vocabulary, _ = types.cut(first, min_count, max_vocab)
        return vocabulary, first.stats(types, int(vocabulary.counts.sum()))


def encode(
    corpus: Corpus,
    *,
    min_count: int = 5,
    max_vocab: int | None = None,
    vocabulary: Vocabulary | None = None,
    max_sentence: int = 10_000,
    threads: int = 1,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Ids:
    """Count and encode a corpus; with `vocabulary` its words and counts are used as they are.

    Lines of more than `max_sentence` tokens are cut. The ids lie in a file in `folder` (None: the system's folder for
    temporary files) that has no name, so nothing stays behind however the process ends; while this runs, about twice
    the room is needed. Raises OutputError if the file cannot be created, WriteError if the disk is full, and what
    `count` does.
    """
    with _Pass(corpus, threads, folder or Path(tempfile.gettempdir())) as first:
        first.run(progress)
        types = _Types([w.table for w in first.workers], vocabulary)
        vocabulary, ids = types.cut(first, min_count, max_vocab, vocabulary)
        with _temporary(first.folder) as file:
            second = _Mapping(first, [ids[numbers] for numbers in types.numbers], max(1, max_sentence), file)
            run_threads([partial(second.work, worker) for worker in range(len(first.workers))], second.stop)
            if not second.words:
                raise DataError(f"no token of {corpus.name} is in the vocabulary ({types.tokens} tokens)")
            array = np.memmap(file, np.int32, "r", shape=(second.written,))
        if progress:
            progress(first.reader.bytes_read, corpus.size, types.tokens)
        return Ids(array, vocabulary, second.words, first.stats(types, second.words, second))


class _Record(NamedTuple):
    """Where a block's numbers lie, and what the next block must know."""

    worker: int
    offset: int  # bytes
    length: int  # entries
    lines: int
    tail: int  # tokens behind the last line end


class _Worker:
    """One thread's table and tallies of pass 1."""

    def __init__(self, folder: Path | None) -> None:
        self.table = tokens.empty()
        self.state = np.zeros(tokens.STATES, np.int64)
        self.totals = np.zeros(tokens.STATES, np.int64)
        self.out = np.empty(0, np.int32)
        self.spool = _temporary(folder) if folder else None
        self.spooled = 0

    def add(self, block: bytes) -> None:
        """Number the tokens of a block."""
        text = np.frombuffer(block, np.uint8)
        if self.out.size < text.size:
            self.out = np.empty(text.size, np.int32)
        self.table = tokens.add(text, self.table, self.out, self.state)
        self.totals += self.state
        if self.spool:
            self.spooled += _write(self.spool, self.out[: self.state[tokens.WRITTEN]])


class _Pass:
    """Pass 1: workers that take blocks from one reader in turn."""

    def __init__(self, corpus: Corpus, threads: int, folder: Path | None) -> None:
        self.corpus, self.folder, self.reader = corpus, folder, corpus.read()
        self.workers: list[_Worker] = []
        self.records: dict[int, _Record] = {}
        self.stop = threading.Event()
        self._turn, self._next = threading.Lock(), 0
        try:
            for _ in range(max(1, threads)):
                self.workers.append(_Worker(folder))
        except OutputError:
            self.close()
            raise

    def __enter__(self) -> "_Pass":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for worker in self.workers:
            if worker.spool:
                worker.spool.close()

    def run(self, progress: Progress | None) -> None:
        def tick() -> None:
            if progress:
                progress(self.reader.bytes_read, self.corpus.size, self.total(tokens.TOKENS))

        run_threads([partial(self._work, number) for number in range(len(self.workers))], self.stop, tick)
        tick()

    def total(self, what: int) -> int:
        return sum(int(worker.totals[what]) for worker in self.workers)

    def _work(self, number: int) -> None:
        worker = self.workers[number]
        while not self.stop.is_set():
            with self._turn:
                block = next(self.reader, None)
                index, self._next = self._next, self._next + 1
            if block is None:
                return
            offset = worker.spooled
            worker.add(block)
            state = worker.state.tolist()
            self.records[index] = _Record(
                number, offset, state[tokens.WRITTEN], state[tokens.LINES], state[tokens.TAIL]
            )

    def stats(self, types: "_Types", words: int, second: "_Mapping | None" = None) -> CorpusStats:
        return CorpusStats(
            files=len(self.corpus.files),
            bytes_read=self.reader.bytes_read,
            text_bytes=self.reader.text_bytes,
            lines=self.total(tokens.LINES),
            tokens=types.tokens,
            types=int(np.count_nonzero(types.counts)),
            out_of_vocabulary=types.tokens - words,
            overlong=self.total(tokens.OVERLONG),
            invalid=types.invalid + self.reader.invalid,
            cut=second.cuts if second else 0,
            sentences=second.written - second.words if second else 0,
        )


class _Types:
    """The words of all workers in one table, where a word that is not UTF-8 is one with its U+FFFD decoding.

    `counts` (n,) int64, `tokens` their sum, `invalid` tokens of these not UTF-8, and for each worker `numbers` (its
    types,) int32, from its numbers to those of the table.
    """

    def __init__(self, tables: Sequence[Table], vocabulary: Vocabulary | None) -> None:
        self.numbers: list[Int32] = []
        if vocabulary is None:
            table = tables[0]
            self.numbers.append(np.arange(table.types, dtype=np.int32))
        else:  # first, so that a word's id is its number
            table, _ = tokens.merge(tokens.listed([w.encode() for w in vocabulary.words]), tokens.empty())
        for source in tables[len(self.numbers) :]:
            table, numbers = tokens.merge(source, table)
            self.numbers.append(numbers)
        bad = np.flatnonzero(table.invalid[: table.types])
        table, good = tokens.merge(tokens.listed([_decodable(table.word(i)) for i in bad.tolist()]), table)
        self.table, self.counts = table, table.counts[: table.types]
        self.tokens, self.invalid = int(self.counts.sum()), int(self.counts[bad].sum())
        np.add.at(self.counts, good, self.counts[bad])
        self.counts[bad] = 0
        merged = np.arange(table.types, dtype=np.int32)
        merged[bad] = good
        self.numbers = [merged[numbers] for numbers in self.numbers]

    def cut(
        self, first: _Pass, min_count: int, max_vocab: int | None, given: Vocabulary | None = None
    ) -> tuple[Vocabulary, Int32]:
        """The vocabulary, and the id of every number, -1 for words outside it."""
        ids = np.full(self.table.types, -1, np.int32)
        name, size = first.corpus.name, first.reader.text_bytes
        if given is None:
            order = select(self.counts, self.table.word, min_count, max_vocab)
            require_words(self.counts, len(order), min_count, name, size)
            given = Vocabulary([self.table.word(i).decode() for i in order.tolist()], self.counts[order])
            ids[order] = np.arange(len(order), dtype=np.int32)
        elif not self.tokens:
            raise DataError(f"no tokens in {name} ({size} bytes)")
        else:
            ids[: len(given)] = np.arange(len(given), dtype=np.int32)
        return given, ids


class _Mapping:
    """Pass 2: workers that map blocks side by side and write them in turn."""

    def __init__(self, first: _Pass, ids: list[Int32], limit: int, file: IO[bytes]) -> None:
        self.stop = threading.Event()
        self.words = self.cuts = self.written = 0
        self._first, self._ids, self._limit, self._file = first, ids, limit, file
        self._turn, self._done, self._open = threading.Condition(), 0, False
        self._places = [0]  # tokens that the line at a block's start already has
        for index in range(len(first.records)):
            record = first.records[index]
            self._places.append(record.tail + (0 if record.lines else self._places[-1]))

    def work(self, worker: int) -> None:
        """Map every so manieth block."""
        out, result = np.empty(0, np.int32), np.zeros(4, np.int64)
        for index in range(worker, len(self._first.records), len(self._ids)):
            record = self._first.records[index]
            if out.size < 2 * record.length:
                out = np.empty(2 * record.length, np.int32)
            spool = self._first.workers[record.worker].spool
            assert spool
            numbers = np.frombuffer(os.pread(spool.fileno(), 4 * record.length, record.offset), np.int32)
            place = self._places[index]
            place = (place - 1) % self._limit + 1 if place else 0
            written = tokens.sentences(numbers, self._ids[record.worker], self._limit, place, out, result)
            with self._turn:
                while self._done != index:
                    if self.stop.is_set():
                        return
                    self._turn.wait(TICK)
                self._append(out[:written], *result.tolist())
                self._done += 1
                self._turn.notify_all()

    def _append(self, entries: Int32, words: int, cuts: int, open_words: int, lone: int) -> None:
        """Write the next block's sentences behind those of the last; an end without a word before it is left out."""
        if lone and not self._open:
            entries = entries[1:]
        self._open = open_words > 0 if open_words >= 0 else self._open or words > 0
        self.words += words
        self.cuts += cuts
        self.written += len(entries)
        _write(self._file, entries)


def run_threads(
    works: Iterable[Callable[[], None]], stop: threading.Event, tick: Callable[[], None] | None = None
) -> None:
    """Run functions in a thread each until all return, calling `tick` from this thread now and then.

    The first exception in one of them, or in `tick`, sets `stop` and is raised here at once; a thread that does not
    look at `stop`, since it waits for a pipe say, is left behind.
    """
    works = list(works)
    errors: list[BaseException] = []
    ended = threading.Semaphore(0)

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)
            stop.set()
        ended.release()

    threads = [threading.Thread(target=guarded, args=(work,), daemon=True) for work in works]
    try:
        for thread in threads:
            thread.start()
        left = len(threads)
        while left and not errors:
            if ended.acquire(timeout=TICK):
                left -= 1
            elif tick:
                tick()
    finally:
        stop.set()
        for thread in threads:
            if thread.ident:
                thread.join(1)
    if errors:
        raise errors[0]


def _decodable(word: bytes) -> bytes:
    return word.decode("utf-8", "replace").encode()


def _temporary(folder: Path | None) -> IO[bytes]:
    """A file without a name, which the system removes when it is closed."""
    try:
        return tempfile.TemporaryFile(dir=folder, buffering=0)
    except OSError as error:
        raise OutputError(f"{folder}: no temporary file can be created here: {error.strerror}") from error


def _write(file: Any, entries: Int32) -> int:
    """Append an array to a file; returns its bytes. (A full disk may show as a short write first.)"""
    view = entries.view(np.uint8).data
    try:
        while view:
            view = view[file.write(view) :]
    except OSError as error:
        raise WriteError(f"the ids of the corpus cannot be written: {error.strerror or error}") from error
    return entries.nbytes
