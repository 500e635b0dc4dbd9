"""Signals from the first milliseconds of a command until training begins end it with one line and an exit code.

A signal arrives at the n-th audit event (an import, an opened file, ...) of the process, so no test depends on the
speed of the machine. Events count once handlers are set: a signal that arrives earlier, while Python itself starts and
for the few milliseconds in which the handlers are loaded, still kills the process or prints a traceback.
"""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows has other signals")

# Ends the process at its last event, unless a signal has ended it by then, and prints the number of events.
SIGNALED = """
import os, signal, sys
moment, number, last = int(sys.argv[1]), signal.Signals[sys.argv[2]], sys.argv[3]
sys.argv[1:] = sys.argv[4:]
count = 0
def hook(event, arguments):
    global count
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        return
    count += 1
    if count == moment:
        os.kill(os.getpid(), number)
    if event == last and "train_chunks-" in str(arguments):
        os.write(1, str(count).encode())
        os._exit(0)
sys.addaudithook(hook)
import w2vtrain.__main__ as entry
entry.main()
"""
SMALL = ["--vector-size", "8", "--min-count", "1", "--threads", "1", "--quiet"]
WARM, COLD = "open", "os.rename"
"""The events that load the training kernel from the cache and save it there."""


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("a b c d e f g h\n" * 500)
    return path


def started(folder, text, moment=0, name="SIGTERM", last=WARM, cache=None):
    """Run `fit`, send it a signal at an event, and end it at its last event."""
    environment = {**os.environ, **({"NUMBA_CACHE_DIR": str(cache)} if cache else {})}
    program = [sys.executable, "-c", SIGNALED, str(moment), name, last]
    return subprocess.run(
        [*program, "fit", text, "-o", "v.txt", *SMALL],
        capture_output=True, text=True, check=False, cwd=folder, env=environment, timeout=600,
    )  # fmt: skip


@pytest.fixture(scope="module")
def events(text, tmp_path_factory):
    """Return the number of events of a command that loads all kernels, until it loads that of training."""
    folder = tmp_path_factory.mktemp("counted")
    started(folder, text)  # compiles the reader if that is not in the cache
    return int(started(folder, text).stdout)


def check_ended(done, name):
    assert done.returncode in ((75, 130) if name == "SIGINT" else (75,)), done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    said = "interrupted\n" if done.returncode == 130 else "stopped "
    assert done.stderr.startswith(f"w2vtrain: {said}"), done.stderr


MOMENTS = [(0, "SIGTERM"), (2, "SIGINT"), (8, "SIGHUP"), (24, "SIGTERM"), (48, "SIGINT"), (49, "SIGTERM")]
MANY = [(step, name) for step in range(50) for name in ("SIGINT", "SIGTERM", "SIGHUP") if (step, name) not in MOMENTS]


@pytest.mark.parametrize(("step", "name"), [*MOMENTS, *(pytest.param(*one, marks=pytest.mark.slow) for one in MANY)])
def test_a_signal_before_training_prints_one_line(tmp_path, text, events, step, name):
    done = started(tmp_path, text, 1 + round(step / 50 * (events - 1)), name)
    check_ended(done, name)


@pytest.mark.slow
def test_a_signal_during_compilation_prints_one_line(tmp_path, text):
    total = int(started(tmp_path, text, last=COLD, cache=tmp_path / "whole").stdout)
    for step in range(1, 20):
        check_ended(started(tmp_path, text, round(step / 20 * total), last=COLD, cache=tmp_path / f"{step}"), "SIGTERM")


COMPILING = """
import os, signal, sys
from numba.core.codegen import CPUCodeLibrary
compiled = CPUCodeLibrary._object_compiled_hook.__func__
def hook(cls, module, code):
    if "train_chunks" in module.name:
        os.kill(os.getpid(), signal.SIGTERM)
    return compiled(cls, module, code)
CPUCodeLibrary._object_compiled_hook = classmethod(hook)
import w2vtrain.__main__ as entry
entry.main()
"""
"""Sends the signal where Python handles one that arrives while LLVM compiles: in a function that LLVM calls."""


@pytest.mark.slow
def test_a_signal_while_the_compiler_works_stops_the_run(text, tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cold")}
    done = subprocess.run(
        [sys.executable, "-c", COMPILING, "fit", text, "-o", "v.txt", *SMALL, "--epochs", "1000000"],
        capture_output=True, text=True, check=False, cwd=tmp_path, env=environment, timeout=600,
    )  # fmt: skip
    assert (done.returncode, len(done.stderr.splitlines())) == (75, 1), done.stderr
