"""Open files for reading: decompressed, line by line or whole, with a bound on the memory that a hostile file takes.

It knows nothing about what the bytes mean, and nothing about writing, which files.py does.
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
"""Bytes of text that any compressed file of lines may hold; a larger one holds up to EXPANSION times its size."""
_BUFFER = 1 << 18  # bytes
_READ = 1 << 16  # bytes of compressed data at a time


@contextmanager
def open_input(path: str | Path) -> Iterator[tuple[BinaryIO, str | None]]:
    """Open a file for reading bytes, decompressed; yield it and the name of its compression, or None.

    The first bytes tell the compression, never the suffix. Raises InputMissing if the file cannot be opened or read,
    and DataError, which names the byte, if compressed data are damaged or cut off; both also while the block reads.
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
    """Pieces of bytes as a raw stream."""

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
    """Read a file of at most `limit` bytes, as it is; a longer one, or an endless device, takes no more memory.

    Raises InputMissing if it cannot be opened or read, `error` if it is longer. remedy: the end of that message.
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
    """Yield the lines of a file, decompressed, each with its number from 1.

    Raises what `open_input` raises, and DataError for a line of more than `longest` bytes, for text of more than
    `most` bytes, and for a compressed file whose text is far longer than any real text would be.
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
    """Return how many bytes of text a compressed file may hold; `most` for a pipe, whose size nobody knows."""
    about = Path(path).stat()
    if not stat.S_ISREG(about.st_mode):
        return most
    allowed = max(EXPANDED, EXPANSION * about.st_size)
    return allowed if most is None else min(most, allowed)


def _too_long(most: int | None, compression: str | None) -> str:
    if compression is None:
        return f"more than {most:,} bytes of text: divide the file"
    limits = [f"{EXPANSION} times the size of the compressed file"] + ([] if most is None else [f"{most:,} bytes"])
    return f"more text than {' or '.join(limits)}: decompress the file, and look whether it is what you expect"


def _open_plain(path: str | Path) -> BinaryIO:
    try:
        if Path(path).is_dir():
            raise InputMissing(f"{path} is a folder: name a file")
        return Path(path).open("rb", buffering=_BUFFER)
    except (OSError, ValueError) as error:
        raise InputMissing(f"{str(path)[:500]} cannot be opened: {reason(error)}") from error
