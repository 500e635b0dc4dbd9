"""Whole jobs, and a part of the suite, under the imitation of Windows in tests/windows.py."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from reference import first_lines
from signaled import SCRIPT

ROOT = Path(__file__).parents[2]
IMITATION = ROOT / "tests" / "windows.py"
SMALL = ["--vector-size", "8", "--epochs", "2", "--threads", "1", "--checkpoint-every", "0"]
OUTPUTS = {"v.bin", "v.bin.json", "log.json", "model", "vocab.txt"}
MORE = ["--log-json", "log.json", "--save-model", "model", "--save-vocab", "vocab.txt"]
BREAK = signal.SIGUSR2
"""The signal that the imitation takes for SIGBREAK."""
IMITATED = f"""
import sys
sys.path.insert(0, {str(IMITATION.parent)!r})
import windows
windows.activate()
"""

pytestmark = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the imitation needs Linux's /proc")


@pytest.fixture
def folder(tmp_path):
    first_lines(300, tmp_path / "text.txt")
    return tmp_path


def run(folder, *words, code=0, **options):
    """Run a command as on Windows; return the bytes that it writes to stdout and to stderr."""
    command = [sys.executable, str(IMITATION), *map(str, words)]
    done = subprocess.run(command, capture_output=True, cwd=folder, timeout=600, check=False, **options)
    assert done.returncode == code, done.stderr.decode()
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return done.stdout, done.stderr


def names(folder):
    return {path.name for path in folder.iterdir()}


@pytest.mark.slow
def test_a_finished_run_leaves_its_outputs_and_nothing_else(folder):
    run(folder, "fit", "text.txt", "-o", "v.bin", *SMALL, *MORE)
    assert names(folder) == {"text.txt", *OUTPUTS}
    for name in ("log.json", "vocab.txt", "v.bin.json"):
        assert b"\r" not in (folder / name).read_bytes(), name
    said = run(folder, "fit", "text.txt", "-o", "v.bin", *SMALL, code=73)[1]
    assert said == b"w2vtrain: error: v.bin exists: use --force to overwrite\n"
    run(folder, "fit", "text.txt", "-o", "v.bin", *SMALL, *MORE, "--force")
    assert names(folder) == {"text.txt", *OUTPUTS}


def test_a_run_that_ctrl_break_stops_resumes_to_the_same_bytes(folder):
    run(folder, "fit", "text.txt", "-o", "whole.bin", *SMALL)
    words = ["fit", "text.txt", "-o", "v.bin", *SMALL, *MORE]
    waiting = [sys.executable, "-c", IMITATED + SCRIPT, "nobody", f"5:{BREAK.name}", *words]
    kept = folder / "v.bin.run"
    with subprocess.Popen(waiting, cwd=folder, stderr=subprocess.PIPE) as stopped:
        while not list(kept.glob("ckpt-*")) and stopped.poll() is None:
            time.sleep(0.01)
        said = run(folder, "fit", "text.txt", "-o", "v.bin", *SMALL, code=73)[1]
        assert b"v.bin.run: in use by process %d on" % stopped.pid in said
        stopped.send_signal(BREAK)
        said = stopped.communicate(timeout=600)[1]
    assert stopped.returncode == 75, said.decode()
    assert not [path.name for path in kept.iterdir() if path.name.startswith(".")]
    run(folder, "export", "v.bin.run", "-o", "now.txt")
    assert names(folder) == {
        "text.txt", "whole.bin", "whole.bin.json", "now.txt", "log.json", "v.bin.run", ".v.bin.lock",
        ".v.bin.json.lock", ".log.json.lock", ".model.lock", ".vocab.txt.lock",
    }  # fmt: skip
    said = run(folder, "resume", "v.bin.run")[1]
    assert b"resumed" in said
    assert names(folder) == {"text.txt", "whole.bin", "whole.bin.json", "now.txt", *OUTPUTS}
    assert (folder / "v.bin").read_bytes() == (folder / "whole.bin").read_bytes()


def test_results_on_standard_output_have_no_carriage_returns_and_are_utf8(folder):
    (folder / "v.txt").write_text("3 2\nżółw 1 2\n水 2 1\nc 3 3\n", encoding="utf-8", newline="\n")
    (folder / "questions.txt").write_text(": one\nżółw 水 c żółw\n", encoding="utf-8")
    out, _ = run(folder, "neighbors", "v.txt", "水")
    assert "żółw".encode() in out
    assert b"\r" not in out
    out, _ = run(folder, "convert", "v.txt", "-o", "-", "--format", "text")
    assert out.splitlines(keepends=True)[1:3] == ["żółw 1.0 2.0\n".encode(), "水 2.0 1.0\n".encode()]
    assert b"\r" not in run(folder, "eval", "analogies", "v.txt", "questions.txt")[0]
    said = run(folder, "neighbors", "v.txt", "żółty", code=65)[1]
    assert "żółty".encode() in said
    assert said.count(b"\n") == 1
    assert b"\r" not in said


def test_a_reader_that_closes_the_pipe_is_not_an_error(folder):
    rows = "".join(f"w{row} {row} 1\n" for row in range(20_000))
    (folder / "v.txt").write_text(f"20000 2\n{rows}", encoding="utf-8")
    command = [sys.executable, str(IMITATION), "convert", "v.txt", "-o", "-", "--format", "text"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=folder, **pipes) as converting:
        assert converting.stdout.read(5) == b"20000"
        converting.stdout.close()
        assert converting.stderr.read() == b""
    assert converting.returncode == 0


def test_a_file_whose_vectors_are_mapped_is_not_overwritten_and_the_error_says_why(folder):
    program = """
import numpy as np
import w2vtrain
from w2vtrain.system import storage
storage.PAUSE_SECONDS = storage.PAUSE_SECONDS[:1]
vectors = w2vtrain.KeyedVectors(2)
vectors.add_vectors(["a", "b"], np.eye(2, dtype=np.float32))
vectors.save("v.safetensors")
mapped = w2vtrain.KeyedVectors.load("v.safetensors", mmap="r")
try:
    vectors.save("v.safetensors")
except w2vtrain.W2VError as error:
    print(error)
del mapped
vectors.save("v.safetensors")
"""
    done = subprocess.run(
        [sys.executable, "-c", IMITATED + program], capture_output=True, text=True, cwd=folder, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("v.safetensors cannot be created: "), done.stdout
    assert done.stdout.endswith("; it is open in another program, or mapped into memory\n")
    assert names(folder) == {"text.txt", "v.safetensors"}


def handles(process, number):
    """Return whether a process has set a handler for a signal."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught, 16) >> (number - 1) & 1)


def test_ctrl_break_ends_a_command_with_one_line(folder):
    command = [sys.executable, str(IMITATION), "vocab", "-", "-o", "vocab.txt"]
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=folder, **pipes) as reading:
        while reading.poll() is None and not handles(reading, BREAK):
            time.sleep(0.01)
        reading.send_signal(BREAK)
        said = reading.communicate(timeout=600)[1]
    line = f"w2vtrain: stopped by {BREAK.name}: give the same command again\n"
    assert (reading.returncode, said) == (75, line.encode())
    assert names(folder) == {"text.txt"}


@pytest.mark.parametrize(
    ("prepare", "output", "message"),
    [
        (lambda folder: None, "a:b.bin", "a:b.bin cannot be created: a file name cannot contain a colon on Windows"),
        (lambda folder: (folder / "v.bin").mkdir(), "v.bin", "v.bin is a folder: name a file"),
    ],
    ids=["colon", "folder"],
)
def test_an_output_that_windows_cannot_create_is_refused_before_training(folder, prepare, output, message):
    prepare(folder)
    before = names(folder)
    said = run(folder, "fit", "text.txt", "-o", output, *SMALL, "--force", code=73)[1]
    assert said.decode() == f"w2vtrain: error: {message}\n"
    assert names(folder) == before


# Windows has no modes and syncs no folders. The last two take long and do not depend on the system.
PART = ["tests/system/test_files.py", "tests/training/test_checkpoint.py"]
POSIX_ONLY = ["keeps_its_mode", "folder]", "synced_before", "killed_at_any_moment", "flipped_bit"]


def test_a_part_of_the_suite_passes_on_the_imitation(tmp_path):
    """With a temporary folder of its own, pytest does not remove those of earlier runs, which the imitation slows."""
    chosen = [f"--basetemp={tmp_path}/inner", "-k", " and ".join(f"not {name}" for name in POSIX_ONLY)]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.windows", "-p", "no:cacheprovider", *PART, *chosen]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
