"""Write in a thread of its own while others continue, one thing at a time.

It does not know what is written, and when is for its caller to decide. Nobody waits for it as callers of
`system.parallel` wait for their threads: it warns of a task that takes long, and gives none up.
"""

import threading
from collections.abc import Callable

from w2vtrain.system.parallel import held_signals

SLOW = 60.0
"""Seconds after which a warning says that a task is not done."""


class Writer:
    """Do one task at a time, and raise its error in the next `wait`. warn: takes a line, once per task.

    A task that hangs delays nobody but those who wait for it: the thread ends with the process.
    """

    def __init__(self, warn: Callable[[str], None], slow: float | None = None) -> None:
        self.warn, self.slow = warn, SLOW if slow is None else slow
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    @property
    def busy(self) -> bool:
        """Return whether a task is being done."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def failed(self) -> bool:
        """Return whether a task ended with an error that `wait` has not raised yet."""
        return self._error is not None

    def start(self, name: str, task: Callable[[], object]) -> None:
        """Begin a task; the one before it must be done."""
        timer = threading.Timer(self.slow, lambda: self.warn(f"{name}: not written after {self.slow:g} s"))
        timer.daemon = True

        def work() -> None:
            try:
                task()
            except BaseException as error:
                self._error = error
            finally:
                timer.cancel()

        self._thread = threading.Thread(target=work, name="w2vtrain writer", daemon=True)
        with held_signals():
            timer.start()
            self._thread.start()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the task is done, but no longer than `timeout` seconds. Raise its error, once."""
        if self._thread is not None:
            self._thread.join(timeout)
            if self._thread.is_alive():
                return
        error, self._error = self._error, None
        if error is not None:
            raise error
