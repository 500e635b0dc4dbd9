"""A run with a folder: take over what an earlier command left there, save checkpoints, and delete all at the end.

This module decides when to save and what may continue; it knows neither engine nor trainer. run_files.py has the files
that identify a run, and checkpoint_file.py its checkpoints.
"""

import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from w2vtrain.config import Settings
from w2vtrain.engines.base import Weights
from w2vtrain.errors import ConfigError, DataError, Diverged, OutputError, Stopped, W2VError, WriteError, spelled
from w2vtrain.system.background import SLOW_SECONDS, BackgroundThread
from w2vtrain.system.files import answering, atomic_write, resolved, resume_command
from w2vtrain.system.machine import available_memory
from w2vtrain.system.stopping import NAME
from w2vtrain.text.vocabulary import Vocabulary
from w2vtrain.training import checkpoint_file
from w2vtrain.training.fingerprint import vocabulary_checksum
from w2vtrain.training.memory_and_disk import Footprint, check_disk
from w2vtrain.training.run import NO_RESULT_SIZES, Phase, ResultSizes, Run, Snapshot
from w2vtrain.training.run_files import (
    CONFIG,
    CORPUS,
    VOCABULARY,
    Config,
    identity,
    kept_vocabulary,
    locked,
    read_config,
    settings_digest,
    sweep,
    write_config,
)
from w2vtrain.training.signals import listening
from w2vtrain.training.state import Saved

EPOCH_END_SHARE = 0.1
"""When training pauses, as at the end of an epoch, a checkpoint is due after this share of the time between them."""


class CheckpointedRun(Run):
    """A run with a folder for its checkpoints.

    every: seconds between checkpoints; cache: the folder in which ranks share the encoded corpus, by default the run
    folder; background: write checkpoints while training continues, one at a time, from copies of the arrays. If there
    is not enough memory for copies, training waits nevertheless until the checkpoint is written.
    """

    folder: Path

    def __init__(
        self, folder: Path, every: float = 600.0, cache: Path | None = None, allow_changed: bool = False,
        background: bool = True, results: ResultSizes = NO_RESULT_SIZES,
    ) -> None:  # fmt: skip
        super().__init__(results)
        self.folder, self.every, self.cache = folder, every, cache
        self.allow_changed, self.background = allow_changed, background
        self.last, self.number = time.monotonic(), 0
        self._config: Config | None = None
        self.is_new = False  # set by `read`: there is no config.json
        self.before: Config | None = None  # the config.json of the run that this one discards
        self.unsaved: Snapshot | None = None
        self.behind: Snapshot | None = None  # being written in the background, or failed
        self.writer = BackgroundThread(self._warn_of_delay)

    def _warn_of_delay(self, line: str) -> None:
        with suppress(W2VError):  # in a thread of its own: the one that trains will find the log not writable, too
            self.warn(f"{line}: the storage is slow or hangs; training continues meanwhile")

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder's lock, and let signals stop or save the run. Delete the folder when the block has ended.

        If the block raises an exception, keep the folder if it is needed or older than the run.
        """
        with listening(self), locked(self.folder):
            try:
                yield
            except BaseException as error:
                try:
                    if isinstance(error, Exception):
                        self.settle(SLOW_SECONDS)
                    is_command = self._config and "comparison" not in self._config.request
                    if isinstance(error, Diverged) and is_command and checkpoint_file.numbers(self.folder):
                        raise Diverged(f"{error}, with {spelled('force', True)} to start over") from error
                    if isinstance(error, DataError) and self._config:
                        self.remove_shared()
                finally:  # spare a folder that `read` refused
                    if self.is_new and self.folder.exists() and not self.is_needed():
                        self.finish()
                raise
            self.remove_shared()
            self.finish()

    @property
    def config(self) -> Config:
        """What config.json says, or will say; available after `read`."""
        assert self._config is not None, "`read` has not been called"
        return self._config

    def claim(self, target: Path, temporary: Path, grows: bool = False) -> None:
        with answering(temporary):
            self.config.written[str(target)] = identity(temporary)[: 1 if grows else None]
        self._write_config()

    def _write_config(self) -> None:
        """Write config.json, also if the folder was deleted, as by a script that cleans up."""
        with suppress(OSError):  # which writing reports
            if not self.folder.exists():
                self.folder.mkdir(0o775)
                self.warn(f"{self.folder}: was deleted during the run: it is created again")
        write_config(self.folder, self.config)

    def owns(self, path: str) -> bool:
        return self.config.owns(path)

    @property
    def shared(self) -> Path:
        """The folder in which the ranks of a job share the encoded corpus."""
        return resolved(self.cache) / f"{NAME}-{self.id}" if self.cache else resolved(self.folder) / CORPUS

    def read(
        self, settings: Settings, description: dict[str, Any], deciding: Sequence[str] = (), anew: bool = False
    ) -> None:
        """Find out which run the folder belongs to, and load the checkpoint to resume from. Nothing is changed yet.

        Without config.json, or if a run with other settings learned nothing, this run is new. If the folder has
        checkpoints or results of this run, it continues or is complete. If it has those of a run with other settings,
        start over if `anew`, else raise ConfigError. Likewise, if config.json has another schema, start over if `anew`,
        else raise DataError. If the settings in config.json are not those of the checkpoint, start over if
        `allow_changed`, else raise DataError. If all checkpoints are damaged or have the id of another run, start over
        if `anew`, else raise DataError.

        description: the fields `cwd` and `request` of config.json; deciding: see `Config.changes_since`.
        """
        # Convert tuples to lists, as JSON does: this is compared with a config that was read.
        now = json.loads(json.dumps({**description, "settings": asdict(settings)}))
        self.before, self._config = before, _ = read_config(self.folder, anew), Config.new(**now)
        self.is_new = before is None
        changed = []
        if before:
            changed = self.config.changes_since(before, deciding, self.folder)
            if changed and not anew and (checkpoint_file.numbers(self.folder) or before.complete):
                raise ConfigError(
                    f"{self.folder}: belongs to another run ({'; '.join(changed)}): finish it with"
                    f" `{resume_command(self.folder)}`, or use {spelled('force', True)} to start over"
                )
            old, new = before.cwd + os.sep, self.config.cwd + os.sep  # the files may have moved with the folder
            moved = {new + path.removeprefix(old): of for path, of in before.written.items() if path.startswith(old)}
            self.config.written = before.written | moved
            if not changed:
                self.config.run, self.config.complete = before.run, before.complete
        self.id = self.config.run
        try:
            has_own = before and not changed and not before.discards
            self.checkpoint = checkpoint_file.newest(self.folder, self.id) if has_own else None
        except DataError as error:
            if not anew:
                raise DataError(f"{error}, or use {spelled('force', True)}") from error
        if self.checkpoint and self.checkpoint.saved.settings != settings_digest(settings):
            if not self.allow_changed:
                raise DataError(
                    f"{self.folder}: the settings in its {CONFIG} are not those of its checkpoint: restore them, or use"
                    f" {spelled('allow_changed', True)} to start over"
                )
            self.checkpoint = None
        self.number = self.checkpoint.number if self.checkpoint else 0

    def is_complete(self, outputs: Sequence[str]) -> bool:
        return self.config.complete and all(self.config.owns(path) for path in outputs)

    def begin_outputs(self, complete: bool) -> None:
        """Write config.json. Checkpoints of another run, and damaged ones, stay until `keep`: the text may be empty."""
        self.config.complete = complete
        self.config.discards = not self.number and bool(checkpoint_file.numbers(self.folder))
        write_config(self.folder, self.config)

    def end_outputs(self) -> None:
        self.config.complete = True
        with suppress(W2VError):  # needed only if the run is killed during cleanup
            write_config(self.folder, self.config)

    @contextmanager
    def rescued(self) -> Iterator[None]:
        try:
            yield
        except W2VError as error:
            try:
                self.save()
                kept, next_step = "what was learned is saved", "writes the results once this is fixed"
            except W2VError:
                kept, next_step = "the last checkpoint is kept", "continues from it"
            if not checkpoint_file.numbers(self.folder):
                raise type(error)(
                    f"{error}; no checkpoint could be written either: what was learned is lost"
                ) from error
            raise type(error)(f"{error}; {kept}: {resume_command(self.folder)} {next_step}") from error

    def remove_checkpoints(self) -> None:
        self.settle()
        for number in checkpoint_file.numbers(self.folder):
            checkpoint_file.remove(self.folder, number)

    def check_disk_space(self, footprint: Footprint, vocabulary: Vocabulary, weights: Weights) -> None:
        """Files already in the folder, such as the checkpoints of the run that is resumed, need no more space."""
        check_disk([(self.folder, footprint.left(self.folder)), *self.results(vocabulary, weights)])

    def keep(self, vocabulary: Vocabulary) -> None:
        """Keep the words. First delete checkpoints of another run, and damaged ones: new ones will get their names."""
        for number in checkpoint_file.numbers(self.folder):
            if number > self.number:
                checkpoint_file.remove(self.folder, number)
        if self._config and self._config.discards:
            self.config.discards = False
            write_config(self.folder, self.config)
        path = self.folder / VOCABULARY
        with suppress(W2VError):  # it is written again
            if vocabulary_checksum(kept_vocabulary(self.folder)) == vocabulary_checksum(vocabulary):
                return
        with atomic_write(path, force=True, follow=False) as file:
            file.write(vocabulary.text())

    def due(self) -> bool:
        if self.stop_requested or self.save_requested or self.writer.failed:
            return True
        return not self.writer.busy and time.monotonic() - self.last >= self.every

    def pause(self, snapshot: Snapshot, milestone: bool = False) -> None:
        self.unsaved = snapshot
        self.writer.wait(0)
        if self.stop_requested:
            self.save()
            raise Stopped(f"stopped and saved in {self.folder}: the same command continues it")
        milestone = milestone and self.background  # training does not wait for it
        soon = not self.writer.busy and (milestone or time.monotonic() - self.last >= self.every * EPOCH_END_SHARE)
        if self.save_requested or soon:
            self.save_requested = False
            self._save_soon(*snapshot())

    def save(self) -> None:
        """Save the state of the last `pause` unless it is saved already. Ignore errors of earlier checkpoints."""
        try:
            self.writer.wait()
        except (WriteError, OutputError):
            self.unsaved = self.unsaved or self.behind
        if self.unsaved:
            self._heal()
            self.number += 1
            checkpoint_file.write(self.folder, self.number, self.id, *self.unsaved())
            self.last, self.unsaved = time.monotonic(), None

    def _save_soon(self, saved: Saved, arrays: Mapping[str, np.ndarray]) -> None:
        """Save in the background, from copies of the arrays, or in this thread if there is no memory for copies."""
        if not self.background or sum(array.nbytes for array in arrays.values()) > available_memory() / 2:
            self.save()
            return
        self.writer.wait()
        self._heal()
        self.number += 1
        number, copies = self.number, {name: array.copy() for name, array in arrays.items()}
        self.last, self.behind, self.unsaved = time.monotonic(), self.unsaved, None
        self.writer.start(
            f"{self.folder}, checkpoint {number}",
            lambda: checkpoint_file.write(self.folder, number, self.id, saved, copies),
        )

    def _heal(self) -> None:
        """Write config.json again if it was deleted: nothing could be resumed without it."""
        with answering(self.folder):
            is_lost = self._config is not None and not (self.folder / CONFIG).exists()
        if is_lost:
            self._write_config()

    def is_needed(self) -> bool:
        if self.writer.busy or checkpoint_file.numbers(self.folder):
            return True
        if self.stop_requested and self.phase in (Phase.STARTING, Phase.PREPARING):  # `resume` starts it over
            return True
        return self._config is not None and (self.shared.exists() or self._config.owns_any())

    def give_way(self) -> bool:
        if not self.before or not self.config.discards or self.stop_requested:
            return False
        with suppress(W2VError):
            write_config(self.folder, self.before)
            return True
        return False

    def settle(self, timeout: float | None = None) -> None:
        """Wait at most `timeout` seconds for the checkpoint that is being written. Ignore its error."""
        with suppress(W2VError):
            self.writer.wait(timeout)

    def remove_shared(self) -> None:
        """Delete the encoded corpus, which ranks keep for a restart."""
        shutil.rmtree(self.shared, ignore_errors=True)

    def finish(self) -> None:
        """Delete the run's files, after the results are written or if there are none.

        config.json is deleted last, so that a run killed here still knows that it had finished. `run_files.locked`
        deletes the lock and the folder.
        """
        with suppress(OSError, W2VError):
            self.remove_checkpoints()
            sweep(self.folder)
            if not checkpoint_file.numbers(self.folder):  # all could be deleted
                for name in (VOCABULARY, CONFIG):
                    (self.folder / name).unlink(missing_ok=True)
