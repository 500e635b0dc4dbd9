"""The file of word ids that all ranks write together, each its own parts, and that all map into memory.

Nothing here encodes text. A manifest, written last, lets a restart use the file.
"""

import json
import os
import zlib
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from w2vtrain.distributed.agreement import Phase, share, together
from w2vtrain.distributed.communicator import Communicator
from w2vtrain.distributed.shared_folder import not_shared, patiently
from w2vtrain.errors import OutputError, WriteError, reason
from w2vtrain.system.files import atomic_write
from w2vtrain.system.json_text import json_text
from w2vtrain.system.storage import remove_file, sync
from w2vtrain.system.trust import Trusted, open_trusted, read_trusted
from w2vtrain.text.counting import append
from w2vtrain.text.encoded import make_room, naming
from w2vtrain.text.word_table import Int32, Int64

_PIECE = 1 << 20  # ids that are copied or checked at a time


class Layout(NamedTuple):
    """What the file contains.

    sizes (n,) int64: the number of ids of each part, including sentence ends; checksums (n,) int64: their CRC-32;
    words: the number of word ids; cuts: the number of cuts made in long lines.
    """

    sizes: Int64
    checksums: Int64
    words: int
    cuts: int

    @property
    def starts(self) -> Int64:
        """The index of the first id of each part, (n + 1,) int64; the last is the number of ids."""
        return np.concatenate([[0], np.cumsum(self.sizes)])


class SharedIds:
    """The files `ids` and `ids.json` in a folder on shared storage. All ranks call the same methods.

    identity: a digest of everything that the ids depend on; parts: the number of parts.
    """

    def __init__(self, team: Communicator, folder: Path, trusted: Trusted, identity: str, parts: int) -> None:
        self._team, self._folder, self._trusted, self._identity, self._parts = team, folder, trusted, identity, parts
        self._path, self._manifest = folder / "ids", folder / "ids.json"

    def find(self) -> tuple[Int32, Layout] | None:
        """Return the ids that an earlier run wrote, if they are complete and undamaged."""
        layout = _layout(share(self._team, self._saved() if self._team.rank == 0 else b""), self._identity, self._parts)
        if layout is None:
            return None
        try:
            array = self._mapped(layout)
        except OSError:
            array = None
        return (array, layout) if self._is_intact(array, layout) and array is not None else None

    def write(self, spool: IO[bytes], layout: Layout, place: int | None) -> tuple[Int32, Layout]:
        """Write the ids of all parts, and return them as an array, with their checksums.

        spool: the ids of this rank's parts, in order; layout: without checksums; place: an id that must become free for
        another word, so that all ids from it on increase by one.

        Raise OutputError if the file cannot be created or is not the same on all ranks, WriteError if the disk is full.
        """
        with together(self._team):
            if self._team.rank == 0:
                self._create()
        checksums = np.zeros(self._parts, np.int64)
        with together(self._team) as phase, naming(self._folder):
            spool.seek(0)
            handle = patiently(phase, lambda: self._open(os.O_WRONLY), self._folder)
            with os.fdopen(handle, "wb", buffering=0) as file:
                for part in self._mine():
                    file.seek(4 * int(layout.starts[part]))
                    checksums[part] = _copy(spool, file, int(layout.sizes[part]), place, phase)
                _sync(file)
        self._team.sum(checksums)
        layout = layout._replace(checksums=checksums)
        with together(self._team) as phase:
            array = patiently(phase, lambda: self._mapped(layout), self._folder)
        if not self._is_intact(array, layout):
            raise not_shared(self._folder, "checksums of the word ids differ")
        with together(self._team):
            if self._team.rank == 0:
                self._save(layout)
        return array, layout

    def _mine(self) -> range:
        return range(self._team.rank, self._parts, self._team.size)

    def _open(self, flags: int) -> int:
        return open_trusted(self._path, flags, self._trusted)

    def _create(self) -> None:
        """Create an empty file under the name of an older one, which processes that use it keep."""
        try:
            remove_file(self._manifest)
            remove_file(self._path)
            os.close(self._open(os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        except OSError as error:
            raise OutputError(f"{self._path} cannot be created: {reason(error)}") from error

    def _mapped(self, layout: Layout) -> Int32:
        """Return the file as an array. Raise OSError if it cannot be opened or has another size."""
        entries = int(layout.starts[-1])
        with os.fdopen(self._open(os.O_RDONLY), "rb") as file:
            if os.fstat(file.fileno()).st_size != 4 * entries:
                raise OSError(f"{self._path.name} has another size")
            return np.memmap(file, np.int32, "r", shape=(entries,))

    def _is_intact(self, array: Int32 | None, layout: Layout) -> bool:
        """Return whether the checksums of all parts are right; each is verified by another rank than the writer."""
        wrong = np.zeros(1, np.int64)
        starts = layout.starts.tolist()
        with together(self._team) as phase:
            for part in range((self._team.rank - 1) % self._team.size, self._parts, self._team.size):
                found = -1 if array is None else _checksum(array[starts[part] : starts[part + 1]], phase)
                wrong += found != layout.checksums[part]
            wrong += array is None
        self._team.sum(wrong)
        return not wrong[0]

    def _saved(self) -> bytes:
        try:
            return read_trusted(self._manifest, 4096 + 64 * self._parts, self._trusted)
        except OSError:
            return b""

    def _save(self, layout: Layout) -> None:
        sizes, checksums = layout.sizes.tolist(), layout.checksums.tolist()
        about = layout._replace(sizes=sizes, checksums=checksums)._asdict() | {"identity": self._identity}
        with atomic_write(self._manifest, force=True, follow=False) as file:
            file.write(json_text(about).encode())


def _layout(manifest: bytes, identity: str, parts: int) -> Layout | None:
    """Return the layout in a manifest, or None if it is invalid or describes other ids."""
    try:
        about = json.loads(manifest)
        if about.pop("identity") != identity:
            return None
        found = Layout(**about)
        sizes, checksums = _numbers(found.sizes), _numbers(found.checksums)
        _numbers([found.words, found.cuts])
        is_valid = sizes.size == checksums.size == parts and 0 < found.words < int(sizes.sum())
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None
    return found._replace(sizes=sizes, checksums=checksums) if is_valid else None


def _numbers(values: Any) -> Int64:
    """Return a list of numbers as an array. Raise ValueError or TypeError if it is something else."""
    if not isinstance(values, list) or not all(type(value) is int and 0 <= value < 1 << 40 for value in values):
        raise ValueError("not a list of sizes")
    return np.array(values, np.int64)


def _copy(spool: IO[bytes], file: IO[bytes], size: int, place: int | None, phase: Phase) -> int:
    """Copy ids to the current position of `file`. Return their checksum."""
    checksum = 0
    while size:
        ids = np.empty(min(size, _PIECE), np.int32)
        ids = ids[: _read(spool, ids) // ids.itemsize]
        if place is not None:
            make_room(ids, place)
        checksum = zlib.crc32(ids.data, checksum)
        append(file, ids)
        size -= ids.size
        phase.report()
    return checksum


def _read(spool: IO[bytes], ids: Int32) -> int:
    """Fill an array from a file that is long enough. Return the number of bytes."""
    view, done = ids.view(np.uint8).data, 0
    while done < len(view):
        done += spool.readinto(view[done:])  # type: ignore[attr-defined]
    return done


def _checksum(ids: Int32, phase: Phase) -> int:
    checksum = 0
    for first in range(0, ids.size, _PIECE):
        checksum = zlib.crc32(ids[first : first + _PIECE].data, checksum)
        phase.report()
    return checksum


def _sync(file: IO[bytes]) -> None:
    try:
        sync(file.fileno())
    except OSError as error:
        raise WriteError(f"cannot write the word ids of the corpus: {reason(error)}") from error
