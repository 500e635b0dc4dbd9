"""Reading of files, compressed or not, with a bound on the memory that a malicious file can take.

Compressed data are decompressed as they are read, and `open_input` refuses a file that expands more than its size
justifies. This module does not interpret the bytes; writing is in files.py.
"""

import hashlib
import io
import logging
import os
import shlex
import stat
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, cast

from w2vtrain.errors import DataError, InputMissing, W2VError, reason
from w2vtrain.system.compression import MAX_EXPANSION, decompressed, recognize
from w2vtrain.system.files import RUN_FOLDER, operand, resume_command
from w2vtrain.system.foreign import HEAD_BYTES, refuse_foreign

log = logging.getLogger(__name__)
ALLOWED_BYTES = 1 << 26
"""What any compressed file may contain, even if that is more than MAX_EXPANSION times its size. Vectors of zeros and
ones compress a thousandfold, and this many bytes of them do no harm."""
ALLOWED_LINES_BYTES = 1 << 16
"""The same for files of lines, which take up to 32 times as much memory as text. Real ones expand less than 50-fold."""
_BUFFER_BYTES = 1 << 18
_READ_BYTES = 1 << 16  # of compressed data per read


def justified(size: int, allowed: int | None = None) -> int:
    """Return how many bytes a compressed file of `size` bytes may contain.

    allowed: the bytes that any file may contain, instead of ALLOWED_BYTES.
    """
    return max(ALLOWED_BYTES if allowed is None else allowed, MAX_EXPANSION * size)


@contextmanager
def open_input(path: str | Path, allowed: int | None = None) -> Iterator[tuple[BinaryIO, str | None]]:
    """Open a file for reading bytes, decompressed; yield it and the name of its compression, or None.

    The compression is detected from the first bytes, never from the suffix. allowed: see `justified`.

    Raise InputMissing if the file cannot be opened or read, and DataError if compressed data are damaged or cut off,
    with the byte offset, or expand more than any real file; either error may also occur while the block reads, and
    DataError after it if the file was rewritten meanwhile.
    """
    with _open_plain(path) as file, unchanged(path, file.fileno(), may_grow=True):
        try:
            source = _Compressed(file)
            head = source.read()  # peek() may return less than `recognize` needs from a pipe
            kind = recognize(head)
            if kind is None and file.seekable():
                file.seek(0)
                yield file, None
                return
            pieces = decompressed(chain([head], iter(source.read, b"")), str(path))
            if kind:
                pieces = _bounded(pieces, source, allowed, path)
            with stream_of(pieces) as stream:
                yield stream, kind.name if kind else None
        except OSError as error:
            raise InputMissing(f"{path} cannot be read: {reason(error)}") from error


def rewritten(path: str | Path) -> DataError:
    """Return the error for a file that was rewritten while it was read."""
    return DataError(f"{path}: was changed while it was read: start again when it is complete")


@contextmanager
def unchanged(
    path: str | Path, handle: int | None = None, may_grow: bool = False, may_be_replaced: bool = True
) -> Iterator[None]:
    """Raise DataError if a regular file has another time after the block than before.

    handle: of the file, if it is open. may_grow: allow another time if the file became larger, as a log does.
    may_be_replaced: allow that another file got the name, since what is open stays as it is.
    """

    def status() -> os.stat_result | None:
        with suppress(OSError, ValueError):
            found = os.stat(path if handle is None else handle)  # noqa: PTH116 - Path has no stat of a handle
            return found if stat.S_ISREG(found.st_mode) else None
        return None

    before = status()
    yield
    now = status()
    if before and now and before.st_mtime_ns != now.st_mtime_ns:
        is_replaced, is_larger = before.st_ino != now.st_ino, now.st_size > before.st_size
        if not (is_replaced and may_be_replaced) and not (is_larger and may_grow):
            raise rewritten(path)


class _Compressed:
    """A file and its size in bytes: that of a regular file, or what was read of a pipe."""

    def __init__(self, file: BinaryIO) -> None:
        status = os.fstat(file.fileno())
        self.size, self._file, self._taken = status.st_size if stat.S_ISREG(status.st_mode) else 0, file, 0

    def read(self) -> bytes:
        data = self._file.read(_READ_BYTES)
        self._taken += len(data)
        self.size = max(self.size, self._taken)
        return data


def _bounded(pieces: Iterator[bytes], source: _Compressed, allowed: int | None, path: str | Path) -> Iterator[bytes]:
    """Yield decompressed pieces. Raise DataError when there are more bytes than the compressed ones justify."""
    given = 0
    for piece in pieces:
        given += len(piece)
        if given > justified(source.size, allowed):
            raise DataError(
                f"{path}: more text than {MAX_EXPANSION} times the size of the compressed file: decompress the file and"
                " check that it is what you expect"
            )
        yield piece


def stream_of(pieces: Iterator[bytes]) -> BinaryIO:
    """Return a stream to read over an iterator of bytes."""
    return cast(BinaryIO, io.BufferedReader(_Pieces(pieces), _BUFFER_BYTES))


class _Pieces(io.RawIOBase):
    """A raw stream over an iterator of bytes."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._ready = pieces, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._ready = memoryview(piece)
        count = min(len(buffer), len(self._ready))
        buffer[:count], self._ready = self._ready[:count], self._ready[count:]
        return count


def read_small(path: str | Path, limit: int, error: type[W2VError] = DataError, remedy: str = "") -> bytes:
    """Return the content of a file of at most `limit` bytes, not decompressed.

    No more than that is read into memory, even from an endless device. Raise InputMissing if the file cannot be opened
    or read, and `error` if it is longer. remedy: the end of that error's message.
    """
    with _open_plain(path) as file:
        try:
            data = file.read(limit + 1)
        except OSError as failure:
            raise InputMissing(f"{path} cannot be read: {reason(failure)}") from failure
    if len(data) > limit:
        raise error(f"{path}: has more than {limit:,} bytes{remedy or ': name another file'}")
    return data


def digest(path: str | Path) -> str:
    """Return the SHA-256 of a file's bytes. Raise InputMissing if it cannot be opened or read."""
    with _open_plain(path) as file:
        try:
            return hashlib.file_digest(cast(io.BufferedReader, file), "sha256").hexdigest()
        except OSError as error:
            raise InputMissing(f"{path} cannot be read: {reason(error)}") from error


def read_lines(
    path: str | Path, max_line_bytes: int, max_bytes: int | None = None, *, number_ends: bool = False
) -> Iterator[tuple[int, bytes]]:
    """Yield (line number from 1, line) for each line of a file, decompressed, without a byte order mark.

    number_ends: each line ends in a number, so `warn_cut_off` is called if the last line has no newline.

    Raises the errors of `open_input`, and DataError for what is not text, a longer line and a longer text.
    """
    with open_input(path, ALLOWED_LINES_BYTES) as (file, _):
        refuse_foreign(cast(io.BufferedReader, file).peek(HEAD_BYTES), str(path))
        number = taken = 0
        is_whole = True
        while line := file.readline(max_line_bytes + 3):
            number += 1
            line = line.removeprefix(BOM_UTF8) if number == 1 else line
            if len(line) - line.endswith(b"\n") - line.endswith(b"\r\n") > max_line_bytes:
                raise DataError(f"{path}:{number}: the line has more than {max_line_bytes:,} bytes: name another file")
            taken += len(line)
            if max_bytes is not None and taken > max_bytes:
                raise DataError(f"{path}:{number}: more than {max_bytes:,} bytes of text: split the file")
            is_whole = line.endswith(b"\n")
            yield number, line
    if number_ends and not is_whole:
        warn_cut_off(path)


def warn_cut_off(path: str | Path, sign: str = "the last line has no newline", lost: str = "digits") -> None:
    """Warn that a file may be cut off. sign: what its end lacks, as lines that end in numbers may; lost: what."""
    log.warning("%s: %s: the file may be cut off, and %s be missing", path, sign, lost)


def regular_size(path: str | Path, stdin: bool = True) -> int:
    """Return the size in bytes of a file that is read more than once. Raise InputMissing for a pipe or a device.

    Opening a pipe could wait forever for its writer, and what was read of it once is gone. stdin: whether `-` may stand
    for the file.
    """
    try:
        status = Path(path).stat()
    except (OSError, ValueError) as error:
        raise _unopened(path, error) from error
    if stat.S_ISDIR(status.st_mode):
        raise _is_folder(path)
    if not stat.S_ISREG(status.st_mode):
        remedy = ", or pass - to read standard input" if stdin else ""
        raise InputMissing(f"{path} is a pipe or a device: name a file{remedy}")
    return status.st_size


def why_unopened(path: str | Path, error: Exception) -> str:
    """Return why an input cannot be opened: it may be on another machine."""
    if str(path) == "-":
        return "standard input cannot be used here: name a file"
    return "this is an address: download the file and name it" if "://" in str(path) else reason(error)


def _is_folder(path: str | Path) -> InputMissing:
    """Return the error for a folder in place of a file; that of a run says how to get its vectors."""
    if not all(Path(path, name).exists() for name in RUN_FOLDER):
        return InputMissing(f"{path} is a folder: name a file")
    return InputMissing(
        f"{path} is the folder of an unfinished run: `{resume_command(path)}` finishes it, and `w2vtrain export"
        f" {shlex.quote(operand(str(path)))} -o FILE` writes its vectors so far"
    )


def _unopened(path: str | Path, error: Exception) -> InputMissing:
    return InputMissing(f"{str(path)[:500]} cannot be opened: {why_unopened(path, error)}")


def _open_plain(path: str | Path) -> BinaryIO:
    try:
        if Path(path).is_dir():
            raise _is_folder(path)
        return Path(path).open("rb", buffering=_BUFFER_BYTES)
    except (OSError, ValueError) as error:
        raise _unopened(path, error) from error
