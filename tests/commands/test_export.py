"""`export` writes the vectors of an unfinished run; tested through the command line."""

import subprocess
import sys
from pathlib import Path

import forked
import numpy as np
import pytest
from click.testing import CliRunner
from reference import first_lines, newest_checkpoint, stopping

from w2vtrain.architectures import architecture_class
from w2vtrain.architectures.contract import Blend
from w2vtrain.cli import cli
from w2vtrain.embeddings.model import load_model
from w2vtrain.errors import Stopped
from w2vtrain.formats.transforms import exported
from w2vtrain.formats.vectors import read_vectors
from w2vtrain.system.locks import Lock, lock_path
from w2vtrain.training import checkpoint_file
from w2vtrain.training.trainer import train

SMALL = ["--vector-size", "9", "--epochs", "3", "--threads", "1", "--min-count", "1", "--bias"]


def w2vtrain(code, folder, *words):
    """Run a command and return stdout and stderr together. A failure must print exactly one line."""
    words = [sys.executable, "-m", "w2vtrain", *map(str, words)]
    done = forked.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert code == 0 or len(done.stderr.splitlines()) == 1
    return done.stdout + done.stderr


@pytest.fixture
def stopped(tmp_path, monkeypatch):
    """Return a function that runs `fit` and stops it, as a signal would, after two of three epochs."""
    first_lines(100, tmp_path / "text.txt")
    monkeypatch.chdir(tmp_path)

    monkeypatch.setattr("w2vtrain.commands.fit_run.train", stopping(2))

    def start(*more):
        done = CliRunner().invoke(cli, ["fit", "text.txt", "-o", "v.bin", *SMALL, *more])
        assert isinstance(done.exception, Stopped), done.output
        return tmp_path

    return start


def test_export_needs_no_corpus_and_leaves_the_run_resumable(stopped):
    folder = stopped()
    (folder / "text.txt").rename(folder / "moved.txt")
    said = w2vtrain(0, folder, "export", "v.bin.run", "-o", "so-far.txt")
    state = newest_checkpoint(folder / "v.bin.run")
    assert f"checkpoint {state.number}, in epoch 3 of 3, current weights" in said
    found = read_vectors(str(folder / "so-far.txt"))
    assert np.array_equal(found.matrix, state.arrays["input"][:, :9])
    assert "exists: use --force" in w2vtrain(73, folder, "export", "v.bin.run", "-o", "so-far.txt")
    inside = ["export", "v.bin.run", "-o", "v.bin.run/vocab.txt", "--force"]
    assert "is inside v.bin.run, the run folder; choose another" in w2vtrain(2, folder, *inside)
    w2vtrain(0, folder, "export", "v.bin.run", "-o", "so-far.txt", "--force")
    assert w2vtrain(0, folder, "export", "v.bin.run", "-o", "-", "--format", "text").startswith(
        f"{len(found.words)} 9\n"
    )
    (folder / "moved.txt").rename(folder / "text.txt")
    w2vtrain(0, folder, "resume", "v.bin.run", "-q")
    assert read_vectors(str(folder / "v.bin")).words == found.words
    assert not (folder / "v.bin.run").exists()


def test_export_does_not_write_the_output_of_a_run_that_is_training(stopped):
    folder = stopped()
    lock = Lock(lock_path(folder / "v.bin"), str(folder / "v.bin"))
    assert "in use" in w2vtrain(73, folder, "export", "v.bin.run", "-o", "v.bin")
    lock.release(remove=True)
    assert not (folder / "v.bin").exists()


def test_export_writes_the_best_epoch_if_there_is_held_out_text(stopped):
    """The model gets worse at predicting sorted text, so the first epoch is the best; the run has continued since."""
    words = Path("text.txt").read_text(encoding="utf-8").split()
    Path("held.txt").write_text(" ".join(sorted(words)), encoding="utf-8")
    worse = ["--architecture", "cbow", "--context", "left", "--objective", "hs", "--alpha", "0.5", "--min-alpha", "0.5"]
    folder = stopped(*worse, "--heldout", "held.txt")
    state = newest_checkpoint(folder / "v.bin.run")
    first, second = (epoch["heldout"]["perplexity"] for epoch in state.saved.epochs)
    assert first < second
    assert "the best epoch so far" in w2vtrain(0, folder, "export", "v.bin.run", "-o", "best.bin")
    found = read_vectors(str(folder / "best.bin")).matrix
    assert np.array_equal(found, state.arrays["best.input"][:, :9])
    assert not np.array_equal(found, state.arrays["input"][:, :9])


def test_export_writes_output_vectors_or_sums(stopped):
    folder = stopped()
    arrays = newest_checkpoint(folder / "v.bin.run").arrays
    inputs, outputs = (arrays[name][:, :9] for name in ("input", "output"))
    blended = exported(inputs, outputs, "blend", architecture_class("skipgram").blend().share, "")[:]
    for which, expected in (("in", inputs), ("out", outputs), ("in+out", inputs + outputs), ("blend", blended)):
        w2vtrain(0, folder, "export", "v.bin.run", "-o", f"{which}.txt", "--export", which)
        assert np.array_equal(read_vectors(str(folder / f"{which}.txt")).matrix, expected)


@pytest.mark.parametrize(
    ("objective", "architecture", "which"),
    [
        ("neg", "skipgram", "blend"),
        ("neg", "cbow", "blend"),
        ("nce", "skipgram", "blend"),
        ("nce", "cbow", "in"),
        ("sampled-softmax", "skipgram", "in"),
    ],
)
def test_fit_and_export_write_blends_if_the_text_is_large(stopped, monkeypatch, objective, architecture, which):
    share = 0.3
    monkeypatch.setattr(architecture_class(architecture), "blend", staticmethod(lambda: Blend(share, words=1000)))
    asked = ["--objective", objective, "--architecture", architecture]
    folder = stopped(*asked, "--max-vocab", "50", "--save-model", "m.safetensors")
    arrays = newest_checkpoint(folder / "v.bin.run").arrays
    outputs = arrays.get("output")
    done = CliRunner().invoke(cli, ["export", "v.bin.run", "-o", "so-far.bin"])
    assert done.exit_code == 0, done.output
    expected = exported(arrays["input"][:, :9], outputs[:, :9], which, share, "")[:]
    assert np.array_equal(read_vectors("so-far.bin").matrix, expected)
    monkeypatch.setattr("w2vtrain.commands.fit_run.train", train)
    done = CliRunner().invoke(cli, ["resume", "v.bin.run", "-q"])
    assert done.exit_code == 0, done.output
    model = load_model("m.safetensors")
    assert (model.record["vectors"], model.record["blend_share"]) == (which, share)
    found = read_vectors("v.bin").matrix
    assert np.array_equal(found, model.vectors(which))
    assert np.array_equal(found, model.vectors())
    assert np.array_equal(found, read_vectors("m.safetensors").matrix)


def test_export_and_resume_write_the_vectors_that_the_stopped_command_requested(stopped):
    folder = stopped("--export", "in+out", "--save-model", "m.safetensors")
    w2vtrain(0, folder, "export", "v.bin.run", "-o", "v.txt")
    arrays = newest_checkpoint(folder / "v.bin.run").arrays
    assert np.array_equal(read_vectors(str(folder / "v.txt")).matrix, arrays["input"][:, :9] + arrays["output"][:, :9])
    w2vtrain(0, folder, "resume", "v.bin.run", "-q")
    model = load_model(folder / "m.safetensors")
    assert np.array_equal(read_vectors(str(folder / "v.bin")).matrix, model.input + model.output)


@pytest.mark.parametrize(("more", "name"), [((), "output"), (("--heldout", "text.txt"), "best.output")])
def test_export_finds_the_output_vectors_of_block_objectives_and_of_the_best_epoch(stopped, more, name):
    folder = stopped("--objective", "softmax", "--max-vocab", "50", *more)
    run = folder / "v.bin.run"
    state = newest_checkpoint(run)
    assert state.saved.best == (name == "best.output")
    w2vtrain(0, folder, "export", run, "-o", "v.txt", "--export", "out")
    assert np.array_equal(read_vectors(str(folder / "v.txt")).matrix, state.arrays[name][:, :9])


@pytest.mark.parametrize(
    ("objective", "code", "message"),
    [("hs", 78, "objective hs has no output vector per word"), ("cnn-softmax", 65, "only at the end of training")],
)
def test_export_refuses_output_vectors_that_a_checkpoint_lacks(stopped, objective, code, message):
    folder = stopped("--objective", objective, "--max-vocab", "50")
    assert message in w2vtrain(code, folder, "export", "v.bin.run", "-o", "v.txt", "--export", "in+out")
    assert not (folder / "v.txt").exists()
    w2vtrain(0, folder, "export", "v.bin.run", "-o", "v.txt")
    inputs = newest_checkpoint(folder / "v.bin.run").arrays["input"][:, :9]
    assert np.array_equal(read_vectors(str(folder / "v.txt")).matrix, inputs)


def test_a_damaged_checkpoint_is_reported_and_the_previous_one_is_exported(stopped):
    folder = stopped("--checkpoint-every", "0")
    run = folder / "v.bin.run"
    newest = checkpoint_file.numbers(run)[-1]
    state = checkpoint_file.path_of(run, newest)
    state.write_bytes(state.read_bytes()[:-1] + b"x")
    said = w2vtrain(0, folder, "export", run, "-o", "v.txt")
    assert "using the checkpoint before it" in said
    assert f"checkpoint {newest - 1}," in said


def test_export_refuses_invalid_folders_formats_and_vocabularies(stopped):
    folder = stopped()
    run = folder / "v.bin.run"
    assert "not a run folder" in w2vtrain(65, folder, "export", ".", "-o", "v.txt")
    assert "unknown suffix for vectors" in w2vtrain(2, folder, "export", run, "-o", "v.pdf")
    vocabulary = (run / "vocab.txt").read_text()
    (run / "vocab.txt").write_text(vocabulary.replace("the ", "teh ", 1))
    assert "vocab.txt: not the vocabulary of checkpoint" in w2vtrain(65, folder, "export", run, "-o", "v.txt")
    (run / "vocab.txt").unlink()
    assert "vocab.txt cannot be opened: No such file" in w2vtrain(66, folder, "export", run, "-o", "v.txt")
    (run / "vocab.txt").write_text(vocabulary)
    for number in checkpoint_file.numbers(run):
        checkpoint_file.remove(run, number)
    said = w2vtrain(66, folder, "export", run, "-o", "v.txt")
    assert f"the run has no checkpoint yet: it has ended: w2vtrain resume {run} continues it" in said
    assert not (folder / "v.txt").exists()


def test_export_still_works_after_a_refused_resume(stopped):
    """The run folder keeps the vocabulary of the checkpoint, even if the corpus has changed since."""
    folder = stopped()
    with (folder / "text.txt").open("a", encoding="utf-8") as file:
        file.write("some more words\n" * 5)
    assert "the corpus changed" in w2vtrain(65, folder, "resume", "v.bin.run", "-q")
    w2vtrain(0, folder, "export", "v.bin.run", "-o", "v.txt")


def test_export_works_for_a_trained_run_whose_results_could_not_be_written(stopped, monkeypatch):
    """The exported vectors are those at the end of training."""
    folder = stopped()
    monkeypatch.undo()
    (folder / "v.bin").write_text("in the way")
    assert "exists: use --force" in w2vtrain(73, folder, "resume", "v.bin.run")
    (folder / "v.bin").unlink()
    spoil = "from w2vtrain import cli\nfrom w2vtrain.errors import WriteError\n"
    spoil += "from w2vtrain.formats.vectors import Output\n"
    spoil += "def full(*about, **more): raise WriteError('disk full')\nOutput.write = full\ncli.main()"
    words = [sys.executable, "-c", spoil, "resume", "v.bin.run"]
    assert subprocess.run(words, cwd=folder, capture_output=True, check=False).returncode == 74
    assert "at the end of training" in w2vtrain(0, folder, "export", "v.bin.run", "-o", "v.txt")
