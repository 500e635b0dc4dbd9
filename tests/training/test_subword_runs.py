"""Runs with subwords: held-out text, saving and loading, warm starts, export of a checkpoint, refusals."""

import copy

import numpy as np
import pytest
from reference import saved

import w2vtrain
from w2vtrain.config import validated
from w2vtrain.errors import ConfigError, DataError
from w2vtrain.formats.subwords import Ngrams, Subwords
from w2vtrain.training.checkpoint_file import Checkpoint
from w2vtrain.training.checkpoint_vectors import vectors_of
from w2vtrain.training.perplexity import perplexity

SETTINGS = {"vector_size": 10, "epochs": 2, "min_count": 1, "sample": 0, "window": 2, "threads": 1, "bucket": 500}


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("subwords") / "text"
    path.write_text("apple apples bee bees bear bears\nbear bat bats apple bee apes\n" * 60)
    return path


@pytest.fixture(scope="module")
def model(text):
    return w2vtrain.train(text, subwords=True, **SETTINGS)


@pytest.mark.parametrize("objective", ["neg", "softmax"])
def test_a_saved_model_has_all_rows_and_scores_the_same(tmp_path, text, objective):
    model = w2vtrain.train(text, subwords=True, objective=objective, heldout=text, **SETTINGS)
    rows, subwords = model.arrays["input_rows"], Subwords.of(model.words, Ngrams(bucket=500))
    assert model.arrays["ngram_buckets"].tolist() == subwords.buckets.tolist()
    np.testing.assert_allclose(model.input, subwords.vectors(rows), atol=1e-6)
    model.save(tmp_path / "model.safetensors")
    loaded = w2vtrain.load_model(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.arrays["input_rows"], rows)
    score = perplexity(model, [str(text)])[0].perplexity
    assert perplexity(loaded, [str(text)])[0].perplexity == pytest.approx(score)
    assert score == pytest.approx(model.record["epochs"][-1]["heldout"]["perplexity"], rel=1e-3)
    found = Checkpoint(1, "run", saved(1), {"input": np.pad(rows, ((0, 0), (0, 6)))})
    settings = validated({**SETTINGS, "subwords": True, "objective": objective})
    np.testing.assert_allclose(vectors_of(found, False, settings, model.words), model.input, atol=1e-6)


def test_the_vectors_of_subword_models_are_input_vectors_however_large_the_text(model):
    assert model.record["vectors"] == "in"
    np.testing.assert_array_equal(model.vectors(), model.input)
    np.testing.assert_array_equal(model.to_keyed_vectors()["applesauce"], model["applesauce"])
    with pytest.raises(KeyError, match="applesauce"):
        model.to_keyed_vectors("out")["applesauce"]


def test_a_run_starts_from_the_rows_of_a_model_by_word_and_by_bucket(tmp_path, text, model):
    (tmp_path / "new").write_text("apple zebra bees zebras lion\n" * 60)
    same = w2vtrain.continue_training(model, text, 1, alpha=1e-9, threads=1)
    np.testing.assert_allclose(same.arrays["input_rows"], model.arrays["input_rows"], atol=1e-5)
    more = w2vtrain.continue_training(model, tmp_path / "new", 1, alpha=1e-9, threads=1, grow_vocabulary=True)
    assert set(more.words) == {*model.words, "zebra", "zebras", "lion"}
    for word in model.words:
        np.testing.assert_allclose(more[word], model[word], atol=1e-5)
    old, new = model.arrays["ngram_buckets"].tolist(), more.arrays["ngram_buckets"].tolist()
    assert set(old) < set(new)
    rows = more.arrays["input_rows"][[len(more.words) + new.index(bucket) for bucket in old]]
    np.testing.assert_allclose(rows, model.arrays["input_rows"][len(model.words) :], atol=1e-5)


def test_a_run_starts_from_a_vector_that_was_changed(text, model):
    changed = copy.deepcopy(model)
    changed.wv["bees"] = np.ones(10)
    more = w2vtrain.continue_training(changed, text, 1, alpha=1e-9, threads=1)
    np.testing.assert_allclose(more.input, changed.input, atol=1e-5)


def test_a_run_without_subwords_starts_from_the_vectors_of_a_model_with_them(text, model):
    plain = w2vtrain.continue_training(model, text, 1, alpha=1e-9, threads=1, subwords=False)
    assert "input_rows" not in plain.arrays
    np.testing.assert_allclose(plain["bees"], model["bees"], atol=1e-5)


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"minn": 2}, "minn: the model has 3, not 2; leave out minn"),
        ({"bucket": 900}, "bucket: the model has 500, not 900"),
        ({"minn": 7}, "minn: 7 is more than maxn, 6"),
    ],
    ids=["other n-grams", "other buckets", "no n-grams"],
)
def test_a_run_with_other_ngrams_does_not_start_from_a_model(text, model, about, message):
    with pytest.raises(ConfigError, match=message):
        w2vtrain.continue_training(model, text, 1, **about)


def test_a_run_with_subwords_does_not_start_from_vectors_without(text, model):
    vectors = w2vtrain.Vectors(model.words, model.input)
    with pytest.raises(ConfigError, match="needs a model that was trained with subwords=True, and not the vectors"):
        w2vtrain.continue_training(vectors, text, subwords=True, **{**SETTINGS, "epochs": 1})


@pytest.mark.parametrize(
    "damage",
    [
        lambda arrays: {"ngram_buckets": arrays["ngram_buckets"][:-1]},
        lambda arrays: {"ngram_buckets": arrays["ngram_buckets"] * 0},
        lambda arrays: {"ngram_buckets": arrays["ngram_buckets"] + 400},
        lambda arrays: {"input_rows": arrays["input_rows"][:-1]},
    ],
    ids=["a bucket missing", "buckets twice", "buckets too large", "a row missing"],
)
def test_a_damaged_model_is_refused(text, model, damage):
    damaged = w2vtrain.Model(
        model.words, model.counts, model.input, model.output, {**model.arrays, **damage(model.arrays)}, model.settings
    )
    with pytest.raises(DataError, match="do not match its settings"):
        perplexity(damaged, [str(text)])
