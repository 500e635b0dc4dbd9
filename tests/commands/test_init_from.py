"""`fit --init-from` starts from a model or from vectors, and a run that was killed resumes with the same start."""

import itertools
import json
import os
from dataclasses import replace

import numpy as np
import pytest

from w2vtrain import KeyedVectors, load_model, read_vectors, save_model, write_vectors
from w2vtrain.training.checkpointing import CheckpointedRun

SMALL = ["--vector-size", "8", "--min-count", "2", "--sample", "0"]
MORE = ["--threads", "1", "--epochs", "2"]


@pytest.fixture
def folder(tmp_path, w2vtrain_here):
    """Return a folder with a model, its vectors, and another text that has one more word."""
    rng = np.random.default_rng(5)
    for name, words in (("first", 12), ("second", 13)):
        lines = [" ".join(f"w{k}" for k in rng.integers(0, words, 9)) for _ in range(400)]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
    words = ["fit", "first.txt", "-o", "first.vec", "--save-model", "first.model", *SMALL, *MORE]
    assert w2vtrain_here(words, tmp_path)[0] == 0
    return tmp_path


def start(output, *more, model="first.model"):
    saved = f"{output}.model"
    return ["fit", "second.txt", "-o", output, "--save-model", saved, "--init-from", model, *MORE, *more]


def test_a_model_gives_its_words_settings_and_weights(folder, w2vtrain_here):
    code, _, said = w2vtrain_here(start("more.vec", "--alpha", "1e-9"), folder)
    assert code == 0, said
    assert "started     from first.model: 12 words known, 0 new; took input, output" in said
    before, after = load_model(folder / "first.model"), load_model(folder / "more.vec.model")
    assert after.words == before.words
    np.testing.assert_array_equal(after.counts, before.counts)
    np.testing.assert_allclose(after.input, before.input, atol=1e-5)
    np.testing.assert_allclose(after.output, before.output, atol=1e-5)
    assert (after.settings["vector_size"], after.settings["alpha"]) == (8, 1e-9)
    written = json.loads((folder / "more.vec.json").read_text())
    assert "--min-count" not in written["command"]  # which is refused
    facts = written["record"]["init_from"]
    assert (facts["name"], facts["words"], facts["new_words"]) == ("first.model", 12, 0)
    assert len(facts["sha256"]) == 64


@pytest.fixture
def pretrained(folder):
    """Return vectors of words of which the second text has some, in a file beside it."""
    words = [f"{name}{k}" for k in range(9) for name in ("other", "w")]
    matrix = np.random.default_rng(8).normal(size=(len(words), 8)).astype(np.float32)
    write_vectors(folder / "pre.bin", words, matrix)
    return dict(zip(words, matrix, strict=True))


@pytest.mark.parametrize("output", ["more.bin", "more.glove", "more.npz"])
def test_all_words_of_vectors_are_kept_if_the_vocabulary_grows(folder, w2vtrain_here, pretrained, output):
    code, _, said = w2vtrain_here(start(output, *SMALL[2:], "--grow-vocabulary", model="pre.bin"), folder)
    assert code == 0, said
    assert "from pre.bin: 9 words known, 4 new; took input; 9 other words stay as they are" in said
    trained, after = load_model(folder / f"{output}.model"), read_vectors(folder / output)
    assert after.words == [*trained.words, *(word for word in pretrained if word.startswith("other"))]
    assert set(trained.words) == {f"w{k}" for k in range(13)}
    np.testing.assert_array_equal(after.matrix[:13], trained.input)
    np.testing.assert_array_equal(after.matrix[13:], [pretrained[word] for word in after.words[13:]])
    assert all((after.matrix[after.words.index(f"w{k}")] != pretrained[f"w{k}"]).any() for k in range(9))


def test_words_that_could_not_be_written_are_refused_before_training(folder, w2vtrain_here):
    KeyedVectors.of(["w0", "new york"], np.ones((2, 8), np.float32)).save(folder / "spaces")
    code, _, said = w2vtrain_here(start("more.vec", *SMALL[2:], "--grow-vocabulary", model="spaces"), folder)
    assert code == 65
    assert "spaces: word 1 'new york' contains white space" in said.splitlines()[-1]
    assert not list(folder.glob("more.vec*"))
    assert w2vtrain_here(["convert", "spaces", "--repair", "-o", "clean.vec"], folder)[0] == 0
    code, _, said = w2vtrain_here(start("more.vec", *SMALL[2:], "--grow-vocabulary", model="clean.vec"), folder)
    assert code == 0, said
    assert read_vectors(folder / "more.vec").words[-1] == "new_york"


def test_a_run_says_which_words_of_vectors_it_leaves_out(folder, w2vtrain_here, pretrained):
    code, _, said = w2vtrain_here(start("more.bin", *SMALL[2:], model="pre.bin"), folder)
    assert code == 0, said
    assert "took input; 9 other words are left out (--grow-vocabulary keeps them)" in said
    assert len(read_vectors(folder / "more.bin").words) == 13


@pytest.mark.parametrize("more", [[], ["--threads", "2"], ["--objective", "softmax"], ["--architecture", "cbow"]])
def test_frozen_words_keep_their_vectors_to_the_bit(folder, w2vtrain_here, pretrained, more):
    words = start("more.bin", *SMALL[2:], "--grow-vocabulary", "--freeze", *more, model="pre.bin")
    assert w2vtrain_here(words, folder)[0] == 0
    after = read_vectors(folder / "more.bin")
    for word, vector in pretrained.items():
        np.testing.assert_array_equal(after.matrix[after.words.index(word)], vector)
    new = after.matrix[[after.words.index(f"w{k}") for k in range(9, 13)]]
    assert np.linalg.norm(new, axis=1).min() > 0.3  # initial vectors are shorter than 0.2


@pytest.mark.parametrize(("model", "more"), [("first.model", ["--grow-vocabulary"]), ("pre.bin", SMALL[2:])])
def test_frozen_words_are_written_unchanged_where_blends_are_preferred(
    folder, w2vtrain_here, pretrained, monkeypatch, model, more
):
    monkeypatch.setattr("w2vtrain.architectures.contract.Blend.preferred", lambda *_: "blend")  # as with large texts
    first = load_model(folder / "first.model")
    before = pretrained if model == "pre.bin" else dict(zip(first.words, first.input, strict=True))
    assert w2vtrain_here(start("more.bin", *more, "--freeze", model=model), folder)[0] == 0
    after = read_vectors(folder / "more.bin")
    kept = before.keys() & set(after.words)
    assert len(kept) > 8
    for word in kept:
        np.testing.assert_array_equal(after.matrix[after.words.index(word)], before[word])


def test_words_of_a_model_can_be_frozen_while_its_vocabulary_grows(folder, w2vtrain_here):
    assert w2vtrain_here(start("more.vec", "--grow-vocabulary", "--freeze"), folder)[0] == 0
    before, after = load_model(folder / "first.model"), load_model(folder / "more.vec.model")
    assert set(after.words) - set(before.words) == {"w12"}
    assert after.counts.sum() == 2 * before.counts.sum()
    rows = [after.words.index(word) for word in before.words]
    np.testing.assert_array_equal(after.input[rows], before.input)
    assert (after.output[rows] != before.output).any()


def stopped_after(slices, monkeypatch, run):
    """Let `run` save a checkpoint and stop after this many slices."""
    calls, due = itertools.count(1), CheckpointedRun.due

    def stopping(self):
        self.stop_requested = self.stop_requested or next(calls) == slices
        return due(self)

    with monkeypatch.context() as patch:
        patch.setattr(CheckpointedRun, "due", stopping)
        code, _, said = run()
    assert code == 75, said


@pytest.mark.parametrize("command", ["fit", "resume"])
def test_a_stopped_run_ends_with_the_same_bytes(folder, w2vtrain_here, monkeypatch, command):
    more = ["--grow-vocabulary", "--checkpoint-every", "0"]
    assert w2vtrain_here(start("whole.vec", *more), folder)[0] == 0
    words = start("more.vec", *more)
    stopped_after(5, monkeypatch, lambda: w2vtrain_here(words, folder))
    code, _, said = w2vtrain_here(words if command == "fit" else ["resume", "more.vec.run"], folder)
    assert code == 0, said
    assert "resumed     from a checkpoint" in said
    assert (folder / "more.vec").read_bytes() == (folder / "whole.vec").read_bytes()
    whole, more = load_model(folder / "whole.vec.model"), load_model(folder / "more.vec.model")
    np.testing.assert_array_equal(more.output, whole.output)
    assert more.record["init_from"] == whole.record["init_from"]


@pytest.mark.parametrize(
    ("model", "more", "which"),
    [
        ("first.model", ["--grow-vocabulary"], "blend"),
        ("first.model", ["--grow-vocabulary", "--freeze"], "in"),
        ("first.model", ["--format", "fasttext"], "in"),
        ("pre.bin", SMALL[2:], "blend"),
        ("pre.bin", [*SMALL[2:], "--grow-vocabulary"], "in"),
    ],
)
def test_export_writes_the_vectors_that_fit_writes_where_blends_are_preferred(
    folder, w2vtrain_here, pretrained, monkeypatch, model, more, which
):
    monkeypatch.setattr("w2vtrain.architectures.contract.Blend.preferred", lambda *_: "blend")  # as with large texts
    stopped_after(5, monkeypatch, lambda: w2vtrain_here(start("more.bin", *more, model=model), folder))
    said = {}
    for asked in ("auto", "in", "blend"):
        words = ["export", "more.bin.run", "-o", f"{asked}.vec", "--export", asked]
        code, _, said[asked] = w2vtrain_here(words, folder)
        assert code == 0, said
    assert (folder / "in.vec").read_bytes() != (folder / "blend.vec").read_bytes()
    assert (folder / "auto.vec").read_bytes() == (folder / f"{which}.vec").read_bytes()
    keeps = model == "pre.bin" and "--grow-vocabulary" in more
    lacking = "auto.vec lacks the 9 other words of pre.bin, which `fit` adds at the end"
    assert (lacking in said["auto"]) is keeps
    assert w2vtrain_here(["resume", "more.bin.run"], folder)[0] == 0
    assert json.loads((folder / "more.bin.json").read_text())["record"]["vectors"] == which


def test_a_stopped_run_with_frozen_words_ends_with_the_same_bytes(folder, w2vtrain_here, monkeypatch, pretrained):
    more = [*SMALL[2:], "--grow-vocabulary", "--freeze", "--checkpoint-every", "0"]
    assert w2vtrain_here(start("whole.bin", *more, model="pre.bin"), folder)[0] == 0
    stopped_after(5, monkeypatch, lambda: w2vtrain_here(start("more.bin", *more, model="pre.bin"), folder))
    code, _, said = w2vtrain_here(["resume", "more.bin.run"], folder)
    assert code == 0, said
    assert (folder / "more.bin").read_bytes() == (folder / "whole.bin").read_bytes()


def test_a_run_resumes_only_with_the_model_that_it_began_with(folder, w2vtrain_here, monkeypatch):
    words = start("more.vec", "--checkpoint-every", "0")
    stopped_after(3, monkeypatch, lambda: w2vtrain_here(words, folder))
    other = load_model(folder / "first.model")
    other.input[3, 1] += 1
    save_model(folder / "first.model", other, force=True)
    code, _, said = w2vtrain_here(words, folder)
    assert code == 65
    assert "first.model, which the run started from, changed since the run began; restore it, or use" in said
    assert w2vtrain_here([*words, "--allow-changed"], folder)[0] == 0


def test_a_run_does_not_resume_with_vectors_that_do_not_fit_it(folder, w2vtrain_here, monkeypatch, pretrained):
    words = start("more.vec", *SMALL[2:], model="pre.bin")
    stopped_after(3, monkeypatch, lambda: w2vtrain_here(words, folder))
    for names, size in ((["a", "b"], 8), (["w1", "w2"], 9)):
        write_vectors(folder / "pre.bin", names, np.eye(2, size, dtype=np.float32), force=True)
        code, _, said = w2vtrain_here(["resume", "more.vec.run"], folder)
        assert (code, "pre.bin, which the run started from, changed since the run began" in said) == (65, True), said
    assert w2vtrain_here([*words, "--force"], folder)[0] == 0


def test_output_vectors_can_be_trained_for_frozen_words(folder, w2vtrain_here):
    words = start("more.vec", "--freeze", "--objective", "softmax")
    code, _, said = w2vtrain_here(words, folder)
    assert code == 0, said
    before, after = load_model(folder / "first.model"), load_model(folder / "more.vec.model")
    np.testing.assert_array_equal(after.input, before.input)
    assert after.output.any()
    code, _, said = w2vtrain_here([*words[:4], *words[6:], "--save-output-vectors", "out.vec", "--force"], folder)
    assert code == 0, said


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"window": 0}, "window: expected a whole number"),
        ({"options": {"negative": -3}}, "option negative of objective neg: -3 is not"),
        ({"architecture": "nosuch"}, "architecture 'nosuch': choose one of"),
    ],
)
def test_invalid_settings_of_a_model_are_reported_with_its_name(folder, w2vtrain_here, settings, message):
    model = load_model(folder / "first.model")
    save_model(folder / "bad.model", replace(model, settings=model.settings | settings))
    fit = ["fit", "second.txt", "-o", "x.vec", "--init-from", "bad.model", "--print-config"]
    for command in (["perplexity", "bad.model", "second.txt"], fit):
        code, _, said = w2vtrain_here(command, folder)
        assert (code, len(said.splitlines())) == (65, 1)
        assert "bad.model: its settings: " in said
        assert message in said


def test_another_start_is_another_run(folder, w2vtrain_here, monkeypatch):
    words = start("more.vec", "--checkpoint-every", "0")
    stopped_after(3, monkeypatch, lambda: w2vtrain_here(words, folder))
    code, _, said = w2vtrain_here([*words, "--grow-vocabulary"], folder)
    assert code == 78
    assert "belongs to another run (grow_vocabulary None, not True)" in said


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (["--init-from", "first.model", "--vector-size", "9"], 78, "vectors of 8 dimensions, not 9"),
        (["--init-from", "first.model", "--read-vocab", "v"], 2, "the model has the vocabulary; leave out --read-v"),
        (["--init-from", "first.model", "--min-count", "9"], 78, "min-count: has no effect on the words of a model"),
        (["--init-from", "first.vec", "--grow-vocabulary", "--export", "out"], 2, "the other words of first.vec have"),
        (["--init-from", "first.vec", "--grow-vocabulary", "--format", "model"], 2, "only words that were trained"),
        (["--init-from", "first.vec", "--freeze", "--weight-decay", "0.1"], 78, "freeze: needs an architecture"),
        (["--freeze"], 2, "freeze: has no effect without --init-from"),
        (
            ["--init-from", "first.model", "--freeze"],
            78,
            "freeze: all words keep their vectors, so none would change: leave out --freeze; --grow-vocabulary adds",
        ),
        (
            ["--init-from", "first.vec", "--freeze", "--min-count", "275"],
            78,
            "so none would change: leave out --freeze; a lower --min-count keeps rare words",
        ),
        (["--init-from", "first.vec", "--freeze", "--export", "out"], 2, "export: --freeze keeps input vectors"),
        (["--init-from", os.devnull], 66, "is a pipe or a device: name a file"),
        (["--init-from", "nowhere"], 66, "nowhere cannot be opened"),
        (["--init-from", "first.txt"], 65, "first.txt"),
        (["--grow-vocabulary"], 2, "has no effect without --init-from"),
        (["--init-from", "first.model", "--save-model", "first.model", "--force"], 2, "is both input and output"),
    ],
)
def test_mistakes_are_reported_before_anything_is_written(folder, w2vtrain_here, more, code, message):
    found, _, said = w2vtrain_here(["fit", "second.txt", "-o", "x.vec", *more], folder)
    assert found == code
    assert message in said.splitlines()[-1]
    assert "standard input" not in said
    assert not list(folder.glob("x.vec*"))
