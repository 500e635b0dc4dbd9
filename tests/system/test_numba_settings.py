"""Files of the working folder that change a process by being there: the settings of Numba, and modules of Python."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FIT = ["fit", "text", "-o", "v.txt", "--min-count", "1", "--vector-size", "8", "--threads", "1", "-q"]
CLI = str(Path(__file__).parents[2] / "cli.py")
STARTS = {
    "script": [str(Path(sys.executable).with_name("w2vtrain"))],
    "module": [sys.executable, "-m", "w2vtrain"],
    "cli.py": [sys.executable, CLI],
}
SETTINGS = "CHROME_TRACE: mine\nDISABLE_JIT: 1\n"
LATE = """
import os, sys
if sys.argv[1] == "first":
    import numba
import w2vtrain
os.chdir("there")
w2vtrain.train([["a", "b", "c"]] * 99, min_count=1, vector_size=8, threads=1, sample=0)
import numba
numba.njit(lambda x: x)(1)
print([numba.config.CHROME_TRACE, numba.config.DISABLE_JIT])
"""


def in_folder(words, folder):
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a text, a file of the user, and settings with which Numba would overwrite that file."""
    pytest.importorskip("yaml")
    (tmp_path / "text").write_text("a b c d\n" * 99)
    (tmp_path / "mine").write_text("data")
    (tmp_path / ".numba_config.yaml").write_text(SETTINGS)
    return tmp_path


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
def test_commands_read_no_settings_of_numba_in_the_working_folder(folder, start):
    in_folder([*start, *FIT], folder)
    assert (folder / "mine").read_text() == "data"


def test_commands_start_although_the_settings_of_numba_are_no_yaml(folder):
    (folder / ".numba_config.yaml").write_text("{")
    in_folder([*STARTS["module"], *FIT], folder)
    in_folder([*STARTS["module"], "neighbors", "v.txt", "a"], folder)


def test_child_processes_read_neither_settings_nor_modules_in_the_working_folder(folder):
    (folder / "json.py").write_text("open('mine', 'w').write('code of the folder has run')")
    command = [sys.executable, "-P", "-m", "w2vtrain", "warmup", "--objective", "softmax", "--objective", "block-neg"]
    assert len(in_folder(command, folder).splitlines()) == 3
    assert (folder / "mine").read_text() == "data"


def test_a_variable_that_turns_the_compiler_off_is_reported(tmp_path):
    (tmp_path / "text").write_text("a b c d\n" * 99)
    command, environment = [sys.executable, "-m", "w2vtrain", *FIT], {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert (done.returncode, len(done.stderr.splitlines())) == (78, 1)
    assert "NUMBA_DISABLE_JIT: w2vtrain needs Numba's compiler: unset" in done.stderr


@pytest.mark.parametrize("order", ["first", "last"])
def test_training_from_python_reads_no_settings_of_numba(folder, order):
    there = folder / "there"
    there.mkdir()
    (folder / ".numba_config.yaml").rename(there / ".numba_config.yaml")
    assert in_folder([sys.executable, "-c", LATE, order], folder) == "['', 0]\n"
