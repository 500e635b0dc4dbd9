"""`export`: the vectors of a run that is not done, through the command line."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from reference import first_lines

from w2vtrain.cli import cli
from w2vtrain.errors import Stopped
from w2vtrain.formats.vectors import read_vectors
from w2vtrain.training import checkpoint
from w2vtrain.training.events import Events
from w2vtrain.training.fit import fit as pipeline_fit

SMALL = ["--vector-size", "9", "--epochs", "3", "--threads", "1", "--min-count", "1", "--bias"]


def w2vtrain(code, folder, *words):
    """What the command says, on both streams, and that an error is one line."""
    words = [sys.executable, "-m", "w2vtrain", *map(str, words)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == code, done.stderr
    assert code == 0 or len(done.stderr.splitlines()) == 1
    return done.stdout + done.stderr


@pytest.fixture
def stopped(tmp_path, monkeypatch):
    """A function that fits text with these options, stopped, as by a signal, when two of three epochs are done."""
    first_lines(300, tmp_path / "text.txt")
    monkeypatch.chdir(tmp_path)

    def stops(*arguments, run, events, **more):
        def epoch(done, score):
            run.stopping = done.epoch == 2

        return pipeline_fit(*arguments, run=run, events=Events(epoch=epoch), **more)

    monkeypatch.setattr("w2vtrain.commands.fit.train", stops)

    def start(*more):
        done = CliRunner().invoke(cli, ["fit", "text.txt", "-o", "v.bin", *SMALL, *more])
        assert isinstance(done.exception, Stopped), done.output
        return tmp_path

    return start


def test_vectors_of_a_run_whose_corpus_is_gone(stopped):
    folder = stopped()
    (folder / "text.txt").rename(folder / "moved.txt")
    said = w2vtrain(0, folder, "export", "v.bin.run", "-o", "so-far.txt")
    state = checkpoint.load(folder / "v.bin.run")
    assert f"checkpoint {state.number}, in epoch 3 of 3, as they were" in said
    found = read_vectors(str(folder / "so-far.txt"))
    assert np.array_equal(found.matrix, state.arrays["input"][:, :9])
    assert "exists: use --force" in w2vtrain(73, folder, "export", "v.bin.run", "-o", "so-far.txt")
    w2vtrain(0, folder, "export", "v.bin.run", "-o", "so-far.txt", "--force")
    assert w2vtrain(0, folder, "export", "v.bin.run", "-o", "-", "--format", "text").startswith(
        f"{len(found.words)} 9\n"
    )
    (folder / "moved.txt").rename(folder / "text.txt")
    w2vtrain(0, folder, "resume", "v.bin.run", "-q")
    assert read_vectors(str(folder / "v.bin")).words == found.words
    assert not (folder / "v.bin.run").exists()


def test_with_held_out_text_the_best_epoch_s(stopped):
    """Text in another order is predicted ever worse: the best epoch is the first, and the run has gone on from it."""
    words = Path("text.txt").read_text(encoding="utf-8").split()
    Path("held.txt").write_text(" ".join(sorted(words)), encoding="utf-8")
    worse = ["--architecture", "cbow", "--context", "left", "--objective", "hs", "--alpha", "0.5", "--min-alpha", "0.5"]
    folder = stopped(*worse, "--heldout", "held.txt")
    state = checkpoint.load(folder / "v.bin.run")
    first, second = (epoch["heldout"]["perplexity"] for epoch in state.about["epochs"])
    assert first < second
    assert "the best epoch so far" in w2vtrain(0, folder, "export", "v.bin.run", "-o", "best.bin")
    found = read_vectors(str(folder / "best.bin")).matrix
    assert np.array_equal(found, state.arrays["best.input"][:, :9])
    assert not np.array_equal(found, state.arrays["input"][:, :9])


def test_a_damaged_checkpoint_is_told_and_passed_over(stopped):
    folder = stopped("--checkpoint-every", "0")
    run = folder / "v.bin.run"
    newest = checkpoint.numbers(run)[-1]
    state = run / f"ckpt-{newest:06d}" / checkpoint.STATE
    state.write_bytes(state.read_bytes()[:-1] + b"x")
    said = w2vtrain(0, folder, "export", run, "-o", "v.txt")
    assert "took the checkpoint before it" in said
    assert f"checkpoint {newest - 1}," in said


def test_what_cannot_be_exported(stopped):
    folder = stopped()
    run = folder / "v.bin.run"
    assert "no run's folder" in w2vtrain(65, folder, "export", ".", "-o", "v.txt")
    assert "names no known format" in w2vtrain(2, folder, "export", run, "-o", "v.pdf")
    vocabulary = (run / "vocab.txt").read_text()
    (run / "vocab.txt").write_text(vocabulary.replace("the ", "teh ", 1))
    assert "vocab.txt: not the vocabulary of checkpoint" in w2vtrain(65, folder, "export", run, "-o", "v.txt")
    (run / "vocab.txt").unlink()
    assert "vocab.txt cannot be opened: No such file" in w2vtrain(66, folder, "export", run, "-o", "v.txt")
    (run / "vocab.txt").write_text(vocabulary)
    for number in checkpoint.numbers(run):
        checkpoint.remove(run, number)
    assert "there is no checkpoint yet" in w2vtrain(66, folder, "export", run, "-o", "v.txt")
    assert not (folder / "v.txt").exists()


def test_a_refused_resume_changes_nothing(stopped):
    """The vocabulary that is kept is that of the checkpoint, also when the corpus has changed since."""
    folder = stopped()
    with (folder / "text.txt").open("a", encoding="utf-8") as file:
        file.write("some more words\n" * 5)
    assert "the corpus changed" in w2vtrain(65, folder, "resume", "v.bin.run", "-q")
    w2vtrain(0, folder, "export", "v.bin.run", "-o", "v.txt")


def test_a_checkpoint_that_goes_while_it_is_read(stopped, monkeypatch):
    """The run has written others meanwhile: the newest of these is taken."""
    folder = stopped("--checkpoint-every", "0")
    run, digest, calls = folder / "v.bin.run", checkpoint._digest, []
    first, last = checkpoint.numbers(run)

    def gone(path):
        calls.append(path)
        if len(calls) == 1:
            (run / f"ckpt-{last:06d}").rename(run / f"ckpt-{last + 2:06d}")
            manifest = run / f"ckpt-{last + 2:06d}" / checkpoint.MANIFEST
            facts = json.loads(manifest.read_text())
            manifest.write_text(checkpoint.sealed({**facts, "number": last + 2}))
            checkpoint.remove(run, first)
        return digest(path)

    monkeypatch.setattr(checkpoint, "_digest", gone)
    done = CliRunner().invoke(cli, ["export", str(run), "-o", "v.txt"])
    assert done.exception is None, done.output
    assert f"checkpoint {last + 2}," in done.output


def test_of_a_run_that_has_learned_all(stopped, monkeypatch):
    """Its results could not be written: what is exported is the end of training."""
    folder = stopped()
    monkeypatch.undo()
    (folder / "v.bin").write_text("in the way")
    assert "exists: use --force" in w2vtrain(73, folder, "resume", "v.bin.run")
    (folder / "v.bin").unlink()
    spoil = "from w2vtrain import cli; from w2vtrain.commands import outputs\nfrom w2vtrain.errors import WriteError\n"
    spoil += "def full(*about): raise WriteError('no room')\noutputs.write_vectors = full\ncli.main()"
    words = [sys.executable, "-c", spoil, "resume", "v.bin.run"]
    assert subprocess.run(words, cwd=folder, capture_output=True, check=False).returncode == 74
    assert "at the end of training" in w2vtrain(0, folder, "export", "v.bin.run", "-o", "v.txt")
