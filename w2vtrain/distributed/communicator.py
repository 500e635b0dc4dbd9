"""The interface through which ranks exchange data, and the communicator of a rank that is alone.

mpi.py implements it with MPI, and simulated.py with threads of one process. Nothing here trains.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np


class Communicator(Protocol):
    """The collective operations that training and counting need. All ranks call the same operations in the same order.

    rank: the number of this process, from 0; size: how many there are. Every operation raises Disconnected if another
    rank has ended or does not answer in time: the ranks cannot continue without it, and must be started again.
    """

    rank: int
    size: int

    def allreduce(self, array: np.ndarray) -> None:
        """Replace a contiguous array by its sum over all ranks, in place. All ranks get the same bytes."""

    def alltoall_rows(self, rows: np.ndarray, bounds: np.ndarray, found: np.ndarray) -> None:
        """Send rows[bounds[r] : bounds[r + 1]] to rank r, for all ranks, and set `found` to what all sent to this one.

        rows: (n, width) uint8; bounds: (size + 1,) int64, equal on all ranks; found: (size * m, width) uint8 for the m
        rows of this rank, in the order of the ranks that sent them.
        """

    def allgather_rows(self, rows: np.ndarray, bounds: np.ndarray) -> None:
        """Replace rows[bounds[r] : bounds[r + 1]] by those of rank r, for all ranks. Arguments as in alltoall_rows."""

    def allgather(self, data: bytes) -> list[bytes]:
        """Return the data of every rank, in the order of ranks. Their lengths may differ."""

    def broadcast(self, array: np.ndarray) -> None:
        """Replace a contiguous array by that of rank 0, in place. Type and shape are the same on all ranks."""

    def alltoall(self, parts: Sequence[bytes]) -> list[bytes]:
        """Send parts[r] to rank r, for all `size` ranks. Return what each rank sent to this one."""


class Alone:
    """The communicator of a process that trains alone: every operation leaves the data as they are."""

    rank, size = 0, 1

    def allreduce(self, array: np.ndarray) -> None:
        """Do nothing: there is one summand."""

    def alltoall_rows(self, rows: np.ndarray, bounds: np.ndarray, found: np.ndarray) -> None:
        """Copy all rows."""
        found[...] = rows

    def allgather_rows(self, rows: np.ndarray, bounds: np.ndarray) -> None:
        """Do nothing: all rows are those of this process."""

    def allgather(self, data: bytes) -> list[bytes]:
        """Return the data of this process."""
        return [data]

    def broadcast(self, array: np.ndarray) -> None:
        """Do nothing: this is rank 0."""

    def alltoall(self, parts: Sequence[bytes]) -> list[bytes]:
        """Return what this process sends to itself."""
        return list(parts)
