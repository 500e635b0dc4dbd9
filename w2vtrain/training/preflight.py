"""Whether what a run needs is there, memory and disk, told before it trains. It takes nothing and deletes nothing."""

import shutil
from pathlib import Path

from w2vtrain.errors import ResourceError, WriteError
from w2vtrain.kernels.rows import ROW
from w2vtrain.system.machine import available_memory

CHECKPOINTS = 2
"""Kept on the disk, and a third while it is written."""


def matrices(words: int, width: int, more: int = 0) -> int:
    """Return the bytes of input and output rows, and `more` rows, padded as they are in memory."""
    return (2 * words + more) * -(-width // ROW) * ROW * 4


def check_memory(words: int, width: int, copies: int = 1, more: int = 0) -> None:
    """Raise ResourceError if `copies` of the matrices do not fit in memory; it names what would.

    more: input rows of an architecture whose rows are not the words' vectors.
    """
    needed, free = copies * matrices(words, width, more), available_memory()
    if needed <= free:
        return
    fewer = int(words * free / needed * 0.9) // 1000 * 1000
    narrower = int(width * free / needed * 0.9) // ROW * ROW
    ways = [f"--max-vocab {fewer}"] * (fewer > 0) + [f"--vector-size {narrower}"] * (narrower > 0)
    raise ResourceError(
        f"{words:,} words x {width} dimensions need {needed / 2**20:,.0f} MiB of memory, {free / 2**20:,.0f} are free"
        f": {' or '.join(ways) or 'a larger machine'} would fit"
    )


def check_disk(folder: Path, words: int, width: int) -> None:
    """WriteError if the checkpoints of a run would not fit on the disk of an existing folder."""
    needed = (CHECKPOINTS + 1) * matrices(words, width)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise WriteError(
            f"{folder}: checkpoints and vectors need {needed / 2**20:,.0f} MiB of disk, {free / 2**20:,.0f} are free:"
            " name another folder with --run, or train fewer words or dimensions"
        )
