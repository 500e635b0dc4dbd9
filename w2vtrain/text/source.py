"""The interface of everything that can be counted and encoded: a source of words, read as blocks of bytes.

Nothing is read here: text_files.py reads text files, and token_lists.py reads lists of words from Python.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from w2vtrain.text.phrase_table import PhraseTable

MAX_TOKEN_BYTES = 1000
"""Longer tokens are skipped and counted, not truncated."""
SAMPLE_BYTES = 1 << 20
"""Bytes at the beginning of the text that each pass keeps."""


@dataclass(frozen=True)
class File:
    """An input: its path, or `-`, and its size in bytes when it was listed (None unless it is a regular file).

    An input may be a range of an uncompressed regular file: `size` bytes from byte `first` on, which is 0 or follows a
    newline. last: whether the range ends where the file ended when it was listed. listed: the size of the whole
    file, its time of modification in nanoseconds, and the checksum of its first and last bytes then.
    """

    path: str
    size: int | None
    first: int = 0
    last: bool = True
    listed: tuple[int, int, int] | None = None

    @property
    def name(self) -> str:
        """The name in messages."""
        return "standard input" if self.path == "-" else self.path


class Blocks(Iterator[bytes]):
    """Base class of one pass over a source: an iterator over blocks of bytes, whose counters grow during the pass.

    A block holds tokens that are separated by ASCII white space; a newline ends a sentence, and the last block ends
    with one. No block ends inside a token of up to MAX_TOKEN_BYTES; longer tokens are skipped and counted. Where blocks
    end affects no result. Several threads take blocks in turn: the caller holds a lock.
    """

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self.bytes_read = 0  # on disk, before decompression; for a source that is not on disk, the same as text_bytes
        self.text_bytes = 0  # after decompression
        self.invalid = 0  # byte sequences that are not UTF-8, as far as they are replaced here
        self.nul = 0  # NUL bytes that are replaced by white space
        self.grown = 0  # files that are longer than when they were listed
        self.sample = bytearray()  # the beginning of the text, at most SAMPLE_BYTES

    def __next__(self) -> bytes:
        """Return the next block. Raise DataError if the data are not text, InputMissing if reading fails."""
        return next(self._blocks)

    def close(self) -> None:
        """End the pass early: nothing more will be read."""

    def note(self, text: bytes) -> None:
        """Count decompressed text, and keep the beginning of all of it."""
        self.text_bytes += len(text)
        self.sample += text[: SAMPLE_BYTES - len(self.sample)]


class BlocksInMemory(Blocks):
    """One pass over a source that is not on disk."""

    def __next__(self) -> bytes:
        block = super().__next__()
        self.note(block)
        self.bytes_read = self.text_bytes
        return block


@runtime_checkable
class Source(Protocol):
    """A source of words, such as `Corpus` (text files) and `Sentences` (lists of words).

    files: the files that it reads, if any; name: its name in messages; size: the bytes on disk that a pass reads, or
    None if that is unknown; errors: how to treat tokens that are not UTF-8, as in `bytes.decode`; phrases: the phrases
    to join after counting, or None.

    Words and tokens differ where a word cannot be separated by white space, as "new york": a source that has such words
    writes them as other bytes. `tokens_of` and `words_of` translate.
    """

    phrases: "PhraseTable | None"

    @property
    def files(self) -> Sequence[File]: ...  # noqa: D102
    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def size(self) -> int | None: ...  # noqa: D102
    @property
    def errors(self) -> str: ...  # noqa: D102

    def read(self) -> Blocks:
        """Start a pass. A source may support one pass only."""

    def tokens_of(self, words: Sequence[str]) -> list[bytes]:
        """Return the token of each word, as blocks contain it. Raise DataError for a word that they cannot contain."""

    def words_of(self, tokens: list[bytes]) -> list[bytes]:
        """Return the word of each token in UTF-8, in which surrogates are encoded as other characters are."""


@dataclass(frozen=True)
class Frame:
    """A data frame, a table, a dataset or a column of one, as a caller in Python passes it."""

    data: Any


class HasSource:
    """Base class of sentences that know how to be read faster than by iterating over them, as `LineSentence` does.

    The words and sentences are the same either way.
    """

    def as_source(self, max_sentence: int) -> Source:
        """Return a source. max_sentence: the maximum number of tokens per sentence with which it will be encoded."""
        raise NotImplementedError
