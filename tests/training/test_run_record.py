"""What a run records: its log, the outputs it owns, its epochs. Also signals, empty corpora and scoring."""

import ctypes
import json
import math
import os
import re
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import forked
import pytest
from reference import begin, first_lines, newest_checkpoint
from signaled import run_signaled

from w2vtrain.config import Settings
from w2vtrain.errors import DataError, Stopped
from w2vtrain.kernels.jit import NoCache, on_compilation
from w2vtrain.system.files import atomic_write
from w2vtrain.system.json_text import json_text, typed
from w2vtrain.system.locks import Lock, lock_path, run_of
from w2vtrain.training import perplexity, record
from w2vtrain.training.checkpointing import CheckpointedRun
from w2vtrain.training.events import Events
from w2vtrain.training.fingerprint import Fingerprint
from w2vtrain.training.inputs import Inputs
from w2vtrain.training.plan import Plan, effective
from w2vtrain.training.run import Phase
from w2vtrain.training.run_files import locked, run_config
from w2vtrain.training.signals import listening
from w2vtrain.training.state import Epoch, Saved, State
from w2vtrain.training.trainer import train

SMALL = ["--vector-size", "8", "--epochs", "3", "--threads", "1", "--min-count", "2", "--checkpoint-every", "0"]


@pytest.fixture
def folder(tmp_path):
    first_lines(200, tmp_path / "text.txt")
    return tmp_path


def command(*more, output="v.bin"):
    return [sys.executable, "-m", "w2vtrain", "fit", "text.txt", "-o", output, *SMALL, *more]


def run(words, folder, **about):
    return forked.run(words, cwd=folder, capture_output=True, text=True, check=False, **about)


def events_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


# the log


def test_log_records_a_run_across_a_stop_and_a_resume(folder, monkeypatch):
    monkeypatch.chdir(folder)
    words = command("--log-json", "log", "--progress-every", "0")
    code, said = run_signaled(words, "3:SIGTERM")
    assert code == 75, said
    found = events_of(folder / "log")
    assert found[0]["event"] == "start"
    assert (found[-1]["event"], found[-1]["exit_code"]) == ("stopped", 75)
    assert "stopped and saved" in found[-1]["message"]
    assert run(words, folder).returncode == 0
    later = events_of(folder / "log")
    assert later[: len(found)] == found, "the resumed run appends to the log"
    names = [event["event"] for event in later[len(found) :]]
    assert [name for name in names if name != "warning"][:2] == ["start", "resumed"]
    assert names[-1] == "done"
    assert later[-1]["exit_code"] == 0
    assert {later[0]["run"], later[len(found)]["run"]} == {later[0]["run"]}
    assert [event["time"] for event in later] == sorted(event["time"] for event in later)
    epochs = [event["epoch"] for event in later if event["event"] == "epoch"]
    assert epochs == [1, 2, 3]
    assert {event["epoch"] for event in later if event["event"] == "progress"} == {1, 2, 3}
    record = json.loads((folder / "v.bin.json").read_text())["record"]
    assert [epoch["epoch"] for epoch in record["epochs"]] == [1, 2, 3]


def test_log_records_the_error_that_ended_a_run(folder):
    words = command("--log-json", "log", "--alpha", "1e6")
    done = run(words, folder)
    assert done.returncode == 76
    last = events_of(folder / "log")[-1]
    assert (last["event"], last["exit_code"]) == ("error", 76)
    assert last["message"] in done.stderr
    assert "diverged" in last["message"]
    again = run(words, folder)
    assert again.returncode == 76, "the run owns the log and may append to it"
    assert [event["event"] for event in events_of(folder / "log")].count("start") == 2


def test_partial_last_line_of_a_log_is_ended_before_appending(folder, monkeypatch):
    """The partial line may even end inside a character."""
    monkeypatch.chdir(folder)
    words = command("--log-json", "log")
    assert run_signaled(words, "3:SIGTERM")[0] == 75
    with (folder / "log").open("ab") as log:
        log.write(b'{"event":"progr\xe9')
    done = run(words, folder)
    assert done.returncode == 0, done.stderr
    lines = (folder / "log").read_text(errors="replace").splitlines()
    broken = [line for line in lines if line == '{"event":"progr\ufffd']
    assert len(broken) == 1
    assert all(json.loads(line) for line in lines if line not in broken)


def test_warnings_about_files_are_in_the_log_and_the_record(folder):
    (folder / "words.txt").write_text("the 50\nof 40\nand 30")
    done = run(command("--log-json", "log", "--read-vocab", "words.txt", "--quiet"), folder)
    sentence = "words.txt: the last line has no newline: the file may be cut off, and digits be missing"
    assert (done.returncode, sentence in done.stderr) == (0, True), done.stderr
    assert sentence in [event.get("message") for event in events_of(folder / "log") if event["event"] == "warning"]
    assert sentence in json.loads((folder / "v.bin.json").read_text())["record"]["warnings"]


def test_run_with_a_log_on_a_device_can_be_resumed(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert run_signaled(command("--log-json", "/dev/null"), "3:SIGTERM")[0] == 75
    done = run([sys.executable, "-m", "w2vtrain", "resume", "v.bin.run"], folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no /dev")
@pytest.mark.parametrize("descriptor", ["stdout", "stderr", "fd/1", "fd/2"])
def test_a_log_on_a_stream_keeps_what_its_file_has(folder, descriptor):
    """The shell's `>>` appends, and with `2>` messages and log share a file without overwriting each other."""
    with (folder / "file").open("wb") as file:
        file.write(b"before\n")
        file.flush()
        words = command("--log-json", f"/dev/{descriptor}", "--progress-every", "0")
        others = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        stream = "stderr" if descriptor in ("stderr", "fd/2") else "stdout"
        about = others | {stream: file}
        assert subprocess.run(words, cwd=folder, check=False, **about).returncode == 0
    first, *lines = (folder / "file").read_text().splitlines()
    events = [json.loads(line)["event"] for line in lines if line.startswith("{")]
    assert (first, events[0], events[-1]) == ("before", "start", "done")
    assert any(line.startswith("output      ") for line in lines) == (stream == "stderr")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /dev/full")
@pytest.mark.parametrize("descriptor", ["stdout", "stderr"])
def test_a_log_on_a_full_stream_ends_the_run(folder, descriptor):
    others = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command("--log-json", f"/dev/{descriptor}"), cwd=folder, check=False, **others | {descriptor: full}
        )
    assert done.returncode == 74


# outputs that a run owns

KILLED = """
import os, signal
from w2vtrain import cli
from w2vtrain.system import files
take = files._take_name
def killed(temporary, target, *about):
    if target.name == "v.bin":
        os.kill(os.getpid(), signal.SIGKILL)
    take(temporary, target, *about)
files._take_name = killed
cli.main()
"""


def test_result_of_another_run_is_not_overwritten(folder):
    """Run A is killed just before it names its vectors; run B finishes there; A must not replace B's vectors."""
    first, second = command(), command("--run", "other", "--seed", "2")
    assert run([sys.executable, "-c", KILLED, *first[3:]], folder).returncode == -signal.SIGKILL
    done = run(second, folder)
    assert done.returncode == 0, done.stderr
    theirs = (folder / "v.bin").read_bytes()
    for words in (first, [sys.executable, "-m", "w2vtrain", "resume", "v.bin.run"]):
        done = run(words, folder)
        assert (done.returncode, "v.bin exists: use --force" in done.stderr) == (73, True), done.stderr
    assert (folder / "v.bin").read_bytes() == theirs
    (folder / "v.bin").unlink()
    (folder / "v.bin.json").unlink()
    assert run(first, folder).returncode == 0
    assert (folder / "v.bin").read_bytes() != theirs


def test_run_with_an_output_in_use_is_refused_before_it_reads_anything(folder):
    for name in ("v.bin", "voc.txt", "log"):
        lock = Lock(lock_path(str(folder / name)), name, "another")
        done = run(command("--run", "other", "--save-vocab", "voc.txt", "--log-json", "log"), folder)
        lock.release(remove=True)
        assert done.returncode == 73, done.stderr
        assert f"{name}: in use by process {os.getpid()} on" in done.stderr
        assert "corpus " not in done.stderr, "nothing is read before the refusal"
    assert {path.name for path in folder.iterdir() if not path.name.startswith(".")} == {"text.txt"}


def test_run_owns_only_the_files_that_it_recorded(folder):
    held = CheckpointedRun(folder / "run")
    with locked(held.folder):
        begin(held, Settings())
        path = folder / "out"
        with atomic_write(path, claim=held.claim) as file:
            file.write(b"results")
        assert held.owns(str(path))
        assert run_config(held.folder).owns(str(path))
        time, also = path.stat().st_mtime_ns, b"results, and more"
        for content, modified in ((also, time), (b"another", time + 1)):
            path.write_bytes(content)
            os.utime(path, ns=(modified, modified))
            assert not held.owns(str(path)), content
        path.write_bytes(b"results")
        os.utime(path, ns=(time, time))
        assert held.owns(str(path))
        (folder / "new").write_bytes(b"results")
        os.utime(folder / "new", ns=(time, time))
        (folder / "new").replace(path)
        assert not held.owns(str(path)), "another file with the same bytes"
        assert not held.owns(str(folder / "text.txt"))


def test_lock_file_names_its_run_and_is_deleted_when_the_run_finishes(folder):
    path = lock_path(str(folder / "v.bin"))
    lock = Lock(path, "v.bin", "0123")
    assert run_of(path) == "0123"
    lock.release()
    assert run_of(path) == "0123"
    assert run(command(), folder).returncode == 0
    assert not path.exists()
    assert run_of(path) is None


# signals


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="needs SIGHUP")
def test_sighup_saves_and_stops_like_sigterm(folder, monkeypatch):
    monkeypatch.chdir(folder)
    code, said = run_signaled(command(), "3:SIGHUP")
    assert (code, "stopped and saved" in said) == (75, True), said
    assert run(command(), folder).returncode == 0


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="needs SIGHUP")
@pytest.mark.parametrize("ignored", [False, True])
def test_sighup_stays_ignored_under_nohup(tmp_path, ignored):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)
    try:
        held = CheckpointedRun(tmp_path)
        held.enter(Phase.TRAINING)
        with listening(held):
            os.kill(os.getpid(), signal.SIGHUP)
        assert held.stop_requested is not ignored
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_guide_says_what_a_signal_does_in_each_phase():
    page = (Path(__file__).parents[2] / "docs/guides/resuming.md").read_text(encoding="utf-8")
    rows = [line.rpartition(" | ")[2].removesuffix(" |") for line in page.splitlines() if line.startswith("| ")]
    assert [phase.value for phase in Phase] == rows[-len(Phase) :]


def test_signal_in_a_compiler_callback_is_not_lost_and_shows_no_traceback(tmp_path, capfd):
    """An exception cannot leave such a callback, so the request to stop is remembered instead."""
    held = CheckpointedRun(tmp_path)
    held.enter(Phase.PREPARING)
    callback = ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), signal.SIGTERM))
    with listening(held):
        callback()
    assert held.stop_requested
    assert capfd.readouterr().err == ""
    with on_compilation(held.compiling), pytest.raises(Stopped):
        NoCache().load_overload(None, None)  # the next kernel is not compiled


# epochs


def test_epoch_records_are_bounded_and_keep_the_first_and_the_last(monkeypatch):
    monkeypatch.setattr(record, "MAX_RECORDS", 10)
    kept, state = record.Record(), State()
    for number in range(1, 1001):
        epoch = Epoch(number, 1.0, 2, 3, 0.5)
        kept.add(epoch, 0.0, None)
        state = state.after(epoch)
        numbers = [entry["epoch"] for entry in kept.epochs]
        assert len(numbers) <= 10
        assert (numbers[0], numbers[-1]) == (1, number)
        assert numbers == sorted(set(numbers))
    assert (state.epoch, state.spent, state.passed, state.learned) == (1000, 500.0, 3000, 2000)
    assert record.bounded([1, 2, 3]) == [1, 2, 3]


def test_run_of_many_epochs_keeps_few_records_but_correct_totals(folder, monkeypatch):
    settings = effective(Settings(vector_size=8, threads=1, epochs=25, min_count=2))
    whole = train(Plan.of(Inputs([str(folder / "text.txt")]), settings))
    monkeypatch.setattr(record, "MAX_RECORDS", 10)
    few = train(Plan.of(Inputs([str(folder / "text.txt")]), settings))
    assert few.input.tobytes() == whole.input.tobytes()
    records, all_records = few.record["epochs"], whole.record["epochs"]
    assert len(records) <= 10 < len(all_records)
    by_number = {epoch["epoch"]: epoch for epoch in all_records}
    assert all(epoch["loss"] == by_number[epoch["epoch"]]["loss"] for epoch in records)
    assert records[-1]["epoch"] == 25
    assert [epoch["elapsed"] for epoch in records] == sorted(epoch["elapsed"] for epoch in records)
    assert few.record["seconds"]["training"] == pytest.approx(records[-1]["elapsed"])


# nothing to learn from, and what subsampling keeps


def test_subsampling_that_leaves_nothing_to_learn_from_is_an_error(folder):
    (folder / "text.txt").write_text("one two\n" * 3000)
    done = run(command("--sample", "1e-9"), folder)
    assert done.returncode == 65, done.stderr
    assert "there is nothing to learn from" in done.stderr
    assert "--sample 0" in done.stderr
    assert "--min-count" in done.stderr
    assert "subsampling keeps 0 words per epoch (0.0%)" in done.stderr
    assert {path.name for path in folder.iterdir() if not path.name.startswith(".")} == {"text.txt"}


def test_a_time_limit_that_leaves_no_time_to_learn_is_reported(w2vtrain_here, folder):
    code, _, said = w2vtrain_here(command("--seconds", "1e-9")[3:], folder)
    assert (code, "--seconds 1e-09 ended before any words were trained on" in said) == (65, True), said


@pytest.mark.parametrize(("objective", "cause"), [("neg", "--alpha"), ("softmax", "--alpha"), ("neg", "--init")])
def test_a_loss_that_never_changes_is_an_error(folder, objective, cause):
    done = run(command("--sample", "0", cause, "1e-30", "--objective", objective), folder)
    assert done.returncode == 65, done.stderr
    assert re.search(r"nothing was learned: the mean loss of all \d+ parts of the text was [46]\.", done.stderr)
    assert f"raise {cause} (1e-30) or" in done.stderr
    assert {path.name for path in folder.iterdir() if not path.name.startswith(".")} == {"text.txt"}


def test_corpus_with_one_word_per_line_is_an_error(folder):
    (folder / "text.txt").write_text("one\ntwo\n" * 300)
    done = run(command("--sample", "0"), folder)
    assert (done.returncode, "a line needs at least two words" in done.stderr) == (65, True), done.stderr


def test_fit_reports_what_subsampling_keeps_and_warns_about_the_corpus(folder):
    assert "subsampling keeps" in run(command(), folder).stderr
    kmers = " ".join(f"{a}{b}{c}" for a in "ACGT" for b in "ACGT" for c in "ACGT")
    (folder / "text.txt").write_text(f"{kmers}\n" * 100)
    done = run(command("--force"), folder)
    assert done.returncode == 0
    assert "warning     subsampling at 0.001 keeps only" in done.stderr
    (folder / "text.txt").write_text("".join(f"{i},word{i % 7},3.5\n" for i in range(300)))
    done = run(command("--force", "--min-count", "1"), folder)
    assert "warning     text.txt looks like" in done.stderr, done.stderr


# held-out text


def settings_with_heldout(folder):
    text = [str(folder / "text.txt")]
    settings = effective(Settings(vector_size=8, threads=1, epochs=3, min_count=2, objective="nce"))
    return text, settings


def test_run_stopped_while_scoring_keeps_the_epoch_and_scores_it_later(folder, monkeypatch):
    text, settings = settings_with_heldout(folder)
    whole = train(Plan.of(Inputs(text, text), settings))
    place = folder / "run"
    for stop in (1, 2, 3):
        with locked(place):
            stopped = CheckpointedRun(place, every=1e9)
            begin(stopped, settings)
            scored = []

            def scoring(done, total, stopped=stopped, scored=scored, stop=stop):
                scored.append(done)
                stopped.stop_requested = stopped.stop_requested or done == 1

            finished = []
            events = Events(scoring=scoring, epoch=lambda epoch, score, finished=finished: finished.append(epoch.epoch))
            with pytest.raises(Stopped):
                train(Plan.of(Inputs(text, text), settings), run=stopped, events=events)
            kept = newest_checkpoint(place).saved
            assert (kept.state.epoch, kept.finished) == (1, 0), "one epoch is learned but not yet scored"
            assert finished == []
    with locked(place):
        last = CheckpointedRun(place)
        begin(last, settings)
        model = train(Plan.of(Inputs(text, text), settings), run=last)
    assert model.input.tobytes() == whole.input.tobytes()
    seconds = model.record["seconds"]
    assert seconds["scoring"] > 0
    assert seconds["training"] > 0
    curves = [[epoch["heldout"]["perplexity"] for epoch in m.record["epochs"]] for m in (whole, model)]
    assert curves[0] == curves[1]
    assert model.record["best_epoch"] == whole.record["best_epoch"]


def test_epoch_is_saved_before_it_is_scored(folder, monkeypatch):
    text, settings = settings_with_heldout(folder)
    place, seen = folder / "run", []
    score = perplexity.score

    def scored(*about):
        held.settle()
        seen.append(newest_checkpoint(place).saved.state.epoch)
        return score(*about)

    monkeypatch.setattr(perplexity, "score", scored)
    with locked(place):
        held = CheckpointedRun(place, every=1e9)
        begin(held, settings)
        train(Plan.of(Inputs(text, text), settings), run=held)
    assert seen == [1, 2, 3]


def saved(state):
    """Return what a checkpoint stores with this state."""
    corpus, rest = asdict(Fingerprint(1, 2, [])), {"lowest": None, "waited": 0, "best": False, "settings": ""}
    return {"state": state, "corpus": corpus, "epochs": [], "finished": 0, "scoring": 0.0, **rest}


def test_an_epoch_in_which_every_window_is_empty_has_no_loss_and_is_never_the_best(tmp_path):
    """Subsampling keeps both words of a line in few epochs."""
    text = tmp_path / "text.txt"
    text.write_text("a b\na b\na b\n")
    settings = effective(Settings(vector_size=4, min_count=1, sample=0.01, epochs=30, threads=1))
    epochs = []
    found = Inputs([str(text)], [str(text)])
    model = train(Plan.of(found, settings), events=Events(epoch=lambda epoch, _: epochs.append(epoch)))
    losses = [epoch.loss for epoch in epochs]
    assert [loss is None for loss in losses] == [epoch.examples == 0 for epoch in epochs]
    assert 0 < losses.count(None) < 30
    assert losses[model.record["best_epoch"] - 1] is not None
    for epoch in epochs:
        state = State(epoch=epoch.epoch, last=epoch)
        assert typed(json.loads(json_text(saved(asdict(state)))), Saved, "").state == state


@pytest.mark.parametrize(("loss", "examples"), [(math.nan, 3), (math.inf, 0), ("x", 0)])
def test_an_invalid_loss_of_an_epoch_is_refused(loss, examples):
    facts = asdict(State(epoch=1, last=Epoch(1, 1.0, 3, 10, 1.0)))
    facts["last"] |= {"loss": loss, "examples": examples}
    with pytest.raises(DataError, match="loss"):
        typed(saved(facts), Saved, "damaged")
