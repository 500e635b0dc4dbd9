"""Jobs of several MPI ranks, each a process: start them, disturb one of them at a known moment, and see what is left.

Because the moment is a round of the training, or a call of a function, no test depends on the speed of the machine.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
from hosts import mpiexec

LIMIT = 120
"""Seconds after which a job counts as hanging."""
SCRIPT = """
import os, signal, sys
from w2vtrain import cli

def at(round, act):
    from w2vtrain.leaves.mpi.session import Session
    meet, rounds = Session.meet, iter(range(1, 1 << 30))
    def disturbed(self, *arguments, **more):
        if next(rounds) == round:
            act(self)
        return meet(self, *arguments, **more)
    Session.meet = disturbed

rank = int(os.environ["PMI_RANK"])
{disturbance}
cli.main()
"""


@dataclass(frozen=True)
class Ended:
    """How a job ended: the launcher's exit code, what all ranks wrote to stderr, and the ranks that it left behind."""

    code: int
    said: str
    orphans: list[psutil.Process]

    @property
    def errors(self) -> list[str]:
        """The lines of stderr that report errors, or that a signal has stopped the run."""
        starts = ("w2vtrain: error", "w2vtrain: stopped")
        return [line for line in self.said.replace("\r", "\n").splitlines() if line.startswith(starts)]


class Command:
    """A command that runs in a folder, in a session of its own, as a batch system starts it."""

    def __init__(self, folder, words):
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            list(map(str, words)), cwd=folder, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
            start_new_session=True,
        )  # fmt: skip
        self.launcher = psutil.Process(self.process.pid)

    def said(self):
        """Return what the job has written so far."""
        return os.pread(self._log.fileno(), 1 << 24, 0).decode("utf-8", "replace")

    def ranks(self):
        """Return the processes of the ranks, in order."""
        found = [one for one in self.launcher.children(recursive=True) if "PMI_RANK" in _environment(one)]
        return sorted(found, key=lambda one: int(_environment(one)["PMI_RANK"]))

    def wait_until(self, ready, seconds=LIMIT):
        """Wait until `ready` is true; return False if the job ends before."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            if ready():
                return True
            assert time.monotonic() < end, f"nothing happened within {seconds} s:\n{self.said()}"
            time.sleep(0.01)
        return False

    def end(self, seconds=LIMIT):
        """Wait for the end of the job, kill what is left of it, and return how it ended."""
        everyone = self.launcher.children(recursive=True) if self.process.poll() is None else []
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        _, left = psutil.wait_procs(everyone, 30)
        orphans = [one for one in left if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]
        for one in [*orphans, self.launcher]:
            if one.is_running():
                one.send_signal(signal.SIGKILL)
        said = self.said()
        self._log.close()
        assert code is not None, f"the job hangs after {seconds} s:\n{said}"
        return Ended(code, said, orphans)


class Job(Command):
    """A job of several ranks.

    ranks: their number; words: the command line of w2vtrain; disturbance: Python code that every rank runs first, which
    knows `rank` and `at(round, act)`; different: words before the program of the last rank only, for mpiexec.
    """

    def __init__(self, folder, ranks, words, disturbance="", different=()):
        program = [sys.executable, "-c", SCRIPT.format(disturbance=disturbance), *words]
        first = ["-n", ranks - bool(different), *program]
        last = [":", "-n", 1, *different, *program] if different else []
        super().__init__(folder, [mpiexec(), *first, *last])


def run(folder, ranks, words, disturbance="", different=()):
    """Run a job to its end."""
    job = Job(folder, ranks, words, disturbance, different)
    job.wait_until(lambda: len(job.ranks()) == ranks)
    return job.end()


def _environment(process):
    try:
        return process.environ()
    except psutil.Error:
        return {}


def content(folder, name="v.txt"):
    """Return the bytes of a result."""
    return (Path(folder) / name).read_bytes()


def names(folder):
    """Return the names of the files in a folder, in order."""
    return sorted(path.name for path in Path(folder).iterdir())
