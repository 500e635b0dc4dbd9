"""Processes for tests/faults.py: start, watch and stop them, limit their resources, and damage their files.

Nothing here knows a particular system or fault.
"""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

TICK = 0.01
UNIT = 1 if sys.platform == "darwin" else 1024  # bytes per unit of ru_maxrss


@dataclass(frozen=True)
class Run:
    """How a process ended.

    code: its exit code, the negated number of the signal that killed it, or None if its time ran out; said: its output
    on stderr; peak: peak memory in bytes.
    """

    code: int | None
    said: str
    peak: int = 0


class Job:
    """A process in a folder, in its own session, so that all its children can be killed with it.

    limits: resource limits in bytes, by resource.RLIMIT_*.
    """

    def __init__(self, command: list[str], folder: Path, limits: Mapping[int, int] | None = None) -> None:
        def limited() -> None:
            for kind, value in (limits or {}).items():
                resource.setrlimit(kind, (value, value))

        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._log,
            start_new_session=True, preexec_fn=limited,
        )  # fmt: skip
        self._peak = 0

    def said(self) -> str:
        """Return what the process has written to stderr so far."""
        return os.pread(self._log.fileno(), 1 << 24, 0).decode("utf-8", "replace").replace("\r", "\n")

    def running(self) -> bool:
        """Return whether the process is still running; record its exit code and peak memory once it has ended."""
        if self.process.returncode is None:
            self._peak = max(self._peak, high_water(self.process.pid))
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                self.process.returncode = os.waitstatus_to_exitcode(status)
                self._peak = self._peak or usage.ru_maxrss * UNIT
        return self.process.returncode is None

    def wait_until(self, ready: Callable[[], object], seconds: float) -> bool:
        """Wait until `ready` is true, the process ends or `seconds` pass.

        Return whether `ready` is true and the process is still running.
        """
        end = time.monotonic() + seconds
        while self.running() and time.monotonic() < end:
            if ready():
                return self.running()
            time.sleep(TICK)
        return False

    def end(self, seconds: float) -> Run:
        """Let the process run for at most `seconds`, kill it if it is still running, and return how it ended."""
        self.wait_until(lambda: False, seconds)
        code = self.process.returncode
        if code is None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            while self.running():
                time.sleep(TICK)
        run = Run(code, self.said(), self._peak)
        self._log.close()
        return run


def high_water(pid: int) -> int:
    """Return the peak memory of a process in bytes, or 0 if the system does not report it.

    `wait4` is only a fallback: its figure includes the memory of this process, from which the other was forked.
    """
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM")), 0)


@dataclass(frozen=True)
class Case:
    """The commands of one system for one fault: one that trains in a folder, and one that loads what was saved there.

    output: the file that training writes; states: a glob pattern of what it saves during training, "" for none;
    learning: a regular expression for stderr that matches once training is well under way; seconds: the time after
    which a process counts as hanging.
    """

    folder: Path
    train: list[str]
    load: list[str]
    output: str
    learning: str
    states: str = ""
    seconds: float = 30.0

    def start(self, command: list[str], limits: Mapping[int, int] | None = None, folder: Path | None = None) -> Job:
        """Start a command in the folder."""
        return Job(command, folder or self.folder, limits)

    def run(self, command: list[str], limits: Mapping[int, int] | None = None) -> Run:
        """Run a command in the folder until it ends or its time runs out."""
        return self.start(command, limits).end(self.seconds)

    def saved(self) -> list[Path]:
        """Return the files and folders saved during training that are now in the folder."""
        return sorted(self.folder.glob(self.states)) if self.states else []

    def has_learned(self, said: str) -> bool:
        """Return whether this output on stderr shows that training is well under way."""
        return re.search(self.learning, said, re.M) is not None


Drive = Callable[[Case], list[Run]]


def once(case: Case) -> list[Run]:
    """Train once."""
    return [case.run(case.train)]


def load(case: Case) -> list[Run]:
    """Load a file that already exists."""
    return [case.run(case.load)]


def limited(memory: int, what: str = "train") -> Drive:
    """Train, or run the command that `what` names, with `memory` bytes of address space."""
    return lambda case: [case.run(getattr(case, what), {resource.RLIMIT_AS: memory})]


def without_stderr(case: Case) -> list[Run]:
    """Train with standard error closed."""
    return [case.run(["sh", "-c", 'exec "$@" 2>&-', "sh", *case.train])]


def without_stdout(case: Case) -> list[Run]:
    """Train with standard output closed."""
    return [case.run(["sh", "-c", 'exec "$@" >&-', "sh", *case.train])]


def over_a_good_file(size: int) -> Drive:
    """Train, then train again with files limited to `size` bytes. A copy of the first output is kept as `good`."""

    def drive(case: Case) -> list[Run]:
        first = case.run(case.train)
        shutil.copy(case.folder / case.output, case.folder / "good")
        return [first, case.run(case.train, {resource.RLIMIT_FSIZE: size})]

    return drive


def full_then_free(size: int) -> Drive:
    """Train with files limited to `size` bytes, without a limit in the folder `whole`, and again without a limit."""

    def drive(case: Case) -> list[Run]:
        first = case.run(case.train, {resource.RLIMIT_FSIZE: size})
        whole = case.folder / "whole"
        whole.mkdir()
        shutil.copy(case.folder / "corpus.txt", whole)
        return [first, case.start(case.train, folder=whole).end(case.seconds), case.run(case.train)]

    return drive


def fed(text: bytes) -> Drive:
    """Train on the named pipe corpus.txt, into which `text` is written once."""

    def drive(case: Case) -> list[Run]:
        path = case.folder / "corpus.txt"
        os.mkfifo(path)
        threading.Thread(target=path.write_bytes, args=(text,), daemon=True).start()
        return [case.run(case.train)]

    return drive


def cut_while_learning(case: Case) -> list[Run]:
    """Truncate the corpus to zero bytes during training."""
    job = case.start(case.train)
    job.wait_until(lambda: case.has_learned(job.said()), case.seconds)
    os.truncate(case.folder / "corpus.txt", 0)
    return [job.end(case.seconds)]


def signaled(number: int) -> Drive:
    """Send a signal during training, then run the same command again to see whether it resumes.

    The signal is sent once something is saved or, for systems that save nothing, once training is well under way. If
    the stopped run left any file, the command is run without a signal in the folder `whole`, and then again in the
    case's folder; the last run returned is the resumed one.
    """

    def drive(case: Case) -> list[Run]:
        job = case.start(case.train)
        ready = case.saved if case.states else lambda: case.has_learned(job.said())
        if not job.wait_until(ready, case.seconds):
            return [job.end(0)]
        job.process.send_signal(number)
        runs = [job.end(case.seconds)]
        if {path.name for path in case.folder.iterdir()} == {"corpus.txt"}:
            return runs
        whole = case.folder / "whole"
        whole.mkdir()
        shutil.copy(case.folder / "corpus.txt", whole)
        return [*runs, case.start(case.train, folder=whole).end(case.seconds), case.run(case.train)]

    return drive


def two_at_once(case: Case) -> list[Run]:
    """Run the same command twice at the same time; if only one run succeeds, it comes first in the result."""
    jobs = [case.start(case.train) for _ in range(2)]
    return sorted((job.end(case.seconds) for job in jobs), key=lambda run: run.code != 0)


def damaged(damage: Callable[[Path], None]) -> Drive:
    """Train, damage what was saved, and load it. A system with checkpoints is killed once it has saved two."""

    def drive(case: Case) -> list[Run]:
        job = case.start(case.train)
        if job.wait_until(lambda: len(case.saved()) > 1, case.seconds):
            job.process.kill()
        first = job.end(case.seconds)
        damage([case.folder / case.output, *case.saved()][-1])
        return [first, case.run(case.load)]

    return drive


def cut_in_half(path: Path) -> None:
    """Keep the first half of a file."""
    os.truncate(path, path.stat().st_size // 2)


def cut_short(path: Path) -> None:
    """Keep the first 200 bytes of a file."""
    os.truncate(path, 200)


def flip_a_bit(path: Path) -> None:
    """Flip a bit three quarters of the way into a file, among the numbers."""
    with path.open("r+b") as file:
        file.seek(-path.stat().st_size // 4, os.SEEK_END)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 64]))
