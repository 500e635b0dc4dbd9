"""What signals do during a run: they request that it stop or save. system/stopping.py decides what they do otherwise.

With checkpoints, a handler only sets a flag of the run, and checkpointing.py, `pause`, saves and raises Stopped.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

from w2vtrain.errors import Stopped
from w2vtrain.training.run import Phase, Run

Handler = Callable[[int, FrameType | None], None]


@contextmanager
def handled(handlers: Mapping[str, Handler]) -> Iterator[None]:
    """Let functions handle signals, given by name, unless the system does not have them. SIGHUP stays ignored by nohup.

    Do nothing outside of the main thread: other threads cannot handle signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = {getattr(signal, name): handler for name, handler in handlers.items() if hasattr(signal, name)}
    if "SIGHUP" in handlers and hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        del numbers[signal.SIGHUP]

    def unraisable(unraised: Any) -> None:
        # An exception that a handler raises during a compiler callback ends up here. Drop Stopped, which is requested.
        if not isinstance(unraised.exc_value, Stopped):
            hook(unraised)

    before = {number: signal.signal(number, handler) for number, handler in numbers.items()}
    hook, sys.unraisablehook = sys.unraisablehook, unraisable
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def listening(run: Run) -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP save and stop the run, SIGUSR1 save it, and a second SIGINT interrupt at once.

    On Windows, SIGBREAK (Ctrl-Break) takes the place of SIGHUP.
    """
    is_interrupted = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal is_interrupted
        if is_interrupted and number == signal.SIGINT:
            raise KeyboardInterrupt
        is_interrupted = is_interrupted or number == signal.SIGINT
        run.stop_requested = True
        if run.phase is Phase.PREPARING and not _compiler_calls(frame):
            run.end_if_stopped()

    def save(number: int, _: Any) -> None:
        run.save_requested = True

    with handled({"SIGINT": stop, "SIGTERM": stop, "SIGHUP": stop, "SIGBREAK": stop, "SIGUSR1": save}):
        yield


def _compiler_calls(frame: FrameType | None) -> bool:
    """Return whether the compiler has called what this frame is part of: it would drop an exception, and its code.

    A signal that arrives while LLVM compiles is handled there. The run ends before the next kernel is compiled, or at
    the first pause of training.
    """
    while frame is not None and not frame.f_code.co_name.startswith("_raw_object_cache_"):
        frame = frame.f_back
    return frame is not None
