"""Calculate what a run keeps in memory and on disk, and check before training that there is enough of both.

Only `engine_that_fits` allocates anything, and nothing is deleted. `Footprint` is what the check of the disk and
`fit --dry-run`, in estimate.py, both count.
"""

import os
import shutil
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil  # noqa: F401 - used by available_memory; if a signal raises an exception in its import, it drops it

from w2vtrain.architectures.contract import composes
from w2vtrain.config import Settings
from w2vtrain.engines.base import Engine, Weights
from w2vtrain.engines.chunks import Chunks
from w2vtrain.errors import ResourceError, WriteError, spelled
from w2vtrain.formats.subwords import Subwords
from w2vtrain.kernels.rows import HOT_INPUTS, HOT_NODES, ROW
from w2vtrain.objectives import engine_of
from w2vtrain.system.amounts import size_text
from w2vtrain.system.files import answering
from w2vtrain.system.machine import available_memory
from w2vtrain.text.vocabulary import Vocabulary
from w2vtrain.training.checkpoint_file import KEPT_CHECKPOINTS
from w2vtrain.training.engine_parts import architecture_of, engine_for, parts_of, subwords_of
from w2vtrain.training.plan import Plan

UNCHECKED_BYTES = 1 << 24
"""Bytes of matrices up to which the free memory is not looked up, which takes half a millisecond."""
SMALL_BYTES = 64 << 10
"""Bytes of the small files of a checkpoint or a run folder: manifest, request, records of epochs, lock."""
TEXT_NEEDS, RESULTS_NEED = "the encoded text needs", "checkpoints and vectors need"
"""What `check_disk` says needs the space: while the text is read, and during training."""


@dataclass(frozen=True)
class Footprint:
    """What the state of a run takes, in bytes.

    state: what training changes; best: the copy of the best epoch's weights, 0 if there is none; words: the vocabulary
    as text.
    """

    state: int
    best: int
    words: int

    @classmethod
    def of(
        cls, state: Mapping[str, np.ndarray], weights: Weights, vocabulary: Vocabulary, keeps_best: bool
    ) -> "Footprint":  # fmt: skip
        """Return the footprint of a run.

        state: what training changes, see `Engine.state`; weights: see `Engine.weights`; keeps_best: see `keeps_best`.
        """
        best = (weights.input, weights.output, *weights.arrays.values()) if keeps_best else ()
        return cls(_bytes(state.values()), _bytes(best), vocabulary.text_size())

    @property
    def checkpoint(self) -> int:
        """The size of a checkpoint, and of the copy in memory from which it is written in the background."""
        return self.state + self.best + SMALL_BYTES

    @property
    def folder(self) -> int:
        """The size of the run folder at its peak, when KEPT_CHECKPOINTS are kept and one more is being written."""
        return (KEPT_CHECKPOINTS + 1) * self.checkpoint + self.words + SMALL_BYTES

    def left(self, folder: Path) -> int:
        """Return the bytes that a run folder can still grow by: it may have checkpoints of a run that is resumed."""
        return max(0, self.folder - size_of(folder))


def keeps_best(settings: Settings, heldout: object) -> bool:
    """Return whether a run copies the weights of its best epoch: those of the last epoch need no copy."""
    return bool(heldout) and settings.epochs > 1


def _bytes(arrays: Iterable[np.ndarray]) -> int:
    return sum(array.nbytes for array in arrays)


def matrices(words: int, width: int, more: int = 0) -> int:
    """Return the bytes that input rows, output rows and `more` other rows take in memory, including padding."""
    return (2 * words + more) * -(-width // ROW) * ROW * 4


def replicas(words: int, threads: int) -> int:
    """Return the most rows that replicas of hot rows can take in the window engine, with their values as of loading."""
    return 2 * threads * (min(words, HOT_INPUTS) + min(words, HOT_NODES)) if threads > 1 else 0


def too_small(needed: int) -> int | None:
    """Return the bytes of free memory if these are less than what is needed, else None."""
    return None if needed <= UNCHECKED_BYTES or needed <= (free := available_memory()) else free


def check_memory(words: int, width: int, copies: int = 1, more: int = 0, once: int = 0) -> None:
    """Raise ResourceError if `copies` of the matrices do not fit in memory; the message suggests sizes that would.

    more: the number of input rows of an architecture whose rows are not the word vectors themselves; once: the number
    of rows that are not copied, such as replicas.
    """
    needed = copies * matrices(words, width, more) + matrices(0, width, once)
    if (free := too_small(needed)) is None:
        return
    fewer = int(words * free / needed * 0.9) // 1000 * 1000
    narrower = int(width * free / needed * 0.9) // ROW * ROW
    ways = [spelled("max_vocab", fewer)] * (fewer > 0) + [spelled("vector_size", narrower)] * (narrower > 0)
    if needed - matrices(0, width, once) <= free:
        ways = [f"a smaller {spelled('window')}", f"fewer {spelled('threads')}"]
    raise ResourceError(
        f"{words:,} words x {width} dimensions need {size_text(needed)} of memory, but only"
        f" {size_text(free)} are free: {' or '.join(ways) or 'a larger machine'} would fit"
    )


def check_run_memory(
    plan: Plan, words: int, architecture: Any, subwords: Subwords | None, copies: int, tags: int
) -> None:
    """Raise ResourceError if memory is too small for a run with `words` words. copies: more of all matrices."""
    settings, inputs = plan.settings, plan.inputs
    once = replicas(words, int(settings.threads)) if engine_of(settings.objective) == "windows" else 0
    # The best weights and the initial model are kept, too.
    copies += 1 + keeps_best(settings, inputs.heldout) + bool(inputs.start)
    more = (subwords or architecture).input_rows(words) if subwords or composes(architecture) else tags
    once += copies * words * (parts_of(settings) - 1)  # wider output rows, which a smaller window makes narrower
    check_memory(words, settings.vector_size + settings.bias, copies, more, once)


def engine_that_fits(plan: Plan, vocabulary: Vocabulary, text: Chunks, copies: int = 0) -> Engine:
    """Return the engine of a run with initial weights, or raise as `check_run_memory` before anything is allocated."""
    settings, words = plan.settings, vocabulary.words
    subwords, architecture = subwords_of(settings, words), architecture_of(settings, words)
    check_run_memory(plan, len(words), architecture, subwords, copies, text.tags.size if text.tags else 0)
    return engine_for(settings, vocabulary, text, architecture, subwords)


def check_disk(needs: Iterable[tuple[Path, int]], purpose: str = RESULTS_NEED) -> None:
    """Raise WriteError if the bytes that each folder will take do not fit on its disk, ReadError if it does not answer.

    The sum counts for folders on the same disk, and the first of them is named. A folder that does not exist is on the
    disk of its parent.
    """
    disks: dict[int, list[tuple[Path, int]]] = defaultdict(list)
    for folder, size in needs:
        with answering(folder):
            disks[_existing(folder).stat().st_dev].append((folder, size))
    for entries in disks.values():
        folder, needed = entries[0][0], sum(size for _, size in entries)
        with answering(folder):
            free = shutil.disk_usage(_existing(folder)).free
        if needed > free:
            advice = f"choose another folder with {spelled('cache_dir')}"
            if purpose == RESULTS_NEED:
                sizes = f"{spelled('max_vocab')} or {spelled('vector_size')}"
                advice = f"choose another folder with {spelled('run')} or -o, or reduce {sizes}"
            raise WriteError(
                f"{folder}: {purpose} {size_text(needed)} of disk space, but only {size_text(free)} are free: {advice}"
            )


def _existing(folder: Path) -> Path:
    return folder if folder.exists() else folder.absolute().parent


def size_of(folder: Path) -> int:
    """Return the bytes of the files in a folder and its folders; 0 if it does not exist."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # deleted in the meantime
                total += (Path(place) / name).stat(follow_symlinks=False).st_size
    return total
