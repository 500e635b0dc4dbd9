"""Decide whether two names are, or will be, the same file, so that an output never overwrites an input.

Nothing is opened. Only if two files that do not exist yet have names that differ merely in case or in the composition
of accented letters, an empty file is created for a moment, because some file systems would take them for one file.
"""

import os
import secrets
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from w2vtrain.system.files import STDOUT
from w2vtrain.system.storage import remove_file


def same_file(one: str | Path, other: str | Path) -> bool:
    """Return whether two names are the same file, or will be once both are created. `-` is the same only as itself.

    Files that exist are compared by device and inode, so links and other spellings of a name count. Names of new files
    are compared as the file system of their folder does: APFS and NTFS ignore case, APFS also composition.
    """
    if STDOUT in (one, other):
        return one == other
    status, other_status = _status(one), _status(other)
    if status and other_status and status.st_ino:  # 0: a file system without inodes
        return os.path.samestat(status, other_status)
    if bool(status) != bool(other_status):
        return False
    first, second = Path(os.path.realpath(one)), Path(os.path.realpath(other))
    if first == second:
        return True
    if _folded(first.name) != _folded(second.name) or not same_file(first.parent, second.parent):
        return False
    return _is_one_name(first.parent, first.name, second.name)


def among(file: str | Path, others: Iterable[str | Path]) -> bool:
    """Return whether a file is the same as any of some others."""
    return any(same_file(file, other) for other in others)


def _status(path: str | Path) -> os.stat_result | None:
    with suppress(OSError):
        return os.stat(path)  # noqa: PTH116 - a Path per file takes longer, and a corpus may have many
    return None


def _folded(name: str) -> str:
    """Return a form that is equal for all names that any file system takes for the same one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _is_one_name(folder: Path, one: str, other: str) -> bool:
    """Return whether a folder's file system takes two names for the same: a file created under one has the other."""
    if one == other:
        return True
    prefix = f".probe-{secrets.token_hex(8)}-"
    probe = folder / (prefix + one)
    with suppress(OSError):  # a folder that does not exist or cannot be written to: the output is refused anyway
        probe.open("xb").close()
        try:
            return (folder / (prefix + other)).exists()
        finally:
            remove_file(probe)
    return False
