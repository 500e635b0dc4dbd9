"""Read sentences from Python, each a list of words, as a stream of blocks of bytes.

It reads no files and counts nothing.

Words are joined by spaces and sentences end with newlines, so that the tokenizer of text files splits them again on all
threads. Whole batches are checked at once for words that it would split, merge or skip. Only sentences with such words
are escaped, in a way that `Sentences.words_of` reverses: a space becomes byte 1F (unit separator); byte 10 (data link
escape) is followed by the four hexadecimal digits of one of the other characters in ESCAPES, and alone it is the empty
word.
"""

import queue
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from w2vtrain.errors import DataError, NoSentences, TokenError, shown
from w2vtrain.text.source import BlocksInMemory, File
from w2vtrain.text.text_files import BLOCK_BYTES
from w2vtrain.text.tokenizers import blocks

if TYPE_CHECKING:
    from w2vtrain.text.phrase_table import PhraseTable

TokenLists = Iterable[Iterable[str]]
"""Sentences, each of which is an iterable of words."""

ESCAPE, SPACE = "\x10", "\x1f"
SURROGATES = range(0xD800, 0xE000)
ESCAPES: dict[int, str] = {
    code: f"{ESCAPE}{code:04x}" for code in (9, 10, 11, 12, 13, ord(ESCAPE), ord(SPACE), *SURROGATES)
} | {32: SPACE}
"""For str.translate: what to write for each character that must be escaped."""
WAKE_SECONDS = 0.2  # after which a waiting thread looks whether it has to end
REMEMBERED_WORDS = 1 << 16  # whose escaped form is remembered
BATCH_CHARACTERS, BATCH_SENTENCES = 1 << 16, 1 << 12  # a batch ends when it has this many
NULLS = ("None", "nan", "NaT", "<NA>")
"""How the nulls of Python, pandas and Polars are printed."""
TINY = 1 << 12
"""Words of a corpus that is read and trained on so quickly that no thread is started for it."""

_ODD = re.compile("[\x10\x1f\ud800-\udfff]")
_MARKS = (b"\t", b"\v", b"\f", b"\r", ESCAPE.encode(), SPACE.encode(), b"  ", b" \n", b"\n ")
_ESCAPED = re.compile(rb"\x10([0-9a-f]{4})")


class Sentences:
    """The sentences of an iterable, for `encoded.read`.

    sentences: lists, tuples or other iterables of words (str). One pass reads them once, in a thread of its own; an
    exception that the iterable raises reaches the caller unchanged. One sentence at a time must fit into memory.
    block_bytes: the approximate size of a block, which does not affect any result.

    Words may contain anything, also white space, NUL and unpaired surrogates, and may be empty. Words of more than
    MAX_TOKEN_BYTES are skipped and counted, as in files; each escaped character except the space counts as 5
    bytes.

    Words that are not strings are refused, although gensim accepts them: no file format could store them, a vocabulary
    sorts its words as text, and a query for a number could mean a word or its id.

    Raise TokenError if the iterable is a string or no iterable. A pass raises it for a sentence that is not a list of
    words, and NoSentences if there are no sentences.
    """

    files: tuple[File, ...] = ()
    size: int | None = None
    errors = "replace"  # without effect, because everything is valid UTF-8
    phrases: "PhraseTable | None" = None

    def __init__(self, sentences: TokenLists, name: str = "the corpus", block_bytes: int = BLOCK_BYTES) -> None:
        if not _is_iterable(sentences):
            raise TokenError(f"expected an iterable of sentences, each of them a list of words, got {shown(sentences)}")
        self.sentences, self.name, self.block_bytes = sentences, name, max(1, block_bytes)
        self.is_tiny = is_tiny(sentences)

    def read(self) -> "JoinedSentences":
        """Start a pass. If the iterable is an iterator, such as a generator, there can be only one."""
        return JoinedSentences(self.sentences, self.block_bytes, not self.is_tiny)

    def tokens_of(self, words: Sequence[str]) -> list[bytes]:
        """Return the words as blocks contain them: escaped if necessary, in UTF-8."""
        return [escaped(word).encode() for word in words]

    def words_of(self, tokens: list[bytes]) -> list[bytes]:
        """Return the words of these tokens in UTF-8, in which surrogates are encoded as other characters are."""
        together = b"\n".join(tokens)
        if ESCAPE.encode() not in together and SPACE.encode() not in together:
            return tokens
        return [unescaped(token) for token in tokens]


class OneThread(Iterator[bytes]):
    """The blocks of an iterator, which only one thread runs, whichever threads take the blocks.

    Objects that belong to a thread, such as cursors of sqlite3, work in a user's iterator. An exception ends it, and is
    raised where the next block is taken.
    """

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks, self._ended = blocks, threading.Event()
        self._queue: queue.Queue[bytes | BaseException] = queue.Queue(1)
        self._thread = threading.Thread(target=self._run, name="w2vtrain sentences", daemon=True)

    def __next__(self) -> bytes:
        if not self._thread.ident:
            self._thread.start()
        while not self._ended.is_set():
            try:
                block = self._queue.get(timeout=WAKE_SECONDS)
            except queue.Empty:
                continue
            if isinstance(block, BaseException):
                self.close()
                raise block
            return block
        raise StopIteration

    def close(self) -> None:
        """End the thread after the block that it is working on."""
        self._ended.set()

    def _run(self) -> None:
        try:
            for block in self._blocks:
                self._put(block)
                if self._ended.is_set():
                    return
            self._put(StopIteration())
        except BaseException as error:
            self._put(error)

    def _put(self, block: bytes | BaseException) -> None:
        while not self._ended.is_set():
            with suppress(queue.Full):
                self._queue.put(block, timeout=WAKE_SECONDS)
                return


class JoinedSentences(BlocksInMemory):
    """One pass over sentences, which raises what the iterable raises, TokenError, or NoSentences."""

    def __init__(self, sentences: TokenLists, block_bytes: int, has_thread: bool) -> None:
        self._escape = lru_cache(REMEMBERED_WORDS)(escaped)  # of this pass, because words may be long
        pieces = self._joined(sentences, min(block_bytes, BATCH_CHARACTERS))
        joined = blocks(pieces, block_bytes)
        self._thread = OneThread(joined) if has_thread else None
        super().__init__(self._thread or joined)

    def close(self) -> None:
        """End the thread that iterates, as soon as the iterable returns from its work on a sentence."""
        if self._thread:
            self._thread.close()

    def _joined(self, sentences: TokenLists, size: int) -> Iterator[bytes]:
        """Yield batches of sentences of at least `size` characters as bytes. Only one batch of words is in memory."""
        batch: list[list[str]] = []
        lines: list[str] = []
        characters, index = 0, -1
        for index, sentence in enumerate(sentences):
            words = _words(sentence, index)
            try:
                line = " ".join(words)
            except TypeError:
                raise _not_a_word(words, index) from None
            batch.append(words)
            lines.append(line)
            characters += len(line) + 1
            if characters >= size or len(batch) == BATCH_SENTENCES:
                yield encoded(batch, lines, self._escape)
                batch, lines, characters = [], [], 0
        if index < 0:
            raise NoSentences(
                "there are no sentences: the iterable is empty, or was read before and does not start over;"
                " pass a list, or an object whose __iter__ starts from the beginning"
            )
        if lines:
            yield encoded(batch, lines, self._escape)


def is_tiny(sentences: object) -> bool:
    """Return whether sentences are lists in a list, and have at most TINY words."""
    if not isinstance(sentences, list | tuple) or len(sentences) > TINY:
        return False
    return all(isinstance(words, list | tuple) for words in sentences) and sum(map(len, sentences)) <= TINY


def escaped(word: str) -> str:
    """Return a word without white space and unpaired surrogates, which `unescaped` reverses after encoding it."""
    return word.translate(ESCAPES) or ESCAPE


def unescaped(token: bytes) -> bytes:
    """Return the word of a token in UTF-8, in which surrogates are encoded as other characters are."""
    if token == ESCAPE.encode():
        return b""
    return _ESCAPED.sub(_character, token.replace(SPACE.encode(), b" "))


def _character(escape: re.Match[bytes]) -> bytes:
    return chr(int(escape[1], 16)).encode("utf-8", "surrogatepass")


def _is_iterable(value: object) -> bool:
    """Return whether a value can be iterated over and is no string, without starting to iterate."""
    iterable = hasattr(type(value), "__iter__") or hasattr(type(value), "__getitem__")
    return iterable and not isinstance(value, str | bytes | np.generic)  # NumPy's numbers have __getitem__


def is_frame(sentence: object) -> bool:
    """Return whether a sentence is a data frame, as pandas reads a file in parts."""
    return hasattr(type(sentence), "columns")


def _words(sentence: Iterable[str], index: int) -> list[str]:
    """Return the words of a sentence as a new list: the iterable may change its own after yielding it."""
    if isinstance(sentence, list | tuple):
        return list(sentence)
    is_table = is_frame(sentence)
    if isinstance(sentence, Mapping) or is_table or not _is_iterable(sentence):
        text = "row['text']" if isinstance(sentence, Mapping) else "text"
        words = f"{text}.split()" if not is_table else "(text.split() for part in parts for text in part['text'])"
        raise TokenError(
            f"sentences[{index}] is {shown(sentence)}: each sentence must be a list of words, such as"
            f" ['first', 'sentence'], or {words}"
        )
    return list(sentence)


def _not_a_word(words: list[str], index: int) -> TokenError:
    place, word = next((i, word) for i, word in enumerate(words) if not isinstance(word, str))
    remedy = "[[str(word) for word in sentence] for sentence in sentences], or decode() bytes"
    if isinstance(word, list):
        remedy = "[sentence for document in documents for sentence in document]"
    if isinstance(word, tuple):
        remedy = "[[word for word, tag in sentence] for sentence in sentences], or other parts of these tuples"
    return TokenError(
        f"sentences[{index}][{place}] is {shown(word)} ({type(word).__name__}): words must be str: pass {remedy}"
    )


def text_of(value: object) -> str:
    """Return a value as text. A float that equals an integer is that integer, as it is as a key of a dict.

    pandas makes a column of integers one of floats if a value is missing, and bytes of a binary column of Parquet.
    Raise DataError if these are not UTF-8.
    """
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise DataError(f"{shown(value)} is not UTF-8") from error
    return str(int(value) if isinstance(value, float | np.floating) and value.is_integer() else value)


def encoded(
    sentences: list[list[str]], lines: list[str] | None = None, escape: Callable[[str], str] = escaped
) -> bytes:
    """Return sentences as bytes.

    lines: the words of each sentence, joined by spaces, if the caller has them; escape: does what `escaped` does.
    """
    lines = [" ".join(words) for words in sentences] if lines is None else lines
    try:
        data = "\n".join(["", *lines, ""]).encode()
        sizes = list(map(len, sentences))
        plain = is_plain(data, (sum(sizes), len(sizes)), (sizes.count(0), lines.count("")))
    except UnicodeEncodeError:
        plain = False
    if not plain:
        for i, words in enumerate(sentences):
            if lines[i].split() != words or _ODD.search(lines[i]):
                lines[i] = " ".join(map(escape, words))
        data = "\n".join(["", *lines, ""]).encode()
    return data[1:]


def is_plain(data: bytes, totals: tuple[int, int], empty: tuple[int, int]) -> bool:
    """Return whether the tokenizer will split `data`, which begins with a newline, into the words of all sentences.

    totals: the numbers of words and of sentences; empty: how many sentences have no words, and how many lines are
    empty. If there are as many spaces and newlines as separators, no word contains one. Then two adjacent ones mean
    that there is an empty word, except that an empty sentence is an empty line.
    """
    words, sentences = totals
    return (
        data.count(b" ") == words - sentences + empty[0]
        and data.count(b"\n") == sentences + 1
        and empty[1] == empty[0]
        and not any(mark in data for mark in _MARKS)
    )
