"""Write files completely or not at all, open them without surprises, make them durable, and compare their names.

This module does not interpret the bytes; reading.py reads inputs. Write arrays with `f.write(memoryview)`, never with
`ndarray.tofile`, which raises an OSError without an errno on a full disk.
"""

import errno
import io
import os
import re
import secrets
import shlex
import shutil
import socket
import stat
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from w2vtrain.errors import InputMissing, OutputError, ReadError, W2VError, WriteError, reason, spelled
from w2vtrain.system.machine import process_exists
from w2vtrain.system.terminal import STANDARD_OUTPUT, binary_output

STDOUT = "-"
STDOUT_NAMES = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
"""Names of an output that are standard output; of an input, `-` is standard input."""
STDERR_NAMES = ("/dev/stderr", "/dev/fd/2", "/proc/self/fd/2")
OPEN_FILE = re.compile(r"/dev/(stdin|stdout|stderr|fd/\d+)|/proc/[^/]+/fd/\d+")
"""Names of files that the process has open, each a link to one that may be anywhere, or have no name any more."""
LASTING_ERRORS = (
    None, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENAMETOOLONG,
    errno.EINVAL, errno.ENXIO, errno.EFBIG, errno.EROFS, errno.EEXIST,
)  # fmt: skip
"""Error numbers that will occur again if a file is created again; None is that of errors without one. Others, such as
ENOSPC of a full disk, and ESTALE and EIO of a network disk, may be temporary."""
UNSUPPORTED_ERRORS = (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOTTY)
"""Error numbers of a file system that does not support a kind of syncing."""
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
FILE_MODE = 0o664
"""Permissions of new files before the umask is applied: everyone may read, only the user and the group may write."""
P = TypeVar("P", str, Path)
Claim = Callable[[Path, Path], None]
"""A function called with the target and the temporary file that is about to be renamed to it."""
MIN_SWEEP_SECONDS = 3600.0
"""Minimum age at which a temporary file of another host is removed: although no process here has its number, it may
still be in use. Those of dead processes of this host go at once."""


@contextmanager
def atomic_write(
    path: str | Path, force: bool = False, size: int | None = None, claim: Claim | None = None, follow: bool = True
) -> Iterator[BinaryIO]:
    """Yield a binary file that is renamed to `path` only if the block succeeds; "-" is standard output.

    The bytes go to a temporary file beside the target, which is synced to disk and then renamed in one step. So a crash
    or a full disk never leaves a partial file, no reader ever sees one, and an exception leaves the target unchanged.
    An open file, a device or a pipe is written to directly, because a regular file must not replace it.

    force: whether to overwrite an existing target; if False, a target that exists, or that appears while the block
    runs, is an error. follow: whether to follow a symbolic link; if False, a link is an error. size: the number of
    bytes that will be written, if known, for the message about a full disk. claim: called as claim(target, temporary)
    after all bytes are on disk and before the rename; a caller that keeps a record of its files adds them there, so
    that a crash leaves no unrecorded file.

    Raise OutputError if the file cannot be created and WriteError if it cannot be written. Other exceptions from the
    block propagate unchanged.
    """
    if str(path) == STDOUT:
        with _standard_output() as stream:
            yield stream
        return
    if OPEN_FILE.fullmatch(str(path)):  # a shell has created the file, which may have text that stays
        with _Checked(Path(path), os.O_WRONLY | os.O_APPEND, shown=path, size=size) as raw, _buffered(raw) as stream:
            yield stream
        return
    target, old = _target(path, force, follow)
    if old is not None and not stat.S_ISREG(old.st_mode):
        with _Checked(target, os.O_WRONLY, shown=path, size=size) as raw, _buffered(raw) as stream:
            yield stream
        return
    sweep(target)
    temporary = temporary_name(target)
    with _Checked(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, shown=path, size=size) as raw:
        try:
            with _buffered(raw) as stream:
                yield stream
                stream.flush()
                raw.sync()
                if old is not None and hasattr(os, "fchmod"):
                    with suppress(OSError):  # the result must not be lost because a file system has no modes
                        os.fchmod(raw.fileno(), stat.S_IMODE(old.st_mode))
            if claim is not None:
                claim(target, temporary)
            _take_name(temporary, target, force, path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise


def write_json(path: str | Path, values: dict[str, Any], force: bool = False, claim: Claim | None = None) -> None:
    """Write one JSON object, indented, as `atomic_write` does."""
    from w2vtrain.system.json_text import json_text  # here, because most commands that import this write no JSON

    with atomic_write(path, force, claim=claim) as file:
        file.write(json_text(values, indent=True).encode() + b"\n")


def check_writable(path: str | Path, force: bool = False) -> None:
    """Raise OutputError if `atomic_write(path, force)` would.

    It creates and removes a file beside the target. Commands call locks.check_output instead.
    """
    if str(path) == STDOUT:
        return
    if OPEN_FILE.fullmatch(str(path)):
        if not os.access(path, os.W_OK):
            raise OutputError(f"{path} cannot be written: no file that can be written is open there")
        return
    target, old = _target(path, force)
    if old is not None and not stat.S_ISREG(old.st_mode):
        if not os.access(target, os.W_OK):
            raise OutputError(f"{path} cannot be written: permission denied")
        return
    if old is not None and sys.platform == "win32" and not os.access(target, os.W_OK):
        raise OutputError(f"{path} cannot be overwritten: it is marked as read-only")
    temporary = temporary_name(target)
    _Checked(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, shown=path, size=None).close()
    with suppress(OSError):  # an empty file that another program has open does no harm
        temporary.unlink()


def is_stream(name: str | Path) -> bool:
    """Return whether a name is `-`, an open file, a pipe or a device: none has files beside it, or is read twice."""
    path = Path(name)
    if str(name) == STDOUT or OPEN_FILE.fullmatch(str(name)):
        return True
    try:
        return path.exists() and not path.is_file() and not path.is_dir()
    except OSError:  # the name is too long, which `check_writable` reports
        return False


def resolved(path: str | Path) -> Path:
    """Return the absolute path with symbolic links resolved; one of a loop of links stays, and cannot be opened.

    Raise InputMissing if the path is relative and the working directory was deleted. Path.resolve would raise a
    RuntimeError for a loop, before Python 3.13.
    """
    try:
        return Path(os.path.realpath(path))
    except FileNotFoundError:
        raise InputMissing("the working directory was deleted: change to one that exists") from None


def operand(name: str) -> str:
    """Return a name of a file that no command takes for an option."""
    return f"./{name}" if name.startswith("-") and name != STDOUT else name


RUN_FOLDER = {"config.json", "lock"}
"""Names of files that a run folder has; training/run_files.py writes them."""


def resume_command(folder: str | Path) -> str:
    """Return the command line that resumes the run in a folder, without the user's code."""
    return f"w2vtrain resume {shlex.quote(operand(str(folder)))}"


def _target(path: str | Path, force: bool, follow: bool = True) -> tuple[Path, os.stat_result | None]:
    """Return the path to write to, with links followed if `follow`, and its status, or None if it does not exist."""
    try:
        target = resolved(path) if follow else Path(path)
        old = Path(path).stat(follow_symlinks=follow)
        if not follow and not stat.S_ISREG(old.st_mode):
            raise OutputError(f"{path} is a symbolic link or not a regular file: remove it")
    except FileNotFoundError:
        try:
            is_there = target.parent.is_dir()
        except OSError as error:
            raise not_created(path, error) from error
        if not is_there:
            raise OutputError(f"{path} cannot be created: there is no folder {target.parent}") from None
        if sys.platform == "win32" and ":" in target.name:  # it would name a hidden stream of another file
            raise OutputError(f"{path} cannot be created: a file name cannot contain a colon on Windows") from None
        # Others may have planted a link where a file beside an output will be.
        if os.path.islink(path) and not force:  # noqa: PTH114 - unlike Path.is_symlink, for names of any length
            to = f"is a symbolic link to {target}, which does not exist"
            raise OutputError(f"{path} {to}: use {spelled('force', True)} to create it") from None
        return target, None
    except (OSError, ValueError) as error:
        raise not_created(path, error) from error
    if stat.S_ISDIR(old.st_mode):
        raise OutputError(f"{path} is a folder: name a file")
    if not stat.S_ISREG(old.st_mode):
        return Path(path), old  # a pipe that /dev/stdout leads to has no other name
    if not force:
        raise OutputError(f"{path} exists: use {spelled('force', True)} to overwrite")
    return target, old


def temporary_name(target: Path, kind: str = "tmp") -> Path:
    """Return a new name beside a target, which `sweep` recognizes. kind: "old" for what a new folder replaces."""
    return target.with_name(f".{target.name}.{kind}-{os.getpid()}-{_host()}{secrets.token_hex(4)}")


def temporary_pattern(name: str, kind: str = "tmp") -> str:
    """Return a pattern of all names that `temporary_name` gives for a name; group 1: the process, 2: its host."""
    return rf"\.{re.escape(name)}\.{kind}-(\d{{1,9}})-([0-9a-f]{{8}})[0-9a-f]{{8}}"


def restore(target: Path) -> None:
    """Give a folder its name back that it had until a process of this host was killed while it replaced the folder."""
    pattern = re.compile(temporary_pattern(target.name, "old"))
    with suppress(OSError):
        for entry in os.scandir(target.parent):
            parts = pattern.fullmatch(entry.name)
            if not parts or parts[2] != _host() or process_exists(int(parts[1])):
                continue
            if target.exists():
                shutil.rmtree(entry.path, ignore_errors=True)
            elif entry.is_dir(follow_symlinks=False):
                Path(entry.path).rename(target)


def _host() -> str:
    """Return 8 hexadecimal digits for this host: only the numbers of its own processes mean anything here."""
    return f"{zlib.crc32(socket.gethostname().encode()):08x}"


def sweep(target: Path) -> None:
    """Remove the temporary files and folders that killed processes left behind for the same target.

    A symbolic link is never one of them. See MIN_SWEEP_SECONDS.
    """
    pattern = re.compile(temporary_pattern(target.name))
    with suppress(OSError):
        for entry in os.scandir(target.parent):
            parts = pattern.fullmatch(entry.name)
            if not parts or entry.is_symlink() or process_exists(int(parts[1])):
                continue
            if parts[2] == _host() or time.time() - entry.stat(follow_symlinks=False).st_mtime > MIN_SWEEP_SECONDS:
                shutil.rmtree(entry.path, ignore_errors=True) if entry.is_dir() else Path(entry.path).unlink()


def _take_name(temporary: Path, target: Path, force: bool, shown: str | Path) -> None:
    """Rename the temporary file to the target and make sure that the new name survives a power failure."""
    try:
        if force:
            temporary.replace(target)
        else:
            _rename_new(temporary, target)
    except FileExistsError:
        raise OutputError(
            f"{shown} exists: use {spelled('force', True)} to overwrite (it was created in the meantime)"
        ) from None
    except OSError as error:
        raise not_created(shown, error) from error
    try:
        sync_folder(target.parent)
    except OSError as error:
        raise WriteError(f"{shown} cannot be written: {reason(error)}") from error


def not_created(path: str | Path, error: Exception) -> W2VError:
    """Return the error for what cannot be created: WriteError if that may succeed later, else OutputError."""
    kind = OutputError if getattr(error, "errno", None) in LASTING_ERRORS else WriteError
    return kind(f"{path} cannot be created: {reason(error)}")


def _rename_new(temporary: Path, target: Path) -> None:
    """Rename, but fail if the target exists: link() checks that in the same step, while rename() would overwrite."""
    try:
        target.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: a race of a few microseconds remains
        if target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        temporary.replace(target)
    else:
        with suppress(OSError):  # the target is complete: a second name does no harm
            temporary.unlink()


@contextmanager
def _standard_output() -> Iterator[BinaryIO]:
    try:
        with binary_output() as stream:
            yield stream
    except BrokenPipeError:
        raise  # the reader has closed the pipe: the command line exits silently
    except OSError as error:
        raise WriteError(f"{STANDARD_OUTPUT} cannot be written: {reason(error)}") from error


@contextmanager
def _buffered(raw: "_Checked") -> Iterator[BinaryIO]:
    stream = io.BufferedWriter(raw, 1 << 20)
    try:
        yield cast(BinaryIO, stream)
        stream.flush()
    finally:
        raw.close()  # not the buffer: closing that would repeat a write that has just failed


class _Checked(io.FileIO):
    """A raw file that raises this package's errors, to distinguish them from other OSErrors in the block."""

    def __init__(self, path: Path, flags: int, shown: str | Path, size: int | None) -> None:
        self._shown, self._size, self._folder, self._written = shown, size, path.parent, 0
        flags |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        try:
            super().__init__(path, "wb", opener=lambda name, _: os.open(name, flags, FILE_MODE))
        except (OSError, ValueError) as error:
            raise not_created(shown, error) from error

    def write(self, data: Any) -> int:
        try:
            count = os.write(self.fileno(), data)
        except OSError as error:
            raise self._failed(error) from error
        self._written += count
        return count

    def sync(self) -> None:
        """Wait until the bytes are on disk."""
        try:
            sync(self.fileno())
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> WriteError:
        message = f"{self._shown} cannot be written: {reason(error)} after {self._written:,} bytes"
        if self._size is not None:
            with suppress(OSError):
                message += f"; {self._size:,} are needed and {shutil.disk_usage(self._folder).free:,} more are free"
        return WriteError(message)


@contextmanager
def answering(path: Path) -> Iterator[None]:
    """Raise ReadError if a block that reads at `path` raises an OSError that says nothing about what is there.

    A network disk that does not answer for a moment must not pass for one without the file, or with a damaged one.
    FileNotFoundError, NotADirectoryError, PermissionError, read-only file systems, names that are too long and loops of
    symbolic links are left to the caller.
    """
    try:
        yield
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        raise
    except OSError as error:
        if error.errno in (errno.EROFS, errno.ENAMETOOLONG, errno.ELOOP):
            raise
        raise ReadError(f"{path} cannot be used at the moment: {reason(error)}: nothing is lost; try again") from error


def open_regular(path: Path, flags: int) -> int:
    """Open a regular file, never through a symbolic link and without waiting, and return its descriptor.

    Raise PermissionError with the reason for anything else, and OSError if it cannot be opened.
    """
    if not NO_FOLLOW and path.is_symlink():
        raise PermissionError("it is a symbolic link")
    try:  # O_NONBLOCK: opening a pipe must not wait for its writer
        handle = os.open(path, flags | NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0), FILE_MODE)
    except OSError as error:
        if path.is_symlink():
            raise PermissionError("it is a symbolic link") from error
        if isinstance(error, IsADirectoryError):
            raise PermissionError("it is not a regular file") from error
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise PermissionError("it is not a regular file")
    return handle


def sync(handle: int) -> None:
    """Wait until the bytes of an open file, or the names in an open folder, would survive a power failure.

    Raise OSError if that fails. On macOS, fsync leaves the bytes in the disk's own cache, which F_FULLFSYNC empties;
    network and foreign file systems may not support it.
    """
    if sys.platform != "win32":
        import fcntl

        command = getattr(fcntl, "F_FULLFSYNC", None)
        if command is not None:
            try:
                fcntl.fcntl(handle, command)
                return
            except OSError as error:
                if error.errno not in UNSUPPORTED_ERRORS:
                    raise
    os.fsync(handle)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on disk, if its file system supports that; raise OSError if it fails."""
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            sync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        # Windows cannot open a folder, and some network file systems cannot sync one. A real disk failure has a
        # different errno.
        if error.errno not in (*UNSUPPORTED_ERRORS, errno.EACCES, errno.EBADF):
            raise


def same_file(one: str | Path, other: str | Path) -> bool:
    """Return whether two names are the same file, or will be once it is created. `-` is the same only as itself.

    Files that exist are compared by device and inode, so links and other spellings of a name count.
    """
    if STDOUT in (one, other):
        return one == other
    with suppress(OSError):
        status = os.stat(one)  # noqa: PTH116 - a Path per file takes longer, and a corpus may have many
        if status.st_ino:  # 0: a file system without inodes
            return os.path.samestat(status, os.stat(other))  # noqa: PTH116
    return resolved(one) == resolved(other)


def among(file: str | Path, others: Iterable[str | Path]) -> bool:
    """Return whether a file is the same as any of some others."""
    return any(same_file(file, other) for other in others)


def distinct(names: Sequence[P]) -> list[P]:
    """Return the first name of each file or folder, in the same order."""
    first: dict[str, P] = {}
    for name in names:
        first.setdefault(os.path.realpath(name), name)
    return list(first.values())
