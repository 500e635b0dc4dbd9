"""Checks, by owner and mode, that no other user could have written a folder or file.

jit.py runs the machine code in its cache, so this protects whoever shares a machine or a disk. On Windows, everything
is trusted, because folders are protected there by access control lists, not by modes.
"""

import os
import stat
import sys
from pathlib import Path

from w2vtrain.system.files import open_regular


def trust(folder: Path) -> None:
    """Raise PermissionError with the reason unless this user or root owns a folder and not everyone can write to it.

    A symbolic link to the folder is followed, because the user chose it by naming it.
    """
    if problem := _distrust(folder.stat()):
        raise PermissionError(problem)


def open_trusted(path: Path) -> int:
    """Open a regular file in a trusted folder for reading, and return its descriptor.

    Raise PermissionError with the reason if another user, or a member of the file's group, could have written it, and
    the errors of `open_regular`.
    """
    handle = open_regular(path, os.O_RDONLY)
    if problem := _distrust(os.fstat(handle), stat.S_IWGRP):
        os.close(handle)
        raise PermissionError(problem)
    return handle


def _distrust(status: os.stat_result, group: int = 0) -> str | None:
    """Return why a file or folder cannot be trusted, or None. group: a bit of the mode that must not be set, either."""
    if sys.platform == "win32":
        return None
    if status.st_uid not in (0, os.geteuid()):
        return f"user {status.st_uid} owns it"
    if status.st_mode & stat.S_IWOTH:
        return "everyone can write to it (to fix this, use chmod o-w)"
    if status.st_mode & group:
        return "its group can write to it (to fix this, use chmod g-w)"
    return None
