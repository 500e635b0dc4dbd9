"""Tests of Word2Vec: it trains what `train` trains, and behaves as gensim's users expect."""

import copy
import importlib.metadata
import inspect
import logging
import pickle
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas
import pytest
from prepared import prepared

import w2vtrain
from w2vtrain import CallbackAny2Vec, Doc2Vec, FastText, TaggedDocument, Word2Vec
from w2vtrain.config import validated
from w2vtrain.embeddings.model import save_model
from w2vtrain.errors import ConfigError
from w2vtrain.leaves.gensim.corpora import Reading
from w2vtrain.leaves.gensim.learning import TrainCall, span
from w2vtrain.leaves.gensim.word_choice import share
from w2vtrain.text.token_lists import Sentences
from w2vtrain.training.inputs import Inputs
from w2vtrain.training.perplexity import perplexity
from w2vtrain.training.plan import Plan
from w2vtrain.training.trainer import trained

LINES = ["red green blue yellow pink", "cat dog cow horse pig", "one two three four five"]
RNG = np.random.default_rng(1)
SENTENCES = [RNG.choice(LINES[i % 3].split(), 2 + i % 7).tolist() for i in range(900)]
SMALL = {"vector_size": 8, "epochs": 3, "workers": 1, "sample": 0, "min_count": 1, "sg": 1}
NEW = [["cat", "ape", "bird"], ["ape", "bird", "bird"]] * 20
EMPTY = {name: value for name, value in SMALL.items() if name != "epochs"}

READING = Reading(Sentences([]), None, sentences=5, words=10)


@pytest.fixture
def model():
    return Word2Vec(SENTENCES, **SMALL)


def vectors_by_word(model):
    return {word: model.wv[word].tolist() for word in model.wv.index_to_key}


def double(engine):
    engine.state()["input"] *= 2  # gensim's initial vectors are uniform in ±1/d, not in ±1/(2d)


@pytest.mark.parametrize(
    "options, same",
    [
        ({}, {"objective": "neg"}),
        ({"sg": 0}, {"objective": "neg", "architecture": "cbow"}),
        ({"hs": 1, "negative": 0}, {"objective": "hs"}),
        ({"hs": 1}, {"objective": "hs-neg"}),
    ],
)
def test_word2vec_trains_the_same_weights_as_train(options, same):
    mine = Word2Vec(SENTENCES, **{**SMALL, **options})
    settings = {
        "vector_size": 8,
        "epochs": 3,
        "threads": 1,
        "sample": 0,
        "min_count": 1,
        "alpha": 0.025,
        "min_alpha": 1e-4,
    }
    settings |= same
    theirs = trained(Plan.of(Inputs(Sentences(SENTENCES)), validated(settings)), make=prepared(double)).model()
    np.testing.assert_array_equal(mine.wv.vectors, theirs.input)
    np.testing.assert_array_equal(mine.to_model().output, theirs.output)
    losses = [epoch["loss"] * epoch["examples"] for epoch in theirs.record["epochs"]]
    assert mine.get_latest_training_loss() == pytest.approx(sum(losses), rel=1e-12)


@pytest.mark.parametrize("options", [{"sg": 1}, {"sg": 0}], ids=str)
def test_a_small_step_changes_the_vectors_as_gensims_does(options):
    """Hierarchical softmax draws no random numbers, so only terms of the second order in the rate differ."""
    gensim = pytest.importorskip("gensim.models", reason="gensim has no wheel for this Python")
    settings = {"vector_size": 6, "min_count": 1, "hs": 1, "negative": 0, "sample": 0, "workers": 1, **options}
    text, models = [list("abacabadabacaba")], []  # counts of 8, 4, 2 and 1 have only one tree
    for kind in (gensim.Word2Vec, Word2Vec):
        model = kind(**settings, shrink_windows=False, window=2)
        model.build_vocab(text)
        models.append(model)
    theirs, mine = models
    before = np.random.default_rng(2).normal(size=(4, 6)).astype(np.float32)
    for word, vector in zip("abcd", before, strict=True):
        for model in models:
            model.wv.vectors[model.wv.key_to_index[word]] = vector
    # Nodes begin as zeros, and a second call moves the vectors: gensim numbers nodes and turns in another way.
    for model in models:
        model.train(text, total_examples=1, epochs=1, start_alpha=0.01, end_alpha=0.01)
        model.train(text, total_examples=1, epochs=1, start_alpha=0.01, end_alpha=0.01)
    for word, vector in zip("abcd", before, strict=True):
        change = theirs.wv[word] - vector
        np.testing.assert_allclose(mine.wv[word] - vector, change, rtol=0.05, atol=0.05 * np.abs(change).max())


def test_a_generator_a_file_and_a_list_train_the_same_vectors(model, tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(map(" ".join, SENTENCES)) + "\n")
    for corpus in ({"sentences": iter(SENTENCES)}, {"corpus_file": path}, {"sentences": w2vtrain.LineSentence(path)}):
        np.testing.assert_array_equal(Word2Vec(**corpus, **SMALL).wv.vectors, model.wv.vectors)


def test_building_and_training_in_steps_equals_the_constructor_and_reads_a_generator_once(model):
    generator = (sentence for sentence in SENTENCES)
    steps = Word2Vec(**SMALL)
    steps.build_vocab(generator)
    assert next(generator, None) is None
    assert steps.wv.vectors.shape == steps.syn1neg.shape == (15, 8)
    steps.train(generator, total_examples=900, epochs=3)
    np.testing.assert_array_equal(steps.wv.vectors, model.wv.vectors)
    np.testing.assert_array_equal(steps.syn1neg, model.syn1neg)


@pytest.mark.parametrize("options", [{}, {"sorted_vocab": 0, "hs": 1}], ids=str)
def test_a_generator_serves_until_the_order_of_the_counts_changes(options):
    """Counts that are set matter to noise words and to subsampling, in the same way as for a list."""
    corpora = SENTENCES, iter(SENTENCES), iter(SENTENCES)
    models = [Word2Vec(**SMALL, **options) for _ in corpora]
    for each, corpus, count in zip(models, corpora, (9999, 9999, 1), strict=True):
        each.build_vocab(corpus)
        most = each.wv.index_to_key[np.argmax(each.wv.expandos["count"])]
        each.wv.set_vecattr(most, "count", count)
    for each, corpus in zip(models[:2], corpora, strict=False):
        each.train(corpus, total_examples=900, epochs=3)
    assert vectors_by_word(models[0]) == vectors_by_word(models[1])
    with pytest.raises(RuntimeError, match=r"order by count and the tags have not changed since$"):
        models[2].train(corpora[2], total_examples=900, epochs=3)


def test_words_in_the_order_of_the_text_get_the_same_vectors(model):
    unsorted = Word2Vec(SENTENCES, **SMALL, sorted_vocab=0)
    first = list(dict.fromkeys(word for sentence in SENTENCES for word in sentence))
    assert unsorted.wv.index_to_key == first != model.wv.index_to_key
    assert vectors_by_word(unsorted) == vectors_by_word(model)
    again = {word: unsorted.syn1neg[unsorted.wv.key_to_index[word]].tolist() for word in first}
    assert again == {word: model.syn1neg[i].tolist() for i, word in enumerate(model.wv.index_to_key)}


def test_an_update_adds_words_and_counts_and_keeps_the_vectors(model):
    before, count = vectors_by_word(model), model.wv.get_vecattr("cat", "count")
    outputs = model.syn1neg.copy()
    model.build_vocab(NEW, update=True)
    assert model.wv.index_to_key[15:] == ["ape", "bird"]
    assert {word: vector for word, vector in vectors_by_word(model).items() if word in before} == before
    np.testing.assert_array_equal(model.syn1neg, np.vstack([outputs, np.zeros((2, 8))]))
    assert model.wv.get_vecattr("cat", "count") == count + 20
    assert model.wv.get_vecattr("bird", "count") == 60
    assert 0 < np.abs(model.wv["ape"]).max() <= 1 / 8
    words, total = model.train(NEW, total_examples=40, epochs=30, start_alpha=0.05)
    assert (words, total) == (40 * 3 * 30, 40 * 3 * 30)
    assert model.wv["red"].tolist() == before["red"]  # it is no context word of NEW
    assert model.wv.similarity("ape", "bird") > model.wv.similarity("ape", "red")


def test_train_returns_how_many_words_of_its_own_corpus_subsampling_keeps():
    model = Word2Vec(vector_size=8, sample=1e-3)
    model.build_vocab_from_freq({"the": 10**6, "red": 9, "green": 9})
    assert model.train([["red", "green"]] * 50, total_examples=50, epochs=2) == (200, 200)
    assert model.train([["red", "the"]] * 50, total_examples=50, epochs=2) == (104, 200)  # 3.3% of "the"


def test_the_nodes_of_a_tree_start_at_zero_after_an_update():
    model = Word2Vec(SENTENCES, **SMALL, hs=1)
    outputs = model.syn1neg.copy()
    assert model.syn1.any()
    model.build_vocab(NEW, update=True)
    assert model.syn1.shape == (17, 8)
    assert not model.syn1.any()
    np.testing.assert_array_equal(model.syn1neg[:15], outputs)


def test_calls_of_train_draw_different_random_numbers(model):
    seeds = []
    for _ in range(2):
        seeds.append(TrainCall(1, 0.1, 0.1, 1, None, None, 0).settings(model, READING).seed)
        model.train(SENTENCES, total_examples=900, epochs=1)
    assert len({*seeds, model.seed}) == 3
    assert model.to_model().settings["seed"] == model.seed


@pytest.mark.parametrize("hs, negative", [(0, 5), (1, 0), (1, 5)])
@pytest.mark.parametrize("sorted_vocab", [0, 1])
def test_a_saved_model_is_loaded_and_trained_on(hs, negative, sorted_vocab, tmp_path):
    options = {"hs": hs, "negative": negative, "sorted_vocab": sorted_vocab, "comment": "small"}
    model, path = Word2Vec(SENTENCES, **{**SMALL, **options}), str(tmp_path / "model")
    model.build_vocab(NEW, update=True)
    model.save(path)
    again = Word2Vec.load(path)
    assert vectors_by_word(again) == vectors_by_word(model)
    assert (again.wv.index_to_key, again.comment, again.alpha) == (model.wv.index_to_key, "small", model.alpha)
    for each in (model, again):
        each.train(NEW, total_examples=40, epochs=2)
    assert vectors_by_word(again) == vectors_by_word(model)
    assert w2vtrain.load_model(path).settings["objective"] in ("neg", "hs", "hs-neg")


def test_a_model_without_counts_is_not_trained():
    model = Word2Vec(SENTENCES, **SMALL)
    model.wv.expandos["count"] = np.zeros(len(model.wv), np.int64)
    with pytest.raises(RuntimeError, match="all words of wv have the count 0: set their counts"):
        model.train(SENTENCES, total_examples=900, epochs=1)


def test_a_model_of_fit_is_loaded(tmp_path):
    path = tmp_path / "model.safetensors"
    theirs = w2vtrain.train(
        SENTENCES, architecture="cbow", vector_size=8, epochs=1, min_count=1, options={"negative": 7}
    )
    w2vtrain.save_model(path, theirs)
    model = Word2Vec.load(path)
    assert (model.corpus_count, model.corpus_total_words) == (len(SENTENCES), sum(map(len, SENTENCES)))
    assert (model.sg, model.cbow_mean, model.hs, model.negative, model.window) == (0, 1, 0, 7, 5)
    np.testing.assert_array_equal(model.wv.vectors, theirs.input)
    model.train(SENTENCES, total_examples=900, epochs=1)


def test_how_the_text_of_a_loaded_model_was_read_is_said_to_be_lost(tmp_path, caplog):
    model = w2vtrain.train(SENTENCES, vector_size=4, epochs=1, min_count=1)
    model.settings.update(tokenizer="simple", phrases="pairs.tsv")
    model.save(tmp_path / "model")
    Word2Vec.load(tmp_path / "model")
    line = "tokenizer='simple' and phrases='pairs.tsv' is not kept: pass sentences of words such as those in wv"
    assert caplog.messages == [f"{tmp_path / 'model'}: {line}"]


def test_files_that_are_no_models_are_refused(tmp_path, model):
    other = tmp_path / "other"
    w2vtrain.save_model(other, w2vtrain.train(SENTENCES, objective="softmax", vector_size=4, epochs=1, min_count=1))
    with pytest.raises(AttributeError, match="skipgram with softmax is no model of Word2Vec"):
        Word2Vec.load(other)
    model.wv.save(str(tmp_path / "vectors"))
    with pytest.raises(AttributeError, match="vectors"):
        Word2Vec.load(tmp_path / "vectors")
    with pytest.raises(FileNotFoundError):
        Word2Vec.load(tmp_path / "missing")
    with pytest.raises(AttributeError, match=r"Word2Vec.load\(path\)"):
        model.load(str(other))
    with pytest.raises(RuntimeError, match="no vocabulary"):
        Word2Vec().save(str(tmp_path / "empty"))
    with pytest.raises(RuntimeError, match="no vocabulary"):
        Word2Vec().to_model()


def test_callbacks_see_each_epoch_and_the_current_vectors():
    class Recorder(w2vtrain.CallbackAny2Vec):
        def __init__(self):
            self.calls, self.vectors, self.losses = [], [], []

        def on_train_begin(self, model):
            self.calls.append("train")

        def on_epoch_begin(self, model):
            self.calls.append("begin")

        def on_epoch_end(self, model):
            self.calls.append("end")
            self.vectors.append(model.wv["red"].copy())
            self.losses.append(model.get_latest_training_loss())

        def on_train_end(self, model):
            self.calls.append("done")

    for options in ({}, {"sorted_vocab": 0}):
        seen = Recorder()
        model = Word2Vec(SENTENCES, **SMALL, **options, callbacks=[seen])
        assert seen.calls == ["train", "begin", "end", "begin", "end", "begin", "end", "done"]
        assert (seen.vectors[0] != seen.vectors[1]).all()
        np.testing.assert_array_equal(seen.vectors[2], model.wv["red"])
        assert 0 < seen.losses[0] < seen.losses[1] < seen.losses[2] == model.get_latest_training_loss()
    single = Word2Vec(**SMALL)
    single.build_vocab([["red"]])
    for each, text in ((model, [["unknown"]]), (single, [["red"]])):
        seen = Recorder()
        each.train(text, total_examples=1, epochs=2, callbacks=[seen])
        assert seen.calls == ["train", "begin", "end", "begin", "end", "done"]


@pytest.mark.parametrize("callbacks", [print, [print], [CallbackAny2Vec(), SimpleNamespace(on_epoch_ended=print)]])
def test_what_is_no_callback_is_refused_before_the_text_is_read(callbacks):
    with pytest.raises(AttributeError, match="is no callback: it has none of the methods on_train_begin"):
        Word2Vec(SENTENCES, **SMALL).train(None, total_examples=900, epochs=1, callbacks=callbacks)


@pytest.mark.parametrize("callbacks", [None, [None]])
def test_none_is_no_callback_and_no_error(callbacks):
    Word2Vec(SENTENCES, **SMALL, callbacks=callbacks)


def test_a_model_with_blends_is_loaded_with_a_warning(tmp_path, caplog):
    trained = Word2Vec(SENTENCES, **SMALL).to_model()
    for vectors in ("in", "blend"):
        save_model(tmp_path / vectors, replace(trained, record={"vectors": vectors}))
        loaded = Word2Vec.load(tmp_path / vectors)
        np.testing.assert_array_equal(loaded.wv.vectors, trained.input)
    (message,) = [record.getMessage() for record in caplog.records if "blends" in record.getMessage()]
    assert message.startswith(f"{tmp_path / 'blend'}: the file has blends of input and output vectors;")


def test_a_name_of_a_file_in_place_of_sentences_is_refused_with_the_parameter_for_it():
    with pytest.raises(TypeError, match="not str: pass the name of a file as corpus_file"):
        Word2Vec("text.txt")


def test_an_exception_in_a_callback_ends_training_and_keeps_the_weights():
    class Enough(Exception):
        pass

    class Stopping:
        def on_epoch_end(self, model):
            raise Enough

    for options in ({}, {"sorted_vocab": 0}):
        model = Word2Vec(**SMALL, **options)
        model.build_vocab(SENTENCES)
        before = model.wv.vectors.copy()
        with pytest.raises(Enough):
            model.train(SENTENCES, total_examples=900, epochs=3, callbacks=[Stopping()])
        assert not np.allclose(model.wv.vectors, before)


def test_locked_vectors_do_not_change():
    for options in ({}, {"sorted_vocab": 0, "hs": 1, "negative": 0}):
        model = Word2Vec(**SMALL, **options)
        model.build_vocab(SENTENCES)
        before = vectors_by_word(model)
        model.wv.vectors_lockf = np.ones(15, np.float32)
        model.wv.vectors_lockf[model.wv.key_to_index["cow"]] = 0
        model.train(SENTENCES, total_examples=900, epochs=2)
        same = [word for word, vector in vectors_by_word(model).items() if vector == before[word]]
        assert same == ["cow"]
        model.wv.add_vector("new", np.ones(8))
        model.wv.key_to_index["newer"] = len(model.wv)
        model.wv.index_to_key.append("newer")
        model.wv.resize_vectors()
        added = model.wv[["new", "newer"]]
        model.train([["new", "cow", "red", "newer"]] * 9, total_examples=9, epochs=1)
        assert model.wv["cow"].tolist() == before["cow"]
        assert (model.wv[["new", "newer"]] != added).any(axis=1).all()
    model.wv.vectors_lockf[0] = 0.5
    with pytest.raises(NotImplementedError, match="vectors_lockf"):
        model.train(SENTENCES, total_examples=900, epochs=1)


class Calling:
    """A callback that calls a function of the model at the end of the first epoch."""

    def __init__(self, change):
        self.change = change

    def on_epoch_end(self, model):
        self.change(model)
        self.change = lambda _: None


@pytest.mark.parametrize("options", [{}, {"sorted_vocab": 0}, {"workers": 3}], ids=str)
def test_a_callback_may_lock_vectors_and_change_those_that_are_locked(options):
    def change(model):
        model.wv.vectors_lockf = (np.array(model.wv.index_to_key) != "cow").astype(np.float32)
        model.wv["cow"] = np.arange(8)
        released.append(model.wv["red"].copy())

    released = []
    model = Word2Vec(**{**SMALL, **options})
    model.build_vocab(SENTENCES)
    model.wv.vectors_lockf = (np.array(model.wv.index_to_key) != "red").astype(np.float32)
    before = model.wv["red"].tolist()
    model.train(SENTENCES, total_examples=900, epochs=3, callbacks=[Calling(change)])
    assert model.wv["cow"].tolist() == list(range(8))
    assert released[0].tolist() == before != model.wv["red"].tolist()


@pytest.mark.parametrize("options", [{}, {"reread": True}], ids=str)
def test_a_callback_that_changes_the_rate_of_a_later_epoch_is_refused(options):
    model = Word2Vec(SENTENCES, **SMALL, **options)
    for name in ("alpha", "min_alpha"):
        first, last = (Calling(lambda model, name=name: setattr(model, name, 0.01)) for _ in range(2))
        with pytest.raises(RuntimeError, match=r"^a callback has changed alpha or min_alpha.*start_alpha"):
            model.train(SENTENCES, total_examples=900, epochs=2, callbacks=[first])
        model.train(SENTENCES, total_examples=900, epochs=1, callbacks=[last])
        assert getattr(model, name) == 0.01


@pytest.mark.parametrize("sorted_vocab", [0, 1])
def test_vectors_that_are_read_only_are_trained(sorted_vocab, tmp_path):
    model = Word2Vec(SENTENCES, **SMALL, sorted_vocab=sorted_vocab)
    model.wv.save(str(tmp_path / "vectors"))
    model.wv = w2vtrain.KeyedVectors.load(tmp_path / "vectors", mmap="r")
    before = vectors_by_word(model)
    model.train(SENTENCES, total_examples=900, epochs=1)
    assert all(vector != before[word] for word, vector in vectors_by_word(model).items())


def test_vectors_may_be_set_before_training():
    model = Word2Vec(**SMALL)
    model.build_vocab(SENTENCES)
    model.wv.vectors[3] = 0.7
    model.train(SENTENCES, total_examples=900, epochs=1, start_alpha=1e-7, end_alpha=1e-7)
    np.testing.assert_allclose(model.wv.vectors[3], 0.7, atol=1e-4)


def test_max_vocab_size_prunes_as_gensim_does():
    """The counts are those that gensim's documentation of pruning implies: see its test_prune_vocab."""
    text = [["graph", "system"], ["graph", "system"], ["system", "eps"], ["graph", "system"], ["m", "s", "m", "s", "m"]]
    for corpus in (text, (sentence for sentence in text)):
        model = Word2Vec(vector_size=4, min_count=0, max_vocab_size=2)
        model.build_vocab(corpus, keep_raw_vocab=True)
        assert model.raw_vocab == {"graph": 3, "system": 4, "m": 3}
        assert sorted(model.wv.index_to_key) == ["graph", "m", "system"]


def test_trim_rules_and_limits_choose_the_words(caplog):
    def rule(word, count, min_count):
        return {"red": 1, "rare": 2}.get(word, 0)  # discard, keep, default

    model = Word2Vec(**{**SMALL, "min_count": 100})
    model.build_vocab([*SENTENCES, ["rare"]], trim_rule=rule)
    assert "rare" in model.wv
    assert "red" not in model.wv
    some = Word2Vec(**{**SMALL, "min_count": 100})
    rules = {"trim_rule": lambda word, count, min_count: 1 if word == "red" else None, "min_count": 2, "sample": 0.5}
    some.build_vocab([*SENTENCES, ["rare"]], **rules)
    assert len(some.wv) == 14  # whatever else a rule returns means the default
    assert (some.min_count, some.sample) == (2, 0.5)
    unread = iter(SENTENCES)
    for name in ("min_count", "sample"):
        with pytest.raises(ValueError, match=f"{name} must be at least 0"):
            some.build_vocab(unread, **{name: -1})
    wordless = Word2Vec(**SMALL)
    for words, lacking in (([], "vocabulary"), (["pretrained"], "weights")):
        wordless.wv.add_vectors(words, np.ones((len(words), 8)))
        with pytest.raises(RuntimeError, match=f"no {lacking} to update"):
            wordless.build_vocab(unread, update=True)
        assert wordless.wv.index_to_key == words
    assert next(unread) == SENTENCES[0]
    assert (len(some.wv), some.min_count, some.sample) == (14, 2, 0.5)
    limited = Word2Vec(**SMALL, max_final_vocab=4)
    limited.build_vocab(SENTENCES)
    assert len(limited.wv) <= 4
    assert limited.effective_min_count > 1


def test_a_subclass_may_change_what_scan_vocab_counts():
    class WithoutBlue(Word2Vec):
        def scan_vocab(self, *args, **options):
            total, sentences = super().scan_vocab(*args, **options)
            return total - self.raw_vocab.pop("blue"), sentences

    mine, all_words = WithoutBlue(**SMALL), Word2Vec(**SMALL)
    mine.build_vocab(SENTENCES)
    all_words.build_vocab(SENTENCES)
    assert set(all_words.wv.index_to_key) - set(mine.wv.index_to_key) == {"blue"}
    assert 0 < mine.corpus_total_words < all_words.corpus_total_words


@pytest.mark.parametrize("base", [Word2Vec, FastText, Doc2Vec])
def test_the_constructor_calls_the_methods_of_a_subclass_in_the_order_of_gensims(base):
    gensim = pytest.importorskip("gensim.models")
    calls = []

    def logged(base):
        def method(name):
            return lambda self, *args, **options: (
                calls.append((name, *sorted(options))), getattr(super(cls, self), name)(*args, **options)
            )[1]  # fmt: skip

        names = ("build_vocab", "prepare_vocab", "prepare_weights", "init_weights", "train")
        cls = type("Logged", (base,), {name: method(name) for name in names})
        return cls

    texts = [TaggedDocument(words, [0]) for words in SENTENCES] if base is Doc2Vec else SENTENCES
    logged(base)(texts, vector_size=8, min_count=1)
    mine = calls.copy()
    calls.clear()
    logged(getattr(gensim, base.__name__))(texts, vector_size=8, min_count=1)
    assert [name for name, *_ in mine] == [name for name, *_ in calls]
    assert mine[0] == calls[0]


def test_a_subclass_may_change_the_corpus_and_the_initial_vectors():
    class Lower(Word2Vec):
        def build_vocab(self, corpus_iterable=None, **options):
            super().build_vocab([[word.lower() for word in sentence] for sentence in corpus_iterable], **options)

        def init_weights(self):
            super().init_weights()
            self.wv.vectors[:] = 0.25

    model = Lower([["Red", "Blue"]] * 9, **SMALL)
    assert set(model.wv.index_to_key) == {"red", "blue"}
    np.testing.assert_array_equal(model.wv.vectors, 0.25)  # none of the words that are trained is known


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_a_model_keeps_its_vectors_if_they_cannot_be_copied_to_the_trainer(error, monkeypatch):
    model = Word2Vec(SENTENCES, **SMALL, sorted_vocab=0)
    vectors, output = model.wv.vectors.copy(), model.syn1neg.copy()

    class Uncopied(np.ndarray):
        def __getitem__(self, key):
            raise error

    kept = model.wv.vectors
    model.wv.vectors = kept.view(Uncopied)
    with pytest.raises(error):
        model.train(SENTENCES, total_examples=len(SENTENCES), epochs=1)
    np.testing.assert_array_equal(kept, vectors)
    np.testing.assert_array_equal(model.syn1neg, output)


def test_predicted_words_follow_the_softmax_of_the_output_vectors(model, caplog):
    found = model.predict_output_word(["red", 3, "unknown"], topn=15)
    hidden = (model.wv["red"] + model.wv.vectors[3]) / 2
    weights = np.exp(model.syn1neg @ hidden)
    assert [word for word, _ in found] == [model.wv.index_to_key[i] for i in np.argsort(-weights)]
    assert {type(share) for _, share in found} == {np.float32}
    np.testing.assert_allclose([share for _, share in found], np.sort(weights / weights.sum())[::-1], rtol=1e-5)
    assert model.predict_output_word(["red"], topn=-1) == []
    assert len(model.predict_output_word(["red"], topn=None)) == 15
    assert model.predict_output_word(["unknown"]) is None
    assert caplog.messages == ["no word of the context is in the vocabulary: nothing is predicted"]
    with pytest.raises(RuntimeError, match="negative"):
        Word2Vec(SENTENCES, **{**SMALL, "hs": 1, "negative": 0}).predict_output_word(["red"])


@pytest.mark.parametrize("options", [{}, {"sg": 0}, {"sorted_vocab": 0}], ids=str)
def test_scores_sum_to_the_log_probability_that_perplexity_measures(options, tmp_path):
    model = Word2Vec(SENTENCES, **{**SMALL, **options, "hs": 1, "negative": 0})
    path = tmp_path / "text.txt"
    path.write_text("\n".join(map(" ".join, SENTENCES[:50])) + "\nred\n")
    scores = model.score([*SENTENCES[:50], ["red"], ["unknown"]], total_sentences=52)
    assert scores.shape == (52,)
    assert scores[50] == scores[51] == 0
    found = perplexity(model.to_model(), [str(path)])[0]
    assert scores.sum() == pytest.approx(-np.log(found.perplexity) * found.examples, rel=1e-5)
    with pytest.raises(RuntimeError, match="hs=1"):
        Word2Vec(SENTENCES, **SMALL).score([["red"]])


def test_a_corpus_can_be_a_part_of_a_schedule():
    assert span(READING, 20, 7, 0) == (0, 0.25)
    assert span(READING, None, 40, 20) == (0.5, 0.75)
    assert span(READING, 5, None, 0) == span(READING, 1, None, 0) == (0, 1)
    settings = TrainCall(4, 0.4, 0.2, 4, None, None, 0).settings(Word2Vec(SENTENCES, **SMALL), READING, 2)
    assert (settings.alpha, settings.min_alpha) == pytest.approx((0.3, 0.25))


@pytest.mark.parametrize("cut", [10_000, 20_000])
@pytest.mark.parametrize("kind", [w2vtrain.LineSentence, w2vtrain.PathLineSentences, w2vtrain.Text8Corpus])
def test_a_file_has_the_sentences_that_its_reader_yields(kind, cut, tmp_path, caplog):
    (tmp_path / "text").write_text("\n \n" + "a b c\n\n" * 4 + "a b c d e " * 5_000 + "\n")
    corpus = kind(tmp_path / "text", max_sentence_length=cut)
    sentences, vectors = list(corpus), []
    for given in ({"corpus_iterable": corpus}, {"corpus_iterable": sentences}):
        model = Word2Vec(**SMALL)
        model.build_vocab(**given)
        assert model.corpus_count == len(sentences)
        model.train(**given, total_examples=len(sentences), epochs=1)
        assert not caplog.messages
        model.train(**given, total_examples=4 * len(sentences), epochs=1)  # a quarter of the rate's schedule
        assert "did not equal expected" in caplog.text
        assert model.min_alpha_yet_reached == pytest.approx(0.025 - 0.0249 / 4)
        vectors.append(model.wv.vectors)
        caplog.clear()
    np.testing.assert_array_equal(*vectors)
    model.build_vocab(corpus_file=tmp_path / "text")
    assert model.corpus_count == len(list(w2vtrain.LineSentence(tmp_path / "text")))


def test_a_rate_that_cannot_fall_is_the_last_one():
    vectors = []
    for alpha in (0.0001, 0.05):
        model = Word2Vec(SENTENCES, **SMALL, alpha=alpha, min_alpha=0.05)
        assert (model.alpha, model.min_alpha_yet_reached) == (alpha, 0.05)
        vectors.append(model.wv.vectors)
    np.testing.assert_array_equal(*vectors)


def test_large_subsampling_thresholds_are_occurrences():
    assert share(None, 10) == share(0, 10) == 0
    assert share(1e-3, 10) == 1e-3
    assert share(100, 10_000) == 261 / 10_000


@pytest.mark.parametrize(
    "call, kind, words",
    [
        (lambda: Word2Vec(SENTENCES, hs=0, negative=0), ValueError, "nothing to train"),
        (lambda: Word2Vec(null_word=1), NotImplementedError, "null_word"),
        (lambda: Word2Vec([]), RuntimeError, "no sentences"),
        (lambda: Word2Vec([[], []]), RuntimeError, "no words to choose from: the sentences are empty"),
        (
            lambda: Word2Vec(SENTENCES, min_count=10_000),
            RuntimeError,
            "highest count is 330: min_count=330 would keep 1",
        ),
        (lambda: Word2Vec(SENTENCES, trim_rule=lambda *_: 1), RuntimeError, "keeps none.*the trim rule keeps none"),
        (lambda: Word2Vec(SENTENCES, sizes=9), TypeError, "no argument sizes"),
        (lambda: Word2Vec(SENTENCES, minn=9), TypeError, "^Word2Vec has no argument minn$"),
        (lambda: w2vtrain.FastText(SENTENCES, minn=9), TypeError, "^FastText has no argument minn: use min_n$"),
        (lambda: w2vtrain.Doc2Vec(None, epoch=9), TypeError, "^Doc2Vec has no argument epoch: use epochs$"),
        (lambda: Word2Vec().train(SENTENCES, alpha=0.3), TypeError, "^train has no argument alpha: use start_alpha$"),
        (
            lambda: Word2Vec().train(SENTENCES, end_alhpa=0.3),
            TypeError,
            r"^train has no argument end_alhpa: .* end_alpha\?$",
        ),
        (
            lambda: Word2Vec().build_vocab(SENTENCES, mincount=3),
            TypeError,
            r"^build_vocab has no argument mincount: .* min_count\?$",
        ),
        (lambda: Word2Vec().build_vocab(SENTENCES, dry_run=True), TypeError, r"use scan_vocab.*prepare_vocab\(dry_run"),
        (lambda: Word2Vec().prepare_vocab(mincount=3), TypeError, "mincount"),
        (lambda: Word2Vec(None, 100, 0.025, 5), TypeError, "vector_size must be a whole number, got 0.025"),
        (lambda: Word2Vec(negative=hash), TypeError, "negative must be a whole number"),
        (lambda: Word2Vec(SENTENCES, "corpus.txt"), TypeError, "one corpus"),
        (lambda: Word2Vec("corpus.txt"), TypeError, "iterable of lists"),
        (lambda: Word2Vec([(word for word in "ab")]), TypeError, "list of words"),
        (lambda: Word2Vec([{"text": "a b"}]), TypeError, "each sentence must be a list of words, not dict"),
        (lambda: Word2Vec(pandas.DataFrame({"text": [["a"]]})), TypeError, "DataFrame: pass its column"),
        (lambda: Word2Vec([[1, 2]] * 9), TypeError, r"sentences\[0\]\[0\] is 1 \(int\).*\[\[str\(word\) for word in"),
        (lambda: Word2Vec([[1, 2]] * 9, max_vocab_size=3), TypeError, r"sentences\[0\]\[0\] is 1 \(int\)"),
        (lambda: Word2Vec().build_vocab_from_freq({1: 9}), TypeError, r"the word 1 is int.*{str\(word\): count for"),
        (lambda: Word2Vec(corpus_file="missing.txt"), FileNotFoundError, "missing.txt"),
        (lambda: Word2Vec(corpus_file="*.py"), FileNotFoundError, "no such file"),
        (lambda: Word2Vec("text", max_vocab_size=9), TypeError, "iterable of lists"),
        (lambda: Word2Vec().train(SENTENCES, total_examples=9, epochs=1), RuntimeError, "build vocabulary"),
        (lambda: Word2Vec().build_vocab(SENTENCES, update=True), RuntimeError, "without update"),
        (lambda: Word2Vec(**EMPTY).train(SENTENCES, epochs=1), ValueError, "total_examples"),
        (lambda: Word2Vec(**EMPTY).train(SENTENCES, total_examples=9), ValueError, "epochs"),
        (lambda: Word2Vec(**EMPTY).syn1neg, AttributeError, "output vectors"),
    ],
)
def test_what_cannot_be_honored_is_refused_in_one_sentence(call, kind, words):
    with pytest.raises(kind, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_warnings_are_gensims(caplog):
    with caplog.at_level(logging.WARNING):
        Word2Vec(min_count=1).build_vocab(["ab", "bc"])
        model = Word2Vec([["a", "b"]] * 40, **SMALL)
        model.train([["a", "b"]], total_examples=1, epochs=1)
        model.train([["x", "y"]], total_examples=1, epochs=1)
    text = caplog.text
    assert "Each 'sentences' item should be a list of words (usually unicode strings)." in text
    assert "Effective 'alpha' higher than previous training cycles" in text
    assert "there is nothing to train on: none of the 2 tokens" in text


def test_the_vocabulary_can_come_from_counts_and_from_another_model(model):
    counts = {"red": 5, "blue": 9, "rare": 1}
    mine = Word2Vec(**{**SMALL, "min_count": 2})
    mine.build_vocab_from_freq(counts, corpus_count=7)
    assert mine.wv.index_to_key == ["blue", "red"]
    mine.wv.index_to_key.reverse()
    with pytest.raises(RuntimeError, match="sorted in another way"):
        mine.build_vocab_from_freq({"more": 3}, update=True)
    assert (mine.corpus_count, mine.corpus_total_words) == (7, 15)
    mine.reset_from(model)
    assert mine.wv.key_to_index == model.wv.key_to_index
    mine.train(SENTENCES, total_examples=900, epochs=3)
    np.testing.assert_array_equal(mine.wv.vectors, model.wv.vectors)
    with pytest.warns(DeprecationWarning, match="init_sims"):
        mine.init_sims(replace=True)
    np.testing.assert_allclose(np.linalg.norm(mine.wv.vectors, axis=1), 1, rtol=1e-5)
    mine.update_weights()
    np.testing.assert_array_equal(mine.syn1neg, model.syn1neg)
    mine.hs = 1
    mine.update_weights()
    assert (mine.syn1.shape, mine.syn1.any(), mine.syn1neg.tolist()) == ((15, 8), False, model.syn1neg.tolist())
    mine.train(SENTENCES, total_examples=900, epochs=1)
    before, mine.negative = mine.syn1, 0
    mine.prepare_weights(update=True)
    np.testing.assert_array_equal(mine.syn1, before)
    assert (before.any(), mine.matrices.words) == (True, None)
    mine.train(SENTENCES, total_examples=900, epochs=1)
    mine.init_weights()
    assert np.abs(mine.wv.vectors).max() <= 1 / 8
    assert str(model) == "Word2Vec<vocab=15, vector_size=8, alpha=0.025>"
    assert model.estimate_memory()["total"] == 15 * (500 + 2 * 8 * 4)


def test_workers_of_minus_one_are_all_cores():
    model = Word2Vec(SENTENCES, **{**SMALL, "workers": -1})
    assert model.workers == model.threads() >= 1


def test_a_min_count_that_keeps_no_word_says_so(caplog):
    model = Word2Vec(**{**SMALL, "min_count": 400})
    model.build_vocab(SENTENCES)
    line = "min_count=400 keeps none of the 15 words, whose highest count is 330: min_count=330 would keep 1 of them"
    assert line in caplog.messages
    with pytest.raises(RuntimeError, match=line):
        model.train(SENTENCES, total_examples=900, epochs=1)
    caplog.clear()
    with pytest.raises(RuntimeError, match=line):
        Word2Vec(SENTENCES, **{**SMALL, "min_count": 400})
    assert line not in caplog.messages, "the error alone says so"


def test_a_window_may_be_longer_than_any_sentence(model):
    wide = Word2Vec(SENTENCES, **SMALL, window=10_000, shrink_windows=False)
    assert wide.wv.similarity("red", "blue") > wide.wv.similarity("red", "cow")


def test_counts_of_rare_and_discarded_words_are_added_in_an_update():
    model = Word2Vec(**{**SMALL, "min_count": 3})
    model.build_vocab([["a"] * 5, ["b"] * 9])
    model.build_vocab([["a"], ["b"] * 2, ["d"] * 3, ["e"]], update=True)
    assert {word: model.wv.get_vecattr(word, "count") for word in model.wv.index_to_key} == {"b": 11, "a": 6, "d": 3}
    model.build_vocab([["a"] * 4], update=True, trim_rule=lambda word, count, min_count: 1)
    assert model.wv.get_vecattr("a", "count") == 10
    for word, options in (("f", {"min_count": 1}), ("g", {})):
        model.build_vocab([[word]], update=True, **options)
    assert (model.wv.index_to_key[-1], model.min_count) == ("f", 3)


def test_ids_of_an_old_vocabulary_are_never_trained(model):
    other = Word2Vec([[f"x{word}" for word in sentence] for sentence in SENTENCES], **SMALL)
    for change in (
        lambda m: m.reset_from(other),
        lambda m: m.build_vocab_from_freq({"new": 9}, update=True),
        lambda m: m.wv.set_vecattr("red", "count", 9999),
    ):
        corpus, mine = iter(SENTENCES), Word2Vec(**SMALL)
        mine.build_vocab(corpus)
        change(mine)
        with pytest.raises(RuntimeError, match="no sentences"):
            mine.train(corpus, total_examples=900, epochs=1)


@pytest.mark.parametrize("options", [{}, {"sg": 0}, {"hs": 1, "negative": 0}, {"hs": 1}, {"window": 999}], ids=str)
def test_a_call_for_a_tiny_text_learns_the_same_after_others(options):
    """Calls have the engine of the one before; a copy of the model has a new one."""

    def lock(model):
        model.wv.vectors_lockf = np.arange(len(model.wv)) % 3 != 0

    def double(model):
        model.wv.vectors = model.wv.vectors * 2

    def narrow(model):
        model.window = 2

    mine = other = Word2Vec(SENTENCES, **{**SMALL, **options})
    changes = [None, None, lock, None, double, lambda model: model.build_vocab(NEW, update=True), narrow, None]
    for call, change in enumerate(changes):
        other = copy.deepcopy(other if call else mine)
        for model in (mine, other):
            if change:
                change(model)
            batch = SENTENCES[10 * call : 10 * call + 3 + 4 * call]
            model.train(batch, total_examples=len(batch), epochs=1 + call % 2)
        for name in ("syn1neg", "syn1"):
            np.testing.assert_array_equal(*(getattr(model, name, 0) for model in (mine, other)))
        np.testing.assert_array_equal(mine.wv.vectors, other.wv.vectors)


def test_calls_for_parts_of_a_text_do_not_repeat_a_warning(caplog):
    model = Word2Vec(SENTENCES, **{**SMALL, "sample": 0.01})
    for sample, calls in ((0.01, 2), (0.02, 3)):
        model.sample = sample
        for _ in range(calls):
            model.train(SENTENCES[:9], total_examples=9, epochs=1)
    pickle.loads(pickle.dumps(model)).train(SENTENCES[:9], total_examples=9, epochs=1)
    model.build_vocab(SENTENCES)
    model.train(SENTENCES[:9], total_examples=9, epochs=1)
    samples = [text.split()[2] for text in caplog.messages if text.startswith("subsampling at")]
    assert samples == ["0.01", "0.02", "0.02", "0.02"]


def set_vectors_aside(model):
    model.wv.vectors = model.wv.vectors.copy()


def set_wv_aside(model):
    model.wv = copy.deepcopy(model.wv)


def set_outputs_aside(model):
    model.syn1neg = np.ones_like(model.syn1neg)


@pytest.mark.parametrize("change", [set_vectors_aside, set_wv_aside, set_outputs_aside, Word2Vec.to_model])
def test_training_on_a_tiny_text_leaves_what_was_set_aside(change):
    model = Word2Vec(SENTENCES, **SMALL)
    model.train(SENTENCES[:5], total_examples=5, epochs=1)
    arrays = model.wv.vectors, model.syn1neg
    before, shared = [array.copy() for array in arrays], change(model)
    model.train(SENTENCES[5:9], total_examples=4, epochs=1)
    if change in (set_vectors_aside, set_wv_aside, Word2Vec.to_model):
        np.testing.assert_array_equal(arrays[0], before[0])
    if change in (set_outputs_aside, Word2Vec.to_model):
        np.testing.assert_array_equal(arrays[1], before[1])
    assert shared is None or np.array_equal(shared.input, before[0])


@pytest.mark.parametrize("sorted_vocab", [0, 1])
def test_words_that_are_added_to_wv_are_saved_and_trained(sorted_vocab, tmp_path):
    model, path = Word2Vec(SENTENCES, **SMALL, sorted_vocab=sorted_vocab), tmp_path / "model"
    outputs = {word: model.syn1neg[i].tolist() for i, word in enumerate(model.wv.index_to_key)}
    model.wv.add_vector("new", np.full(8, 0.5, np.float32))
    model.save(path)
    again = Word2Vec.load(path)
    assert vectors_by_word(again) == vectors_by_word(model)
    found = {word: again.syn1neg[i].tolist() for i, word in enumerate(again.wv.index_to_key)}
    assert found == {**outputs, "new": [0.0] * 8}
    for grow in (False, True):
        further = w2vtrain.continue_training(w2vtrain.load_model(path), SENTENCES, 1, grow_vocabulary=grow)
        assert further["new"].tolist() == [0.5] * 8
    again.train(SENTENCES, total_examples=900, epochs=1)
    assert again.wv["new"].tolist() == [0.5] * 8
    again.wv.index_to_key.reverse()
    with pytest.raises(RuntimeError, match="sorted in another way"):
        again.train(SENTENCES, total_examples=900, epochs=1)


@pytest.mark.parametrize("options", [{}, {"sorted_vocab": 0}, {"hs": 1, "sorted_vocab": 0}], ids=str)
def test_words_that_are_removed_from_wv_take_nothing_of_the_others(options, tmp_path):
    """So do programs that align the vectors of two models: they replace keys and vectors, but not the counts."""
    model = Word2Vec(SENTENCES, **SMALL, **options)
    before = {word: (model.wv[word].tolist(), model.wv.get_vecattr(word, "count")) for word in model.wv.index_to_key}
    outputs = {word: model.syn1neg[row].tolist() for row, word in enumerate(model.wv.index_to_key)}
    left = ["pig", "red", "two", "cow"]
    model.wv.vectors = np.array([model.wv[word] for word in left], np.float64)
    model.wv.index_to_key, model.wv.key_to_index = left, {word: row for row, word in enumerate(left)}
    joined, other = copy.deepcopy(model), Word2Vec(**SMALL)
    joined.build_vocab(NEW, update=True)
    other.reset_from(copy.deepcopy(model))
    assert [other.wv.get_vecattr(word, "count") for word in left] == [before[word][1] for word in left]
    model.save(tmp_path / "model")
    for each in (joined, model, Word2Vec.load(tmp_path / "model")):
        assert each.wv.index_to_key[:4] == left
        found = {word: (each.wv[word].tolist(), each.wv.get_vecattr(word, "count")) for word in left}
        assert found == {word: before[word] for word in left}
        assert {word: each.syn1neg[row].tolist() for row, word in enumerate(left)} == {w: outputs[w] for w in left}
        each.train(SENTENCES, total_examples=900, epochs=1)
        assert each.wv["red"].tolist() != before["red"][0]


@pytest.mark.parametrize("sorted_vocab", [0, 1])
@pytest.mark.parametrize("kind", [Word2Vec, w2vtrain.FastText])
def test_the_tree_of_words_stays_if_others_are_added_to_wv_or_removed(kind, sorted_vocab, tmp_path):
    model = kind(SENTENCES, min_count=1, vector_size=8, hs=1, negative=0, sorted_vocab=sorted_vocab)
    path = tmp_path / "model"
    words, nodes = model.vocabulary().words[:-1], model.syn1  # the rarest word shares its leaf with the new ones
    pairs = [[words[0], word] for word in words]
    scores = model.score(pairs)
    model.wv.add_vectors(["new", "newer", "newest"], np.full((3, 8), 0.5, np.float32))
    model.save(path)
    for each in (model, kind.load(path)):
        np.testing.assert_array_equal(each.syn1, np.concatenate([np.zeros((3, 8)), nodes]))
        np.testing.assert_allclose(each.score(pairs), scores, rtol=1e-5)
        left = [*words, each.vocabulary().words[-4]][::-1]
        each.wv.vectors, each.wv.index_to_key = np.array([each.wv[word] for word in left]), left
        each.wv.key_to_index = {word: row for row, word in enumerate(left)}
        each.save(path)
        for less in (each, kind.load(path)):
            np.testing.assert_array_equal(less.syn1, nodes)
            np.testing.assert_allclose(less.score(pairs), scores, rtol=1e-5)
        each.train(SENTENCES, total_examples=900, epochs=1)
        assert (each.syn1 != nodes).any()


@pytest.mark.parametrize("options", [{}, {"hs": 1, "negative": 0}, {"hs": 1, "sorted_vocab": 0}], ids=str)
def test_counts_that_are_set_change_the_order_in_a_file_but_no_vector_and_no_tree(options, tmp_path):
    model = Word2Vec(SENTENCES, **SMALL, **options)
    vectors, nodes = vectors_by_word(model), model.syn1 if model.hs else None
    scores = model.score(SENTENCES[:9]).tolist() if model.hs else []
    model.wv.set_vecattr(model.wv.index_to_key[-1], "count", 10**6)
    model.wv.set_vecattr(model.wv.index_to_key[0], "count", 7)
    model.save(tmp_path / "model")
    again = Word2Vec.load(tmp_path / "model")
    for each in (model, again):
        assert vectors_by_word(each) == vectors
        assert each.wv.expandos["count"].tolist() == model.wv.expandos["count"].tolist()
        if each.hs:
            np.testing.assert_array_equal(each.syn1, nodes)
            np.testing.assert_allclose(each.score(SENTENCES[:9]), scores, rtol=1e-5)
            with pytest.raises(ConfigError, match="has kept its tree while words were added, removed or given other"):
                w2vtrain.continue_training(w2vtrain.load_model(tmp_path / "model"), SENTENCES)
        each.train(SENTENCES, total_examples=900, epochs=1)
    np.testing.assert_allclose(again.wv.vectors, model.wv.vectors, atol=1e-6)
    assert vectors_by_word(model) != vectors


def test_one_word_is_too_few_to_learn_anything(caplog):
    model = Word2Vec([["red"] * 5] * 9, **SMALL)
    assert len(model.wv) == 1
    assert "nothing was learned: the vocabulary has only one word" in caplog.messages


def add_word(model):
    model.wv.add_vector("new", np.ones(8, np.float32))


def remove_word(model):
    vectors = {word: model.wv[word].copy() for word in model.wv.index_to_key[1:]}
    model.wv.index_to_key, model.wv.vectors = list(vectors), np.array(list(vectors.values()))
    model.wv.key_to_index = {word: row for row, word in enumerate(vectors)}


def add_word_and_save(model):
    add_word(model)
    model.save("model")


def add_tag(model):
    model.dv.add_vector("new", np.ones(8, np.float32))


@pytest.mark.parametrize("when", ["on_train_begin", "on_epoch_begin", "on_epoch_end", "on_epoch_end of the last epoch"])
@pytest.mark.parametrize("sorted_vocab", [0, 1])
@pytest.mark.parametrize(
    "kind, change",
    [
        (Word2Vec, add_word), (Word2Vec, remove_word), (Word2Vec, add_word_and_save), (w2vtrain.FastText, add_word),
        (w2vtrain.FastText, remove_word), (w2vtrain.Doc2Vec, add_word), (w2vtrain.Doc2Vec, add_tag),
    ],
)  # fmt: skip
def test_a_callback_that_changes_the_words_is_refused_and_the_model_stays_usable(
    kind, change, sorted_vocab, when, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    corpus = SENTENCES[:90]
    if kind is w2vtrain.Doc2Vec:
        corpus = [w2vtrain.TaggedDocument(words, [number]) for number, words in enumerate(corpus)]
    options = {**EMPTY, "epochs": 2, "sorted_vocab": sorted_vocab}
    del options["sg"]
    model = kind(**options)
    model.build_vocab(corpus)
    calls = []

    def changing(model):
        calls.append(when)
        if len(calls) == 1 + ("last" in when):
            change(model)

    with pytest.raises(RuntimeError, match=r"^a callback has changed the words of wv"):
        model.train(corpus, total_examples=90, epochs=2, callbacks=[SimpleNamespace(**{when.split()[0]: changing})])
    assert not Path("model").exists()
    vectors, words = model.wv.vectors.copy(), list(model.wv.index_to_key)
    model.save("model")
    again = kind.load("model")
    assert again.wv.index_to_key == words
    np.testing.assert_array_equal(again.wv.vectors, vectors)
    model.train(corpus, total_examples=90, epochs=1)
    assert (model.wv.vectors != vectors).any()


@pytest.mark.parametrize("sorted_vocab", [0, 1])
@pytest.mark.parametrize("kind", [Word2Vec, w2vtrain.FastText])
@pytest.mark.parametrize("replaced", [False, True])
def test_vectors_that_a_callback_sets_after_the_last_epoch_are_kept(kind, sorted_vocab, replaced):
    expected = {"syn1": np.arange(8), "syn1neg": -np.arange(8)}

    class Setting:
        def on_epoch_end(self, model):
            if replaced:
                model.wv.vectors = np.full_like(model.wv.vectors, 3)
            else:
                model.wv.vectors[:] = 3
            for name, row in expected.items():
                setattr(model, name, np.tile(row, (len(model.wv), 1)))

    options = {**SMALL, "epochs": 2, "sorted_vocab": sorted_vocab, "min_count": 1, "hs": 1}
    model = kind(SENTENCES[:90], **options, callbacks=[Setting()])
    np.testing.assert_allclose(model.wv.vectors, 3, rtol=1e-5)
    assert {name: getattr(model, name)[0].tolist() for name in expected} == {
        name: row.tolist() for name, row in expected.items()
    }


def test_a_text_of_a_few_words_that_teaches_nothing_is_not_said_to_diverge(caplog):
    text = [list("abcd"), list("bce"), list("fgadh"), list("dcha"), list("ijkl"), list("lkje")]
    for seed in range(1, 9):
        Word2Vec(text, min_count=1, vector_size=10, seed=seed, workers=1)
    assert "subsampling" in caplog.text
    assert "diverged" not in caplog.text


@pytest.mark.parametrize("name", ["Word2Vec", "FastText"])
def test_all_parameters_have_gensims_defaults(name):
    gensim = pytest.importorskip("gensim.models", reason="gensim has no wheel for this Python")
    theirs, ours = (inspect.signature(getattr(package, name)).parameters for package in (gensim, w2vtrain))
    assert {each: ours[each].default for each in theirs} == {each: theirs[each].default for each in theirs}


def test_a_failed_call_of_train_changes_nothing():
    model = Word2Vec(SENTENCES, **SMALL, sorted_vocab=0)
    model.wv.vectors[:] = 7
    for wrong in ({"start_alpha": float("nan")}, {"epochs": 0}, {"total_examples": -1}):
        with pytest.raises(ValueError, match="must"):
            model.train(SENTENCES, **{"total_examples": 900, "epochs": 1, **wrong})
    assert (model.epochs, model.alpha) == (3, 0.025)
    assert (model.wv.vectors == 7).all()


def test_locks_and_attributes_are_saved(tmp_path, caplog):
    model = Word2Vec(SENTENCES, **SMALL, sorted_vocab=0)
    assert model.wv.vectors_lockf.tolist() == [1]
    model.wv.vectors_lockf = np.ones(15, np.float32)
    model.wv.vectors_lockf[model.wv.key_to_index["cow"]] = 0
    model.wv.set_vecattr("pig", "legs", 4)
    model.wv.set_vecattr("pig", "weight", 0.1)
    model.wv.set_vecattr("pig", "pink", True)
    model.wv.set_vecattr("pig", "name", "Babe")
    model.build_vocab(NEW, update=True)
    model.save(tmp_path / "model")
    assert "the attribute name of keys is not saved: it must be one number or bool per key" in caplog.messages
    again = Word2Vec.load(tmp_path / "model")
    assert np.flatnonzero(again.wv.vectors_lockf == 0).tolist() == [again.wv.key_to_index["cow"]]
    assert [again.wv.get_vecattr("pig", name) for name in ("legs", "weight")] == [4, 0.1]
    assert again.wv.get_vecattr("pig", "pink") is np.True_
    again.train(SENTENCES, total_examples=900, epochs=1)
    np.testing.assert_array_equal(again.wv["cow"], model.wv["cow"])
    again.wv.vectors_lockf = np.zeros(1)
    again.save(tmp_path / "all")
    assert not Word2Vec.load(tmp_path / "all").wv.vectors_lockf.any()


class Walker(Word2Vec):
    """A model with attributes of its own."""

    shared = "by all"

    def __init__(self, *args, walks=10, **options):
        super().__init__(*args, **options)
        self.walks, self.graph = walks, {"nodes": ["red", "cow"], "weights": [1, 0.5, None, True]}
        self.shared = "mine"


def test_attributes_of_a_subclass_are_saved(tmp_path, caplog):
    model = Walker(SENTENCES, **SMALL, walks=7)
    model.author, model.pair, model.rng = "Ada", (1, 2), np.random.default_rng(1)
    with caplog.at_level(logging.WARNING, "w2vtrain"):
        model.save(tmp_path / "model")
    assert [record.getMessage() for record in caplog.records] == [
        "the attribute pair is not saved: JSON cannot hold this tuple",
        "the attribute rng is not saved: JSON cannot hold this Generator",
    ]
    again = Walker.load(tmp_path / "model")
    assert type(again) is Walker
    assert (again.walks, again.graph, again.shared, again.author) == (7, model.graph, "mine", "Ada")
    assert not {"pair", "rng"} & vars(again).keys()
    assert vectors_by_word(again) == vectors_by_word(model)
    again.save(tmp_path / "again")
    assert Walker.load(tmp_path / "again").walks == 7


@pytest.mark.parametrize("own", [{"save": 1, "wv": 2, "_owner": 3, "alpha": 4, "__class__": 5}, [1], "text"], ids=str)
def test_attributes_in_a_file_replace_nothing_of_the_model(own, model, tmp_path):
    found = model.to_model()
    found.record["word2vec"]["attributes"] = own
    found.save(tmp_path / "model")
    again = Word2Vec.load(tmp_path / "model")
    assert vars(again).keys() == vars(model).keys()
    assert again.alpha == model.alpha
    again.train(SENTENCES, total_examples=900, epochs=1)


def test_a_dry_run_keeps_the_counts():
    model = Word2Vec(**SMALL)
    model.scan_vocab(SENTENCES)
    report = model.prepare_vocab(dry_run=True)
    assert (report["num_retained_words"], len(model.wv)) == (15, 0)
    assert model.prepare_vocab() == report


def test_models_can_be_copied_and_pickled(model):
    generator, steps = (words for words in SENTENCES), Word2Vec(**SMALL)
    steps.build_vocab(generator)
    built = copy.deepcopy(steps)
    built.train(SENTENCES, total_examples=900, epochs=3)
    steps.train(generator, total_examples=900, epochs=3)
    assert vectors_by_word(built) == vectors_by_word(steps)
    for each in (model, steps):
        for copied in (copy.deepcopy(each), pickle.loads(pickle.dumps(each))):
            assert vectors_by_word(copied) == vectors_by_word(each)
            copied.train(SENTENCES, total_examples=900, epochs=1)
            assert vectors_by_word(copied) != vectors_by_word(each)


def test_output_vectors_can_be_set():
    model = Word2Vec(SENTENCES, **SMALL, hs=1)
    model.syn1neg = np.full((15, 8), 2.0)
    model.syn1 = np.full((15, 8), 4.0)
    assert (model.syn1neg == 2).all()
    assert model.syn1[0, 0] == 4
    with pytest.raises(ValueError, match=r"syn1neg: expected the shape \(15, 8\)"):
        model.syn1neg = np.zeros((2, 8))
    model.wv.add_vector("new", np.ones(8))
    model.syn1 = model.syn1 * 2  # of the words before
    assert model.score([["red", "new"]]).all()
    assert model.syn1[:, 0].tolist() == [0, *[8] * 14, 0]
    model.negative = 0
    with pytest.raises(RuntimeError, match="hs, negative or"):
        model.train(SENTENCES, total_examples=900, epochs=1)


def test_numbers_of_numpy_and_wide_windows_are_saved(tmp_path):
    numbers = {"min_count": np.int64(1), "seed": np.int32(-3), "sample": np.float32(0), "max_final_vocab": np.int64(99)}
    model = Word2Vec(SENTENCES, **{**SMALL, **numbers}, window=np.int64(100))
    model.save(tmp_path / "model")
    again = Word2Vec.load(tmp_path / "model")
    assert (again.window, again.seed) == (100, -3)
    more = w2vtrain.continue_training(w2vtrain.load_model(tmp_path / "model"), SENTENCES, 1, threads=1)
    assert len(more) == 15


def test_a_single_word_is_kept_and_nothing_is_learned():
    for kind in (list, iter):
        for hs in (0, 1):
            model = Word2Vec(kind([["a", "a"]] * 9), **{**SMALL, "hs": hs, "negative": 5 * (1 - hs)})
            assert model.wv.index_to_key == ["a"]


def test_a_subclass_of_a_reader_may_change_the_words(tmp_path):
    class Upper(w2vtrain.LineSentence):
        def __iter__(self):
            return ([word.upper() for word in words] for words in super().__iter__())

    path = tmp_path / "text.txt"
    path.write_text("red green\n" * 9)
    assert sorted(Word2Vec(Upper(path), **SMALL).wv.index_to_key) == ["GREEN", "RED"]
    assert sorted(w2vtrain.train(Upper(path), min_count=1, epochs=1, sample=0).words) == ["GREEN", "RED"]


@pytest.mark.parametrize(
    "settings", [{"options": {"tree": "balanced"}}, {"context": "left"}, {"weight_decay": 0.1}], ids=str
)
def test_a_model_of_fit_with_other_settings_is_refused(settings, tmp_path):
    found = w2vtrain.train(SENTENCES, objective="hs", vector_size=4, epochs=1, min_count=1, **settings)
    found.save(tmp_path / "model")
    with pytest.raises(AttributeError, match="is no model of Word2Vec"):
        Word2Vec.load(tmp_path / "model")


@pytest.mark.parametrize(
    "bad",
    [{"objective": [1]}, {"objective": {}}, {"architecture": [1]}, {"options": [1]}, {"options": None}, {"alpha": []}],
    ids=str,
)
def test_settings_of_wrong_types_are_refused_when_a_model_is_loaded(bad, tmp_path):
    found = w2vtrain.train(SENTENCES, vector_size=4, epochs=1, min_count=1)
    found.settings.update(bad)
    found.save(tmp_path / "model")
    with pytest.raises(AttributeError, match="model: the model's settings: "):
        Word2Vec.load(tmp_path / "model")


@pytest.mark.parametrize(
    "values", [{"sg": 7}, {"window": None}, {"alpha": "x"}, {"min_count": -1}, {"negative": 5, "hs": 1}], ids=str
)
def test_damaged_parameters_are_refused_when_a_model_is_loaded(values, model, tmp_path):
    found = model.to_model()
    found.record["word2vec"].update(values)
    found.save(tmp_path / "model")
    with pytest.raises(AttributeError, match="model"):
        Word2Vec.load(tmp_path / "model")


def test_a_pickle_is_named_when_it_is_loaded(tmp_path):
    (tmp_path / "pickle").write_bytes(pickle.dumps({"a": [1] * 99}))
    with pytest.raises(
        AttributeError, match=r"is no model of Word2Vec but a pickle.*save_word2vec_format.*from_gensim"
    ):
        Word2Vec.load(tmp_path / "pickle")


@pytest.mark.parametrize(
    "wrong",
    [
        {"vector_size": 0}, {"window": 0}, {"workers": 0}, {"epochs": 0}, {"sample": float("nan")}, {"seed": None},
        {"seed": "1"}, {"negative": 1001}, {"alpha": float("nan")}, {"alpha": 1e308},
        {"min_alpha": -1}, {"ns_exponent": 9}, {"sg": "0"}, {"sg": None}, {"hs": "0"}, {"cbow_mean": 2},
        {"reread": "0"},
    ],
    ids=str,
)  # fmt: skip
def test_parameters_out_of_range_are_named(wrong):
    with pytest.raises((ValueError, TypeError), match=f"^{next(iter(wrong))} must be"):
        Word2Vec(**wrong)


@pytest.mark.parametrize("flag", [True, 1, 1.0, np.int64(1), np.bool_(True)])
def test_flags_are_bools_and_the_numbers_0_and_1(flag):
    assert Word2Vec(sg=flag, cbow_mean=flag).sg == w2vtrain.FastText(sg=flag).sg == w2vtrain.Doc2Vec(dm=flag).dm == 1


@pytest.mark.parametrize("nothing", [[], (), [[]], [[], []]], ids=["list", "tuple", "sentence", "sentences"])
@pytest.mark.parametrize("hs", [0, 1])
def test_an_empty_batch_changes_nothing(nothing, hs, caplog):
    model = Word2Vec(SENTENCES, **SMALL, hs=hs)
    before, outputs = vectors_by_word(model), model.to_model().output.tolist()
    caplog.clear()
    model.build_vocab(nothing, update=True)
    assert (model.corpus_count, model.corpus_total_words) == (len(nothing), 0)
    assert not caplog.text
    assert model.train(nothing, total_examples=1, epochs=2) == (0, 0)
    assert "there is nothing to train on: " in caplog.text
    assert (vectors_by_word(model), model.to_model().output.tolist()) == (before, outputs)
    assert model.train(SENTENCES, total_examples=900, epochs=1)[1] == sum(map(len, SENTENCES))
    with pytest.raises(RuntimeError, match="no vocabulary to update"):
        Word2Vec(**SMALL).build_vocab(nothing, update=True)


def test_an_empty_file_changes_nothing(model, tmp_path, caplog):
    (tmp_path / "empty.txt").write_text("\n\n")
    before = vectors_by_word(model)
    model.build_vocab(corpus_file=str(tmp_path / "empty.txt"), update=True)
    assert model.train(corpus_file=str(tmp_path / "empty.txt"), total_words=1, epochs=1) == (0, 0)
    assert "there is nothing to train on: " in caplog.text
    assert vectors_by_word(model) == before


def test_unknown_words_are_counted_as_in_gensim(model):
    assert model.train([["nowhere", "seen"]], total_examples=1, epochs=3) == (0, 6)


@pytest.mark.parametrize("workers", [1, 3])
def test_a_small_batch_starts_no_thread_and_looks_nothing_up_twice(monkeypatch, workers):
    model = Word2Vec(SENTENCES, **{**SMALL, "workers": workers})
    model.train(SENTENCES[:10], total_examples=10, epochs=1)
    before = model.wv.vectors.copy()
    with monkeypatch.context() as patch:
        for place, name in ((threading.Thread, "start"), (importlib.metadata, "version"), (Path, "iterdir")):
            patch.setattr(place, name, lambda *_: pytest.fail("a small batch needs none of this"))
        model.train(SENTENCES[:10], total_examples=10, epochs=1)
    assert (model.wv.vectors != before).any()


def test_scores_follow_words_that_were_added_or_removed():
    texts = [["a", "b", "c", "d"]] * 20
    for settings in ({"hs": 1, "negative": 0}, {"negative": 3}):
        model = Word2Vec(texts, vector_size=8, min_count=1, sample=0, sorted_vocab=0, **settings)
        model.wv.add_vector("n", np.ones(8, np.float32))
        if model.hs:
            assert np.isfinite(model.score([["a", "n"]], 1)).all()
        else:
            assert len(model.predict_output_word(["a"])) == 5
        del model.wv.key_to_index[model.wv.index_to_key.pop()]
        model.wv.vectors = model.wv.vectors[:-1]
        if model.hs:
            assert np.isfinite(model.score([["a", "d"]], 1)).all()
        else:
            assert sorted(word for word, _ in model.predict_output_word(["a"])) == ["a", "b", "c", "d"]
