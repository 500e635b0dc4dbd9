"""FastText: it trains what `train` trains with subwords, and its files are those of fastText and gensim."""

import numpy as np
import pytest
from test_word2vec import NEW, SENTENCES, SMALL

import w2vtrain
from w2vtrain import FastText
from w2vtrain.compat.learning import settings_of
from w2vtrain.kernels.subwords import Ngrams, Subwords
from w2vtrain.text.sentences import Sentences
from w2vtrain.training.fit import fit
from w2vtrain.training.inputs import Inputs

ABOUT = {**SMALL, "bucket": 3000}


@pytest.fixture
def model():
    return FastText(SENTENCES, **ABOUT)


def composed(wv):
    subwords = Subwords.of(wv.index_to_key, Ngrams(wv.min_n, wv.max_n, wv.bucket), wv.ngrams.buckets)
    return subwords.vectors(np.concatenate([wv.vectors_vocab, wv.vectors_ngrams]))


@pytest.mark.parametrize("about", [{}, {"sg": 0}, {"hs": 1, "negative": 0}], ids=["skip-gram", "CBOW", "hs"])
def test_it_trains_as_fit_does_from_the_same_rows(about):
    model = FastText(**{**ABOUT, **about})
    model.build_vocab(SENTENCES)
    rows = {"own": model.wv.vectors_vocab.copy(), "ngrams": model.wv.vectors_ngrams.copy()}
    order = model.wv.ngrams.buckets

    def prepare(engine):
        mine = engine.state()["input"]
        mine[: len(rows["own"]), :8] = rows["own"]
        row_of = {bucket: row for row, bucket in enumerate(order.tolist())}
        picked = [row_of[bucket] for bucket in engine.subwords.buckets.tolist()]
        mine[len(rows["own"]) :, :8] = rows["ngrams"][picked]

    settings = settings_of(model, 3, model.alpha, model.min_alpha, model.corpus_total_words)
    expected = fit(Inputs(Sentences(SENTENCES)), settings, prepare=prepare)
    model.train(SENTENCES, total_examples=model.corpus_count, epochs=3)
    for word in expected.words:
        np.testing.assert_allclose(model.wv[word], expected[word], atol=1e-6)


def test_vectors_are_composed_and_unseen_words_have_some(model):
    np.testing.assert_allclose(model.wv.vectors, composed(model.wv), atol=1e-6)
    assert "greenish" not in model.wv
    assert model.wv.most_similar("greenish", topn=1)[0][0] == "green"
    assert [len(rows) for rows in model.wv.buckets_word] == [
        len(Ngrams().texts(word)) for word in model.wv.index_to_key
    ]
    with pytest.raises(KeyError, match="ωωω"):
        model.wv["ωωω"]


def test_new_words_join_with_their_ngrams_and_train(model):
    before = {word: model.wv[word].copy() for word in model.wv.index_to_key}
    model.build_vocab(NEW, update=True)
    for word, vector in before.items():
        np.testing.assert_allclose(model.wv[word], vector, atol=1e-6)
    assert "bird" in model.wv
    model.train(NEW, total_examples=len(NEW), epochs=2)
    np.testing.assert_allclose(model.wv.vectors, composed(model.wv), atol=1e-6)
    assert np.isfinite(model.wv["birds"]).all()


def test_words_can_be_removed(model):
    before = {word: model.wv[word].copy() for word in ("green", "cat")}
    keep = [word for word in model.wv.index_to_key if word != "red"]
    rows = [model.wv.key_to_index[word] for word in keep]
    model.wv.vectors, model.wv.index_to_key = model.wv.vectors[rows], keep
    model.wv.key_to_index = {word: row for row, word in enumerate(keep)}
    model.train([["green", "cat"]], total_examples=1, epochs=1, start_alpha=1e-9, end_alpha=1e-9)
    for word, vector in before.items():
        np.testing.assert_allclose(model.wv[word], vector, atol=1e-5)


def test_files_keep_the_model(model, tmp_path):
    model.save(tmp_path / "m")
    again = FastText.load(tmp_path / "m")
    assert (again.min_n, again.max_n, again.bucket) == (3, 6, 3000)
    np.testing.assert_array_equal(again.wv["greenish"], model.wv["greenish"])
    again.train(SENTENCES, total_examples=900, epochs=1)
    with pytest.raises(AttributeError, match=r"load it with w2vtrain\.FastText\.load"):
        w2vtrain.Word2Vec.load(tmp_path / "m")
    model.wv.save(tmp_path / "kv")
    vectors = w2vtrain.FastTextKeyedVectors.load(tmp_path / "kv")
    np.testing.assert_allclose(vectors["greenish"], model.wv["greenish"])
    np.testing.assert_allclose(vectors.vectors_vocab, model.wv.vectors_vocab, atol=1e-5)


def test_files_of_fasttext_are_written_and_read(model, tmp_path):
    w2vtrain.save_facebook_model(model, tmp_path / "m.bin")
    again, vectors = (
        w2vtrain.load_facebook_model(tmp_path / "m.bin"),
        w2vtrain.load_facebook_vectors(tmp_path / "m.bin"),
    )
    for word in [*model.wv.index_to_key, "greenish"]:
        np.testing.assert_allclose(again.wv[word], model.wv[word], atol=1e-6)
        np.testing.assert_allclose(vectors[word], model.wv[word], atol=1e-6)
    again.train(SENTENCES, total_examples=900, epochs=1)
    assert not np.allclose(again.wv["green"], model.wv["green"])
    theirs = pytest.importorskip("gensim.models.fasttext", reason="gensim is not installed")
    theirs.load_facebook_vectors(str(tmp_path / "m.bin"))


@pytest.mark.parametrize(
    "about", [{"max_n": 0}, {"min_n": 5, "max_n": 3}, {"bucket": 0}], ids=["max_n", "min_n", "bucket"]
)
def test_without_ngrams_it_is_word2vec(about):
    model = FastText(SENTENCES, **{**ABOUT, **about})
    plain = w2vtrain.Word2Vec(SENTENCES, **SMALL)
    np.testing.assert_array_equal(model.wv["green"], plain.wv["green"])
    with pytest.raises(KeyError, match="greenish"):
        model.wv["greenish"]


@pytest.mark.parametrize(
    ("about", "error"),
    [({"min_n": -1}, ValueError), ({"bucket": 1.5}, TypeError), ({"word_ngrams": 2}, NotImplementedError)],
    ids=["negative", "no whole number", "classifiers"],
)
def test_invalid_parameters_are_refused(about, error):
    with pytest.raises(error):
        FastText(**about)
