"""The vocabulary: which words are kept, in which order, and the text file that stores them.

Nothing here reads a corpus; callers provide the words and their counts.
"""

from array import array
from bisect import bisect
from codecs import BOM_UTF8
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from w2vtrain.errors import DataError, spelled
from w2vtrain.formats.safetensors import encode_words
from w2vtrain.system.compression import packed_write
from w2vtrain.system.files import Claim
from w2vtrain.system.reading import read_lines
from w2vtrain.text.segmentation import unsegmented
from w2vtrain.text.source import MAX_TOKEN_BYTES

Int64 = npt.NDArray[np.int64]
MAX_COUNT = 2**63 - 1
MAX_TOTAL = 2**62
"""Maximum sum of the counts of a vocabulary. The sum of two still fits 64 bits."""
MAX_LINE_BYTES = 3 * MAX_TOKEN_BYTES + 100
"""Longest line of a vocabulary file. Replacing bytes that are not UTF-8 can triple a word's length."""
SENTENCE_END = "</s>"
"""The word that represents the end of a sentence, as in word2vec.c."""
NO_SENTENCES = [SENTENCE_END.encode(), b"0"]
"""The fields of the first line that word2vec.c writes for a text without newlines."""


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words in descending order of count; ties are ordered by their UTF-8 bytes. A word's index is its id.

    All other tables rely on this order. words: V strings; counts (V,) int64.
    """

    words: list[str]
    counts: Int64

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def index(self) -> dict[str, int]:
        """The id of every word."""
        return {word: i for i, word in enumerate(self.words)}

    def with_sentence_end(self, sentences: int) -> tuple["Vocabulary", int]:
        """Return this vocabulary with `</s>` added, and the id of `</s>`, which it must not contain already.

        sentences: the count of `</s>`. It comes before the words of the same count that follow it in byte order.
        """
        first, last = (int(np.count_nonzero(kept)) for kept in (self.counts > sentences, self.counts >= sentences))
        same_count = [word.encode("utf-8", "surrogatepass") for word in self.words[first:last]]
        place = first + bisect(same_count, SENTENCE_END.encode())
        words = [*self.words[:place], SENTENCE_END, *self.words[place:]]
        return Vocabulary(words, np.insert(self.counts, place, sentences)), place

    def cut(self, min_count: int, max_vocab: int | None) -> "Vocabulary":
        """Return the words that occur at least `min_count` times, and of these only the `max_vocab` most frequent.

        Raise DataError if fewer than 2 words are left.
        """
        kept = int((self.counts >= min_count).sum())
        kept = kept if max_vocab is None else min(kept, max_vocab)
        if kept < 2:
            raise DataError(
                f"min_count {min_count:,} keeps {kept} of the vocabulary's {len(self):,} words;"
                f" training needs at least 2 (the highest count is {self.counts[0]:,})"
            )
        return Vocabulary(self.words[:kept], self.counts[:kept])

    def save(self, path: str | Path, force: bool = False, claim: Claim | None = None, where: str | None = None) -> None:
        """Write a line "word count" for each word, as word2vec's -save-vocab does.

        path: `-` is standard output, and a suffix such as .gz compresses; force: overwrite an existing file; claim: see
        `files.atomic_write`. Raise OutputError if the file exists (unless `force`) or cannot be created, WriteError if
        writing fails, and DataError, starting with `where` (by default `path`), for a word that the file cannot store,
        such as one with white space.
        """
        text = self.text(where or path)
        with packed_write(path, force, claim=claim) as file:
            file.write(text)

    def text(self, where: str | Path = "the vocabulary") -> bytes:
        """Return the lines that `save` writes. Raise DataError, starting with `where`, for a word that does not fit."""
        try:
            encode_words(self.words, where)
        except DataError as error:
            if "" in self.words:
                raise DataError(f"{where}: an empty string is no word: leave it out of each list of words") from None
            raise DataError(
                f"{error}; replace its spaces in the text, as in new_york, or train in Python, where models can"
                " have such words"
            ) from None
        text = "".join(f"{word} {count}\n" for word, count in zip(self.words, self.counts.tolist(), strict=True))
        return BOM_UTF8 * text.startswith("\ufeff") + text.encode()  # `read_lines` drops one byte order mark

    def text_size(self) -> int:
        """Return the bytes that `text` has, without building it, which takes a second for a million words."""
        digits = 1 + np.searchsorted(10 ** np.arange(1, 19), self.counts, side="right")
        letters = len("".join(self.words).encode("utf-8", "surrogatepass"))
        mark = len(BOM_UTF8) * "".join(self.words[:1]).startswith("\ufeff")
        return mark + letters + int(digits.sum()) + 2 * len(self.words)  # a space and a newline

    @classmethod
    def of(cls, words: Sequence[str], counts: npt.ArrayLike, where: str | Path) -> "Vocabulary":
        """Return the vocabulary of words in any order. Raise DataError, starting with `where`, if it would not be one.

        counts (V,): whole numbers of at least 1; the words must be distinct, and at least 2.
        """
        array = np.asarray(counts)
        if array.shape != (len(words),) or array.dtype.kind not in "iu":
            raise DataError(
                f"{where}: expected a whole number for each of {len(words):,} words, got counts of type {array.dtype}"
                f" and shape {list(array.shape)}"
            )
        if len(set(words)) < len(words):
            twice = next(word for word, after in pairwise(sorted(words)) if word == after)
            raise DataError(f"{where}: the word {twice!r} occurs twice")
        letters = [word.encode("utf-8", "surrogatepass") for word in words]
        return cls._ordered(letters, array.astype(np.int64), where)

    @classmethod
    def _ordered(cls, letters: Sequence[bytes], counts: Int64, where: str | Path) -> "Vocabulary":
        """Return the vocabulary of distinct words, as UTF-8, in any order. Raise DataError as `of` does."""
        check_counts(counts, where)
        if len(letters) < 2:
            raise DataError(f"{where}: {len(letters)} words, but a vocabulary needs at least 2 distinct words")
        order = select(counts, lambda rows: [letters[i] for i in rows.tolist()])
        return cls([letters[i].decode("utf-8", "surrogatepass") for i in order.tolist()], counts[order])

    @classmethod
    def load(cls, path: str | Path) -> "Vocabulary":
        """Read lines "word count" in any order, plain or compressed. word2vec's `</s>` is treated as any other word,
        except that a first line `</s> 0`, which word2vec.c writes for a text without newlines, is skipped. Blank
        lines at the end are left out.

        A last line without a newline is read with a warning, since the file may be cut off.

        Raise InputMissing, or DataError with file and line if a line is not a word and a count of at least 1, if it
        has more than MAX_LINE_BYTES bytes, if a word is not UTF-8 or occurs twice, or if there are fewer than 2 words.
        """
        lines: dict[bytes, int] = {}
        read = array("q")
        blank = 0
        for line, text in read_lines(path, MAX_LINE_BYTES, number_ends=True):
            if line == 1 and text.split() == NO_SENTENCES:
                continue
            if text.isspace():
                blank = blank or line  # which may be only at the end, as in files of vectors
                continue
            word, count = _entry(b"" if blank else text.removesuffix(b"\n"), f"{path}:{blank or line}")
            if lines.setdefault(word, line) != line:
                raise DataError(f"{path}:{line}: the word {word.decode()!r} occurs twice, first on line {lines[word]}")
            read.append(count)
        return cls._ordered(list(lines), np.array(read, np.int64), path)


def check_counts(counts: Int64, where: str | Path) -> None:
    """Raise DataError, starting with `where`, if counts (V,) are less than 1 or their sum is more than MAX_TOTAL."""
    if counts.min(initial=1) < 1:
        raise DataError(f"{where}: the count of word {int(counts.argmin())} is {counts.min()}; expected 1 or more")
    if sum(counts.tolist()) > MAX_TOTAL:
        raise DataError(f"{where}: the counts of all words add up to more than 2^62, so they cannot be of a text")


def _entry(line: bytes, where: str) -> tuple[bytes, int]:
    """Return the word and the count on a line of a vocabulary file."""
    fields = line.split()  # at ASCII white space, as the tokenizer does
    if len(fields) != 2 or not fields[1].isdigit() or b"\0" in line:
        raise DataError(f"{where}: expected a word, a space and a count, got {line[:80]!r}")
    word, digits = fields
    count = int(digits.lstrip(b"0")[:20] or b"0")  # Python refuses numbers of thousands of digits
    if not 0 < count <= MAX_COUNT:
        raise DataError(f"{where}: a word's count must be at least 1 and less than 2^63, got {digits[:30].decode()}")
    try:
        word.decode()
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: not UTF-8 at byte {error.start} of the line: save the file as UTF-8") from error
    return word, count


def by_count(words: Sequence[str] | Sequence[bytes], counts: Int64) -> Int64:
    """Return the order (V,) of words in a vocabulary: by falling count, then by their UTF-8 bytes.

    Strings have the same order as their bytes, because UTF-8 keeps that of code points.
    """
    by_word = np.array(sorted(range(len(words)), key=words.__getitem__), np.int64)
    return by_word[np.argsort(-counts[by_word], kind="stable")]


def select(
    counts: Int64, words: Callable[[Int64], list[bytes]], min_count: int = 1, max_vocab: int | None = None
) -> Int64:
    """Return the numbers (V,) int64 of the words to keep, in the order of a vocabulary.

    These are the words that occur at least `min_count` times, limited to the first `max_vocab`. counts: (n,) int64;
    words(numbers): returns the UTF-8 bytes of these words; called for the words kept and those that tie with the last.
    """
    kept = np.flatnonzero(counts >= max(1, min_count))
    if max_vocab is not None and 0 < max_vocab < kept.size:
        lowest_count = np.partition(counts[kept], kept.size - max_vocab)[kept.size - max_vocab]
        kept = kept[counts[kept] >= lowest_count]
    return kept[by_count(words(kept), counts[kept])][:max_vocab]


def no_tokens(name: str, size: int, overlong: int) -> DataError:
    """Return the error for a corpus without tokens. size: of its text in bytes; overlong: tokens that were skipped."""
    if overlong:
        return DataError(
            f"no tokens in {name} ({size} bytes) but {overlong:,} of more than {MAX_TOKEN_BYTES:,} bytes, which are"
            " skipped: separate the words by white space"
        )
    again = "; pipe the text into the command" if name == "standard input" else ""
    return DataError(f"no tokens in {name} ({size} bytes): the text is empty or only white space{again}")


def require_words(
    counts: Int64, kept: int, min_count: int, name: str, size: int, overlong: int, sample: bytes = b""
) -> None:  # fmt: skip
    """Raise DataError if too few words are kept. The message suggests a remedy if there is one.

    counts (n,) int64: the counts of all words of the corpus; kept: the number of words kept; name: the name of the
    corpus; size: the size of its text in bytes; overlong: the number of tokens that were skipped; sample: the beginning
    of the text.
    """
    if kept < 2 and (scripts := unsegmented(sample)):
        raise DataError(f"{name} looks like {scripts[0]}")
    falling = np.sort(counts[counts > 0])[::-1]
    if falling.size == 0:
        raise no_tokens(name, size, overlong)
    if falling.size == 1:
        raise DataError(
            f"only one word in {name}, {falling[0]} times; training needs at least 2 distinct words,"
            " separated by white space"
        )
    if kept < 2 and falling[1] < min_count:
        lower = int(falling[1])
        raise DataError(
            f"{'only one word' if kept else 'no word'} in {name} occurs at least {min_count} times"
            f" (the highest count is {falling[0]}); training needs at least 2 distinct words:"
            f" {spelled('min_count', lower)} would keep {np.sum(falling >= lower)}"
        )
    if kept < 2:
        raise DataError(
            f"{spelled('max_vocab')} keeps only {kept} of the words in {name}; training needs at least 2 distinct words"
        )
