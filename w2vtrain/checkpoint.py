"""The state of a run on disk: whole or not at all, the newest that is sound, two of them kept.

What the arrays mean, and when it is time to save, is the trainer's and the pipeline's business.

A checkpoint is a folder, RUN/ckpt-000123, with `state.safetensors` and `manifest.json`. It is written under another
name, every file synced to the disk, the manifest with the checksum last, and then renamed: a run that is killed at any
moment leaves the last checkpoint or the new one, never half of one.
"""

import hashlib
import os
import re
import shutil
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from .container import json_object, json_text, open_container, write_container
from .errors import DataError, OutputError, W2VError, WriteError
from .files import atomic_write, sync_folder

SCHEMA = 1
KEPT = 2
STATE, MANIFEST, LOCK = "state.safetensors", "manifest.json", "lock"
NAME = re.compile(r"ckpt-(\d{6})")
# Of checkpoints, and of the run's other files, which files.atomic_write was writing.
LEFTOVER = re.compile(r"\.(tmp|del)-\d{6}-\d+|\.(config\.json|vocab\.txt|writing)\.tmp-\d+-[0-9a-f]{8}")
LARGEST_MANIFEST = 1 << 20


@dataclass(frozen=True)
class Checkpoint:
    """A loaded state: its number, arrays by name, `about` in JSON's types; skipped: why newer ones were not sound."""

    number: int
    arrays: dict[str, np.ndarray]
    about: dict[str, Any]
    skipped: list[str]


def save(run: Path, number: int, arrays: Mapping[str, np.ndarray], about: dict[str, Any]) -> Path:
    """Write RUN/ckpt-NUMBER, then delete all but the newest two. WriteError or OutputError leave what was there."""
    temporary, final = run / f".tmp-{number:06d}-{os.getpid()}", run / f"ckpt-{number:06d}"
    try:
        temporary.mkdir()
        write_container(temporary / STATE, arrays, {"about": json_text(about)})
        size, digest = (temporary / STATE).stat().st_size, _digest(temporary / STATE)
        manifest = orjson.dumps({"schema": SCHEMA, "number": number, "bytes": size, "sha256": digest})
        with atomic_write(temporary / MANIFEST, size=len(manifest)) as file:
            file.write(manifest)
        temporary.rename(final)
        sync_folder(run)
    except OSError as error:
        raise WriteError(f"{final} cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    for old in numbers(run)[:-KEPT]:
        remove(run, old)
    return final


def load(run: Path) -> Checkpoint | None:
    """The newest sound checkpoint; None where there is none at all, DataError where none is sound."""
    skipped: list[str] = []
    for number in reversed(numbers(run)):
        try:
            arrays, about = _read(run / f"ckpt-{number:06d}", number)
        except W2VError as error:
            skipped.append(str(error))
            continue
        except OSError as error:
            skipped.append(f"{run / f'ckpt-{number:06d}'}: {error.strerror or error}")
            continue
        return Checkpoint(number, arrays, about, skipped)
    if skipped:
        raise DataError(f"{run}: no checkpoint is sound: {'; '.join(skipped)}; remove the folder to start anew")
    return None


def numbers(run: Path) -> list[int]:
    """The checkpoints that are there, oldest first."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return sorted(int(match[1]) for entry in run.iterdir() if (match := NAME.fullmatch(entry.name)))
    return []


def _read(folder: Path, number: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    manifest, state = _manifest(folder), folder / STATE
    if manifest.get("schema") != SCHEMA:
        raise DataError(f"{folder}: has schema {manifest.get('schema')}; this version of w2vtrain reads {SCHEMA}")
    size = state.stat().st_size if state.is_file() and not state.is_symlink() else -1
    if manifest.get("number") != number or size != manifest.get("bytes"):
        raise DataError(f"{state}: {size:,} bytes where the manifest says {manifest.get('bytes')}")
    if _digest(state) != manifest.get("sha256"):
        raise DataError(f"{state}: damaged, its checksum is not the manifest's")
    with open_container(state) as box:
        box.check_format()
        about = json_object(box.metadata.get("about", "null"), f"{state}: what it says about the run is")
        return {name: box.array(name) for name in box.names}, about


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        if path.is_symlink() or path.stat().st_size > LARGEST_MANIFEST:
            raise DataError(f"{path}: not a manifest of this program")
        return json_object(path.read_bytes(), f"{path} is")
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from error


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remove(run: Path, number: int) -> None:
    """Delete a checkpoint: renamed first, for a folder that is half deleted may not look like one."""
    doomed = run / f".del-{number:06d}-{os.getpid()}"
    with suppress(OSError):
        (run / f"ckpt-{number:06d}").rename(doomed)
        shutil.rmtree(doomed, ignore_errors=True)


def sweep(run: Path) -> None:
    """Delete what killed runs left half written or half deleted. Only for the holder of the lock."""
    for entry in list(run.iterdir()):
        if LEFTOVER.fullmatch(entry.name):
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)


@contextmanager
def locked(run: Path) -> Iterator[None]:
    """Hold RUN/lock, made with the folder if need be; OutputError says who else holds it, and since when.

    The system drops the lock with the process, so that a killed run's is taken over at once.
    """
    handle = _open_lock(run)
    while not _is(handle, run / LOCK):  # its holder deleted the file in between: what was locked is no longer the lock
        os.close(handle)
        handle = _open_lock(run)
    try:
        os.ftruncate(handle, 0)
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        os.write(handle, f"process {os.getpid()} on {socket.gethostname()} since {since}\n".encode())
        sweep(run)
        yield
    finally:
        os.close(handle)


def _open_lock(run: Path) -> int:
    try:
        if not run.is_dir():
            run.mkdir(exist_ok=True)
            sync_folder(run.parent)
        handle = os.open(run / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except FileNotFoundError:
        raise OutputError(f"{run}: the run's folder cannot be made: there is no folder {run.parent}") from None
    except OSError as error:
        raise OutputError(f"{run}: the run's folder cannot be made: {error.strerror}") from error
    if _take(handle):
        return handle
    owner = os.pread(handle, 200, 0).decode("utf-8", "replace") if hasattr(os, "pread") else ""
    os.close(handle)
    raise OutputError(f"{run}: in use by {owner.strip() or 'another process'}; wait for it, or name another")


def _is(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _take(handle: int) -> bool:
    try:
        if os.name == "posix":
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError:
        return False
    return True
