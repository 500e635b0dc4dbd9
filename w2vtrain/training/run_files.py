"""A run folder as everybody sees it: config.json says which run it belongs to; its vocabulary, lock and leftovers.

checkpoint_file.py has the checkpoints, and checkpointing.py decides when to save and what may continue.
"""

import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from w2vtrain.config import Settings
from w2vtrain.errors import DataError, InputMissing, OutputError, ReadError, reason, shown, spelled
from w2vtrain.registry import is_same_member, member_name
from w2vtrain.system.files import (
    answering,
    atomic_write,
    not_created,
    open_regular,
    resolved,
    sync_folder,
    temporary_pattern,
)
from w2vtrain.system.json_text import json_digest, json_object, json_text, typed
from w2vtrain.system.locks import Lock
from w2vtrain.text.vocabulary import Vocabulary
from w2vtrain.training import checkpoint_file

CONFIG, VOCABULARY, CORPUS, LOCK = "config.json", "vocab.txt", "corpus", "lock"
"""Names in a run folder. CORPUS is the folder in which ranks share the encoded corpus."""
SCHEMA = 3
MAX_CONFIG_BYTES = 16 << 20
"""Maximum size of config.json, in bytes."""
REMEDY = "; name another folder (with `fit`, by --run), or remove this one to start over"
FREE_SETTINGS = ("threads",)
"""Settings that may change when a run is resumed."""
CODE = ("objective", "architecture")
"""Settings that may name files of code."""
LEFTOVER = re.compile(
    "|".join(temporary_pattern(name) for name in (CONFIG, VOCABULARY)) + f"|{checkpoint_file.PARTIAL}"
)
"""Names of what a killed run leaves in its folder."""


@dataclass
class Config:
    """The fields of config.json.

    run: the run's id; cwd: the folder in which its command was given; request, settings: what it does, as JSON types;
    written: what `identity` returns for each file that it wrote or is about to rename into place, by real path, but for
    a log, which grows, only the inode; complete: whether all results are written; discards: whether the checkpoints in
    the folder are those of another run, which stay until this one trains.

    A name alone does not prove that a file is the run's own: after a crash, another run may have written a file of that
    name.
    """

    schema: int
    run: Annotated[str, Meta(pattern=r"^[0-9A-Za-z]{1,64}\Z")]
    cwd: str
    request: dict[str, Any]
    settings: dict[str, Any]
    written: dict[str, list[int]] = field(default_factory=dict)
    complete: bool = False
    discards: bool = False

    @classmethod
    def new(cls, cwd: str, request: dict[str, Any], settings: dict[str, Any]) -> "Config":
        """Return the config of a run that begins."""
        return cls(SCHEMA, secrets.token_hex(8), cwd, request, settings)

    @property
    def inputs(self) -> list[str]:
        """The names of what the run reads once, each of which may be a stream."""
        named = map(self.request.get, ("sources", "heldout", "read_vocab"))
        return [str(name) for value in named for name in (value if isinstance(value, list) else [value])]

    def home(self, folder: Path) -> str:
        """Return `cwd` or, if it does not exist, where it would be if it was moved together with the run folder."""
        if os.path.isdir(self.cwd):  # noqa: PTH112 - unlike Path.is_dir, for any text
            return self.cwd
        run = os.path.normpath(self.request.get("run") or f"{self.request.get('output')}.run")
        root, found, rest = str(resolved(folder)).rpartition(f"{os.sep}{run}")
        return (root or os.sep) if found and not rest else str(resolved(folder).parent)

    def changes_since(self, before: "Config", deciding: Iterable[str], folder: Path) -> list[str]:
        """Return the differences that affect the result, each like "alpha 0.05, not 0.1".

        deciding: names of the arguments in `request` that affect it, in addition to the settings; folder: of the run.
        """
        old = dict(before.settings)
        for kind in CODE:
            if is_same_member(str(self.settings[kind]), str(old.get(kind)), before.home(folder)):
                old[kind] = self.settings[kind]
        names = [name for name in self.settings if name not in FREE_SETTINGS]
        return [*differences(old, self.settings, names), *differences(before.request, self.request, deciding)]

    def owns(self, path: str) -> bool:
        """Return whether this run wrote the file or folder at this path, and it was not replaced since."""
        try:
            known = self.written.get(str(resolved(path)), [])
            with answering(Path(path)):
                found = identity(Path(path))
        except (OSError, ValueError):  # it does not exist, or cannot be opened; ValueError: its name has a NUL byte
            return False
        return len(known) > 0 and found[: len(known)] == known

    def owns_any(self) -> bool:
        """Return whether any file that this run wrote still exists, or may do so."""
        try:
            return any(self.owns(path) for path in self.written)
        except ReadError:
            return True


def identity(path: Path) -> list[int]:
    """Return the inode, the size and the time of modification of a file; of a folder the inode."""
    status = path.stat()
    return [status.st_ino, *([] if path.is_dir() else [status.st_size, status.st_mtime_ns])]


def settings_digest(settings: Settings) -> str:
    """Return the digest of the settings that must not change when a run is resumed; code may be in another folder."""
    values = {name: value for name, value in asdict(settings).items() if name not in FREE_SETTINGS}
    return json_digest(values | {kind: member_name(values[kind]) for kind in CODE})


def differences(old: Mapping[str, Any], new: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Return the values that differ, each like "alpha 0.05, not 0.1", among those with these names."""
    return [
        f"{name} {shown(old.get(name))}, not {shown(new.get(name))}" for name in names if old.get(name) != new.get(name)
    ]


def read_config(folder: Path, anew: bool = False) -> Config | None:
    """Read the config.json of a run folder; return None if there is none.

    anew: return None, too, for one of another version of w2vtrain, which a run that starts over replaces. Raise
    DataError if it is unusable, InputMissing if it may not be read, and ReadError if the storage does not answer.
    """
    path = folder / CONFIG
    try:
        with answering(path), os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
            data = file.read(MAX_CONFIG_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        if error.errno is not None:
            raise InputMissing(f"{path} cannot be read: {reason(error)}: make it readable, and try again") from error
        raise DataError(f"{path} cannot be used: {reason(error)}{REMEDY}") from error
    if len(data) > MAX_CONFIG_BYTES:
        raise DataError(f"{path} cannot be used: it has more than {MAX_CONFIG_BYTES:,} bytes{REMEDY}")
    values = json_object(data, f"{path} is", REMEDY)
    if not {"settings", "schema"} <= values.keys():
        raise DataError(f"{path}: was not written by w2vtrain: choose another folder with {spelled('run')}")
    if values["schema"] != SCHEMA:
        if anew:
            return None
        raise DataError(
            f"{path}: has schema {str(values['schema'])[:20]}; this version of w2vtrain reads schema {SCHEMA}: finish"
            f" the run with the version that started it, or start over by `fit` with {spelled('force', True)}"
        )
    return typed(values, Config, f"{path} is damaged", REMEDY)


def write_config(folder: Path, config: Config) -> None:
    """Write config.json. If WriteError or OutputError is raised, the previous file is unchanged."""
    with atomic_write(folder / CONFIG, force=True, follow=False) as file:
        file.write(json_text(asdict(config), indent=True).encode())


def run_config(folder: Path) -> Config:
    """Read the config.json of a folder that must be a run folder.

    Raise InputMissing if the folder does not exist, DataError if it has no config.json or a damaged one, and ReadError
    if the storage does not answer.
    """
    try:
        with answering(folder):
            folder.stat()
    except (FileNotFoundError, NotADirectoryError):
        if Path(f"{folder}.run", CONFIG).exists():
            raise InputMissing(f"{folder}: the run folder of this output is {folder}.run") from None
        similar = get_close_matches(folder.name.removesuffix(".run"), [run.stem for run in folder.parent.glob("*.run")])
        name = f"name (similar: {', '.join(f'{run}.run' for run in similar)})" if similar else "name"
        raise InputMissing(
            f"{folder}: does not exist: check the {name}; a run that has finished has no folder; if it never began,"
            " repeat the fit command"
        ) from None
    except OSError as error:
        raise InputMissing(f"{shown(str(folder))} cannot be opened: {reason(error)}") from error
    config = read_config(folder)
    if config is None and folder.is_dir() and is_unused(folder):
        raise DataError(f"{folder}: this run never began: repeat the fit command")
    if config is None:
        raise DataError(f"{folder}: is not a run folder: it has no {CONFIG}")
    return config


def is_unused(folder: Path) -> bool:
    """Return whether a folder is empty, or has only what a run leaves that is killed before it has a config.json."""
    with answering(folder):
        return all(entry.name == LOCK or LEFTOVER.fullmatch(entry.name) for entry in folder.iterdir())


def require_own(folder: Path) -> None:
    """Raise OutputError or DataError unless a folder is a run folder, is empty, or has only a killed run's leftovers.

    A run deletes files with fixed names in its folder, which could be the user's files elsewhere. This check comes
    before the lock file is created.
    """
    read_config(folder, anew=True)  # `CheckpointedRun.open` decides about a run of another version
    with answering(folder):
        is_run = (folder / CONFIG).exists()
    if not is_run and not is_unused(folder):
        raise OutputError(
            f"{folder}: is not empty and is not a run folder: choose another folder with {spelled('run')}"
        )


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold RUN/lock, and create it and the folder if necessary. At the end, delete a folder that holds nothing else.

    Raise OutputError if the folder cannot be created, or WriteError if that may succeed later; and OutputError if
    another process holds the lock; the message says which, and since when. The operating system releases the lock when
    its process ends, so a killed run does not block the next one.
    """
    if os.path.islink(folder):  # noqa: PTH114 - others may have planted it; is_symlink raises for long names
        raise OutputError(f"{folder}: the run folder is a symbolic link: use {spelled('run', str(resolved(folder)))}")
    try:
        with answering(folder):
            is_there = folder.is_dir()
        if not is_there:
            folder.mkdir(0o775, exist_ok=True)
            sync_folder(folder.parent)
    except OSError as error:
        subject = f"{folder}: the run folder"
        if isinstance(error, FileNotFoundError) and not folder.parent.exists():
            raise OutputError(f"{subject} cannot be created: there is no folder {folder.parent}") from error
        raise not_created(subject, error) from error
    require_own(folder)
    lock = Lock(folder / LOCK, str(folder))
    try:
        sweep(folder)
        yield
    finally:
        empty = _holds_at_most_a_lock(folder)  # which is gone if the folder was deleted and created again
        lock.release(remove=empty)
        if empty:
            with suppress(OSError):
                folder.rmdir()


def sweep(folder: Path) -> None:
    """Delete what killed runs left partially written. The caller must hold the lock."""
    with answering(folder):
        for entry in list(folder.iterdir()):
            if LEFTOVER.fullmatch(entry.name):
                with suppress(PermissionError):  # what follows says so of the folder, if it matters
                    shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink(missing_ok=True)


def _holds_at_most_a_lock(folder: Path) -> bool:
    for _ in range(2):  # storage that fails once must not leave the lock of a finished run
        with suppress(OSError):
            return {entry.name for entry in folder.iterdir()} <= {LOCK}
    return False


def kept_vocabulary(folder: Path) -> Vocabulary:
    """Read a run folder's vocabulary.

    Raise InputMissing if it cannot be opened, ReadError if the storage does not answer, and DataError if it is invalid.
    """
    path = folder / VOCABULARY
    try:
        with answering(path):
            os.close(open_regular(path, os.O_RDONLY))  # a pipe would be waited for
    except OSError as error:
        raise InputMissing(f"{path} cannot be opened: {reason(error)}") from error
    try:
        return Vocabulary.load(path)
    except InputMissing as error:  # although it could be opened a moment ago
        raise ReadError(f"{error}: nothing is lost; try again") from error
