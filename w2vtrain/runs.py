"""A run's folder while it learns: what it is a run of, when to save, what signals ask for.

It knows neither engine nor trainer: the pipeline hands in arrays, and gets them back. How a checkpoint lies on the disk
is checkpoint.py's matter.
"""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from . import checkpoint
from .config import FIELDS, Settings
from .container import json_object
from .errors import ConfigError, DataError, OutputError, ResourceError, Stopped, W2VError, WriteError
from .files import STDOUT, atomic_write, disk_is_full
from .fingerprint import vocabulary_checksum
from .machine import available_memory
from .room import check_disk
from .vocab import Vocabulary
from .writer import Writer

CONFIG, VOCABULARY, WRITING = "config.json", "vocab.txt", "writing"
FREE = ("threads", "stall_timeout")
"""Settings that may differ between a run and its continuation."""
DECIDING = ("sources", "heldout", "read_vocab")
"""What the result depends on beside the settings."""

RETRY, LONGEST_RETRY = 5.0, 60.0
"""Seconds after which results that found no room are written again: each time so much later, up to the longest."""

Arrays = Callable[[], Mapping[str, np.ndarray]]
About = Callable[[], dict[str, Any]]


class Run:
    """One folder, whose lock the caller holds. every: seconds between checkpoints; warn: to be told of slow storage;
    alarm: to be told that results wait for room.

    Checkpoints are written while training goes on, from copies of its arrays, one at a time; where there is no room
    for copies, training waits. patient: a disk without room for a checkpoint is told, and training goes on.
    """

    def __init__(self, folder: Path, every: float = 600.0, patient: bool = False) -> None:
        self.folder, self.every, self.patient = folder, every, patient
        self.stopping = self.saving = self.learning = False
        self.last, self.number, self.waits = time.monotonic(), 0, 0
        self.unsaved: tuple[Arrays, About] | None = None
        self.behind: tuple[Arrays, About] | None = None  # what the writer is writing, or could not
        self.mine: set[str] = set()  # real paths of outputs that this run began to write before it was killed
        self.asked: dict[str, Any] = {}  # the request that the folder is of
        self.warn: Callable[[str], None] = lambda _: None
        self.alarm: Callable[[str], None] = lambda _: None
        self.writer = Writer(
            lambda line: self.warn(f"{line}: the storage is slow or hangs; training goes on meanwhile")
        )

    def begin(self, settings: Settings, about: dict[str, Any], anew: bool = False) -> checkpoint.Checkpoint | None:
        """Note what the folder is a run of, and load the checkpoint to go on from, if there is one.

        ConfigError where the folder is of other settings, unless `anew`: then what is there is deleted.
        """
        path = self.folder / CONFIG
        text = json.dumps({**about, "settings": asdict(settings)}, indent=2)
        before = _read(path)
        if before:
            asked = before.get("request")
            self.asked, self.mine = asked if isinstance(asked, dict) else {}, _begun(self.folder / WRITING)
        if before and (changed := _changes(before, json.loads(text))):
            if not anew:
                raise ConfigError(
                    f"{self.folder}: is of another run ({'; '.join(changed)}): finish that with"
                    f" `w2vtrain resume {self.folder}`, or say --force to start anew"
                )
            self.forget()
            self.mine = set()
        if not self.mine:
            (self.folder / WRITING).unlink(missing_ok=True)
        with atomic_write(path, force=True) as file:
            file.write(text.encode())
        found = checkpoint.load(self.folder)
        if found is not None:
            self.number = found.number
            for number in checkpoint.numbers(self.folder):
                if number > found.number:  # damaged, and the next ones will have these names
                    checkpoint.remove(self.folder, number)
        return found

    def writing(self, outputs: Sequence[str]) -> None:
        """Note which results are about to be written where there was no file: killed on the way, the run goes on."""
        new = {os.path.realpath(file) for file in outputs if file != STDOUT and not Path(file).exists()}
        self.mine |= new
        with suppress(W2VError), atomic_write(self.folder / WRITING, force=True) as file:  # the results matter more
            file.write(json.dumps(sorted(self.mine)).encode())

    def forget(self) -> None:
        """Delete what was saved: the run starts anew."""
        for number in checkpoint.numbers(self.folder):
            checkpoint.remove(self.folder, number)

    def check_room(self, words: int, width: int) -> None:
        """ResourceError where checkpoints will not fit on the disk; a warning to who waits for room."""
        try:
            check_disk(self.folder, words, width)
        except ResourceError as error:
            if not self.patient:
                raise
            self.warn(f"{error}; training goes on without those for which there is none")

    def keep(self, vocabulary: Vocabulary) -> None:
        """Write the vocabulary beside the checkpoints, once: with it `export` needs no corpus."""
        with suppress(W2VError, OSError):
            if vocabulary_checksum(Vocabulary.load(self.folder / VOCABULARY)) == vocabulary_checksum(vocabulary):
                return
        try:
            vocabulary.save(self.folder / VOCABULARY, force=True)
        except (WriteError, OutputError) as error:
            self._without(error)

    def due(self) -> bool:
        """Whether training should pause for `pause`; asked by any thread."""
        if self.stopping or self.saving or self.writer.failed:
            return True
        return not self.writer.busy and time.monotonic() - self.last >= self.every

    def pause(self, arrays: Arrays, about: About) -> None:
        """Save if it is time or was asked for; Stopped if that was asked for. arrays and about are only then called.

        At the end of an epoch, too, where a tenth of the interval is over. What went wrong with an earlier checkpoint
        is raised here.
        """
        self.unsaved = arrays, about
        self._written(0)
        if self.stopping:
            self.save()
            raise Stopped(f"stopped, and saved in {self.folder}: the same command, or w2vtrain resume, goes on")
        soon = not self.writer.busy and time.monotonic() - self.last >= self.every / 10
        if self.saving or soon:
            self.saving = False
            self._save_behind(arrays(), about())

    def _written(self, timeout: float | None = None) -> None:
        """Raise what went wrong with the last checkpoint; or, where room is to be made, say so."""
        try:
            self.writer.wait(timeout)
        except (WriteError, OutputError) as error:
            self.unsaved = self.unsaved or self.behind
            self._without(error)

    def _without(self, error: W2VError) -> None:
        if not self.patient or not disk_is_full(error):
            raise error
        self.last = time.monotonic()
        self.warn(f"{error}; training goes on without it, and the next checkpoint is tried when it is due")

    def save(self) -> None:
        """Save what `pause` was last told of, unless that is done. What went wrong with an earlier one is no matter."""
        try:
            self.writer.wait()
        except (WriteError, OutputError):
            self.unsaved = self.unsaved or self.behind
        if self.unsaved:
            arrays, about = self.unsaved
            self.number += 1
            checkpoint.save(self.folder, self.number, arrays(), about())
            self.last, self.unsaved = time.monotonic(), None

    def _save_behind(self, arrays: Mapping[str, np.ndarray], about: dict[str, Any]) -> None:
        if sum(array.nbytes for array in arrays.values()) > available_memory() / 2:
            try:
                self.save()
            except (WriteError, OutputError) as error:
                self._without(error)
            return
        self._written()
        self.number += 1
        number, copies = self.number, {name: array.copy() for name, array in arrays.items()}
        self.last, self.behind, self.unsaved = time.monotonic(), self.unsaved, None
        self.writer.start(
            f"{self.folder}, checkpoint {number}", lambda: checkpoint.save(self.folder, number, copies, about)
        )

    def await_room(self, error: W2VError) -> bool:
        """Whether results without room on the disk shall be written again: after a while, unless asked to stop.

        Meanwhile what was learned is saved, if there is room for that.
        """
        if not self.patient or not disk_is_full(error):
            return False
        if not self.waits:
            self.alarm(f"{error}; tried again until there is room")
        with suppress(WriteError, OutputError):
            self.save()
        self.waits += 1
        end = time.monotonic() + min(RETRY * self.waits, LONGEST_RETRY)
        while not self.stopping and time.monotonic() < end:
            time.sleep(0.1)
        return not self.stopping

    def tidy(self) -> None:
        """Leave no folder behind that nothing can go on from, and that knows of no results half written."""
        begun = checkpoint.numbers(self.folder) or (self.folder / WRITING).exists()
        if not self.writer.busy and self.folder.exists() and not begun:
            self.finish()

    def settle(self, timeout: float | None = None) -> None:
        """Wait for the checkpoint that is being written, however it ends, but not longer than so many seconds."""
        with suppress(W2VError):
            self.writer.wait(timeout)

    def finish(self) -> None:
        """The results are written: nothing here is needed any more."""
        self.settle()
        self.forget()
        for name in (WRITING, CONFIG, VOCABULARY, checkpoint.LOCK):
            with suppress(OSError):  # what is held open cannot be deleted everywhere
                (self.folder / name).unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()


def _begun(path: Path) -> set[str]:
    """The outputs that a marker names; none where it is not whole."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return set()
    return {name for name in found if isinstance(name, str)} if isinstance(found, list) else set()


def _read(path: Path) -> dict[str, Any]:
    try:
        return json_object(path.read_bytes(), f"{path} is", "; remove the folder to start anew")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}; remove the folder to start anew") from error


def _changes(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """How a run differs from that of a folder, in what decides its result."""
    found = []
    for part, names in (("settings", now["settings"]), ("request", DECIDING)):
        old, new = before.get(part), now.get(part)
        if not isinstance(old, dict) or not isinstance(new, dict):
            continue
        for name in names:
            first = old.get(name, FIELDS[name].default if name in FIELDS else None)  # older versions lack some
            if name not in FREE and first != new.get(name):
                found.append(f"{name} {first!r}, not {new.get(name)!r}")
    return found


def stored(folder: Path) -> dict[str, Any]:
    """What `begin` was told about the run, and its settings. DataError where this is no run's folder."""
    if not (found := _read(folder / CONFIG)):
        raise DataError(f"{folder}: is no run's folder: there is no {CONFIG}")
    return found


@contextmanager
def listening(run: Run) -> Iterator[None]:
    """Let SIGINT and SIGTERM save and stop the run, SIGUSR1 save it; a second SIGINT interrupts at once.

    Only the main thread can listen; elsewhere this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _: Any) -> None:
        if run.stopping and number == signal.SIGINT:
            raise KeyboardInterrupt
        run.stopping = True
        if not run.learning:
            raise Stopped("stopped before training began: the same command starts anew")

    def save(number: int, _: Any) -> None:
        run.saving = True

    wanted: dict[Any, Callable[[int, Any], None]] = {signal.SIGINT: stop, signal.SIGTERM: stop}
    if hasattr(signal, "SIGUSR1"):
        wanted[signal.SIGUSR1] = save
    before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
