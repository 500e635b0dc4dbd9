"""Agreement among the ranks: an error on one rank is raised on all, and ranks that work for long stay in touch.

Nothing here reads or writes files. Messages are JSON, so what another rank sends cannot run code.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from w2vtrain import errors
from w2vtrain.errors import ConfigError, Disconnected, InputMissing, OutputError, ResourceError, W2VError, WriteError
from w2vtrain.leaves.mpi.communicator import Communicator, allgather_json
from w2vtrain.system.parallel import held_signals

REPORT_SECONDS = 1.0
"""Between the messages of a rank that is working. The others wait for them with a time limit."""
ERRORS_OF_ONE_RANK = (ConfigError, InputMissing, OutputError, WriteError, ResourceError)
"""Errors that may have to do with one rank or its host only, so that their messages name the rank."""
OnReports = Callable[[list[Any]], None]
"""Called with the latest report of every rank, in the order of ranks."""


class _AgreedError(Exception):
    """Carries an error that all ranks know out of `together`. It is no W2VError, so nothing on the way handles it."""

    def __init__(self, error: W2VError) -> None:
        super().__init__(str(error))
        self.error = error


class Gathering:
    """What the ranks tell one another while each does its own work. Made by `together`."""

    def __init__(self, comm: Communicator, on_reports: OnReports | None) -> None:
        self._comm, self._on_reports = comm, on_reports
        self._report: Any = None
        self._spoke = time.monotonic()

    def report(self, mine: Any = None) -> None:
        """Report to all ranks what this one has done so far, as a JSON value, if REPORT_SECONDS seconds have passed.

        None repeats the report before. Call this at least once per second. If another rank has failed, its error leaves
        the block of `together`.
        """
        self._report = self._report if mine is None else mine
        if time.monotonic() - self._spoke >= REPORT_SECONDS:
            self.exchange(done=False)

    def exchange(self, done: bool, error: W2VError | None = None) -> bool:
        """Exchange messages with all ranks. Return whether all have finished. Raise the error of the first with one."""
        failure = error and {"class": type(error).__name__, "code": error.exit_code, "text": str(error)}
        messages = allgather_json(self._comm, {"done": done, "report": self._report, "error": failure})
        self._spoke = time.monotonic()
        for rank, theirs in enumerate(messages):
            if theirs["error"]:
                rebuilt = _rebuilt(theirs["error"], f"rank {rank}: " if self._comm.size > 1 else "")
                raise _AgreedError(rebuilt) from (error if rank == self._comm.rank else None)
        if all(theirs["done"] for theirs in messages):
            return True
        if self._on_reports:
            self._on_reports([theirs["report"] for theirs in messages])
        return False


@contextmanager
def together(comm: Communicator, on_reports: OnReports | None = None) -> Iterator[Gathering]:
    """Run a block on all ranks. If it raises a W2VError on any rank, raise an equal error on all ranks.

    The error that is raised is that of the first rank that has one: the same class and message, with the number of the
    rank where the cause may be its host. The block must not use the communicator, except by `Gathering.report`, which
    it must call if it takes more than a few seconds. on_reports: called whenever all ranks have reported.

    Disconnected is raised as it is, because the others cannot be reached.
    """
    gathering = Gathering(comm, on_reports)
    try:
        try:
            yield gathering
            while not gathering.exchange(done=True):
                pass
        except Disconnected:
            raise
        except W2VError as error:
            gathering.exchange(done=True, error=error)
    except _AgreedError as agreed:
        raise agreed.error from agreed.__cause__


class Standby:
    """Keeps a rank in touch with the others, from a thread, while it does work that may take long on one rank only.

    All ranks make one at the same time, and end it when they are done with that work. In between, nothing else may use
    the communicator.
    """

    def __init__(self, comm: Communicator) -> None:
        self._comm, self._done = comm, threading.Event()
        self._mine: W2VError | None = None
        self._agreed: BaseException | None = None
        self._thread = threading.Thread(target=self._report, name="standby", daemon=True)
        with held_signals():
            self._thread.start()

    @contextmanager
    def ending(self) -> Iterator[None]:
        """Wait at the end of a block until all ranks have come there. Errors in it are raised as by `together`."""
        try:
            yield
        except W2VError as error:
            self._mine = error
        self._done.set()
        self._thread.join()
        if self._agreed:
            raise self._agreed

    def _report(self) -> None:
        try:
            with together(self._comm) as gathering:
                while not self._done.wait(REPORT_SECONDS / 4):
                    gathering.report()
                if self._mine:
                    raise self._mine
        except BaseException as error:
            self._agreed = error


def _rebuilt(failure: dict[str, Any], where: str) -> W2VError:
    """Return an error of the same class as on the rank that raised it, or at least with the same exit code."""
    known = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, W2VError)}
    same_code = (kind for kind in known.values() if kind.exit_code == failure["code"])
    kind = known.get(failure["class"]) or next(same_code, W2VError)
    return kind(f"{where if issubclass(kind, ERRORS_OF_ONE_RANK) else ''}{failure['text']}")
