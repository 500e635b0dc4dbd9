"""gensim's readers of text files: LineSentence, PathLineSentences and Text8Corpus.

They do not train. Training from one of them reads its files as all text files are read, without a Python list per
sentence, unless an option of the reader prevents it; the result is the same.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any

from w2vtrain.errors import InputMissing, MissingFile, TokenError, UsageError, shown
from w2vtrain.text.source import HasSource, Source
from w2vtrain.text.text_files import Corpus, Reader
from w2vtrain.text.token_lists import Sentences

MAX_SENTENCE_LENGTH = 10_000
"""gensim's default of max_sentence_length, in words."""


class NotFound(InputMissing, ValueError):
    """Raised by PathLineSentences for a path that does not exist. It is a ValueError, as in gensim. Exit code 66."""


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


class _TextFiles(HasSource):
    """Base class of the readers, whose files training reads without iterating over their sentences, if it can."""

    _kind: type[Corpus] = Corpus
    limit: int | None = None
    """Also of subclasses whose constructor does not call this one: gensim's Text8Corpus has no limit."""

    def __init__(self, max_sentence_length: int, limit: int | None = None) -> None:
        """Set the maximum length and the limit. Raise UsageError for those that no file can have."""
        self.max_sentence_length, self.limit = max_sentence_length, limit
        if max_sentence_length < 1:
            raise UsageError(f"max_sentence_length: expected at least 1, got {shown(max_sentence_length)}")
        if limit is not None and limit < 0:
            raise UsageError(f"limit: expected at least 0 lines, or None for all, got {shown(limit)}")

    def _paths(self) -> Sequence[Any]:
        raise NotImplementedError

    def _files(self) -> Corpus:
        """Return the files, to be split into words as str.split does. As in gensim, they must be UTF-8."""
        try:
            return self._kind([fspath(path) for path in self._paths()], "unicode", errors="strict", options=False)
        except InputMissing as error:
            raise MissingFile(str(error)) from error

    def __iter__(self) -> Iterator[list[str]]:
        return _sentences(_pieces(self._files().read()), self.max_sentence_length, self.limit)

    def as_source(self, max_sentence: int = MAX_SENTENCE_LENGTH) -> Source:
        """Return what training reads: the files themselves if possible, otherwise the sentences of this object.

        max_sentence: the maximum number of words per sentence in training.
        """
        whole = self.limit is None and self.max_sentence_length % max_sentence == 0
        ours = (LineSentence.__iter__, PathLineSentences.__iter__, Text8Corpus.__iter__)
        files = self._files()
        return files if whole and type(self).__iter__ in ours else Sentences(self, files.name)  # a subclass may differ


class LineSentence(_TextFiles):
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
        During iteration: InputMissing, which is also a FileNotFoundError, if the file cannot be opened; DataError,
        which is also a ValueError, if it is not UTF-8; DataError if it has NUL bytes.

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
        super().__init__(max_sentence_length, limit)
        self.source = source

    def _paths(self) -> Sequence[Any]:
        return [self.source]

    def __iter__(self) -> Iterator[list[str]]:
        return _sentences(self._pieces(), self.max_sentence_length, self.limit)

    def _pieces(self) -> "Iterator[_Piece]":
        """Return the lines in pieces."""
        if isinstance(self.source, str | PathLike):
            return _pieces(self._files().read())
        self.source.seek(0)
        lines = (line.decode() if isinstance(line, bytes) else line for line in self.source)
        return ((line, True) for line in lines)

    def as_source(self, max_sentence: int = MAX_SENTENCE_LENGTH) -> Source:  # noqa: D102
        return super().as_source(max_sentence) if isinstance(self.source, str | PathLike) else Sentences(self)


class PathLineSentences(_TextFiles):
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
        super().__init__(max_sentence_length, limit)
        self.source = source
        path = Path(source)
        if not path.exists():
            raise NotFound(f"{fspath(source)}: is neither a file nor a directory")
        paths = sorted(file for file in path.iterdir() if not file.is_dir()) if path.is_dir() else [path]
        self.input_files = [str(file) for file in paths]
        if not paths:
            raise InputMissing(f"{fspath(source)}: no files in this directory")

    def _paths(self) -> Sequence[Any]:
        return self.input_files

    def __iter__(self) -> Iterator[list[str]]:
        readers = (LineSentence(path, self.max_sentence_length, self.limit) for path in self.input_files)
        return chain.from_iterable(readers)


class Text8Corpus(_TextFiles):
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

    _kind = _Unbroken

    def __init__(self, fname: str | PathLike[str], max_sentence_length: int = MAX_SENTENCE_LENGTH) -> None:
        super().__init__(max_sentence_length)
        self.fname = fname

    def _paths(self) -> Sequence[Any]:
        return [self.fname]


_Piece = tuple[str, bool]
"""Part of a line, which does not end inside a word, and whether the line ends with it."""


def _pieces(blocks: Iterable[bytes]) -> Iterator[_Piece]:
    """Yield the lines of blocks of text in pieces."""
    for block in blocks:
        *lines, rest = block.decode().split("\n")
        yield from ((line, True) for line in lines)
        yield rest, False


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
