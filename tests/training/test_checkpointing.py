"""Runs that are stopped or killed and then resume: on the command line, with real signals."""

import json
import os
import random
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import forked
import pytest
from reference import begin, first_lines, newest_checkpoint
from signaled import run_signaled, signaled

from w2vtrain.config import Settings
from w2vtrain.errors import DataError, Stopped
from w2vtrain.training import checkpoint_file
from w2vtrain.training.checkpointing import CheckpointedRun
from w2vtrain.training.events import Events
from w2vtrain.training.inputs import Inputs
from w2vtrain.training.plan import Plan, effective
from w2vtrain.training.run import STOPPED_EARLY
from w2vtrain.training.run_files import locked
from w2vtrain.training.trainer import train

ROOT = Path(__file__).parents[2]
EXAMPLE = ["--epochs", "3", "--threads", "1", "--vector-size", "16", "--checkpoint-every", "0"]
KINDS = [
    ("skipgram", "neg"),
    ("cbow", "softmax"),
    *(
        pytest.param(*kind, marks=pytest.mark.slow)
        for kind in (("skipgram", "hs"), ("cbow", "nce"), ("cbow", "cnn-softmax"))
    ),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    first_lines(1000, folder / "text.txt")
    first_lines(200, folder / "short.txt")
    return folder


def command(*words):
    return [sys.executable, "-m", "w2vtrain", *map(str, words)]


def fit(corpus, output, *more, text="text.txt"):
    return command("fit", corpus / text, "-o", output, *EXAMPLE, *more)


def run(words, **about):
    return forked.run(words, capture_output=True, text=True, check=False, **about)


@pytest.mark.parametrize(("model", "objective"), KINDS)
def test_stopped_run_resumes_to_the_same_bytes(corpus, tmp_path, model, objective):
    """Stop with SIGTERM at several points; resume with the same command and with `resume`."""
    kind, text = (
        ["--architecture", model, "--objective", objective],
        "short.txt" if "softmax" in objective else "text.txt",
    )
    words = fit(corpus, tmp_path / "whole.bin", *kind, text=text)  # a process of its own has other hashes of words
    assert subprocess.run(words, check=False, capture_output=True).returncode == 0
    output, folder = tmp_path / "vectors.bin", tmp_path / "vectors.bin.run"
    words = fit(corpus, output, *kind, text=text)
    for again, steps in enumerate(("1:SIGTERM", "7:SIGTERM", "5:SIGTERM")):
        code, said = run_signaled(words, steps)
        assert code == 75, said
        assert "stopped and saved" in said
        assert "Traceback" not in said
        assert again == 0 or "resumed" in said
        words = command("resume", folder) if again == 0 else fit(corpus, output, *kind, text=text)
    last = run(words)
    assert last.returncode == 0, last.stderr
    assert "resumed" in last.stderr
    assert output.read_bytes() == (tmp_path / "whole.bin").read_bytes()
    assert not folder.exists()
    records = [json.loads((tmp_path / f"{name}.bin.json").read_text())["record"] for name in ("whole", "vectors")]
    for key in ("loss", "examples", "words"):
        assert [e[key] for e in records[0]["epochs"]] == [e[key] for e in records[1]["epochs"]]


# Kill the run after the vectors are written and before the record is.
KILLED = """
import os, signal
from w2vtrain import cli
from w2vtrain.commands import fit_outputs
fit_outputs.write_json = lambda *about: os.kill(os.getpid(), signal.SIGKILL)
cli.main()
"""


def test_run_killed_between_results_is_finished_by_the_same_command(corpus, tmp_path):
    """Even without a checkpoint, the run owns the vectors it wrote and may replace them; another run may not."""
    output, rare = tmp_path / "vectors.bin", ["--checkpoint-every", "1000"]
    words = fit(corpus, output, *rare)
    done = run([sys.executable, "-c", KILLED, *words[3:]])
    assert done.returncode == -signal.SIGKILL
    whole = output.read_bytes()
    assert checkpoint_file.numbers(Path(f"{output}.run")) == []
    assert "exists: use --force" in run(fit(corpus, output, *rare, "--run", tmp_path / "other")).stderr
    again = run(words)
    assert again.returncode == 0, again.stderr
    assert output.read_bytes() == whole
    assert not Path(f"{output}.run").exists()
    assert "exists: use --force" in run(words).stderr


def test_run_overwrites_only_files_that_it_wrote(corpus, tmp_path):
    """It overwrites neither a file that appeared before its results were written nor a file at another output path."""
    output, folder = tmp_path / "vectors.bin", tmp_path / "vectors.bin.run"
    words = fit(corpus, output)
    code, said = run_signaled(words, "3:SIGTERM")
    assert code == 75, said
    output.write_text("mine")
    assert "exists: use --force" in run(words).stderr
    assert "exists: use --force" in run(command("resume", folder)).stderr
    other = fit(corpus, tmp_path / "other.bin", "--run", folder)
    (tmp_path / "other.bin").write_text("mine")
    assert "exists: use --force" in run(other).stderr
    output.unlink()
    assert run(words).returncode == 0
    assert "exists: use --force" in run(words).stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_for_stderr_does_not_end_training_but_one_for_the_log_does(corpus, tmp_path):
    words = fit(corpus, tmp_path / "v.bin", text="short.txt")
    with Path("/dev/full").open("w") as full:
        assert subprocess.run(words, stderr=full, check=False).returncode == 0
        assert subprocess.run(words, stderr=full, check=False).returncode == 73, "the exit code still reports the error"
    words = fit(corpus, tmp_path / "w.bin", "--log-json", "/dev/full", text="short.txt")
    assert run(words).returncode == 74


def killed_after_seconds(words, chance):
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            process.wait(chance.uniform(0.3, 2.5))
        except subprocess.TimeoutExpired:
            process.kill()
        said = process.stderr.read()
        return process.wait(), said


def killed_after_slices(words, chance):
    return run_signaled(words, f"{chance.randrange(1, 24)}:SIGKILL")


def kill_loop(corpus, tmp_path, kills, seed, killed):
    """Kill runs at random moments, check that no complete checkpoint is lost, and yield each finished run's vectors."""
    output, folder = tmp_path / "vectors.bin", tmp_path / "vectors.bin.run"
    chance, words = random.Random(seed), fit(corpus, tmp_path / "vectors.bin")
    for _ in range(kills):
        before = max(checkpoint_file.numbers(folder), default=0)
        code, said = killed(words, chance)
        assert code in (0, -signal.SIGKILL), said
        if code == 0:
            yield output.read_bytes()
            output.unlink()
            Path(f"{output}.json").unlink()
        else:
            found = newest_checkpoint(folder) if checkpoint_file.numbers(folder) else None  # killed before it began
            if found is None and Path(f"{output}.json").exists():  # killed after the results were written
                yield output.read_bytes()
                output.unlink()
                Path(f"{output}.json").unlink()
            else:
                assert before == 0 or found.number >= before
    done = run(words)
    assert done.returncode == 0, done.stderr
    yield output.read_bytes()


@pytest.mark.slow
def test_run_killed_repeatedly_loses_nothing(corpus, tmp_path):
    assert run(fit(corpus, tmp_path / "whole.bin")).returncode == 0
    expected = (tmp_path / "whole.bin").read_bytes()
    for result in kill_loop(corpus, tmp_path, 15, 1, killed_after_slices):
        assert result == expected
    assert left_in(tmp_path) == {"whole.bin", "whole.bin.json", "vectors.bin", "vectors.bin.json"}


def left_in(folder):
    """Return the names in a folder, without the partial outputs that kills leave, which are deleted after an hour."""
    return {path.name for path in folder.iterdir() if not path.name.startswith(".vectors.bin.")}


@pytest.mark.slow
def test_run_killed_500_times_loses_nothing(corpus, tmp_path):
    assert run(fit(corpus, tmp_path / "whole.bin")).returncode == 0
    expected = (tmp_path / "whole.bin").read_bytes()
    assert all(result == expected for result in kill_loop(corpus, tmp_path, 500, 2, killed_after_seconds))
    assert left_in(tmp_path) == {"whole.bin", "whole.bin.json", "vectors.bin", "vectors.bin.json"}


def test_stopped_run_with_two_threads_learns_every_chunk_once(corpus, tmp_path):
    words = fit(corpus, tmp_path / "vectors.bin", "--threads", "2", "--epochs", "6")
    code, _ = run_signaled(words, "3:SIGTERM")
    assert code == 75
    assert run(words).returncode == 0
    whole = run(fit(corpus, tmp_path / "whole.bin", "--threads", "1", "--epochs", "6"))
    assert whole.returncode == 0
    records = [json.loads((tmp_path / f"{name}.bin.json").read_text())["record"] for name in ("whole", "vectors")]
    assert [e["examples"] for e in records[0]["epochs"]] == [e["examples"] for e in records[1]["epochs"]]


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="needs SIGUSR1")
def test_sigusr1_saves_and_training_continues(corpus, tmp_path):
    folder = tmp_path / "vectors.bin.run"
    words = fit(corpus, tmp_path / "vectors.bin", "--checkpoint-every", "10000")
    code, said = run_signaled(words, "2:SIGUSR1,5:SIGINT")
    assert code == 75, said
    assert checkpoint_file.numbers(folder) == [1, 2]


def test_other_settings_are_refused_unless_forced(corpus, tmp_path):
    folder = tmp_path / "vectors.bin.run"
    words = fit(corpus, tmp_path / "vectors.bin")
    code, _ = run_signaled(words, "3:SIGTERM")
    assert code == 75
    other = run([*words, "--window", "3"])
    assert other.returncode == 78
    assert "window 5, not 3" in other.stderr
    assert "w2vtrain resume" in other.stderr
    assert checkpoint_file.numbers(folder)
    forced = run([*words, "--window", "3", "--epochs", "1", "--force"])
    assert forced.returncode == 0, forced.stderr
    assert "resumed" not in forced.stderr


# Kill the run before or after it writes the config.json of a new run.
STARTING_OVER = """
import os, signal
from w2vtrain import cli
from w2vtrain.training import checkpointing
write = checkpointing.write_config
def killed(*about):
    if {written}:
        write(*about)
    os.kill(os.getpid(), signal.SIGKILL)
checkpointing.write_config = killed
cli.main()
"""


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("more", [[], ["--force"]])
def test_a_run_killed_while_it_starts_over_does_not_resume_from_a_checkpoint_of_another_run(
    corpus, tmp_path, written, more
):
    """Before config.json is written, the run before is as it was; after that, `resume` starts the new one over."""
    output = tmp_path / "vectors.bin"
    assert run_signaled(fit(corpus, output, text="short.txt"), "3:SIGTERM")[0] == 75
    words = fit(corpus, output, "--window", "3", text="short.txt")
    killed = run([sys.executable, "-c", STARTING_OVER.format(written=written), *words[3:], "--force"])
    assert killed.returncode == -signal.SIGKILL
    done = run([*words, *more])
    if not written and not more:
        assert (done.returncode, "window 5, not 3" in done.stderr) == (78, True), done.stderr
        done = run([*words[:3], "resume", str(tmp_path / "vectors.bin.run")])
        assert (done.returncode, "resumed" in done.stderr) == (0, True), done.stderr
        return
    assert done.returncode == 0, done.stderr
    assert "resumed" not in done.stderr


def test_changed_corpus_is_refused_and_starts_over_with_allow_changed(corpus, tmp_path):
    text = tmp_path / "text.txt"
    text.write_bytes((corpus / "text.txt").read_bytes())
    words = command("fit", text, "-o", tmp_path / "vectors.bin", *EXAMPLE)
    folder = tmp_path / "vectors.bin.run"
    code, _ = run_signaled(words, "3:SIGTERM")
    assert code == 75
    with text.open("ab") as file:
        file.write(b"more of the same\n" * 9)
    done = run(words)
    assert done.returncode == 65
    assert "the corpus changed since the run began" in done.stderr
    assert f"{text} had" in done.stderr
    assert "use --allow-changed" in done.stderr
    kept = checkpoint_file.numbers(folder)
    assert kept, "the checkpoints are kept"
    code, said = run_signaled([*words, "--allow-changed"], "3:SIGTERM")
    assert code == 75, said
    assert min(checkpoint_file.numbers(folder)) > max(kept)
    assert "the corpus changed since the run began" in said
    assert "the run starts over" in said
    assert "resumed" not in said
    done = run(command("resume", folder))
    assert done.returncode == 0, done.stderr
    assert "resumed" in done.stderr
    again = command("fit", text, "-o", tmp_path / "whole.bin", *EXAMPLE)
    assert run(again).returncode == 0
    assert (tmp_path / "vectors.bin").read_bytes() == (tmp_path / "whole.bin").read_bytes()


def test_second_run_with_the_same_output_is_refused(corpus, tmp_path):
    folder = tmp_path / "vectors.bin.run"
    words = fit(corpus, tmp_path / "vectors.bin", "--epochs", "1000000")  # hours
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as first:
        while not checkpoint_file.numbers(folder) and first.poll() is None:
            time.sleep(0.05)
        second = run(words)
        first.send_signal(signal.SIGKILL)
    assert second.returncode == 73
    assert f"in use by process {first.pid} on" in second.stderr
    assert len(second.stderr.splitlines()) == 1


def test_resume_warns_of_a_damaged_checkpoint_and_uses_the_one_before(corpus, tmp_path, monkeypatch):
    """The stored settings include `block`, which has no effect here: `resume` must neither refuse nor change it."""
    monkeypatch.setenv("W2VTRAIN_BLOCK", "64")
    folder, log = tmp_path / "vectors.bin.run", tmp_path / "log"
    words = fit(corpus, tmp_path / "vectors.bin", "--log-json", log)
    code, said = run_signaled(words, "3:SIGTERM")
    assert code == 75, said
    state = checkpoint_file.path_of(folder, checkpoint_file.numbers(folder)[-1])
    state.write_bytes(state.read_bytes()[:-1])
    monkeypatch.delenv("W2VTRAIN_BLOCK")
    done = run(command("resume", folder))
    assert done.returncode == 0, done.stderr
    assert f"warning     {state}" in done.stderr
    assert "resumed" in done.stderr
    events = [json.loads(line) for line in log.read_text().splitlines()]
    warnings = [event["message"] for event in events if event["event"] == "warning"]
    reported = json.loads((tmp_path / "vectors.bin.json").read_text())["record"]["warnings"]
    assert str(state) in reported[0]
    assert warnings[-len(reported) :] == reported


@pytest.mark.slow
def test_early_stopping_and_the_best_epoch_survive_stops(corpus, tmp_path):
    more = ["--heldout", corpus / "short.txt", "--architecture", "cbow", "--objective", "nce", "--epochs", "6"]
    assert run(fit(corpus, tmp_path / "whole.bin", *more)).returncode == 0
    words = fit(corpus, tmp_path / "vectors.bin", *more)
    for slices in (5, 13, 8, 16):  # an epoch has about 9 slices
        code, said = run_signaled(words, f"{slices}:SIGINT")
        assert code == 75, said
    assert run(words).returncode == 0
    assert (tmp_path / "vectors.bin").read_bytes() == (tmp_path / "whole.bin").read_bytes()
    records = [json.loads((tmp_path / f"{name}.bin.json").read_text())["record"] for name in ("whole", "vectors")]
    assert records[0]["best_epoch"] == records[1]["best_epoch"]
    assert [e["heldout"]["perplexity"] for e in records[0]["epochs"]] == [
        e["heldout"]["perplexity"] for e in records[1]["epochs"]
    ]


def test_checkpoint_whose_arrays_do_not_fit_the_run_is_refused(corpus, tmp_path):
    """Kernels do not check bounds, so rows missing from a tampered checkpoint must never be read."""
    settings = effective(Settings(vector_size=16, threads=1, epochs=9, min_count=1))
    text = [str(corpus / "short.txt")]
    with locked(tmp_path):
        stopped = CheckpointedRun(tmp_path, every=0.0)
        begin(stopped, settings)
        events = Events(epoch=lambda epoch, score: setattr(stopped, "stop_requested", epoch.epoch == 1))
        with pytest.raises(Stopped):
            train(Plan.of(Inputs(text, text), settings), run=stopped, events=events)
        for name in ("input", "output", "best.input", "best.output"):
            for change in (lambda a: a[1:], lambda a: a.astype("f8"), None):
                run = CheckpointedRun(tmp_path)
                run.checkpoint = newest_checkpoint(tmp_path)
                array = run.checkpoint.arrays.pop(name)
                run.checkpoint.arrays.update({name: change(array)} if change else {})
                with pytest.raises(DataError, match=f"its array {name} does not fit this run"):
                    train(Plan.of(Inputs(text, text), settings), run=run)


def test_run_that_writes_to_a_pipe_leaves_no_folder(corpus, tmp_path):
    done = run(command("fit", corpus / "short.txt", "-o", "-", *EXAMPLE), cwd=tmp_path)
    assert done.returncode == 0
    assert not list(tmp_path.iterdir())


def tool(path, words, more=""):
    """Write a shell script that runs `words` followed by its own arguments."""
    path.write_text(f'#!/bin/bash\nexec {shlex.join(words)} "$@" {more}\n')
    path.chmod(0o755)


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
def test_slurm_script_saves_requeues_and_resumes(corpus, tmp_path):
    """A fake scontrol only records its arguments."""
    tools = tmp_path / "tools"
    tools.mkdir()
    tool(tools / "scontrol", ["echo"], f">> {tmp_path}/asked")
    tool(tools / "w2vtrain", signaled(command(), "3:SIGTERM", "parent"))
    about = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "SLURM_JOB_ID": "17"}
    words = ["bash", ROOT / "examples/slurm.sh", corpus / "text.txt", "-o", "vectors.bin", *EXAMPLE]
    job = run(words, cwd=tmp_path, env=about)
    assert job.returncode == 75, job.stderr
    assert (tmp_path / "asked").read_text() == "requeue 17\n"
    tool(tools / "w2vtrain", command())
    again = run(words, cwd=tmp_path, env=about)
    assert again.returncode == 0, again.stderr
    assert "resumed" in again.stderr
    assert (tmp_path / "asked").read_text() == "requeue 17\n"
    assert (tmp_path / "vectors.bin").exists()


@pytest.mark.skipif(os.name != "posix", reason="Windows has other signals")
@pytest.mark.parametrize("place", ["checkpointing.read_config", "trainer.heldout_text", "trainer.compile_engine"])
def test_resume_continues_a_run_that_a_signal_stopped_before_training(
    corpus, tmp_path, monkeypatch, w2vtrain_here, place
):
    """The signal arrives while the run begins, after the text was read, or before the kernels are compiled."""
    text, settings = (
        corpus / "short.txt",
        [*EXAMPLE, "--heldout", corpus / "short.txt", "--save-model", "m.safetensors"],
    )
    assert w2vtrain_here(["fit", text, "-o", "whole.bin", *settings[:-1], "w.safetensors"], tmp_path)[0] == 0
    module, name = f"w2vtrain.training.{place}".rsplit(".", 1)
    function = getattr(sys.modules[module], name)

    def signaled(*arguments):
        os.kill(os.getpid(), signal.SIGTERM)
        return function(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(sys.modules[module], name, signaled)
        code, _, said = w2vtrain_here(["fit", text, "-o", "v.bin", *settings], tmp_path)
    assert code == 75
    assert STOPPED_EARLY in said
    assert not (tmp_path / "v.bin").exists()
    code, _, said = w2vtrain_here(["resume", "v.bin.run"], tmp_path)
    assert code == 0, said
    assert (tmp_path / "v.bin").read_bytes() == (tmp_path / "whole.bin").read_bytes()
    assert (tmp_path / "m.safetensors").exists()
    assert not list(tmp_path.glob("v.bin.run*"))
    assert not list(tmp_path.glob(".*.lock"))


@pytest.mark.parametrize("verb", ["resume", "export"])
def test_a_run_that_never_began_is_told_from_other_folders(tmp_path, w2vtrain_here, verb):
    more = ["-o", "v.txt"] if verb == "export" else []
    begun, other = tmp_path / "begun.run", tmp_path / "other"
    begun.mkdir()
    (begun / "lock").write_text("process 1 on here\n")
    (begun / ".config.json.tmp-17-0123abcd4567cdef").touch()
    other.mkdir()
    (other / "notes.txt").touch()
    (tmp_path / "file").touch()
    expected = {
        "nowhere.run": "nowhere.run: does not exist: check the name; a run that has finished has no folder; if it never"
        " began, repeat the fit command",
        "begun.run": "begun.run: this run never began: repeat the fit command",
        "other": "other: is not a run folder: it has no config.json",
        "file": "file: is not a run folder: it has no config.json",
    }
    for name, message in expected.items():
        code, _, said = w2vtrain_here([verb, name, *more], tmp_path)
        assert code == (66 if name == "nowhere.run" else 65)
        assert said.endswith(f"{message}\n")
        assert len(said.splitlines()) == 1
