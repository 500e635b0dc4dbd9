"""`info` on a run folder and on the record beside vectors: what they are, how far, and what continues them."""

import itertools
import json
import os
import re
import shlex
import sys

import pytest
from reference import first_lines, stopping_after

import w2vtrain
from w2vtrain.errors import InputMissing
from w2vtrain.system.locks import Lock, holder
from w2vtrain.training.checkpointing import CheckpointedRun

FIT = ["fit", "text.txt", "-o", "v.txt", "--epochs", 4, "--threads", 1, "--vector-size", 5, "--min-count", 2, "-q"]


@pytest.fixture
def stopped(tmp_path, w2vtrain_here, monkeypatch):
    """Return a folder with a run that was stopped after two of its four epochs."""
    first_lines(100, tmp_path / "text.txt")
    with monkeypatch.context() as patch:
        stopping_after(2, patch)
        assert w2vtrain_here(FIT, tmp_path)[0] == 75
    return tmp_path


def test_info_says_how_far_a_stopped_run_is_and_how_to_continue_it(stopped, w2vtrain_here, monkeypatch):
    code, out, err = w2vtrain_here(["info", "v.txt.run", "--json"], stopped)
    about = json.loads(out)
    assert (code, err) == (0, "")
    assert (about["kind"], about["status"]) == ("run folder", "stopped")
    assert "process" not in about
    assert (about["epoch"], about["epochs"], about["progress"]) == (3, 4, 0.5)
    assert about["seconds_left"] == pytest.approx(about["seconds"])
    assert about["outputs"] == ["v.txt"]
    assert about["settings"]["vector_size"] == 5
    shown = w2vtrain_here(["info", "v.txt.run"], stopped)[1]
    assert "progress             50%\n" in shown
    assert "time left" in shown
    assert "continue             w2vtrain resume v.txt.run" in shown
    assert w2vtrain_here(["info", "v.txt.run/config.json"], stopped)[1].startswith("path                 v.txt.run")
    config = stopped / "v.txt.run" / "config.json"
    saved = config.read_text()
    for changed, piped in (
        ({"sources": ["-"]}, "TEXT"), ({"sources": ["text.txt", "-"]}, "TEXT"), ({"read_vocab": "-"}, "VOCABULARY"),
        ({"heldout": ["-"], "save_word_vectors": "w"}, "TEXT"),
    ):  # fmt: skip
        values = json.loads(saved)
        values["request"] |= changed
        config.write_text(json.dumps(values))
        out = w2vtrain_here(["info", "v.txt.run"], stopped)[1]
        assert f"continue             w2vtrain resume v.txt.run < {piped}\n" in out
        assert f"outputs              v.txt{', w' * ('heldout' in changed)}\n" in out
        with monkeypatch.context() as patch:
            patch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
            code, _, said = w2vtrain_here(["resume", "v.txt.run"], stopped)
        assert (code, f"a terminal now: continue it by `w2vtrain resume v.txt.run < {piped}`" in said) == (66, True)
    for changed in ({"sources": ["/dev/stdin"]}, {"heldout": ["/dev/fd/999"]}, {"read_vocab": "/dev/fd/999"}):
        config.write_text(json.dumps(json.loads(saved) | {"request": json.loads(saved)["request"] | changed}))
        out = w2vtrain_here(["info", "v.txt.run"], stopped)[1]
        assert "continue             repeat the `fit` command\n" in out
    code, _, said = w2vtrain_here(["resume", "v.txt.run"], stopped)
    assert (code, "/dev/fd/999: a shell opened it" in said, "repeat the `fit` command" in said) == (66, True, True)
    config.write_text(saved)
    folder = (stopped / "v.txt.run").rename(stopped / "-v.run")
    for command in ("info", "vector"):
        words = [command, "--", "-v.run", *(["the"] if command == "vector" else [])]
        assert "w2vtrain resume ./-v.run" in "".join(map(str, w2vtrain_here(words, stopped)))
    folder.rename(stopped / "v.txt.run")
    words = shlex.split(about["command"])
    assert words[0] == "w2vtrain"
    assert w2vtrain_here(words[1:], stopped)[0] == 0
    assert (stopped / "v.txt").exists()
    assert not (stopped / "v.txt.run").exists()


def test_a_run_folder_in_place_of_vectors_is_recognized(stopped, w2vtrain_here):
    said = "v.txt.run` finishes it, and `w2vtrain export "
    for words in (["neighbors", "v.txt.run", "the"], ["fit", "text.txt", "-o", "w.txt", "--init-from", "v.txt.run"]):
        code, _, err = w2vtrain_here(words, stopped)
        assert (code, said in err) == (66, True)
    with pytest.raises(InputMissing, match=re.escape(said)):
        w2vtrain.load_model(stopped / "v.txt.run")
    (stopped / "v.txt.run" / "lock").unlink()  # others have a config.json, too
    assert "is a folder: name a file" in w2vtrain_here(["neighbors", "v.txt.run", "the"], stopped)[2]


def test_progress_does_not_depend_on_the_counts_of_a_given_vocabulary(tmp_path, w2vtrain_here, monkeypatch):
    (tmp_path / "text.txt").write_text("a b c d e\n" * 1000)  # six chunks
    (tmp_path / "words.txt").write_text("".join(f"{word} 1000000\n" for word in "abcde"))
    calls = itertools.count(1)
    monkeypatch.setattr(CheckpointedRun, "due", lambda run: setattr(run, "stop_requested", next(calls) == 3) or True)
    assert w2vtrain_here([*FIT, "--read-vocab", "words.txt", "--sample", 0], tmp_path)[0] == 75
    about = json.loads(w2vtrain_here(["info", "v.txt.run", "--json"], tmp_path)[1])
    assert about["progress"] == 3 / 6 / 4


def test_info_says_that_a_run_is_running_and_does_not_disturb_it(stopped, w2vtrain_here):
    folder = stopped / "v.txt.run"
    lock = Lock(folder / "lock", str(folder))
    try:
        about = json.loads(w2vtrain_here(["info", folder, "--json"], stopped)[1])
        assert about["status"] == "running"
        assert about["process"].startswith(f"{os.getpid()} on ")
        assert "in use by process" in w2vtrain_here(FIT, stopped)[2]
    finally:
        lock.release()
    assert json.loads(w2vtrain_here(["info", folder, "--json"], stopped)[1])["status"] == "stopped"


def test_a_lock_of_a_process_that_has_ended_is_not_tried(tmp_path, monkeypatch):
    lock = Lock(tmp_path / "lock", "x")
    assert holder(tmp_path / "lock").startswith(f"{os.getpid()} on ")
    lock.release()
    text = (tmp_path / "lock").read_text()
    (tmp_path / "lock").write_text(text.replace(str(os.getpid()), str(2**22 + 1), 1))
    monkeypatch.setattr("filelock.lock_descriptor", pytest.fail)
    assert holder(tmp_path / "lock") is None
    assert holder(tmp_path / "missing") is None


def test_info_on_a_run_without_a_checkpoint_leaves_out_what_is_unknown(stopped, w2vtrain_here):
    for entry in (stopped / "v.txt.run").glob("ckpt-*"):
        entry.unlink()
    code, out, err = w2vtrain_here(["info", "v.txt.run"], stopped)
    assert (code, err) == (0, "")
    assert "epochs               4\n" in out
    assert "progress" not in out
    assert json.loads(w2vtrain_here(["info", "v.txt.run", "--json"], stopped)[1])["progress"] is None


def test_info_on_a_record_names_the_vectors_and_what_continues_them(stopped, w2vtrain_here):
    assert w2vtrain_here(FIT, stopped)[0] == 0
    about = json.loads(w2vtrain_here(["info", "v.txt.json", "--json"], stopped)[1])
    assert (about["kind"], about["vectors"], about["epochs"]) == ("record of a run", "v.txt", 4)
    assert len(about["record"]["epochs"]) == 4
    words = shlex.split(about["command"].replace("CORPUS", "text.txt").replace("FILE", "w.txt"))
    assert w2vtrain_here([*words[1:], "--epochs", 1, "-q"], stopped)[0] == 0
    (stopped / "v.txt.run").mkdir()
    (stopped / "v.txt.run/config.json").write_text("{}")
    about = json.loads(w2vtrain_here(["info", "v.txt.json", "--json"], stopped)[1])
    assert about["command"] == "w2vtrain resume v.txt.run"


def test_the_command_of_a_record_repeats_a_run_with_files_of_any_name(tmp_path, w2vtrain_here):
    (tmp_path / "-x.txt").write_text("a b c\n" * 50)
    words = ["fit", "-o", "v.txt", *FIT[4:], "--save-vocab", "auto", "--", "-x.txt"]
    assert w2vtrain_here(words, tmp_path)[0] == 0
    (tmp_path / "auto").unlink()
    command = json.loads((tmp_path / "v.txt.json").read_text())["command"]
    code, _, said = w2vtrain_here([*shlex.split(command)[1:], "--force"], tmp_path)
    assert (code, (tmp_path / "auto").exists()) == (0, True), said


@pytest.mark.parametrize("text", ['{"settings": 3}', "{", "[]", '{"settings": {}, "record": []}', ""])
def test_other_json_is_no_record(text, tmp_path, w2vtrain_here):
    (tmp_path / "x.json").write_text(text)
    code, out, _ = w2vtrain_here(["info", "x.json"], tmp_path)
    assert code == 0
    assert "kind                 unknown" in out


def test_a_checkpoint_is_no_model_and_its_folder_is_exported(stopped, w2vtrain_here):
    name = next((stopped / "v.txt.run").glob("ckpt-*")).name
    for command in (["info"], ["neighbors", "--", "the"]):
        code, _, said = w2vtrain_here([command[0], f"v.txt.run/{name}", *command[1:]], stopped)
        assert (code, "is a checkpoint of a run: use `w2vtrain export RUN" in said) == (65, True), said
    (stopped / "x.txt.json").write_text('{"settings": {}, "record": {}}')
    assert w2vtrain_here(["export", "v.txt.run", "-o", "x.txt", "--force"], stopped)[0] == 0
    assert not (stopped / "x.txt.json").exists()


def test_a_folder_that_is_no_run_folder_is_refused_in_one_line(stopped, w2vtrain_here):
    (stopped / "empty").mkdir()
    code, _, said = w2vtrain_here(["info", "empty"], stopped)
    assert (code, "empty is a folder: name a file, or a run folder, which has a config.json" in said) == (66, True)
    (stopped / "v.txt.run/config.json").write_text("{")
    code, out, err = w2vtrain_here(["info", "v.txt.run"], stopped)
    assert (code, out, len(err.splitlines())) == (65, "", 1)


def test_a_folder_of_compare_is_described(tmp_path, w2vtrain_here):
    (tmp_path / "c/runs").mkdir(parents=True)
    (tmp_path / "c/runs/neg.json").write_text('{"job": {}}')
    about = json.loads(w2vtrain_here(["info", "c", "--json"], tmp_path)[1])
    assert (about["kind"], about["status"], about["results"]) == ("comparison", "unfinished", 1)
    (tmp_path / "c/compare.json").write_text("[]")
    assert "complete" in w2vtrain_here(["info", "c"], tmp_path)[1]


def test_the_command_of_a_record_says_what_it_does(tmp_path, w2vtrain_here):
    further = "train further        w2vtrain fit CORPUS{} -o FILE --init-from v.txt\n"
    for command, line in (
        (None, further.format("")), ("w2vtrain fit a -o v.txt", further.format("")),
        ("w2vtrain fit a -o v.txt --graph", further.format(" --graph")), ("w2vtrain fit a -o v.txt --documents", ""),
    ):  # fmt: skip
        (tmp_path / "v.txt.json").write_text(json.dumps({"settings": {"epochs": 1}, "record": {}, "command": command}))
        out = w2vtrain_here(["info", "v.txt.json"], tmp_path)[1]
        assert line in out
        assert ("train further" in out) == bool(line)
