"""Vectors of words that training never saw: KeyedVectors with n-grams beside gensim's, and evaluations with them."""

import warnings

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from memory import traced

import w2vtrain
from w2vtrain.embeddings.similarity import evaluate_similarity
from w2vtrain.embeddings.unseen import count_unseen, with_unseen
from w2vtrain.errors import DataError, InvalidValue
from w2vtrain.formats.model_file import INPUT_ROWS, NGRAM_BUCKETS, ngram_vectors
from w2vtrain.formats.safetensors import write_safetensors
from w2vtrain.formats.subwords import Ngrams, NgramVectors, Subwords

WORDS = ["water", "waters", "fall", "falls", "слово", "übung", "apple"]
UNSEEN = ["waterfall", "словом", "übungen", "applesauce"]
SIZES = Ngrams(3, 5, 800)


@pytest.fixture
def parts(rng):
    """The rows of words, those of all buckets, and the vectors of words."""
    own, ngrams = rng.normal(size=(len(WORDS), 8)).astype(np.float32), rng.normal(size=(800, 8)).astype(np.float32)
    subwords = Subwords.of(WORDS, SIZES, np.arange(800, dtype=np.int32))
    return own, ngrams, subwords.vectors(np.concatenate([own, ngrams]))


@pytest.fixture
def keyed(parts):
    _, ngrams, vectors = parts
    return w2vtrain.KeyedVectors.of(WORDS, vectors, range(9, 2, -1), NgramVectors(SIZES, ngrams))


@pytest.fixture
def theirs(parts):
    fasttext = pytest.importorskip("gensim.models.fasttext", reason="gensim is not installed")
    own, ngrams, _ = parts
    made = fasttext.FastTextKeyedVectors(8, 3, 5, 800)
    made.add_vectors(WORDS, own)
    made.init_post_load(np.concatenate([own, ngrams]))
    return made


def test_queries_answer_as_those_of_gensim(keyed, theirs):
    for word in [*WORDS, *UNSEEN]:
        np.testing.assert_allclose(keyed[word], theirs[word], atol=1e-6)
        np.testing.assert_allclose(keyed.get_vector(word, norm=True), theirs.get_vector(word, norm=True), atol=1e-6)
        for mine, other in zip(keyed.most_similar(word), theirs.most_similar(word), strict=True):
            assert mine[0] == other[0]
            assert mine[1] == pytest.approx(other[1], abs=1e-5)
    np.testing.assert_allclose(keyed[["water", "waterfall"]], theirs[["water", "waterfall"]], atol=1e-6)
    assert keyed.similarity("waterfall", "falls") == pytest.approx(theirs.similarity("waterfall", "falls"), abs=1e-6)
    pair = ["waterfall", "fall"], ["übungen", "слово"]
    assert keyed.n_similarity(*pair) == pytest.approx(theirs.n_similarity(*pair), abs=1e-6)
    sentence = ["waterfall", "falls"]
    np.testing.assert_allclose(keyed.get_sentence_vector(sentence), theirs.get_sentence_vector(sentence), atol=1e-6)
    np.testing.assert_allclose(keyed.get_sentence_vector("waterfall  falls"), keyed.get_sentence_vector(sentence))
    mine = keyed.most_similar(positive=["waterfall", "apple"], negative=["словом"])
    other = theirs.most_similar(positive=["waterfall", "apple"], negative=["словом"])
    assert [word for word, _ in mine] == [word for word, _ in other]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gensim's method calls a deprecated one of its own
        other = theirs.most_similar_cosmul(positive=["waterfall"], negative=["apple"])
    mine = keyed.most_similar_cosmul(positive=["waterfall"], negative=["apple"])
    assert [word for word, _ in mine] == [word for word, _ in other]


SCRIPTS = "aZß'-éŁñжЯЂαωאשعلकािたカ漢한😀𝔘\u0301"


@given(st.text(SCRIPTS, min_size=1, max_size=12))
@example("a")
@example("漢")
def test_a_word_in_any_script_has_the_vector_that_gensim_composes(word):
    fasttext = pytest.importorskip("gensim.models.fasttext", reason="gensim is not installed")
    rows = np.random.default_rng(5).normal(size=(97, 4)).astype(np.float32)
    sizes = Ngrams(2, 4, 97)
    theirs = fasttext.FastTextKeyedVectors(4, *sizes)
    theirs.vectors_ngrams = rows
    mixed = np.random.default_rng(6).permutation(97).astype(np.int32)
    for ngrams in (NgramVectors(sizes, rows), NgramVectors(sizes, rows[mixed], mixed)):
        ours = w2vtrain.KeyedVectors.of(["other"], rows[:1], None, ngrams)
        np.testing.assert_allclose(ours[word], theirs[word], atol=1e-6)
        np.testing.assert_allclose(ours.get_vector(word, norm=True), theirs.get_vector(word, norm=True), atol=1e-6)


def test_ranks_take_unseen_words_on_both_sides(keyed):
    distances = keyed.distances("waterfall")
    order = [keyed.index_to_key[row] for row in np.argsort(distances)]
    assert keyed.closer_than("waterfall", order[3]) == sorted(order[:3], key=keyed.get_index)
    assert [keyed.rank("waterfall", word) for word in order] == list(range(1, 8))
    limit = keyed.distance("apple", "waterfall")
    closer = [word for word in WORDS if word != "apple" and keyed.distance("apple", word) < limit]
    assert keyed.closer_than("apple", "waterfall") == closer
    with pytest.raises(KeyError, match="'' is not in the vocabulary, and none of its n-grams is known"):
        keyed.closer_than("apple", "")
    with pytest.raises(KeyError, match=r"^'waterfall' is not in the vocabulary$"):
        keyed.get_index("waterfall")


def test_sentences_leave_out_zeros_and_words_without_a_vector(keyed):
    keyed.add_vector("nothing", np.zeros(8))
    units = [keyed.get_vector(word, norm=True) for word in ("waterfall", "fall")]
    np.testing.assert_allclose(keyed.get_sentence_vector("waterfall nothing fall"), np.mean(units, axis=0), atol=1e-6)
    np.testing.assert_allclose(keyed.get_sentence_vector(["", "fall"]), units[1], atol=1e-6)
    with pytest.raises(KeyError, match="no word of the sentence has a vector: 'nothing'"):
        keyed.get_sentence_vector(["nothing"])
    with pytest.raises(InvalidValue):
        keyed.get_sentence_vector("  ")


def test_the_distance_of_documents_counts_unseen_words(keyed, theirs):
    pytest.importorskip("ot", reason="POT is not installed")
    documents = ["waterfall", "apple", "словом"], ["water", "übungen"]
    assert keyed.wmdistance(*documents) == pytest.approx(theirs.wmdistance(*documents), abs=1e-5)


def test_ngram_vectors_are_the_rows_whose_mean_is_the_vector(keyed, parts):
    own, ngrams, _ = parts
    for word in (*WORDS, *UNSEEN):
        texts, rows = keyed.get_ngram_vectors(word)
        known = word in WORDS
        assert texts == [word] * known + SIZES.texts(word)
        np.testing.assert_array_equal(rows[known:], ngrams[SIZES.buckets([word])[1]])
        np.testing.assert_allclose(rows.mean(axis=0), keyed[word], atol=1e-6)
        if known:
            np.testing.assert_allclose(rows[0], own[WORDS.index(word)], atol=5e-6)
    assert keyed.get_ngram_vectors(0)[0][0] == "water"
    with pytest.raises(KeyError, match="''"):
        keyed.get_ngram_vectors("")


def test_vectors_go_to_gensim_and_back_with_ngrams(keyed, theirs, parts):
    buckets = np.random.default_rng(3).permutation(800).astype(np.int32)
    mixed = w2vtrain.KeyedVectors.of(WORDS, parts[2], None, NgramVectors(SIZES, parts[1][buckets], buckets))
    there = mixed.to_gensim()
    np.testing.assert_allclose(there.vectors_vocab, theirs.vectors_vocab, atol=5e-6)
    there.adjust_vectors()
    for kind in (w2vtrain.KeyedVectors, w2vtrain.FastTextKeyedVectors):
        back = kind.from_gensim(there)
        for word in (*WORDS, *UNSEEN):
            np.testing.assert_allclose(there[word], theirs[word], atol=1e-6)
            np.testing.assert_allclose(back[word], theirs[word], atol=1e-6)


def test_float64_vectors_compose_float64(keyed):
    wide = w2vtrain.KeyedVectors.of(WORDS, keyed.vectors.astype(np.float64), None, keyed.ngrams)
    assert wide["waterfall"].dtype == wide["water"].dtype == np.float64


def test_batches_and_distances_of_unseen_words_are_those_of_single_queries(keyed):
    for word, answers in zip([*UNSEEN, "water"], keyed.most_similar_batch([*UNSEEN, "water"], topn=3), strict=True):
        assert [key for key, _ in answers] == [key for key, _ in keyed.most_similar(word, topn=3)]
    distances = keyed.distances("waterfall", ["water", "словом"])
    expected = [1 - keyed.similarity("waterfall", other) for other in ("water", "словом")]
    np.testing.assert_allclose(distances, expected, atol=1e-6)


def test_a_word_without_a_known_ngram_is_an_error_with_its_name(parts):
    buckets = np.unique(SIZES.buckets(WORDS)[1])
    some = w2vtrain.KeyedVectors.of(WORDS, parts[2], None, NgramVectors(SIZES, parts[1][buckets], buckets))
    np.testing.assert_allclose(some["waters"], parts[2][1])
    lonely = next(word for word in map(chr, range(0x4E00, 0x9FFF)) if not set(SIZES.buckets([word])[1]) & set(buckets))
    with pytest.raises(KeyError, match=f"'{lonely}' is not in the vocabulary"):
        some[lonely]
    with pytest.raises(KeyError, match=lonely):
        some.most_similar(lonely)


def test_vectors_for_all_infers_unless_told_not_to(keyed):
    made = keyed.vectors_for_all(["waterfall", "water"])
    assert made.index_to_key == ["waterfall", "water"]
    np.testing.assert_allclose(made["waterfall"], keyed["waterfall"])
    assert keyed.vectors_for_all(["waterfall", "water"], allow_inference=False).index_to_key == ["water"]


def test_vectors_for_all_keeps_ngrams_and_attributes(keyed):
    made = keyed.vectors_for_all(["waterfall", "fall"], copy_vecattrs=True)
    assert made.expandos["count"].tolist() == [0, 7]
    empty = w2vtrain.KeyedVectors.of([], keyed.vectors[:0], [], keyed.ngrams)
    assert empty.vectors_for_all(["waterfall"], copy_vecattrs=True).expandos["count"].tolist() == [0]
    np.testing.assert_allclose(made["словом"], keyed["словом"])
    numbers = w2vtrain.KeyedVectors.of([10, 20], np.eye(2, dtype=np.float32), [6, 5])
    assert numbers.vectors_for_all([20, 10], copy_vecattrs=True).expandos["count"].tolist() == [5, 6]
    numbers.set_vecattr(20, "even", True)
    assert numbers.vectors_for_all([20, 10], copy_vecattrs=True).expandos["even"].tolist() == [True, False]
    keyed.expandos["place"] = np.arange(2 * len(keyed)).reshape(-1, 2)
    made, row = keyed.vectors_for_all(["waterfall", "fall"], copy_vecattrs=True), keyed.key_to_index["fall"]
    assert made.expandos["place"].tolist() == [[0, 0], [2 * row, 2 * row + 1]]


def test_vectors_without_any_ngrams_are_saved_and_loaded(tmp_path):
    """As FastText writes them with max_n=0."""
    whole = w2vtrain.FastTextKeyedVectors(2, 3, 0, 100)
    whole.add_vectors(["a", "b"], np.eye(2))
    whole.save(tmp_path / "vectors")
    again = w2vtrain.FastTextKeyedVectors.load(tmp_path / "vectors")
    assert (again.min_n, again.max_n, again.bucket) == (3, 0, 100)
    np.testing.assert_array_equal(again["b"], [0, 1])
    with pytest.raises(KeyError, match="bb"):
        again["bb"]
    assert w2vtrain.FastTextKeyedVectors.of(["a"], np.ones((1, 2), np.float32)).vectors_ngrams.shape[1] == 2


@pytest.mark.parametrize(
    ("sizes", "buckets"),
    [((3, 6, -1), []), ((3, 6, 1 << 32), [5]), ((0, 6, 9), [5]), ((3, 2, 9), [5]), ((3, 6, 9), [9]), ((3, 1.5, 9), [])],
    ids=["negative", "too many", "no characters", "no lengths", "beyond the last", "no integer"],
)
def test_impossible_ngrams_are_refused(sizes, buckets):
    arrays = {INPUT_ROWS: np.ones((len(buckets), 2), np.float32), NGRAM_BUCKETS: np.array(buckets, np.int32)}
    settings = {"subwords": True, **dict(zip(Ngrams._fields, sizes, strict=True))}
    with pytest.raises(ValueError, match=r"invalid|there are no n-grams of 3 to 2|are not numbers below 9"):
        ngram_vectors(settings, arrays, 0, 2)


@pytest.mark.parametrize("name", ["ngrams.sizes", "ngrams.buckets"])
def test_a_number_in_place_of_an_array_of_ngrams_is_damage(name, tmp_path):
    arrays = {
        "vectors": np.ones((1, 2), np.float32), "keys": np.frombuffer(b'["a"]', np.uint8),
        "ngrams.rows": np.ones((1, 2), np.float32), "ngrams.buckets": np.array([5], np.int32),
        "ngrams.sizes": np.array([3, 6, 9]),
    }  # fmt: skip
    write_safetensors(tmp_path / "good", arrays, {"kind": "keyed vectors"})
    assert w2vtrain.read_vectors(tmp_path / "good").ngrams is not None
    write_safetensors(tmp_path / "bad", arrays | {name: arrays[name][0].reshape(())}, {"kind": "keyed vectors"})
    with pytest.raises(w2vtrain.W2VError, match="its n-grams are damaged"):
        w2vtrain.read_vectors(tmp_path / "bad")


def test_rows_of_ngrams_must_be_finite(tmp_path):
    rows = np.full((2, 2), np.nan, np.float32)
    settings = {"subwords": True, "minn": 3, "maxn": 6, "bucket": 9}
    arrays = {INPUT_ROWS: rows, NGRAM_BUCKETS: np.array([5], np.int32)}
    model = w2vtrain.Model(["a"], np.array([1]), np.ones((1, 2), "f4"), np.ones((1, 2), "f4"), arrays, settings)
    with pytest.raises(w2vtrain.W2VError, match="row 0 of input_rows is not finite"):
        model.save(tmp_path / "model")
    ngrams = NgramVectors(Ngrams(3, 6, 9), rows[1:], arrays[NGRAM_BUCKETS])
    w2vtrain.KeyedVectors.of(["a"], np.ones((1, 2), "f4"), ngrams=ngrams).save(tmp_path / "keyed")
    for read in (w2vtrain.read_vectors, w2vtrain.KeyedVectors.load):
        with pytest.raises(w2vtrain.W2VError, match=r"its n-grams are damaged: row 0 of ngrams\.rows is not finite"):
            read(tmp_path / "keyed")


def test_a_large_number_of_buckets_takes_no_memory():
    buckets = np.array([7, 5], np.int32)
    ngrams = NgramVectors(Ngrams(3, 6, 1_000_000_000), np.ones((2, 2), np.float32), buckets)
    with traced() as memory:
        ngrams.vector("water")
    assert memory.peak < 1 << 24
    assert ngrams.rows_of(np.array([5, 6, 7], np.int32)).tolist() == [1, -1, 0]


def test_saving_keeps_ngrams(keyed, tmp_path):
    keyed.save(tmp_path / "vectors.safetensors")
    again = w2vtrain.KeyedVectors.load(tmp_path / "vectors.safetensors")
    np.testing.assert_array_equal(again["waterfall"], keyed["waterfall"])
    np.testing.assert_array_equal(
        w2vtrain.read_vectors(tmp_path / "vectors.safetensors").ngrams.matrix, keyed.ngrams.matrix
    )


def test_nearest_ngrams_are_those_of_the_largest_cosine(keyed, parts):
    answers = keyed.nearest_ngrams("waterfall", topn=5)
    ngrams, vector = parts[1], keyed["waterfall"]
    texts = {
        text: bucket for word in WORDS for text, bucket in zip(SIZES.texts(word), SIZES.buckets([word])[1], strict=True)
    }
    cosines = {t: ngrams[b] @ vector / np.linalg.norm(ngrams[b]) / np.linalg.norm(vector) for t, b in texts.items()}
    best = sorted(set(np.round(list(cosines.values()), 5)), reverse=True)[:5]
    np.testing.assert_allclose([cosine for _, cosine in answers], best, atol=1e-4)
    for text, cosine in answers:
        assert cosines[text] == pytest.approx(cosine, abs=1e-5)
    with pytest.raises(InvalidValue, match="there are no n-grams"):
        w2vtrain.KeyedVectors.of(["a"], np.ones((1, 2), np.float32)).nearest_ngrams("a")


def test_evaluations_count_unseen_words_on_request(keyed, tmp_path):
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("water\tfall\t1\nwater\twaterfall\t5\nApple\tapplesauce\t9\nwaters\tfalls\t2\n", encoding="utf-8")
    vectors = w2vtrain.Vectors(WORDS, keyed.vectors, ngrams=keyed.ngrams)
    assert evaluate_similarity(vectors, pairs).answered == 2
    asked = ["water", "waterfall", "Apple", "applesauce"]
    more = with_unseen(vectors, asked)
    assert more.words == [*WORDS, "waterfall", "applesauce"]
    np.testing.assert_allclose(more.matrix[len(WORDS)], keyed["waterfall"])
    assert evaluate_similarity(more, pairs).answered == 4
    assert with_unseen(vectors, asked, restrict_vocab=2).words == [
        "water",
        "waters",
        "waterfall",
        "apple",
        "applesauce",
    ]
    assert with_unseen(vectors, asked, case_insensitive=False).words[-2:] == ["Apple", "applesauce"]
    np.testing.assert_array_equal(with_unseen(vectors, asked, 2).matrix[3], keyed["apple"])  # its own vector
    assert count_unseen(vectors, more, [("water", "apple"), ("Apple", "applesauce"), ("", "waterfall")]) == (2, 1)
    with pytest.raises(DataError, match="words that are not in the vocabulary need n-grams"):
        with_unseen(w2vtrain.Vectors(WORDS, keyed.vectors), asked)
