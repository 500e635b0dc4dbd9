"""A function that is called in a process of its own: what travels, what fails, and when the process ends."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from w2vtrain.errors import Diverged, Relayed, ResourceError, W2VError, spelled
from w2vtrain.system import children
from w2vtrain.system.children import ChildEnded, run_child, tell

PARENT = """
import sys
from test_children import holds
from w2vtrain.system.children import run_child
run_child(holds, [], sys.argv[1], lambda numbers: print(*numbers, flush=True))
"""


def answers(text, number):
    """Tell one argument, and return both."""
    tell(text)
    return {"text": text.upper(), "number": number}


def prints_and_tells():
    """Print as other code may, also without the end of a line, between messages."""
    print("a warning of another library")
    print("50%", end="", flush=True)
    print('\0["returned", 1]\n\0', flush=True)
    tell("half")
    print('{"event": "say"}')
    sys.stdout.flush()
    return "done"


def diverges():
    """Raise an error that names an option."""
    raise Diverged(f"lower {spelled('alpha')}")


def ends(code):
    """End after a message: exit with a code, or be killed by a signal."""
    tell("begun")
    if code < 0:
        os.kill(os.getpid(), -code)
    sys.exit(code)


def answers_and_hangs():
    """Return while another thread does not end."""
    threading.Thread(target=time.sleep, args=(600,)).start()
    return "done"


def holds():
    """Start a program, write a file, tell both process ids, and wait."""
    program = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdin=subprocess.DEVNULL)
    (Path(os.environ["TMPDIR"]) / "large").write_text("x")
    tell([os.getpid(), program.pid])
    time.sleep(600)


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))


def test_a_child_gets_its_arguments_and_its_messages_and_result_come_back(tmp_path):
    heard = []
    text = "wörd\udc80" * 100_000  # more than a pipe holds
    found = run_child(answers, [text, 1.5], str(tmp_path), heard.append)
    assert found == {"text": text.upper(), "number": 1.5}
    assert heard == [text]


def test_what_else_a_child_prints_is_no_message(tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    heard = []
    assert run_child(prints_and_tells, [], str(tmp_path), heard.append) == "done"
    assert heard == ["half"]


def test_a_child_that_hangs_after_its_result_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(children, "GRACE_SECONDS", 0.1)
    assert run_child(answers_and_hangs, [], str(tmp_path)) == "done"


def test_an_error_of_a_child_has_its_message_for_the_shell_and_its_exit_code(tmp_path):
    with pytest.raises(Relayed, match=r"^lower --alpha$") as error:
        run_child(diverges, [], str(tmp_path))
    assert error.value.exit_code == Diverged.exit_code


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [
        (3, W2VError.exit_code),
        pytest.param(-9, ResourceError.exit_code, marks=pytest.mark.skipif(sys.platform == "win32", reason="signals")),
    ],
)
def test_a_child_that_ends_after_a_message_has_no_result(tmp_path, code, exit_code):
    with pytest.raises(ChildEnded) as error:
        run_child(ends, [code], str(tmp_path))
    assert (error.value.code, error.value.exit_code) == (code, exit_code)


def test_an_error_in_the_parent_ends_the_child(tmp_path):
    known = []

    def heard(numbers):
        known.extend(map(psutil.Process, numbers))
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        run_child(holds, [], str(tmp_path), heard)
    assert psutil.wait_procs(known, 300)[1] == [], "processes are left"


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL", "SIGINT"])
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_a_child_and_its_programs_end_with_the_parent(tmp_path, name):
    folder = tmp_path / "own"
    folder.mkdir()
    command = [sys.executable, "-c", PARENT, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as parent:
        known = [psutil.Process(int(number)) for number in parent.stdout.readline().split()]
        assert len(known) == 2
        parent.send_signal(getattr(signal, name))
        parent.wait(300)
    assert psutil.wait_procs(known, 300)[1] == [], "processes are left"
    assert not folder.exists()
