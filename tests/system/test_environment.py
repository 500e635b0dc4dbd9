"""Tests of runs in unusual environments: locale, time zone, umask, deleted or read-only folders, slow disks."""

import json
import os
import re
import stat
import subprocess
import sys
import time
from pathlib import Path

import forked
import numpy as np
import pytest
from reference import first_lines, saved
from signaled import signaled

import w2vtrain
from w2vtrain.config import Settings
from w2vtrain.errors import Stopped, WriteError
from w2vtrain.system.background import BackgroundThread
from w2vtrain.training import checkpoint_file, checkpointing
from w2vtrain.training.checkpointing import CheckpointedRun

COMMAND = [sys.executable, "-m", "w2vtrain"]
PACKAGE = Path(w2vtrain.__file__).parent
SMALL = ["--vector-size", "16", "--epochs", "2", "--threads", "1"]
# No checkpoint is synced before the twelfth slice, in the second epoch. There, the run waits for the warning and stops.
SLOW_DISK = """
import itertools, os, signal, threading, time
from w2vtrain import cli
from w2vtrain.training import checkpointing
from w2vtrain.system import background

background.SLOW_SECONDS = 0.2
sync, due, slices = os.fsync, checkpointing.CheckpointedRun.due, itertools.count(1)
warned, synced = threading.Event(), threading.Event()


def slow(handle):
    if threading.current_thread().name == "w2vtrain writer":
        synced.wait()
    sync(handle)


class BackgroundThread(background.BackgroundThread):
    def __init__(self, warn):
        super().__init__(lambda line: (warn(line), warned.set()))


def hurry(self):
    if next(slices) == 12:
        warned.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        while not self.stop_requested:
            time.sleep(0.001)
        synced.set()
    return due(self)


os.fsync, checkpointing.CheckpointedRun.due, checkpointing.BackgroundThread = slow, hurry, BackgroundThread
cli.main()
"""

# The working folder is deleted after training has started.
GONE = """
import os, sys
from w2vtrain import cli
from w2vtrain.training import checkpointing

gone, due = sys.argv.pop(1), checkpointing.CheckpointedRun.due


def deleted(self):
    if os.path.exists(gone):
        os.rmdir(gone)
    return due(self)


checkpointing.CheckpointedRun.due = deleted
cli.main()
"""

JUMPING_CLOCK = """
import itertools, time
from w2vtrain import cli
steps = itertools.count()
time.time = lambda: (-1) ** next(steps) * 1e9
cli.main()
"""


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return first_lines(1000, tmp_path_factory.mktemp("corpus") / "text.txt")


def fit(text, output, *more, start=COMMAND, **about):
    """Train in a separate process."""
    words = [*start, "fit", text, "-o", output, *SMALL, *more]
    return forked.run(words, capture_output=True, text=True, check=False, **about)


def test_locale_time_zone_and_umask_change_only_the_mode_of_files(text, tmp_path):
    plain, odd = tmp_path / "plain.txt", tmp_path / "ödd.txt"
    assert fit(text, plain).returncode == 0
    surroundings = {
        **os.environ, "LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "TZ": "Nowhere/No+99",
        "PYTHONIOENCODING": "ascii", "HOME": "/nowhere", "COLUMNS": "1", "TERM": "dumb",
    }  # fmt: skip
    done = fit(text, odd, "--save-vocab", tmp_path / "v.txt", env=surroundings, umask=0o027)
    assert done.returncode == 0, done.stderr
    assert odd.read_bytes() == plain.read_bytes()
    for path, mode in ((odd, 0o640), (tmp_path / "v.txt", 0o640), (plain, 0o666 & ~umask())):
        assert stat.S_IMODE(path.stat().st_mode) == mode, path


@pytest.mark.skipif(sys.platform != "linux", reason="file names are Unicode elsewhere")
def test_a_run_with_file_names_that_are_not_utf_8_stops_and_resumes(text, tmp_path):
    """The settings in the run folder can also be read as JSON."""
    corpus, output = os.fsencode(tmp_path) + b"/t\xff.txt", os.fsencode(tmp_path) + b"/v\xff.txt"
    Path(os.fsdecode(corpus)).write_bytes(text.read_bytes())
    words = [*COMMAND, "fit", os.fsdecode(corpus), "-o", os.fsdecode(output), *SMALL, "--checkpoint-every", "0"]
    done = subprocess.run(signaled(words, "2:SIGTERM"), stderr=subprocess.PIPE, check=False)
    assert done.returncode == 75, done.stderr
    run_folder = Path(os.fsdecode(output + b".run"))
    assert json.loads((run_folder / "config.json").read_text())["request"]["output"] == os.fsdecode(output)
    words = [*COMMAND, "resume", os.fspath(run_folder)]
    done = subprocess.run(signaled(words, "2:SIGTERM"), stderr=subprocess.PIPE, check=False)
    assert done.returncode == 75, done.stderr


def umask():
    """Return the umask of this process."""
    found = os.umask(0o022)
    os.umask(found)
    return found


def test_a_clock_that_jumps_changes_no_measured_time(text, tmp_path):
    """Durations are measured with the monotonic clock; the system time is used only for the times in the log."""
    whole, output, log = tmp_path / "whole.txt", tmp_path / "v.txt", tmp_path / "log.jsonl"
    assert fit(text, whole).returncode == 0
    more = ["--log-json", log, "--progress-every", "0", "--checkpoint-every", "0.001"]
    done = fit(text, output, *more, start=[sys.executable, "-c", JUMPING_CLOCK])
    assert done.returncode == 0, done.stderr
    assert output.read_bytes() == whole.read_bytes()
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert min(event["time"] for event in events) < 0 < max(event["time"] for event in events)
    seconds = json.loads((tmp_path / "v.txt.json").read_text())["record"]["seconds"]
    assert all(0 <= spent < 1e6 for spent in seconds.values())


@pytest.mark.parametrize("is_absolute", [True, False])
def test_a_working_folder_that_is_gone_at_the_start_is_reported(text, tmp_path, is_absolute):
    """The message is one line."""
    gone = tmp_path / "gone"
    program = f'mkdir "{gone}"; cd "{gone}"; rmdir "{gone}"; exec "$@"'
    output = tmp_path / "v.txt" if is_absolute else "v.txt"
    done = fit(text, output, start=["sh", "-c", program, "sh", *COMMAND], env=with_package())
    assert (done.returncode, len(done.stderr.splitlines())) == (66, 1), done.stderr
    assert "the working directory was deleted" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == []


def test_a_working_folder_that_is_gone_is_the_reason_that_user_code_is_not_imported(text, tmp_path):
    gone, code = tmp_path / "gone", PACKAGE.parent / "examples/smoothed.py"
    program = f'mkdir "{gone}"; cd "{gone}"; rmdir "{gone}"; exec "$@"'
    more = ["--objective", str(code), "--print-config"]
    done = fit(text, tmp_path / "v.txt", *more, start=["sh", "-c", program, "sh", *COMMAND], env=with_package())
    assert "smoothed.py: cannot be imported: InputMissing: the working directory was deleted" in done.stderr


def test_a_working_folder_deleted_during_training_does_no_harm(text, tmp_path):
    """This holds if all files that the command names are elsewhere."""
    gone = tmp_path / "gone"
    gone.mkdir()
    done = fit(text, tmp_path / "v.txt", start=[sys.executable, "-c", GONE, gone], cwd=gone, env=with_package())
    assert done.returncode == 0, done.stderr
    assert not gone.exists()
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["v.txt", "v.txt.json"]


def with_package():
    """Return this process's environment, changed so that the package can be imported from any folder."""
    return {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}


# slow or hanging storage


def arrays():
    return {"input": np.zeros((2, 3), np.float32)}


def run_in(folder, every=0.0):
    run = CheckpointedRun(folder, every)
    run.read(Settings(), {"cwd": "", "request": {}})
    return run


def test_training_continues_while_a_checkpoint_is_written(tmp_path, monkeypatch):
    run, let, given = run_in(tmp_path), [], []
    changing = arrays()
    monkeypatch.setattr(
        checkpoint_file,
        "write",
        lambda folder, number, run, about, found: (wait_for(let), given.append((number, found, about.state.epoch))),
    )
    run.pause(lambda: (saved(1), changing))
    changing["input"] += 1  # the next chunk
    assert not run.due()
    run.pause(lambda: (saved(2), changing))  # the end of an epoch: the first checkpoint is still being written
    assert given == []
    let.append(True)
    run.settle()
    ((number, found, about),) = given
    assert (number, about, found["input"].max()) == (1, 1, 0)
    assert run.due()
    run.stop_requested = True
    with pytest.raises(Stopped):
        run.pause(lambda: (saved(3), changing))
    assert [(number, about, found["input"].max()) for number, found, about in given] == [(1, 1, 0), (2, 3, 1)]


def wait_for(let):
    while not let:
        time.sleep(0.01)


def test_training_waits_for_a_checkpoint_if_there_is_no_memory_for_a_copy(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpointing, "available_memory", lambda: 40)
    run, mine = run_in(tmp_path), arrays()
    run.pause(lambda: (saved(1), mine))
    assert not run.writer.busy
    assert checkpoint_file.numbers(tmp_path) == [1]
    monkeypatch.setattr(checkpointing, "available_memory", lambda: 48)
    run.pause(lambda: (saved(2), mine))
    run.settle()
    assert checkpoint_file.numbers(tmp_path) == [1, 2]


def test_an_error_in_the_background_writer_ends_training(tmp_path, monkeypatch):
    def fails(*_):
        raise WriteError("disk full")

    monkeypatch.setattr(checkpoint_file, "write", fails)
    run = run_in(tmp_path, every=1000.0)
    run.save_requested = True
    run.pause(lambda: (saved(1), arrays()))
    while run.writer.busy:
        time.sleep(0.01)
    assert run.due()
    with pytest.raises(WriteError, match="disk full"):
        run.pause(lambda: (saved(1), arrays()))
    assert not run.due()


def test_a_checkpoint_that_failed_in_the_background_is_saved_at_the_end(tmp_path, monkeypatch):
    """For example, the disk may have free space again after the last checkpoint of a run failed."""
    write, calls = checkpoint_file.write, []

    def fails_once(*about):
        calls.append(about)
        if len(calls) == 1:
            raise WriteError("disk full")
        write(*about)

    monkeypatch.setattr(checkpoint_file, "write", fails_once)
    run = run_in(tmp_path)
    run.pause(lambda: (saved(1), arrays()))
    run.save()
    assert checkpoint_file.newest(tmp_path, run.id).saved == saved(1)
    run.save()
    assert len(calls) == 2, "the same state is saved only once"


def test_a_writer_warns_once_about_a_slow_task(monkeypatch):
    said, let = [], []
    writer = BackgroundThread(said.append)
    writer.start("quick", lambda: None)
    writer.wait()
    monkeypatch.setattr("w2vtrain.system.background.SLOW_SECONDS", 0.05)
    writer.start("slow", lambda: wait_for(let))
    while not said:
        time.sleep(0.01)
    assert writer.busy
    writer.wait(timeout=0.05)
    assert writer.busy, "wait() returns after its timeout even if the task is not done"
    let.append(True)
    writer.wait()
    assert not writer.busy
    assert said == ["slow: not written after 0.05 s"]


def test_a_run_on_a_slow_disk_warns_and_resumes_to_the_same_bytes(text, tmp_path):
    """Training continues while the disk is slow, SIGTERM saves a checkpoint, and the run resumes from it."""
    whole, output = tmp_path / "whole.txt", tmp_path / "v.txt"
    more = ["--checkpoint-every", "0", "--progress-every", "0"]
    assert fit(text, whole, *more).returncode == 0
    done = fit(text, output, *more, start=[sys.executable, "-c", SLOW_DISK])
    assert done.returncode == 75, done.stderr
    said = done.stderr.splitlines()
    warned = next(i for i, line in enumerate(said) if "the storage is slow" in line)
    assert any(re.match(r"epoch 2 +\d", line) for line in said), "training waited for the first checkpoint"
    assert re.search(r"warning +.*v\.txt\.run, checkpoint \d+: not written after 0\.2 s", said[warned])
    assert checkpoint_file.numbers(tmp_path / "v.txt.run")
    assert fit(text, output, *more).returncode == 0
    assert output.read_bytes() == whole.read_bytes()
