"""Read and write RUN/config.json: the run's request and settings, with a digest, and the files that it wrote.

This module decides nothing: run_folder.py uses it to decide whether a run may continue, and commands/outputs.py
whether a file may be overwritten.

A file belongs to a run if the run recorded the file's inode number and checksum before the file got its name. A name
alone proves nothing: after a crash, another run may have written a file of that name.
"""

import json
import os
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct, to_builtins

from w2vtrain.errors import DataError, ReadError, reason, shown, spelled
from w2vtrain.system.files import atomic_write
from w2vtrain.system.folders import checksum
from w2vtrain.system.json_text import json_digest, json_object, typed
from w2vtrain.system.locks import run_of
from w2vtrain.system.trust import Trusted, answering, new_files_in, raise_if_passing, read_trusted

REMEDY = "; remove the folder to start over"
CONFIG, VOCABULARY, CORPUS = "config.json", "vocab.txt", "corpus"
"""Names in a run folder. The last is the folder in which ranks share the encoded corpus."""
SCHEMA = 2
MAX_CONFIG_BYTES = 16 << 20
"""Maximum size of config.json, in bytes."""
SEALED_FIELDS = ("run", "cwd", "request", "settings")
"""Fields that the digest covers."""
FREE_SETTINGS = ("threads",)
"""Settings that may change when a run is resumed."""
DECIDING_FIELDS = ("sources", "heldout", "read_vocab", "init_from", "grow_vocabulary", "freeze")
"""Fields of the request that affect the result, in addition to the settings."""


class WrittenFile(Struct, omit_defaults=True):
    """A file or folder that the run wrote or is about to rename into place. log: it grows, and has no checksum."""

    inode: int
    bytes: int | None = None
    sha256: str | None = None
    log: bool = False


@dataclass
class _Config:
    """The fields of config.json, in order: those of Journal, and a digest of SEALED_FIELDS."""

    schema: int
    run: Annotated[str, Meta(pattern=r"^[0-9A-Za-z]{1,64}\Z")]
    cwd: str
    request: dict[str, Any]
    settings: dict[str, Any]
    digest: str
    outputs: dict[str, WrittenFile]
    locks: dict[str, int]
    complete: bool


@dataclass
class Journal:
    """The config.json of one run.

    description: "cwd", "request" and "settings", as JSON types; run: the run's id; outputs: by real path; locks: by
    real path, the inode of the lock file beside each output that the run began; complete: whether all results are
    written; sealed: whether the digest matched when the file was read.
    """

    folder: Path
    trusted: Trusted
    description: dict[str, Any]
    run: str = field(default_factory=lambda: secrets.token_hex(8))
    outputs: dict[str, WrittenFile] = field(default_factory=dict)
    locks: dict[str, int] = field(default_factory=dict)
    complete: bool = False
    sealed: bool = True

    @classmethod
    def read(cls, folder: Path, trusted: Trusted, anew: bool = False) -> "Journal | None":
        """Read the config.json of a run folder; return None if there is none.

        anew: return None, too, for one in the schema of another version of w2vtrain, which a run that starts over
        replaces. Raise DataError if it is unusable, and ReadError if it cannot be read at the moment.
        """
        path = folder / CONFIG
        try:
            data = read_trusted(path, MAX_CONFIG_BYTES, trusted)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise_if_passing(path, error)
            raise DataError(f"{path} cannot be used: {reason(error)}{REMEDY}") from error
        values = json_object(data, f"{path} is", REMEDY)
        if not {"settings", "schema"} <= values.keys():
            raise DataError(f"{path}: was not written by w2vtrain: choose another folder with {spelled('run')}")
        if values["schema"] != SCHEMA:
            if anew:
                return None
            raise DataError(
                f"{path}: has schema {str(values['schema'])[:20]}; this version of w2vtrain reads schema"
                f" {SCHEMA}: finish the run with the version that started it, or start over with"
                f" {spelled('force', True)}"
            )
        config = typed(values, _Config, f"{path} is damaged", REMEDY)
        description = {"cwd": config.cwd, "request": config.request, "settings": config.settings}
        sealed = config.digest == digest(values)
        return cls(folder, trusted, description, config.run, config.outputs, config.locks, config.complete, sealed)

    def save(self) -> None:
        """Write config.json. If WriteError or OutputError is raised, the previous file is unchanged."""
        sealed = {"run": self.run, **self.description}
        config = _Config(
            SCHEMA, **sealed, digest=digest(sealed), outputs=self.outputs, locks=self.locks, complete=self.complete
        )
        with atomic_write(self.folder / CONFIG, force=True, follow=False) as file:
            file.write(json.dumps(to_builtins(config), indent=2).encode())

    def claim(self, target: Path, temporary: Path, grows: bool = False) -> None:
        """Record that the run owns the file or folder `temporary`, which is about to be renamed to `target`.

        grows: it is a log, in which `owns` checks the run's id instead of a checksum.
        """
        with answering(temporary):
            inode, (digest, size) = temporary.stat().st_ino, checksum(temporary)
        self.outputs[str(target)] = WrittenFile(inode, log=True) if grows else WrittenFile(inode, size, digest)
        self.save()

    def owns(self, path: str) -> bool:
        """Return whether this run wrote the file or folder at this path, unchanged, except that a log may grow.

        Raise ReadError if the file cannot be read at the moment.
        """
        try:
            entry = self.outputs.get(os.path.realpath(path))
            status = Path(path).stat()
            regular, folder = Path(path).is_file(), Path(path).is_dir()
            if entry is None or status.st_ino != entry.inode or not (regular or folder):
                return False
            if entry.log:
                with Path(path).open("rb") as file:
                    first = file.readline(MAX_CONFIG_BYTES)
                    return not first or json.dumps(self.run).encode() in first
            same = folder or status.st_size == entry.bytes
            return same and checksum(Path(path))[0] == entry.sha256
        except OSError as error:
            raise_if_passing(Path(path), error)
            return False
        except ValueError:  # the name has a NUL byte
            return False

    def began(self, lock: Path) -> bool:
        """Return whether this run began the output beside this lock file; False if there is no lock file.

        Raise ReadError if the lock file cannot be read at the moment.
        """
        try:
            same = lock.stat(follow_symlinks=False).st_ino == self.locks.get(str(lock))
        except OSError as error:
            raise_if_passing(lock, error)
            return False
        return same or run_of(lock, new_files_in(lock.parent)) == self.run

    def changes_since(self, before: Mapping[str, Any]) -> list[str]:
        """Return the differences from an earlier description of the run, each like "alpha 0.05, not 0.1".

        FREE_SETTINGS may differ, and only DECIDING_FIELDS of the request count, unless the file was changed by hand.
        """
        free, fields = (FREE_SETTINGS, DECIDING_FIELDS) if self.sealed else ((), before.get("request", {}))
        changed = []
        for group, names in (("settings", self.description["settings"]), ("request", fields)):
            if isinstance(old := before.get(group), dict):
                changed += differences(old, self.description[group], (name for name in names if name not in free))
        return changed

    def owns_any(self) -> bool:
        """Return whether any file that this run wrote still exists unchanged, or may do so."""
        try:
            return any(self.owns(path) for path in self.outputs)
        except ReadError:
            return True


def digest(description: Mapping[str, Any]) -> str:
    """Return the digest of the fields that determine what a run does."""
    return json_digest({name: description.get(name) for name in SEALED_FIELDS})


def differences(old: Mapping[str, Any], new: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Return the values that differ, each like "alpha 0.05, not 0.1", among those with these names."""
    return [
        f"{name} {shown(old.get(name))}, not {shown(new.get(name))}" for name in names if old.get(name) != new.get(name)
    ]
