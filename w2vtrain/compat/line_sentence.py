"""gensim's readers of text files: LineSentence, PathLineSentences and Text8Corpus.

They do not train. Training from one of them reads its files as all text files are read, without a Python list per
sentence, unless an option of the reader prevents it; the result is the same.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any

from w2vtrain.errors import InputMissing, TokenError, UsageError, shown
from w2vtrain.text.sentences import Sentences
from w2vtrain.text.source import Source
from w2vtrain.text.text_files import Corpus, Reader

MAX_SENTENCE_LENGTH = 10_000
"""gensim's default of max_sentence_length, in words."""


class NotFound(InputMissing, ValueError):
    """Raised by PathLineSentences for a path that does not exist. It is a ValueError, as in gensim. Exit code 66."""


class LineSentence:
    """Iterate over a text file that has one sentence per line, in which white space separates the words.

    Parameters
    ----------
    source : str, path or file object
        A UTF-8 text file, which may be compressed with gzip, bzip2, xz or zstd. A file object must have ``seek``, and
        yield lines of str or bytes.
    max_sentence_length : int, default 10000
        Longer lines are cut into sentences of this many words.
    limit : int, optional
        Read only this many lines.

    Raises
    ------
    W2VError
        During iteration: InputMissing if the file cannot be read, DataError if it is not UTF-8 or has NUL bytes.

    Examples
    --------
    >>> import w2vtrain
    >>> sentences = w2vtrain.LineSentence("data/simplewiki.txt", limit=2)
    >>> len(list(sentences))
    2

    """

    def __init__(
        self,
        source: str | PathLike[str] | IO[Any],
        max_sentence_length: int = MAX_SENTENCE_LENGTH,
        limit: int | None = None,
    ) -> None:
        if not isinstance(source, str | PathLike) and not hasattr(source, "seek"):
            raise TokenError(f"expected the path of a text file or a file object, got {shown(source)}")
        self.source, self.max_sentence_length, self.limit = source, max_sentence_length, limit
        _check(max_sentence_length, limit)

    def __iter__(self) -> Iterator[list[str]]:
        if isinstance(self.source, str | PathLike):
            return _sentences(_pieces(_files([self.source]).read()), self.max_sentence_length, self.limit)
        self.source.seek(0)
        return _sentences(_lines(self.source), self.max_sentence_length, self.limit)

    def as_source(self, max_sentence: int = MAX_SENTENCE_LENGTH) -> Source:
        """Return what training reads: the file itself if possible, otherwise the sentences of this object.

        max_sentence: the maximum number of words per sentence in training.
        """
        if isinstance(self.source, str | PathLike):
            return _source(self, [self.source], max_sentence)
        return Sentences(self)


class PathLineSentences:
    """Iterate over all files in a directory as `LineSentence` does, in the order of their names.

    Subdirectories are not read.

    Parameters
    ----------
    source : str or path
        The directory, or one file.
    max_sentence_length : int, default 10000
        Longer lines are cut into sentences of this many words.
    limit : int, optional
        Read only this many lines of each file.

    Attributes
    ----------
    input_files : list of str
        The paths of the files.

    Raises
    ------
    W2VError
        InputMissing if there is no file; if `source` does not exist, the error is also a ValueError. The errors of
        LineSentence during iteration.

    Examples
    --------
    >>> import w2vtrain
    >>> sentences = w2vtrain.PathLineSentences("data/simplewiki.txt", limit=2)
    >>> len(list(sentences))
    2

    """

    def __init__(
        self, source: str | PathLike[str], max_sentence_length: int = MAX_SENTENCE_LENGTH, limit: int | None = None
    ) -> None:
        self.source, self.max_sentence_length, self.limit = source, max_sentence_length, limit
        _check(max_sentence_length, limit)
        path = Path(source)
        if not path.exists():
            raise NotFound(f"{fspath(source)}: is neither a file nor a directory")
        paths = sorted(file for file in path.iterdir() if not file.is_dir()) if path.is_dir() else [path]
        self.input_files = [str(file) for file in paths]
        if not paths:
            raise InputMissing(f"{fspath(source)}: no files in this directory")

    def __iter__(self) -> Iterator[list[str]]:
        readers = (LineSentence(path, self.max_sentence_length, self.limit) for path in self.input_files)
        return chain.from_iterable(readers)

    def as_source(self, max_sentence: int = MAX_SENTENCE_LENGTH) -> Source:
        """Return what training reads: the files themselves if possible, otherwise the sentences of this object.

        max_sentence: the maximum number of words per sentence in training.
        """
        return _source(self, self.input_files, max_sentence)


class Text8Corpus:
    """Iterate over a text file without sentences, such as text8, in sentences of equal length.

    Newlines separate words as other white space does.

    Parameters
    ----------
    fname : str or path
        A UTF-8 text file, which may be compressed.
    max_sentence_length : int, default 10000
        The number of words per sentence; only the last sentence may be shorter.

    Raises
    ------
    W2VError
        During iteration, as for LineSentence.

    Examples
    --------
    >>> import w2vtrain
    >>> sentences = w2vtrain.Text8Corpus("data/simplewiki.txt", max_sentence_length=100)
    >>> len(next(iter(sentences)))
    100

    """

    def __init__(self, fname: str | PathLike[str], max_sentence_length: int = MAX_SENTENCE_LENGTH) -> None:
        self.fname, self.max_sentence_length = fname, max_sentence_length
        _check(max_sentence_length, None)

    def __iter__(self) -> Iterator[list[str]]:
        return _sentences(_pieces(_files([self.fname], _Unbroken).read()), self.max_sentence_length)

    def as_source(self, max_sentence: int = MAX_SENTENCE_LENGTH) -> Source:
        """Return what training reads: the file itself if possible, otherwise the sentences of this object.

        max_sentence: the maximum number of words per sentence in training.
        """
        return _source(self, [self.fname], max_sentence, _Unbroken)


class _Unbroken(Corpus):
    """Text files as a single line."""

    def read(self) -> Reader:
        """Start a pass over the text."""
        return _UnbrokenReader(self)


class _UnbrokenReader(Reader):
    """One pass over a corpus in which newlines are spaces, up to a newline at the end."""

    _ended = False

    def __next__(self) -> bytes:
        try:
            return super().__next__().replace(b"\n", b" ")
        except StopIteration:
            if self._ended:
                raise
            self._ended = True
            return b"\n"


def _files(paths: Sequence[str | PathLike[str]], kind: type[Corpus] = Corpus) -> Corpus:
    """Return text files, to be split into words as str.split does. As in gensim, they must be UTF-8."""
    return kind([fspath(path) for path in paths], "unicode", errors="strict")


def _source(
    sentences: "LineSentence | PathLineSentences | Text8Corpus",
    paths: Sequence[str | PathLike[str]],
    max_sentence: int,
    kind: type[Corpus] = Corpus,
) -> Source:
    """Return the files, if training cuts the same sentences from their lines; otherwise the sentences."""
    whole = getattr(sentences, "limit", None) is None and sentences.max_sentence_length % max_sentence == 0
    ours = (LineSentence.__iter__, PathLineSentences.__iter__, Text8Corpus.__iter__)
    whole = whole and type(sentences).__iter__ in ours  # a subclass may change the words
    return _files(paths, kind) if whole else Sentences(sentences, _files(paths, kind).name)


_Piece = tuple[str, bool]
"""Part of a line, which does not end inside a word, and whether the line ends with it."""


def _pieces(blocks: Iterable[bytes]) -> Iterator[_Piece]:
    """Yield the lines of blocks of text in pieces."""
    for block in blocks:
        *lines, rest = block.decode().split("\n")
        yield from ((line, True) for line in lines)
        yield rest, False


def _lines(lines: Iterable[str | bytes]) -> Iterator[_Piece]:
    """Yield the lines of a file object."""
    for line in lines:
        yield line.decode() if isinstance(line, bytes) else line, True


def _sentences(pieces: Iterable[_Piece], longest: int, limit: int | None = None) -> Iterator[list[str]]:
    """Yield the words of each line, in sentences of at most `longest` words, up to `limit` lines."""
    words: list[str] = []
    lines = 0
    for text, ended in pieces:
        if lines == limit:
            return
        words += text.split()
        ready = len(words) if ended else len(words) // longest * longest
        for start in range(0, ready, longest):
            yield words[start : min(start + longest, ready)]
        words = words[ready:]
        lines += ended


def _check(length: int, limit: int | None) -> None:
    """Raise UsageError for a maximum length or a limit that no file can have."""
    if length < 1:
        raise UsageError(f"max_sentence_length: expected at least 1, got {shown(length)}")
    if limit is not None and limit < 0:
        raise UsageError(f"limit: expected at least 0 lines, or None for all, got {shown(limit)}")
