"""Tests of Doc2Vec: it trains what `train` trains on documents, and behaves as gensim's users expect."""

import copy
import io
import logging
import pickle

import numpy as np
import pytest
from prepared import prepared

import w2vtrain
from w2vtrain import Doc2Vec, TaggedBrownCorpus, TaggedDocument, TaggedLineDocument, Word2Vec
from w2vtrain.errors import W2VError
from w2vtrain.leaves.documents.inference import Inference
from w2vtrain.leaves.gensim.doc2vec import INTEGERS
from w2vtrain.leaves.gensim.learning import settings_for
from w2vtrain.text.text_files import Corpus
from w2vtrain.training import trainer
from w2vtrain.training.inputs import Inputs
from w2vtrain.training.plan import Plan

TOPICS = ["red green blue yellow pink", "cat dog cow horse pig", "one two three four five"]
RNG = np.random.default_rng(1)
TEXTS = [RNG.choice(TOPICS[i % 3].split(), 5 + i % 9).tolist() for i in range(300)]
DOCUMENTS = [TaggedDocument(words, [i]) for i, words in enumerate(TEXTS)]
ABOUT = {"vector_size": 8, "epochs": 10, "workers": 1, "sample": 0, "min_count": 1, "alpha": 0.05}
WAYS = {
    "pv-dbow": {"dm": 0}, "pv-dbow-words": {"dm": 0, "dbow_words": 1},
    "pv-dm": {}, "pv-dm-sum": {"dm_mean": 0}, "pv-dm-concat": {"dm_concat": 1},
}  # fmt: skip
each_inference = pytest.mark.parametrize(
    "name", ["pv-dbow", pytest.param("pv-dbow-words", marks=pytest.mark.slow), "pv-dm", "pv-dm-sum"]
)
"""The inference of pv-dbow-words is that of pv-dbow, so that only slow tests compile it."""


@pytest.fixture(scope="module")
def trained():
    """Return a model that tests do not change."""
    return Doc2Vec(DOCUMENTS, **{**ABOUT, "epochs": 30}, dm=0)


@pytest.fixture
def model():
    return Doc2Vec(DOCUMENTS, **ABOUT)


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "documents.txt"
    path.write_text("\n".join(" ".join(words) for words in [*TEXTS[:3], [], *TEXTS[3:]]))
    return path


def weights(model):
    return {
        "wv": model.wv.vectors.tolist(), "dv": model.dv.vectors.tolist(), "tags": list(model.dv.index_to_key),
        **({"syn1neg": model.syn1neg.tolist()} if model.negative else {}),
        **({"syn1": model.syn1.tolist()} if model.hs else {}),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        *((name, {}) for name in WAYS),
        ("pv-dbow", {"hs": 1, "negative": 0}),
        pytest.param("pv-dbow", {"hs": 1}, marks=pytest.mark.slow),
    ],
)
def test_it_trains_as_train_does_from_the_same_rows(name, loss):
    model = Doc2Vec(**ABOUT, **WAYS[name], **loss)
    model.build_vocab(DOCUMENTS)
    rows = {tag: model.dv[tag].copy() for tag in model.dv.index_to_key}
    words, initial = model.vocabulary().words, model.wv.vectors.copy()
    order = [model.wv.key_to_index[word] for word in words]

    def prepare(engine):
        engine.state()["input"][: len(words), :8] = initial[order]
        engine.state()["input"][len(words) :, :8] = [rows[i] for i in range(len(DOCUMENTS))]

    settings = settings_for(model, 10, model.alpha, model.min_alpha, model.corpus_total_words)
    assert settings.architecture == name
    expected = trainer.trained(Plan.of(Inputs(w2vtrain.Documents(DOCUMENTS)), settings), make=prepared(prepare)).model()
    model.train(DOCUMENTS, total_examples=model.corpus_count, epochs=10)
    for tag in rows:
        assert model.dv[tag].tolist() == expected.dv[str(tag)].tolist()
        assert model.dv[tag].tolist() != rows[tag].tolist()
    for word in words:
        assert model.wv[word].tolist() == expected.input[expected.words.index(word)].tolist()
    assert (model.dbow, model.dm) == ("dbow" in name, "dm" in name)


def test_building_and_training_is_what_the_constructor_does(model):
    mine = Doc2Vec(**ABOUT)
    mine.build_vocab(DOCUMENTS)
    mine.train(DOCUMENTS, total_examples=mine.corpus_count, epochs=mine.epochs)
    assert weights(mine) == weights(model)
    assert (mine.corpus_count, mine.corpus_total_words) == (300, sum(map(len, TEXTS)))
    assert mine.train_count == 1


def test_calls_of_train_continue_from_the_present_weights(model, tmp_path):
    model.save(tmp_path / "model")
    loaded, before = Doc2Vec.load(tmp_path / "model"), weights(model)
    for each in (model, loaded):
        each.train(DOCUMENTS, total_examples=each.corpus_count, epochs=2, start_alpha=0.001, end_alpha=0.001)
    assert weights(model) == weights(loaded) != before
    moved = np.abs(model.dv.vectors - before["dv"]).max(axis=1)
    assert (moved > 0).all()
    assert (moved < 0.1).all()


def test_tags_are_as_they_were_given():
    tags = [[np.int64(70), "b"], ["a", 5], [5], []]
    corpus = [TaggedDocument(TEXTS[i], own) for i, own in enumerate(tags)]
    model = Doc2Vec(corpus, **ABOUT)
    assert model.dv.index_to_key == [5, 70, "b", "a"]
    assert list(map(type, model.dv.index_to_key)) == [int, int, str, str]
    assert model.dv.vectors.shape == (4, 8)  # no row for other whole numbers
    assert model.dv[70].tolist() == model.dv[np.int64(70)].tolist() == model.dv.vectors[1].tolist()
    assert [model.dv.get_vecattr(5, name) for name in ("doc_count", "word_count")] == [2, len(TEXTS[1] + TEXTS[2])]
    with pytest.raises(KeyError):
        model.dv["5"]
    attributes = {name: values.tolist() for name, values in model.dv.expandos.items()}
    model.init_weights()
    assert {name: values.tolist() for name, values in model.dv.expandos.items()} == attributes


@pytest.mark.parametrize(
    "document, line",
    [
        ((TEXTS[0], "tag"), "expected a list of words and a list of tags"),
        (TEXTS[0], "expected a list of words and a list of tags"),
        ((TEXTS[0], [1.5]), "its tag 1.5 must be a string or a whole number"),
        ((["a", 7], [0]), r"words must be str"),
    ],
)
def test_what_is_no_document_is_a_type_error(document, line):
    with pytest.raises(TypeError, match=line) as caught:
        Doc2Vec([document], min_count=1)
    assert "\n" not in str(caught.value)


def test_what_is_no_corpus_is_an_error(tmp_path):
    for corpus in (11, "text"):
        with pytest.raises(TypeError, match="documents must be an iterable of TaggedDocument"):
            Doc2Vec(corpus)
    with pytest.raises(RuntimeError, match="there are no sentences"):
        Doc2Vec([])
    with pytest.raises(RuntimeError, match="keeps none of the 15 words"):
        Doc2Vec(DOCUMENTS, min_count=10_000)
    with pytest.raises(FileNotFoundError):
        Doc2Vec(corpus_file=tmp_path / "nothing")
    with pytest.raises(RuntimeError, match="first build vocabulary"):
        Doc2Vec().infer_vector(["red"])


def test_unsupported_arguments_are_refused_in_one_line():
    for arguments, line in (
        ({"dv": w2vtrain.KeyedVectors(8)}, "call build_vocab, and then set the rows"),
        ({"dv_mapfile": "x"}, "call build_vocab, and then set the rows"),
    ):
        with pytest.raises(NotImplementedError, match=line) as caught:
            Doc2Vec(DOCUMENTS, **arguments)
        assert "\n" not in str(caught.value)
    with pytest.raises(TypeError, match="Doc2Vec has no argument size, iter: use vector_size, epochs"):
        Doc2Vec(DOCUMENTS, size=3, iter=3)
    with pytest.raises(TypeError, match="infer_vector has no argument steps: use epochs"):
        Doc2Vec().infer_vector(["a"], steps=3)
    with pytest.raises(TypeError, match="train has no argument documents: use corpus_iterable"):
        Doc2Vec().train(documents=DOCUMENTS)
    for name in ("dm", "dm_mean", "dm_concat", "dbow_words"):
        with pytest.raises(TypeError, match=f"^{name} must be a whole number, got '0'"):
            Doc2Vec(DOCUMENTS, **{name: "0"})
    with pytest.raises(TypeError, match="Doc2Vec has no argument random_state"):
        Doc2Vec(DOCUMENTS, random_state=3)


def test_concatenation_has_output_vectors_for_each_position(tmp_path):
    model = Doc2Vec(DOCUMENTS, **ABOUT, dm_concat=1, window=3, hs=1, negative=3)
    assert (model.layer1_size, model.syn1neg.shape, model.syn1.shape) == (56, (15, 56), (15, 56))
    model.save(tmp_path / "model")
    loaded = Doc2Vec.load(tmp_path / "model")
    assert weights(loaded) == weights(model)
    assert str(loaded) == "Doc2Vec<dm/c,d8,n3,hs,w3>"
    assert loaded.infer_vector(TEXTS[0]).tolist() == model.infer_vector(TEXTS[0]).tolist()
    fitted = w2vtrain.train(
        w2vtrain.Documents(DOCUMENTS), architecture="pv-dm-concat", vector_size=8, min_count=1, sample=0
    )
    fitted.save(tmp_path / "fitted")
    assert Doc2Vec.load(tmp_path / "fitted").dm_concat == 1
    for query in (lambda: model.predict_output_word(["red"]), lambda: next(iter(model.score([["red", "green"]])))):
        with pytest.raises(RuntimeError, match="with dm_concat=1"):
            query()
    with pytest.raises(w2vtrain.W2VError, match="only its input vectors can be written"):
        fitted.vectors("out")
    with pytest.raises(w2vtrain.W2VError, match="has no vectors of documents"):
        fitted.save_fasttext(tmp_path / "fitted.bin")
    model.window = 2
    with pytest.raises(RuntimeError, match="window has changed since the vocabulary was built"):
        model.train(DOCUMENTS, total_examples=300, epochs=1)
    with pytest.raises(ValueError, match="window must be a number"):
        Doc2Vec(dm_concat=1, window="sentence")


def test_a_string_of_words_is_read_as_characters_with_a_warning(caplog):
    model = Doc2Vec(min_count=1)
    model.build_vocab([TaggedDocument("human", [0]), TaggedDocument("machine", [1])])
    assert "Each 'words' should be a list of words" in caplog.text
    assert "h" in model.wv


def test_lines_of_a_file_are_documents_whose_tags_are_their_numbers(lines):
    from_file = Doc2Vec(corpus_file=lines, **ABOUT)
    assert from_file.dv.index_to_key == list(range(301))
    assert from_file.corpus_count == 301
    tagged = [TaggedDocument(words, [i]) for i, words in enumerate([*TEXTS[:3], [], *TEXTS[3:]])]
    assert list(TaggedLineDocument(lines)) == list(TaggedLineDocument(io.StringIO(lines.read_text()))) == tagged
    for corpus in (tagged, iter(tagged), TaggedLineDocument(lines), TaggedLineDocument(io.StringIO(lines.read_text()))):
        assert weights(Doc2Vec(corpus, **ABOUT)) == weights(from_file)
    pruned = Doc2Vec(corpus_file=lines, **ABOUT, max_vocab_size=1000)
    assert weights(pruned) == weights(from_file)
    assert weights(Doc2Vec(tagged, **ABOUT, max_vocab_size=1000)) == weights(from_file)


def test_a_class_that_changes_the_lines_is_iterated_over(lines):
    class Tens(TaggedLineDocument):
        def __iter__(self):
            return (TaggedDocument(words, [10 * number]) for words, (number,) in super().__iter__())

    assert Doc2Vec(Tens(lines), **ABOUT).dv.index_to_key[:3] == [0, 10, 20]


def test_the_brown_corpus_has_a_document_per_line(tmp_path):
    (tmp_path / "ca02").write_text("A/at Dog/nn-tl\n")
    (tmp_path / "ca01").write_text("The/at County/nn-tl jury/nn ./.\n\n./.\nsaid/vbd\n")
    (tmp_path / "folder").mkdir()
    found = [(words, tags[0].removeprefix(str(tmp_path))[1:]) for words, tags in TaggedBrownCorpus(tmp_path)]
    assert found == [
        (["the/at", "county/nn", "jury/nn"], "ca01_SENT_0"), (["said/vb"], "ca01_SENT_3"),
        (["a/at", "dog/nn"], "ca02_SENT_0"),
    ]  # fmt: skip


def test_documents_may_change_between_epochs(caplog):
    class Shuffled:
        def __iter__(self):
            nonlocal readings
            readings += 1
            return iter([DOCUMENTS[i] for i in np.random.default_rng(readings).permutation(300)])

    readings = 0
    Doc2Vec(Shuffled(), **{**ABOUT, "epochs": 3}, reread=True)
    assert readings == 3
    caplog.clear()
    Doc2Vec(Shuffled(), **{**ABOUT, "epochs": 3})
    assert "the corpus is read once" in caplog.text
    caplog.clear()
    Doc2Vec(DOCUMENTS, **{**ABOUT, "epochs": 3})
    assert not caplog.text


def test_new_words_and_tags_join_a_model(model):
    before = weights(model)
    new = [TaggedDocument(["cat", "ape", "bird", "bird"], [3, 999, "zoo"])] * 20
    model.build_vocab(new, update=True)
    assert {"ape", "bird"} <= set(model.wv.index_to_key)
    assert model.dv.index_to_key == [*before["tags"], 999, "zoo"]
    assert model.dv.vectors[:300].tolist() == before["dv"]
    assert [int(model.dv.get_vecattr(tag, "doc_count")) for tag in (3, 4, "zoo")] == [21, 1, 20]
    zoo = model.dv["zoo"].copy()
    model.train(new, total_examples=model.corpus_count, epochs=3)
    moved = (model.dv.vectors[:300] != before["dv"]).any(axis=1)
    assert np.flatnonzero(moved).tolist() == [3]
    assert (model.dv["zoo"] != zoo).all()


def test_new_tags_join_a_model_without_new_words():
    model = Doc2Vec(DOCUMENTS, **ABOUT, hs=1, negative=3)
    before, tags = weights(model), model.dv.vectors.tolist()
    model.build_vocab([TaggedDocument([], ["new"])], update=True)
    assert model.dv.index_to_key == [*range(300), "new"]
    assert model.dv.vectors[:300].tolist() == tags
    assert {**weights(model), "dv": tags, "tags": before["tags"]} == before
    model.init_weights()
    assert len(model.dv) == 301


def test_rows_of_old_tags_are_never_trained():
    model, corpus = Doc2Vec(**ABOUT), iter(DOCUMENTS)
    model.build_vocab(corpus)
    model.dv.add_vector("new", np.ones(8))
    with pytest.raises(RuntimeError, match="no sentences: the iterable is empty, or was read before"):
        model.train(corpus, total_examples=300, epochs=1)


def test_unknown_tags_and_words_are_left_out(model, caplog):
    before = weights(model)
    model.train([TaggedDocument(TEXTS[0], ["other", -1])], total_examples=1, epochs=1)
    assert model.dv.vectors.tolist() == before["dv"]
    assert model.train([TaggedDocument(["xyzzy"], [0])], total_examples=1, epochs=1) == (0, 1)
    dbow = Doc2Vec(DOCUMENTS, **ABOUT, dm=0)
    caplog.clear()
    dbow.train([TaggedDocument(TEXTS[0], ["other", -1])], total_examples=1, epochs=1, start_alpha=1e-4)
    assert caplog.messages == ["no document has a tag of the model: build_vocab(..., update=True) adds tags"]


def test_without_words_a_window_of_0_is_as_good_as_another():
    rows = [Doc2Vec(DOCUMENTS, **ABOUT, dm=0, window=window).dv.vectors for window in (0, 5)]
    assert rows[0].tolist() == rows[1].tolist()
    with pytest.raises(ValueError, match="window must be"):
        Doc2Vec(DOCUMENTS, **ABOUT, dm=0, dbow_words=1, window=0)


def test_numbers_of_rows_are_tags_without_an_entry_in_key_to_index(model):
    assert (model.dv.key_to_index, 7 in model.dv, 300 in model.dv) == ({}, True, False)
    mixed = Doc2Vec([TaggedDocument(words, [i, 7, "all"]) for i, words in enumerate(TEXTS[:3])], **ABOUT)
    assert (mixed.dv.index_to_key, mixed.dv.key_to_index) == ([0, 1, 2, 7, "all"], {7: 3, "all": 4})
    some = mixed.dv.vectors_for_all([2, 3, 7, "all"])
    assert some.index_to_key == [2, 7, "all"]
    assert some[7].tolist() == mixed.dv[7].tolist() == mixed.dv.vectors[3].tolist()
    before = weights(mixed)["dv"]
    mixed.train([TaggedDocument(TEXTS[0], [3])], total_examples=1, epochs=1)  # the number of a row is no tag
    assert weights(mixed)["dv"] == before
    mixed.dv.add_vectors([1, 2, 9], np.zeros((3, 8)), replace=True)
    assert (mixed.dv.index_to_key, mixed.dv[1].any()) == ([0, 1, 2, 7, "all", 9], False)


def test_documents_without_any_tag_teach_words():
    model = Doc2Vec([TaggedDocument(words, []) for words in TEXTS], **ABOUT)
    assert len(model.dv) == 0
    assert model.wv.similarity("red", "green") > model.wv.similarity("red", "cat")


# New documents.


def test_the_same_words_have_the_same_vector(trained, tmp_path):
    words = [*TEXTS[4], "xyzzy"]
    before = weights(trained)
    vector = trained.infer_vector(words)
    assert vector.dtype == np.float32
    trained.infer_vector(TEXTS[5], epochs=3)
    assert trained.infer_vector(words).tolist() == vector.tolist()
    assert trained.infer_vector(words[:-1]).tolist() == vector.tolist()
    assert trained.infer_vector(words, trained.alpha, trained.min_alpha, trained.epochs).tolist() == vector.tolist()
    assert trained.infer_vector(words, epochs=7).tolist() != vector.tolist()
    assert trained.infer_vector(words, alpha=0.01).tolist() != vector.tolist()
    assert weights(trained) == before
    trained.save(tmp_path / "model")
    assert Doc2Vec.load(tmp_path / "model").infer_vector(words).tolist() == vector.tolist()
    for other in (copy.deepcopy(trained), pickle.loads(pickle.dumps(trained))):
        assert other.infer_vector(words).tolist() == vector.tolist()


@each_inference
def test_inferred_vectors_are_those_of_the_command(name, lines, tmp_path):
    model = Doc2Vec(DOCUMENTS, **{**ABOUT, "sample": 1e-2}, **WAYS[name])
    model.save(tmp_path / "model")
    vectors, _ = Inference(w2vtrain.load_model(tmp_path / "model")).vectors(Corpus([str(lines)], "whitespace"))
    assert vectors[0].tolist() == model.infer_vector(TEXTS[0]).tolist()
    assert vectors[9].tolist() == model.infer_vector(TEXTS[8]).tolist()


@pytest.mark.parametrize("negative", [0, 3])
def test_a_tree_that_does_not_follow_from_the_counts_infers_vectors(negative, tmp_path):
    model = Doc2Vec(DOCUMENTS, **ABOUT, dm=0, hs=1, negative=negative)
    before = copy.deepcopy(model).infer_vector(TEXTS[0])
    model.wv.expandos["count"] = (np.arange(1, 16) ** 3).tolist()
    model.save(tmp_path / "model")
    vector = model.infer_vector(TEXTS[0])
    assert (vector.tolist() == before.tolist()) == (not negative)  # noise follows the counts, but the tree does not
    for each in (model, Doc2Vec.load(tmp_path / "model")):
        assert each.infer_vector(TEXTS[0]).tolist() == vector.tolist()
    inference = Inference(w2vtrain.load_model(tmp_path / "model"))
    assert inference.vector(TEXTS[0])[0].tolist() == vector.tolist()


def test_a_document_without_known_words_gets_zeros_and_a_warning(trained, caplog):
    assert not trained.infer_vector(["xyzzy", "plugh"]).any()
    assert "no word of the document is in the vocabulary" in caplog.text
    assert not trained.infer_vector([]).any()
    with pytest.raises(TypeError, match=r"pass doc_words\.split\(\)"):
        trained.infer_vector("red green")
    with pytest.raises(TypeError, match=r"each a str; got \['red'\]"):
        trained.infer_vector([["red"], ["green"]])
    assert trained.infer_vector(iter(["red"])).tolist() == trained.infer_vector(["red"]).tolist()


def test_inferred_vectors_follow_the_weights(tmp_path):
    class Infer(w2vtrain.CallbackAny2Vec):
        def on_epoch_end(self, model):
            found.append(model.infer_vector(TEXTS[0], 0.05, 0.001, 5).tolist())

    found, word = [], TEXTS[0][0]
    (tmp_path / "vectors").write_text(f"1 8\n{word} 9 8 7 6 5 4 3 2\n")
    model = Doc2Vec(DOCUMENTS, **ABOUT, hs=1, negative=3)
    model.train(DOCUMENTS, total_examples=300, epochs=2, callbacks=[Infer()])
    for change in (
        lambda: None,
        lambda: setattr(model, "syn1neg", model.syn1neg * 2),
        lambda: setattr(model, "syn1", model.syn1 * 2),
        lambda: setattr(model, "window", 1),
        lambda: model.wv.set_vecattr(word, "count", 9999),
        lambda: model.wv.__setitem__(word, np.ones(8)),
        lambda: model.wv.intersect_word2vec_format(tmp_path / "vectors"),
        lambda: model.wv.vectors.fill(0.5) or model.wv.fill_norms(force=True),
        model.init_weights,
    ):
        change()
        found.append(model.infer_vector(TEXTS[0], 0.05, 0.001, 5).tolist())
    assert found[1] == found[2]  # nothing has changed since the last epoch
    assert len(set(map(tuple, found))) == 10


@pytest.mark.parametrize("loss", [{}, {"hs": 1, "negative": 0}], ids=["neg", "hs"])
def test_vectors_are_inferred_after_a_word_was_added(loss, tmp_path):
    model = Doc2Vec(DOCUMENTS, **ABOUT, **loss)
    before = model.infer_vector(TEXTS[0])
    model.wv.add_vector("<pad>", np.zeros(8))
    vector = model.infer_vector(TEXTS[0])
    assert vector.tolist() == before.tolist() if loss else vector.any()  # noise words may be other words
    model.save(tmp_path / "model")
    again = Doc2Vec.load(tmp_path / "model")
    assert again.infer_vector(TEXTS[0]).tolist() == vector.tolist()
    assert again.wv.get_vecattr("<pad>", "count") == 0
    again.wv.set_vecattr(TEXTS[0][0], "count", 9999)
    again.save(tmp_path / "model")
    assert again.infer_vector(TEXTS[0]).tolist() == Doc2Vec.load(tmp_path / "model").infer_vector(TEXTS[0]).tolist()


def test_an_untrained_model_infers_a_random_vector_per_text_with_a_warning(caplog):
    model = Doc2Vec(**ABOUT)
    model.build_vocab(DOCUMENTS)
    vector = model.infer_vector(["red", "green"])
    assert "has the model been trained?" in caplog.text
    assert vector.any()
    assert model.infer_vector(["red", "green"]).tolist() == vector.tolist()
    assert model.infer_vector(["cat"]).tolist() != vector.tolist()


def test_the_similarity_of_new_documents_is_their_cosine(trained):
    colors, more, animals = TOPICS[0].split()[:3], TOPICS[0].split()[2:], TOPICS[1].split()
    same, other = (trained.similarity_unseen_docs(colors * 4, words * 4) for words in (more, animals))
    assert same > other
    assert trained.similarity_unseen_docs(["red"], ["red"]) == pytest.approx(1)
    assert trained.similarity_unseen_docs(["red"], ["xyzzy"]) == 0
    assert isinstance(same, np.float32)


# Files.


def test_a_file_keeps_all_that_training_and_inference_need(tmp_path):
    corpus = [TaggedDocument(words, [i, f"topic {i % 3}"]) for i, words in enumerate(TEXTS)]
    model = Doc2Vec(corpus, **ABOUT, dm=0, dbow_words=1, hs=1, negative=3, comment="mine")
    model.dv.set_vecattr("topic 1", "seen", True)
    model.save(tmp_path / "model")
    loaded = Doc2Vec.load(tmp_path / "model", mmap="r")
    assert weights(loaded) == weights(model)
    assert str(loaded) == str(model) == 'Doc2Vec<"mine",dbow+w,d8,n3,hs,w5>'
    assert list(map(type, loaded.dv.index_to_key)) == list(map(type, model.dv.index_to_key))
    for name in ("doc_count", "word_count", "seen"):
        assert loaded.dv.expandos[name].tolist() == model.dv.expandos[name].tolist()
    stored = w2vtrain.load_model(tmp_path / "model")
    assert stored.dv["topic 1"].tolist() == model.dv["topic 1"].tolist()
    with pytest.raises(AttributeError, match=r"a model of documents: load it with w2vtrain\.Doc2Vec\.load"):
        Word2Vec.load(tmp_path / "model")
    with pytest.raises(AttributeError, match="load is called on the class"):
        model.load(tmp_path / "model")


@pytest.mark.parametrize("flags", [[1, 1], [1, 0, 1]], ids=["of-text", "too-many"])
def test_damaged_flags_of_tags_are_refused_when_a_model_is_loaded(tmp_path, flags):
    stored = Doc2Vec([TaggedDocument(TEXTS[0], ["t0", 1])], **ABOUT).to_model()
    stored.arrays[INTEGERS] = np.array(flags, np.uint8)
    stored.save(tmp_path / "model")
    with pytest.raises(W2VError, match=r"model: the array doc2vec.integers marks a tag that is not an integer"):
        Doc2Vec.load(tmp_path / "model")


@pytest.mark.filterwarnings("ignore:1 of 301 tags have documents without any word:UserWarning")
def test_models_of_words_and_of_fit(lines, tmp_path):
    Word2Vec(TEXTS, vector_size=8, min_count=1).save(tmp_path / "words")
    with pytest.raises(AttributeError, match="has no vectors of documents") as caught:
        Doc2Vec.load(tmp_path / "words")
    assert str(caught.value).count("words has no") == str(caught.value).count(str(tmp_path)) == 1
    options = {"vector_size": 8, "min_count": 1, "sample": 0}
    w2vtrain.train(TEXTS, **options).save(tmp_path / "skipgram")
    with pytest.raises(AttributeError, match=r"is no model of Doc2Vec; load it with w2vtrain\.load_model"):
        Doc2Vec.load(tmp_path / "skipgram")
    fitted = w2vtrain.train(w2vtrain.Documents(str(lines)), architecture="pv-dm-sum", **options)
    fitted.save(tmp_path / "documents")
    loaded = Doc2Vec.load(tmp_path / "documents")
    assert (loaded.dm, loaded.cbow_mean, loaded.dv.index_to_key[:2]) == (True, 0, ["1", "2"])
    assert loaded.infer_vector(TEXTS[0]).tolist() == Inference(fitted).vector(TEXTS[0])[0].tolist()
    loaded.train([TaggedDocument(TEXTS[0], [1])], total_examples=1, epochs=1)
    assert loaded.dv["1"].tolist() != fitted.dv["1"].tolist()
    loaded.save(tmp_path / "again")
    again = Doc2Vec.load(tmp_path / "again")
    assert again.dv[1].tolist() == again.dv["1"].tolist() == again.dv.vectors[0].tolist() == loaded.dv[1].tolist()
    new = [TaggedDocument(TEXTS[0], [1000])]
    for _ in range(2):
        again.build_vocab(new, update=True)
        before = again.dv["1000"].tolist()
        again.train(new, total_examples=1, epochs=1)
        assert again.dv["1000"].tolist() != before
    again.save(tmp_path / "again")
    assert Doc2Vec.load(tmp_path / "again").dv.index_to_key[300:] == ["301", "1000"]


def test_tags_that_a_file_cannot_tell_apart_are_refused(tmp_path):
    model = Doc2Vec([TaggedDocument(TEXTS[0], [1, "1"])], **ABOUT)
    assert model.infer_vector(TEXTS[0]).any()
    with pytest.raises(w2vtrain.W2VError, match="tags of documents: the word '1' occurs twice"):
        model.save(tmp_path / "model")


def test_which_vectors_of_words_a_file_names(tmp_path):
    """Those that are not trained are not exported."""
    assert Doc2Vec(DOCUMENTS, **ABOUT, dm=0).to_model().record["vectors"] == "out"
    for about in ({"dm": 0, "dbow_words": 1}, {"dm": 0, "hs": 1}, {}):
        assert Doc2Vec(DOCUMENTS, **ABOUT, **about).to_model().record["vectors"] == "in"


def test_vectors_are_written_in_word2vecs_format(model, tmp_path):
    path = tmp_path / "vectors"
    for words, tags, binary in ((True, True, False), (False, True, True), (True, False, True)):
        model.save_word2vec_format(path, tags, words, binary=binary)
        keyed = w2vtrain.KeyedVectors.load_word2vec_format(path, binary=binary)
        assert len(keyed) == 15 * words + 300 * tags
        assert ("*dt_7" in keyed, "red" in keyed) == (tags, words)
    model.save_word2vec_format(path, fvocab=tmp_path / "counts")
    assert len((tmp_path / "counts").read_text().splitlines()) == 15


# What else gensim's class has.


def test_items_are_words_or_tags(model):
    assert model["red"].tolist() == model.wv["red"].tolist()
    words = Doc2Vec([TaggedDocument(TEXTS[0], ["tag"])], **ABOUT)
    assert words["tag"].tolist() == words.dv["tag"].tolist()
    assert words[["tag", "red"]].shape == (2, 8)
    with pytest.raises(KeyError):
        model["xyzzy"]


@pytest.mark.parametrize(
    "about, text",
    [
        ({}, "Doc2Vec<dm/m,d100,n5,w5,mc5,s0.001,t3>"),
        ({"dm_mean": 0, "sample": 0, "min_count": 1, "workers": 1}, "Doc2Vec<dm/s,d100,n5,w5>"),
        ({"dm": 0, "hs": 1, "negative": 0}, "Doc2Vec<dbow,d100,hs,mc5,s0.001,t3>"),
    ],
)
def test_the_text_is_gensims(about, text):
    assert str(Doc2Vec(**about)) == repr(Doc2Vec(**about)) == text


def test_older_names_of_gensim_still_work(model):
    with pytest.warns(DeprecationWarning, match="use dv"):
        assert model.docvecs is model.dv
    model.random.seed(0)
    assert str(DOCUMENTS[0]) == f"TaggedDocument<{TEXTS[0]}, [0]>"


def test_memory_and_lengths(model):
    sizes = model.estimate_memory()
    assert (sizes["doctag_syn0"], sizes["doctag_lookup"]) == (300 * 8 * 4, model.estimated_lookup_memory())
    assert sizes["total"] == sum(value for name, value in sizes.items() if name != "total")
    with pytest.warns(DeprecationWarning, match="init_sims is deprecated"):
        model.init_sims(replace=True)
    np.testing.assert_allclose(np.linalg.norm(model.dv.vectors, axis=1), 1, rtol=1e-5)


def test_the_vocabulary_and_tags_of_another_model_are_taken_over(model):
    other = Doc2Vec(**{**ABOUT, "seed": 5})
    for keyed, key in ((model.wv, "red"), (model.dv, 7)):
        keyed.set_vecattr(key, "seen", 3)
    other.reset_from(model)
    assert (other.dv.index_to_key, len(other.wv)) == (model.dv.index_to_key, 15)
    for mine, theirs in ((other.wv, model.wv), (other.dv, model.dv)):
        assert {name: values.tolist() for name, values in mine.expandos.items()} == {
            name: values.tolist() for name, values in theirs.expandos.items()
        }
        assert mine.expandos["seen"] is not theirs.expandos["seen"]
    assert other.dv.vectors.tolist() != model.dv.vectors.tolist()
    other.train(DOCUMENTS, total_examples=other.corpus_count, epochs=2)


@pytest.mark.parametrize("name", ["wv", "dv"])
def test_vectors_of_another_shape_are_named(name, model):
    getattr(model, name).vectors = np.zeros((3, 8), np.float32)
    with pytest.raises(RuntimeError, match=rf"^{name}.vectors has shape \(3, 8\); expected \(\d+, 8\)$"):
        model.train(DOCUMENTS, total_examples=300, epochs=1)


def test_words_but_not_tags_can_be_locked(model):
    model.wv.vectors_lockf = np.where(np.array(model.wv.index_to_key) == "red", 0, 1).astype(np.float32)
    before = model.wv["red"].copy()
    model.train(DOCUMENTS, total_examples=300, epochs=1)
    assert model.wv["red"].tolist() == before.tolist()
    model.dv.vectors_lockf = np.zeros(300, np.float32)
    with pytest.raises(NotImplementedError, match="tags cannot be locked"):
        model.train(DOCUMENTS, total_examples=300, epochs=1)


def test_a_subclass_of_word2vec_may_have_an_attribute_dv():
    class Mine(Word2Vec):
        dv = "mine"

    assert len(Mine(TEXTS, vector_size=8, min_count=1).wv) == 15


def test_gensims_model_is_trained_on():
    doc2vec = pytest.importorskip("gensim.models.doc2vec")
    logging.getLogger("gensim").setLevel(logging.ERROR)
    corpus = [doc2vec.TaggedDocument(words, [i, f"topic {i % 3}"]) for i, words in enumerate(TEXTS)]
    theirs = doc2vec.Doc2Vec(corpus, **ABOUT, dm=0)
    model = Doc2Vec.from_gensim(theirs)
    assert model.dv.index_to_key == theirs.dv.index_to_key
    assert model.dv.vectors.tolist() == theirs.dv.vectors.tolist()
    assert str(model) == str(theirs)
    near = model.dv.most_similar([model.infer_vector(TOPICS[1].split(), epochs=50)], topn=1)[0][0]
    assert near == "topic 1" or near % 3 == 1
    model.train(corpus, total_examples=300, epochs=1)
    assert (model.dv.vectors != theirs.dv.vectors).any(axis=1).all()
    for cls, other, line in (
        (Word2Vec, theirs, "Doc2Vec is another model than Word2Vec"),
        (Doc2Vec, doc2vec.Word2Vec(TEXTS, vector_size=8), r"than Doc2Vec: use w2vtrain\.Word2Vec\.from_gensim"),
    ):
        with pytest.raises(TypeError, match=line):
            cls.from_gensim(other)
    with pytest.raises(ValueError, match="dm_concat=1"):
        Doc2Vec.from_gensim(doc2vec.Doc2Vec(corpus, **ABOUT, dm_concat=1))
