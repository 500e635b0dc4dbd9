"""Encode a source as int32 word ids, in an unnamed file or, if the source is tiny, in memory.

The ids do not depend on the number of threads. Nothing here deals with training, subsampling or windows, which read
`EncodedCorpus.tokens`.

Counting leaves provisional word numbers in spools, block by block. Here they are mapped to ids, divided into
sentences, and written in the order of the source. `read` does the first step, and `Counted.encode` the second; between
the two, the caller may choose the words.
"""

import io
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2vtrain.errors import IN_PYTHON, NoKnownWords, WriteError, spelled
from w2vtrain.system.parallel import parallel
from w2vtrain.text import word_table
from w2vtrain.text.counting import CorpusStats, Counting, OnRead, append, temporary
from w2vtrain.text.source import Source
from w2vtrain.text.token_lists import Sentences
from w2vtrain.text.vocabulary import SENTENCE_END, Vocabulary, no_tokens, require_words, select
from w2vtrain.text.word_table import Int32, Int64

if TYPE_CHECKING:
    from w2vtrain.text.phrase_joining import Lines


class Tags(NamedTuple):
    """The tags of documents. Each tag has an input row, after those of the words, which is context of all its targets.

    starts (D + 1,) int64: the offsets of D documents in `rows`; rows (n,) int32: the input rows of their tags; size:
    the number of different tags; most: the most tags of a document.
    """

    starts: Int64
    rows: Int32
    size: int
    most: int


@dataclass(frozen=True, eq=False)
class EncodedCorpus:
    """An encoded corpus.

    tokens (n,) int32, read-only: word ids, with -1 after each sentence, or -2 - k if it belongs to document k; no
    sentence is empty. sample: the beginning of the text, as it was before the tokenizer rewrote it; at most
    SAMPLE_BYTES, which may end inside a character. tags: those of the documents, if there are any.
    """

    tokens: Int32
    vocabulary: Vocabulary
    words: int  # the number of words in `tokens`
    stats: CorpusStats
    sample: bytes = b""
    tags: Tags | None = None

    def about(self) -> str:
        """Return in a few words what the corpus has besides words, such as documents: nothing."""
        return ""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a model trained on the corpus keeps of it besides the vocabulary, by name: nothing."""
        return {}

    def checksum(self) -> int:
        """Return the CRC-32 of the corpus, by which a resumed run detects that it has changed."""
        return zlib.crc32(np.asarray(self.tokens).data)

    def chunks(self, size: int) -> tuple[Int64, Int64]:
        """Return offsets (n + 1,) int64 that divide `tokens` into n runs of whole sentences.

        Also return the number of words of each run, (n,) int64. Each run has at least `size` entries, including
        sentence ends, and no more sentences than it needs to reach that size. The last run may be shorter.
        """
        offsets, words = np.zeros((2, self.tokens.size // size + 2), np.int64)
        count = word_table.runs(np.asarray(self.tokens), size, offsets[1:], words)
        return offsets[: count + 1].copy(), words[:count].copy()


class Written(NamedTuple):
    """What `Counted.append_to` has written.

    entries: word ids and sentence ends; words: word ids; cuts: cuts made in lines of more than max_sentence tokens.
    """

    entries: int
    words: int
    cuts: int

    def described(
        self, stats: CorpusStats, vocabulary: Vocabulary, sentence_end: bool, name: str
    ) -> tuple[CorpusStats, Vocabulary, int | None]:
        """Return all statistics, the vocabulary, and the id that `</s>` gets in it if it is added, else None.

        stats: from counting; sentence_end: whether the vocabulary gets `</s>` if it lacks it; name: of the corpus.
        Raise NoKnownWords if no token is in the vocabulary.
        """
        if not self.words:
            raise NoKnownWords(
                f"none of the {stats.token_count} tokens of {name} is in the vocabulary: is it in another language, or"
                " in upper case?"
            )
        sentences, place = self.entries - self.words, None
        if sentence_end and SENTENCE_END not in vocabulary.index:
            vocabulary, place = vocabulary.with_sentence_end(sentences)
        missing = stats.token_count - self.words
        stats = replace(stats, out_of_vocabulary=missing, cut=self.cuts, sentences=sentences)
        return stats, vocabulary, place


class Counted:
    """A source that was read once: its words and counts, and on disk the number of every token. Made by `read`.

    The caller looks at all words and counts, chooses a vocabulary, and encodes the tokens with it, as often as it
    likes, without reading the source again. Use it as a context manager, or call `close`, which deletes the files.

    token_count: the number of tokens; lines: the number of lines, or of sentences of a source of token lists; stats:
    all statistics, in which every token counts as in the vocabulary.

    >>> with read(Sentences([["b", "a"], ["b", "new york"]])) as counted:
    ...     print(counted.words, counted.counts)
    ...     ids = counted.encode(Vocabulary(["b", "new york"], np.array([2, 1])))
    ['b', 'a', 'new york'] [2 1 1]
    >>> ids.tokens.tolist()
    [0, -1, 0, 1, -1]
    """

    def __init__(self, counting: Counting) -> None:
        self._counting, self._merged = counting, counting.merged()
        self._text: Counting | Lines = counting
        self._invalid = self._merged.invalid
        if table := counting.source.phrases:
            from w2vtrain.text.phrase_joining import join_counted

            self._text, self._merged = join_counted(counting, self._merged, table)
            counting.close()
        self.token_count, self.lines = self._merged.token_count, counting.total(word_table.LINES)

    def __enter__(self) -> "Counted":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Delete the numbers of the tokens. What `encode` returned can still be used, and so can words and counts."""
        self._counting.close()

    @cached_property
    def words(self) -> list[str]:
        """All n distinct words, in order of first appearance, which does not depend on the number of threads."""
        return self._merged.texts(self._order)

    @cached_property
    def counts(self) -> Int64:
        """The count of each of `words`, (n,) int64."""
        return self._merged.counts[self._order]

    @cached_property
    def stats(self) -> CorpusStats:
        """Return the statistics; out_of_vocabulary, cut and sentences, which depend on the vocabulary, are 0."""
        return self._counting.stats(self._merged, self._invalid)

    @property
    def sample(self) -> bytes:
        """The beginning of the text, see `EncodedCorpus`."""
        return bytes(self._counting.reader.sample)

    @cached_property
    def _order(self) -> Int64:
        counted = np.flatnonzero(self._merged.counts)
        return counted[np.argsort(self._text.first_seen(self._merged)[counted])]

    def vocabulary(self, min_count: int = 5, max_vocab: int | None = None) -> Vocabulary:
        """Return the `max_vocab` most frequent of the words that occur at least `min_count` times.

        Raise DataError if these are fewer than 2 words.
        """
        merged, name = self._merged, self._counting.source.name
        order = select(merged.counts, merged.words, min_count, max_vocab)
        text_bytes, overlong = self._counting.reader.text_bytes, self._counting.total(word_table.OVERLONG)
        require_words(merged.counts, len(order), min_count, name, text_bytes, overlong, self.sample)
        return Vocabulary(merged.texts(order), merged.counts[order])

    def require_tokens(self) -> None:
        """Raise DataError if the source has no token."""
        if not self.token_count:
            counting = self._counting
            raise no_tokens(counting.source.name, counting.reader.text_bytes, counting.total(word_table.OVERLONG))

    def text(self) -> "Lines":
        """Return the ids of all words, which can be used after `close`. Raise DataError if there are no words."""
        from w2vtrain.text.phrase_joining import Lines, lines_of

        self.require_tokens()
        with naming(self._counting.folder):
            return self._text if isinstance(self._text, Lines) else lines_of(self._text, self._merged)

    def encode(
        self, vocabulary: Vocabulary, *, max_sentence: int = 10_000, sentence_end: bool = False, numbered: bool = False
    ) -> EncodedCorpus:
        """Encode the tokens with a vocabulary, whose words may be in any order, and absent from the source.

        A word's id is its index in `vocabulary.words`; `vocabulary.counts` are not looked at. Tokens that are not in
        the vocabulary are left out. max_sentence: cut longer lines into sentences of this many tokens. sentence_end:
        add `</s>` to the vocabulary, with the number of sentences as its count, unless it has one; in `tokens`,
        sentences still end with -1. numbered: whether each line is a document, whose number ends its sentences.

        Raise DataError if no token is in the vocabulary, or if the vocabulary contains a word twice or a word that the
        source cannot contain; OutputError and WriteError as `read` does.
        """
        counting, name = self._counting, self._counting.source.name
        self.require_tokens()
        with naming(counting.folder), temporary(counting.folder, counting.in_memory) as file:
            written = self.append_to(file, vocabulary, max_sentence, numbered=numbered)
            stats, vocabulary, place = written.described(self.stats, vocabulary, sentence_end, name)
            array = entries_of(file)
            if place is not None:
                make_room(array, place)
        array.flags.writeable = False
        return EncodedCorpus(array, vocabulary, written.words, stats, self.sample)

    def append_to(
        self, file: IO[bytes], vocabulary: Vocabulary, max_sentence: int, tick: Callable[[], None] = lambda: None,
        numbered: bool = False,
    ) -> Written:  # fmt: skip
        """Append the ids of the tokens, with -1 after each sentence, to an unbuffered file; there may be none.

        vocabulary, numbered: as for `encode`; tick: called from the calling thread, at least once per second, also
        while the disk hangs. Raise WriteError if the disk is full.
        """
        state, ids = np.zeros(5, np.int64), self._merged.ids(vocabulary)

        def write(thread: int, ended: threading.Event) -> Iterator[int]:
            for sentences in self._cut(ids, max_sentence, numbered, state):
                append(file, sentences)
                yield sentences.size

        entries = 0
        with parallel(write, min(1, self._counting.threads), "w2vtrain writer") as written:
            for size in written:
                entries += size or 0
                tick()
        return Written(entries, int(state[word_table.WORDS]), int(state[word_table.CUTS]))

    def sentences(self, max_sentence: int, vocabulary: Vocabulary | None = None) -> int:
        """Return the number of sentences that have tokens, or words of a vocabulary; max_sentence: see `encode`.

        If the numbers of the tokens are not kept, this is the number of lines.
        """
        if self._counting.folder is None:
            return self.lines
        state, ids = np.zeros(5, np.int64), [np.zeros_like(numbers) for numbers in self._merged.numbers]
        if vocabulary is not None:
            ids = self._merged.ids(vocabulary)
        entries = sum(sentences.size for sentences in self._cut(ids, max_sentence, False, state))
        return entries - int(state[word_table.WORDS])

    def _cut(self, ids: Sequence[Int32], max_sentence: int, numbered: bool, state: Int64) -> Iterator[Int32]:
        """Yield the ids of all tokens, divided into sentences; the next array overwrites the one before.

        ids: see `Counting.mapped`; max_sentence, numbered: see `encode`; state: see `cut_sentences`.
        """
        out = np.empty(0, np.int32)
        for block in self._text.mapped(ids, self._counting.threads):
            if out.size < 2 * block.size:
                out = np.empty(2 * block.size, np.int32)
            yield out[: word_table.cut_sentences(block, max_sentence, numbered, out, state)]


def read(
    source: Source,
    *,
    threads: int = 1,
    folder: Path | None = None,
    progress: OnRead | None = None,
    warn: Callable[[str], None] | None = None,
    encodes: bool = True,
) -> Counted:
    """Read a source once: count all its words, and keep the numbers of its tokens on disk until `Counted.close`.

    folder: where files are created, unless the source is tiny (None: the system's folder for temporary files). They
    have no names, so nothing is left behind however the process ends. They take 4 bytes per token, and as much again
    per `Counted.encode`. progress: called from the calling thread; warn: called with what was skipped or replaced.
    encodes: whether the numbers are kept; if not, the result has words, counts and statistics, but cannot encode, and
    only joining phrases writes files. Memory holds the words, and one block per thread.

    Raise DataError if the data are not text, InputMissing if a file cannot be read, OutputError if a file cannot be
    created, WriteError if the disk is full, and whatever an iterable of the user raises.
    """
    place = folder or Path(tempfile.gettempdir()) if encodes or source.phrases else None
    is_tiny = isinstance(source, Sentences) and source.is_tiny
    counting = Counting(source, 0 if is_tiny else threads, place)
    try:
        with naming(place):
            counting.run(progress)
            counted = Counted(counting)
        if warn:
            counted.stats.report(source.name, warn)
        return counted
    except BaseException:
        counting.close()
        raise


@contextmanager
def naming(folder: Path | None) -> Iterator[None]:
    """Add to the message of a WriteError the folder that is full, and the option that helps."""
    try:
        yield
    except WriteError as error:
        is_shared = folder == Path(tempfile.gettempdir())  # not all commands have --cache-dir
        way = IN_PYTHON["cache_dir"] if is_shared else spelled("cache_dir")
        raise WriteError(f"{folder}: {error}; use {way} to name a folder with more free space") from error


def entries_of(file: IO[bytes]) -> Int32:
    """Return the entries (n,) int32 of a file that `temporary` created, as a view of it if it is on disk."""
    if isinstance(file, io.BytesIO):
        return np.frombuffer(file.getbuffer(), np.int32).copy()
    return np.memmap(file, np.int32, "r+")


def make_room(ids: Int32, place: int) -> None:
    """Increase all ids from `place` on by one, to free the id `place`."""
    for start in range(0, ids.size, 1 << 20):
        slice_ = ids[start : start + (1 << 20)]
        slice_ += slice_ >= place
