"""A process that runs a function ends with its parent, however the parent ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from w2vtrain.system.children import run_child, tell

PARENT = """
import sys
from test_children import holds
from w2vtrain.system.children import run_child
run_child(holds, b"task", sys.argv[1], lambda line: print(line.decode().strip(), flush=True))
"""


def answers(task):
    """Print the task in two lines."""
    print(task.decode())
    print(task.decode().upper(), flush=True)


def prints_and_tells(task):
    """Print as other code may, and send a message."""
    print("a warning of another library")
    tell({"task": task.decode()})


def fails(task):
    """Exit with a code."""
    print("begun", flush=True)
    sys.exit(3)


def holds(task):
    """Start a program, write a file, print both process ids, and wait."""
    program = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdin=subprocess.DEVNULL)
    (Path(os.environ["TMPDIR"]) / "large").write_text("x")
    print(os.getpid(), program.pid, flush=True)
    time.sleep(600)


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))


def test_a_child_gets_its_task_and_its_output_is_heard(tmp_path):
    heard = []
    task = b"word" * 100_000  # more than a pipe holds
    assert run_child(answers, task, str(tmp_path), heard.append) == (0, task.upper() + b"\n")
    assert heard == [task + b"\n", task.upper() + b"\n"]


def test_what_else_a_child_prints_comes_before_its_message(tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    heard = []
    assert run_child(prints_and_tells, b"a", str(tmp_path), heard.append) == (0, b'{"task":"a"}\n')
    assert heard[0] == b"a warning of another library\n"


def test_the_exit_code_of_a_child_is_returned(tmp_path):
    assert run_child(fails, b"", str(tmp_path)) == (3, b"begun\n")


def test_an_error_in_the_parent_ends_the_child(tmp_path):
    known = []

    def heard(line):
        known.extend(psutil.Process(int(number)) for number in line.split())
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        run_child(holds, b"", str(tmp_path), heard)
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
