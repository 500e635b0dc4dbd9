"""The line that shows what is being done: on a terminal only, and never mixed with what else is printed."""

import io
import os
import re
import sys

import pytest
from signaled import on_terminal

from w2vtrain.system.spinner import SPINNER

LINES = """
import time
from w2vtrain.system.spinner import SPINNER
from w2vtrain.system.terminal import echo

def drawn():
    while not SPINNER._width:
        time.sleep(0.01)

SPINNER.begin("starting")
drawn()
echo("one", err=True)
assert not SPINNER.busy()
with SPINNER.during("compiling"):
    drawn()
    with SPINNER.during("compiling"):
        assert SPINNER.busy()
    echo("two", err=True)
    drawn()  # again, although another line was printed
    echo("three")
echo("four", err=True)
"""
KERNEL = """
import time
from numba.extending import overload
from w2vtrain.kernels.jit import kernel
from w2vtrain.system.spinner import SPINNER

def slow(x):
    pass

@overload(slow)
def compiled(x):
    while not SPINNER._width:
        time.sleep(0.01)
    return lambda x: 2 * x

@kernel()
def double(x):
    return slow(x)

assert double(3) == 6
"""
COMMAND = """
import time
from w2vtrain.commands.options import command, quiet_option
from w2vtrain.commands.shell import execute
from w2vtrain.system.spinner import SPINNER
from w2vtrain.system.terminal import echo

@command()
@quiet_option
def slow(quiet):
    if quiet:
        with SPINNER.during("compiling"):
            time.sleep(0.5)
    while not SPINNER._width and not quiet:
        time.sleep(0.01)
    echo("done")

print("it is ", end="", flush=True)
execute(slow)
"""


def lines(text):
    """Return the lines that stay on a terminal, which obeys a carriage return and the codes of the spinner."""
    screen = []
    for line in text.split("\n"):
        cells, at, saved = list[str](), 0, 0
        for part in re.findall(r"\x1b\[\?7[lh]|\x1b\[K|\x1b[78]|.|\r", line):
            if part == "\r":
                at = 0
            elif part == "\x1b7":
                saved = at
            elif part == "\x1b8":
                at = saved
            elif part == "\x1b[K":
                del cells[at:]
            elif len(part) == 1:
                cells[at : at + 1], at = [part], at + 1
        screen.append("".join(cells).rstrip())
    return screen


def test_a_terminal_shows_the_line_until_something_else_is_printed():
    code, text = on_terminal([sys.executable, "-c", LINES])
    assert code == 0
    assert lines(text) == ["one", "two", "three", "four", ""]
    assert "starting" in text.split("one")[0]
    assert "compiling" in text.split("one")[1].split("two")[0]
    assert "compiling" in text.split("two")[1].split("three")[0]


def test_a_terminal_shows_that_a_kernel_is_compiled(tmp_path):
    (tmp_path / "mine.py").write_text(KERNEL, encoding="utf-8")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    code, text = on_terminal([sys.executable, "mine.py"], cwd=tmp_path, env=environment)
    assert (code, lines(text)) == (0, [""])
    assert "w2vtrain: compiling for this processor, once" in text
    code, text = on_terminal([sys.executable, "mine.py"], cwd=tmp_path, env=environment)
    assert (code, text) == (0, "")


@pytest.mark.parametrize("options", [[], ["--quiet"]])
def test_a_command_shows_that_it_works_until_it_prints_anything(options):
    code, text = on_terminal([sys.executable, "-c", COMMAND, *options], env={**os.environ, "TERM": "xterm"})
    assert (code, lines(text)) == (0, ["it is done", ""])
    assert ("working" in text) == (not options)
    assert "compiling" not in text


class Logged:
    """A stream as programs write it that send everything to a log."""

    def write(self, text):
        raise AssertionError(text)


def closed():
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("stream", [None, io.StringIO(), closed(), Logged()], ids=["none", "file", "closed", "logged"])
def test_nothing_is_printed_elsewhere_than_on_a_terminal(stream, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream)
    SPINNER.begin("starting")
    with SPINNER.during("compiling"):
        assert SPINNER.busy()
    assert not SPINNER.busy()
    assert not isinstance(stream, io.StringIO) or stream.closed or stream.getvalue() == ""
