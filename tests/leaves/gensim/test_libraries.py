"""Tests of libraries that work on gensim's vectors: they take `to_gensim()`, or our vectors as they are."""

import numpy as np
import pytest

import w2vtrain

pytest.importorskip("gensim", reason="gensim has no wheel for this Python")
BY_HAND = "annoy and wefe are in no extra, as annoy has no wheels: CONTRIBUTING.md says how to install them"
WORDS = ["he", "she", "man", "woman", "science", "math", "art", "poetry"]
TEXT = [["red", "green", "blue"], ["cat", "dog", "cow"]] * 20


@pytest.fixture
def vectors(rng):
    return w2vtrain.KeyedVectors.of(WORDS, rng.standard_normal((8, 10)).astype(np.float32))


def test_an_index_of_annoy_answers_our_queries(vectors):
    pytest.importorskip("annoy", reason=BY_HAND)
    from gensim.similarities.annoy import AnnoyIndexer

    index = AnnoyIndexer(vectors.to_gensim(), 20)
    for query in ("man", [vectors["he"]]):
        approximate, exact = (
            dict(vectors.most_similar(query, topn=3, **options)) for options in ({"indexer": index}, {})
        )
        assert set(approximate) & set(exact)
        assert all(approximate[key] == pytest.approx(exact[key], abs=1e-3) for key in approximate if key in exact)


def test_wefe_measures_bias(vectors):
    pytest.importorskip("wefe", reason=BY_HAND)
    from wefe.metrics import WEAT
    from wefe.query import Query
    from wefe.word_embedding_model import WordEmbeddingModel

    query = Query([["he", "man"], ["she", "woman"]], [["science", "math"], ["art", "poetry"]])
    found = WEAT().run_query(query, WordEmbeddingModel(vectors.to_gensim(), "ours"))
    unit = dict(zip(WORDS, vectors.get_normed_vectors(), strict=True))

    def near(word):
        return np.mean([unit[word] @ unit[w] for w in ("science", "math")]) - np.mean(
            [unit[word] @ unit[w] for w in ("art", "poetry")]
        )

    assert found["weat"] == pytest.approx(near("he") + near("man") - near("she") - near("woman"), rel=1e-4)


def test_gensims_soft_cosine_takes_our_vectors():
    from gensim.corpora import Dictionary
    from gensim.similarities import SoftCosineSimilarity, SparseTermSimilarityMatrix, WordEmbeddingSimilarityIndex

    model = w2vtrain.Word2Vec(TEXT, vector_size=8, min_count=1, sample=0, workers=1, epochs=1)
    words = Dictionary(TEXT)
    bags = [words.doc2bow(sentence) for sentence in TEXT[:2]]
    matrix = SparseTermSimilarityMatrix(WordEmbeddingSimilarityIndex(model.wv), words)
    similar = SoftCosineSimilarity(bags, matrix)[bags[0]]
    assert similar[0] == pytest.approx(1, abs=1e-3)
    assert similar[1] < 1
