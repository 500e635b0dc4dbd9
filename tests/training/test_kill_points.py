"""Kill a run before each of its changes to the disk, or let the change fail; the same command always finishes it."""

import errno
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from reference import first_lines

# The parent process compiles once and forks for each run. A run is killed before its n-th call that changes the disk,
# or that call fails with an error number. A write that fails writes half.
SCRIPT = """
import json, os, shutil, signal, sys
from pathlib import Path
from w2vtrain import cli

folder, step, error, settings = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
CALLS = ("open", "write", "fsync", "rename", "replace", "link", "mkdir", "unlink", "rmdir", "ftruncate")


def disturbs(number):
    left = [number]

    def watched(name, call):
        def seen(*args, **kwargs):
            if name != "open" or args[1] & os.O_CREAT:
                left[0] -= 1
                if left[0] == 0:
                    (folder / "disturbed").touch()
                    if not error:
                        os.kill(os.getpid(), signal.SIGKILL)
                    if name == "write":
                        call(args[0], memoryview(args[1])[: len(args[1]) // 2])
                    raise OSError(error, os.strerror(error))
            return call(*args, **kwargs)

        return seen

    for name in CALLS:
        setattr(os, name, watched(name, getattr(os, name)))


def run(number=0, name="v.bin"):
    pid = os.fork()
    if pid == 0:
        said = os.open(folder / "said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(said, 2)
        if number:
            disturbs(number)
        log = name.replace("bin", "log")
        more = ["--log-json", log, "--save-vocab", f"{name}.vocab", "--save-model", f"{name}.safetensors"]
        sys.argv = ["w2vtrain", "fit", "text.txt", "-o", name, *more, *settings]
        cli.main()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), (folder / "said").read_text()


os.chdir(folder)
import w2vtrain.commands.fit_run
code, said = run(name="whole.bin")
assert code == 0, said
whole = [(folder / f"whole.bin{end}").read_bytes() for end in ("", ".vocab")]
disturbed = number = 0
while True:
    number += step
    (folder / "disturbed").unlink(missing_ok=True)
    code, said = run(number)
    if not (folder / "disturbed").exists():
        break
    assert code in (0, 73, 74) if error else code == -signal.SIGKILL, (number, code, said)
    disturbed += 1
    again = 0
    if code or (folder / "v.bin.run").exists():
        again, said = run()
    names = {path.name for path in folder.iterdir()} - {"disturbed"}
    tidied = "v.bin.json" in names and not (folder / "v.bin.run" / "config.json").exists()
    exists = again == 73 and "exists: use --force" in said
    assert again == 0 or (code in (0, -signal.SIGKILL) and tidied and exists), (number, again, said, names)
    assert [(folder / f"v.bin{end}").read_bytes() for end in ("", ".vocab")] == whole, number
    events = [json.loads(line)["event"] for line in (folder / "v.log").read_text().splitlines()]
    assert (events[0], events[-1]) == ("start", "done"), (number, events)
    left = {name for name in names if not name.startswith(("whole.", ".v.", ".probe-"))} - {"said", "text.txt"}
    expected = {"v.bin", "v.bin.json", "v.bin.vocab", "v.bin.safetensors", "v.log"}
    assert left - {"v.bin.run"} == expected, (number, left)
    assert again == 73 or "v.bin.run" not in left, number
    for path in folder.iterdir():
        if path.name.startswith(("v.", ".v.")) and path.is_file():
            path.unlink()
    shutil.rmtree(folder / "v.bin.run", ignore_errors=True)
print(json.dumps({"disturbed": disturbed}))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize(
    ("error", "step"),
    [
        pytest.param(0, 23, id="killed"),
        pytest.param(errno.ENOSPC, 37, id="disk full", marks=pytest.mark.slow),
        pytest.param(0, 1, id="killed at every change", marks=pytest.mark.slow),
        pytest.param(errno.ENOSPC, 1, id="disk full at every change", marks=pytest.mark.slow),
        pytest.param(errno.EIO, 1, id="error at every change", marks=pytest.mark.slow),
    ],
)
def test_run_killed_before_any_disk_change_is_finished_by_the_same_command(tmp_path, step, error):
    """Disturb some of the changes; in the slow tests, every change. The log of a finished run ends with "done"."""
    first_lines(200, tmp_path / "text.txt")
    settings = ["--vector-size", "8", "--epochs", "2", "--threads", "1", "--min-count", "2", "--checkpoint-every", "0"]
    words = [sys.executable, "-c", SCRIPT, str(tmp_path), str(step), str(error), *settings]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1])["disturbed"] >= 100 // step


def killed(words, folder, how, chance):
    """Start a run and kill it at a moment chosen by `how`; return its exit code and stderr."""
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        if how == "while writing":
            while process.poll() is None and not list(folder.glob("*v.bin*tmp-*")) and not (folder / "v.bin").exists():
                time.sleep(0.0005)
        try:
            process.wait({"early": chance.uniform(0.01, 0.7), "random": chance.uniform(0.3, 2.5)}.get(how, 0.0))
        except subprocess.TimeoutExpired:
            process.kill()
        return process.wait(), process.stderr.read()


@pytest.mark.slow
def test_200_kills_of_a_run_with_a_log_lose_nothing(tmp_path):
    """Kill early, at random and while results are written, in turn; every run ends with the right bytes and one log."""
    first_lines(3000, tmp_path / "text.txt")
    settings = ["--epochs", "3", "--threads", "1", "--vector-size", "16", "--checkpoint-every", "0"]
    words = [sys.executable, "-m", "w2vtrain", "fit", "text.txt", "-o", "v.bin", "--log-json", "log", *settings]
    assert subprocess.run(words, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    whole, chance, kills, ends = (tmp_path / "v.bin").read_bytes(), random.Random(7), Counter(), 0

    def finished():
        assert (tmp_path / "v.bin").read_bytes() == whole
        events = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
        assert events[0]["event"] == "start"
        assert len({event["run"] for event in events if event["event"] == "start"}) == 1
        for path in tmp_path.iterdir():
            if path.is_file() and path.name != "text.txt":
                path.unlink()
        shutil.rmtree(tmp_path / "v.bin.run", ignore_errors=True)

    finished()
    for how in itertools.cycle(("early", "random", "while writing")):
        if kills.total() == 200:
            break
        code, said = killed(words, tmp_path, how, chance)
        if code == -signal.SIGKILL:
            kills[how] += 1
            if not (tmp_path / "v.bin.json").exists() or (tmp_path / "v.bin.run" / "config.json").exists():
                continue
        else:
            assert code == 0, said
        finished()
        ends += 1
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    finished()
    print(f"{dict(kills)} kills, {ends + 1} completed runs")
