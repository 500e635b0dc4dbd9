"""Check before training that there is enough memory and disk space. Nothing is allocated or deleted."""

import shutil
from pathlib import Path

import psutil  # noqa: F401 - used by available_memory; if a signal raises an exception in its import, it drops it

from w2vtrain.architectures import architecture_class
from w2vtrain.config import Settings
from w2vtrain.errors import ResourceError, WriteError, spelled
from w2vtrain.kernels.rows import HOT_INPUTS, HOT_NODES, ROW
from w2vtrain.system.machine import available_memory
from w2vtrain.training.checkpoint import KEPT_CHECKPOINTS
from w2vtrain.training.predictor import window_size


def matrices(words: int, width: int, more: int = 0) -> int:
    """Return the bytes that input rows, output rows and `more` other rows take in memory, including padding."""
    return (2 * words + more) * -(-width // ROW) * ROW * 4


def replicas(words: int, threads: int) -> int:
    """Return the most rows that replicas of hot rows can take in the window engine, with their values as of loading."""
    return 2 * threads * (min(words, HOT_INPUTS) + min(words, HOT_NODES)) if threads > 1 else 0


def position_rows(settings: Settings) -> int:
    """Return the rows that weights for each position of a window take, with a replica per thread; 0 if there are none.

    They are taken to be two rows per word of the window: an architecture may have others.
    """
    if not architecture_class(settings.architecture).fixed_positions():
        return 0
    threads = int(settings.threads)
    return 2 * window_size(settings) * (1 + threads * (threads > 1))


def check_memory(words: int, width: int, copies: int = 1, more: int = 0, once: int = 0) -> None:
    """Raise ResourceError if `copies` of the matrices do not fit in memory; the message suggests sizes that would.

    more: the number of input rows of an architecture whose rows are not the word vectors themselves; once: the number
    of rows that are not copied, such as replicas.
    """
    needed, free = copies * matrices(words, width, more) + matrices(0, width, once), available_memory()
    if needed <= free:
        return
    fewer = int(words * free / needed * 0.9) // 1000 * 1000
    narrower = int(width * free / needed * 0.9) // ROW * ROW
    ways = [spelled("max_vocab", fewer)] * (fewer > 0) + [spelled("vector_size", narrower)] * (narrower > 0)
    if needed - matrices(0, width, once) <= free:
        ways = [f"a smaller {spelled('window')}", f"fewer {spelled('threads')}"]
    raise ResourceError(
        f"{words:,} words x {width} dimensions need {needed / 2**20:,.0f} MiB of memory, but only"
        f" {free / 2**20:,.0f} MiB are free: {' or '.join(ways) or 'a larger machine'} would fit"
    )


def check_disk(folder: Path, words: int, width: int, more: int = 0) -> None:
    """Raise WriteError if a run's checkpoints would not fit on the disk that holds `folder`, which must exist.

    more: see `check_memory`.
    """
    needed = (KEPT_CHECKPOINTS + 1) * matrices(words, width, more)  # one more while it is being written
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise WriteError(
            f"{folder}: checkpoints and vectors need {needed / 2**20:,.0f} MiB of disk space, but only"
            f" {free / 2**20:,.0f} MiB are free: choose another folder with"
            f" {spelled('run')}, or reduce {spelled('max_vocab')} or {spelled('vector_size')}"
        )
