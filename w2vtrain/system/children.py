"""Run Python functions in processes of their own, which end with this one, even if this one is killed.

The pipe that carries the child's task stays open. When this process ends for any reason, the system closes the pipe,
and a thread of the child notices the end of the file. This works on every platform and needs no signal.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from w2vtrain.system.json_text import json_text

T = TypeVar("T")
R = TypeVar("R")

CODE = "from w2vtrain.system.children import follow; task = follow(); from {module} import {name}; {name}(task)"
GRACE_SECONDS = 5.0
"""Time that a child gets to end its programs after an error here, before it is killed."""


def run_child(
    function: Callable[[bytes], None], task: bytes, folder: str, heard: Callable[[bytes], None] = lambda line: None
) -> tuple[int, bytes]:
    """Run a function of a module in a new process; return the exit code and the last line of its standard output.

    function: is called there with `task`, one line; heard: is called with each line of output, as it arrives; folder:
    for the child's temporary files. If this process ends first, the child ends, its own children end, and `folder` is
    deleted.
    """
    code = CODE.format(module=function.__module__, name=function.__name__)
    environment = {**os.environ, "TMPDIR": folder}
    command, last = [sys.executable, "-c", code, folder], b""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as child:
        assert child.stdin
        assert child.stdout
        try:
            with suppress(BrokenPipeError):  # the exit code says why
                child.stdin.write(task + b"\n")
                child.stdin.flush()
            for line in child.stdout:
                last = line
                heard(line)
            child.wait()  # before the pipe is closed
        except BaseException:
            with suppress(OSError):
                child.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                child.wait(GRACE_SECONDS)
            child.kill()
            raise
    return child.returncode, last


def each(function: Callable[[T], R], items: Sequence[T], at_once: int) -> list[R]:
    """Return the results of a function, which calls `run_child`, for all items, several at a time, on threads.

    After an error, no other item is begun.
    """
    if at_once == 1:
        return [function(item) for item in items]
    failed = threading.Event()

    def one(item: T) -> R:
        if failed.is_set():
            raise CancelledError
        try:
            return function(item)
        except BaseException:
            failed.set()
            raise

    pool = ThreadPoolExecutor(at_once, "w2vtrain child")
    try:
        futures = [pool.submit(one, item) for item in items]
        errors = [error for future in futures if (error := future.exception())]
    except BaseException:  # a signal: this process ends now, and with it its children
        failed.set()
        pool.shutdown(wait=False)
        raise
    pool.shutdown()
    for error in errors:
        if not isinstance(error, CancelledError):
            raise error
    return [future.result() for future in futures]


def follow() -> bytes:
    """Return this process's task, and end the process when its parent ends; only for processes of `run_child`.

    Ctrl-C in a terminal also reaches this process, and then ends it without a traceback, unless its function handles
    signals, as a run with checkpoints does.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    task = b""
    while not task.endswith(b"\n"):
        if not (block := os.read(0, 1 << 16)):
            _end()
        task += block
    threading.Thread(target=_watch, name="parent watcher", daemon=True).start()
    return task[:-1]


def tell(message: dict[str, Any]) -> None:
    """Write a line of JSON to the standard output of a child, for its parent, in UTF-8 in every locale."""
    sys.stdout.flush()  # what other code of this process has printed comes before
    sys.stdout.buffer.write(json_text(message).encode() + b"\n")
    sys.stdout.buffer.flush()


def _watch() -> None:
    while os.read(0, 1):  # raw: a buffered stream that a thread waits for would hinder Python's shutdown
        pass
    _end()


def _end() -> None:
    """End this process, and the programs that it started, and delete its temporary files."""
    import psutil

    with suppress(psutil.Error):
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                process.kill()
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    os._exit(1)
