"""The command `supervise`, with real processes: shell scripts stand in for launchers, and real runs are killed."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path

import forked
import numpy as np
import psutil
import pytest
from reference import first_lines
from signaled import signaled

from w2vtrain.distributed.supervisor import Limits, Supervisor
from w2vtrain.distributed.traces import Ledger, Traces
from w2vtrain.errors import DataError
from w2vtrain.system.trust import require_trust
from w2vtrain.training import checkpoint
from w2vtrain.training.fingerprint import Fingerprint
from w2vtrain.training.journal import Journal
from w2vtrain.training.state import Saved, State

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs process groups")
QUICK = (
    "from w2vtrain import cli; from w2vtrain.distributed import supervisor; supervisor.DELAY_SECONDS = 0.01; cli.main()"
)
SUPERVISE = [sys.executable, "-c", QUICK, "supervise"]
DONE = """rm -rf v.bin.run; echo '{"run": "new"}' > v.bin.json; """
ORPHAN = "setsid sleep 1000 & echo $! >> children; "


def words(script, *options):
    """Return the command that supervises a shell script which is given the words of a fit command."""
    fit = ["fit", "text.txt", "-o", "v.bin"]
    return [*SUPERVISE, *options, "--", "bash", "-c", script, "launcher", *fit]


def supervise(folder, script, *options):
    """Supervise a script that counts its starts in the file `starts`; return exit code, stdout, stderr and starts."""
    command = words(f"echo start >> starts; n=$(wc -l < starts); {script}", *options)
    about = {"cwd": folder, "input": "for nobody", "capture_output": True, "text": True}
    done = forked.run(command, check=False, timeout=120, **about)
    return done.returncode, done.stdout, done.stderr, len((folder / "starts").read_text().split())


@pytest.fixture
def run_folder(tmp_path):
    """Return a run folder as a killed run leaves it, of the run "unfinished", without a checkpoint."""
    folder = tmp_path / "v.bin.run"
    folder.mkdir()
    about = {"cwd": str(tmp_path), "request": {}, "settings": {}}
    Journal(folder, require_trust(folder, DataError), about, "unfinished").save()
    return folder


def save(folder, number, epoch, chunks):
    """Write a checkpoint of this progress."""
    state = State(epoch, chunks)
    saved = Saved(state, Fingerprint(0, 0, []), [], finished=0, scoring=0.0, lowest=None, waited=0, best=False)
    checkpoint.save(folder, number, {"x": np.zeros(1, np.float32)}, asdict(saved))


def ended(pid):
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_record_of_a_new_run_is_success_whatever_the_exit_code_and_output_passes_unchanged(tmp_path):
    (tmp_path / "v.bin.json").write_text('{"run": "old"}')
    script = f"cat; printf 'a\\tb'; printf '\\033c' >&2; {DONE} exit 9"
    code, out, said, starts = supervise(tmp_path, script)
    assert (code, out, starts) == (0, "a\tb", 1)
    assert "\x1bc" in said
    assert "exists already" in said
    assert said.endswith("supervise   finished after 1 start\n")


@pytest.mark.parametrize("record", [None, '{"run": "old"}'])
def test_launcher_that_lies_does_not_succeed(tmp_path, run_folder, record):
    if record:
        (tmp_path / "v.bin.json").write_text(record)
    code, _, said, starts = supervise(tmp_path, "exit 0", "--attempts", "1")
    assert (code, starts) == (70, 1)
    assert "1 start in a row brought no advance; start 1 ended with exit code 0 and without results" in said
    assert "see the messages above" in said


def test_record_of_the_interrupted_run_counts_only_after_the_run_folder_is_removed(tmp_path, run_folder):
    (tmp_path / "v.bin.json").write_text('{"run": "unfinished"}')
    code, *_, starts = supervise(tmp_path, "exit 0", "--attempts", "1")
    assert (code, starts) == (70, 1)
    code, *_ = supervise(tmp_path, "rm -r v.bin.run")
    assert code == 0


@pytest.mark.parametrize(
    ("text", "run"), [('{"run": "a1"}', "a1"), ("{}", ""), ('{"run": ["a1"]}', ""), ("{", None), ("[]", None)]
)
def test_only_a_record_with_an_id_names_its_run(tmp_path, text, run):
    path = tmp_path / "v.bin.json"
    traces = Traces(tmp_path / "v.bin.run", path)
    path.write_text(text)
    assert traces.recorded() == run
    assert traces.finished() == (run == "a1")
    path.unlink()
    os.mkfifo(path)
    assert traces.recorded() is None


def test_run_is_restarted_while_checkpoints_advance(tmp_path, run_folder):
    """The number of a checkpoint proves nothing: a run that is stopped again and again at one chunk saves each time."""
    for number, progress in enumerate([(0, 5), (1, 0), (1, 0)], 1):
        (tmp_path / str(number)).mkdir()
        save(tmp_path / str(number), number, *progress)
    script = "cp -r $n/ckpt* v.bin.run; [ $n = 3 ] && exit 71; kill -9 $$"
    code, _, said, starts = supervise(tmp_path, script, "--attempts", "1")
    assert (code, starts) == (71, 3)
    assert "start 1 was killed by SIGKILL (checkpoint after 0 epochs and 5 chunks); start 2 in 0.01 s" in said
    assert "1 start in a row brought no advance; start 3 ended with exit code 71" in said


def test_an_encoded_corpus_is_progress(tmp_path):
    script = f"mkdir -p cache/run; touch cache/run/ids.json; [ $n = 2 ] && {{ {DONE} }}; exit 75"
    command = words(f"echo start >> starts; n=$(wc -l < starts); {script}", "--attempts", "1")
    done = forked.run([*command, "--cache-dir", "cache"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "(the corpus is encoded); start 2 in 0.01 s" in done.stderr


@pytest.mark.parametrize("code", [65, 73])
def test_error_that_a_restart_cannot_cure_ends_at_once(tmp_path, code):
    found, _, said, starts = supervise(tmp_path, f"exit {code}")
    assert (found, starts) == (code, 1)
    assert "another start cannot cure" in said


def test_lock_that_the_previous_start_holds_elsewhere_is_waited_for(tmp_path):
    code, _, said, starts = supervise(tmp_path, f"case $n in 1) exit 1;; 2) exit 73;; *) {DONE} esac")
    assert (code, starts) == (0, 3), said
    assert "start 2 in 0.01 s" in said
    assert "start 3 in 0.02 s" in said


def test_hanging_launcher_is_killed_with_descendants_that_left_its_group(tmp_path, run_folder):
    beat = "trap '' TERM; for i in 1 2 3 4; do echo $i > v.bin.run/heartbeat; sleep 0.2; done; "
    script = f"[ $n = 2 ] && {{ {DONE} exit; }}; ({ORPHAN}); {beat} while true; do sleep 1; done"
    code, _, said, starts = supervise(tmp_path, script, "--hang", "0.5", "--grace", "0.1")
    assert (code, starts) == (0, 2), said
    assert "start 1 was killed after 0.5 s without a sign of life" in said
    assert ended(int((tmp_path / "children").read_text()))


def test_launcher_that_dies_leaves_nothing_running(tmp_path):
    supervise(tmp_path, f"({ORPHAN}); kill -9 $$", "--attempts", "1", "--grace", "5")
    assert ended(int((tmp_path / "children").read_text()))


BUSY = "end=$((SECONDS + 4)); while [ $SECONDS -lt $end ]; do :; done; "


@pytest.mark.parametrize(
    ("work", "hang", "killed"),
    [
        ("sleep 2; ", "1.5", False),
        pytest.param(BUSY, "0.2", False, marks=pytest.mark.slow),
        ("sleep 30; ", "0.2", True),
    ],
)
def test_run_without_heartbeat_is_killed_only_after_ten_times_the_limit_and_if_idle(
    tmp_path, run_folder, work, hang, killed
):
    """A heartbeat that an earlier start has left does not count."""
    (run_folder / "heartbeat").write_text("{}")
    *_, said, _ = supervise(tmp_path, f"{work} {DONE}", "--hang", hang, "--attempts", "1", "--grace", "0")
    assert ("was killed after 2 s without a sign of life" in said) == killed, said
    assert ("finished after 1 start" in said) != killed


def interrupted(folder, script, *numbers, options=()):
    """Supervise a script that writes `ready` when its traps are set; send signals then; return exit code and stderr."""
    process = subprocess.Popen(words(script, *options), cwd=folder, stderr=subprocess.PIPE, text=True)
    while not (folder / "ready").exists():
        assert process.poll() is None
        time.sleep(0.01)
    for number in numbers:
        process.send_signal(number)
        while not (folder / "got").exists():
            time.sleep(0.01)
    said = process.communicate(timeout=300)[1]
    return process.returncode, said


TRAPPED = "trap 'echo TERM >> got' TERM; touch ready; until [ -e got ]; do sleep 0.05; done; sleep 0.2; "


@pytest.mark.parametrize("name", ["SIGINT", "SIGHUP"])
def test_signal_is_passed_on_once_as_sigterm_and_the_command_is_not_restarted(tmp_path, name):
    code, said = interrupted(tmp_path, f"{TRAPPED} exit 75", getattr(signal, name))
    assert code == 75, said
    assert (tmp_path / "got").read_text() == "TERM\n"
    assert "stopped (nothing saved): the same command continues" in said
    assert "start 2" not in said


def test_stopped_command_that_saved_nothing_counts_as_interrupted(tmp_path):
    assert interrupted(tmp_path, f"{TRAPPED} exit 1", signal.SIGTERM)[0] == 130


def test_stopped_launcher_that_lies_is_believed_by_its_checkpoint(tmp_path, run_folder):
    save(run_folder, 1, 0, 3)
    assert interrupted(tmp_path, f"{TRAPPED} exit 0", signal.SIGTERM)[0] == 75


def test_stop_command_that_cannot_be_started_is_replaced_by_sigterm(tmp_path):
    """examples/slurm-mpi.sh is tested with one that can be."""
    assert interrupted(tmp_path, f"{TRAPPED} exit 75", signal.SIGTERM, options=["--stop", "/nowhere x"])[0] == 75


def test_second_interrupt_kills(tmp_path):
    script = f"({ORPHAN}); {TRAPPED} while true; do sleep 1; done"
    code, said = interrupted(tmp_path, script, signal.SIGINT, signal.SIGINT)
    assert code == 130, said
    assert ended(int((tmp_path / "children").read_text()))


@pytest.mark.parametrize(
    ("command", "what"),
    [
        (["mpiexec", "-n", "4", "program"], "has no `fit`"),
        (["w2vtrain", "fit", "a.txt"], "has no -o"),
        (["w2vtrain", "fit", "a.txt", "-o", "-"], "-o - is no regular file"),
        (["w2vtrain", "fit", "-", "-o", "v.bin"], "cannot read standard input again"),
        (["w2vtrain", "fit", "a.txt", "-o", "v.bin", "--print-config"], "trains nothing"),
        (["w2vtrain", "fit", "a.txt", "-o", "v.bin", "--epoch-count", "3"], "No such option '--epoch-count'"),
        (["/nowhere/mpiexec", "w2vtrain", "fit", "a.txt", "-o", "v.bin"], "cannot be started"),
        # The word after the program's name counts.
        (["mpiexec", "-wdir", "fit", "/opt/w2vtrain", "fit", "a.txt"], "has no -o"),
    ],
)
def test_commands_that_cannot_be_supervised_are_refused(w2vtrain_here, tmp_path, command, what):
    code, _, said = w2vtrain_here(["supervise", *command], tmp_path)
    assert code == 2
    assert what in said
    assert said.count("error:") == 1
    assert not list(tmp_path.iterdir())


def test_results_that_are_being_written_are_signs_of_life(tmp_path, run_folder):
    traces, found = Traces(run_folder, tmp_path / "v.bin.json"), set()
    for seconds in (1, 2, 3):
        (tmp_path / ".v.bin.tmp-1-00000000").touch()
        os.utime(tmp_path / ".v.bin.tmp-1-00000000", (seconds, seconds))
        found.add(traces.changes())
    assert len(found) == 3


def test_damaged_newest_checkpoint_does_not_count(tmp_path, run_folder):
    traces = Traces(run_folder, tmp_path / "v.bin.json")
    assert traces.ledger() == Ledger()
    save(run_folder, 1, 0, 3)
    save(run_folder, 2, 1, 2)
    assert traces.ledger() == Ledger(1, 2)
    state = run_folder / "ckpt-000002" / checkpoint.STATE
    state.write_bytes(state.read_bytes()[:-1] + b"x")
    assert traces.ledger() == Ledger(0, 3)
    shutil.rmtree(run_folder)
    assert traces.ledger() == Ledger()


def test_results_on_shared_storage_may_appear_late_if_the_run_folder_is_gone(tmp_path, run_folder):
    record = tmp_path / "v.bin.json"
    supervisor = Supervisor(["true"], Traces(run_folder, record), Limits(), print)
    assert not supervisor._finished(0)  # returns at once
    shutil.rmtree(run_folder)
    assert not supervisor._finished(1)
    writer = threading.Timer(0.7, record.write_text, ['{"run": "unfinished"}'])
    writer.start()
    assert supervisor._finished(0)
    writer.join()


KILLED = """
import subprocess, sys
from pathlib import Path
steps, starts = sys.argv[1].split(), Path("starts")
number = len(starts.read_text()) if starts.exists() else 0
starts.write_text("x" * (number + 1))
script = sys.argv[2:]
script[4] = steps[number] if number < len(steps) else "1000000:SIGKILL"
subprocess.run(script)
"""


def kill_loop(folder, steps):
    """Train whole, and supervised by way of a launcher that kills the n-th start at slice steps[n] and returns 0."""
    first_lines(1500, folder / "text.txt")
    more = ["--epochs", "3", "--threads", "1", "--vector-size", "16", "--checkpoint-every", "0"]
    fit = [sys.executable, "-m", "w2vtrain", "fit", "text.txt"]
    subprocess.run([*fit, "-o", "whole.bin", *more], cwd=folder, check=True, capture_output=True)
    killed = signaled([*fit, "-o", "v.bin", *more], "1:SIGKILL")
    launcher = [sys.executable, "-c", KILLED, " ".join(f"{n}:SIGKILL" for n in steps), *killed]
    # A kill before the next checkpoint is complete brings no advance, however often this happens on a busy machine.
    words = [*SUPERVISE, "--attempts", "10", *launcher]
    done = forked.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"finished after {len(steps) + 1} starts" in done.stderr
    assert (folder / "v.bin").read_bytes() == (folder / "whole.bin").read_bytes()
    assert not (folder / "v.bin.run").exists()
    assert json.loads((folder / "v.bin.json").read_text())["run"].isalnum()


def test_killed_run_finishes_with_the_bytes_of_one_that_was_not(tmp_path):
    kill_loop(tmp_path, [7])


@pytest.mark.slow
def test_run_killed_at_random_moments_finishes_with_the_same_bytes(tmp_path):
    draw = random.Random(3)
    kill_loop(tmp_path, [draw.randint(5, 9) for _ in range(6)])


RANK = "import mmap, sys, time; f = open(sys.argv[1], 'r+b'); m = mmap.mmap(f.fileno(), 0); time.sleep(1000)"
FAMILY = """
import sys
from w2vtrain.distributed.descendants import Family, shared_files
family = Family(sys.argv[2:])
while not shared_files():
    assert not family.wait(0.01)
if sys.argv[1] == "killed":
    family.wait(0.01)
    family.kill()
    family.process.wait()
family.end_all(0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/shm and /proc")
@pytest.mark.parametrize("how", ["killed", "ended"])
def test_shared_memory_of_ranks_that_were_killed_is_removed_and_that_of_others_stays(how):
    names = [Path(f"/dev/shm/mpich_shm_test-{os.getpid()}_{number}") for number in range(2)]
    try:
        for path in names:
            path.write_bytes(b"x" * 4096)
        rank = [sys.executable, "-c", RANK, names[0]]
        subprocess.run([sys.executable, "-c", FAMILY, how, *rank], check=True, timeout=120)
        assert [path.exists() for path in names] == [False, True]
    finally:
        for path in names:
            path.unlink(missing_ok=True)
