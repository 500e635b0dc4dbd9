"""Read text from files, directories, globs and standard input as a stream of blocks of bytes, cut between words.

It does not count or split words. tokenizers.py rewrites the text, so that words are separated by ASCII white space.
"""

import codecs
import copy
import io
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from glob import glob, has_magic
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from w2vtrain.errors import DataError, InputMissing, MalformedFile, UsageError, reason, spelled
from w2vtrain.system.compression import MIN_HEAD_BYTES, decompressed, recognize
from w2vtrain.system.files import RUN_FOLDER, distinct, resolved, resume_command
from w2vtrain.system.foreign import HEAD_BYTES, refuse_foreign
from w2vtrain.system.reading import rewritten, why_unopened
from w2vtrain.system.spinner import SPINNER
from w2vtrain.text.source import SAMPLE_BYTES, Blocks, File
from w2vtrain.text.tokenizers import REWRITING, blocks, whole_words

if TYPE_CHECKING:
    from w2vtrain.text.phrase_table import PhraseTable

BLOCK_BYTES = 1 << 22  # bytes of text per block
READ_BYTES = 1 << 20  # requested from the operating system at a time
SEARCH_BYTES = 1 << 16  # read at a time in search of a newline
LISTED_BYTES = 1 << 12  # at the beginning and at the end of a file, which tell whether it was rewritten


class Corpus:
    """The text files that the sources name. Regular files are opened once at the start, to report missing ones early.

    sources: files, directories (all regular files below them in sorted order, except dot-files), glob patterns, or
    `-` for standard input. tokenizer: "whitespace" (ASCII white space separates words), "unicode" (so does all other
    white space, as in Python and gensim) or "simple" (lower case; words are maximal runs of Unicode letters and
    combining marks). errors: how to treat bytes that are not UTF-8, as in `bytes.decode`: "replace" turns them into
    U+FFFD, "ignore" drops them, "strict" raises DataError. allow_nul: treat NUL bytes as white space; otherwise they
    raise DataError. block_bytes: the approximate size of a block, which does not affect any result. options: whether
    messages may name options that read such files.

    Raise InputMissing if a source does not exist or cannot be read, and UsageError for no sources, `-` twice, or run
    folders.
    """

    phrases: "PhraseTable | None" = None
    column: str = ""
    """The column of tables, which leaves/tables reads; none for text."""

    def __init__(
        self, sources: Sequence[str], tokenizer: str = "whitespace", block_bytes: int = BLOCK_BYTES,
        errors: str = "replace", allow_nul: bool = False, options: bool = True,
    ) -> None:  # fmt: skip
        if not sources or list(sources).count("-") > 1:
            raise UsageError("name at least one text file, and - (standard input) at most once")
        self.tokenizer, self.errors, self.allow_nul, self.options = tokenizer, errors, allow_nul, options
        self.block_bytes = max(1, block_bytes)
        self.files = tuple(_file(path) for source in sources for path in _paths(source, self._below))

    @property
    def size(self) -> int | None:
        """The total size of all files in bytes on disk, or None if one of them is not a regular file."""
        sizes = [f.size for f in self.files if f.size is not None]
        return sum(sizes) if len(sizes) == len(self.files) else None

    @property
    def name(self) -> str:
        """The name of the corpus in messages: its first file, and the number of other files."""
        first = self.files[0].name
        return first if len(self.files) == 1 else f"{first} and {len(self.files) - 1} more"

    def _below(self, folder: str) -> list[str]:
        """Return all regular files below a folder in sorted order, except dot-files. Refuse run folders: `fit *` names
        that of the run before.
        """
        names = []
        for parent, files in _walk(folder):
            if RUN_FOLDER.issubset(files):
                raise UsageError(
                    f"{parent}: is a run folder, not text: leave it out; `{resume_command(parent)}` continues it"
                )
            names += [Path(parent, f) for f in files if not f.startswith(".")]
        for path in sorted(names):
            if path.is_symlink() and not path.exists():
                raise InputMissing(f"{path}: is a symbolic link to a file that does not exist")
        return [str(path) for path in sorted(names) if path.is_file()]

    def ends(self, file: File, places: Sequence[int]) -> set[int]:
        """Return where a file may be divided: the first beginning of a line at or after each place."""
        return line_ends(file, places)

    def part(self, files: Sequence[File], block_bytes: int) -> "Corpus":
        """Return a corpus of the given files or ranges of files, which is read in the same way."""
        corpus = copy.copy(self)
        corpus.files, corpus.block_bytes = tuple(files), max(1, block_bytes)
        return corpus

    def read(self) -> "Reader":
        """Start a pass over the text."""
        return Reader(self)

    def tokens_of(self, words: Sequence[str]) -> list[bytes]:
        """Return the words in UTF-8. Raise DataError for a word that is empty or contains ASCII white space."""
        tokens = [word.encode("utf-8", "surrogatepass") for word in words]
        if b"\n".join(tokens).split() != tokens:
            word = next(word for word, token in zip(words, tokens, strict=True) if token.split() != [token])
            raise DataError(
                f"the word {word[:60]!r} of the vocabulary cannot occur in text files, where white space separates"
                " words: pass lists of words instead"
            )
        return tokens

    def words_of(self, tokens: list[bytes]) -> list[bytes]:
        """Return the tokens, which are words."""
        return tokens


class Reader(Blocks):
    """One pass over a corpus, as an iterator over blocks of about `block_bytes` bytes of text.

    No block ends inside a token, unless the token has more than MAX_TOKEN_BYTES; the rest of it is then dropped. The
    text of every file ends with a newline. `invalid` is counted here only for the tokenizers `unicode` and `simple`,
    the bytes by which a file has `grown` are not read, and `sample` is the text before rewriting. A file is closed when
    the iterator is deleted.
    """

    def __init__(self, corpus: Corpus, files: Sequence[File] | None = None) -> None:
        lines = chain.from_iterable(map(self.pieces, corpus.files if files is None else files))
        super().__init__(blocks(lines, corpus.block_bytes))
        self._corpus = corpus
        self._read_bytes = min(READ_BYTES, max(MIN_HEAD_BYTES, corpus.block_bytes))

    def pieces(self, file: File) -> Iterator[bytes]:
        """Yield the text of a file in pieces that may end anywhere.

        Raise DataError at its end if it was rewritten since it was listed. A file that only grew begins as before.
        """
        yield from self._lines(file)
        if file.listed:
            with suppress(OSError), _open(file.path) as stream:  # it may be removed after it was opened
                size, modified, digest = file.listed
                now = os.fstat(stream.fileno())
                is_touched = now.st_size == size and now.st_mtime_ns != modified
                if is_touched or (now.st_size >= size and _digest(stream, size) != digest):
                    raise rewritten(file.path)

    def _lines(self, file: File) -> Iterator[bytes]:
        """Yield the text of a file, rewritten by the tokenizer, and a newline if it does not end with one."""
        raw = self._raw(file)
        return self._tokenized(file, raw if file.first else _opened(raw, file.name, self._corpus.options))

    def _tokenized(self, file: File, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yield text, rewritten by the tokenizer, and a newline if it does not end with one."""
        pieces, rewrite = self._text(file, pieces), REWRITING.get(self._corpus.tokenizer)
        last = b"\n"
        for piece in self._rewritten(pieces, rewrite) if rewrite else pieces:
            yield piece
            last = piece[-1:] or last
        if last != b"\n":
            yield b"\n"

    def _text(self, file: File, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yield text without its byte order mark. Raise DataError for bytes that text cannot contain."""
        offset = file.first
        for piece in self._utf8(file, pieces) if self._corpus.errors == "strict" else pieces:
            offset += len(piece)
            self.text_bytes += len(piece)
            if (at := piece.find(0)) >= 0:
                piece = self._without_nul(piece, file, offset - len(piece) + at)
            piece = piece.removeprefix(b"\xef\xbb\xbf") if offset == len(piece) else piece
            self.sample += piece[: SAMPLE_BYTES - len(self.sample)]
            yield piece
        if not self.sample.endswith(b"\n"):
            self.sample += b"\n"[: SAMPLE_BYTES - len(self.sample)]

    def raw(self, file: File) -> Iterator[bytes]:
        """Return the bytes of a file or of a range of one, decompressed if necessary."""
        return self._raw(file) if file.first else _unpacked(self._raw(file), file.path)

    def _place(self, file: File, byte: int) -> str:
        """Return where a byte of the text is, for messages."""
        return f"at byte {byte} of the text"

    def _utf8(self, file: File, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the pieces unchanged. Raise MalformedFile at the first byte that is not UTF-8."""
        decoder, offset = codecs.getincrementaldecoder("utf-8")(), file.first
        for piece in chain(pieces, [b""]):
            pending = len(decoder.getstate()[0])  # the start of a character at the end of the previous piece
            try:
                decoder.decode(piece, final=not piece)
            except UnicodeDecodeError as error:
                option = f", or use {spelled('encoding_errors', 'replace', 'ignore')}" * self._corpus.options
                raise MalformedFile(
                    f"{file.name}: not UTF-8 {self._place(file, offset - pending + error.start)} ({error.reason}):"
                    f" convert it with iconv{option}"
                ) from None
            offset += len(piece)
            yield piece

    def _without_nul(self, piece: bytes, file: File, byte: int) -> bytes:
        if not self._corpus.allow_nul:
            if byte < len(piece):
                _refuse_vectors(piece, file.name)
            is_wide = 3 * piece.count(0) > len(piece)  # as in UTF-16, of which --allow-nul would make a word per letter
            option = f", or use {spelled('allow_nul', True)}" * (self._corpus.options and not is_wide)
            place = self._place(file, byte)
            raise DataError(f"{file.name}: NUL {place}, as in binary data or UTF-16: convert it with iconv{option}")
        self.nul += piece.count(0)
        return piece.replace(b"\0", b" ")

    def _raw(self, file: File) -> Iterator[bytes]:
        """Yield the bytes of a file, up to its size when it was listed: a log file may have grown since then."""
        left = sys.maxsize if file.size is None else file.size
        try:
            with _open(file.path) as stream:
                if file.first:
                    stream.seek(file.first)
                while left and (piece := stream.read(min(self._read_bytes, left))):
                    left -= len(piece)
                    self.bytes_read += len(piece)
                    yield piece
                self.grown += file.size is not None and file.last and not left and bool(stream.read(1))
        except OSError as error:
            raise InputMissing(f"{file.path}: cannot be read: {reason(error)}") from error
        if left and file.size is not None:
            raise DataError(f"{file.path}: truncated while it was being read, at byte {file.first + file.size - left}")

    def _rewritten(self, pieces: Iterable[bytes], rewrite: Callable[[str], str]) -> Iterator[bytes]:
        """Yield the text as the tokenizer rewrites it, in pieces. The pieces passed in may be cut anywhere."""
        for piece in whole_words(pieces):
            text = piece.decode("utf-8", "replace")
            if invalid := text.count("\ufffd") - piece.count(b"\xef\xbf\xbd"):
                self.invalid, text = self.invalid + invalid, piece.decode("utf-8", self._corpus.errors)
            yield rewrite(text).encode()


def line_ends(file: File, places: Sequence[int]) -> set[int]:
    """Return the place after the first newline at or after each place, in bytes; none for a compressed file.

    Without a newline, it is the size of the file. Raise InputMissing if the file cannot be read.
    """
    try:
        with Path(file.path).open("rb", buffering=0) as stream:
            head = stream.read(HEAD_BYTES)
            if recognize(head):
                return set()
            refuse_foreign(head, file.path)
            return {_line_end(stream, place, file.size or 0) for place in places}
    except OSError as error:
        raise InputMissing(f"{file.path}: cannot be read: {reason(error)}") from error


def _line_end(stream: io.FileIO, at: int, whole: int) -> int:
    """Return the place after the first newline at or after a place, or the size of the file if there is none."""
    stream.seek(at)
    while at < whole and (data := stream.read(min(SEARCH_BYTES, whole - at))):
        if (newline := data.find(b"\n")) >= 0:
            return at + newline + 1
        at += len(data)
    return whole


def _refuse_vectors(head: bytes, name: str) -> None:
    """Raise DataError if binary data that begin with `head` are vectors or a model."""
    from w2vtrain.formats.sniff import reader_of, sniff_head  # not needed for text

    kind = sniff_head(head, len(head)).kind
    if reader_of(kind):
        raise DataError(
            f"{name}: vectors or a model ({kind}), not text: train on the text from which they were learned"
        )


def _unpacked(pieces: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Return the content of a file, decompressed if necessary, from its first byte on. Raise DataError for other files,
    such as archives.

    The first piece has HEAD_BYTES or all.
    """
    pieces = decompressed(pieces, name)
    head = b""
    while len(head) < HEAD_BYTES and (piece := next(pieces, b"")):
        head += piece
    refuse_foreign(head, name)
    return chain([head], pieces)


def _opened(pieces: Iterator[bytes], name: str, options: bool) -> Iterator[bytes]:
    """Return the text of a file as `_unpacked` does. Raise DataError if it is no text."""
    pieces = _unpacked(pieces, name)
    head = next(pieces)
    if head.startswith((b"PAR1\x15", b"ARROW1\0")):
        remedy = f"name a column with {spelled('column')}" if options else "save it with the suffix .parquet or .arrow"
        raise DataError(f"{name}: Parquet or Arrow, not text: {remedy}")
    return chain([head], pieces)


def _paths(source: str, below: Callable[[str], list[str]]) -> list[str]:
    """Return the files that a source names, in a fixed order.

    Those that a pattern matches are returned once, although it may match a folder and what is below it, or lead through
    symbolic links in a circle. Links in a folder to its own files are left out.
    """
    if source == "-":
        return ["-"]
    try:
        literal = Path(source).exists() or not has_magic(source)
        names = [source] if literal else distinct(sorted(glob(source, recursive=True)))  # noqa: PTH207
        paths = [path for name in names for path in (below(name) if Path(name).is_dir() else [name])]
        if not literal:
            _check_folders(source)
            paths = distinct(paths)
        elif links := {path for path in paths if Path(path).is_symlink()}:
            others = {os.path.realpath(path) for path in paths if path not in links}
            paths = [path for path in paths if path not in links or os.path.realpath(path) not in others]
    except (OSError, ValueError) as error:  # a name that is too long, or a folder without permission
        raise _missing(source, error) from error
    if not paths:
        raise InputMissing(f"{source}: {'no files in this directory' if names else 'no file matches this pattern'}")
    return paths


def _check_folders(pattern: str) -> None:
    """Raise InputMissing for a folder that a pattern leads through and that cannot be listed; glob would skip it."""
    for parent in map(str, Path(pattern).parents):
        for folder in glob(parent, recursive=True) if has_magic(parent) else [parent]:  # noqa: PTH207
            if Path(folder).is_dir() and not os.access(folder, os.R_OK | os.X_OK):
                raise InputMissing(f"{folder}: cannot be read: permission denied")


def would_read(source: str, files: Sequence[str]) -> str | None:
    """Return the first file or folder that a source names, in its folder or as its pattern, once it exists."""
    folders, is_pattern = [source], not Path(source).is_dir()
    if is_pattern:
        if Path(source).exists() or not has_magic(source):
            return None
        folders = [name for name in glob(source, recursive=True) if Path(name).is_dir()]  # noqa: PTH207
    read = {resolved(parent) for folder in folders for parent, _ in _walk(folder)}

    def is_named(path: Path) -> bool:
        pattern = str(resolved(source))
        deeper = (pattern.replace("**/", "*/" * depth) for depth in range(len(path.parts)))
        return any(map(path.match, deeper)) and (not path.name.startswith(".") or Path(source).name.startswith("."))

    def is_below(path: Path) -> bool:
        parents = read.intersection(path.parents)
        return any(not any(part.startswith(".") for part in path.relative_to(parent).parts) for parent in parents)

    paths = ((file, resolved(file)) for file in files)
    return next((file for file, path in paths if (is_pattern and is_named(path)) or is_below(path)), None)


def _walk(folder: str) -> Iterator[tuple[str, list[str]]]:
    """Yield a folder and all below it that are not hidden, each once, with the names of their files."""
    walked = set[str]()
    for parent, folders, files in os.walk(folder, onerror=_unreadable, followlinks=True):
        if (real := os.path.realpath(parent)) in walked:  # a link leads to a folder that is read, too
            folders.clear()
            continue
        walked.add(real)
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        yield parent, files


def _unreadable(error: OSError) -> None:
    raise InputMissing(f"{error.filename}: cannot be read: {reason(error)}") from error


def _file(path: str) -> File:
    """Look up a file. Raise InputMissing if it cannot be opened. Pipes are not opened, because that could block."""
    if path == "-":
        return File(path, None)
    try:
        status = Path(path).stat()
        if not stat.S_ISREG(status.st_mode):
            return File(path, None)
        with _open(path) as stream:
            return File(
                path, status.st_size, listed=(status.st_size, status.st_mtime_ns, _digest(stream, status.st_size))
            )
    except (OSError, ValueError) as error:
        raise _missing(path, error) from error


def _digest(stream: BinaryIO, size: int) -> int:
    """Return the checksum of the first and last LISTED_BYTES of a file that had `size` bytes when it was listed."""
    digest = zlib.crc32(stream.read(min(LISTED_BYTES, size)))
    stream.seek(max(0, size - LISTED_BYTES))
    return zlib.crc32(stream.read(min(LISTED_BYTES, size)), digest)


def _missing(path: str, error: Exception) -> InputMissing:
    return InputMissing(f"{path[:500]}: {why_unopened(path, error)}")


def _open(path: str) -> AbstractContextManager[BinaryIO]:
    if path != "-":
        return Path(path).open("rb")
    SPINNER.make_way()
    try:
        return open(sys.stdin.fileno(), "rb", closefd=False)
    except (io.UnsupportedOperation, AttributeError):  # sys.stdin was replaced, for example by a test
        return nullcontext(sys.stdin.buffer)
