"""Read what a run leaves on disk: its id, its progress, signs of life, and whether its results are written.

Only files on shared storage are read, so ranks may run on any host. Nothing is written or started.
"""

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from w2vtrain.errors import DataError, W2VError
from w2vtrain.system.json_text import json_object
from w2vtrain.system.reading import read_small
from w2vtrain.system.trust import require_trust
from w2vtrain.training import checkpoint
from w2vtrain.training.journal import CONFIG, HEARTBEAT, MAX_CONFIG_BYTES, Journal

ENCODED = "ids.json"
"""Name of the file that shows that the corpus is encoded, in a folder below the run or cache folder."""


class Ledger(NamedTuple):
    """How far a run has come: complete epochs, chunks of the next one, and whether the corpus is encoded."""

    epoch: int = 0
    chunks: int = 0
    encoded: bool = False

    def __str__(self) -> str:
        if self.epoch or self.chunks:
            return f"checkpoint after {self.epoch} epochs and {self.chunks} chunks"
        return "the corpus is encoded" if self.encoded else "nothing saved"


class Traces:
    """The files of one run: its folder, its record beside the vectors, and its cache folder if that is shared.

    The run's id is in its folder until the run has finished, so `note_run` must be called now and then. A record of
    the same id proves that the results are written, and so does one that names another run than at the beginning.
    """

    def __init__(self, folder: Path, record: Path, cache: Path | None = None) -> None:
        self.folder, self.record, self._folders = folder, record, [folder, *filter(None, [cache])]
        self._runs: set[str] = set()
        self._before = self.recorded()
        self.note_run()

    def begun(self) -> bool:
        """Return whether the run folder exists and its run has not finished: config.json is deleted last."""
        return (self.folder / CONFIG).exists()

    def note_run(self) -> None:
        """Remember the id of the run that the folder belongs to."""
        with suppress(W2VError, OSError):
            if self.folder.is_dir() and (journal := Journal.read(self.folder, require_trust(self.folder, DataError))):
                self._runs.add(journal.run)

    def recorded(self) -> str | None:
        """Return the id of the run that wrote the record; None if there is no record, "" if it has no id."""
        with suppress(OSError, W2VError):
            if self.record.is_file():
                run = json_object(read_small(self.record, MAX_CONFIG_BYTES), f"{self.record} is").get("run")
                return run if isinstance(run, str) else ""
        return None

    def finished(self) -> bool:
        """Return whether all results of this run are written and it has removed what it no longer needs."""
        run = self.recorded()
        return bool(run) and (run in self._runs or run != self._before) and not self.begun()

    def ledger(self) -> Ledger:
        """Return the progress of the newest valid checkpoint, and whether the corpus is encoded."""
        epoch = chunks = 0
        with suppress(W2VError, OSError):
            if newest := checkpoint.load(self.folder):
                state = newest.saved().state
                epoch, chunks = state.epoch, state.chunks
        return Ledger(epoch, chunks, any(path for folder in self._folders for path in folder.glob(f"*/{ENCODED}")))

    def heartbeat(self) -> int | None:
        """Return the time of the last heartbeat by the clock of the storage, in ns; None if there was none yet."""
        return modified(self.folder / HEARTBEAT)

    def changes(self) -> frozenset[tuple[str, int]]:
        """Return the modification times of all that changes while a run is at work.

        They are only compared with one another: the clocks of the storage and of this host may differ. A finished
        checkpoint changes the folder that it is in. Results have temporary names while they are written.
        """
        entries: list[Path] = []
        for folder in self._folders:
            with suppress(OSError):
                entries += [folder, *folder.iterdir()]
        for temporary in self.folder.glob(".tmp-*"):  # a checkpoint that is being written
            with suppress(OSError):
                entries += temporary.iterdir()
        with suppress(OSError):
            entries += self.record.parent.glob(".*.tmp-*")  # results that are being written, which may take long
        return frozenset((str(path), time) for path in entries if (time := modified(path)) is not None)


def modified(path: Path) -> int | None:
    """Return the modification time of a file or folder in ns, or None if it cannot be read."""
    with suppress(OSError):
        return path.stat().st_mtime_ns
    return None
