"""Decide by owner and mode which folders and files another user could have written, and open those that are safe.

It knows no format: checkpoint.py, journal.py and jit.py say what they read. On Windows every folder is trusted: access
lists, not modes, protect it there.
"""

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from w2vtrain.errors import W2VError

NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
MODE = 0o664
"""Permissions of new files, less the umask: everyone may read them, nobody but the user and the group may write."""


class Trusted(NamedTuple):
    """Who may own files in a trusted folder, and whether its file system keeps permissions at all."""

    owners: frozenset[int]
    modes: bool = True


def distrust(about: os.stat_result, trusted: Trusted) -> str | None:
    """Return why a file or folder with this status is not to be trusted, None if it is."""
    if about.st_uid not in trusted.owners:
        return f"user {_user(about.st_uid)} owns it"
    if trusted.modes and about.st_mode & stat.S_IWOTH:
        return "everyone can write to it (chmod o-w helps)"
    return None


def trust(folder: Path) -> Trusted:
    """Return who is trusted in a folder that you or root own and that not everyone can write to.

    Raises PermissionError with the reason for any other folder, OSError if it cannot be looked at. A symbolic link to
    the folder is followed: whoever names it chose it.
    """
    if os.name != "posix":
        return Trusted(frozenset([0]), False)
    about, mine = folder.stat(), Trusted(frozenset([0, os.geteuid()]))
    if not distrust(about, mine):
        return mine
    mine = new_files_in(folder)
    if reason := distrust(about, mine):
        raise PermissionError(reason)
    return mine


def new_files_in(folder: Path) -> Trusted:
    """Return who may own this user's files in a folder, trusted or not, by the status of a new one.

    Some file systems give all files one owner (NFS with root_squash) or one mode (exFAT).
    """
    if os.name != "posix":
        return Trusted(frozenset([0]), False)
    mine = Trusted(frozenset([0, os.geteuid()]))
    path = folder / f".probe-{secrets.token_hex(8)}"
    with suppress(OSError):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW, 0o600)
        try:
            made = os.fstat(handle)
        finally:
            os.close(handle)
            path.unlink()
        return Trusted(mine.owners | {made.st_uid}, not made.st_mode & stat.S_IWOTH)
    return mine


def open_trusted(path: Path, flags: int, trusted: Trusted, group: bool = True) -> int:
    """Open a regular file of a trusted folder, never through a symbolic link; returns the descriptor.

    group: whether the file's group may write to it. Raises OSError; PermissionError with the reason if another user
    could have written the file.
    """
    if not NO_FOLLOW and path.is_symlink():
        raise PermissionError("it is a symbolic link")
    try:  # O_NONBLOCK: opening a pipe must not wait for its writer
        handle = os.open(path, flags | NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0), MODE)
    except OSError as error:
        if path.is_symlink():
            raise PermissionError("it is a symbolic link") from error
        raise
    about = os.fstat(handle)
    reason = "it is not a file" if not stat.S_ISREG(about.st_mode) else distrust(about, trusted)
    if not (reason or group) and trusted.modes and about.st_mode & stat.S_IWGRP:
        reason = "its group can write to it (chmod g-w helps)"
    if reason:
        os.close(handle)
        raise PermissionError(reason)
    return handle


def read_trusted(path: Path, limit: int, trusted: Trusted) -> bytes:
    """Read a file of a trusted folder. Errors as `open_trusted`; PermissionError if it has more than `limit` bytes."""
    with os.fdopen(open_trusted(path, os.O_RDONLY, trusted), "rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise PermissionError(f"it has more than {limit:,} bytes")
    return data


def require_trust(folder: Path, error: type[W2VError]) -> Trusted:
    """Do what `trust` does, and raise this class of error, with what to do about it, instead of OSError."""
    try:
        return trust(folder)
    except OSError as found:
        raise error(f"{folder} is not used: {reason(found)}: name another folder, or a copy of yours") from found


def reason(error: OSError) -> str:
    """Return what an OSError says, without its number and file name."""
    return error.strerror or str(error)


def _user(number: int) -> str:
    try:
        import pwd

        return f"{pwd.getpwuid(number).pw_name} ({number})"
    except (ImportError, KeyError):
        return str(number)
