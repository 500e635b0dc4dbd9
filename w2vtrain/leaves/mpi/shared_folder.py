"""Check that a folder is the same on all ranks, with patience for network file systems, which show new files late.

Nothing here knows what the folder will hold.
"""

import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from w2vtrain.errors import OutputError, reason, spelled
from w2vtrain.leaves.mpi.agreement import Gathering, together
from w2vtrain.leaves.mpi.communicator import Communicator, broadcast_bytes
from w2vtrain.system.files import atomic_write

T = TypeVar("T")

PATIENCE_SECONDS = 10.0
"""Seconds in which what one rank has written must become visible to the others."""
_PAUSE_SECONDS = 0.05  # between attempts
_TOKEN_BYTES = 32


def check_shared(comm: Communicator, folder: Path) -> None:
    """Raise OutputError unless the folder exists and is the same on all ranks.

    Rank 0 writes a small file there, which the others must find.
    """
    token = broadcast_bytes(comm, secrets.token_bytes(_TOKEN_BYTES))
    path = folder / f".shared-{token.hex()[:16]}"
    try:
        with together(comm):
            if comm.rank == 0:
                with atomic_write(path) as file:
                    file.write(token)
        with together(comm) as gathering:
            if comm.rank and await_shared(gathering, lambda: _content(path), folder) != token:
                raise not_shared(folder, "a file that rank 0 wrote has another content")
    finally:
        if comm.rank == 0:
            with suppress(OSError):
                path.unlink(missing_ok=True)


def await_shared(gathering: Gathering, attempt: Callable[[], T], folder: Path) -> T:
    """Return the result of `attempt`, which is repeated for PATIENCE_SECONDS while it raises OSError.

    Raise OutputError if it still fails then. folder: the folder that seems not to be shared.
    """
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return attempt()
        except OSError as error:
            if time.monotonic() >= end:
                raise not_shared(folder, reason(error)) from error
        gathering.report()
        time.sleep(_PAUSE_SECONDS)


def not_shared(folder: Path, why: str) -> OutputError:
    """Return the error for a folder that is not the same on all hosts."""
    return OutputError(
        f"{folder} does not show what another rank wrote there ({why}): with {spelled('cache_dir')}, name a folder on"
        " storage that all hosts share"
    )


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_TOKEN_BYTES + 1)
