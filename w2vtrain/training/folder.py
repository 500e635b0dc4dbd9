"""A run folder as others see it: its lock, what killed runs left in it, and the run that it says it belongs to.

run_folder.py is the run that writes it, journal.py its config.json, and checkpoint.py its checkpoints.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from w2vtrain.errors import DataError, InputMissing, OutputError, W2VError, reason, shown, spelled
from w2vtrain.system.files import temporary_name, temporary_pattern
from w2vtrain.system.locks import Lock, check_lock
from w2vtrain.system.storage import patiently, remove_file, remove_tree, sync_folder
from w2vtrain.system.trust import PROBE_PATTERN, Trusted, answering, open_trusted, raise_if_passing, require_trust
from w2vtrain.text.vocabulary import Vocabulary
from w2vtrain.training import checkpoint
from w2vtrain.training.journal import CONFIG, VOCABULARY, Journal

LOCK = "lock"
LEFTOVER = re.compile(
    "|".join([checkpoint.PARTIAL_PATTERN, PROBE_PATTERN, *map(temporary_pattern, (CONFIG, VOCABULARY))])
)
"""Names of what a killed run leaves in its folder."""


def has_parts(folder: Path) -> bool:
    """Return whether a folder has checkpoints, or what is left of some that could not be deleted."""
    return any(
        checkpoint.CHECKPOINT_NAME.fullmatch(entry.name) or LEFTOVER.fullmatch(entry.name) for entry in folder.iterdir()
    )


def sweep(folder: Path) -> None:
    """Delete what killed runs left partially written or partially deleted. The caller must hold the lock."""
    with answering(folder):
        for entry in list(folder.iterdir()):
            if LEFTOVER.fullmatch(entry.name):
                if entry.is_dir():
                    remove_tree(entry)
                else:
                    remove_file(entry)


def require_own(folder: Path) -> Trusted:
    """Return whom to trust in a folder that is a run folder, is empty, or holds only a killed run's leftovers.

    Raise OutputError or DataError for any other folder: a run deletes files with fixed names in its folder, which could
    be the user's files elsewhere. This check comes before the lock file is created. `RunFolder.read` reads config.json
    again, because another holder of the lock may have changed it in between.
    """
    trusted = require_trust(folder, OutputError)
    with answering(folder):
        Journal.read(folder, trusted, anew=True)  # `RunFolder.read` decides about a run of another version
        if not (folder / CONFIG).exists() and not is_unused(folder):
            raise OutputError(
                f"{folder}: is not empty and is not a run folder: choose another folder with {spelled('run')}"
            )
    return trusted


def is_unused(folder: Path) -> bool:
    """Return whether a folder is empty, or has only what a run leaves that is killed before it has a config.json."""
    return all(entry.name == LOCK or LEFTOVER.fullmatch(entry.name) for entry in folder.iterdir())


@contextmanager
def _creating(folder: Path) -> Iterator[None]:
    """Raise OutputError if the block cannot create a run folder, or ReadError if that may be possible later."""
    try:
        yield
    except FileNotFoundError:
        raise OutputError(f"{folder}: the run folder cannot be created: there is no folder {folder.parent}") from None
    except OSError as error:
        raise_if_passing(folder, error)
        raise OutputError(f"{folder}: the run folder cannot be created: {reason(error)}") from error


def check_lockable(folder: Path) -> bool:
    """Raise the errors of `locked`, but leave nothing behind. Return whether the folder exists."""
    with _creating(folder):
        is_there = folder.is_dir()
        if not is_there:
            probe = temporary_name(folder)
            (folder if folder.exists() else probe).mkdir(0o775)  # raises FileExistsError for a file
            probe.rmdir()
    if is_there:
        check_lock(folder / LOCK, str(folder), require_own(folder))
    return is_there


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold RUN/lock, and create it and the folder if necessary. At the end, delete a folder that holds nothing else.

    Raise OutputError if another process holds the lock; the message says which, and since when. Also raise OutputError
    if the folder cannot be created or trusted. The operating system releases the lock when its process ends, so a
    killed run does not block the next one.
    """
    with _creating(folder):
        if not folder.is_dir():
            folder.mkdir(0o775, exist_ok=True)
            sync_folder(folder.parent)
    lock = Lock(folder / LOCK, str(folder), require_own(folder))
    try:
        sweep(folder)
        yield
    finally:
        empty = _holds_only_a_lock(folder)
        lock.release(remove=empty)
        if empty:
            with suppress(OSError):
                patiently(folder.rmdir)


def _holds_only_a_lock(folder: Path) -> bool:
    for _ in range(2):  # storage that fails once must not leave the lock of a finished run
        with suppress(OSError):
            return [entry.name for entry in folder.iterdir()] == [LOCK]
    return False


def kept_vocabulary(folder: Path) -> Vocabulary:
    """Read a run folder's vocabulary.

    Raise InputMissing if it cannot be opened or trusted, ReadError if not at the moment, DataError if invalid.
    """
    path = folder / VOCABULARY
    try:
        os.close(open_trusted(path, os.O_RDONLY, require_trust(folder, InputMissing)))
        return Vocabulary.load(path)
    except OSError as error:
        raise_if_passing(path, error)
        raise InputMissing(f"{path} cannot be opened: {reason(error)}") from error
    except InputMissing as error:
        if isinstance(error.__cause__, OSError):
            raise_if_passing(path, error.__cause__)
        raise


def read_journal(folder: Path, error: type[W2VError] = OutputError) -> Journal:
    """Read a run folder's config.json.

    Raise InputMissing if the folder does not exist, DataError if it has no config.json or one that was changed by hand,
    and ReadError if it cannot be read at the moment.

    error: the class of error to raise if the folder cannot be trusted.
    """
    try:
        there, missing = folder.is_dir(), not folder.exists()
    except OSError as failure:
        raise_if_passing(folder, failure)
        raise InputMissing(f"{shown(str(folder))} cannot be opened: {reason(failure)}") from failure
    if missing:
        raise InputMissing(f"{folder}: does not exist: the run has finished; if it never began, repeat the fit command")
    journal = Journal.read(folder, require_trust(folder, error)) if there else None
    if journal is None and there and is_unused(folder):
        raise DataError(f"{folder}: this run never began: repeat the fit command")
    if journal is None:
        raise DataError(f"{folder}: is not a run folder: it has no {CONFIG}")
    if newest := checkpoint.newest_description(folder):
        number, saved = newest
        if changed := journal.changes_since(saved):
            raise DataError(
                f"{folder / CONFIG}: was changed after checkpoint {number} was written ({'; '.join(changed)}):"
                " undo the change; to train with other settings, start another run"
            )
    if not journal.sealed:
        raise DataError(f"{folder / CONFIG}: was changed by hand: its digest does not match; undo the change")
    return journal
