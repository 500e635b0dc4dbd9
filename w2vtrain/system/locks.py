"""Lock files: each is held by at most one process, names that process, and is released when the process ends.

A lock protects a run folder, or an output file, beside which it is. `check_output` checks both the file and its lock.
"""

import errno
import logging
import os
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path

from w2vtrain.errors import OutputError, reason, spelled
from w2vtrain.system.files import answering, check_writable, is_stream, open_regular, resolved
from w2vtrain.system.machine import launched_processes, process_exists

NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK)
OWNER_PREFIX = "process "
"""Prefix of a lock file's first line, which names the process that holds it."""
RUN_PREFIX = "run "
"""Prefix of the line with the run's id."""
ANOTHER = "another process"
MAX_READ_BYTES = 500
"""The beginning of a lock file that is read; the rest is ignored."""


class Lock:
    """A lock file that this process holds from construction until `release` or the end of the process.

    protected: what the lock protects, for messages; run: the id of the run that holds it, if it has one. The file
    names the process and the run. Raises OutputError if another process holds the lock or the file cannot be opened.
    """

    def __init__(self, path: Path, protected: str, run: str = "") -> None:
        self.path, self.protected = path, protected
        self._handle = self._take()
        while not self._has_name():  # the previous holder deleted the file in the meantime: lock the new one instead
            os.close(self._handle)
            self._handle = self._take()
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        text = f"{OWNER_PREFIX}{os.getpid()} on {socket.gethostname()} since {since}\n"
        text += f"{RUN_PREFIX}{run}\n" if run else ""
        with suppress(OSError):  # on a full disk, the lock is held although its file does not say by whom
            os.ftruncate(self._handle, 0)
            os.lseek(self._handle, 0, os.SEEK_SET)
            os.write(self._handle, text.encode())

    def release(self, remove: bool = False) -> None:
        """Release the lock. The file stays, unless `remove` is set: then it is deleted.

        It is deleted while the lock is held, so that no other process can take a lock whose file is about to disappear.
        Windows deletes only closed files, so another process that opens it in between keeps it.
        """
        if sys.platform == "win32":
            os.close(self._handle)
            if remove:
                with suppress(OSError):
                    self.path.unlink()
            return
        for _ in range(2 if remove else 0):  # storage that fails once must not leave the lock of a finished run
            with suppress(OSError):  # a leftover lock file does no harm
                if self._has_name():
                    self.path.unlink()
                    break
        os.close(self._handle)

    def _take(self) -> int:
        try:
            with answering(self.path):
                handle = open_regular(self.path, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise OutputError(
                f"{self.path}: this lock file cannot be used: {reason(error)}; remove it if no run is writing"
                f" {self.protected}, or choose another output"
            ) from error
        try:
            self._check(handle)
        except OutputError:
            os.close(handle)
            raise
        return handle

    def _check(self, handle: int) -> None:
        """Lock an open lock file; raise OutputError if that is not possible."""
        if _text(handle)[: len(OWNER_PREFIX)] not in ("", OWNER_PREFIX):
            raise OutputError(f"{self.path}: this name is needed for a lock file, but the file is not one: rename it")
        if not _locked(handle, self.path):
            raise in_use(self.protected, _owner(handle).removeprefix(OWNER_PREFIX) or ANOTHER)

    def _has_name(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._handle), self.path.stat(follow_symlinks=False))
        except OSError:
            return False


def in_use(protected: str, owner: str) -> OutputError:
    """Return the error for what another process has locked. owner: as `holder` returns it."""
    by = owner if owner == ANOTHER else f"{OWNER_PREFIX}{owner}"
    remedy = "wait for it, or choose another output or run folder"
    if launched_processes() > 1:
        remedy = f"{remedy}; for one run of several processes, add {spelled('distributed', 'mpi')}"
    return OutputError(f"{protected}: in use by {by}; {remedy}")


def lock_path(output: str | Path) -> Path:
    """Return the path of the lock file beside an output, with symbolic links resolved."""
    target = resolved(output)
    return target.parent / f".{target.name}.lock"


def check_free(output: str | Path) -> None:
    """Raise OutputError if another process holds the lock beside an output, as `fit` does while it runs."""
    if owner := holder(lock_path(output)):
        raise in_use(str(output), owner)


def check_output(path: str | Path, force: bool = False) -> None:
    """Raise OutputError if `atomic_write(path, force)` would, or if a running `fit` will write the same file.

    Call this before hours of work whose result goes to `path`. It creates and removes a file beside the target.
    """
    check_writable(path, force)
    if not is_stream(path):
        check_free(path)


def run_of(path: Path) -> str | None:
    """Return the id of the run that a lock file names, held or not; None if it is missing or has no id.

    Raise ReadError if the storage does not answer.
    """
    try:
        with answering(path), os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
            lines = _text(file.fileno()).splitlines()
    except OSError:
        return None
    return next((line.removeprefix(RUN_PREFIX) for line in lines if line.startswith(RUN_PREFIX)), None)


def holder(path: Path) -> str | None:
    """Return the process that holds a lock file, as the file names it; None if none does.

    The lock is tried only if the process may be alive, because another process could need it at that moment.
    """
    try:
        with os.fdopen(open_regular(path, os.O_RDWR), "rb") as file:
            owner = _owner(file.fileno()).removeprefix(OWNER_PREFIX)
            if _has_ended(owner) or _takes_lock(file.fileno()):
                return None
            return owner or ANOTHER
    except OSError:
        return None


def _has_ended(owner: str) -> bool:
    """Return whether the process that a lock file names ran on this host and does not exist any more."""
    pid, _, rest = owner.partition(" on ")
    on_this_host = rest.startswith(f"{socket.gethostname()} since ")
    return on_this_host and pid.isdecimal() and not process_exists(int(pid))


def _takes_lock(handle: int) -> bool:
    """Lock an open file; return whether that was possible."""
    from filelock import lock_descriptor  # slow, and most commands find no lock file

    return lock_descriptor(handle, blocking=False)


def _locked(handle: int, path: Path) -> bool:
    try:
        return _takes_lock(handle)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise OutputError(f"{path}: cannot be locked: {reason(error)}") from error
        logging.getLogger(__name__).warning(
            "%s: this file system has no locks: nothing stops two runs from writing the same output at once", path
        )
        return True


def _text(handle: int) -> str:
    """Return the beginning of a lock file. On Windows, its first byte cannot be read while another process holds it."""
    for start in (0, 1):
        with suppress(OSError):
            os.lseek(handle, start, os.SEEK_SET)
            text = os.read(handle, MAX_READ_BYTES).decode("utf-8", "replace")
            return OWNER_PREFIX[:start] + text if text else ""
    return ""


def _owner(handle: int) -> str:
    """Return the first line of a lock file, which names a process."""
    return _text(handle).partition("\n")[0].strip()
