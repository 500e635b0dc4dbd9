"""Call Python functions in processes of their own, which end with this one, even if this one is killed.

The pipe that carries the arguments stays open. When this process ends for any reason, the system closes the pipe,
and a thread of the child notices the end of the file. This works on every platform and needs no signal.
"""

import importlib
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress
from typing import IO, Any, TypeVar

from w2vtrain.errors import Relayed, ResourceError, W2VError, shell_spelling
from w2vtrain.system.json_text import json_text

T = TypeVar("T")
R = TypeVar("R")

CODE = """import signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
sys.path = {path!r}
from w2vtrain.system.children import follow, serve
serve(follow(), {module!r}, {name!r})"""
"""The program of a child. Ctrl-C in a terminal also reaches it, and then ends it without a traceback, unless its
function handles signals, as a run with checkpoints does."""
GRACE_SECONDS = 5.0
"""Time that a child gets to end, after its result or an error here, before it is killed."""
_parent: IO[bytes]


class ChildEnded(W2VError):
    """Raised for a process that ends without a result. code: of the process, below 0 if a signal killed it."""

    def __init__(self, code: int) -> None:
        super().__init__(f"a process ended with code {code} and no result")
        self.code, self.exit_code = code, ResourceError.exit_code if code < 0 else W2VError.exit_code


def run_child(
    function: Callable[..., Any], arguments: Sequence[Any], folder: str, heard: Callable[[Any], None] = lambda _: None
) -> Any:
    """Call a function of a module in a new process, and return what it returns.

    Its arguments, its messages and its result are plain objects, which travel as JSON. folder: for the child's
    temporary files; heard: is called with each message that the function passes to `tell`, as it arrives. If this
    process ends first, the child ends, its own children end, and `folder` is deleted.

    Raise Relayed for a W2VError there, which names options of the command line, and ChildEnded if there is no result.
    How the process ends after its result does not matter.
    """
    code = CODE.format(path=sys.path, module=function.__module__, name=function.__name__)
    environment = {**os.environ, "TMPDIR": folder}
    command = [sys.executable, "-P", "-c", code, folder]  # -P: no module of the working folder, unless it is ours
    result: tuple[str, Any] | None = None
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as child:
        assert child.stdin
        assert child.stdout
        try:
            with suppress(BrokenPipeError):  # the exit code says why
                child.stdin.write(json_text(arguments).encode() + b"\n")
                child.stdin.flush()
            for line in child.stdout:
                if not line.endswith(b"\n"):  # the child was killed while it wrote
                    break
                kind, content = json.loads(line)
                if kind != "told":
                    result = kind, content
                    break
                heard(content)
            with suppress(subprocess.TimeoutExpired):
                child.wait(GRACE_SECONDS if result else None)  # before the pipe is closed
        finally:
            if child.poll() is None:
                with suppress(OSError):
                    child.stdin.close()
                with suppress(subprocess.TimeoutExpired):
                    child.wait(GRACE_SECONDS)
                child.kill()
    if result is None:
        raise ChildEnded(child.returncode)
    kind, content = result
    if kind == "failed":
        raise Relayed(*content)
    return content


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
    """Return this process's arguments, and end the process when its parent ends; only for processes of `run_child`.

    Only `_send` writes to the parent: what other code prints is lost, and programs that it starts do not keep the pipe.
    """
    global _parent
    _parent = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    arguments = b""
    while not arguments.endswith(b"\n"):
        if not (block := os.read(0, 1 << 16)):
            _end()
        arguments += block
    threading.Thread(target=_watch, name="parent watcher", daemon=True).start()
    return arguments


def serve(arguments: bytes, module: str, name: str) -> None:
    """Call a function of a module for the parent, and send it the result, or the error that ends the function."""
    function = getattr(importlib.import_module(module), name)
    with shell_spelling():  # a command shows the message
        try:
            _send("returned", function(*json.loads(arguments)))
        except W2VError as error:
            _send("failed", [str(error), error.exit_code])


def tell(message: Any) -> None:
    """Send a message to the parent of this process, before the result."""
    _send("told", message)


def _send(kind: str, content: Any) -> None:
    """Write a line to the parent; kind: "told", "returned" or "failed"."""
    _parent.write(json_text([kind, content]).encode() + b"\n")
    _parent.flush()


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
