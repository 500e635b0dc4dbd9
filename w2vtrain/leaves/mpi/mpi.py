"""The communicator of an MPI job, which mpi4py provides. Nothing here trains.

Operations do not block: while a rank waits, it asks MPI whether the operation is complete, and after a time limit it
gives up. MPI itself would wait forever for a rank whose network is cut.
"""

import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any

import numpy as np

from w2vtrain.errors import ConfigError, Disconnected
from w2vtrain.system.machine import launched_processes

EAGER_SECONDS, PATIENT_SECONDS = 0.001, 0.05
"""Seconds of waiting after which a rank offers its core to others between two questions to MPI, and after which it
sleeps between them."""
NAP_SECONDS = 0.0005
"""Seconds of one such sleep."""
MAX_GAP_SECONDS = 1.0
"""Seconds between two questions that count as waiting; a process that was suspended has longer gaps."""


class Mpi:
    """The communicator of this process in an MPI job, of which there is one: see communicator.Communicator.

    timeout: the seconds after which a rank that waits for the others raises Disconnected.
    """

    def __init__(self, timeout: float) -> None:
        if find_spec("mpi4py") is None:
            raise ConfigError(
                "distributed: MPI needs the package mpi4py: install w2vtrain[mpich], which includes an MPI library, or"
                " w2vtrain[mpi] to use the one that is installed"
            )
        import mpi4py

        mpi4py.rc.finalize = False  # `finish` does it, if the other ranks are there
        try:
            with _alarm(timeout):  # MPI waits forever for a process that ended before it joined
                from mpi4py import MPI
        except (ImportError, RuntimeError) as error:
            raise ConfigError(
                f"distributed: mpi4py finds no MPI library ({error}): load the module of your site, or install"
                " w2vtrain[mpich]"
            ) from error
        self._mpi, self._world, self._timeout = MPI, MPI.COMM_WORLD, timeout
        self.rank, self.size = self._world.Get_rank(), self._world.Get_size()
        # With the mpiexec of another MPI library, each process would train alone and write the same outputs.
        if self.size == 1 < (started := launched_processes()):
            library = str(MPI.Get_library_version()).splitlines()[0].strip("\0 ")
            raise ConfigError(
                f"distributed: the launcher started {started} processes, but {library} sees only one: use the"
                " mpiexec of that library, or srun with the --mpi option that it needs"
            )

    def allreduce(self, array: np.ndarray) -> None:
        self._wait(lambda: self._world.Iallreduce(self._mpi.IN_PLACE, array))

    def alltoall_rows(self, rows: np.ndarray, bounds: np.ndarray, received: np.ndarray) -> None:
        own = np.diff(bounds) * rows.shape[1]
        theirs = np.full(self.size, own[self.rank])
        self._wait(lambda: self._world.Ialltoallv([rows, own], [received, theirs]))

    def allgather_rows(self, rows: np.ndarray, bounds: np.ndarray) -> None:
        sizes = np.diff(bounds) * rows.shape[1]
        self._wait(lambda: self._world.Iallgatherv(self._mpi.IN_PLACE, [rows, sizes]))

    def allgather(self, data: bytes) -> list[bytes]:
        own, sizes = np.array([len(data)], np.int64), np.empty(self.size, np.int64)
        self._wait(lambda: self._world.Iallgather(own, sizes))
        received = np.empty(int(sizes.sum()), np.uint8)
        self._wait(lambda: self._world.Iallgatherv(np.frombuffer(data, np.uint8), [received, sizes]))
        return _cut(received, sizes)

    def broadcast(self, array: np.ndarray) -> None:
        self._wait(lambda: self._world.Ibcast(array))

    def alltoall(self, messages: Sequence[bytes]) -> list[bytes]:
        own, theirs = np.array([len(message) for message in messages], np.int64), np.empty(self.size, np.int64)
        self._wait(lambda: self._world.Ialltoall(own, theirs))
        received = np.empty(int(theirs.sum()), np.uint8)
        sent = np.frombuffer(b"".join(messages), np.uint8)
        self._wait(lambda: self._world.Ialltoallv([sent, own], [received, theirs]))
        return _cut(received, theirs)

    def abort(self, code: int) -> None:
        """End all ranks at once, because this one cannot tell them in any other way. Does not return."""
        self._world.Abort(code)
        os._exit(code)  # MPI returned, although it must not

    def finish(self, code: int = 0) -> None:
        """Leave the job when all ranks do. Without that, the launcher reports an error.

        code: the exit code of this rank. If the other ranks do not come within the time limit, return without having
        left. Only ranks that have nothing left to do wait without a limit: rank 0 still writes the results.
        """
        limit = self._timeout if code or self.rank == 0 else math.inf
        with suppress(Disconnected):
            # Finalize holds Python's global lock and keeps a core busy, so the ranks wait for one another before it.
            self._complete(self._guarded(self._world.Ibarrier), limit)
            with _alarm(self._timeout):
                self._mpi.Finalize()

    def _wait(self, begin: Callable[[], Any]) -> None:
        self._complete(self._guarded(begin), self._timeout)

    def _complete(self, request: Any, limit: float) -> None:
        """Wait until an operation is complete. Raise Disconnected after `limit` seconds.

        The time for which the process was suspended does not count.
        """
        waited, last = 0.0, time.monotonic()
        while not self._guarded(request.Test):
            now = time.monotonic()
            waited, last = waited + min(now - last, MAX_GAP_SECONDS), now
            if waited > limit:
                raise Disconnected(
                    f"another rank has ended or has not answered for {limit:g} s: the same command continues"
                    " from the last checkpoint"
                )
            if waited > EAGER_SECONDS:
                time.sleep(NAP_SECONDS if waited > PATIENT_SECONDS else 0)

    def _guarded(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except self._mpi.Exception as error:
            raise Disconnected(f"the connection to another rank is lost: {error}") from error


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Let the operating system end this process by SIGALRM if a block takes longer.

    MPI holds Python's global lock while it starts, so neither a thread nor a signal handler of Python could do it.
    """
    if sys.platform == "win32":
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _cut(data: np.ndarray, sizes: np.ndarray) -> list[bytes]:
    return [part.tobytes() for part in np.split(data, np.cumsum(sizes)[:-1])]
