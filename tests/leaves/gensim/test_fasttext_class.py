"""FastText: it trains what `train` trains with subwords, and its files are those of fastText and gensim."""

import copy
import pickle
import tracemalloc

import numpy as np
import pytest
from prepared import prepared
from test_word2vec import NEW, SENTENCES, SMALL

import w2vtrain
from w2vtrain import FastText
from w2vtrain.errors import Diverged
from w2vtrain.formats.subwords import Ngrams, Subwords
from w2vtrain.leaves.gensim.learning import settings_for
from w2vtrain.text.token_lists import Sentences
from w2vtrain.training.inputs import Inputs
from w2vtrain.training.plan import Plan
from w2vtrain.training.trainer import trained

RNG = np.random.default_rng(2)
ABOUT = {**SMALL, "bucket": 3000}


@pytest.fixture
def model():
    return FastText(SENTENCES, **ABOUT)


def composed(wv):
    own = wv.vectors_vocab
    subwords = Subwords.of(wv.index_to_key, Ngrams(wv.min_n, wv.max_n, wv.bucket), wv.ngrams.buckets)
    return subwords.vectors(np.concatenate([own, wv.ngrams.matrix]))


@pytest.mark.parametrize("about", [{}, {"sg": 0}, {"hs": 1, "negative": 0}], ids=["skip-gram", "CBOW", "hs"])
def test_it_trains_as_fit_does_from_the_same_rows(about):
    model = FastText(**{**ABOUT, **about})
    model.build_vocab(SENTENCES)
    rows = {"own": model.wv.vectors_vocab.copy(), "ngrams": model.wv.ngrams.matrix.copy()}
    order = model.wv.ngrams.buckets

    def prepare(engine):
        mine = engine.state()["input"]
        mine[: len(rows["own"]), :8] = rows["own"]
        row_of = {bucket: row for row, bucket in enumerate(order.tolist())}
        picked = [row_of[bucket] for bucket in engine.subwords.buckets.tolist()]
        mine[len(rows["own"]) :, :8] = rows["ngrams"][picked]

    settings = settings_for(model, 3, model.alpha, model.min_alpha, model.corpus_total_words)
    expected = trained(Plan.of(Inputs(Sentences(SENTENCES)), settings), make=prepared(prepare)).model()
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


def replaced(wv):
    wv.vectors = np.arange(wv.vectors.size, dtype=np.float32).reshape(wv.vectors.shape)


def with_rows(wv):
    wv.add_vector("brandxyz", np.ones(8))
    wv.vectors_vocab[0] = 4
    wv.adjust_vectors()


def without_first(wv):
    wv.vectors, wv.index_to_key = wv.vectors[1:].copy(), wv.index_to_key[1:]
    wv.key_to_index = {word: row for row, word in enumerate(wv.index_to_key)}
    wv.vectors[0] = 3


CHANGES = {
    "added": lambda wv: wv.add_vector("brandxyz", np.ones(8)),
    "set": lambda wv: wv.add_vectors(["cat", "brandxyz"], np.ones((2, 8)), replace=True),
    "in place": lambda wv: wv.vectors.__setitem__(1, 5),
    "replaced": replaced,
    "zero": lambda wv: wv.vectors.fill(0),
    "unit": lambda wv: wv.unit_normalize_all(),
    "rows": with_rows,
    "removed": without_first,
}
"""Changes of vectors that n-grams do not yield."""


def after_save(model, path):
    model.save(path)
    return FastText.load(path)


def after_facebook_format(model, path):
    w2vtrain.save_facebook_model(model, path)
    return w2vtrain.load_facebook_model(path)


def after_update(model, _):
    model.build_vocab(NEW, update=True)
    return model


def after_training(model, _):
    model.train([["no", "such"]], total_examples=1, epochs=1)
    return model


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("after", [after_save, after_facebook_format, after_update, after_training])
def test_vectors_that_ngrams_do_not_yield_are_kept(model, tmp_path, change, after):
    change(model.wv)
    expected = {word: np.array(model.wv[word]) for word in model.wv.index_to_key}
    for found in (after(model, tmp_path / "m"), model):
        for word, vector in expected.items():
            np.testing.assert_allclose(found.wv[word], vector, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(found.wv.vectors, composed(found.wv), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_training_from_vectors_that_are_not_finite_diverges(model, value):
    model.wv.vectors[0] = value
    with pytest.raises(Diverged, match=r"NaN or infinite before training begins.*building or loading the model again"):
        model.train(SENTENCES, total_examples=900, epochs=1)
    stored = FastText(SENTENCES, **ABOUT).to_model()
    stored.input[0] = value
    with pytest.raises(Diverged, match="NaN or infinite before training begins"):
        w2vtrain.continue_training(stored, SENTENCES, 1)


def test_the_rows_of_a_few_words_take_little_memory():
    words = [np.base_repr(number**5, 36) for number in range(1000, 3000)]
    wv = w2vtrain.FastTextKeyedVectors(100, bucket=200_000)
    wv.add_vectors(words, np.ones((2000, 100)))
    whole = wv.vectors_vocab.copy()
    wv.vectors[:10] = 2
    tracemalloc.start()
    own = wv.vectors_vocab
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < wv.ngrams.matrix.nbytes / 2
    np.testing.assert_allclose(own[:10], 2 * whole[:10])
    np.testing.assert_array_equal(own[10:], whole[10:])


def test_gensim_reads_a_word_that_was_added(model, tmp_path):
    theirs = pytest.importorskip("gensim.models.fasttext", reason="gensim has no wheel for this Python")
    model.wv.add_vector("brandxyz", np.ones(8))
    w2vtrain.save_facebook_model(model, tmp_path / "m")
    found = theirs.load_facebook_model(str(tmp_path / "m")).wv
    np.testing.assert_allclose(found["brandxyz"], 1, rtol=1e-4)
    assert found.get_vecattr("brandxyz", "count") == 1


def test_of_two_losses_its_format_keeps_negative_sampling(tmp_path):
    model = FastText(SENTENCES, **{**ABOUT, "hs": 1, "negative": 5})
    found = after_facebook_format(model, tmp_path / "m")
    assert (found.hs, found.negative) == (0, 5)
    np.testing.assert_array_equal(found.syn1neg, model.syn1neg)


def test_nodes_of_a_tree_that_fasttext_would_not_build_are_zeros_in_its_format(tmp_path):
    model = FastText(SENTENCES, **{**ABOUT, "hs": 1, "negative": 0})
    np.testing.assert_array_equal(after_facebook_format(model, tmp_path / "m").syn1, model.syn1)
    model.wv.set_vecattr(model.wv.index_to_key[-1], "count", 10**6)
    assert not after_facebook_format(model, tmp_path / "m").syn1.any()
    assert model.syn1.any()


def test_a_word_that_was_added_is_trained_from_its_vector(model):
    model.sample = 1e-3  # the word has no count
    model.wv.add_vector("brandxyz", np.ones(8))
    assert model.wv.vectors_vocab.shape == (16, 8)
    model.train([["brandxyz", "cat"]] * 9, total_examples=9, epochs=1, start_alpha=1e-4, end_alpha=1e-4)
    np.testing.assert_allclose(model.wv["brandxyz"], 1, atol=0.1)
    assert (model.wv["brandxyz"] != 1).all()


def test_initial_weights_replace_those_of_ngrams_too(model):
    fresh = FastText(**ABOUT)
    fresh.build_vocab(SENTENCES)
    model.init_weights()
    np.testing.assert_array_equal(model.wv["greenish"], fresh.wv["greenish"])


def test_rows_of_ngrams_are_found_by_their_bucket_as_in_gensim(model):
    shown, full = model.wv.vectors_ngrams, np.zeros((3000, 8), np.float32)
    full[model.wv.ngrams.buckets] = model.wv.ngrams.matrix
    assert (shown.shape, len(shown), shown.dtype) == ((3000, 8), 3000, "float32")
    np.testing.assert_array_equal(shown, full)
    used = model.wv.buckets_word[0]
    assert full[used].any()
    for index in (used, used[0], -7, slice(5, 900, 3), full[:, 0] > 0, (slice(3), 2), (..., 1)):
        np.testing.assert_array_equal(shown[index], full[index])
    np.testing.assert_array_equal(shown.mean(axis=0), full.mean(axis=0))
    with pytest.raises(IndexError, match="bucket 3000"):
        shown[3000]
    with pytest.raises(TypeError):
        shown[0] = 1
    np.testing.assert_array_equal(copy.deepcopy(shown)[used], full[used])


def test_ngrams_have_gensims_buckets(model):
    theirs = pytest.importorskip("gensim.models.fasttext", reason="gensim has no wheel for this Python")
    for word, buckets in zip(model.wv.index_to_key, model.wv.buckets_word, strict=True):
        assert sorted(theirs.ft_ngram_hashes(word, 3, 6, 3000)) == sorted(buckets.tolist())


@pytest.mark.parametrize("sg", [1, 0], ids=["skip-gram", "CBOW"])
def test_a_small_step_changes_all_rows_as_gensims_does(sg):
    """Hierarchical softmax draws no random numbers, so only terms of the second order in the rate differ.

    Words have the same number of n-grams, because gensim's CBOW takes the mean of the rows of all words, ours the mean
    of the words' means; and many, because gensim's skip-gram divides the sum of n + 1 rows by n.
    """
    words = ("waterfall", "waterways", "heathland", "heartbeat")
    gensim = pytest.importorskip("gensim.models", reason="gensim has no wheel for this Python")
    text, rng = [[dict(zip("abcd", words, strict=True))[letter] for letter in "abacabadabacaba"]], RNG
    settings = {"vector_size": 6, "min_count": 1, "hs": 1, "negative": 0, "sample": 0, "workers": 1, "window": 2}
    theirs = gensim.FastText(**settings, sg=sg, shrink_windows=False, bucket=500, min_n=1, max_n=9)
    theirs.build_vocab(text)
    for matrix in (theirs.wv.vectors_vocab, theirs.wv.vectors_ngrams, theirs.syn1):
        matrix[:] = rng.normal(size=matrix.shape)
    theirs.syn1[-1] = 0
    theirs.wv.adjust_vectors()
    mine, before = FastText.from_gensim(theirs), [theirs.wv.vectors_vocab, theirs.wv.vectors_ngrams, theirs.syn1]
    before = [matrix.copy() for matrix in before]
    for model in (theirs, mine):
        model.train(text, total_examples=1, epochs=1, start_alpha=0.001, end_alpha=0.001)
    after = [(model.wv.vectors_vocab, np.asarray(model.wv.vectors_ngrams), model.syn1) for model in (theirs, mine)]
    for old, their, our in zip(before, *after, strict=True):
        change = their - old
        assert change.any()
        np.testing.assert_allclose(our - old, change, rtol=0.06, atol=0.06 * np.abs(change).max())


@pytest.mark.parametrize("options", [{}, {"hs": 1, "negative": 0}, {"sorted_vocab": 0}], ids=["neg", "hs", "unsorted"])
def test_gensims_models_are_taken_over_with_all_buckets_and_trained_on(options, tmp_path):
    gensim = pytest.importorskip("gensim.models", reason="gensim has no wheel for this Python")
    theirs = gensim.FastText(SENTENCES, **{**ABOUT, "bucket": 500, "min_n": 2, "max_n": 4, "alpha": 0.03, **options})
    mine = FastText.from_gensim(theirs)
    assert (mine.wv.min_n, mine.wv.max_n, mine.wv.bucket, mine.alpha) == (2, 4, 500, theirs.alpha)
    mine.save(tmp_path / "m")
    again = FastText.load(tmp_path / "m")
    for model in (mine, again):
        for word in [*theirs.wv.index_to_key, "greenish", "ωωω"]:
            np.testing.assert_allclose(model.wv[word], theirs.wv[word], atol=1e-6)
        model.train(SENTENCES, total_examples=900, epochs=1)
        assert not np.allclose(model.wv["greenish"], theirs.wv["greenish"])
    np.testing.assert_array_equal(mine.wv.vectors, again.wv.vectors)
    with pytest.raises(TypeError, match=r"Word2Vec is another model than FastText: use w2vtrain\.Word2Vec"):
        FastText.from_gensim(gensim.Word2Vec(SENTENCES, **SMALL))


def test_vectors_that_were_set_or_added_in_gensim_are_taken_over(tmp_path):
    gensim = pytest.importorskip("gensim.models", reason="gensim has no wheel for this Python")
    theirs = gensim.FastText(SENTENCES, **{**ABOUT, "bucket": 500})
    first = theirs.wv.index_to_key[0]
    theirs.wv.add_vectors(["brand", "greenish"], np.ones((2, theirs.vector_size), np.float32))
    theirs.wv[first] = np.full(theirs.vector_size, 3, np.float32)
    mine = FastText.from_gensim(theirs)
    mine.save(tmp_path / "m")
    for model in (mine, FastText.load(tmp_path / "m")):
        np.testing.assert_allclose(model.wv[theirs.wv.index_to_key], theirs.wv.vectors, atol=1e-6)
        np.testing.assert_allclose(model.wv["greens"], theirs.wv["greens"], atol=1e-6)
    theirs.wv.unit_normalize_all()
    np.testing.assert_allclose(FastText.from_gensim(theirs).wv.vectors, theirs.wv.vectors, atol=1e-6)


def test_words_that_are_moved_or_removed_keep_their_rows(model):
    before = {word: model.wv.vectors_vocab[row].copy() for row, word in enumerate(model.wv.index_to_key)}
    moved = copy.deepcopy(model.wv)
    moved.set_vecattr("cat", "count", 10**6)
    moved.sort_by_descending_frequency()
    assert moved.index_to_key[0] == "cat"
    for wv in (moved, model.wv):
        for row, word in enumerate(wv.index_to_key):
            np.testing.assert_array_equal(wv.vectors_vocab[row], before[word])
    kept = model.wv.index_to_key[3:]
    model.wv.vectors, model.wv.index_to_key = model.wv.vectors[3:], kept
    model.wv.key_to_index = {word: row for row, word in enumerate(kept)}
    model.train([["no", "such"]], total_examples=1, epochs=1)
    for row, word in enumerate(kept):
        np.testing.assert_array_equal(model.wv.vectors_vocab[row], before[word])


def test_vectors_with_free_rows_or_none_have_rows_of_their_own():
    wv = w2vtrain.FastTextKeyedVectors(2, bucket=100, count=3)
    wv.add_vectors(["abc", "abd"], [[1, 1], [1, 2]], extras={"count": [1, 3]})
    before = wv.vectors_vocab
    wv.sort_by_descending_frequency()
    assert wv.index_to_key == ["abd", "abc", None]
    np.testing.assert_array_equal(wv.vectors_vocab, before[[1, 0, 2]])
    empty = w2vtrain.FastTextKeyedVectors(2)
    empty.adjust_vectors()
    assert empty.vectors_vocab.shape == (0, 2)


@pytest.mark.parametrize("name", ["vectors_lockf", "vectors_vocab_lockf", "vectors_ngrams_lockf"])
def test_rows_cannot_be_locked(model, name):
    setattr(model.wv, name, np.zeros(1, np.float32))
    with pytest.raises(NotImplementedError, match=name):
        model.train(SENTENCES, total_examples=900, epochs=1)


def test_callbacks_see_composed_vectors_and_a_subclass_is_saved(tmp_path):
    class Mine(FastText):
        pass

    class Probe:
        seen = []  # noqa: RUF012

        def on_epoch_end(self, model):
            np.testing.assert_allclose(model.wv.vectors, composed(model.wv), atol=1e-6)
            self.seen.append(model.wv["greenish"].copy())
            model.save(tmp_path / "m")

    model = Mine(SENTENCES, **ABOUT, callbacks=[Probe()])
    assert len(Probe.seen) == 3
    assert (Probe.seen[0] != Probe.seen[1]).all()
    again = Mine.load(tmp_path / "m")
    assert type(again) is Mine
    np.testing.assert_array_equal(again.wv.vectors, model.wv.vectors)


def test_a_copy_of_a_model_is_independent(model):
    copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    for each in copies:
        np.testing.assert_array_equal(each.wv["greenish"], model.wv["greenish"])
    copies[0].train(SENTENCES, total_examples=900, epochs=1)
    assert not np.allclose(copies[0].wv["greenish"], model.wv["greenish"])
    np.testing.assert_array_equal(copies[1].wv["greenish"], model.wv["greenish"])


def test_a_model_of_fit_is_loaded_and_trained_on(tmp_path):
    settings = {"subwords": True, "minn": 2, "maxn": 5, "bucket": 700, "vector_size": 8, "epochs": 1, "min_count": 1}
    theirs = w2vtrain.train(SENTENCES, **settings)
    theirs.wv["red"] = np.ones(8)
    theirs.save(tmp_path / "m")
    model = FastText.load(tmp_path / "m")
    np.testing.assert_allclose(model.wv.vectors, composed(model.wv), atol=1e-5)
    assert (model.min_n, model.max_n, model.wv.bucket) == (2, 5, 700)
    np.testing.assert_array_equal(model.wv["greenish"], theirs["greenish"])
    model.train(SENTENCES, total_examples=900, epochs=1)
    assert not np.allclose(model.wv["greenish"], theirs["greenish"])


def test_memory_counts_the_rows_that_occur(model):
    sizes = model.estimate_memory()
    assert (sizes["syn0_vocab"], sizes["syn0_ngrams"]) == (15 * 32, len(model.wv.ngrams.buckets) * 32)
    assert sizes["total"] == sizes["vocab"] + 3 * 15 * 32 + sizes["syn0_ngrams"]


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
    whole = FastText(SENTENCES, **ABOUT | {"max_n": 0})
    w2vtrain.save_facebook_model(whole, tmp_path / "m.bin")
    vectors = w2vtrain.load_facebook_vectors(tmp_path / "m.bin")
    np.testing.assert_array_equal(vectors.vectors_vocab, whole.wv.vectors_vocab)
    assert not any(map(len, vectors.buckets_word))
    model.wv.save_word2vec_format(tmp_path / "m.vec")
    with pytest.raises(AttributeError, match="is no model of FastText but text"):
        w2vtrain.load_facebook_model(tmp_path / "m.vec")
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


@pytest.mark.parametrize("name", ["m", "m.bin"])
def test_a_model_without_ngrams_is_saved_and_trained_on(tmp_path, name):
    model = FastText(SENTENCES, **{**ABOUT, "max_n": 0})
    w2vtrain.save_facebook_model(model, tmp_path / name) if name == "m.bin" else model.save(tmp_path / name)
    again = FastText.load(tmp_path / name)
    np.testing.assert_array_equal(again.wv["green"], model.wv["green"])
    again.build_vocab(NEW, update=True)
    again.train(NEW, total_examples=40, epochs=1, start_alpha=0.05)
    assert "ape" in again.wv
    assert not np.array_equal(again.wv["cat"], model.wv["cat"])


def test_a_model_without_the_row_of_an_ngram_is_named(model, tmp_path):
    damaged = model.to_model()
    for name in ("input_rows", "ngram_buckets"):
        damaged.arrays[name] = damaged.arrays[name][:-1]
    damaged.save(tmp_path / "m")
    stored = w2vtrain.load_model(tmp_path / "m")
    with pytest.raises(ValueError, match=r"m: its n-grams are damaged: one of a word has no row"):
        w2vtrain.continue_training(stored, SENTENCES, 1)
    with pytest.raises(AttributeError, match=r"m: its n-grams are damaged: one of a word has no row"):  # as in gensim
        FastText.load(tmp_path / "m")


def test_a_model_of_word2vec_is_refused(tmp_path):
    w2vtrain.Word2Vec(SENTENCES, **SMALL).save(tmp_path / "m")
    with pytest.raises(AttributeError, match=r"m: a model without subwords: load it with w2vtrain\.Word2Vec\.load"):
        FastText.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("about", "error"),
    [({"min_n": -1}, ValueError), ({"bucket": 1.5}, TypeError), ({"word_ngrams": 2}, NotImplementedError)],
    ids=["negative", "no whole number", "classifiers"],
)
def test_invalid_parameters_are_refused(about, error):
    with pytest.raises(error):
        FastText(**about)
