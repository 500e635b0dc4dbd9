"""Checks, by owner and mode, that no other user could have written a folder or file.

jit.py runs the machine code in its cache, so this protects whoever shares a machine or a disk. On Windows, every folder
is trusted, because folders are protected there by access control lists, not by modes.
"""

import os
import secrets
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from w2vtrain.system.files import open_regular


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
    trusted = _new_files_in(folder)
    if problem := distrust(status, trusted):
        raise PermissionError(problem)
    return trusted


def _new_files_in(folder: Path) -> Trusted:
    """Return who may own this user's files in a folder, by creating a file there and removing it.

    Some file systems give all files the same owner (NFS with root_squash) or the same mode (exFAT).
    """
    trusted = _root_and_me()
    path = folder / f".probe-{secrets.token_hex(8)}"
    with suppress(OSError):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            status = os.fstat(handle)
        finally:
            os.close(handle)
            path.unlink(missing_ok=True)
        return Trusted(trusted.owners | {status.st_uid}, not status.st_mode & stat.S_IWOTH)
    return trusted


def _root_and_me() -> Trusted:
    """Return the users who are always trusted: root and this user.

    Windows reports 0 as the owner of all files, and its modes protect nothing.
    """
    if hasattr(os, "geteuid"):
        return Trusted(frozenset([0, os.geteuid()]))
    return Trusted(frozenset([0]), False)


def open_trusted(path: Path, trusted: Trusted) -> int:
    """Open a regular file in a trusted folder for reading, and return its descriptor.

    Raise PermissionError with the reason if another user, or a member of the file's group, could have written it, and
    the errors of `open_regular`.
    """
    handle = open_regular(path, os.O_RDONLY)
    status = os.fstat(handle)
    problem = distrust(status, trusted)
    if not problem and trusted.modes and status.st_mode & stat.S_IWGRP:
        problem = "its group can write to it (to fix this, use chmod g-w)"
    if problem:
        os.close(handle)
        raise PermissionError(problem)
    return handle


def _user(uid: int) -> str:
    if sys.platform != "win32":
        import pwd

        with suppress(KeyError):
            return f"{pwd.getpwuid(uid).pw_name} ({uid})"
    return str(uid)
