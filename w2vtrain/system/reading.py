"""Reading of files, compressed or not, with a bound on the memory that a malicious file can take.

This module does not interpret the bytes; writing is in files.py.
"""

import io
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, cast

from w2vtrain.errors import DataError, InputMissing, W2VError, reason
from w2vtrain.system.compression import EXPANSION, decompressed, recognize

EXPANDED = 1 << 16
"""Bytes of text that any compressed file of lines may contain, even if that is more than EXPANSION times its size."""
_BUFFER = 1 << 18  # bytes
_READ = 1 << 16  # bytes of compressed data per read


@contextmanager
def open_input(path: str | Path) -> Iterator[tuple[BinaryIO, str | None]]:
    """Open a file for reading bytes, decompressed; yield it and the name of its compression, or None.

    The compression is detected from the first bytes, never from the suffix. Raise InputMissing if the file cannot be
    opened or read, and DataError with the byte offset if compressed data are damaged or cut off; either error may also
    occur while the block reads.
    """
    with _open_plain(path) as file:
        try:
            head = file.read(_READ)  # peek() may return less than `recognize` needs from a pipe
            kind = recognize(head)
            if kind is None and file.seekable():
                file.seek(0)
                yield file, None
                return
            pieces = chain([head], iter(lambda: file.read(_READ), b""))
            with io.BufferedReader(_Pieces(decompressed(pieces, str(path))), _BUFFER) as stream:
                yield cast(BinaryIO, stream), kind.name if kind else None
        except OSError as error:
            raise InputMissing(f"{path} cannot be read: {reason(error)}") from error


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
        except OSError as found:
            raise InputMissing(f"{path} cannot be read: {reason(found)}") from found
    if len(data) > limit:
        raise error(f"{path}: has more than {limit:,} bytes{remedy or ': name another file'}")
    return data


def read_lines(path: str | Path, longest: int, most: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield (line number from 1, line) for each line of a file, decompressed.

    Raises the errors of `open_input`, and DataError for a line of more than `longest` bytes, for a text of more than
    `most` bytes, and for a compressed file that expands far more than any real text.
    """
    with open_input(path) as (file, compression):
        left = _allowed(path, most) if compression else most
        number = 0
        while line := file.readline(longest + 3):
            number += 1
            if len(line) - line.endswith(b"\n") - line.endswith(b"\r\n") > longest:
                raise DataError(f"{path}:{number}: the line has more than {longest:,} bytes: name another file")
            if left is not None and (left := left - len(line)) < 0:
                raise DataError(f"{path}:{number}: {_too_long(most, compression)}")
            yield number, line


def _allowed(path: str | Path, most: int | None) -> int | None:
    """Return how many bytes of text a compressed file may contain; `most` for a pipe, whose size is unknown."""
    about = Path(path).stat()
    if not stat.S_ISREG(about.st_mode):
        return most
    allowed = max(EXPANDED, EXPANSION * about.st_size)
    return allowed if most is None else min(most, allowed)


def _too_long(most: int | None, compression: str | None) -> str:
    if compression is None:
        return f"more than {most:,} bytes of text: split the file"
    limits = [f"{EXPANSION} times the size of the compressed file"] + ([] if most is None else [f"{most:,} bytes"])
    return f"more text than {' or '.join(limits)}: decompress the file and check that it is what you expect"


def _open_plain(path: str | Path) -> BinaryIO:
    try:
        if Path(path).is_dir():
            raise InputMissing(f"{path} is a folder: name a file")
        return Path(path).open("rb", buffering=_BUFFER)
    except (OSError, ValueError) as error:
        raise InputMissing(f"{str(path)[:500]} cannot be opened: {reason(error)}") from error
