"""A thread that writes while others go on: one thing at a time. What is written, and when, is its caller's business."""

import threading
from collections.abc import Callable

SLOW = 60.0
"""Seconds after which a warning says that a thing is still being written."""


class Writer:
    """Does one task at a time; what goes wrong in it is raised by the next `wait`. warn: takes a line, once a task.

    A task that hangs holds up nothing but who waits for it: the thread ends with the process.
    """

    def __init__(self, warn: Callable[[str], None], slow: float | None = None) -> None:
        self.warn, self.slow = warn, SLOW if slow is None else slow
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    @property
    def busy(self) -> bool:
        """Whether a task is being done."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def failed(self) -> bool:
        """Whether a task ended with an error that nobody was told yet."""
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
        timer.start()
        self._thread.start()

    def wait(self, timeout: float | None = None) -> None:
        """Until the task is done, or so many seconds; raises its error, once."""
        if self._thread is not None:
            self._thread.join(timeout)
            if self._thread.is_alive():
                return
        error, self._error = self._error, None
        if error is not None:
            raise error
