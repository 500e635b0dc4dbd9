"""The Python API: training, saving and reading without the command line."""

import numpy as np
import pytest

import w2vtrain
from w2vtrain.config import validated
from w2vtrain.errors import ConfigError, DataError, InputMissing, TokenError
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


def sentences_of(path):
    return [line.split() for line in path.read_text().splitlines()]


def same_model(one, other):
    return one.words == other.words and all(
        getattr(one, name).tobytes() == getattr(other, name).tobytes() for name in ("counts", "input", "output")
    )


def test_sentences_from_python_train_the_same_model_as_a_file(corpus, model):
    settings = {**SMALL, "epochs": 20, "alpha": 0.1}
    assert same_model(w2vtrain.train(sentences_of(corpus), **settings), model)
    assert same_model(w2vtrain.train(iter(sentences_of(corpus)), **settings), model)
    assert not same_model(w2vtrain.train(sentences_of(corpus)[::-1], **settings), model)


def test_an_iterable_is_read_once_for_all_epochs_and_heldout_text_may_be_one(corpus):
    class Once:
        passes = 0

        def __iter__(self):
            self.passes += 1
            return iter(sentences_of(corpus))

    text, heldout = Once(), Once()
    model = w2vtrain.train(text, heldout=heldout, **SMALL)
    assert (text.passes, heldout.passes) == (1, 1)
    assert "heldout" in model.record["epochs"][-1]
    assert same_model(w2vtrain.train(corpus, heldout=str(corpus), **SMALL), model)


def test_words_with_spaces_are_trained_and_saved_in_models_but_not_as_vectors(corpus, tmp_path):
    renamed = [[word.replace("blue", "sky blue") for word in words] for words in sentences_of(corpus)]
    model = w2vtrain.train(renamed, **SMALL)
    assert "sky blue" in model.words
    w2vtrain.save_model(tmp_path / "model.safetensors", model)
    loaded = w2vtrain.load_model(tmp_path / "model.safetensors")
    assert same_model(loaded, model)
    assert w2vtrain.read_vectors(tmp_path / "model.safetensors").words == model.words
    with pytest.raises(DataError, match="'sky blue' contains white space: such a word could not be read back"):
        w2vtrain.write_vectors(tmp_path / "vectors.txt", model.words, model.input)
    with pytest.raises(DataError, match="'sky blue' contains white space"):
        Vocabulary(model.words, model.counts).save(tmp_path / "vocabulary.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]
    with pytest.raises(DataError, match="'sky blue' of the vocabulary cannot occur in text files, where white space"):
        w2vtrain.train(renamed, heldout=corpus, **SMALL)


def test_words_that_no_file_can_store_are_trained_and_refused_when_saved(tmp_path):
    for word in ("", "a\nb", "\ud800"):
        model = w2vtrain.train([["x", word, "y"]] * 9, **SMALL)
        assert set(model.words) == {"x", word, "y"}
        with pytest.raises(DataError, match=r"word .*(is empty|contains a newline|contains an unpaired surrogate)"):
            w2vtrain.save_model(tmp_path / "model.safetensors", model)
    assert not list(tmp_path.iterdir())


def test_what_is_neither_paths_nor_lists_of_words_is_refused(corpus):
    assert w2vtrain.train((str(corpus), corpus), **SMALL).counts.sum() == 900 * 8 * 2
    for wrong, message in (
        ([str(corpus), ["a", "b"]], r"item 1 is \['a', 'b'\], although item 0 is a path"),
        ([["a", "b"], str(corpus)], r"sentences\[1\] is .*: each sentence must be a list of words"),
        ((path for path in [corpus]), r"sentences\[0\] is .*: each sentence must be a list of words"),
        (7, "expected an iterable of sentences, each of them a list of words, got 7"),
    ):
        with pytest.raises(TokenError, match=message):
            w2vtrain.train(wrong, **SMALL)


def test_an_exception_of_the_iterable_reaches_the_caller(corpus):
    def broken():
        yield from sentences_of(corpus)
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        w2vtrain.train(broken(), **SMALL)
