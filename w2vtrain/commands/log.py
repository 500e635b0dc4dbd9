"""The JSON log of a run: open it, write its lines, and say how the run ended.

What is logged comes from console.py.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from w2vtrain.commands.console import Log
from w2vtrain.commands.fit_request import FitRequest
from w2vtrain.commands.shell import explained
from w2vtrain.errors import OutputError, Stopped, W2VError, WriteError
from w2vtrain.system.files import STDOUT, answering, atomic_write, is_stream
from w2vtrain.system.json_text import json_text
from w2vtrain.system.terminal import echo
from w2vtrain.training.run import Run

MAX_LINE_BYTES = 1 << 20


@contextmanager
def json_lines(path: str | None, opened: Callable[[str], TextIO]) -> Iterator[Log]:
    """Yield a function that writes an object and the time as one line of JSON, and flushes; without a path, a no-op.

    path: `-` is standard output; opened: a function that opens any other file. Raise OutputError if the file cannot be
    created, and WriteError if it cannot be written.
    """
    if path is None:
        yield lambda _: None
        return
    try:
        file = None if path == STDOUT else opened(path)
    except OSError as error:
        raise OutputError(f"{path} cannot be created: {error.strerror}") from error

    def write(facts: dict[str, Any]) -> None:
        line = json_text({"event": facts["event"], "time": round(time.time(), 3), **facts})
        try:
            if file is None:
                echo(line)
            else:
                file.write(line + "\n")
                file.flush()
        except BrokenPipeError:  # training continues without a reader
            pass
        except OSError as error:
            raise WriteError(f"{path} cannot be written: {error.strerror}") from error

    try:
        yield write
    finally:
        if file is not None:
            with suppress(OSError):  # reported already
                file.close()


def open_log(request: FitRequest, run: Run, path: str) -> TextIO:
    """Open the log of a run, to append to it if it is the run's own; any other existing file needs --force."""
    if is_stream(path):
        return Path(path).open("w", encoding="utf-8", newline="\n")
    if not run.owns(path):
        with atomic_write(path, request.force, claim=partial(run.claim, grows=True)):
            pass
    log = Path(path).open("a", encoding="utf-8", newline="\n")  # noqa: SIM115
    if (last := _last_line(path)) and not last.endswith(b"\n"):  # the disk was full
        log.write("\n")
    return log


def ends_done(path: str) -> bool:
    """Return whether the last line of a run's log says that all is done, so that there is nothing to add."""
    if is_stream(path):
        return False
    with answering(Path(path)), suppress(FileNotFoundError):
        last = _last_line(path)
        return last.startswith(b'{"event":"done"') and last.endswith(b"\n")
    return False


def _last_line(path: str) -> bytes:
    """Return the last line of a file, which may be incomplete; b"" if the file is empty."""
    with Path(path).open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - MAX_LINE_BYTES))
        return b"".join(deque(file, 1))


@contextmanager
def reported(log: Log) -> Iterator[None]:
    """Log how the run ended if it was stopped or failed."""
    try:
        yield
    except BaseException as error:
        code, message = explained(error)
        event = "stopped" if isinstance(error, Stopped) else "error"
        if code:  # 0 if the reader of standard output closed it, which is not an error
            with suppress(W2VError):  # the error itself matters more
                log({"event": event, "exit_code": code, "message": message})
        raise
