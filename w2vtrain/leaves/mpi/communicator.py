"""The interface through which ranks exchange data.

mpi.py implements it with MPI, and benchmarks/simulated.py with threads of one process. Nothing here trains.
"""

import json
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from w2vtrain.system.json_text import json_text


class Communicator(Protocol):
    """The collective operations that training and counting need. All ranks call the same operations in the same order.

    rank: the number of this process, from 0; size: how many there are. Every operation raises Disconnected if another
    rank has ended or does not answer in time: the ranks cannot continue without it, and must be started again.
    """

    rank: int
    size: int

    def allreduce(self, array: np.ndarray) -> None:
        """Replace a contiguous array by its sum over all ranks, in place. All ranks get the same bytes."""

    def alltoall_rows(self, rows: np.ndarray, bounds: np.ndarray, received: np.ndarray) -> None:
        """Send rows[bounds[r] : bounds[r + 1]] to rank r, for all ranks, and set `received` to what all sent to it.

        rows: (n, width) uint8; bounds: (size + 1,) int64, equal on all ranks; received: (size * m, width) uint8 for m
        rows of this rank, in the order of the ranks that sent them.
        """

    def allgather_rows(self, rows: np.ndarray, bounds: np.ndarray) -> None:
        """Replace rows[bounds[r] : bounds[r + 1]] by those of rank r, for all ranks. Arguments as in alltoall_rows."""

    def allgather(self, data: bytes) -> list[bytes]:
        """Return the data of every rank, in the order of ranks. Their lengths may differ."""

    def broadcast(self, array: np.ndarray) -> None:
        """Replace a contiguous array by that of rank 0, in place. Type and shape are the same on all ranks."""

    def alltoall(self, messages: Sequence[bytes]) -> list[bytes]:
        """Send messages[r] to rank r, for all `size` ranks. Return what each rank sent to this one."""


def broadcast_bytes(comm: Communicator, data: bytes) -> bytes:
    """Return the data of rank 0. What the other ranks pass is ignored."""
    return comm.allgather(data if comm.rank == 0 else b"")[0]


def allgather_json(comm: Communicator, value: Any) -> list[Any]:
    """Return a JSON value of every rank, in the order of ranks."""
    return [json.loads(data) for data in comm.allgather(json_text(value).encode())]
