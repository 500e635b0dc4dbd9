"""A line on the terminal of standard error that says what is being done, and for how many seconds.

A thread draws it, also while the main thread imports or compiles. Elsewhere than on a terminal, nothing is printed.
This module imports only a few modules of the standard library, as terminal.py does.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

TICK_SECONDS = 0.1
DELAY_SECONDS = 0.2
"""Work that takes less time is not shown."""
FRAMES = "|/-\\"
SAVE_CURSOR, RESTORE_CURSOR = "\x1b7\x1b[?7l", "\x1b[K\x1b[?7h\x1b8"
"""Codes of terminals: what is written between these does not wrap, and replaces the rest of the line."""
PAUSE_SECONDS = 1.0
"""Work that begins this soon after the last counts as the same: its seconds go on."""


class Spinner:
    """The line of this process.

    It is shown in two ways: by `begin`, until anything else is printed, and during a block, when others that print only
    interrupt it. No progress bar is drawn then: see `busy`. If `is_shown` is False, it never is.
    """

    def __init__(self) -> None:
        self.is_shown = True
        self._changed = threading.Condition()  # held while anything is written
        self._thread: threading.Thread | None = None
        self._text, self._width = "", 0
        self._blocks, self._began, self._ended = 0, 0.0, 0.0

    def begin(self, text: str) -> None:
        """Show a text until anything else is printed."""
        with self._changed:
            self._text, self._began = text, time.monotonic()
            self._start()

    @contextmanager
    def during(self, text: str) -> Iterator[None]:
        """Show a text while the block runs, or while one of several such blocks runs in other threads."""
        with self._changed:
            self._blocks += 1
            if self._blocks == 1:
                now = time.monotonic()
                self._began = self._began if now - self._ended < PAUSE_SECONDS else now
                self._text = text
                self._start()
        try:
            yield
        finally:
            with self.cleared():
                self._blocks, self._ended = self._blocks - 1, time.monotonic()
                self._text = self._text if self._blocks else ""

    @contextmanager
    def cleared(self) -> Iterator[None]:
        """Remove the line, so that the block can print. It returns only if it belongs to a block of `during`."""
        with self._changed:
            if self._width:
                self._write("")
                self._width = 0
            self._text = self._text if self._blocks else ""
            yield

    def busy(self) -> bool:
        """Return whether the line belongs to a block of `during`; if it does not, remove it."""
        with self.cleared():
            return self._blocks > 0

    def make_way(self) -> None:
        """Remove the line if text is going to be typed at a terminal. sys.stdin may be closed or None."""
        with suppress(AttributeError, ValueError):
            if sys.stdin.isatty():
                self.busy()

    def _start(self) -> None:
        """Let the thread draw, if standard error is a terminal."""
        if self._thread is None and self.is_shown and is_terminal():
            from w2vtrain.system.parallel import held_signals  # not needed elsewhere than on a terminal

            self._thread = threading.Thread(target=self._run, daemon=True)
            with held_signals():
                self._thread.start()
        self._changed.notify()

    def _run(self) -> None:
        with self._changed:
            while True:
                self._changed.wait(TICK_SECONDS if self._text else None)
                self._draw()

    def _draw(self) -> None:
        seconds = time.monotonic() - self._began
        if self._text and seconds >= DELAY_SECONDS and is_terminal():
            since = f", {int(seconds)} s" if seconds >= 1 else ""
            line = f"{FRAMES[int(seconds / TICK_SECONDS) % len(FRAMES)]} {self._text}{since}"
            self._write(line[: columns()])

    def _write(self, text: str) -> None:
        """Write a text over the last one, and leave the cursor where it was.

        A block of `during` takes the whole line, which a bar may have; otherwise, a script may have begun the line.
        """
        self._width = columns()
        line = "\r" + text.ljust(self._width) + "\r"
        if not self._blocks and sys.platform != "win32" and os.environ.get("TERM", "dumb") != "dumb":
            line = SAVE_CURSOR + text + RESTORE_CURSOR
        with suppress(OSError, ValueError):  # a closed stream
            sys.stderr.write(line)
            sys.stderr.flush()


def is_terminal() -> bool:
    """Return whether standard error is a terminal; programs may have closed or replaced it, or have None."""
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


def width_set() -> int:
    """Return how many columns the terminal has; 0 if nobody has set it."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except (AttributeError, OSError, ValueError):
        return 0


def columns() -> int:
    """Return how many characters a line of the terminal takes before the cursor wraps."""
    return (width_set() or 80) - 1


SPINNER = Spinner()
