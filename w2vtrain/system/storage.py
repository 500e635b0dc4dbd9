"""Open files, make them durable, and rename and remove them, by the rules of each operating system.

This module does not know what the files contain or when they are written: files.py, locks.py and checkpoint.py do.

On Windows, a file that any program has open, or mapped into memory, cannot be renamed, replaced or removed. So callers
close their own files first, and the functions here are patient with those of others.
"""

import errno
import os
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from w2vtrain.errors import ReadError, reason

T = TypeVar("T")

HELD_ERRORS = (5, 32, 33, 145)
"""Windows' error codes if a program has a file, or a file in a folder, open: access denied, sharing violation, lock
violation, folder not empty (a file that was removed while open has its name until it is closed)."""
PAUSE_SECONDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.2, 0.3, 0.3, 0.3)
"""Pauses between attempts to rename or remove a file that another program has open."""
UNSUPPORTED_ERRORS = (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOTTY)


NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
FILE_MODE = 0o664
"""Permissions of new files before the umask is applied: everyone may read, only the user and the group may write."""


@contextmanager
def answering(path: Path) -> Iterator[None]:
    """Raise ReadError if a block that reads at `path` raises an OSError that says nothing about what is there.

    A network disk that does not answer for a moment must not pass for one without the file, or with a damaged one.
    FileNotFoundError, NotADirectoryError, PermissionError and a name that is too long are left to the caller.
    """
    try:
        yield
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        raise
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
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


def is_held(error: BaseException | None) -> bool:
    """Return whether an error says that a program has a file open, which therefore cannot be renamed or removed."""
    return getattr(error, "winerror", None) in HELD_ERRORS


def patiently(action: Callable[[], T]) -> T:
    """Return the result of renaming or removing a file, which is repeated for 1.5 s while another program has it open.

    Virus scanners and search indexes open new files for a moment. Only Windows refuses to rename or remove them then,
    so on other systems, nothing is repeated.
    """
    for pause in PAUSE_SECONDS:
        try:
            return action()
        except OSError as error:
            if not is_held(error):
                raise
        time.sleep(pause)
    return action()


def remove_file(path: Path) -> None:
    """Delete a file, if it exists; raise OSError if it cannot be deleted."""
    patiently(lambda: path.unlink(missing_ok=True))


def remove_tree(folder: Path) -> None:
    """Delete a folder with its content. What cannot be deleted stays."""
    try:
        patiently(lambda: shutil.rmtree(folder))
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
