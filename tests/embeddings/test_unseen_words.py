"""Vectors of words that training never saw: KeyedVectors with n-grams beside gensim's, and evaluations with them."""

import warnings

import numpy as np
import pytest

import w2vtrain
from w2vtrain.embeddings.similarity import evaluate_similarity
from w2vtrain.embeddings.unseen import with_unseen
from w2vtrain.errors import DataError, InvalidValue
from w2vtrain.kernels.subwords import Ngrams, NgramVectors, Subwords

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


def test_batches_and_distances_of_unseen_words_are_those_of_single_queries(keyed):
    for word, answers in zip([*UNSEEN, "water"], keyed.most_similar_batch([*UNSEEN, "water"], topn=3), strict=True):
        assert [key for key, _ in answers] == [key for key, _ in keyed.most_similar(word, topn=3)]
    distances = keyed.distances("waterfall", ["water", "словом"])
    expected = [1 - keyed.similarity("waterfall", other) for other in ("water", "словом")]
    np.testing.assert_allclose(distances, expected, atol=1e-6)


def test_in_says_whether_a_word_was_in_the_vocabulary(keyed):
    assert "water" in keyed
    assert "waterfall" not in keyed
    assert keyed.get_index("waterfall", -1) == -1


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
    with pytest.raises(DataError, match="words that are not in the vocabulary need n-grams"):
        with_unseen(w2vtrain.Vectors(WORDS, keyed.vectors), asked)


def test_a_model_with_subwords_answers_for_unseen_words(tmp_path):
    path = tmp_path / "text"
    path.write_text("water waters fall falls\n" * 60)
    model = w2vtrain.train(path, subwords=True, vector_size=6, min_count=1, epochs=1, sample=0)
    assert "waterfall" not in model
    assert model["waterfall"].shape == (6,)
    assert model.most_similar("waterfall", topn=1)[0][0] in model.words
    np.testing.assert_array_equal(model.to_keyed_vectors()["waterfall"], model["waterfall"])
    with pytest.raises(KeyError, match="zzz"):
        model["zzz"]
    with pytest.raises(KeyError, match="waterfall"):
        model.to_keyed_vectors("out")["waterfall"]
