"""Save the state of a run as checkpoints, and load the newest valid one.

This module does not know what the arrays mean or when to save: trainer.py and run_folder.py do. folder.py locks the
folder.

A checkpoint is a folder, RUN/ckpt-000123, that holds `state.safetensors` and `manifest.json`. It is written under a
temporary name: each file is synced to disk, the manifest with the checksum last, and then the folder is renamed. A run
that is killed at any moment leaves the previous checkpoint or the new one, never a partial one. The newest two are
kept. The manifest also records the run's request and settings with their own digest, so that a setting that was
changed elsewhere is detected.
"""

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from w2vtrain.errors import DataError, InputMissing, ReadError, W2VError, WriteError, reason
from w2vtrain.formats.safetensors import open_safetensors, write_safetensors
from w2vtrain.system.files import atomic_write
from w2vtrain.system.folders import checksum
from w2vtrain.system.json_text import json_digest, json_object, json_text, typed
from w2vtrain.system.storage import patiently, remove_tree, sync_folder
from w2vtrain.system.trust import answering, open_trusted, raise_if_passing, read_trusted, require_trust
from w2vtrain.training.state import Saved

SCHEMA = 1
KEPT_CHECKPOINTS = 2
STATE, MANIFEST = "state.safetensors", "manifest.json"
CHECKPOINT_NAME = re.compile(r"ckpt-(\d{6})")
PARTIAL_PATTERN = r"\.(?:tmp|del)-\d{6}-\d+"
"""Pattern of the names of checkpoints while they are written or deleted."""
MAX_MANIFEST_BYTES = 16 << 20
BEST = "best."
"""In the names of the arrays that hold the weights of the best epoch, before their names in the model."""
OR_REMOVE = ", or remove this checkpoint to continue from the one before it"


@dataclass(frozen=True)
class _Manifest:
    """The fields of manifest.json. run: the run's "cwd", "request" and "settings"; digest: of all other fields."""

    schema: int
    number: int
    bytes: int
    sha256: str
    run: dict[str, Any]
    digest: str


@dataclass(frozen=True)
class Checkpoint:
    """A loaded checkpoint: its number, arrays by name, and `facts`, the JSON data stored with them.

    skipped: for each newer checkpoint, why it could not be used.
    """

    number: int
    arrays: dict[str, np.ndarray]
    facts: dict[str, Any]
    skipped: list[str]

    @property
    def invalid(self) -> str:
        """The beginning of an error message about the facts."""
        return f"checkpoint {self.number}: its description of the run is invalid"

    def saved(self) -> Saved:
        """Return the facts. Raise DataError, which names the field, if one is missing or does not fit."""
        return Saved.read(self.facts, self.invalid)


def path_of(folder: Path, number: int) -> Path:
    """Return the folder of a checkpoint."""
    return folder / f"ckpt-{number:06d}"


def save(
    folder: Path,
    number: int,
    arrays: Mapping[str, np.ndarray],
    facts: dict[str, Any],
    request: Mapping[str, Any] | None = None,
) -> Path:
    """Write RUN/ckpt-NUMBER, then delete all checkpoints but the newest two; return the new checkpoint's path.

    request: the run's "cwd", "request" and "settings", which `newest_description` returns. If WriteError or OutputError
    is raised, the existing checkpoints are unchanged.
    """
    temporary, final = folder / f".tmp-{number:06d}-{os.getpid()}", path_of(folder, number)
    try:
        temporary.mkdir(0o775)
        write_safetensors(temporary / STATE, arrays, {"about": json_text(facts)})
        digest, size = checksum(temporary / STATE)
        values = {"schema": SCHEMA, "number": number, "bytes": size, "sha256": digest, "run": dict(request or {})}
        manifest = sealed(values).encode()
        with atomic_write(temporary / MANIFEST, size=len(manifest)) as file:
            file.write(manifest)
        patiently(lambda: temporary.rename(final))
        sync_folder(folder)
    except OSError as error:
        raise WriteError(f"{final} cannot be written: {reason(error)}") from error
    finally:
        remove_tree(temporary)
    for old in numbers(folder)[:-KEPT_CHECKPOINTS]:
        remove(folder, old)
    return final


def load(folder: Path) -> Checkpoint | None:
    """Return the newest valid checkpoint, or None if no checkpoints exist.

    Raise DataError if all are invalid, and ReadError if one that may be valid cannot be read at the moment.
    """
    skipped: list[str] = []
    for number in reversed(numbers(folder)):
        try:
            return Checkpoint(number, *_read(folder, number), skipped)
        except ReadError:
            raise
        except W2VError as error:
            skipped.append(str(error))
        except OSError as error:
            place = path_of(folder, number)
            raise_if_passing(place, error, OR_REMOVE)
            skipped.append(f"{place}: {reason(error)}")
    if skipped:
        raise DataError(f"{folder}: no valid checkpoint: {'; '.join(skipped)}; remove the folder to start over")
    return None


def newest_description(folder: Path) -> tuple[int, dict[str, Any]] | None:
    """Return the number and the run description of the newest checkpoint with a valid manifest, or None."""
    for number in reversed(numbers(folder)):
        with suppress(DataError, InputMissing, OSError):
            return number, _manifest(folder, number).run
    return None


def newest_facts(folder: Path) -> tuple[int, dict[str, Any], float] | None:
    """Return the number, the JSON data and the time of the newest checkpoint, without its arrays; None without any."""
    for number in reversed(numbers(folder)):
        state = path_of(folder, number) / STATE
        with suppress(W2VError, OSError):
            _manifest(folder, number)
            with open_safetensors(state) as box:
                return number, json_object(box.metadata.get("about", "null"), f"{state}: it is"), state.stat().st_mtime
    return None


def numbers(folder: Path) -> list[int]:
    """Return the numbers of the existing checkpoints, oldest first. Raise ReadError if the folder does not answer."""
    with suppress(FileNotFoundError, NotADirectoryError), answering(folder):
        entries = [entry for entry in folder.iterdir() if not entry.is_symlink()]
        return sorted(int(match[1]) for entry in entries if (match := CHECKPOINT_NAME.fullmatch(entry.name)))
    return []


def _read(folder: Path, number: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    manifest, state = _manifest(folder, number), path_of(folder, number) / STATE
    try:
        with os.fdopen(open_trusted(state, os.O_RDONLY, require_trust(folder, DataError)), "rb") as file:
            size = os.fstat(file.fileno()).st_size
    except PermissionError as error:
        raise DataError(f"{state} cannot be used: {reason(error)}") from error
    if size != manifest.bytes:
        raise DataError(f"{state}: has {size:,} bytes, but its manifest says {manifest.bytes:,}")
    if checksum(state)[0] != manifest.sha256:
        raise DataError(f"{state}: damaged: its checksum differs from the manifest's")
    try:
        with open_safetensors(state) as box:
            box.check_format()
            facts = json_object(box.metadata.get("about", "null"), f"{state}: its description of the run is")
            return {name: box.array(name) for name in box.names}, facts
    except InputMissing as error:  # although its checksum was right a moment ago
        raise ReadError(f"{error}: try again{OR_REMOVE}") from error


def _manifest(folder: Path, number: int) -> _Manifest:
    """Read a manifest. Raise DataError unless it is intact and belongs to the checkpoint of this number."""
    place = path_of(folder, number)
    path = place / MANIFEST
    try:
        values = json_object(read_trusted(path, MAX_MANIFEST_BYTES, require_trust(place, DataError)), f"{path} is")
    except OSError as error:
        raise_if_passing(path, error, OR_REMOVE)
        raise DataError(f"{path}: {reason(error)}") from error
    if values.get("schema") != SCHEMA:
        raise DataError(f"{place}: has schema {values.get('schema')}; this version of w2vtrain reads schema {SCHEMA}")
    manifest = typed(values, _Manifest, f"{path}: damaged")
    if manifest.number != number or manifest.digest != _seal(values):
        raise DataError(f"{path}: damaged: its digest does not match")
    return manifest


def sealed(manifest: dict[str, Any]) -> str:
    """Return a manifest as JSON, with a "digest" field that covers all other fields."""
    return json.dumps({**manifest, "digest": _seal(manifest)})


def _seal(manifest: dict[str, Any]) -> str:
    return json_digest({name: value for name, value in manifest.items() if name != "digest"})


def remove(folder: Path, number: int) -> None:
    """Delete a checkpoint. Rename it first, so that a partially deleted folder is never taken for a checkpoint."""
    doomed = folder / f".del-{number:06d}-{os.getpid()}"
    with suppress(OSError):
        patiently(lambda: path_of(folder, number).rename(doomed))
        remove_tree(doomed)
