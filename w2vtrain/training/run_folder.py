"""Manage the run folder during training: which run it belongs to, when to save, and what signals do.

This module knows neither engine nor trainer: fit.py passes arrays in and gets them back. checkpoint.py defines the
files of a checkpoint, and journal.py the record of the run in config.json.
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
from types import FrameType
from typing import Any

import numpy as np

from w2vtrain.config import Settings
from w2vtrain.errors import (
    ConfigError,
    DataError,
    InputMissing,
    OutputError,
    ReadError,
    Stopped,
    W2VError,
    WriteError,
    reason,
    shown,
    spelled,
)
from w2vtrain.system.files import atomic_write, disk_is_full
from w2vtrain.system.machine import available_memory
from w2vtrain.system.storage import remove_file
from w2vtrain.system.trust import open_trusted, raise_if_passing, require_trust
from w2vtrain.text.vocabulary import Vocabulary
from w2vtrain.training import checkpoint
from w2vtrain.training.fingerprint import vocabulary_checksum
from w2vtrain.training.journal import CONFIG, FREE, Journal, OtherSchema, changes
from w2vtrain.training.preflight import check_disk
from w2vtrain.training.writer import Writer

VOCABULARY = "vocab.txt"

RETRY, LONGEST_RETRY = 5.0, 60.0
"""Seconds between attempts to write results to a full disk: RETRY more each time, up to LONGEST_RETRY."""

Arrays = Callable[[], Mapping[str, np.ndarray]]
About = Callable[[], dict[str, Any]]
STOPPED_EARLY = (
    "stopped before training began: the same command continues from the last checkpoint, or starts over without one"
)
"""The message of Stopped for a signal that arrives before training."""


class Run:
    """The folder of one run. The caller holds its lock.

    every: seconds between checkpoints; wait_for_disk: on a full disk, warn and continue without a checkpoint; warn:
    called with lines about storage problems; alarm: called with a line when results have to wait for disk space.

    Checkpoints are written in the background, one at a time, from copies of the arrays. If there is not enough memory
    for copies, training waits until the checkpoint is written.
    """

    def __init__(self, folder: Path, every: float = 600.0, wait_for_disk: bool = False) -> None:
        self.folder, self.every, self.wait_for_disk = folder, every, wait_for_disk
        self.stopping = self.saving = self.preparing = self.learning = False
        self.last, self.number, self.waits = time.monotonic(), 0, 0
        self._journal: Journal | None = None
        self.is_new = False  # set by `begin`: the folder had no config.json
        self.shared: Path | None = None  # a folder of the caller's that makes the run folder worth keeping
        self.unsaved: tuple[Arrays, About] | None = None
        self.behind: tuple[Arrays, About] | None = None  # being written in the background, or failed
        self.warn: Callable[[str], None] = lambda _: None
        self.alarm: Callable[[str], None] = lambda _: None
        self.writer = Writer(
            lambda line: self.warn(f"{line}: the storage is slow or hangs; training continues meanwhile")
        )

    @property
    def journal(self) -> Journal:
        """The run's record in config.json; available after `begin`."""
        assert self._journal is not None, "`begin` has not been called"
        return self._journal

    @property
    def _about(self) -> Mapping[str, Any]:
        """The run's request and settings, to be stored in checkpoints."""
        return self._journal.about if self._journal else {}

    def begin(self, settings: Settings, about: dict[str, Any], anew: bool = False) -> checkpoint.Checkpoint | None:
        """Record which run the folder belongs to, and load the checkpoint to resume from, if there is one.

        If it has checkpoints or results of a run with other settings, start over if `anew`, else raise ConfigError.
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
                        f"{self.folder}: belongs to another run ({'; '.join(changed)}): finish it with"
                        f" `w2vtrain resume {self.folder}`, or use {spelled('force', True)} to start over"
                    )
                self.forget()
            else:
                self.journal.complete = before.complete
        self.journal.save()
        found = checkpoint.load(self.folder)
        if found is not None:
            self.number = found.number
            for number in checkpoint.numbers(self.folder):
                if number > found.number:  # damaged, and new checkpoints will get these names
                    checkpoint.remove(self.folder, number)
        return found

    def prepare(self) -> None:
        """Let signals end the run before training begins: reading may take long. Raise Stopped if one has arrived."""
        self.preparing = True
        self.end_if_stopped()

    def end_if_stopped(self) -> None:
        """Raise Stopped if a signal requested it before training began."""
        if self.stopping:
            raise Stopped(STOPPED_EARLY)

    def is_complete(self, outputs: Sequence[str]) -> bool:
        """Return whether all these outputs are files that the run had written before it was killed."""
        return self.journal.complete and all(self.journal.owns(path) for path in outputs)

    def forget(self) -> None:
        """Delete all checkpoints, so that the run starts over."""
        for number in checkpoint.numbers(self.folder):
            checkpoint.remove(self.folder, number)

    def check_disk_space(self, words: int, width: int) -> None:
        """Raise WriteError if checkpoints will not fit on the disk; only warn if the run waits for disk space."""
        try:
            check_disk(self.folder, words, width)
        except WriteError as error:
            if not self.wait_for_disk:
                raise
            self.warn(f"{error}; training continues and skips checkpoints that do not fit")

    def keep(self, vocabulary: Vocabulary) -> None:
        """Write the vocabulary to the run folder unless it is there, so that `export` does not need the corpus."""
        path = self.folder / VOCABULARY
        with suppress(DataError, InputMissing, ReadError):
            if vocabulary_checksum(kept_vocabulary(self.folder)) == vocabulary_checksum(vocabulary):
                return
        try:
            with atomic_write(path, force=True, follow=False) as file:
                file.write(vocabulary.text())
        except (WriteError, OutputError) as error:
            self._skip_or_raise(error)

    def due(self) -> bool:
        """Return whether training should call `pause`. Any thread may call this."""
        if self.stopping or self.saving or self.writer.failed:
            return True
        return not self.writer.busy and time.monotonic() - self.last >= self.every

    def pause(self, arrays: Arrays, about: About, milestone: bool = False) -> None:
        """Save a checkpoint if it is due, requested or a milestone. Save and raise Stopped if a signal requested that.

        `arrays` and `about` are called only to save. Training also calls this after each epoch, so a checkpoint is due
        here after a tenth of `every`. An error in writing an earlier checkpoint is raised here.
        """
        self.unsaved = arrays, about
        self._check_writer(0)
        if self.stopping:
            self.save()
            raise Stopped(f"stopped and saved in {self.folder}: the same command or `w2vtrain resume` continues it")
        soon = not self.writer.busy and (milestone or time.monotonic() - self.last >= self.every / 10)
        if self.saving or soon:
            self.saving = False
            self._save_in_background(arrays(), about())

    def _check_writer(self, timeout: float | None = None) -> None:
        """Raise the error of the last checkpoint, unless a warning is enough: see `_skip_or_raise`."""
        try:
            self.writer.wait(timeout)
        except (WriteError, OutputError) as error:
            self.unsaved = self.unsaved or self.behind
            self._skip_or_raise(error)

    def _skip_or_raise(self, error: W2VError) -> None:
        """Warn and continue if the disk is full and the run waits for disk space; otherwise raise the error."""
        if not self.wait_for_disk or not disk_is_full(error):
            raise error
        self.last = time.monotonic()
        self.warn(f"{error}; training continues without it and tries to write the next checkpoint when it is due")

    def save(self) -> None:
        """Save the state of the last `pause` unless it is saved already. Ignore errors of earlier checkpoints."""
        try:
            self.writer.wait()
        except (WriteError, OutputError):
            self.unsaved = self.unsaved or self.behind
        if self.unsaved:
            arrays, about = self.unsaved
            self.number += 1
            checkpoint.save(self.folder, self.number, arrays(), about(), self._about)
            self.last, self.unsaved = time.monotonic(), None

    def _save_in_background(self, arrays: Mapping[str, np.ndarray], about: dict[str, Any]) -> None:
        if sum(array.nbytes for array in arrays.values()) > available_memory() / 2:
            try:
                self.save()
            except (WriteError, OutputError) as error:
                self._skip_or_raise(error)
            return
        self._check_writer()
        self.number += 1
        number, copies = self.number, {name: array.copy() for name, array in arrays.items()}
        self.last, self.behind, self.unsaved = time.monotonic(), self.unsaved, None
        self.writer.start(
            f"{self.folder}, checkpoint {number}",
            lambda: checkpoint.save(self.folder, number, copies, about, self._about),
        )

    def await_disk_space(self, error: W2VError) -> bool:
        """Wait for disk space after the results did not fit, and return True if the caller should try again.

        Return False for other errors, without `wait_for_disk`, or if a signal stops the run. Save before waiting.
        """
        if not self.wait_for_disk or not disk_is_full(error):
            return False
        if not self.waits:
            self.alarm(f"{error}; retrying until there is enough disk space")
        with suppress(WriteError, OutputError):
            self.save()
        self.waits += 1
        end = time.monotonic() + min(RETRY * self.waits, LONGEST_RETRY)
        while not self.stopping and time.monotonic() < end:
            time.sleep(0.1)
        return not self.stopping

    def is_needed(self) -> bool:
        """Return whether the run can be resumed, or the folder is the only record of files that the run wrote."""
        if self.writer.busy or checkpoint.numbers(self.folder) or (self.shared and self.shared.exists()):
            return True
        if self.stopping and not self.learning:  # `resume` starts it over
            return True
        return self._journal is not None and self._journal.owns_any()

    def tidy(self) -> None:
        """Delete the run's files if it created the folder and none is needed. Spare a folder that `begin` refused."""
        if self.is_new and self.folder.exists() and not self.is_needed():
            self.finish()

    def settle(self, timeout: float | None = None) -> None:
        """Wait at most `timeout` seconds for the checkpoint that is being written. Ignore its error."""
        with suppress(W2VError):
            self.writer.wait(timeout)

    def finish(self) -> None:
        """Delete the run's files, after the results are written or if there are none.

        config.json is deleted last, so that a run killed here still knows that it had finished. `checkpoint.locked`
        deletes the lock and the folder.
        """
        self.settle()
        with suppress(OSError, ReadError):  # whatever cannot be deleted is kept together with config.json
            self.forget()
            checkpoint.sweep(self.folder)
            if checkpoint.has_parts(self.folder):
                return
            for name in (VOCABULARY, CONFIG):
                remove_file(self.folder / name)


def kept_vocabulary(folder: Path) -> Vocabulary:
    """Read a run folder's vocabulary.

    Raise InputMissing if it cannot be opened or trusted, ReadError if not at the moment, DataError if invalid.
    """
    path = folder / VOCABULARY
    try:
        os.close(open_trusted(path, os.O_RDONLY, require_trust(folder, InputMissing)))
    except OSError as error:
        raise_if_passing(path, error)
        raise InputMissing(f"{path} cannot be opened: {reason(error)}") from error
    try:
        return Vocabulary.load(path)
    except InputMissing as error:
        if isinstance(error.__cause__, OSError):
            raise_if_passing(path, error.__cause__)
        raise


def stored(folder: Path, error: type[W2VError] = OutputError) -> Journal:
    """Read a run folder's config.json.

    Raise InputMissing if the folder does not exist, DataError if it has no config.json or one that was changed by hand,
    and ReadError if it cannot be read at the moment.

    error: the class of error to raise if the folder cannot be trusted.
    """
    try:
        there, missing = folder.is_dir(), not folder.exists()
    except OSError as found:
        raise_if_passing(folder, found)
        raise InputMissing(f"{shown(str(folder))} cannot be opened: {reason(found)}") from found
    if missing:
        raise InputMissing(f"{folder}: does not exist: the run has finished; if it never began, repeat the fit command")
    journal = Journal.read(folder, require_trust(folder, error)) if there else None
    if journal is None and there and checkpoint.is_unused(folder):
        raise DataError(f"{folder}: this run never began: repeat the fit command")
    if journal is None:
        raise DataError(f"{folder}: is not a run folder: it has no {CONFIG}")
    newest = checkpoint.described(folder)
    about = newest[1] if newest else {}
    request = about.get("request")
    free, parts = (FREE, None) if journal.sealed else ((), request if isinstance(request, dict) else None)
    if newest and (changed := changes(about, journal.about, free, parts)):
        raise DataError(
            f"{folder / CONFIG}: was changed after checkpoint {newest[0]} was written ({'; '.join(changed)}):"
            " undo the change; to train with other settings, start another run"
        )
    if not journal.sealed:
        raise DataError(f"{folder / CONFIG}: was changed by hand: its digest does not match; undo the change")
    return journal


def _compiler_calls(frame: FrameType | None) -> bool:
    """Return whether the compiler has called what this frame is part of: it would drop an exception, and its code.

    A signal that arrives while LLVM compiles is handled there. Training, which begins then, stops at its first pause.
    """
    while frame is not None and not frame.f_code.co_name.startswith("_raw_object_cache_"):
        frame = frame.f_back
    return frame is not None


@contextmanager
def listening(run: Run) -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP save and stop the run, SIGUSR1 save it, and a second SIGINT interrupt at once.

    On Windows, SIGBREAK (Ctrl-Break) takes the place of SIGHUP. SIGHUP stays ignored under nohup. Do nothing outside of
    the main thread: other threads cannot handle signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        if run.stopping and number == signal.SIGINT:
            raise KeyboardInterrupt
        run.stopping = True
        if run.preparing and not run.learning and not _compiler_calls(frame):
            run.end_if_stopped()

    def save(number: int, _: Any) -> None:
        run.saving = True

    wanted: dict[Any, Callable[[int, Any], None]] = {signal.SIGINT: stop, signal.SIGTERM: stop}
    if hasattr(signal, "SIGUSR1"):
        wanted[signal.SIGUSR1] = save
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        wanted[signal.SIGHUP] = stop
    if hasattr(signal, "SIGBREAK"):
        wanted[signal.SIGBREAK] = stop

    def unraisable(found: Any) -> None:
        # An exception that a handler raises during a compiler callback ends up here. Drop Stopped: `stopping` is set.
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
