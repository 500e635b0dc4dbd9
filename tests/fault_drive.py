"""Processes for tests/faults.py: started, watched, stopped, cut short; no system and no fault is known here."""

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
UNIT = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss


@dataclass(frozen=True)
class Run:
    """How a process ended: its code, minus a signal's number, or None if it was still running when its time was over;
    what it wrote on stderr; peak memory in bytes.
    """

    code: int | None
    said: str
    peak: int = 0


class Job:
    """A process in a folder, in a session of its own so that all its children can be ended with it.

    limits: of the operating system by resource.RLIMIT_*, in bytes.
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
        """What it wrote on stderr so far."""
        return os.pread(self._log.fileno(), 1 << 24, 0).decode("utf-8", "replace").replace("\r", "\n")

    def running(self) -> bool:
        """Whether it still runs; notes how it ended as soon as it has."""
        if self.process.returncode is None:
            self._peak = max(self._peak, high_water(self.process.pid))
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                self.process.returncode = os.waitstatus_to_exitcode(status)
                self._peak = self._peak or usage.ru_maxrss * UNIT
        return self.process.returncode is None

    def wait_until(self, ready: Callable[[], object], seconds: float) -> bool:
        """Wait for something, the process's end or `seconds`; whether it came and the process still runs."""
        end = time.monotonic() + seconds
        while self.running() and time.monotonic() < end:
            if ready():
                return self.running()
            time.sleep(TICK)
        return False

    def end(self, seconds: float) -> Run:
        """Let it run `seconds` more, then end it."""
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
    """Most memory that a process had, 0 where the system does not tell.

    What `wait4` says counts this process, too, from which the other was forked.
    """
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM")), 0)


@dataclass(frozen=True)
class Case:
    """What one system shall do about one fault, in a folder: its command to train, its command to load what it saved.

    output: the file that training writes; states: a pattern of what it saves on the way, "" for none; learning:
    a pattern of a line on stderr that says that training is well under way; seconds: after which it "hangs".
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
        """Run a command in the folder to its end, or that of its time."""
        return self.start(command, limits).end(self.seconds)

    def saved(self) -> list[Path]:
        """What was saved on the way and lies in the folder now."""
        return sorted(self.folder.glob(self.states)) if self.states else []

    def has_learned(self, said: str) -> bool:
        """Whether training is well under way by what was said."""
        return re.search(self.learning, said, re.M) is not None


Drive = Callable[[Case], list[Run]]


def once(case: Case) -> list[Run]:
    """Train."""
    return [case.run(case.train)]


def load(case: Case) -> list[Run]:
    """Load a file that is there."""
    return [case.run(case.load)]


def limited(memory: int, what: str = "train") -> Drive:
    """Train, or load, with so many bytes of address space."""
    return lambda case: [case.run(getattr(case, what), {resource.RLIMIT_AS: memory})]


def without_stderr(case: Case) -> list[Run]:
    """Train with standard error closed."""
    return [case.run(["sh", "-c", 'exec "$@" 2>&-', "sh", *case.train])]


def without_stdout(case: Case) -> list[Run]:
    """Train with standard output closed."""
    return [case.run(["sh", "-c", 'exec "$@" >&-', "sh", *case.train])]


def over_a_good_file(size: int) -> Drive:
    """Train; then the same again where no file may have more than `size` bytes. The first result is kept as `good`."""

    def drive(case: Case) -> list[Run]:
        first = case.run(case.train)
        shutil.copy(case.folder / case.output, case.folder / "good")
        return [first, case.run(case.train, {resource.RLIMIT_FSIZE: size})]

    return drive


def fed(text: bytes) -> Drive:
    """Train on the pipe corpus.txt, into which `text` is written once."""

    def drive(case: Case) -> list[Run]:
        path = case.folder / "corpus.txt"
        os.mkfifo(path)
        threading.Thread(target=path.write_bytes, args=(text,), daemon=True).start()
        return [case.run(case.train)]

    return drive


def cut_while_learning(case: Case) -> list[Run]:
    """Truncate the text to nothing while it is learned."""
    job = case.start(case.train)
    job.wait_until(lambda: case.has_learned(job.said()), case.seconds)
    os.truncate(case.folder / "corpus.txt", 0)
    return [job.end(case.seconds)]


def signaled(number: int) -> Drive:
    """Send a signal in training, once something is saved if something ever is; then, if anything was left to go on
    from, the same command again, and the same in the folder `whole` without any signal.
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
    """The same command twice at the same time; the one that ended well comes first, if only one did."""
    jobs = [case.start(case.train) for _ in range(2)]
    return sorted((job.end(case.seconds) for job in jobs), key=lambda run: run.code != 0)


def damaged(damage: Callable[[Path], None]) -> Drive:
    """Train, damage what was saved, load it. What saves on the way is killed when it has done so twice."""

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
    """Change a bit near the end of a file, among the numbers."""
    with path.open("r+b") as file:
        file.seek(-path.stat().st_size // 4, os.SEEK_END)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 64]))
