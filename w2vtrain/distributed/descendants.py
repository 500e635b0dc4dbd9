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
from collections.abc import Sequence
from contextlib import suppress

import psutil

from w2vtrain.errors import UsageError, reason, shown

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
PR_SET_CHILD_SUBREAPER = 36
ROUNDS = 10
"""How often to look for processes that survived SIGKILL or were forked meanwhile, a second apart at most."""


class Family:
    """A running command and its descendants. Raise UsageError if the command cannot be started.

    Its standard input is empty: a restarted command could not read the same input again.
    """

    def __init__(self, command: Sequence[str]) -> None:
        adopt_orphans()
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
        except (OSError, ValueError) as error:
            raise UsageError(f"{shown(command[0])} cannot be started: {reason(error)}") from error

    @property
    def code(self) -> int:
        """The exit code, or minus the number of the signal that ended the command or was sent to end it."""
        return -KILL if self.process.returncode is None else self.process.returncode

    def wait(self, seconds: float) -> bool:
        """Wait at most this long for the end of the command; return whether it has ended."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        return self.process.returncode is not None

    def signal(self, number: int) -> None:
        """Send a signal to the process group."""
        if sys.platform != "win32":  # commands/supervise.py refuses to start there
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, number)

    def kill(self) -> None:
        """Send SIGKILL to the process group and to all descendants."""
        self.signal(KILL)
        for one in descendants():
            with suppress(psutil.Error):
                one.kill()

    def end_all(self, grace: float) -> int:
        """End what is left of the command and its descendants: SIGTERM, after `grace` seconds SIGKILL.

        Return the number of processes that still exist, because the operating system cannot end them.
        """
        if self.process.returncode is not None and (left := descendants()):
            self.signal(signal.SIGTERM)
            for one in left:
                with suppress(psutil.Error):
                    one.terminate()
            psutil.wait_procs(left, grace)
        for _ in range(ROUNDS):
            self.kill()
            if self.wait(1) and not psutil.wait_procs(descendants(), 1)[1]:
                break
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


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends, so that `descendants` finds them. Linux only."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
