"""Queries and evaluations of KeyedVectors, compared with gensim's, and batches compared with single queries."""

import math
import sys
import types

import numpy as np
import pytest
from gensim_queries import TOLERANCE, differences, evaluations, queries
from memory import traced
from word_vectors import QUESTIONS, in_gensim, put, structured, vectors_of

import w2vtrain
from w2vtrain.embeddings import neighbors

KeyedVectors = w2vtrain.KeyedVectors


def keyed_of(words, matrix):
    return KeyedVectors.of(list(words), np.asarray(matrix, np.float32))


@pytest.fixture(scope="module")
def keyed():
    """Return vectors in which analogies hold, some of them equal."""
    words, matrix = structured(0.5)
    matrix[100:110] = matrix[99]
    return keyed_of(words, matrix)


def test_all_queries_give_gensims_results(keyed):
    in_gensim(vectors_of("a", [[1]]))  # skips without gensim
    found = dict(differences(keyed, queries(keyed.index_to_key, keyed.vector_size)))
    assert len(found) > 25
    assert not {name: size for name, size in found.items() if size > TOLERANCE}


def test_evaluations_and_written_files_give_gensims_results(keyed, tmp_path):
    in_gensim(vectors_of("a", [[1]]))  # skips without gensim
    few = keyed_of(keyed.index_to_key[:400], keyed.vectors[:400])
    found = dict(differences(few, evaluations(tmp_path)))
    assert not {name: size for name, size in found.items() if size > TOLERANCE}


@pytest.mark.parametrize("topn", [1, 10, 10_000])
def test_answers_equal_gensims_bit_for_bit(keyed, topn):
    theirs = in_gensim(vectors_of(keyed.index_to_key, keyed.vectors))
    for a, b, c in np.random.default_rng(0).choice(keyed.index_to_key, (50, 3)).tolist():
        assert keyed.most_similar(a, topn=topn) == theirs.most_similar(a, topn=topn)
        assert keyed.most_similar([a, c], [b], topn=topn) == theirs.most_similar([a, c], [b], topn=topn)
    equal = keyed.index_to_key[99]
    assert keyed.most_similar(equal, topn=topn) == theirs.most_similar(equal, topn=topn)


def test_neighbors_and_analogies_are_the_nearest_keys():
    keyed = keyed_of(["man", "king", "woman", "queen", "zero"], [[0, 1, 0], [1, 1, 0], [0, 1, 1], [1, 1, 1], [0, 0, 0]])
    assert keyed.most_similar("king", topn=1) == [("queen", pytest.approx(2 / math.sqrt(6), abs=1e-6))]
    assert keyed.most_similar(["king", "woman"], ["man"], topn=1)[0][0] == "queen"
    assert math.isnan(dict(keyed.most_similar("king", topn=9))["zero"])
    assert "zero" not in dict(keyed.most_similar_batch(["king"], topn=9)[0])
    assert keyed.most_similar("king", topn=0) == keyed.most_similar("king", topn=-1) == []


def test_cosmul_restricts_the_search_to_the_first_keys(keyed):
    """gensim ignores restrict_vocab here."""
    found = keyed.most_similar_cosmul(keyed.index_to_key[500], topn=5, restrict_vocab=50)
    exact = keyed.most_similar_cosmul(keyed.index_to_key[500], topn=None)[:50]
    assert [key for key, _ in found] == [keyed.index_to_key[row] for row in np.argsort(-exact)[:5]]


@pytest.mark.parametrize("restrict", [None, 300])
@pytest.mark.parametrize("cosines", [1 << 22, 1000])
def test_a_batch_gives_the_answers_of_single_queries(keyed, monkeypatch, cosines, restrict):
    monkeypatch.setattr(neighbors, "COSINES_AT_ONCE", cosines)
    monkeypatch.setattr(neighbors, "QUERIES_AT_ONCE", 7)
    keys = keyed.index_to_key[110:130]
    names, vectors = [[key] for key in keys], [[keyed[key]] for key in keys]
    for asked, single in ((keys, names), (np.array(keys), names), (dict.fromkeys(keys), names), (keyed[keys], vectors)):
        found = keyed.most_similar_batch(asked, topn=5, restrict_vocab=restrict)
        for answers, parts in zip(found, single, strict=True):
            expected = keyed.most_similar(parts, topn=5, restrict_vocab=restrict)
            assert [key for key, _ in answers] == [key for key, _ in expected]
            np.testing.assert_allclose([x for _, x in answers], [x for _, x in expected], atol=1e-6)


def test_a_batch_of_half_precision_of_one_key_and_of_none(keyed):
    half = KeyedVectors.of(keyed.index_to_key, keyed.vectors.astype(np.float16))
    (exact,), (found,) = keyed.most_similar_batch([5], topn=3), half.most_similar_batch([5], topn=3)
    assert [key for key, _ in exact] == [key for key, _ in found]
    assert half.most_similar("king", topn=None).dtype == np.float32, "in half precision, many cosines would be equal"
    assert keyed.most_similar_batch([]) == []
    assert keyed.most_similar_batch(["king", "paris"], topn=0) == [[], []]


def test_queries_do_not_copy_the_matrix(rng):
    """A query, the norms and a batch of queries take far less memory than the matrix."""
    padded = rng.standard_normal((40_000, 64), np.float32)
    keyed = keyed_of(map(str, range(40_000)), [[0]] * 40_000)
    keyed.vectors, keyed.vector_size = padded[:, :60], 60
    with traced() as memory:
        keyed.most_similar("7")
        keyed.most_similar_cosmul("7")
    assert memory.peak < padded.nbytes / 4


class Graph:
    """Has the interface of usearch's Index, and searches exactly."""

    def __init__(self, ndim, metric, dtype, **options):
        assert (metric, dtype) == ("cos", "f32")
        self.ndim, self.options = ndim, options

    def add(self, keys, vectors):
        assert vectors.shape == (len(keys), self.ndim)
        assert keys.dtype == np.uint64
        self.keys, self.units = keys, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def search(self, vector, count):
        distances = 1 - self.units @ vector / np.linalg.norm(vector)
        best = np.argsort(distances, kind="stable")[:count]
        return types.SimpleNamespace(keys=self.keys[best], distances=distances[best])


@pytest.fixture
def indexed(keyed, monkeypatch):
    """Return vectors of which one is zero, and the function that builds an index."""
    monkeypatch.setitem(sys.modules, "usearch", types.ModuleType("usearch"))
    monkeypatch.setitem(sys.modules, "usearch.index", types.SimpleNamespace(Index=Graph))
    matrix = keyed.vectors[110:400].copy()
    matrix[2] = 0
    return keyed_of(keyed.index_to_key[110:400], matrix)


def test_an_index_of_usearch_finds_nearly_all_neighbors():
    pytest.importorskip("usearch", reason="usearch is not installed")
    vectors = np.random.default_rng(4).normal(size=(2000, 16)).astype(np.float32)
    vectors[7] = 0
    keyed = w2vtrain.KeyedVectors.of([f"w{i}" for i in range(2000)], vectors)
    index = keyed.build_index(connectivity=16, expansion_search=128)
    names = keyed.index_to_key[8:208]
    exact, near = keyed.most_similar_batch(names), [keyed.most_similar(name, indexer=index) for name in names]
    assert sum(len({*dict(a)} & {*dict(b)}) for a, b in zip(exact, near, strict=True)) > 0.95 * 10 * len(names)
    found = keyed.most_similar("w3", topn=3, indexer=index)  # an index may miss one, and is another each time
    keys, cosines = zip(*found, strict=True)
    assert len({*keys} & {key for key, _ in keyed.most_similar("w3", topn=10)}) == 3
    np.testing.assert_allclose(cosines, [keyed.similarity("w3", key) for key in keys], atol=1e-5)
    assert list(cosines) == sorted(cosines, reverse=True)


def test_an_index_answers_without_the_keys_of_the_query(indexed):
    index, word = indexed.build_index(connectivity=8), indexed.index_to_key[3]
    assert index.graph.options == {"connectivity": 8}
    for positive, negative in (([word], []), ([word, indexed.index_to_key[7]], [indexed.index_to_key[9]])):
        found = indexed.most_similar(positive, negative, topn=4, indexer=index)
        exact = indexed.most_similar(positive, negative, topn=4)
        assert [key for key, _ in found] == [key for key, _ in exact]
        np.testing.assert_allclose([x for _, x in found], [x for _, x in exact], atol=1e-6)


def test_without_usearch_building_an_index_says_what_to_install(keyed, monkeypatch):
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    with pytest.raises(ImportError, match=r"pip install 'w2vtrain\[index\]'"):
        keyed.build_index()


def test_equal_vectors_have_distance_zero_and_means_of_one_key_are_that_key(keyed):
    a, b = keyed.index_to_key[5:7]
    assert keyed.distance(a, a) == 0
    assert keyed.n_similarity([a], [b]) == keyed.similarity(a, b)
    with pytest.raises(ZeroDivisionError):
        keyed.n_similarity([], [a])
    with pytest.raises(KeyError):
        keyed.get_mean_vector(["?"], ignore_missing=False)
    assert not keyed.get_mean_vector(["?"]).any()
    assert keyed.cosine_similarities(np.zeros(2), np.ones((1, 2))).tolist() == [pytest.approx(math.nan, nan_ok=True)]


def test_analogies_can_be_answered_by_another_method(keyed, tmp_path):
    path = put(tmp_path, "".join(QUESTIONS.read_text().splitlines(keepends=True)[:400]))
    score, sections = keyed.evaluate_word_analogies(str(path), similarity_function="most_similar_cosmul")
    cased = keyed_of(["a", "b", "c", "C", "d"], [[0, 1, 0], [1, 1, 0], [0, 1, 1], [2, 2, 2], [1, 1, 0.9]])
    for method in ("most_similar", "most_similar_cosmul"):  # C is nearest, but a form of a word of the question
        text = put(tmp_path, ": s\na b c d\n", "cased.txt")
        assert cased.evaluate_word_analogies(text, similarity_function=method)[0] == 1
    exact, _ = keyed.evaluate_word_analogies(path)
    assert 0.5 < score < 1
    assert score != exact
    assert sections[-1]["section"] == "Total accuracy"


def test_evaluations_skip_lines_that_are_no_questions_or_pairs(keyed, tmp_path):
    few = keyed_of("abcd", [[1, 0], [0, 1], [1, 0.1], [0, 1]])
    text = ": s\na b c\n\na b c d\na b c ?\n"
    assert few.evaluate_word_analogies(put(tmp_path, text))[1][0]["correct"] == [tuple("ABCD")]
    for value, score in ((True, 0.5), (1, 0.5), (0, 1.0), (None, 1.0)):
        assert few.evaluate_word_analogies(put(tmp_path, text), dummy4unknown=value)[0] == score
    none = [{"section": name, "correct": [], "incorrect": []} for name in ("s", "Total accuracy")]
    assert few.evaluate_word_analogies(put(tmp_path, ": s\n? ? ? ?\n")) == (0.0, none)
    pairs = "# x\na;b;1\na;?;2\na;c;3\nb;c;x\nb;d; 4\n"
    _, spearman, unknown = few.evaluate_word_pairs(put(tmp_path, pairs), delimiter=";")
    assert (spearman[0], unknown) == (pytest.approx(1), 25)
    assert few.evaluate_word_pairs(put(tmp_path, pairs), delimiter=";", dummy4unknown=0)[1] == spearman
    for ask in (few.evaluate_word_analogies, few.evaluate_word_pairs):
        with pytest.raises(FileNotFoundError):
            ask(tmp_path / "missing")
        for line in ("a b c d", "a\tb\t3"):
            with pytest.raises(ValueError, match=r"file\.txt"):
                ask(put(tmp_path, f"{line}\n"))


def emd2(a, b, costs):
    """Return what POT's function of this name does, by linear programming."""
    from scipy.optimize import linprog

    n = len(a)
    flow = np.arange(n * n).reshape(n, n)
    sums = np.zeros((2 * n, n * n))
    for i in range(n):
        sums[i, flow[i]] = sums[n + i, flow[:, i]] = 1
    return linprog(costs.ravel(), A_eq=sums, b_eq=np.concatenate([a, b])).fun


def test_wmdistance_is_the_cheapest_way_to_move_words(monkeypatch):
    keyed = keyed_of("abcd", [[3, 0], [0, 1], [0, 2], [4, 3]])
    monkeypatch.setitem(sys.modules, "ot", types.SimpleNamespace(emd2=emd2))
    assert keyed.wmdistance(["a"], ["b", "?"]) == pytest.approx(math.sqrt(2))
    assert keyed.wmdistance(["a"], ["b"], norm=False) == pytest.approx(math.sqrt(10))
    assert keyed.wmdistance(["a", "b"], ["c", "c"], norm=False) == pytest.approx((math.sqrt(13) + 1) / 2)
    assert keyed.wmdistance(["a", "b"], ["b", "a"]) == keyed.wmdistance("a", "a") == 0
    assert keyed.wmdistance("ab", ["?"]) == math.inf
    monkeypatch.setitem(sys.modules, "ot", None)
    with pytest.raises(ImportError, match=r"pip install 'w2vtrain\[wmd\]'"):
        keyed.wmdistance("a", "b")


def test_a_zero_vector_is_not_the_word_that_does_not_match():
    vectors = KeyedVectors.of(["pad", "king", "queen", "red"], np.array([[0, 0], [1, 2], [1, 3], [-3, 1]], np.float32))
    for words in (["pad", "king", "queen", "red"], ["red", "king", "pad", "queen"]):
        assert vectors.doesnt_match(words) == "red"
