"""Count the words of a source on all threads, and optionally spool the word number of each token, for encoding.

Nothing here deals with sentences or with the choice of words; encoded.py does.

Each worker has its own hash table, numbers words independently, and takes the next block from a shared reader, so
memory holds one block per worker. `MergedWords` merges the tables of all workers at the end.
"""

import io
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from w2vtrain.errors import DataError, OutputError, WriteError
from w2vtrain.system.parallel import in_order, parallel
from w2vtrain.text import word_table
from w2vtrain.text.source import Source
from w2vtrain.text.token_lists import Sentences
from w2vtrain.text.vocabulary import Vocabulary
from w2vtrain.text.word_table import LEFT_OUT, LINE_END, Int32, Int64, WordTable

OnRead = Callable[[int, int | None, int], None]  # bytes read, total bytes if known, tokens
PROGRESS_SECONDS = 0.2  # between calls of OnRead
TINY_TABLE = 1 << 10, 1 << 14
"""Words, and bytes of words, for which the table of a tiny source has room at first."""

ODDITIES = {
    "overlong": "tokens over 1,000 bytes skipped",
    "invalid": "tokens of invalid UTF-8 repaired",
    "nul": "NUL bytes treated as white space",
    "grown": "files grew during reading: read up to their initial size",
}
"""What was skipped, replaced or not read, by the field of CorpusStats that counts it."""


@dataclass(frozen=True)
class CorpusStats:
    """Statistics of a corpus. `sentences` and `cut` are 0 if the corpus was counted but not encoded."""

    files: int
    bytes_read: int  # on disk, before decompression
    text_bytes: int  # after decompression
    lines: int  # including a last line without a newline
    token_count: int  # not counting overlong ones; `tokens` in files
    types: int  # distinct tokens
    out_of_vocabulary: int  # tokens that are not in the vocabulary
    overlong: int  # tokens of more than 1,000 bytes, which were skipped
    invalid: int  # tokens (`unicode`, `simple`: byte sequences) that were not UTF-8, treated as `errors` says
    nul: int  # NUL bytes, treated as white space
    grown: int  # files that grew after they were listed; the extra bytes are not read
    cut: int  # cuts made in lines of more than max_sentence tokens
    sentences: int  # with at least one word of the vocabulary

    def oddities(self) -> list[str]:
        """Return what was skipped, replaced or not read, in a few words for each kind."""
        return [f"{count:,} {what}" for name, what in ODDITIES.items() if (count := getattr(self, name))]

    def report(self, name: str, warn: Callable[[str], None]) -> None:
        """Call `warn` with each oddity and what `undecoded` returns. name: of the text."""
        for oddity in filter(None, [*self.oddities(), self.undecoded()]):
            warn(f"{name}: {oddity}")

    def undecoded(self) -> str | None:
        """Return a warning if more than one token in a hundred is not UTF-8, as in text in another encoding."""
        if self.invalid <= self.token_count / 100:
            return None
        return (
            f"{self.invalid:,} of {self.token_count:,} words are not UTF-8, and the letters that are not were replaced:"
            " convert the text, for example with `iconv -f latin1 -t utf8`; `iconv -f utf8 -t utf8` stops at the first"
        )

    def to_json(self) -> dict[str, int]:
        """Return the statistics by their names in files."""
        return {"tokens" if name == "token_count" else name: value for name, value in vars(self).items()}

    @classmethod
    def from_json(cls, values: dict[str, int]) -> "CorpusStats":
        """Reverse `to_json`. Raise TypeError if a name is missing or unknown."""
        return cls(**{"token_count" if name == "tokens" else name: value for name, value in values.items()})


class SpooledBlock(NamedTuple):
    """The location of a block's word numbers in a spool.

    types: how many words the worker has numbered so far, including those of this block.
    """

    worker: int
    offset: int  # in bytes
    length: int  # in entries
    types: int


class Worker:
    """The hash table, counters and spool of one thread."""

    def __init__(self, folder: Path | None, is_tiny: bool) -> None:
        self.table = word_table.empty(*TINY_TABLE) if is_tiny else word_table.empty()
        self.state = np.zeros(word_table.STATES, np.int64)
        self.totals = np.zeros(word_table.STATES, np.int64)
        self.out = np.empty(0, np.int32)
        self.spool = temporary(folder, is_tiny) if folder else None
        self.spool_bytes = 0
        self.reading = threading.Lock()

    def add(self, block: bytes) -> int:
        """Count and number the tokens of a block, and append the entries to the spool, if any. Return their number."""
        text = np.frombuffer(block, np.uint8)
        if self.out.size < text.size:
            self.out = np.empty(text.size, np.int32)
        self.table = word_table.add(text, self.table, self.out, self.state)
        self.totals += self.state
        written = int(self.state[word_table.WRITTEN])
        if self.spool:
            self.spool_bytes += append(self.spool, self.out[:written])
        return written


class Counting:
    """One pass over a source: workers that take blocks from a shared reader.

    If a folder is given, each worker has a spool in it, and `spooled[i]` says where the word numbers of block i are.
    With 0 threads, for a tiny source, the calling thread is the worker, and its spool is in memory.
    """

    def __init__(self, source: Source, threads: int, folder: Path | None) -> None:
        self.source, self.folder, self.reader = source, folder, source.read()
        self.workers: list[Worker] = []
        self.threads, self.in_memory = threads, not threads
        self.spooled: dict[int, SpooledBlock] = {}
        self._turn, self._next = threading.Lock(), 0
        try:
            for _ in range(max(1, threads)):
                self.workers.append(Worker(folder, self.in_memory))
        except OutputError:
            self.close()
            raise

    def close(self) -> None:
        """Close the spools, which also deletes them."""
        for worker in self.workers:
            if worker.spool:
                worker.spool.close()

    def run(self, progress: OnRead | None) -> None:
        """Read and count the whole source."""

        def tick() -> None:
            if progress:
                progress(self.reader.bytes_read, self.source.size, self.total(word_table.TOKENS))

        with parallel(self._work, self.threads, "w2vtrain reader", PROGRESS_SECONDS) as reports:
            try:
                for spooled in reports:
                    if spooled is None:
                        tick()
            finally:
                self.reader.close()
        tick()
        assert self.source.size in (None, self.reader.bytes_read), "not every byte was read"

    def total(self, entry: int) -> int:
        """Return the sum of one entry of the tokenizer's state over all blocks so far."""
        return sum(int(worker.totals[entry]) for worker in self.workers)

    def stats(self, words: "MergedWords", invalid: int) -> CorpusStats:
        """Return the statistics; out_of_vocabulary, cut and sentences, which depend on the vocabulary, are 0.

        words: all words, perhaps with phrases joined; invalid: those that were not UTF-8 when they were merged.
        """
        return CorpusStats(
            files=len(self.source.files),
            bytes_read=self.reader.bytes_read,
            text_bytes=self.reader.text_bytes,
            lines=self.total(word_table.LINES),
            token_count=words.token_count,
            types=int(np.count_nonzero(words.counts)),
            out_of_vocabulary=0,
            overlong=self.total(word_table.OVERLONG),
            invalid=invalid + self.reader.invalid,
            nul=self.reader.nul,
            grown=self.reader.grown,
            cut=0,
            sentences=0,
        )

    def mapped(self, ids: Sequence[Int32], threads: int) -> Iterator[Int32]:
        """Yield the ids of all tokens, and LINE_END for each newline, block by block.

        ids: for each worker, the id of each of its word numbers, or LEFT_OUT.
        """
        ids = [np.append(of_words, np.int32(LINE_END)) for of_words in ids]  # the last is that of the number LINE_END

        def block_ids(index: int) -> Int32:
            block = self.spooled[index]
            worker = self.workers[block.worker]
            assert worker.spool
            with worker.reading:  # a lock instead of os.pread, which Windows does not have
                worker.spool.seek(block.offset)
                numbers = np.frombuffer(worker.spool.read(4 * block.length), np.int32)
            return ids[block.worker].take(numbers)

        return in_order(block_ids, len(self.spooled), threads, "w2vtrain encoder")

    def merged(self) -> "MergedWords":
        """Return the words of all workers."""
        return MergedWords(self.source, [worker.table for worker in self.workers])

    def first_seen(self, words: "MergedWords") -> Int64:
        """Return numbers (n,) int64 that order words by their first appearance, whatever the number of threads.

        The first block with a word was read by one worker, which numbered the block's new words in order.
        """
        first_seen = np.full(words.counts.size, np.iinfo(np.int64).max)
        for worker, numbers in enumerate(words.numbers):
            mine = sorted(index for index, spooled in self.spooled.items() if spooled.worker == worker)
            types = np.array([self.spooled[index].types for index in mine], np.int64)
            own = np.arange(numbers.size)
            blocks = np.array(mine, np.int64)[np.searchsorted(types, own, side="right")] if mine else own
            np.minimum.at(first_seen, numbers, (blocks << 32) | own)
        return first_seen

    def _work(self, thread: int, _: threading.Event) -> Iterator[SpooledBlock]:
        """Count and number blocks in one thread until there are no more; yield where the numbers of each are."""
        worker = self.workers[thread]
        while True:
            with self._turn:
                block = next(self.reader, None)
                index, self._next = self._next, self._next + 1
            if block is None:
                return
            offset, length = worker.spool_bytes, worker.add(block)
            self.spooled[index] = SpooledBlock(thread, offset, length, worker.table.types)
            yield self.spooled[index]


class MergedWords:
    """The words of one or more tables, merged into one. A word that is not UTF-8 is merged with its decoded form.

    If errors is "ignore", the decoded form may be empty. Such a word is not counted as a token, although it still takes
    up a position in its sentence. counts: (n,) int64, 0 for words merged with another; token_count: their sum; invalid:
    the number of tokens that were not UTF-8; numbers: for each table, an array (its types,) int32 that maps its word
    numbers to those of the merged one.
    """

    def __init__(self, source: Source, tables: Sequence[WordTable]) -> None:
        self._source = source
        table, self.numbers = tables[0], [np.arange(tables[0].types, dtype=np.int32)]
        for other in tables[1:]:
            table, numbers = word_table.merge(other, table)
            self.numbers.append(numbers)
        self._table, self.invalid = table, 0
        if (invalid := np.array(table.not_utf8(), np.int64)).size:
            self._mend(invalid)
        self.counts = self._table.counts[: self._table.types]
        self.token_count = int(self.counts.sum())

    def _mend(self, invalid: Int64) -> None:
        """Merge the words with these numbers (n,), which are not UTF-8, with their decoded form."""
        mended = [word.decode("utf-8", self._source.errors).encode() for word in self._table.words(invalid)]
        self._table, valid = word_table.merge(word_table.listed(mended), self._table)
        counts = self._table.counts
        self.invalid = int(counts[invalid].sum())
        np.add.at(counts, valid, counts[invalid])
        counts[invalid] = counts[[i for i, word in zip(valid, mended, strict=True) if not word]] = 0
        merged = np.arange(self._table.types, dtype=np.int32)
        merged[invalid] = valid
        self.numbers = [merged[numbers] for numbers in self.numbers]

    def words(self, numbers: Int64) -> list[bytes]:
        """Return the words with these numbers (n,) in UTF-8, with surrogates encoded as other characters are."""
        return self._source.words_of(self._table.words(numbers))

    def texts(self, numbers: Int64) -> list[str]:
        """Return the words with these numbers (n,)."""
        return [word.decode("utf-8", "surrogatepass") for word in self.words(numbers)]

    def ids(self, vocabulary: Vocabulary) -> list[Int32]:
        """Return for each table an array (its types,) int32: the id of each word number, or LEFT_OUT.

        Raise DataError if the vocabulary contains a word twice, or one that the source cannot contain.
        """
        if isinstance(self._source, Sentences) and self._source.is_tiny:  # which has fewer words than the vocabulary
            texts = self.texts(np.arange(self._table.types))
            ids = np.array([vocabulary.index.get(text, LEFT_OUT) for text in texts], np.int32)
            return [ids[merged] for merged in self.numbers]
        tokens = self._source.tokens_of(vocabulary.words)
        self._table, numbers = word_table.merge(word_table.listed(tokens), self._table)
        ids = np.full(self._table.types, LEFT_OUT, np.int32)
        ids[numbers] = np.arange(numbers.size, dtype=np.int32)
        if np.count_nonzero(ids >= 0) < numbers.size:
            raise DataError("the vocabulary contains a word twice")
        return [ids[merged] for merged in self.numbers]


def temporary(folder: Path | None, in_memory: bool = False) -> IO[bytes]:
    """Create an unnamed file, which the operating system deletes when it is closed; or one in memory."""
    if in_memory:
        return io.BytesIO()
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
