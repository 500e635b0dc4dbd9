"""The checkpoints of a run: write one, and read the newest that is whole.

This module does not know what the arrays mean or when to save: trainer.py and checkpointing.py do.
run_files.py locks the folder.

A checkpoint is one safetensors file, RUN/ckpt-000123.safetensors, with the run's id, the facts of `Saved` and a
checksum in its header. It is written under a temporary name, synced to disk and then renamed, so a run that is killed
at any moment leaves the previous checkpoint or the new one, never a part of one. The newest two are kept.
"""

import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from w2vtrain.errors import DataError, InputMissing, ReadError
from w2vtrain.formats.safetensors import open_safetensors, row_blocks, write_safetensors
from w2vtrain.system.files import answering, temporary_pattern
from w2vtrain.system.json_text import json_object, json_text, typed
from w2vtrain.training.state import Saved

KEPT_CHECKPOINTS = 2
NAME = re.compile(r"ckpt-(\d{6,})\.safetensors")
PARTIAL = temporary_pattern("ckpt-#.safetensors").replace(re.escape("#"), r"\d{6,}")
"""Pattern of the names of checkpoints that are being written."""
BEST = "best."
"""In the names of the arrays that hold the weights of the best epoch, before their names in the model."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was read whole.

    number: counts the checkpoints of a run from 1; run: the id of the run; skipped: for each newer checkpoint, why it
    cannot be used.
    """

    number: int
    run: str
    saved: Saved
    arrays: dict[str, np.ndarray]
    skipped: list[str] = field(default_factory=list)


def path_of(folder: Path, number: int) -> Path:
    """Return the file of a checkpoint."""
    return folder / f"ckpt-{number:06d}.safetensors"


def numbers(folder: Path) -> list[int]:
    """Return the numbers of the existing checkpoints, oldest first. Raise ReadError if the folder cannot be read."""
    with suppress(FileNotFoundError, NotADirectoryError), answering(folder):
        return sorted(int(match[1]) for entry in folder.iterdir() if (match := NAME.fullmatch(entry.name)))
    return []


def write(folder: Path, number: int, run: str, saved: Saved, arrays: Mapping[str, np.ndarray]) -> None:
    """Write a checkpoint, then delete all but the newest two.

    If WriteError or OutputError is raised, the existing checkpoints are unchanged.
    """
    about = json_text(asdict(saved))
    facts = {"run": run, "about": about, "sha256": checksum(arrays, run, about)}
    write_safetensors(path_of(folder, number), arrays, facts)
    for old in numbers(folder)[:-KEPT_CHECKPOINTS]:
        remove(folder, old)


def remove(folder: Path, number: int) -> None:
    """Delete a checkpoint, unless the system does not allow it."""
    with suppress(OSError):
        path_of(folder, number).unlink(missing_ok=True)


def read(folder: Path, number: int) -> Checkpoint:
    """Read a checkpoint.

    Raise DataError if its size, header or checksum is wrong, and InputMissing if it may not be read. Whatever else the
    system reports says nothing about the bytes on disk, so it is a ReadError: an older checkpoint must not take the
    place of one that is only out of reach.
    """
    path = path_of(folder, number)
    try:
        with open_safetensors(path) as box:
            box.check_format()
            run, about, digest = (box.metadata.get(name, "") for name in ("run", "about", "sha256"))
            arrays = {name: box.array(name) for name in box.names}
    except (InputMissing, OSError) as error:
        if isinstance(error.__cause__, PermissionError):
            raise InputMissing(f"{error}: nothing is lost; make it readable, and try again") from error
        raise ReadError(
            f"{error}: nothing is lost; try again, or remove this checkpoint to continue from the one before it"
        ) from error
    if digest != checksum(arrays, run, about):
        raise DataError(f"{path}: damaged: its checksum is wrong")
    return Checkpoint(number, run, _facts(path, about), arrays)


def newest(folder: Path, run: str) -> Checkpoint | None:
    """Return the newest checkpoint of a run that is whole, or None if it has none.

    Raise DataError if all are damaged or of another run, and ReadError if one that may be whole cannot be read.
    """
    skipped: list[str] = []
    for number in reversed(numbers(folder)):
        try:
            found = read(folder, number)
        except DataError as error:
            skipped.append(str(error))
            continue
        if found.run == run:
            found.skipped.extend(skipped)
            return found
        skipped.append(f"{path_of(folder, number)}: belongs to another run")
    if skipped:
        which = "them" if len(skipped) > 1 else "it"
        raise DataError(f"{folder}: no valid checkpoint: {'; '.join(skipped)}; move {which} away to start over")
    return None


def newest_saved(folder: Path, run: str) -> tuple[int, Saved, float] | None:
    """Return number, facts and time of a run's newest checkpoint from its header alone; None if it has none."""
    for number in reversed(numbers(folder)):
        path = path_of(folder, number)
        with suppress(DataError, InputMissing, OSError), open_safetensors(path) as box:
            if box.metadata.get("run") == run:
                return number, _facts(path, box.metadata.get("about", "")), path.stat().st_mtime
    return None


def _facts(path: Path, about: str) -> Saved:
    """Return the facts in a header. Raise DataError if a field does not fit."""
    return typed(json_object(about, f"{path}: its description of the run is"), Saved, f"{path}: its description")


def checksum(arrays: Mapping[str, np.ndarray], *texts: str) -> str:
    """Return the SHA-256 of texts and named arrays, as 64 hexadecimal digits."""
    total = hashlib.sha256("".join(f"{len(text)} {text}\n" for text in texts).encode("utf-8", "surrogatepass"))
    for name in sorted(arrays):
        array = np.atleast_1d(arrays[name])
        total.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        for rows in row_blocks(array):
            total.update(np.ascontiguousarray(array[rows]).data)
    return total.hexdigest()
