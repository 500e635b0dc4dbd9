"""The Python API: training, saving and reading without the command line."""

import numpy as np
import pytest

import w2vtrain
from w2vtrain.config import validated
from w2vtrain.errors import ConfigError, DataError, InputMissing
from w2vtrain.text.corpus import Corpus
from w2vtrain.text.encoded import encode
from w2vtrain.text.vocab import Vocabulary
from w2vtrain.training.events import Events
from w2vtrain.training.fit import effective, fit
from w2vtrain.training.inputs import Inputs

LINES = ["red green blue yellow pink", "cat dog cow horse pig", "one two three four five"]
SMALL = {"vector_size": 8, "epochs": 3, "threads": 1, "sample": 0.0}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("api") / "corpus.txt"
    rng = np.random.default_rng(1)
    sentences = [" ".join(rng.choice(LINES[i % 3].split(), 8)) for i in range(900)]
    path.write_text("\n".join(sentences) + "\nrare\n")
    return path


@pytest.fixture(scope="module")
def model(corpus):
    return w2vtrain.train(corpus, **{**SMALL, "epochs": 20, "alpha": 0.1})


def test_train_returns_words_counts_and_vectors(model):
    assert sorted(model.words) == sorted(" ".join(LINES).split())
    assert model.counts.sum() == 900 * 8
    assert model.counts.tolist() == sorted(model.counts.tolist(), reverse=True)
    assert model.input.shape == model.output.shape == (15, 8)
    assert model.input.dtype == np.float32
    assert model.settings["epochs"] == len(model.record["epochs"]) == 20
    assert model.record["epochs"][-1]["loss"] < model.record["epochs"][0]["loss"]


def test_train_learns_which_words_belong_together(model):
    line = np.array([next(i for i, text in enumerate(LINES) if word in text.split()) for word in model.words])
    unit = model.input / np.linalg.norm(model.input, axis=1, keepdims=True)
    similar = unit @ unit.T
    np.fill_diagonal(similar, -1)
    np.testing.assert_array_equal(line[similar.argmax(axis=1)], line)


def test_train_prints_nothing_and_writes_nothing(corpus, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    w2vtrain.train([str(corpus)], **SMALL)
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


def test_a_model_and_its_vectors_are_unchanged_after_saving_and_loading(model, tmp_path):
    w2vtrain.save_model(tmp_path / "model.safetensors", model)
    loaded = w2vtrain.load_model(tmp_path / "model.safetensors")
    assert (loaded.words, loaded.settings) == (model.words, model.settings)
    np.testing.assert_array_equal(loaded.input, model.input)
    for name in ("vectors.txt", "vectors.bin"):
        w2vtrain.write_vectors(tmp_path / name, model.words, model.input)
        vectors = w2vtrain.read_vectors(tmp_path / name)
        assert vectors.words == model.words
        np.testing.assert_array_equal(vectors.matrix, model.input)


def test_event_callbacks_are_called_in_order(corpus):
    seen = []
    events = Events(
        read=lambda ids, seconds: seen.append(("read", ids.words)),
        ready=lambda seconds: seen.append(("ready", 0)),
        training=lambda at: seen.append(("training", at.words)),
    )
    w2vtrain.train(corpus, events=events, **SMALL)
    assert [name for name, _ in seen[:3]] == ["read", "ready", "training"]
    assert seen[0][1] * SMALL["epochs"] == seen[-1][1]


def test_a_given_vocabulary_is_reduced_only_by_min_count_or_max_vocab(corpus):
    vocabulary = Vocabulary(["red", "green", "rare"], np.array([9, 7, 1]))
    assert w2vtrain.train(corpus, vocabulary=vocabulary, **SMALL).words == ["red", "green", "rare"]
    assert w2vtrain.train(corpus, vocabulary=vocabulary, min_count=5, **SMALL).words == ["red", "green"]
    assert w2vtrain.train(corpus, vocabulary=vocabulary, max_vocab=2, **SMALL).words == ["red", "green"]
    with pytest.raises(DataError, match="highest count is 9"):
        w2vtrain.train(corpus, vocabulary=vocabulary, min_count=8, **SMALL)


def test_errors_are_w2verrors_that_name_the_problem(corpus, tmp_path):
    with pytest.raises(ConfigError, match="vector-size: expected a whole number"):
        w2vtrain.train(corpus, vector_size=0)
    with pytest.raises(ConfigError, match="did you mean 'epochs'"):
        w2vtrain.train(corpus, epoch=3)
    with pytest.raises(InputMissing, match="nowhere"):
        w2vtrain.train(tmp_path / "nowhere")
    with pytest.raises(w2vtrain.W2VError):
        w2vtrain.train(corpus, objective="nosuch")


def test_objective_options_appear_in_the_settings_of_the_model(corpus):
    assert w2vtrain.train(corpus, options={"negative": 2}, **SMALL).settings["options"]["negative"] == 2


def test_fit_trains_an_encoded_corpus_from_prepared_weights(corpus):
    settings, _ = effective(validated({**SMALL, "epochs": 1, "alpha": 1e-9, "min_alpha": 1e-9}))
    encoded = encode(Corpus([str(corpus)]), min_count=1)
    views = []

    def prepare(engine):
        engine.state()["input"][:] = 0.25
        views.append(engine.weights().input)

    model = fit(Inputs([str(corpus)], encoded=encoded), settings, prepare=prepare)
    np.testing.assert_allclose(model.input, 0.25, atol=1e-5)
    assert "rare" in model.words  # min_count 5 would have dropped it
    assert np.shares_memory(views[0], model.input)
