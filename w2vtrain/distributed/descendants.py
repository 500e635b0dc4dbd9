"""Start a command in a process group of its own, and signal, measure and kill the group and all its descendants.

Launchers start ranks in sessions of their own, so a signal to the group does not reach all. Why and when a command is
ended is decided in supervisor.py.
"""

import ctypes
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from w2vtrain.errors import UsageError, reason, shown

KILL_SIGNAL = getattr(signal, "SIGKILL", signal.SIGTERM)
PR_SET_CHILD_SUBREAPER = 36
MPICH_FILES = "/dev/shm/mpich_shm_"
"""Beginning of the names of files that MPICH's ranks on one host share. Ranks that are killed leave them in memory."""
LOOK_SECONDS = 1.0
"""Seconds between two looks at the files that descendants map."""
KILL_ROUNDS = 10
"""How often to look for processes that survived SIGKILL or were forked meanwhile, a second apart at most."""


class Family:
    """A running command and its descendants. Raise UsageError if the command cannot be started.

    Its standard input is empty: a restarted command could not read the same input again.
    """

    def __init__(self, command: Sequence[str]) -> None:
        adopt_orphans()
        self._shared: set[str] = set()
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
        except (OSError, ValueError) as error:
            raise UsageError(f"{shown(command[0])} cannot be started: {reason(error)}") from error

    @property
    def code(self) -> int:
        """The exit code, or minus the number of the signal that ended the command or was sent to end it."""
        return -KILL_SIGNAL if self.process.returncode is None else self.process.returncode

    def wait(self, seconds: float) -> bool:
        """Wait at most this long for the end of the command; return whether it has ended."""
        end = time.monotonic() + seconds
        while self.process.poll() is None and (left := end - time.monotonic()) > 0:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(min(left, LOOK_SECONDS))
            self._shared |= shared_files()
        return self.process.returncode is not None

    def signal(self, number: int) -> None:
        """Send a signal to the process group."""
        if sys.platform != "win32":  # `supervise` refuses to start there
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, number)

    def kill(self) -> None:
        """Send SIGKILL to the process group and to all descendants."""
        self.signal(KILL_SIGNAL)
        for one in descendants():
            with suppress(psutil.Error):
                one.kill()

    def end_all(self, grace: float) -> int:
        """End what is left of the command and its descendants: SIGTERM, after `grace` seconds SIGKILL.

        Then remove the shared memory that they have left. Return the number of processes that still exist, because the
        operating system cannot end them.
        """
        self._shared |= shared_files()
        if self.process.returncode is not None and (left := descendants()):
            self.signal(signal.SIGTERM)
            for one in left:
                with suppress(psutil.Error):
                    one.terminate()
            psutil.wait_procs(left, grace)
        for _ in range(KILL_ROUNDS):
            self.kill()
            if self.wait(1) and not psutil.wait_procs(descendants(), 1)[1]:
                break
        for path in self._shared - shared_files():
            with suppress(OSError):  # ranks that ended by themselves have removed it
                Path(path).unlink()
        return len(descendants())

    def cpu(self) -> float:
        """Return the CPU seconds that the living descendants and their ended children have used."""
        total = 0.0
        for one in descendants():
            with suppress(psutil.Error):
                total += sum(one.cpu_times()[:4])
        return total


def started(command: str) -> bool:
    """Start a command, given as words in shell quoting, without waiting for it. Return whether it could be started."""
    with suppress(OSError, ValueError):
        subprocess.Popen(shlex.split(command), stdin=subprocess.DEVNULL)
        return True
    return False


def descendants() -> list[psutil.Process]:
    """Return the processes that this one started, directly or not."""
    return list(psutil.Process().children(recursive=True))


def shared_files() -> set[str]:
    """Return the files of MPICH that descendants map. Linux only; elsewhere, and of other users, there are none."""
    files: set[str] = set()
    for one in descendants():
        with suppress(OSError):
            maps = Path(f"/proc/{one.pid}/maps").read_text("utf-8", "surrogateescape")
            files |= {line[at:] for line in maps.splitlines() if (at := line.find(MPICH_FILES)) >= 0}
    return files


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends, so that `descendants` finds them. Linux only."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
