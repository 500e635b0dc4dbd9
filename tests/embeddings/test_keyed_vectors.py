"""Keys, vectors and attributes of KeyedVectors: lookups, additions, sorting; and hints for users of gensim 3.

The queries are compared with gensim's in test_keyed_vectors_queries.py.
"""

import copy
import doctest
import inspect
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from word_vectors import in_gensim, vectors_of

import w2vtrain
from w2vtrain.embeddings import keyed_rows
from w2vtrain.errors import DataError, W2VError
from w2vtrain.gensim_names import SUCCESSORS

KeyedVectors = w2vtrain.KeyedVectors


@pytest.fixture
def keyed(rng):
    """Return five vectors with counts."""
    return KeyedVectors.of("abcde", rng.standard_normal((5, 4)).astype(np.float32), counts=[5, 4, 3, 2, 1])


def public_methods():
    for cls in KeyedVectors.__mro__:
        yield from (m for name, m in vars(cls).items() if not name.startswith("_") and callable(getattr(cls, name, 0)))


EXAMPLES = doctest.DocTestFinder(recurse=False)
METHODS = {getattr(m, "__name__", "") or m.__func__.__name__: m for m in public_methods() if inspect.getdoc(m)}


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if ">>>" in (inspect.getdoc(method) or "")])
def test_the_examples_of_methods_run(name, tmp_path, monkeypatch):
    """They begin with the vectors of the example of the class."""
    monkeypatch.chdir(tmp_path)
    names = {"Path": Path}
    for thing in (KeyedVectors, METHODS[name]):
        (example,) = EXAMPLES.find(thing, name, globs=names)
        assert example.examples
        example.globs = names
        report = []
        failed = doctest.DocTestRunner(verbose=False).run(example, out=report.append, clear_globs=False).failed
        assert not failed, "".join(report)


def test_every_method_of_gensims_class_exists_with_its_parameters():
    theirs = pytest.importorskip("gensim.models", reason="compares with gensim, which is not installed").KeyedVectors
    unlike = set()
    for name, method in inspect.getmembers(theirs, callable):
        if name == "__init__" or not name.startswith("_"):
            known = [(p.name, p.default) for p in inspect.signature(method).parameters.values()]
            ours = inspect.signature(getattr(KeyedVectors, name, lambda: 0)).parameters.values()
            unlike |= set() if [(p.name, p.default) for p in ours][: len(known)] == known else {name}
    # In gensim, save and word_vec have *args. Nothing is recorded here as a lifecycle event.
    assert unlike == {"add_lifecycle_event", "save", "word_vec"}


def test_lookups_take_keys_indices_and_lists(keyed):
    np.testing.assert_array_equal(keyed["b"], keyed.vectors[1])
    np.testing.assert_array_equal(keyed[np.int64(1)], keyed.vectors[1])
    np.testing.assert_array_equal(keyed[["c", 0]], keyed.vectors[[2, 0]])
    assert keyed[[]].shape == (0, 4)
    assert ("a" in keyed, 4 in keyed, 5 in keyed, -1 in keyed, "z" in keyed) == (True, True, False, False, False)
    assert len(keyed) == 5
    assert keyed.get_index("z", 9) == 9
    with pytest.raises(ValueError, match="read-only"):
        keyed["b"][0] = 1
    np.testing.assert_allclose(np.linalg.norm(keyed.get_vector("b", norm=True)), 1, rtol=1e-6)


def test_an_integer_key_comes_before_an_index():
    keyed = KeyedVectors.of([2, 0, 7], np.eye(3, dtype=np.float32))
    assert [keyed.get_index(key) for key in (2, 0, 7, 1)] == [0, 1, 2, 1]
    assert keyed.most_similar(2, topn=5) == [(0, 0.0), (7, 0.0)]
    assert keyed.vectors_for_all([7, 1]).index_to_key == [7]
    np.testing.assert_array_equal(keyed.vectors_for_all([7, 0]).vectors, np.eye(3)[[2, 1]])


def test_an_unknown_key_is_a_key_error_that_suggests_similar_words():
    keyed = KeyedVectors.of(["the", "Greece", "greek", "KING", "kingdom"], np.eye(5, dtype=np.float32))
    for ask in (
        keyed.get_index,
        keyed.most_similar,
        keyed.__getitem__,
        keyed.distances,
        lambda w: keyed.rank("the", w),
    ):
        with pytest.raises(KeyError) as caught:
            ask("greece")
        assert str(caught.value) == "'greece' is not in the vocabulary; similar words: 'Greece', 'greek'"
        assert isinstance(caught.value, DataError)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(KeyError, match=r"^'xyzzy' is not in the vocabulary$"):
        keyed.most_similar(["the", "xyzzy"])
    written_by_r = KeyedVectors.of(['"the"', '"of"'], np.eye(2, dtype=np.float32))
    with pytest.raises(KeyError, match="words of these vectors are in quotes"):
        written_by_r["the"]


def test_similar_words_are_searched_only_if_the_error_is_shown(keyed, monkeypatch):
    """Programs catch a KeyError for each of millions of unknown words."""
    monkeypatch.setattr(keyed_rows, "close_words", lambda *_: 1 / 0)
    with pytest.raises(KeyError) as caught:
        keyed["z"]
    with pytest.raises(ZeroDivisionError):
        str(caught.value)


@pytest.mark.parametrize("ask", [
    lambda kv: kv[1.5], lambda kv: kv[0:2], lambda kv: kv.most_similar([1.5]), lambda kv: kv.most_similar(1.5),
    lambda kv: kv.most_similar([("a", 1, 2)]), lambda kv: kv.most_similar("a", topn=2.5),
], ids=["number", "slice", "list-of-numbers", "float", "triple", "topn"])  # fmt: skip
def test_a_query_of_a_wrong_type_is_a_type_error(keyed, ask):
    with pytest.raises(TypeError) as caught:
        ask(keyed)
    assert isinstance(caught.value, W2VError)


@pytest.mark.parametrize("ask", [
    lambda kv: kv.most_similar([]), lambda kv: kv.most_similar(np.ones(3)), lambda kv: kv.get_mean_vector("a", [1, 2]),
    lambda kv: kv.most_similar_cosmul(negative="a"), lambda kv: kv.doesnt_match(["?"]), lambda kv: kv.doesnt_match([]),
    lambda kv: kv.most_similar_to_given("a", []), lambda kv: kv.add_vectors(["x", "y"], np.ones((3, 4))),
    lambda kv: kv.add_vector("x", np.ones(3)), lambda kv: kv.most_similar_batch(np.ones((2, 3))),
    lambda kv: KeyedVectors.of("aba", np.ones((3, 2))), lambda kv: KeyedVectors.of("ab", np.ones((3, 2))),
    lambda kv: KeyedVectors.of("ab", np.ones((2, 2)), [1]), lambda kv: KeyedVectors(3, mapfile_path="x"),
    lambda kv: kv.allocate_vecattrs(["x"], []), lambda kv: kv.add_vectors(["x"], np.ones((1, 4)), {"count": [1, 2]}),
    lambda kv: kv.most_similar_cosmul([np.ones(3)]), lambda kv: kv.distances(np.ones(3)),
    lambda kv: kv.add_vectors(["x"], np.ones((1, 4)), {"pair": [[1, 2]]}),
    lambda kv: kv.add_vectors(["x"], np.ones((1, 4)), {"one": 1}),
], ids=[
    "nothing", "short-vector", "weights", "only-negative", "unknown", "no-words", "no-given", "rows", "short-row",
    "short-batch", "twice", "too-many-vectors", "too-few-counts", "mapfile", "no-types", "attributes", "short-cosmul",
    "short-distances", "attributes-of-pairs", "one-attribute",
])  # fmt: skip
def test_a_query_of_a_wrong_value_is_a_value_error_and_changes_nothing(keyed, ask):
    before = copy.deepcopy(vars(keyed))
    with pytest.raises(ValueError, match=r".") as caught:
        ask(keyed)
    assert isinstance(caught.value, W2VError)
    assert keyed.index_to_key == before["index_to_key"]
    np.testing.assert_array_equal(keyed.vectors, before["vectors"])


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, bool])
def test_vectors_of_integers_are_compared_as_floating_point_numbers(dtype):
    rows = np.array([[0, 100, 1], [0, 100, 100], [1, 0, 100]], dtype)
    keyed, floats = KeyedVectors.of("abc", rows), KeyedVectors.of("abc", rows.astype(np.float64))
    keyed.add_vector("d", [1, 1, 0.5])
    floats.add_vector("d", [1, 1, 0.5])
    np.testing.assert_allclose(keyed.most_similar("a", topn=None), floats.most_similar("a", topn=None), rtol=1e-5)
    np.testing.assert_allclose(keyed.distances("a"), floats.distances("a"), rtol=1e-5, atol=1e-6)
    assert KeyedVectors(3, dtype=dtype).vectors.dtype == keyed.vectors.dtype


def test_added_vectors_extend_the_table_and_its_attributes(keyed):
    keyed.fill_norms()
    keyed.add_vectors(["f", "a", "g"], np.arange(12).reshape(3, 4), extras={"count": [7, 8, 9]})
    assert keyed.index_to_key == list("abcdefg")
    assert keyed.expandos["count"].tolist() == [5, 4, 3, 2, 1, 7, 9]
    np.testing.assert_array_equal(keyed[["f", "g"]], [[0, 1, 2, 3], [8, 9, 10, 11]])
    assert keyed.vectors.dtype == np.float32
    assert keyed.most_similar("f", topn=1)[0][0] == "g"  # the norms cover the new rows
    keyed.add_vectors(["f", "b"], np.ones((2, 4)), extras=[("count", np.array([1, 2]))], replace=True)
    assert keyed.expandos["count"].tolist() == [5, 2, 3, 2, 1, 1, 9]
    np.testing.assert_array_equal(keyed[["b", "f"]], np.ones((2, 4)))
    assert keyed.get_vector("b", norm=True).tolist() == [0.5] * 4  # and are computed again


def test_keys_may_be_an_array_when_vectors_are_added(keyed):
    keyed.index_to_key = np.array(keyed.index_to_key)
    keyed.add_vector("a longer key", keyed.vectors[0])
    assert keyed.index_to_key[-1] == "a longer key"
    assert len(keyed) == len(keyed.vectors)


def test_attributes_of_a_wrong_type_or_no_keys_add_nothing(keyed):
    with pytest.raises(TypeError, match="'count' has type int64"):
        keyed.add_vectors(["f"], np.ones((1, 4)), extras={"count": [0.5]})
    keyed.add_vectors([], [])
    assert (len(keyed), keyed.vectors.shape) == (5, (5, 4))


def test_a_key_that_is_added_twice_at_once_has_one_row_and_its_last_vector(keyed):
    keyed.add_vectors(["x", "x"], [[1] * 4, [2] * 4])
    keyed["a"] = [4] * 4
    assert keyed.index_to_key == list("abcdex")
    np.testing.assert_array_equal(keyed[["x", "a"]], [[2] * 4, [4] * 4])


def test_a_key_that_exists_keeps_its_vector_when_it_is_added_as_in_gensim():
    theirs = pytest.importorskip("gensim.models", reason="gensim has no wheel for this Python").KeyedVectors
    for kind in (KeyedVectors, theirs):
        keyed = kind(2)
        keyed.add_vectors(["cat", "dog"], np.eye(2, dtype=np.float32))
        with warnings.catch_warnings(action="ignore"):  # of gensim: adding one vector is slow
            row = keyed.add_vector("cat", np.array([9, 9], np.float32))
        assert keyed["cat"].tolist() == [1, 0]
        assert (row == 0) == (kind is KeyedVectors)  # gensim returns a row that does not exist


def test_free_rows_are_filled_before_rows_are_added():
    keyed = KeyedVectors(2, count=3, dtype=np.float64)
    memory = keyed.vectors
    assert [keyed.add_vector("a", [1, 1]), keyed.add_vector("b", [2, 2])] == [0, 1]
    assert keyed.index_to_key == ["a", "b", None]
    assert keyed.vectors is memory
    assert [key for key, _ in keyed.most_similar("a")] == ["b"]
    keyed.add_vectors(["c", "d"], [[3, 3], [4, 4]])
    assert keyed.index_to_key == list("abcd")
    np.testing.assert_array_equal(keyed.vectors, [[1, 1], [2, 2], [3, 3], [4, 4]])


def test_attributes_have_a_type_and_one_value_per_key(keyed):
    keyed.set_vecattr("b", "tag", "noun")
    keyed.set_vecattr("b", "score", 0.5)
    keyed.set_vecattr("c", "score", 2)  # an integer fits
    assert keyed.expandos["tag"].tolist() == [0, "noun", 0, 0, 0]
    assert keyed.expandos["score"].tolist() == [0, 0.5, 2, 0, 0]
    for value in (2.5, "x", 2**70):
        with pytest.raises(TypeError, match="'count' has type int64"):
            keyed.set_vecattr("b", "count", value)
    keyed.set_vecattr("b", "large", 2**70)
    assert keyed.expandos["large"].tolist() == [0, 2**70, 0, 0, 0]
    with pytest.raises(KeyError, match="no attribute 'size': the attributes are count, tag, score"):
        keyed.get_vecattr("a", "size")
    keyed.index_to_key.append("f")
    keyed.key_to_index["f"] = 5
    assert keyed.get_vecattr("f", "score") == 0


@pytest.mark.parametrize("ask", [
    lambda kv: kv.get_vecattr("c", "count"), lambda kv: kv.set_vecattr("c", "count", 9), lambda kv: kv.save("never"),
    lambda kv: kv.sort_by_descending_frequency(), lambda kv: kv.save_word2vec_format("never"),
    lambda kv: kv.add_vector("x", np.ones(4)), lambda kv: kv.vectors_for_all(["c"], copy_vecattrs=True),
    lambda kv: kv.resize_vectors(),
], ids=["get", "set", "save", "sort", "save-word2vec", "add", "copy", "resize"])  # fmt: skip
def test_keys_whose_number_is_not_that_of_their_attributes_are_refused(keyed, ask, tmp_path):
    """Values would belong to other keys. What needs none of these attributes works."""
    del keyed.index_to_key[1]
    keyed.vectors, keyed.key_to_index = keyed.vectors[[0, 2, 3, 4]], dict(zip("acde", range(4), strict=True))
    with pytest.raises(ValueError, match="'count' has 5 values for 4 keys: remove those of removed keys"):
        ask(keyed)
    keyed["c"] = np.ones(4)
    keyed.set_vecattr("c", "other", 7)
    assert (keyed.get_vecattr("c", "other"), keyed["c"].tolist(), len(keyed.vectors)) == (7, [1] * 4, 4)
    keyed.save_word2vec_format(tmp_path / "vectors", sort_attr=None)
    assert KeyedVectors.load(tmp_path / "vectors").index_to_key == list("acde")
    keyed.expandos["count"] = np.delete(keyed.expandos["count"], 1)
    assert keyed.get_vecattr("c", "count") == 3


def test_keys_that_are_assigned_keep_their_attributes(keyed, tmp_path):
    """As scripts do that align two models: they assign vectors and the common keys, and nothing else."""
    counts = dict(zip("abcde", keyed.expandos["count"].tolist(), strict=True))
    for keys in ("dab", "bd"):
        keyed.vectors = np.array([keyed[key] for key in keys])
        keyed.key_to_index, keyed.index_to_key = {key: row for row, key in enumerate(keys)}, list(keys)
        keyed.save(tmp_path / "some")
        found = KeyedVectors.load(tmp_path / "some")
        assert {key: found.get_vecattr(key, "count") for key in found.index_to_key} == {k: counts[k] for k in keys}
    keyed.index_to_key, keyed.expandos["count"] = ["d"], keyed.expandos["count"][[1]]
    keyed.vectors, keyed.key_to_index = keyed.vectors[1:], {"d": 0}
    assert keyed.get_vecattr("d", "count") == counts["d"]


def test_attributes_are_those_of_the_keys_also_after_several_changes(keyed):
    counts = dict(zip("abcde", keyed.expandos["count"].tolist(), strict=True))
    for keys in ("cab", "ac"):
        keyed.vectors, keyed.index_to_key = np.array([keyed[key] for key in keys]), list(keys)
        keyed.key_to_index = {key: row for row, key in enumerate(keys)}
    keyed.add_vectors(["b", "f"], np.ones((2, 4)), {"count": [7, 8]})
    found = {key: int(keyed.get_vecattr(key, "count")) for key in keyed.index_to_key}
    assert found == {"a": counts["a"], "c": counts["c"], "b": 7, "f": 8}
    del keyed.index_to_key[3], keyed.key_to_index["f"]
    with pytest.raises(ValueError, match="'count' has 4 values for 3 keys"):
        keyed.get_vecattr("a", "count")


def test_sorting_moves_vectors_and_attributes_along_and_keeps_ties_in_order(keyed):
    rows = dict(zip("abcde", keyed.vectors.copy(), strict=True))
    keyed.expandos["count"] = [1, 5, 2, 5, 5]
    keyed.sort_by_descending_frequency()
    assert keyed.index_to_key == list("bdeca")
    assert keyed.expandos["count"].tolist() == [5, 5, 5, 2, 1]
    for key, row in rows.items():
        np.testing.assert_array_equal(keyed[key], row)


def test_in_place_changes_of_the_matrix_are_seen_after_fill_norms(rng):
    padded = rng.standard_normal((50, 16)).astype(np.float32)
    matrix = padded[:, :10]
    keyed = KeyedVectors.of([str(i) for i in range(50)], matrix)
    before = keyed.most_similar("3")
    assert keyed.vectors is matrix
    padded[:, :10] = rng.standard_normal((50, 10))
    keyed.fill_norms()
    keyed.fill_norms(force=True)
    fresh = KeyedVectors.of(keyed.index_to_key, np.ascontiguousarray(matrix))
    assert before != keyed.most_similar("3")
    assert [word for word, _ in keyed.most_similar("3")] == [word for word, _ in fresh.most_similar("3")]
    np.testing.assert_array_equal(keyed.norms, np.linalg.norm(matrix, axis=1))
    keyed.vectors = rng.standard_normal((50, 10)).astype(np.float32)
    np.testing.assert_allclose(np.linalg.norm(keyed.get_normed_vectors(), axis=1), 1, rtol=1e-6)


def test_resizing_draws_small_values_from_the_seed(keyed):
    old = keyed.vectors.copy()
    keyed.index_to_key += ["x", "y"]
    again = copy.deepcopy(keyed)
    keyed.resize_vectors(seed=3)
    again.resize_vectors(seed=3)
    np.testing.assert_array_equal(keyed.vectors, again.vectors)
    np.testing.assert_array_equal(keyed.vectors[:5], old)
    assert 0 < np.abs(keyed.vectors[5:]).max() <= 1 / 4
    del keyed.index_to_key[2:]
    keyed.resize_vectors()
    np.testing.assert_array_equal(keyed.vectors, old[:2])
    assert keyed.expandos["count"].tolist() == [5, 4]


def test_normalizing_keeps_zero_vectors(keyed):
    keyed.vectors[2] = 0
    keyed.unit_normalize_all()
    np.testing.assert_allclose(keyed.norms, [1, 1, 0, 1, 1], rtol=1e-6)
    with pytest.warns(DeprecationWarning, match="fill_norms"):
        keyed.init_sims(replace=True)
    np.testing.assert_allclose(np.linalg.norm(keyed.vectors, axis=1), [1, 1, 0, 1, 1], rtol=1e-6)


@pytest.mark.parametrize("name", SUCCESSORS["KeyedVectors"])
def test_attributes_of_gensim_3_name_their_successor(keyed, name):
    with pytest.raises(AttributeError, match=rf"^{name} was removed in gensim 4\.0: use \w+"):
        getattr(keyed, name)
    with pytest.raises(AttributeError, match="use"):
        setattr(keyed, name, None)
    assert not hasattr(keyed, name)


def test_leftovers_of_gensim_3_still_work_or_say_why_not(keyed):
    with pytest.warns(DeprecationWarning, match="closer_than"):
        assert keyed.words_closer_than("a", "b") == keyed.closer_than("a", "b")
    np.testing.assert_array_equal(keyed.word_vec("a"), keyed["a"])
    with pytest.raises(NotImplementedError, match="Doc2Vec"):
        keyed.similarity_unseen_docs()


def test_a_copy_and_a_pickle_are_equal_and_independent(keyed):
    for other in (copy.deepcopy(keyed), pickle.loads(pickle.dumps(keyed))):
        assert repr(other) == str(other) == "KeyedVectors<vector_size=4, 5 keys>"
        np.testing.assert_array_equal(other.vectors, keyed.vectors)
        other["a"] = np.zeros(4)
        assert keyed["a"].any()


def test_conversion_to_gensim_and_back_shares_the_matrix(keyed):
    in_gensim(vectors_of("a", [[1]]))  # skips without gensim
    theirs = keyed.to_gensim()
    assert theirs.vectors is keyed.vectors
    assert theirs.most_similar("a") == keyed.most_similar("a")
    assert theirs.get_vecattr("b", "count") == 4
    back = KeyedVectors.from_gensim(theirs)
    assert back.vectors is keyed.vectors
    assert back.index_to_key == keyed.index_to_key
    assert back.get_vecattr("e", "count") == 1


def test_without_gensim_the_conversion_says_what_to_install(keyed, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "gensim.models", None)
    with pytest.raises(ImportError, match="pip install 'gensim"):
        keyed.to_gensim()


def test_reduced_vectors_are_saved_with_their_size(keyed, tmp_path):
    keyed.vectors = keyed.vectors[:, :2]
    keyed.save(tmp_path / "k")
    keyed.save_word2vec_format(tmp_path / "v.txt")
    for again in (KeyedVectors.load(tmp_path / "k"), KeyedVectors.load_word2vec_format(tmp_path / "v.txt")):
        assert again.vector_size == 2
        np.testing.assert_array_equal(again.vectors, keyed.vectors)


def test_reduced_vectors_with_n_grams_of_another_size_are_refused(tmp_path):
    wv = w2vtrain.FastText([["red", "green"]] * 9, vector_size=4, min_count=1, epochs=1, sample=0, bucket=99).wv
    wv.vectors = wv.vectors[:, :2]
    assert wv.most_similar("red")[0][0] == "green"
    for use in (lambda: wv.save(tmp_path / "k"), lambda: wv["redish"], lambda: wv.most_similar("redish")):
        with pytest.raises(ValueError, match="2 values and n-grams of 4: ngrams = None leaves the words alone"):
            use()
    wv.ngrams = None
    wv.save(tmp_path / "k")
    assert KeyedVectors.load(tmp_path / "k").get_vecattr("red", "count") == 9
