"""The phase of a run, and what signals ask of it. CheckpointedRun, in checkpointing.py, also saves checkpoints."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from w2vtrain.config import Settings
from w2vtrain.engines.base import Weights
from w2vtrain.errors import Stopped
from w2vtrain.text.vocabulary import Vocabulary
from w2vtrain.training.checkpoint_file import Checkpoint
from w2vtrain.training.memory_and_disk import Footprint
from w2vtrain.training.state import Saved

STOPPED_EARLY = (
    "stopped before training began: the same command continues from the last checkpoint, or starts over without one"
)
"""The message of Stopped for a signal that arrives before training."""

Snapshot = Callable[[], tuple[Saved, Mapping[str, np.ndarray]]]
"""Returns what a checkpoint stores: the facts, and the arrays by name."""
ResultSizes = Callable[[Vocabulary, Weights], list[tuple[Path, int]]]
"""Returns the folder of each result, and about how many bytes the result takes there."""
NO_RESULT_SIZES: ResultSizes = lambda vocabulary, weights: []  # noqa: E731


class Phase(Enum):
    """What a run is doing. The value says what a signal does that asks it to stop; docs/guides/resuming.md lists it."""

    STARTING = "ends the run before it reads anything"
    PREPARING = "ends the run at once"
    TRAINING = "saves a checkpoint and ends the run, usually within a second"
    WRITING = "is ignored"


class Run:
    """A run that keeps nothing on disk: that of a caller in Python, or of a rank other than 0.

    folder: where checkpoints are saved, or None; every: the seconds between them; id: in the log and in lock files,
    empty without a folder; results: the sizes of what the run will write; warn: called with lines about storage
    problems; stop_requested, save_requested: what signals have asked for; checkpoint: the state to resume from, or
    None; allow_changed: start over if the corpus has changed since then.
    """

    folder: Path | None = None
    every = math.inf

    def __init__(self, results: ResultSizes = NO_RESULT_SIZES) -> None:
        self.phase, self.id = Phase.STARTING, ""
        self.stop_requested = self.save_requested = False
        self.checkpoint: Checkpoint | None = None
        self.allow_changed = False
        self.results = results
        self.warn: Callable[[str], None] = lambda _: None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold what nobody else may use during the run."""
        yield

    def read(
        self, settings: Settings, description: dict[str, Any], deciding: Sequence[str] = (), anew: bool = False
    ) -> None:
        """Load the checkpoint to resume from."""

    def owns(self, path: str) -> bool:
        """Return whether the run has written this file, so that it may be overwritten without --force."""
        return False

    def claim(self, target: Path, temporary: Path, grows: bool = False) -> None:
        """Record that the run writes a file: see `files.atomic_write`. grows: as a log does."""

    def is_complete(self, outputs: Sequence[str]) -> bool:
        """Return whether the run had written all these outputs before it was killed."""
        return False

    def is_needed(self) -> bool:
        """Return whether the run can be resumed, or its folder is the only record of files that it wrote."""
        return False

    def give_way(self) -> bool:
        """Give the folder back to the run that this one was to discard, if that still has its checkpoints.

        Return whether it was. A run that was asked to stop keeps the folder, and can be resumed.
        """
        return False

    def begin_outputs(self, complete: bool) -> None:
        """Record the run, and whether all results are written."""

    def end_outputs(self) -> None:
        """Record that all results are written."""

    @contextmanager
    def rescued(self) -> Iterator[None]:
        """Save what was learned if the block, which writes the results, fails; the error then says how to resume."""
        yield

    def enter(self, phase: Phase) -> None:
        """Enter a phase. Raise Stopped if a signal has asked the run to stop before it reads anything."""
        self.phase = phase
        if phase is Phase.PREPARING:
            self.end_if_stopped()

    def end_if_stopped(self) -> None:
        """Raise Stopped if a signal requested it before training began."""
        if self.stop_requested:
            raise Stopped(STOPPED_EARLY)

    def compiling(self) -> None:
        """Raise Stopped before a kernel is compiled if a signal arrived during the last: see `on_compilation`."""
        if self.phase is Phase.PREPARING:
            self.end_if_stopped()

    def due(self) -> bool:
        """Return whether training should call `pause`. Any thread may call this."""
        return False

    def pause(self, snapshot: Snapshot, milestone: bool = False) -> None:
        """Save a checkpoint if it is due, requested or a milestone. Save and raise Stopped if a signal requested that.

        `snapshot` is called only to save. An error in writing an earlier checkpoint is raised here.
        """

    def check_disk_space(self, footprint: Footprint, vocabulary: Vocabulary, weights: Weights) -> None:
        """Raise WriteError if checkpoints and results will not fit on the disk."""

    def keep(self, vocabulary: Vocabulary) -> None:
        """Keep the vocabulary, so that `export` does not need the corpus. Training begins: another run is discarded."""

    def remove_checkpoints(self) -> None:
        """Delete all checkpoints, so that the run starts over."""
