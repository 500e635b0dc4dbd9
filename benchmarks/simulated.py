"""Ranks that are threads of one process, for tests and for measuring how the number of ranks affects accuracy.

Nothing here communicates between processes. Operations do what MPI's do, and ranks that fail release the others.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np

from w2vtrain.errors import Disconnected

T = TypeVar("T")


class Simulated:
    """The communicator of one rank, which is a thread. Made by `run_ranks`.

    timeout: the seconds after which a rank that waits for the others raises Disconnected.
    """

    def __init__(self, rank: int, meeting: threading.Barrier, table: list[Any], timeout: float) -> None:
        self.rank, self.size = rank, len(table)
        self._meeting, self._table, self._timeout = meeting, table, timeout

    def allreduce(self, array: np.ndarray) -> None:
        """Add up the arrays of all ranks, in the order of ranks."""
        arrays = self._swap(array.copy())
        total = arrays[0].copy()
        for theirs in arrays[1:]:
            total += theirs
        array[...] = total

    def alltoall_rows(self, rows: np.ndarray, bounds: np.ndarray, received: np.ndarray) -> None:
        """Get the rows of this rank from all."""
        mine = slice(bounds[self.rank], bounds[self.rank + 1])
        np.concatenate([theirs[mine] for theirs in self._swap(rows.copy())], out=received)

    def allgather_rows(self, rows: np.ndarray, bounds: np.ndarray) -> None:
        """Copy the rows of each rank."""
        np.concatenate(self._swap(rows[bounds[self.rank] : bounds[self.rank + 1]].copy()), out=rows)

    def allgather(self, data: bytes) -> list[bytes]:
        """Return the data of every rank."""
        return self._swap(data)

    def broadcast(self, array: np.ndarray) -> None:
        """Copy the array of rank 0."""
        array[...] = self._swap(array.copy() if self.rank == 0 else None)[0]

    def alltoall(self, messages: Sequence[bytes]) -> list[bytes]:
        """Return what each rank sends to this one."""
        return [sent[self.rank] for sent in self._swap(list(messages))]

    def _swap(self, item: Any) -> list[Any]:
        """Return the items that all ranks passed, once all have done so."""
        self._table[self.rank] = item
        try:
            self._meeting.wait(self._timeout)
        except threading.BrokenBarrierError:
            raise Disconnected(f"rank {self.rank}: another rank has ended or does not answer") from None
        items = list(self._table)
        with suppress(threading.BrokenBarrierError):  # a rank that has its items may fail before others have woken up
            self._meeting.wait(self._timeout)
        return items


def run_ranks(ranks: int, work: Callable[[Simulated], T], timeout: float = 600.0) -> list[T]:
    """Call `work` once per rank, each in a thread of its own, and return the results in the order of ranks.

    If a rank raises an exception, the others raise Disconnected at their next operation; the first exception that is
    not Disconnected is raised here, or else the first.
    """
    meeting, table = threading.Barrier(ranks), [None] * ranks
    results: list[Any] = [None] * ranks
    errors: list[BaseException | None] = [None] * ranks

    def follow(rank: int) -> None:
        try:
            results[rank] = work(Simulated(rank, meeting, table, timeout))
        except BaseException as error:
            errors[rank] = error
            meeting.abort()

    threads = [threading.Thread(target=follow, args=(rank,), name=f"rank {rank}") for rank in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    raised = [error for error in errors if error is not None]
    if raised:
        raise next((error for error in raised if not isinstance(error, Disconnected)), raised[0])
    return results
