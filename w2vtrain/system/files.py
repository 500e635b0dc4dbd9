"""Files that are written whole or not at all, tried before the work that fills them, and read through compression.

Nothing here knows what the bytes mean: vectors.py, model.py and checkpoint.py do. Write arrays with
`f.write(memoryview)`, never with `ndarray.tofile`: on a full disk that raises an OSError without an errno.
"""

import bz2
import errno
import gzip
import io
import lzma
import os
import re
import secrets
import shutil
import stat
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from w2vtrain.errors import DataError, InputMissing, OutputError, W2VError, WriteError
from w2vtrain.system.terminal import STANDARD_OUTPUT, binary_output
from w2vtrain.system.trust import MODE

STDOUT = "-"
Claim = Callable[[Path, Path], None]
"""Called with the target and the temporary file that is about to take its name."""
# A temporary file of a dead process is swept only when this old, in seconds: on a shared file system the process
# may live on another host, and then goes on writing.
SWEEP_AGE = 3600.0
# Compressed text may be this many times as long as its file, or EXPANDED bytes if that is more: a file that expands
# further is made to fill the memory. Lists of questions, the most regular text there is, reach a factor of 20.
EXPANSION, EXPANDED = 100, 1 << 16
MAGIC = {"gzip": b"\x1f\x8b\x08", "bzip2": b"BZh", "xz": b"\xfd7zXZ\x00", "zstd": b"\x28\xb5\x2f\xfd"}


@contextmanager
def atomic_write(
    path: str | Path, force: bool = False, size: int | None = None, claim: Claim | None = None, follow: bool = True
) -> Iterator[BinaryIO]:
    """Give a binary file that takes the name `path` only when the block ends well; "-" is the standard output.

    The bytes go to a temporary file beside the target, are synced to the disk and take the target's name in one step,
    so that a reader, a crash or a full disk never meets half a file; an exception leaves the target as it was.
    Without `force` an existing target is refused, also one that appears while the block runs. A symbolic link is
    followed, unless `follow` is False: then it is refused. A device or a pipe is written to directly, because it must
    not be replaced by a file.
    `size`, the bytes that will be written if known, makes the message about a full disk say what is needed.
    `claim(target, temporary)` is called when all bytes are on the disk and before they get their name: whoever keeps a
    record of its own files writes it there, so that a crash leaves no file that nobody owns.
    Raises OutputError where the file cannot be created and WriteError where it cannot be written; other exceptions
    of the block pass through unchanged.
    """
    if str(path) == STDOUT:
        with _standard_output() as stream:
            yield stream
        return
    target, old = _target(path, force, follow)
    if old is not None and not stat.S_ISREG(old.st_mode):
        with _Checked(target, os.O_WRONLY, shown=path, size=size) as raw, _buffered(raw) as stream:
            yield stream
        return
    _sweep(target)
    temporary = _temporary_name(target)
    with _Checked(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, shown=path, size=size) as raw:
        try:
            with _buffered(raw) as stream:
                yield stream
                stream.flush()
                raw.sync()
                if old is not None:
                    with suppress(
                        OSError, AttributeError
                    ):  # a file system without modes is no reason to lose the result
                        os.fchmod(raw.fileno(), stat.S_IMODE(old.st_mode))
            if claim is not None:
                claim(target, temporary)
            _take_name(temporary, target, force, path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise


def check_writable(path: str | Path, force: bool = False) -> None:
    """Raise OutputError now if `atomic_write(path, force)` would: a file is really made beside the target and removed.

    To be called before the hours of work whose result goes to `path`.
    """
    if str(path) == STDOUT:
        return
    target, old = _target(path, force)
    if old is not None and not stat.S_ISREG(old.st_mode):
        if not os.access(target, os.W_OK):
            raise OutputError(f"{path} cannot be written: permission denied")
        return
    temporary = _temporary_name(target)
    with _Checked(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, shown=path, size=None):
        temporary.unlink()


@contextmanager
def open_input(path: str | Path, compressed: bool = True) -> Iterator[tuple[BinaryIO, str | None]]:
    """Give a file opened for reading bytes, decompressed, and the name of its compression (None if there is none).

    Compression is known by the first bytes, never by the suffix; without `compressed` the file is read as it is.
    Raises InputMissing where the file cannot be opened or read, and DataError where compressed data is damaged or cut
    off; both also while the block reads.
    """
    with _open_plain(path) as file:
        compression = compression_of(file.peek(6)) if compressed else None
        stream = _decompressed(file, compression)
        try:
            yield stream, compression
        except (EOFError, zlib.error, lzma.LZMAError) as error:
            raise DataError(f"{path}: damaged or cut off {compression} data: {_reason(error)}") from error
        except OSError as error:
            if compression:  # gzip and bz2 report damage so, too
                raise DataError(f"{path}: damaged {compression} data: {_reason(error)}") from error
            raise InputMissing(f"{path} cannot be read: {_reason(error)}") from error
        finally:
            stream.close()


def read_small(path: str | Path, limit: int, error: type[W2VError] = DataError, remedy: str = "") -> bytes:
    """Read a file of at most `limit` bytes, as it is; a longer one, or an endless device, takes no more memory.

    Raises InputMissing if it cannot be opened or read, `error` if it is longer. remedy: the end of that message.
    """
    with _open_plain(path) as file:
        try:
            data: bytes = file.read(limit + 1)
        except OSError as found:
            raise InputMissing(f"{path} cannot be read: {_reason(found)}") from found
    if len(data) > limit:
        raise error(f"{path}: has more than {limit:,} bytes{remedy or ': name another file'}")
    return data


def read_lines(
    path: str | Path, longest: int, most: int | None = None, compressed: bool = True
) -> Iterator[tuple[int, bytes]]:
    """Give the lines of a file and their numbers from 1, decompressed unless `compressed` is False.

    Raises what `open_input` raises, and DataError for a line of more than `longest` bytes, for text of more than
    `most` bytes, and for a compressed file whose text is far longer than any real text would be.
    """
    with open_input(path, compressed) as (file, compression):
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
    """How many bytes of text a compressed file may hold; `most` for a pipe, whose size nobody knows."""
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


def compression_of(start: bytes) -> str | None:
    """Name of the compression that a file with these first bytes has: a key of MAGIC, or None."""
    return next((name for name, magic in MAGIC.items() if start.startswith(magic)), None)


def _decompressed(file: io.BufferedReader, compression: str | None) -> BinaryIO:
    if compression is None:
        return cast(BinaryIO, file)
    readers: dict[str, Any] = {"bzip2": bz2.BZ2File, "xz": lzma.LZMAFile, "zstd": _ZstdReader}
    raw = gzip.GzipFile(fileobj=file) if compression == "gzip" else readers[compression](file)
    return cast(BinaryIO, io.BufferedReader(raw, 1 << 18))


def _open_plain(path: str | Path) -> Any:
    try:
        if Path(path).is_dir():
            raise InputMissing(f"{path} is a folder: name a file")
        return Path(path).open("rb", buffering=1 << 18)
    except (OSError, ValueError) as error:
        raise InputMissing(f"{str(path)[:500]} cannot be opened: {_reason(error)}") from error


class _ZstdReader(io.RawIOBase):
    """Zstandard frames as a raw stream that, unlike zstandard's own, raises EOFError where a frame is cut off."""

    # A frame can hold 43,000 times its size: little input at a time keeps a hostile one from filling the memory.
    STEP = 512

    def __init__(self, file: BinaryIO) -> None:
        import zstandard

        self._file, self._zstd, self._ready, self._rest = file, zstandard, b"", b""
        self._frame: Any = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            data = self._rest or self._file.read(self.STEP)
            if not data:
                if self._frame is not None:
                    raise EOFError("it ends inside a frame")
                return 0
            self._frame = self._frame or self._zstd.ZstdDecompressor().decompressobj()
            try:
                self._ready = self._frame.decompress(data)
            except self._zstd.ZstdError as error:
                raise OSError(str(error)) from error
            self._rest = self._frame.unused_data
            if self._frame.eof:
                self._frame = None
        count = min(len(buffer), len(self._ready))
        buffer[:count], self._ready = self._ready[:count], self._ready[count:]
        return count


def _target(path: str | Path, force: bool, follow: bool = True) -> tuple[Path, os.stat_result | None]:
    """Return where the bytes go, links followed if that is allowed, and what is there now."""
    try:
        target = Path(os.path.realpath(path) if follow else path)
        old = target.stat(follow_symlinks=follow)
        if not follow and not stat.S_ISREG(old.st_mode):
            raise OutputError(f"{path} is a symbolic link or no file: remove it")
    except FileNotFoundError:
        if not target.parent.is_dir():
            raise OutputError(f"{path} cannot be created: there is no folder {target.parent}") from None
        return target, None
    except (OSError, ValueError) as error:
        raise OutputError(f"{path} cannot be created: {_reason(error)}") from error
    if stat.S_ISDIR(old.st_mode):
        raise OutputError(f"{path} is a folder: name a file")
    if stat.S_ISREG(old.st_mode) and not force:
        raise OutputError(f"{path} exists: use --force to overwrite")
    return target, old


def _temporary_name(target: Path) -> Path:
    # Names may have 255 bytes; a long one is cut so that the temporary one fits, too.
    encoded = os.fsencode(target.name)
    name = encoded[:200].decode("utf-8", "ignore") if len(encoded) > 200 else target.name  # no half a character
    return target.with_name(f".{name}.tmp-{os.getpid()}-{secrets.token_hex(4)}")


def _sweep(target: Path) -> None:
    """Remove what killed processes left of earlier attempts at the same target."""
    if os.name != "posix":  # elsewhere asking whether a process is alive would end it
        return
    pattern = re.compile(re.escape(_temporary_name(target).name.rsplit("-", 2)[0]) + r"-(\d{1,9})-[0-9a-f]{8}")
    with suppress(OSError):
        for entry in os.scandir(target.parent):
            found = pattern.fullmatch(entry.name)
            if found and not _alive(int(found[1])) and time.time() - entry.stat().st_mtime > SWEEP_AGE:
                Path(entry.path).unlink()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _take_name(temporary: Path, target: Path, force: bool, shown: str | Path) -> None:
    """Give the temporary file the target's name and make the name survive a loss of power."""
    try:
        if force:
            temporary.replace(target)
        else:
            _rename_new(temporary, target)
    except FileExistsError:
        raise OutputError(f"{shown} exists: use --force to overwrite (it appeared during the work)") from None
    except OSError as error:
        raise OutputError(f"{shown} cannot be created: {_reason(error)}") from error
    try:
        sync_folder(target.parent)
    except OSError as error:
        raise WriteError(f"{shown} cannot be written: {_reason(error)}") from error


def disk_is_full(error: BaseException | None) -> bool:
    """Whether an error comes from a disk or a quota without room."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        error = error.__cause__
    return False


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where its file system can say so; else OSError."""
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        # Some network file systems cannot sync a folder; a real failure of the disk has another number.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EBADF):
            raise


def _rename_new(temporary: Path, target: Path) -> None:
    """Rename, and fail if the target exists: link() tests and takes the name in one step, rename() would replace."""
    try:
        target.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: the remaining race is some microseconds long
        if target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        temporary.replace(target)
    else:
        temporary.unlink()


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


@contextmanager
def _standard_output() -> Iterator[BinaryIO]:
    try:
        with binary_output() as stream:
            yield stream
    except BrokenPipeError:
        raise  # the reader has seen enough: the command line ends quietly
    except OSError as error:
        raise WriteError(f"{STANDARD_OUTPUT} cannot be written: {_reason(error)}") from error


@contextmanager
def _buffered(raw: "_Checked") -> Iterator[BinaryIO]:
    stream = io.BufferedWriter(raw, 1 << 20)
    try:
        yield cast(BinaryIO, stream)
        stream.flush()
    finally:
        raw.close()  # not the buffer, whose close would try once more to write what has just failed


class _Checked(io.FileIO):
    """A raw file that fails with this package's errors: other OSErrors of the block are not taken for its own."""

    def __init__(self, path: Path, flags: int, shown: str | Path, size: int | None) -> None:
        self._shown, self._size, self._folder, self._done = shown, size, path.parent, 0
        try:
            super().__init__(
                path, "wb", opener=lambda name, _: os.open(name, flags | getattr(os, "O_CLOEXEC", 0), MODE)
            )
        except (OSError, ValueError) as error:
            raise OutputError(f"{shown} cannot be created: {_reason(error)}") from error

    def write(self, data: Any) -> int:
        try:
            count = os.write(self.fileno(), data)
        except OSError as error:
            raise self._failed(error) from error
        self._done += count
        return count

    def sync(self) -> None:
        """Wait until the bytes are on the disk."""
        try:
            os.fsync(self.fileno())
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> WriteError:
        message = f"{self._shown} cannot be written: {_reason(error)} after {self._done:,} bytes"
        if self._size is not None:
            with suppress(OSError):
                message += f", {self._size:,} are needed and {shutil.disk_usage(self._folder).free:,} more are free"
        return WriteError(message)
