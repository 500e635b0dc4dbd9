"""Inference: vectors of new documents, which depend on their words and the model alone."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from test_documents import FLAGS, SMALL, same_topic, topics

import w2vtrain
from w2vtrain.errors import ConfigError, DataError, ResourceError
from w2vtrain.leaves.documents.inference import Inference
from w2vtrain.text.token_lists import Sentences
from w2vtrain.training import memory_and_disk


def trained(rng, architecture, objective, epochs=20):
    documents = topics(rng, 160)
    settings = SMALL | {"epochs": epochs}
    return w2vtrain.train(w2vtrain.Documents(documents), architecture=architecture, objective=objective, **settings), [
        words for words, _ in documents
    ]


@pytest.mark.parametrize(
    ("architecture", "objective"),
    [
        *(("pv-dbow", name) for name in ("neg", "softmax", "sampled-softmax", "target")),
        *[("pv-dm", "neg"), ("pv-dm-sum", "softmax"), ("pv-dm-concat", "neg")],
        *(pytest.param(*pair, marks=pytest.mark.slow) for pair in [("pv-dm", "hs"), ("pv-dbow-words", "neg")]),
    ],
)
def test_a_vector_depends_on_the_text_alone(rng, architecture, objective):
    model, texts = trained(rng, architecture, objective, 3)
    texts[3] = ["unknown"]
    before = [array.copy() for array in (model.input, model.output, *model.arrays.values())]
    vectors, known = Inference(model).vectors(Sentences(texts))
    again = Inference(model)
    backwards, _ = again.vectors(Sentences(texts[::-1]), threads=2)
    alone, _ = again.vectors(Sentences(texts[7:8]))
    np.testing.assert_array_equal(vectors, backwards[::-1])
    np.testing.assert_array_equal(vectors[7], alone[0])
    assert known.tolist() == [30] * 3 + [0] + [30] * 156
    assert not vectors[3].any()
    assert np.abs(vectors).max(axis=1).min(where=known > 0, initial=1) > 0
    for old, new in zip(before, (model.input, model.output, *model.arrays.values()), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize(
    ("architecture", "objective"), [("pv-dbow", "neg"), ("pv-dbow", "softmax"), ("pv-dm", "neg"), ("pv-dm-sum", "neg")]
)
def test_a_training_document_finds_its_topic(rng, architecture, objective):
    model, texts = trained(rng, architecture, objective, 40)
    vectors, _ = Inference(model).vectors(Sentences(texts))
    nearest = [model.dv.similar_by_vector(vector, topn=1) for vector in vectors[:40]]
    assert same_topic(nearest) > 0.9


def test_inference_is_gradient_descent_on_the_loss_of_the_document(rng):
    """With the softmax and without subsampling, one small step is the gradient of the loss, summed over the words."""
    model, texts = trained(rng, "pv-dbow", "softmax", 5)
    index = {word: row for row, word in enumerate(model.words)}
    ids = [index[word] for word in texts[0]]
    bias = model.arrays.get("bias", np.zeros(len(model.words)))
    vectors, _ = Inference(model).vectors(Sentences(texts[:1]), epochs=1, alpha=1e-4, min_alpha=1e-4)
    p = np.exp(bias - bias.max())
    p /= p.sum()
    expected = sum(model.output[word] - p @ model.output for word in ids) * 1e-4
    np.testing.assert_allclose(vectors[0], expected, rtol=0.02, atol=1e-7)


def test_other_processes_infer_the_same(rng, tmp_path):
    model, texts = trained(rng, "pv-dm", "neg", 2)
    model.save(tmp_path / "m.safetensors")
    (tmp_path / "new.txt").write_text("".join(" ".join(words) + "\n" for words in texts[:20]))
    command = [sys.executable, "-m", "w2vtrain", "infer", "m.safetensors", "new.txt", "-o", "v.npz", "--threads", "2"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = w2vtrain.read_vectors(tmp_path / "v.npz")
    assert found.words == [str(line) for line in range(1, 21)]
    expected, _ = Inference(model).vectors(Sentences(texts[:20]))
    np.testing.assert_array_equal(found.matrix, expected)


def test_infer_names_lines_without_known_words(w2vtrain_here, rng, tmp_path, monkeypatch):
    (tmp_path / "text.txt").write_text("".join(" ".join(words) + "\n" for words, _ in topics(rng, 40)))
    (tmp_path / "new.txt").write_text("w1 w2\n\nnothing known\n")
    flags = ["--save-model", "m.safetensors", "-o", "d.txt", *FLAGS]
    assert w2vtrain_here(["fit", "text.txt", "--documents", *flags], tmp_path)[0] == 0
    code, _, said = w2vtrain_here(["infer", "m.safetensors", "new.txt", "-o", "v.txt"], tmp_path)
    assert code == 0, said
    assert "2 of 3 lines have no known word" in said
    assert w2vtrain.read_vectors(tmp_path / "v.txt").matrix.any(axis=1).tolist() == [True, False, False]
    (tmp_path / "unknown.txt").write_text("nothing\nknown\n")
    code, _, said = w2vtrain_here(["infer", "m.safetensors", "unknown.txt", "-o", "zeros.txt"], tmp_path)
    assert code == 0, said
    assert "2 of 2 lines have no known word" in said
    assert not w2vtrain.read_vectors(tmp_path / "zeros.txt").matrix.any()
    (tmp_path / "nul.txt").write_bytes(b"w1\0w2\n")
    words = ["infer", "m.safetensors", "nul.txt", "-o", "nul.vectors.txt"]
    code, _, said = w2vtrain_here(words, tmp_path)
    assert (code, "--allow-nul" in said) == (65, True), said
    code, _, said = w2vtrain_here([*words, "--allow-nul"], tmp_path)
    assert (code, "from 2 words" in said) == (0, True), said
    monkeypatch.setenv("W2VTRAIN_EPOCHS", "7")
    assert w2vtrain_here([*words, "--allow-nul", "--force"], tmp_path)[0] == 0
    inferred = Inference(w2vtrain.load_model(tmp_path / "m.safetensors")).vector(["w1", "w2"], 7)[0]
    np.testing.assert_allclose(w2vtrain.read_vectors(tmp_path / "nul.vectors.txt").matrix[0], inferred, rtol=1e-5)
    code, _, said = w2vtrain_here(["infer", "m.safetensors", "new.txt", "-o", "v.txt"], tmp_path)
    assert code == 73
    assert "v.txt" in said


def test_the_table_of_phrases_is_named_again(w2vtrain_here, tmp_path):
    """The model names one, but another may be there now."""
    (tmp_path / "text.txt").write_text("new york is a city\n" * 40)
    assert w2vtrain_here(["phrases", "text.txt", "--threshold", "0", "--save-table", "t.tsv"], tmp_path)[0] == 0
    flags = ["--phrases", "t.tsv", "--save-model", "m.safetensors", "-o", "d.txt", *FLAGS]
    assert w2vtrain_here(["fit", "text.txt", "--documents", *flags], tmp_path)[0] == 0
    words = ["infer", "m.safetensors", "text.txt", "-o", "v.txt"]
    code, _, said = w2vtrain_here(words, tmp_path)
    assert (code, "phrases: the model was trained with phrases: name their table, 't.tsv'" in said) == (78, True), said
    code, _, said = w2vtrain_here([*words, "--phrases", "t.tsv"], tmp_path)
    assert code == 0, said


def test_rows_of_several_lines_are_one_document(w2vtrain_here, tmp_path):
    (tmp_path / "t.jsonl").write_text('{"text": "a b\\nc"}\n{"text": "c\\n\\na"}\n')
    flags = ["--save-model", "m.safetensors", "-o", "d.txt", *FLAGS]
    assert w2vtrain_here(["fit", "t.jsonl", "--documents", "--column", "text", *flags], tmp_path)[0] == 0
    code, _, said = w2vtrain_here(["infer", "m.safetensors", "t.jsonl", "--column", "text", "-o", "v.txt"], tmp_path)
    assert code == 0, said
    assert w2vtrain.read_vectors(tmp_path / "v.txt").words == ["1", "2"]


@pytest.fixture(scope="module")
def model():
    documents = [(["a", "b", "a"], ["1"]), (["b", "c"], ["2"])]
    return w2vtrain.train(w2vtrain.Documents(documents), **SMALL | {"architecture": "pv-dbow", "epochs": 1})


def test_a_text_of_frequent_words_alone_is_learned_without_subsampling(model):
    rare, all_kept = (Inference(replace(model, settings=model.settings | {"sample": x})) for x in (1e-12, 0.0))
    vectors, _ = rare.vectors(Sentences([["a"], ["unknown"], ["c", "b"]]))
    assert vectors.any(axis=1).tolist() == [True, False, True]
    np.testing.assert_array_equal(vectors[2], all_kept.vector(["c", "b"])[0])


def test_an_alpha_below_the_last_rate_of_the_model_is_constant(model):
    inference = Inference(model)
    found, expected = (inference.vector(["a", "b"], 9, 1e-7, last)[0] for last in (None, 1e-7))
    np.testing.assert_array_equal(found, expected)


def test_rates_that_rise_are_refused(model):
    rate = model.settings["alpha"] * 2
    with pytest.raises(ConfigError, match=f"^min_alpha: {rate} is more than alpha, "):
        Inference(model).vectors(Sentences([["a", "b"]]), min_alpha=rate)


def test_progress_is_reported(model):
    told = []
    Inference(model).vectors(Sentences([["a", "b"]] * 70), threads=2, on_learned=lambda *some: told.append(some))
    assert told[-1] == (70, 70)


def test_too_little_memory_is_reported_before_it_is_taken(model, monkeypatch):
    monkeypatch.setattr(memory_and_disk, "UNCHECKED_BYTES", 0)
    monkeypatch.setattr(memory_and_disk, "available_memory", lambda: 10)
    with pytest.raises(ResourceError, match=r"2 documents need .* infer the vectors of fewer at a time"):
        Inference(model).vectors(Sentences([["a", "b"], ["b"]]))


def test_invalid_settings_are_reported_with_the_model(model):
    for settings in ({"window": 0}, {"options": {"negative": -3}}, {"architecture": "skipgram"}):
        bad = replace(model, settings=model.settings | settings, name="bad.model")
        with pytest.raises(DataError, match=r"^bad\.model: "):
            Inference(bad)


def test_a_model_of_words_cannot_infer():
    with pytest.raises(DataError, match="has no vectors of documents"):
        Inference(w2vtrain.train([["a", "b", "a"]], **SMALL))
