"""A run's folder while it learns: what it is a run of, when to save, what signals ask for.

It knows neither engine nor trainer: fit.py hands in arrays, and gets them back. checkpoint.py knows how a checkpoint
lies on the disk, journal.py what the folder says of its run.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from w2vtrain.config import Settings
from w2vtrain.errors import (
    ConfigError,
    DataError,
    InputMissing,
    OutputError,
    Stopped,
    W2VError,
    WriteError,
    reason,
    shown,
)
from w2vtrain.system.files import atomic_write, disk_is_full
from w2vtrain.system.machine import available_memory
from w2vtrain.system.trust import open_trusted, require_trust
from w2vtrain.text.vocab import Vocabulary
from w2vtrain.training import checkpoint
from w2vtrain.training.fingerprint import vocabulary_checksum
from w2vtrain.training.journal import CONFIG, FREE, Journal, OtherSchema, changes
from w2vtrain.training.preflight import check_disk
from w2vtrain.training.writer import Writer

VOCABULARY = "vocab.txt"

RETRY, LONGEST_RETRY = 5.0, 60.0
"""Seconds before results are written again on a full disk: RETRY more each time, at most LONGEST_RETRY."""

Arrays = Callable[[], Mapping[str, np.ndarray]]
About = Callable[[], dict[str, Any]]


class Run:
    """The folder of one run, whose lock the caller holds.

    every: seconds between checkpoints; wait_for_disk: report a disk without room for a checkpoint, and continue; warn:
    takes lines about storage; alarm: takes the line that results wait for room.

    Checkpoints are written while training continues, from copies of its arrays, one at a time. Without enough memory
    for copies, training waits.
    """

    def __init__(self, folder: Path, every: float = 600.0, wait_for_disk: bool = False) -> None:
        self.folder, self.every, self.wait_for_disk = folder, every, wait_for_disk
        self.stopping = self.saving = self.preparing = self.learning = False
        self.last, self.number, self.waits = time.monotonic(), 0, 0
        self._journal: Journal | None = None
        self.is_new = False  # nothing was known of the run before `begin`
        self.unsaved: tuple[Arrays, About] | None = None
        self.behind: tuple[Arrays, About] | None = None  # what the writer is writing, or could not
        self.warn: Callable[[str], None] = lambda _: None
        self.alarm: Callable[[str], None] = lambda _: None
        self.writer = Writer(
            lambda line: self.warn(f"{line}: the storage is slow or hangs; training goes on meanwhile")
        )

    @property
    def journal(self) -> Journal:
        """The record of the run, from `begin` on."""
        assert self._journal is not None, "the run has not begun"
        return self._journal

    @property
    def _about(self) -> Mapping[str, Any]:
        """What was requested, for checkpoints."""
        return self._journal.about if self._journal else {}

    def begin(self, settings: Settings, about: dict[str, Any], anew: bool = False) -> checkpoint.Checkpoint | None:
        """Record what the folder is a run of, and load the checkpoint to resume from, if there is one.

        Raise ConfigError if a run with other settings has checkpoints or results here, unless `anew`: then start over.
        """
        trusted = require_trust(self.folder, OutputError)
        now = json.loads(json.dumps({**about, "settings": asdict(settings)}))
        try:
            before = Journal.read(self.folder, trusted)
        except OtherSchema:
            if not anew:
                raise
            before = None
            self.forget()
        self._journal, self.is_new = Journal(self.folder, trusted, now), before is None
        if before:
            self.journal.run, self.journal.outputs, self.journal.locks = before.run, before.outputs, before.locks
            newest = checkpoint.described(self.folder)
            if changed := changes(newest[1] if newest else before.about, now):
                if not anew and (checkpoint.numbers(self.folder) or before.complete):
                    raise ConfigError(
                        f"{self.folder}: is of another run ({'; '.join(changed)}): finish that with"
                        f" `w2vtrain resume {self.folder}`, or say --force to start over"
                    )
                self.forget()
            else:
                self.journal.complete = before.complete
        self.journal.save()
        found = checkpoint.load(self.folder)
        if found is not None:
            self.number = found.number
            for number in checkpoint.numbers(self.folder):
                if number > found.number:  # damaged, and the next ones will have these names
                    checkpoint.remove(self.folder, number)
        return found

    def prepare(self) -> None:
        """Let signals end what comes before training: reading takes long. Raise Stopped if one came already."""
        self.preparing = True
        self.end_if_stopped()

    def end_if_stopped(self) -> None:
        """Raise Stopped if a signal asked for it before training began."""
        if self.stopping:
            where = f"continues from checkpoint {self.number}" if self.number else "starts over"
            raise Stopped(f"stopped before training began: the same command {where}")

    def is_complete(self, outputs: Sequence[str]) -> bool:
        """Return whether these are the run's results, all of them files and written before it was killed."""
        return self.journal.complete and all(self.journal.owns(path) for path in outputs)

    def forget(self) -> None:
        """Delete what was saved: the run starts over."""
        for number in checkpoint.numbers(self.folder):
            checkpoint.remove(self.folder, number)

    def check_disk_space(self, words: int, width: int) -> None:
        """Raise WriteError if checkpoints will not fit on the disk; warn instead if the run waits for room."""
        try:
            check_disk(self.folder, words, width)
        except WriteError as error:
            if not self.wait_for_disk:
                raise
            self.warn(f"{error}; training continues, and skips checkpoints that do not fit")

    def keep(self, vocabulary: Vocabulary) -> None:
        """Write the vocabulary beside the checkpoints, once: with it `export` needs no corpus."""
        path = self.folder / VOCABULARY
        with suppress(DataError, InputMissing):
            if vocabulary_checksum(kept_vocabulary(self.folder)) == vocabulary_checksum(vocabulary):
                return
        try:
            with atomic_write(path, force=True, follow=False) as file:
                file.write(vocabulary.text())
        except (WriteError, OutputError) as error:
            self._without(error)

    def due(self) -> bool:
        """Return whether training should come to `pause`. Any thread may ask."""
        if self.stopping or self.saving or self.writer.failed:
            return True
        return not self.writer.busy and time.monotonic() - self.last >= self.every

    def pause(self, arrays: Arrays, about: About, milestone: bool = False) -> None:
        """Save if it is time, if that was requested, or at a milestone; raise Stopped if that was requested.

        arrays and about are called only then. At the end of an epoch, which is when this is called without a request,
        it is time after a tenth of the interval. The error of an earlier checkpoint is raised here.
        """
        self.unsaved = arrays, about
        self._written(0)
        if self.stopping:
            self.save()
            raise Stopped(f"stopped, and saved in {self.folder}: the same command, or w2vtrain resume, continues")
        soon = not self.writer.busy and (milestone or time.monotonic() - self.last >= self.every / 10)
        if self.saving or soon:
            self.saving = False
            self._save_behind(arrays(), about())

    def _written(self, timeout: float | None = None) -> None:
        """Raise the error of the last checkpoint, or report it if the run waits for room on the disk."""
        try:
            self.writer.wait(timeout)
        except (WriteError, OutputError) as error:
            self.unsaved = self.unsaved or self.behind
            self._without(error)

    def _without(self, error: W2VError) -> None:
        """Report that training continues without a checkpoint, or raise the error if the run does not wait for room."""
        if not self.wait_for_disk or not disk_is_full(error):
            raise error
        self.last = time.monotonic()
        self.warn(f"{error}; training goes on without it, and the next checkpoint is tried when it is due")

    def save(self) -> None:
        """Save the state of the last `pause` if it is not saved yet. Ignore errors of earlier checkpoints."""
        try:
            self.writer.wait()
        except (WriteError, OutputError):
            self.unsaved = self.unsaved or self.behind
        if self.unsaved:
            arrays, about = self.unsaved
            self.number += 1
            checkpoint.save(self.folder, self.number, arrays(), about(), self._about)
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
            f"{self.folder}, checkpoint {number}",
            lambda: checkpoint.save(self.folder, number, copies, about, self._about),
        )

    def await_disk_space(self, error: W2VError) -> bool:
        """Return whether to write results again that had no room on the disk: after a while, unless asked to stop.

        Meanwhile save what was learned, if there is room for that.
        """
        if not self.wait_for_disk or not disk_is_full(error):
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

    def is_needed(self) -> bool:
        """Return whether the folder has something to resume from, or a file outside that is known only here."""
        if self.writer.busy or checkpoint.numbers(self.folder):
            return True
        return self._journal is not None and self._journal.owns_any()

    def tidy(self) -> None:
        """Delete the folder if this run made it and it is not needed; one that `begin` refused stays as it is."""
        if self.is_new and self.folder.exists() and not self.is_needed():
            self.finish()
        elif not self._journal and not (self.folder / CONFIG).exists():
            with suppress(OSError):
                (self.folder / checkpoint.LOCK).unlink(missing_ok=True)
                self.folder.rmdir()

    def settle(self, timeout: float | None = None) -> None:
        """Wait for the checkpoint that is being written, however it ends, but not longer than so many seconds."""
        with suppress(W2VError):
            self.writer.wait(timeout)

    def finish(self) -> None:
        """Delete all that is here, once the results are written or there are none.

        The journal goes last: as long as it is there, a run that is killed here knows that it had finished.
        """
        self.settle()
        self.forget()
        for name in (VOCABULARY, CONFIG, checkpoint.LOCK):
            with suppress(OSError):  # Windows deletes no open file
                (self.folder / name).unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()


def kept_vocabulary(folder: Path) -> Vocabulary:
    """Read the vocabulary in a run's folder. InputMissing if it cannot be opened or trusted, DataError if damaged."""
    path = folder / VOCABULARY
    try:
        os.close(open_trusted(path, os.O_RDONLY, require_trust(folder, InputMissing)))
    except OSError as error:
        raise InputMissing(f"{path} cannot be opened: {reason(error)}") from error
    return Vocabulary.load(path)


def stored(folder: Path, error: type[W2VError] = OutputError) -> Journal:
    """Read what a run's folder says of its run. DataError if it says nothing, or if it was changed by hand.

    error: what to raise if the folder is not to be trusted.
    """
    try:
        there = folder.is_dir()
    except OSError as found:  # a name that is too long
        raise InputMissing(f"{shown(str(folder))} cannot be opened: {reason(found)}") from found
    journal = Journal.read(folder, require_trust(folder, error)) if there else None
    if journal is None:
        raise DataError(f"{folder}: is no run's folder: there is no {CONFIG}")
    newest = checkpoint.described(folder)
    about = newest[1] if newest else {}
    request = about.get("request")
    free, parts = (FREE, None) if journal.sealed else ((), request if isinstance(request, dict) else None)
    if newest and (changed := changes(about, journal.about, free, parts)):
        raise DataError(
            f"{folder / CONFIG}: was changed after checkpoint {newest[0]} was written ({'; '.join(changed)}):"
            " undo the change; to train with other settings, begin another run"
        )
    if not journal.sealed:
        raise DataError(f"{folder / CONFIG}: was changed by hand: its digest does not match; undo the change")
    return journal


@contextmanager
def listening(run: Run) -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP save and stop the run, SIGUSR1 save it; a second SIGINT interrupts at once.

    SIGHUP stays ignored under nohup. Only the main thread can listen; elsewhere this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _: Any) -> None:
        if run.stopping and number == signal.SIGINT:
            raise KeyboardInterrupt
        run.stopping = True
        if run.preparing and not run.learning:
            run.end_if_stopped()

    def save(number: int, _: Any) -> None:
        run.saving = True

    wanted: dict[Any, Callable[[int, Any], None]] = {signal.SIGINT: stop, signal.SIGTERM: stop}
    if hasattr(signal, "SIGUSR1"):
        wanted[signal.SIGUSR1] = save
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        wanted[signal.SIGHUP] = stop

    def unraisable(found: Any) -> None:
        # The compiler calls back into Python, where a handler may run and its exception is lost: `stopping` remains.
        if not isinstance(found.exc_value, Stopped):
            hook(found)

    before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
    hook, sys.unraisablehook = sys.unraisablehook, unraisable
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)
