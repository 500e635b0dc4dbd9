"""Tests of Word2Vec.from_gensim: what gensim learned is taken over, and trained on."""

import copy

import numpy as np
import pytest

from w2vtrain import KeyedVectors, Word2Vec
from w2vtrain.objectives.hs import Hierarchical

models = pytest.importorskip("gensim.models", reason="gensim has no wheel for this Python")

RNG = np.random.default_rng(1)
LINES = ["red green blue yellow pink", "cat dog cow horse pig", "one two three four five"]
TEXT = [RNG.choice(LINES[i % 3].split(), 2 + i % 7).tolist() for i in range(600)]
TEXT += [[word, word] for word in "qrstuvwxyz"]  # equal counts: trees are not unique
KINDS = {
    "neg": {},
    "skip-gram": {"sg": 1, "ns_exponent": 0.5, "negative": 9},
    "hs": {"hs": 1, "negative": 0},
    "both": {"hs": 1, "sg": 1},
    "unsorted": {"sorted_vocab": 0, "hs": 1, "sg": 1},
}
SMALL = {"vector_size": 8, "min_count": 1, "window": 3, "workers": 1, "epochs": 3, "seed": 7, "sample": 0}


@pytest.fixture(scope="module", params=KINDS)
def theirs(request):
    return models.Word2Vec(TEXT, **{**SMALL, **KINDS[request.param]}, alpha=0.05, comment="small")


def vectors(model):
    return {word: model.wv[word].tolist() for word in model.wv.index_to_key}


def log_probability(model, words):
    """Return the log probability of a sentence by the tree of gensim's model; its `score` rounds to a table."""
    total = 0.0
    for place, word in enumerate(words):
        context = words[max(0, place - model.window) : place] + words[place + 1 : place + 1 + model.window]
        nodes = model.syn1[model.wv.get_vecattr(word, "point")]
        turns = 1 - 2 * model.wv.get_vecattr(word, "code").astype(float)
        hidden = model.wv[context] if model.sg or not context else [model.wv[context].mean(axis=0)]
        total -= sum(np.log1p(np.exp(-turns * (nodes @ vector))).sum() for vector in hidden if context)
    return total


def test_everything_is_taken_over(theirs):
    mine = Word2Vec.from_gensim(theirs)
    assert mine.wv.index_to_key == theirs.wv.index_to_key
    assert vectors(mine) == vectors(theirs)
    for word in ("red", "q"):
        assert mine.wv.get_vecattr(word, "count") == theirs.wv.get_vecattr(word, "count")
    for name in ("sg", "hs", "negative", "window", "alpha", "epochs", "ns_exponent", "comment", "corpus_count", "seed"):
        assert getattr(mine, name) == getattr(theirs, name), name
    if theirs.negative:
        np.testing.assert_array_equal(mine.syn1neg, theirs.syn1neg)
        mine_says, they_say = (dict(model.predict_output_word(["red", "cat"], topn=25)) for model in (mine, theirs))
        assert mine_says == pytest.approx(they_say, rel=1e-4)
    if theirs.hs:
        np.testing.assert_array_equal(mine.syn1[:-1], theirs.syn1[:-1])
        np.testing.assert_allclose(
            mine.score(TEXT[:50]), [log_probability(theirs, line) for line in TEXT[:50]], rtol=1e-5
        )


def test_training_continues_from_what_gensim_learned(theirs):
    """A tiny step keeps everything, and the loss is below that of a new model."""
    mine = Word2Vec.from_gensim(theirs)
    mine.train(TEXT, total_examples=len(TEXT), epochs=1, start_alpha=1e-7, end_alpha=1e-7)
    np.testing.assert_allclose(mine.wv.vectors, theirs.wv.vectors, atol=1e-4)
    learned = mine.get_latest_training_loss()
    new = Word2Vec(**{**SMALL, **{name: getattr(theirs, name) for name in ("sg", "hs", "negative", "ns_exponent")}})
    new.build_vocab(TEXT)
    new.train(TEXT, total_examples=len(TEXT), epochs=1, start_alpha=1e-7, end_alpha=1e-7)
    assert learned < 0.9 * new.get_latest_training_loss()
    mine.train(TEXT, total_examples=len(TEXT), epochs=5, start_alpha=0.05, end_alpha=0.01)
    assert (mine.wv["red"] != theirs.wv["red"]).all()
    assert mine.get_latest_training_loss() / 5 < 0.9 * new.get_latest_training_loss()
    mine.build_vocab([["new", "red"]] * 9, update=True)
    mine.train([["new", "red"]] * 9, total_examples=9, epochs=1)
    assert "new" in mine.wv


def test_nothing_is_shared_with_gensims_model(theirs):
    before, outputs = theirs.wv.vectors.copy(), [getattr(theirs, name, 0) for name in ("syn1", "syn1neg")]
    copies = [np.copy(matrix) for matrix in outputs]
    mine = Word2Vec.from_gensim(theirs)
    mine.train(TEXT, total_examples=len(TEXT), epochs=2)
    mine.wv.set_vecattr("red", "count", 9)
    np.testing.assert_array_equal(theirs.wv.vectors, before)
    assert all(map(np.array_equal, outputs, copies))
    assert theirs.wv.get_vecattr("red", "count") > 9


def test_gensims_tree_is_kept_in_files_and_copies(theirs, tmp_path):
    mine = Word2Vec.from_gensim(theirs)
    mine.save(tmp_path / "model")
    again = Word2Vec.load(tmp_path / "model")
    assert vectors(again) == vectors(mine)
    if theirs.hs:
        np.testing.assert_array_equal(again.score(TEXT[:50]), mine.score(TEXT[:50]))
    for model in (mine, again):
        model.train(TEXT, total_examples=len(TEXT), epochs=1)
    assert vectors(again) == vectors(mine)


def test_words_that_were_added_to_gensims_vectors_are_taken_over(theirs):
    theirs = copy.deepcopy(theirs)
    scores = Word2Vec.from_gensim(theirs).score(TEXT[:9]) if theirs.hs else []
    theirs.wv.add_vectors(["<pad>", "<s>"], np.full((2, 8), 0.5, np.float32))
    mine = Word2Vec.from_gensim(theirs)
    assert vectors(mine) == vectors(theirs)
    if theirs.negative:
        np.testing.assert_array_equal(mine.syn1neg, np.concatenate([theirs.syn1neg, np.zeros((2, 8))]))
    if theirs.hs:
        np.testing.assert_allclose(mine.score(TEXT[:9]), scores, rtol=1e-5)
    mine.train(TEXT, total_examples=len(TEXT), epochs=1)
    assert mine.wv["<pad>"].tolist() == [0.5] * 8


def test_a_damaged_tree_is_refused_when_a_model_is_loaded(tmp_path):
    model = Word2Vec.from_gensim(models.Word2Vec(TEXT, **SMALL, hs=1, negative=0))
    assert model.matrices.tree
    model.matrices.tree.nodes[0] = 999
    model.save(tmp_path / "model")
    with pytest.raises(AttributeError, match="tree does not fit"):
        Word2Vec.load(tmp_path / "model")


def test_our_own_tree_needs_no_second_copy(tmp_path):
    model = Word2Vec(TEXT, **SMALL, hs=1, negative=0)
    model.save(tmp_path / "model")
    assert Word2Vec.load(tmp_path / "model").matrices.tree is None
    model.matrices.tree = Hierarchical  # a stand-in: new words mean another tree
    model.build_vocab([["new", "red"]], update=True)
    assert model.matrices.tree is None


def test_other_models_and_words_are_refused():
    numbers = models.Word2Vec([[1, 2], [2, 3]] * 9, **SMALL)
    for wrong, kind, line in (
        (models.FastText(TEXT[:9], **SMALL, bucket=99), TypeError, r"FastText is another .*FastText\.from_gensim"),
        (numbers, TypeError, r"the word 2 is not a str: .*\[\[str\(word\)"),
        (models.Word2Vec(TEXT, **SMALL).wv, TypeError, "expected a Word2Vec model of gensim 4"),
        (None, TypeError, "expected a Word2Vec model"),
    ):
        with pytest.raises(kind, match=line) as caught:
            Word2Vec.from_gensim(wrong)
        assert "\n" not in str(caught.value)
    for wrong in (numbers, 5):
        with pytest.raises(TypeError, match=r"expected vectors of gensim 4, got .*: pass model\.wv"):
            KeyedVectors.from_gensim(wrong)
    damaged = models.Word2Vec(TEXT, **SMALL)
    damaged.syn1neg = damaged.syn1neg[:3]
    with pytest.raises(ValueError, match=r"syn1neg has shape \[3, 8\]"):
        Word2Vec.from_gensim(damaged)


def test_a_model_without_words_has_gensims_settings():
    mine = Word2Vec.from_gensim(models.Word2Vec(**SMALL, alpha=0.07))
    assert (mine.alpha, len(mine.wv)) == (0.07, 0)
    mine.build_vocab(TEXT)
    mine.train(TEXT, total_examples=len(TEXT), epochs=1)


def test_a_subclass_is_filled_without_its_constructor(tmp_path):
    class Mine(Word2Vec):
        def __init__(self, needed):
            raise NotImplementedError

    mine = Mine.from_gensim(models.Word2Vec(TEXT, **SMALL))
    assert type(mine) is Mine
    mine.save(tmp_path / "model")
    assert vectors(Mine.load(tmp_path / "model")) == vectors(mine)
