"""The JSON log of a run: open it, write its lines, and say how the run ended.

What is logged comes from console.py.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from w2vtrain.commands.console import Log
from w2vtrain.commands.shell import explained
from w2vtrain.errors import OutputError, Stopped, W2VError, WriteError
from w2vtrain.system.files import STDERR_NAMES, STDOUT_NAMES, atomic_write, is_stream
from w2vtrain.system.json_text import json_text
from w2vtrain.system.terminal import echo
from w2vtrain.training.run import Run


@contextmanager
def json_log(path: str | None, run: Run, force: bool) -> Iterator[Log]:
    """Yield a function that writes an object and the time as one line of JSON, and flushes; without a path, a no-op.

    path: `-` is standard output. To that and standard error, lines go through the process's own stream, so that none
    overwrites another in a file. force: overwrite a file that is not the run's own. If the block fails, the last line
    says how. Raise OutputError if the file cannot be created, and WriteError if it cannot be written.
    """
    if path is None:
        yield lambda _: None
        return
    try:
        file = None if path in (*STDOUT_NAMES, *STDERR_NAMES) else _open(path, run, force)
    except OSError as error:
        raise OutputError(f"{path} cannot be created: {error.strerror}") from error

    def write(facts: dict[str, Any]) -> None:
        line = json_text({"event": facts["event"], "time": round(time.time(), 3), **facts})
        try:
            if file is None:
                echo(line, err=path in STDERR_NAMES, is_result=True)
            else:
                file.write(line + "\n")
                file.flush()
        except BrokenPipeError:  # training continues without a reader
            pass
        except OSError as error:
            raise WriteError(f"{path} cannot be written: {error.strerror}") from error

    try:
        yield write
    except BaseException as error:
        code, message = explained(error)
        event = "stopped" if isinstance(error, Stopped) else "error"
        with suppress(W2VError):  # the error itself matters more
            write({"event": event, "exit_code": code, "message": message})
        raise
    finally:
        if file is not None:
            with suppress(OSError):  # reported already
                file.close()


def _open(path: str, run: Run, force: bool) -> TextIO:
    """Open the log of a run, to append to it if it is the run's own; any other existing file needs `force`."""
    has_name = not is_stream(path)
    if has_name and not run.owns(path):
        with atomic_write(path, force, claim=partial(run.claim, grows=True)):
            pass
    log = Path(path).open("a", encoding="utf-8", newline="\n")  # noqa: SIM115
    if has_name and _is_cut(path):
        log.write("\n")
    return log


def _is_cut(path: str) -> bool:
    """Return whether the last line of a file is incomplete: the disk was full."""
    with Path(path).open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 1))
        return file.read() not in (b"", b"\n")
