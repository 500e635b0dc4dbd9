"""What signals do during a run: they request that it stop or save. system/stopping.py decides what they do otherwise.

With checkpoints, a handler only sets a flag of the run, and checkpointing.py, `pause`, saves and raises Stopped.
"""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from w2vtrain.errors import Stopped
from w2vtrain.system.stopping import ENDING, handled_by, numbers
from w2vtrain.training.run import Phase, Run


@contextmanager
def listening(run: Run) -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP save and stop the run, SIGUSR1 save it, and a second SIGINT interrupt at once.

    On Windows, SIGBREAK (Ctrl-Break) takes the place of SIGHUP, which stays ignored by nohup.
    """
    is_interrupted = False

    def handle(number: int, frame: Any) -> None:
        nonlocal is_interrupted
        if number in numbers("SIGUSR1"):
            run.save_requested = True
            return
        if is_interrupted and number == signal.SIGINT:
            raise KeyboardInterrupt
        is_interrupted = is_interrupted or number == signal.SIGINT
        run.stop_requested = True
        if run.phase is Phase.PREPARING and not _compiler_calls(frame):
            run.end_if_stopped()

    def unraisable(unraised: Any) -> None:
        # An exception that `handle` raises during a compiler callback ends up here. Drop Stopped, which is requested.
        if not isinstance(unraised.exc_value, Stopped):
            hook(unraised)

    ignored = [number for number in numbers("SIGHUP") if signal.getsignal(number) == signal.SIG_IGN]
    with handled_by(handle, {*numbers("SIGINT", *ENDING, "SIGUSR1")}.difference(ignored)):
        hook, sys.unraisablehook = sys.unraisablehook, unraisable
        try:
            yield
        finally:
            sys.unraisablehook = hook


def _compiler_calls(frame: FrameType | None) -> bool:
    """Return whether the compiler has called what this frame is part of: it would drop an exception, and its code.

    A signal that arrives while LLVM compiles is handled there. The run ends before the next kernel is compiled, or at
    the first pause of training.
    """
    while frame is not None and not frame.f_code.co_name.startswith("_raw_object_cache_"):
        frame = frame.f_back
    return frame is not None
