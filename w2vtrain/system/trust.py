"""Checks, by owner and mode, that no other user could have written a folder or file, and safe opening of files.

This module does not know the contents of the files: checkpoint.py, journal.py and jit.py do. On Windows, every folder
is trusted, because folders are protected there by access control lists, not by modes.
"""

import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from w2vtrain.errors import ReadError, W2VError, reason
from w2vtrain.system.storage import remove_file

NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
LASTING_ERRORS = (
    None, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENAMETOOLONG,
    errno.EINVAL, errno.ENXIO, errno.ENOSPC, getattr(errno, "EDQUOT", None), errno.EFBIG, errno.EROFS,
)  # fmt: skip
"""Error numbers that will occur again if the call is repeated; None is that of this module's own PermissionErrors.
Others, such as ESTALE and EIO of a network disk, may be temporary."""
PROBE_PATTERN = r"\.probe-[0-9a-f]{16}"
"""Pattern of the names of the files that `new_files_in` creates."""
FILE_MODE = 0o664
"""Permissions of new files before the umask is applied: everyone may read, only the user and the group may write."""


class Trusted(NamedTuple):
    """The ids of users who may own files in a trusted folder, and whether its file system supports permissions."""

    owners: frozenset[int]
    modes: bool = True


def distrust(status: os.stat_result, trusted: Trusted) -> str | None:
    """Return why a file or folder with this status cannot be trusted, or None if it can be."""
    if status.st_uid not in trusted.owners:
        return f"user {_user(status.st_uid)} owns it"
    if trusted.modes and status.st_mode & stat.S_IWOTH:
        return "everyone can write to it (to fix this, use chmod o-w)"
    return None


def trust(folder: Path) -> Trusted:
    """Return the trusted owners for a folder that this user or root owns and that not everyone can write to.

    Raise PermissionError with the reason for any other folder, and OSError if its status cannot be read. A symbolic
    link to the folder is followed, because the user chose it by naming it.
    """
    status, trusted = folder.stat(), _root_and_me()
    if not distrust(status, trusted):
        return trusted
    trusted = new_files_in(folder)
    if problem := distrust(status, trusted):
        raise PermissionError(problem)
    return trusted


def new_files_in(folder: Path) -> Trusted:
    """Return who may own this user's files in a folder, trusted or not, by creating a file there and removing it.

    Some file systems give all files the same owner (NFS with root_squash) or the same mode (exFAT).
    """
    trusted = _root_and_me()
    if not trusted.modes:
        return trusted
    path = folder / f".probe-{secrets.token_hex(8)}"
    with suppress(OSError):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW, 0o600)
        try:
            status = os.fstat(handle)
        finally:
            os.close(handle)
            remove_file(path)
        return Trusted(trusted.owners | {status.st_uid}, not status.st_mode & stat.S_IWOTH)
    return trusted


def _root_and_me() -> Trusted:
    """Return the users who are always trusted: root and this user.

    Windows reports 0 as the owner of all files, and its modes protect nothing.
    """
    if hasattr(os, "geteuid"):
        return Trusted(frozenset([0, os.geteuid()]))
    return Trusted(frozenset([0]), False)


def open_trusted(path: Path, flags: int, trusted: Trusted, group: bool = True) -> int:
    """Open a regular file in a trusted folder, never through a symbolic link, and return its descriptor.

    group: whether the file's group may have write permission. Raise PermissionError with the reason if another user
    could have written the file, and OSError if it cannot be opened.
    """
    if not NO_FOLLOW and path.is_symlink():
        raise PermissionError("it is a symbolic link")
    try:  # O_NONBLOCK: opening a pipe must not wait for its writer
        handle = os.open(path, flags | NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0), FILE_MODE)
    except OSError as error:
        if path.is_symlink():
            raise PermissionError("it is a symbolic link") from error
        raise
    status = os.fstat(handle)
    problem = "it is not a regular file" if not stat.S_ISREG(status.st_mode) else distrust(status, trusted)
    if not (problem or group) and trusted.modes and status.st_mode & stat.S_IWGRP:
        problem = "its group can write to it (to fix this, use chmod g-w)"
    if problem:
        os.close(handle)
        raise PermissionError(problem)
    return handle


def read_trusted(path: Path, limit: int, trusted: Trusted) -> bytes:
    """Return the content of a file in a trusted folder.

    Raises the errors of `open_trusted`, and PermissionError if the file has more than `limit` bytes.
    """
    with os.fdopen(open_trusted(path, os.O_RDONLY, trusted), "rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise PermissionError(f"it has more than {limit:,} bytes")
    return data


def raise_if_passing(path: Path, error: OSError, last: str = "") -> None:
    """Raise ReadError if an error says nothing about the file at `path`, which may be intact.

    last: the end of the message: what to do if it occurs again and again.
    """
    if error.errno not in LASTING_ERRORS:
        raise ReadError(
            f"{path} cannot be used at the moment: {reason(error)}: nothing is lost; try again{last}"
        ) from error


@contextmanager
def answering(path: Path) -> Iterator[None]:
    """Raise ReadError if a block that reads at `path` raises an OSError that may not occur again."""
    try:
        yield
    except OSError as error:
        raise_if_passing(path, error)
        raise


def require_trust(folder: Path, error: type[W2VError]) -> Trusted:
    """Do what `trust` does, but raise ReadError, or an error of the given class with a remedy, instead of OSError."""
    try:
        return trust(folder)
    except OSError as failure:
        raise_if_passing(folder, failure)
        line = f"{folder} cannot be used: {reason(failure)}: use another folder, or your own copy of it"
        raise error(line) from failure


def _user(uid: int) -> str:
    if sys.platform != "win32":
        import pwd

        with suppress(KeyError):
            return f"{pwd.getpwuid(uid).pw_name} ({uid})"
    return str(uid)
