"""Hold lock files: one process holds each, the text in it says which, and the system drops a lock with its process.

It knows nothing about what a lock protects, a run's folder or an output: its callers do.
"""

import errno
import logging
import os
import socket
import time
from contextlib import suppress
from pathlib import Path

from filelock import lock_descriptor

from w2vtrain.errors import OutputError, reason
from w2vtrain.system.trust import Trusted, open_trusted

NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK)
OWNER = "process "
"""Prefix of a lock file's first line, which says who holds it."""
RUN = "run "
"""Prefix of the line with the run's id."""
LONGEST = 500
"""Bytes of a lock file that are read."""


class Lock:
    """A lock file that this process holds from the constructor on, until `release` or its end.

    what: what the lock protects, for messages; run: the id of the run that holds it. `release` keeps the file unless
    `remove` is set. Raises OutputError if another process holds the lock or the file cannot be opened safely.
    """

    def __init__(self, path: Path, what: str, trusted: Trusted, run: str = "") -> None:
        self.path, self._what, self._trusted = path, what, trusted
        self._handle = self._take()
        while not self._has_name():  # its holder has deleted the file meanwhile: what was locked is no longer the lock
            os.close(self._handle)
            self._handle = self._take()
        self.write(run)

    def write(self, run: str = "") -> None:
        """Write down the process, and the run that it belongs to."""
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        text = f"{OWNER}{os.getpid()} on {socket.gethostname()} since {since}\n" + (f"{RUN}{run}\n" if run else "")
        with suppress(OSError):  # on a full disk the lock is held, but its file does not say by whom
            os.ftruncate(self._handle, 0)
            os.lseek(self._handle, 0, os.SEEK_SET)
            os.write(self._handle, text.encode())

    def release(self, remove: bool = False) -> None:
        """Let others take the lock; remove: delete its file, while it is still held."""
        if remove and self._has_name():
            with suppress(OSError):  # Windows deletes no open file; a lock file that remains does no harm
                self.path.unlink(missing_ok=True)
        os.close(self._handle)

    def _take(self) -> int:
        try:
            handle = open_trusted(self.path, os.O_RDWR | os.O_CREAT, self._trusted)
        except OSError as error:
            raise OutputError(
                f"{self.path}: this lock file cannot be used: {reason(error)}; remove it if no run writes {self._what},"
                " or name another output"
            ) from error
        if _text(handle)[: len(OWNER)] not in ("", OWNER):
            os.close(handle)
            raise OutputError(f"{self.path}: is in the way, and no lock file of this program: rename it")
        if _locked(handle, self.path):
            return handle
        owner = _text(handle).partition("\n")[0].strip()
        os.close(handle)
        owner = owner or "another process"
        raise OutputError(f"{self._what}: in use by {owner}; wait for it, or choose another output or --run folder")

    def _has_name(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._handle), self.path.stat(follow_symlinks=False))
        except OSError:
            return False


def run_of(path: Path, trusted: Trusted) -> str | None:
    """Return the id of the run that a lock file belongs to, held or not; None without a file, an id or trust in it."""
    try:
        handle = open_trusted(path, os.O_RDONLY, trusted)
    except OSError:
        return None
    try:
        lines = _text(handle).splitlines()
    finally:
        os.close(handle)
    return next((line.removeprefix(RUN) for line in lines if line.startswith(RUN)), None)


def _locked(handle: int, path: Path) -> bool:
    try:
        return lock_descriptor(handle, blocking=False)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            os.close(handle)
            raise OutputError(f"{path}: cannot be locked: {reason(error)}") from error
        logging.getLogger(__name__).warning(
            "%s: this file system has no locks: two runs that write the same output are not kept apart", path
        )
        return True


def _text(handle: int) -> str:
    try:
        os.lseek(handle, 0, os.SEEK_SET)
        return os.read(handle, LONGEST).decode("utf-8", "replace")
    except OSError:  # Windows lets nobody read what is locked
        return ""
