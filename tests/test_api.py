"""The Python API: training, saving and reading without the command line."""

from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import w2vtrain
from w2vtrain.errors import ConfigError, DataError, InvalidType, TokenError
from w2vtrain.text.vocabulary import Vocabulary
from w2vtrain.training.events import Events

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


@pytest.mark.parametrize(
    ("words", "counts", "message"),
    [
        (["a", "b", "c"], [3, 2], "a whole number for each of 3 words"), ([], [], "a whole number for each of 0 words"),
        (["a", "a"], [5, 3], "the word 'a' occurs twice"), (["a", "b"], [3.5, 2], "of type float64"),
        (["a"], [3], "at least 2 distinct words"),
    ],
)  # fmt: skip
def test_a_vocabulary_is_checked_as_one_from_a_file(words, counts, message):
    with pytest.raises(DataError, match=message):
        w2vtrain.train([["a", "b", "c"]] * 60, vocabulary=Vocabulary(words, np.array(counts)))


def test_words_and_counts_of_another_type_are_no_vocabulary():
    with pytest.raises(
        InvalidType, match=r"w2vtrain.text.vocabulary.Vocabulary.load returns .* got \{'a': 3, 'b': 2\}"
    ):
        w2vtrain.train([["a", "b"]] * 9, vocabulary={"a": 3, "b": 2})


def test_a_vocabulary_may_be_in_any_order():
    known = Vocabulary(["a", "b", "c"], np.array([1, 3, 2]))
    model = w2vtrain.train([["a", "b", "c"]] * 60, vocabulary=known, max_vocab=2, vector_size=4, sample=0, epochs=1)
    assert (model.words, model.counts.tolist()) == (["b", "c"], [3, 2])


def test_training_starts_from_the_keys_that_have_rows():
    keyed = w2vtrain.KeyedVectors(4, count=5)
    keyed.add_vectors(["a", "b"], np.ones((2, 4)))
    model = w2vtrain.continue_training(keyed, [["None", "a", "b"]] * 50, threads=1, sample=0)
    assert [model.record["init_from"][name] for name in ("words", "new_words")] == [2, 1]
    twins = w2vtrain.KeyedVectors.of([1, "1"], np.ones((2, 4), np.float32))
    with pytest.raises(ValueError, match="one word twice"):
        w2vtrain.continue_training(twins, [["1", "a", "b"]] * 50, threads=1)
    with pytest.raises(ValueError, match="one word twice"):
        w2vtrain.continue_training(w2vtrain.Vectors(["a", "a"], np.ones((2, 4), np.float32)), [["a", "b"]] * 50)
    with pytest.raises(ValueError, match="the vector of 'a' is not finite"):
        w2vtrain.continue_training(w2vtrain.KeyedVectors.of(["a"], np.full((1, 4), np.nan)), [["a", "b"]] * 50)
    with pytest.raises(ValueError, match="vectors are real numbers"):
        w2vtrain.KeyedVectors.of(["a"], np.ones((1, 4)) * 1j)


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


@pytest.mark.parametrize("name", ["m.safetensors", "m.bin", "v.txt", "v.npz", "k.safetensors"])
def test_load_reads_models_and_vectors_of_all_formats(name, model, tmp_path):
    path = tmp_path / name
    if name == "m.bin":
        model.save_fasttext(path)
    elif name.startswith("v"):
        w2vtrain.write_vectors(path, model.words, model.vectors())
    else:
        (model if name.startswith("m") else model.wv).save(path)
    loaded = w2vtrain.load(path)
    assert isinstance(loaded, w2vtrain.Model if name.startswith("m") else w2vtrain.KeyedVectors)
    for word in model.words:
        np.testing.assert_array_equal(loaded[word], model[word])


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


def test_warnings_name_the_line_of_the_caller():
    with pytest.warns(UserWarning, match="subsampling") as caught:
        w2vtrain.train([["red", "green", "blue"]] * 200, min_count=1, vector_size=4, epochs=1)
    assert {warning.filename for warning in caught} == {__file__}


def test_objective_options_appear_in_the_settings_of_the_model(corpus):
    assert w2vtrain.train(corpus, options={"negative": 2}, **SMALL).settings["options"]["negative"] == 2


def test_continued_training_with_a_tiny_rate_returns_the_model(model, corpus):
    before = model.input.copy()
    again = w2vtrain.continue_training(model, corpus, epochs=1, alpha=1e-9, threads=1)
    assert again.words == model.words
    np.testing.assert_array_equal(again.counts, model.counts)
    np.testing.assert_allclose(again.input, model.input, atol=1e-5)
    np.testing.assert_allclose(again.output, model.output, atol=1e-5)
    assert again.settings["vector_size"] == 8
    assert again.record["init_from"]["parts"] == ["input", "output"]
    last = model.record["epochs"][-1]["loss"]
    assert again.record["epochs"][0]["loss"] == pytest.approx(last, rel=0.02)  # that of new weights is 45% higher
    np.testing.assert_array_equal(model.input, before)


def test_continued_training_has_a_schedule_of_its_own(model, corpus):
    rates = []
    events = Events(training=lambda at: rates.append(at.alpha))
    again = w2vtrain.continue_training(model, corpus, epochs=3, threads=1, events=events)
    assert len(again.record["epochs"]) == again.settings["epochs"] == 3
    assert again.settings["alpha"] == model.settings["alpha"] >= rates[0] > 0.9 * model.settings["alpha"]
    assert rates[-1] < 0.1 * model.settings["alpha"]
    assert again.record["epochs"][-1]["loss"] < again.record["epochs"][0]["loss"]


def test_vectors_of_another_program_can_start_a_run(model, corpus):
    vectors = w2vtrain.Vectors(model.words[:5], model.input[:5])
    more = w2vtrain.continue_training(vectors, corpus, epochs=1, alpha=1e-6, min_count=2, threads=1)
    rows = [more.words.index(word) for word in model.words[:5]]
    np.testing.assert_allclose(more.input[rows], model.input[:5], atol=1e-5)
    assert more.record["init_from"]["parts"] == ["input"]
    keyed = w2vtrain.KeyedVectors.of(vectors.words, vectors.matrix)
    assert same_model(w2vtrain.continue_training(keyed, corpus, 1, alpha=1e-6, min_count=2, threads=1), more)
    with pytest.raises(TypeError, match=r"cannot start from 'model\.safetensors': pass .*load_model\(path\)"):
        w2vtrain.continue_training("model.safetensors", corpus)
    for name in ("min_count", "max_vocab"):
        with pytest.raises(
            ConfigError, match=f"{name}: has no effect on the words of a model; leave it out, or add gr"
        ):
            w2vtrain.continue_training(model, corpus, **{name: 3})
    frozen = w2vtrain.continue_training(model, corpus, epochs=1, freeze=True)
    np.testing.assert_array_equal(frozen.input, model.input)
    assert (frozen.output != model.output).any()


@pytest.mark.parametrize("objective", ["neg", "softmax"])
def test_frozen_vectors_include_that_of_the_end_of_sentences(objective):
    vectors = w2vtrain.Vectors(["a", "</s>"], np.eye(2, 8, dtype=np.float32))
    settings = {"objective": objective, "sample": 0, "threads": 1}
    more = w2vtrain.continue_training(vectors, [["a", "b", "c"]] * 50, 1, freeze=True, sentence_end=True, **settings)
    np.testing.assert_array_equal(more.input[[more.words.index(word) for word in vectors.words]], vectors.matrix)


@pytest.mark.parametrize(("decay", "lost"), [(1e-6, 0), (1.0, 2)])
def test_a_given_vector_of_zeros_was_not_shrunk_by_weight_decay(decay, lost):
    vectors = w2vtrain.Vectors(["a", "b", "pad"], np.vstack([np.eye(2, 8), np.zeros((1, 8))]).astype(np.float32))
    settings = {"sample": 0, "threads": 1, "min_count": 1, "alpha": 1.0, "weight_decay": decay}
    with pytest.raises(DataError, match="shrunk 2 of 3 input vectors") if lost else nullcontext():
        w2vtrain.continue_training(vectors, [["a", "b"], ["pad"]] * 50, 1, **settings)


def test_a_text_of_unknown_words_is_answered_with_what_makes_them_known(model):
    known, other = model.words[0], [f"other{k}" for k in range(9)]
    for sentences in ([[known, *other]] * 3, [other] * 3):
        with pytest.raises(DataError, match="grow_vocabulary=True adds the words that the model lacks"):
            w2vtrain.continue_training(model, sentences)
        with pytest.raises(DataError, match="without vocabulary, the words are those of the text"):
            w2vtrain.train(sentences, vocabulary=Vocabulary([known, "x"], np.array([3, 1])))
    with pytest.raises(DataError, match="a lower min_count keeps rare words"):
        w2vtrain.continue_training(model, [[known, *other]] * 3, grow_vocabulary=True, min_count=9)


def test_a_model_cannot_name_code_to_run(model, corpus, tmp_path):
    (tmp_path / "mine.py").write_text("raise SystemExit('was run')")
    about = {**model.settings, "objective": str(tmp_path / "mine.py")}
    with pytest.raises(ConfigError, match=r"mine\.py"):
        w2vtrain.continue_training(replace(model, settings=about), corpus)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"workers": 1, "size": 8, "iter": 2, "lr": 0.1, "ws": 3}, {"threads": 1, "window": 3, "alpha": 0.1}),
        ({"threads": 1, "dim": 8, "negative": 2}, {"vector_size": 8}),
    ],
)
def test_settings_have_the_same_names_as_on_the_command_line(corpus, given, expected):
    found = w2vtrain.train(corpus, **{"epochs": 1, **given} if "iter" not in given else given).settings
    assert {name: found[name] for name in expected} == expected
    assert found["options"]["negative"] == given.get("negative", 5)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"minn": 2, "maxn": 5}, "minn: has no effect without subwords=True; maxn: has no effect .*"),
        ({"block": 16}, "block: objective neg trains window by window and has no blocks; leave it out"),
    ],
)
def test_settings_without_effect_are_refused_unless_all_are_given_as_a_model_has_them(model, corpus, given, why):
    for train in (partial(w2vtrain.train, corpus), partial(w2vtrain.continue_training, model, corpus)):
        with pytest.raises(ConfigError, match=f"^{why}$"):
            train(**given)
    assert same_model(w2vtrain.train(corpus, **model.settings), model)
    most = {name: value for name, value in model.settings.items() if name != "seed"}
    for settings in (most, {"block": None, "subwords": False, "minn": 3, "epochs": 1}):
        w2vtrain.train(corpus, **settings)
        w2vtrain.continue_training(model, corpus, **{**settings, "max_vocab": None})
    assert w2vtrain.continue_training(model, corpus, **model.settings).words == model.words


def test_large_results_are_shown_in_one_line(model):
    vectors = w2vtrain.Vectors(model.words, model.input)
    assert repr(vectors) == f"Vectors({len(model.words)} words x {model.input.shape[1]}, text)"
    table = w2vtrain.find_phrases([["new", "york"]] * 9, threshold=0.1)
    assert repr(table) == "PhraseTable(1 phrases, original scores above 0.1)"


def test_the_package_lists_its_public_names():
    assert set(w2vtrain.__all__) <= set(dir(w2vtrain))
    for name in w2vtrain.__all__:
        assert getattr(w2vtrain, name).__doc__


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
    with pytest.raises(DataError, match=r"'sky blue' contains white space.*replace its spaces in the text, as in new_"):
        Vocabulary(model.words, model.counts).save(tmp_path / "vocabulary.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]
    with pytest.raises(DataError, match="'sky blue' of the vocabulary cannot occur in text files, where white space"):
        w2vtrain.train(renamed, heldout=corpus, **SMALL)


def test_words_that_no_file_can_store_are_trained_and_refused_when_saved(tmp_path):
    for word in ("", "a\nb", "\ud800"):
        with pytest.warns(UserWarning, match=r"the vocabulary: .*, so the model cannot be saved; model\.to_keyed"):
            model = w2vtrain.train([["x", word, "y"]] * 9, **SMALL)
        assert set(model.words) == {"x", word, "y"}
        with pytest.raises(DataError, match=r"word .*(is empty|contains a newline|contains an unpaired surrogate)"):
            w2vtrain.save_model(tmp_path / "model.safetensors", model)
    with pytest.raises(DataError, match=r"txt: an empty string is no word: leave it out of each list of words$"):
        Vocabulary(["x", ""], np.array([2, 1])).save(tmp_path / "vocabulary.txt")
    assert not list(tmp_path.iterdir())


def test_what_is_neither_paths_nor_lists_of_words_is_refused(corpus):
    assert w2vtrain.train((str(corpus), corpus), **SMALL).counts.sum() == 900 * 8 * 2
    for wrong, message in (
        ([str(corpus), ["a", "b"]], r"item 1 is \['a', 'b'\], although item 0 is a path"),
        ([["a", "b"], str(corpus)], r"sentences\[1\] is .*: each sentence must be a list of words"),
        ((path for path in [corpus]), r"sentences\[0\] is .*: each sentence must be a list of words"),
        (7, "expected an iterable of sentences, each of them a list of words, got 7"),
        ({"train": [["a", "b"]]}, r"^the dict: pass one of its values, such as data\['train'\], or list\("),
    ):
        for column in (None, "text") if isinstance(wrong, dict) else (None,):
            with pytest.raises(TokenError, match=message):
                w2vtrain.train(wrong, column=column, **SMALL)
    assert w2vtrain.train({("a", "b"): 1, ("b", "c"): 1}, **SMALL | {"min_count": 1}).counts.sum() == 4


def test_an_exception_of_the_iterable_reaches_the_caller(corpus):
    def broken():
        yield from sentences_of(corpus)
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        w2vtrain.train(broken(), **SMALL)


def test_a_model_continues_with_more_words(corpus, model):
    settings = {"alpha": 0.01, "threads": 1, "seed": 3}
    grown = w2vtrain.continue_training(model, corpus, 1, grow_vocabulary=True, min_count=1, **settings)
    assert set(grown.words) == {*model.words, "rare"}


@pytest.mark.parametrize("before", [False, True])
def test_a_growing_vocabulary_counts_the_ends_of_sentences_as_training_anew_does(tmp_path, before):
    text = tmp_path / "text"
    text.write_text("a b c d e f\n\n" * 9 + "rare\n")
    settings = {"max_sentence": 4, "threads": 1, "sample": 0}
    model = w2vtrain.train(text, epochs=1, vector_size=8, sentence_end=before, **settings)
    grown = w2vtrain.continue_training(model, text, 1, grow_vocabulary=True, sentence_end=True, **settings)
    assert dict(zip(grown.words, grown.counts, strict=True))["</s>"] == 18 + 18 * before


def test_training_goes_on_for_as_many_epochs_under_any_name():
    sentences = [["red", "green", "blue"], ["cat", "dog", "cow"]] * 50
    model = w2vtrain.train(sentences, vector_size=4, min_count=1, epochs=1, threads=1)
    for passes in ({"epochs": 2}, {"iter": 2}):
        assert len(w2vtrain.continue_training(model, sentences, **passes).record["epochs"]) == 2
    with pytest.raises(ConfigError, match="iter: is another name of epochs"):
        w2vtrain.continue_training(model, sentences, epochs=3, iter=2)
