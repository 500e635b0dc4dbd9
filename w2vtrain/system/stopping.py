"""What signals do outside of training: they end the command with one line on standard error and an exit code.

During training, training/signals.py handles signals. This module imports only a few small modules of the standard
library, because it is loaded before anything else.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress

NAME = "w2vtrain"
INTERRUPTED, STOPPED = 130, 75
"""The exit codes after Ctrl-C, and after a signal that asks a process to end."""
ENDING = ("SIGTERM", "SIGHUP", "SIGBREAK")
"""Signals that ask a process to end; no system has all of them."""


class Terminated(KeyboardInterrupt):
    """Raised by one of the ENDING signals. Like a KeyboardInterrupt, it passes through `except Exception`."""


def outcome(error: KeyboardInterrupt) -> tuple[int, str]:
    """Return the exit code and the message of a command that a signal has ended."""
    if isinstance(error, Terminated):
        return STOPPED, f"stopped by {error}: give the same command again"
    return INTERRUPTED, "interrupted"


def end(error: KeyboardInterrupt) -> None:
    """Print the outcome and end the process at once."""
    code, message = outcome(error)
    with suppress(OSError):
        os.write(2, b"\r" + b" " * 79 + b"\r" if os.isatty(2) else b"")  # what spinner.py has drawn
        os.write(2, f"{NAME}: {message}\n".encode())
    os._exit(code)


def signals_raise() -> None:
    """Let the ENDING signals raise Terminated, as Ctrl-C raises KeyboardInterrupt; nohup's ignored SIGHUP stays so.

    Ignore SIGUSR1, which asks a run to save, until there is something to save: by default, it would end the process.
    """
    for number in numbers(*ENDING, "SIGUSR1"):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _raise if number in numbers(*ENDING) else signal.SIG_IGN)


@contextmanager
def signals_end_imports() -> Iterator[None]:
    """Let Ctrl-C and the ENDING signals end the process at once, with a one-line message.

    While modules are being imported, an exception may be lost in a callback or turned into an ImportError by another
    module. Nothing is open yet that would need to be cleaned up. Handlers of other programs stay in effect.
    """
    ours = signal.default_int_handler, _raise
    with handled_by(_end, (number for number in numbers("SIGINT", *ENDING) if signal.getsignal(number) in ours)):
        yield


def ignore_signals() -> None:
    """Ignore Ctrl-C and the ENDING signals, because nothing is left to be done but the shutdown of Python."""
    for number in numbers("SIGINT", *ENDING):
        signal.signal(number, signal.SIG_IGN)


def numbers(*names: str) -> list[int]:
    """Return the numbers of the signals that the system has."""
    return [getattr(signal, name) for name in names if hasattr(signal, name)]


@contextmanager
def handled_by(handler: Callable[[int, object], None], signals: Iterable[int]) -> Iterator[None]:
    """Let a function handle signals until the end of the context. Do nothing outside of the main thread."""
    with ExitStack() as stack:
        if threading.current_thread() is threading.main_thread():
            for number in signals:
                stack.callback(signal.signal, number, signal.getsignal(number))
                signal.signal(number, handler)
        yield


def _error(number: int) -> KeyboardInterrupt:
    return KeyboardInterrupt() if number == signal.SIGINT else Terminated(signal.Signals(number).name)


def _raise(number: int, _: object) -> None:
    raise _error(number)


def _end(number: int, _: object) -> None:
    end(_error(number))
