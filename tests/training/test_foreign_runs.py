"""Run folders that come from elsewhere or were tampered with: they run no code and write to no other files."""

import gzip
import json
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from reference import first_lines, stopping

from w2vtrain.errors import Stopped
from w2vtrain.formats.safetensors import write_safetensors
from w2vtrain.system.locks import Lock, lock_path
from w2vtrain.training import checkpoint_file, one_process
from w2vtrain.training.checkpointing import CheckpointedRun
from w2vtrain.training.run_files import CONFIG, LOCK, SCHEMA, run_config, write_config
from w2vtrain.training.trainer import train

SMALL = ["--vector-size", "9", "--epochs", "3", "--threads", "1", "--min-count", "1"]
EVIL = """
from pathlib import Path
from w2vtrain.objectives.neg import *
Path({folder!r}, "executed").touch()
"""


@pytest.fixture
def w2vtrain(w2vtrain_here, monkeypatch, tmp_path):
    """Return a function that runs a command line in this process in a new folder, and returns exit code and output."""
    monkeypatch.chdir(tmp_path)

    def run(*words):
        code, out, err = w2vtrain_here(words, tmp_path)
        return code, out + err

    return run


@pytest.fixture
def stop(w2vtrain, tmp_path, monkeypatch):
    """Return a function that makes a run in v.bin.run with given options, stopped after two of three epochs."""
    first_lines(60, tmp_path / "text.txt")

    def stopped(*options):
        with monkeypatch.context() as patch:
            patch.setattr("w2vtrain.commands.fit_run.train", stopping(2))
            code, said = w2vtrain("fit", "text.txt", "-o", "v.bin", *SMALL, *options)
        assert code == Stopped.exit_code, said
        return tmp_path / "v.bin.run"

    return stopped


@pytest.fixture
def stopped(stop):
    return stop()


def rewrite(folder, request=None, settings=None, **fields):
    """Change what a run folder says about its run: fields of its request, its settings, and others."""
    config = run_config(folder)
    config.request.update(request or {})
    config.settings.update(settings or {})
    write_config(folder, replace(config, **fields))


# code


@pytest.fixture
def evil(tmp_path):
    """Write an objective that creates a file when it is imported, and return that file's path."""
    (tmp_path / "evil.py").write_text(EVIL.format(folder=str(tmp_path)))
    return tmp_path / "executed"


@pytest.mark.parametrize("words", [["resume", "v.bin.run"], ["export", "v.bin.run", "-o", "x.txt"]])
def test_code_named_in_a_run_folder_runs_only_if_the_command_line_names_it(w2vtrain, stopped, evil, words):
    rewrite(stopped, settings={"objective": "evil.py"})
    code, said = w2vtrain(*words)
    assert code == 78
    assert "--objective evil.py" in said
    assert not evil.exists()
    w2vtrain(*words, "--objective", "other.py")
    assert not evil.exists()
    more = ["--allow-changed"] if words[0] == "resume" else []  # the checkpoint is of another objective
    code, said = w2vtrain(*words, "--objective", "evil.py", *more)
    assert code == 0, said
    assert evil.exists() is (words[0] == "resume"), "exporting vectors needs no code"


def test_a_file_with_the_same_name_in_another_folder_is_another_objective(w2vtrain, stopped, evil, tmp_path):
    """Allowing evil.py in the working folder does not allow the evil.py in the run's original folder."""
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "evil.py").write_text((tmp_path / "evil.py").read_text())
    rewrite(stopped, settings={"objective": "evil.py"}, cwd=str(other))
    code, said = w2vtrain("resume", "v.bin.run", "--objective", "evil.py")
    assert (code, said.endswith(f" to run it, add --objective {other / 'evil.py'}\n")) == (78, True), said
    assert f"resume v.bin.run --objective {other / 'evil.py'}\n" in w2vtrain("info", "v.bin.run")[1]
    assert not evil.exists()


# outputs


def test_resume_writes_only_outputs_that_the_run_began(w2vtrain, stopped, tmp_path):
    """It writes no other file, old or new, unless --force is on the command line; `force` in the folder is ignored."""
    victim, new = tmp_path / "victim", tmp_path / "new"
    victim.write_text("precious")
    for path in (victim, new):
        rewrite(stopped, {"save_vocab": str(path), "force": True})
        code, said = w2vtrain("resume", "v.bin.run")
        assert code == 73
        assert f"{path}: " in said
        assert "use --force to write it" in said
    assert (victim.read_text(), new.exists()) == ("precious", False)
    assert w2vtrain("resume", "v.bin.run", "--force")[0] == 0
    assert new.exists()


def test_resume_lists_the_files_it_writes(w2vtrain, stopped, tmp_path):
    code, said = w2vtrain("resume", "v.bin.run")
    assert code == 0, said
    assert f"outputs     {tmp_path / 'v.bin'}, {tmp_path / 'v.bin.json'}\n" in said
    assert f"output      {tmp_path / 'v.bin'}\n" in said


def files_and_times(folder):
    return {path: path.stat().st_mtime_ns for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("what", ["the run folder", "all"])
def test_a_copy_of_a_run_is_refused_with_the_command_that_continues_it(w2vtrain, stop, tmp_path, what):
    stopped = stop("--save-model", "m.safetensors")
    w2vtrain("export", stopped, "-o", "so-far.bin")
    there = tmp_path / "there"
    if what == "all":
        shutil.copytree(tmp_path, there)
    else:
        shutil.copytree(stopped, there / "v.bin.run")
    before = files_and_times(tmp_path)
    code, said = w2vtrain("resume", "there/v.bin.run")
    assert code == 73
    assert f"{there / 'v.bin.run'}: was copied or moved from {stopped}, " in said
    assert files_and_times(tmp_path) == before
    command = said.partition(" continue it here by ")[2].rstrip()
    assert command.startswith(f"cd {there if what == 'all' else tmp_path} && w2vtrain fit text.txt -o ")
    command = command.replace("w2vtrain fit", f"{sys.executable} -m w2vtrain fit")
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "resumed     from a checkpoint" in done.stderr
    assert (there / "v.bin").exists()
    assert (there / "m.safetensors").exists()
    assert not (there / "v.bin.run").exists()
    assert {path: time for path, time in files_and_times(tmp_path).items() if there not in path.parents} == {
        path: time for path, time in before.items() if there not in path.parents
    }
    assert w2vtrain("resume", "v.bin.run")[0] == 0


def test_a_copy_beside_the_original_is_not_continued_into_the_outputs_of_the_original(w2vtrain, stopped, tmp_path):
    shutil.copytree(stopped, tmp_path / "copy.run")
    code, said = w2vtrain("resume", "copy.run")
    assert (code, said.endswith("names the command that continues it\n")) == (73, True), said


def test_a_run_whose_folder_was_moved_with_its_corpus_names_the_command_that_continues_it(
    w2vtrain, w2vtrain_here, stop
):
    home = stop("--log-json", "q.log").parent
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir("/")
        moved = home.rename(home.with_name("moved"))
        home.mkdir()  # the folder in which commands are given here
    rewrite(moved / "v.bin.run", cwd=str(home / "gone"))
    code, said = w2vtrain("resume", moved / "v.bin.run")
    assert (code, f"if it was moved: cd {moved} && w2vtrain fit text.txt -o v.bin " in said) == (66, True), said
    rewrite(moved / "v.bin.run", {"output": str(home / "gone" / "v.bin")})
    code, said = w2vtrain("resume", moved / "v.bin.run")
    assert (code, f"moved: cd {moved} && w2vtrain fit text.txt -o {moved / 'v.bin'} " in said) == (66, True), said
    rewrite(moved / "v.bin.run", {"output": "v.bin"})
    rewrite(moved / "v.bin.run", cwd=str(home))
    code, said = w2vtrain("resume", moved / "v.bin.run")
    assert (code, "--log-json q.log" in said) == (73, True), said
    copied = shutil.copytree(moved, home.with_name("copied"))
    code, said = w2vtrain("resume", copied / "v.bin.run")  # the command would begin the log anew, or not at all
    assert (code, said.endswith("(without --log-json: q.log exists)\n")) == (73, True), said
    code, _, said = w2vtrain_here(["fit", "text.txt", "-o", "v.bin", *SMALL, "--log-json", "q.log"], moved)
    assert (code, "resumed     from" in said) == (0, True), said
    assert (moved / "q.log").read_text().count('"event":"start"') == 2


def test_a_run_with_code_of_a_project_that_was_moved_away_from_it_continues(w2vtrain, w2vtrain_here, tmp_path):
    """Its code is the file of the same name that the command line names, if its content is the same."""
    (home := tmp_path / "home").mkdir()
    (home / "mine.py").write_text("from w2vtrain.objectives.neg import *\n")
    first_lines(60, home / "text.txt")
    run = ["fit", "text.txt", "-o", "v.bin", *SMALL, "--run", str(tmp_path / "r"), "--objective"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("w2vtrain.commands.fit_run.train", stopping(2))
        assert w2vtrain_here([*run, "mine.py"], home)[0] == Stopped.exit_code
    moved = home.rename(tmp_path / "moved")
    code, said = w2vtrain("export", "r", "-o", "x.txt", "--objective", "moved/mine.py")
    assert code == 0, said
    code, said = w2vtrain("resume", "r", "--objective", "moved/mine.py")
    assert (code, "go to its new place and run w2vtrain fit text.txt -o v.bin " in said) == (66, True), said
    command = shlex.split(said.partition(" and run w2vtrain ")[2])
    before = (moved / "mine.py").read_text()
    (moved / "mine.py").write_text(f"{before}# changed\n")
    other = [sys.executable, "-m", "w2vtrain", *command]  # this process has loaded the file
    done = subprocess.run(other, cwd=moved, capture_output=True, text=True, check=False, timeout=600)
    assert (done.returncode, "mine.py changed since the run began" in done.stderr) == (65, True), done.stderr
    (moved / "mine.py").write_text(before)
    code, _, said = w2vtrain_here(command, moved)
    assert (code, "resumed     from" in said) == (0, True), said


def test_an_output_that_is_a_link_from_elsewhere_is_not_followed(w2vtrain, stopped, tmp_path):
    """An archive may contain the output, too, as a symbolic link to a place where the attacker wants a file."""
    target = tmp_path / "home" / "startup"
    target.parent.mkdir()
    with tarfile.open(tmp_path / "run.tar", "w") as tar:
        tar.add(stopped, "v.bin.run")
    other = tmp_path / "downloads"
    with tarfile.open(tmp_path / "run.tar") as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", None)  # Python before 3.11.4 has none
        tar.extractall(other)
    rewrite(other / "v.bin.run", {"output": str(other / "v.bin"), "force": True})
    (other / "v.bin").symlink_to(target)
    code, said = w2vtrain("resume", other / "v.bin.run")
    assert (code, target.exists()) == (73, False), said
    (other / "v.bin").unlink()
    code, said = w2vtrain("resume", other / "v.bin.run")
    assert code == 0, said
    assert (other / "v.bin").exists()


# folders that are not run folders


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("more", [[], ["--force"]])
@pytest.mark.parametrize(
    "files",
    [
        {"config.json": '{"model_type": "bert"}', "vocab.txt": "[PAD]", "lock": "mine"},
        {"config.json": "", "vocab.txt": "mine"},
        {"config.json": "{}", "ckpt-000001/weights.pt": "mine"},
        {"ckpt-000001/weights.pt": "mine"},
        {".tmp-000001-1/x": "mine", "vocab.txt": "mine"},
        {"lock": "mine"},
        {"notes.txt": "mine"},
    ],
)
def test_a_folder_with_other_files_is_not_taken_for_a_run_folder(w2vtrain, tmp_path, files, more):
    first_lines(100, tmp_path / "text.txt")
    folder = tmp_path / "mine"
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for words in (["fit", "text.txt", "-o", "v.bin", *SMALL, "--run", "mine", *more], ["resume", "mine"]):
        code, said = w2vtrain(*words)
        assert code in (65, 73), said
        assert files_of(folder) == files
        assert not (tmp_path / "v.bin").exists()


def test_an_empty_folder_can_become_a_run_folder(w2vtrain, tmp_path):
    first_lines(100, tmp_path / "text.txt")
    (tmp_path / "mine").mkdir()
    code, said = w2vtrain("fit", "text.txt", "-o", "v.bin", *SMALL, "--run", "mine")
    assert code == 0, said


def test_a_file_with_the_name_of_a_lock_file_is_not_overwritten(w2vtrain, tmp_path):
    first_lines(100, tmp_path / "text.txt")
    (tmp_path / ".v.bin.lock").write_text("precious")
    code, said = w2vtrain("fit", "text.txt", "-o", "v.bin", *SMALL)
    assert (code, "this name is needed for a lock file" in said) == (73, True), said
    assert (tmp_path / ".v.bin.lock").read_text() == "precious"


def test_a_folder_with_the_name_of_a_lock_file_is_to_be_removed(w2vtrain, tmp_path):
    first_lines(100, tmp_path / "text.txt")
    (tmp_path / ".v.bin.lock").mkdir()
    code, said = w2vtrain("fit", "text.txt", "-o", "v.bin", *SMALL)
    assert (code, "remove it" in said) == (73, True), said


@pytest.mark.parametrize(
    "words",
    [
        ["-o", "r/v.bin", "--run", "r"],
        ["-o", "v.bin", "--run", "r", "--save-vocab", "r/vocab.txt"],
        ["-o", "v.bin", "--run", "r", "--log-json", "r/lock"],
        ["-o", "v.bin", "--save-vocab", "v.bin.run"],
    ],
)
def test_outputs_that_collide_with_files_of_the_run_are_refused_before_reading(w2vtrain, tmp_path, words):
    first_lines(100, tmp_path / "text.txt")
    (tmp_path / "r").mkdir()
    code, said = w2vtrain("fit", "text.txt", *words, *SMALL, "--force")
    assert code == 2, said
    assert "corpus " not in said


def test_a_refused_resume_does_not_delete_a_run_without_checkpoints(w2vtrain, stopped, tmp_path):
    for number in checkpoint_file.numbers(stopped):
        checkpoint_file.remove(stopped, number)
    moved = tmp_path / "moved" / "zz"
    moved.parent.mkdir()
    stopped.rename(moved)
    for lock in tmp_path.glob(".v.bin*lock"):
        lock.unlink()
    code, said = w2vtrain("resume", moved)
    assert (code, f"was copied or moved from {stopped}, " in said) == (73, True), said
    assert (moved / CONFIG).exists()
    moved.rename(stopped)
    assert w2vtrain("resume", stopped)[0] == 0


@pytest.mark.parametrize("make", [Path.mkdir, getattr(os, "mkfifo", None)], ids=["folder", "pipe"])
@pytest.mark.parametrize("name", ["lock", CONFIG, "vocab.txt"])
def test_a_folder_or_named_pipe_in_a_run_folder_is_refused_without_waiting(w2vtrain, stopped, name, make):
    if make is None:
        pytest.skip("this system has no named pipes")
    (stopped / name).unlink()
    make(stopped / name)
    for words in (["resume", "v.bin.run"], ["export", "v.bin.run", "-o", "x.txt"]):
        code, said = w2vtrain(*words)
        assert code in (65, 66, 73) or (name, words[0], code) == ("lock", "export", 0), said


def test_a_run_with_user_code_can_be_resumed_from_another_folder(w2vtrain, w2vtrain_here, tmp_path, monkeypatch):
    """Relative paths in the run folder are relative to the folder in which the run was started."""
    first_lines(60, tmp_path / "text.txt")
    home = tmp_path / "home"
    home.mkdir()
    (home / "mine.py").write_text("from w2vtrain.objectives.neg import *\n")

    with monkeypatch.context() as patch:
        patch.setattr("w2vtrain.commands.fit_run.train", stopping(2))
        words = ["fit", "../text.txt", "-o", "v.bin", *SMALL, "--objective", "mine.py"]
        assert w2vtrain_here(words, home)[0] == Stopped.exit_code
    code, said = w2vtrain("export", "home/v.bin.run", "-o", "x.txt", "--objective", "home/mine.py")
    assert code == 0, said
    home.rename(moved := tmp_path / "moved")
    named = ["resume", "moved/v.bin.run", "--objective", "moved/mine.py"]
    for words in (["info", "moved/v.bin.run"], named[:2]):
        assert f"--objective {moved / 'mine.py'}\n" in w2vtrain(*words)[1]
    (moved / "mine.py").rename("mine.py")
    assert w2vtrain(*named[:2])[1].endswith(" to run it, add --objective and the path of mine.py\n")
    assert "/mine.py: cannot be imported: FileNotFoundError" in w2vtrain(*named)[1]
    Path("mine.py").rename(moved / "mine.py")
    code, said = w2vtrain(*named)
    assert (code, f"cd {moved} && w2vtrain fit ../text.txt -o v.bin " in said) == (66, True), said
    moved.rename(home)
    code, said = w2vtrain("resume", "home/v.bin.run", "--objective", "home/mine.py")
    assert code == 0, said
    assert (home / "v.bin").exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("output", "v\0.bin"), ("save_vocab", "x\0"), ("read_vocab", "\ud800"), ("output", "/"), ("output", ""),
        ("log_json", "x\0"), ("heldout", ["x\0"]), ("sources", ["\ud800"]), ("checkpoint_every", 10**400),
        ("checkpoint_every", "x"), ("progress_every", None), ("force", 3),
        ("export", "both"), ("export", 3), ("export", ["in"]), ("origins", {"x": 1}), ("origins", {}),
    ],
)  # fmt: skip
def test_an_impossible_request_is_refused_with_a_one_line_error(w2vtrain, stopped, name, value):
    rewrite(stopped, {name: value})
    code, said = w2vtrain("resume", "v.bin.run")
    assert code in (2, 65, 66, 73), said
    assert len([line for line in said.splitlines() if "error" in line]) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epoch", -5), ("epoch", True), ("chunks", "x"), ("chunks", -5), ("chunks", 10**30), ("loss", ""),
        ("examples", None), ("seconds", "x"), ("seconds", -1.0), ("spent", None), ("passed", "x"), ("learned", 10**400),
        ("last", "x"), ("last", {"epoch": "x"}), ("last", []), ("is_over", 1),
    ],
)  # fmt: skip
def test_an_impossible_state_is_refused_with_a_one_line_error(w2vtrain, stopped, name, value):
    newest = checkpoint_file.newest_saved(stopped, run_config(stopped).run)[0]
    found = checkpoint_file.read(stopped, newest)
    about = asdict(found.saved)
    about["state"][name] = value
    facts = {"run": found.run, "about": json.dumps(about)}
    facts["sha256"] = checkpoint_file.checksum(found.arrays, *facts.values())
    for number in checkpoint_file.numbers(stopped):
        checkpoint_file.remove(stopped, number)
    write_safetensors(checkpoint_file.path_of(stopped, newest), found.arrays, facts)
    code, said = w2vtrain("resume", "v.bin.run")
    assert (code, len([line for line in said.splitlines() if "error" in line])) == (65, 1), said
    assert "its description" in said


def test_a_checkpoint_of_another_run_is_refused_and_kept_unless_forced(w2vtrain, stopped):
    rewrite(stopped, run="another")
    foreign = {file: file.read_bytes() for file in stopped.glob("ckpt-*")}
    assert foreign
    fit = ["fit", "text.txt", "-o", "v.bin", *SMALL]
    for words in (["resume", stopped], fit, ["export", stopped, "-o", "x.txt"]):
        code, said = w2vtrain(*words)
        assert (code, len([line for line in said.splitlines() if "error" in line])) == (65, 1), said
        assert all(f"{file.name}: belongs to another run" in said for file in foreign)
        assert ("away to start over" in said, ", or use --force" in said) == (True, words[0] != "export")
        assert {file: file.read_bytes() for file in stopped.glob("ckpt-*")} == foreign
    said = w2vtrain("info", stopped)[1]
    assert all(file.name in said for file in foreign)
    assert "damaged, or of another run" in said
    code, said = w2vtrain(*fit, "--force")
    assert (code, "resumed" in said) == (0, False), said


# settings


def test_a_forced_start_that_is_refused_leaves_the_run_as_it_was(w2vtrain, stopped, tmp_path):
    """--force with other settings starts over, but only once all outputs are locked and there is a text to train on."""

    def contents():  # without the lock file, which says when it was taken
        files = (path for path in stopped.rglob("*") if path.is_file() and path.name != LOCK)
        return {path: path.read_bytes() for path in files}

    before = contents()
    code, said = w2vtrain("fit", "text.txt", "-o", "v.bin", *SMALL, "--seed", "9", "--force", "--save-vocab", "a/b")
    assert (code, "there is no folder a" in said) == (73, True), said
    lock = Lock(lock_path("new.txt"), "new.txt", "another")
    code, said = w2vtrain("fit", "text.txt", "-o", "v.bin", *SMALL, "--seed", "9", "--force", "--save-vocab", "new.txt")
    lock.release(remove=True)
    assert (code, "new.txt" in said) == (73, True), said
    for text in (b"", b"a a a a a a\n", gzip.compress((tmp_path / "text.txt").read_bytes())[:500]):
        (tmp_path / "other.txt").write_bytes(text)
        code, said = w2vtrain("fit", "other.txt", "-o", "v.bin", *SMALL, "--force", "--log-json", "log.jsonl")
        assert code == 65, said
        assert contents() == before
    code, said = w2vtrain("resume", "v.bin.run")
    assert code == 0, said


def test_a_run_with_several_outputs_can_be_resumed_after_a_forced_start_without_a_text(w2vtrain, stop, tmp_path):
    """The lock files name the run again, and there are no others."""
    stop("--save-vocab", "words.txt")
    (tmp_path / "empty.txt").touch()
    outputs = ["-o", "v.bin", "--save-vocab", "words.txt", "--save-model", "model"]
    assert w2vtrain("fit", "empty.txt", *outputs, *SMALL, "--force")[0] == 65
    assert not lock_path("model").exists()
    code, said = w2vtrain("resume", "v.bin.run")
    assert (code, "resumed" in said) == (0, True), said


def test_a_damaged_checkpoint_does_not_take_the_one_before_along(w2vtrain, stopped, monkeypatch):
    """The run is stopped again while it reads."""

    def stops(*_, **__):
        raise Stopped("stopped")

    (newest,) = stopped.glob("ckpt-*")
    newest.with_name("ckpt-000009.safetensors").write_bytes(newest.read_bytes()[:-50])
    with monkeypatch.context() as patch:
        patch.setattr("w2vtrain.commands.fit_run.train", stops)
        assert w2vtrain("resume", "v.bin.run")[0] == Stopped.exit_code
    code, said = w2vtrain("resume", "v.bin.run")
    assert (code, "resumed" in said) == (0, True), said


@pytest.mark.parametrize("lost", ["", CONFIG])
def test_a_run_folder_that_is_deleted_during_the_run_is_created_again(w2vtrain, stop, tmp_path, monkeypatch, lost):
    """Whether the run then stops and is resumed, or ends."""
    train = stopping(2)

    def deleting(plan, run, **about):
        def pause(snapshot, milestone=False, pause=run.pause):
            if (run.folder / CONFIG).exists():
                (run.folder / lost).unlink() if lost else shutil.rmtree(run.folder)
            pause(snapshot, milestone)

        run.pause = pause
        return train(plan, run, **about)

    monkeypatch.setattr("w2vtrain.commands.fit_run.train", deleting)
    first_lines(60, tmp_path / "text.txt")
    words = ["fit", "text.txt", "-o", "v.bin", *SMALL]
    code, said = w2vtrain(*words)
    assert code == Stopped.exit_code, said
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    code, said = w2vtrain(*words)
    assert (code, "resumed" in said) == (0, True), said
    assert sorted(path.name for path in tmp_path.glob("v.*")) == ["v.bin", "v.bin.json"]


def test_a_run_whose_log_has_gone_is_complete_nevertheless(w2vtrain, stopped, tmp_path, monkeypatch):
    """The run was killed after it had written all results; the same command with another log reports that."""
    words = ["fit", "text.txt", "-o", "v.bin", *SMALL]
    with monkeypatch.context() as patch:
        patch.setattr("w2vtrain.training.checkpointing.CheckpointedRun.finish", lambda self: None)
        assert w2vtrain(*words)[0] == 0
    code, said = w2vtrain(*words, "--log-json", "new.jsonl")
    assert (code, "all results were written" in said) == (0, True), said
    assert '"event":"done"' in (tmp_path / "new.jsonl").read_text()


def test_a_run_folder_with_another_schema_is_refused(w2vtrain, stopped):
    rewrite(stopped, schema=99)
    code, said = w2vtrain("resume", "v.bin.run")
    assert (code, f"has schema 99; this version of w2vtrain reads schema {SCHEMA}" in said) == (65, True), said
    assert w2vtrain("fit", "text.txt", "-o", "v.bin", *SMALL)[0] == 65
    assert w2vtrain("fit", "text.txt", "-o", "v.bin", *SMALL, "--force")[0] == 0


def test_a_run_folder_name_that_is_too_long_is_reported_as_missing_input(w2vtrain):
    name = "x/" * 2100
    for words in (["resume", name], ["export", name, "-o", "x.txt"], ["info", "x" * 300]):
        code, said = w2vtrain(*words)
        assert (code, "File name too long" in said) == (66, True), said


# links and modes


@pytest.mark.parametrize("name", ["lock", CONFIG, "vocab.txt"])
def test_symbolic_links_in_a_run_folder_are_not_followed(w2vtrain, stopped, tmp_path, name):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (stopped / name).unlink()
    (stopped / name).symlink_to(victim)
    for words in (["fit", "text.txt", "-o", "v.bin", *SMALL], ["resume", "v.bin.run"]):
        code, said = w2vtrain(*words)
        assert code in (65, 73), said
        assert "symbolic link" in said
        assert victim.read_text() == "precious"


def test_resume_ignores_the_cache_folder_named_in_a_run_folder(w2vtrain, stopped, tmp_path, monkeypatch):
    """It uses the default unless the command line names a folder."""
    folders, read = [], one_process.read
    monkeypatch.setattr(
        one_process,
        "read",
        lambda *about, folder, **more: (folders.append(folder), read(*about, folder=folder, **more))[1],
    )
    other = tmp_path / "other"
    other.mkdir()
    rewrite(stopped, {"cache_dir": str(other)})
    assert w2vtrain("resume", "v.bin.run")[0] == 0
    assert folders == [tmp_path]


@pytest.mark.parametrize("name", ["written", "complete", "run", "cwd", "request", "settings"])
@pytest.mark.parametrize("value", [None, [], {}, 1, "x", {"x": 1}, {"\0": [1, 2]}])
def test_fields_of_the_wrong_type_are_refused_with_a_one_line_error(w2vtrain, stopped, name, value):
    path = stopped / CONFIG
    path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))
    for words in (["resume", "v.bin.run"], ["export", "v.bin.run", "-o", "x.txt"]):
        code, said = w2vtrain(*words)
        assert code in (0, 65, 66, 73, 78), said
        assert code == 0 or len([line for line in said.splitlines() if "error" in line]) == 1


@pytest.mark.parametrize("settings", [{"options": {"negative": -3}}, {"objective": "nosuch"}, {"window": 0}])
def test_invalid_settings_are_reported_with_the_folder(w2vtrain, stopped, settings):
    rewrite(stopped, settings=settings)
    code, said = w2vtrain("resume", "v.bin.run")
    assert code == 65
    assert f"v.bin.run: its {CONFIG} is damaged: " in said


@pytest.mark.parametrize("size", [10, 100_000])  # rows of 9 and of 10 values are stored alike
def test_settings_that_are_not_those_of_the_checkpoint_are_refused(w2vtrain, stopped, size):
    rewrite(stopped, settings={"vector_size": size})
    code, said = w2vtrain("resume", "v.bin.run")
    assert (code, f"the settings in its {CONFIG} are not those of its checkpoint" in said) == (65, True), said


@pytest.mark.skipif(os.name != "posix", reason="this system has no umask")
def test_a_run_can_be_resumed_with_any_umask(w2vtrain, stopped):
    before = os.umask(0)
    try:
        code, said = w2vtrain("fit", "text.txt", "-o", "w.bin", *SMALL, "--epochs", "2")
        assert code == 0, said
        code, said = w2vtrain("resume", "v.bin.run")
        assert code == 0, said
    finally:
        os.umask(before)
    assert not Path("w.bin").stat().st_mode & 0o002


def test_a_complete_run_is_not_taken_for_that_of_another_file_of_the_same_name(w2vtrain_here, tmp_path, monkeypatch):
    """It has no checkpoint any more that knows the content of its code."""
    first_lines(60, tmp_path / "text.txt")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.py").write_text(f"from w2vtrain.objectives.neg import *  # {name}\n")
    fit = ["fit", "text.txt", "-o", "v.bin", *SMALL, "--objective"]
    with monkeypatch.context() as patch:
        patch.setattr(CheckpointedRun, "finish", lambda run: None)  # as if it was killed before
        assert w2vtrain_here([*fit, "a/mine.py"], tmp_path)[0] == 0
    code, _, said = w2vtrain_here([*fit, "b/mine.py"], tmp_path)
    assert (code, "belongs to another run (objective 'a/mine.py', not 'b/mine.py')" in said) == (78, True), said
    (tmp_path / "a").rename(tmp_path / "c")
    code, _, said = w2vtrain_here([*fit, "./c/mine.py"], tmp_path)
    assert (code, "all results were written before the run was killed" in said) == (0, True), said


def test_another_file_of_the_same_name_is_not_taken_for_the_code_of_a_run_that_stopped(w2vtrain, stop, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.py").write_text(f"from w2vtrain.objectives.neg import *  # {name}\n")
    stop("--objective", "a/mine.py")
    code, said = w2vtrain("fit", "text.txt", "-o", "v.bin", *SMALL, "--objective", "b/mine.py")
    assert (code, "belongs to another run (objective 'a/mine.py', not 'b/mine.py')" in said) == (78, True), said
    assert w2vtrain("resume", "v.bin.run", "--objective", "./a/mine.py")[0] == 0


def test_a_run_whose_folder_is_deleted_leaves_none_when_it_ends(w2vtrain, tmp_path, monkeypatch):
    def deleting(plan, run, **about):
        model = train(plan, run, **about)
        shutil.rmtree(run.folder)
        return model

    monkeypatch.setattr("w2vtrain.commands.fit_run.train", deleting)
    first_lines(60, tmp_path / "text.txt")
    assert w2vtrain("fit", "text.txt", "-o", "v.bin", *SMALL)[0] == 0
    assert sorted(path.name for path in tmp_path.glob("v.*")) == ["v.bin", "v.bin.json"]
