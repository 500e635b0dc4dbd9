"""Run one task at a time, such as writing a checkpoint, in a background thread.

This module does not know what is written, and its caller decides when. Unlike `system.parallel`, it never gives up on a
slow task; it only warns.
"""

import threading
from collections.abc import Callable

from w2vtrain.system.parallel import held_signals

SLOW_SECONDS = 60.0
"""Seconds after which a warning reports that a task is not done."""


class BackgroundThread:
    """A background thread for one task at a time, whose error is raised by the next `wait`.

    warn: called with a line if a task takes longer than SLOW_SECONDS, at most once per task. A task that hangs delays
    only callers that wait for it: the thread is a daemon and ends with the process.
    """

    def __init__(self, warn: Callable[[str], None]) -> None:
        self.warn = warn
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    @property
    def busy(self) -> bool:
        """Return whether a task is running."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def failed(self) -> bool:
        """Return whether a task ended with an error that `wait` has not raised yet."""
        return self._error is not None

    def start(self, name: str, task: Callable[[], object]) -> None:
        """Start a task; the previous one must be done. name: what it writes, for the warning."""
        timer = threading.Timer(SLOW_SECONDS, lambda: self.warn(f"{name}: not written after {SLOW_SECONDS:g} s"))
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
        """Wait until the task is done, but at most `timeout` seconds. Raise its error once."""
        if self._thread is not None:
            self._thread.join(timeout)
            if self._thread.is_alive():
                return
        error, self._error = self._error, None
        if error is not None:
            raise error
