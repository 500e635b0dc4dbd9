"""Run a command as a process: prepare the streams, report errors as one line and an exit code, and end the process.

The commands are listed in cli.py.
"""

import errno
import logging
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from click.shell_completion import shell_complete

from w2vtrain.errors import Stopped, W2VError, shell_spelling
from w2vtrain.system.machine import check_address_space
from w2vtrain.system.spinner import SPINNER
from w2vtrain.system.stopping import NAME, end, outcome, signals_end_imports
from w2vtrain.system.terminal import STANDARD_OUTPUT, drop_output, echo, one_line, prepare_streams, warning

COMPLETE = "_W2VTRAIN_COMPLETE"
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


@contextmanager
def imports() -> Iterator[None]:
    """Guard the imports that a command needs for its work, which are inside its function so that --help is fast.

    A signal ends the process with one line. Raise ResourceError if the address space is too small for the imports.
    """
    with signals_end_imports():
        if "numpy" not in sys.modules:  # a second guard of a command must not ask for the same space again
            check_address_space()
        yield


def echo_json(value: Any) -> None:
    """Print a value as one line of JSON on standard output."""
    from w2vtrain.system.json_text import json_text  # not needed for --help

    echo(json_text(value))


class Warnings(logging.Handler):
    """Logging handler that prints the warnings of modules that do not print themselves.

    keep: also takes each text; early: those that came before a run began.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.early: list[str] = []
        self.keep: Callable[[str], None] = self.early.append

    def emit(self, record: logging.LogRecord) -> None:
        """Print one warning."""
        warning(text := record.getMessage())
        self.keep(text)

    @contextmanager
    def kept(self, keep: Callable[[str], None]) -> Iterator[None]:
        """Pass each text to `keep`, the early ones first, until the block ends."""
        while self.early:
            keep(self.early.pop(0))
        self.keep = keep
        try:
            yield
        finally:
            self.keep = self.early.append


WARNINGS = Warnings()


def execute(command: click.Command) -> None:
    """Run a command with the process's arguments; report every error as one line on stderr and an exit code."""
    hook, sys.unraisablehook = sys.unraisablehook, end_if_interrupted
    try:
        prepare_streams()
        logging.getLogger(NAME).addHandler(WARNINGS)
        code = invoke(command, sys.argv[1:])
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        echo(error.format_message(), err=True)
        code = error.exit_code
    except BaseException as error:
        code, message = explained(error)
        if debugging(sys.argv[1:]):
            echo(traceback.format_exc(), err=True, end="")
        if message:
            requested = isinstance(error, KeyboardInterrupt) or type(error) is Stopped
            echo(f"{NAME}: {'' if requested else 'error: '}{one_line(message)}", err=True)
    SPINNER.busy()  # removes it
    drop_output()
    sys.unraisablehook = hook
    leave(code)


def end_if_interrupted(unraisable: Any) -> None:
    """End the process on a KeyboardInterrupt that Python cannot raise, as in a callback of the compiler."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        end(unraisable.exc_value)
    sys.__unraisablehook__(unraisable)


def leave(code: int) -> None:
    """End the process. If a thread is still training, skip Python's shutdown, which would destroy what it uses."""
    if any(thread.name.startswith(NAME) for thread in threading.enumerate()):
        os._exit(code)
    sys.exit(code)


def invoke(command: click.Command, arguments: list[str]) -> int:
    """Parse the arguments and run the command, as click's `main` does, but let Ctrl-C and closed pipes pass through."""
    if instruction := os.environ.get(COMPLETE):
        return shell_complete(command, {}, NAME, COMPLETE, instruction)
    try:
        with shell_spelling(), command.make_context(NAME, arguments) as context:
            command.invoke(context)
    except click.exceptions.Exit as end:  # --help, --version
        return end.exit_code
    return 0


def debugging(arguments: list[str]) -> bool:
    """Return whether --debug is among the options."""
    return "--debug" in (arguments[: arguments.index("--")] if "--" in arguments else arguments)


def explained(error: BaseException) -> tuple[int, str]:
    """Return the exit code and message for an exception; the message is empty if none is needed."""
    match error:
        case W2VError():
            return error.exit_code, str(error)
        case click.ClickException():
            context = getattr(error, "ctx", None)
            hint = f"; see {context.command_path} --help" if context else ""
            return error.exit_code, " ".join(error.format_message().splitlines()).rstrip(".") + hint
        case KeyboardInterrupt():
            return outcome(error)
        case BrokenPipeError() if error.filename == STANDARD_OUTPUT:  # its reader has seen enough: not an error
            return 0, ""
        case MemoryError():
            detail = f" ({error})" if str(error) else ""
            return 71, f"out of memory{detail}: try a smaller --max-vocab or --vector-size"
        case OSError() if error.filename == STANDARD_OUTPUT or error.errno in FULL:
            return 74, f"{error.filename or 'a file'} cannot be written: {error.strerror}"
        case OSError():
            return 71, f"operating system error: {error}"
        case RuntimeError() if "start new thread" in str(error):
            return 71, f"operating system error: {error}; try fewer --threads"
    why = " ".join(str(error).splitlines())
    from w2vtrain.registry import user_line  # here, because only errors need it

    source = f"{place}: error in user code" if (place := user_line(error)) else "internal error"
    return 70, f"{source}: {type(error).__name__}: {why}; run again with --debug for a traceback"
