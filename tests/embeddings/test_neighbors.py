"""Nearest neighbors and analogies, compared with gensim, and errors for unknown words."""

import math

import numpy as np
import pytest
from word_vectors import in_gensim, structured, vectors_of

from w2vtrain.embeddings import neighbors
from w2vtrain.embeddings.neighbors import NearestWords, close_words
from w2vtrain.errors import DataError, UsageError


def test_neighbors_and_analogies_are_the_nearest_words():
    nearest = NearestWords(
        vectors_of(
            ["man", "king", "woman", "queen", "zero", "Kings"],
            [[0, 1, 0], [1, 1, 0], [0, 1, 1], [1, 1, 1], [0, 0, 0], [5, 0.1, 0]],
        )
    )
    assert [word for word, _ in nearest.neighbors("king", 2)] == ["queen", "Kings"]
    assert nearest.neighbors("king", 1)[0][1] == pytest.approx(2 / math.sqrt(6), abs=1e-6)
    assert nearest.analogy("king", "man", "woman", 1)[0][0] == "queen"
    assert "zero" not in dict(nearest.neighbors("king", 100))
    assert len(nearest.neighbors("king", 100)) == 4


def test_topn_below_one_is_refused():
    with pytest.raises(UsageError, match="topn"):
        NearestWords(vectors_of("ab", np.eye(2))).neighbors("a", 0)


@pytest.mark.parametrize("topn", [1, 10, 10_000])
def test_answers_equal_gensims_bit_for_bit(topn):
    words, matrix = structured(0.5)
    matrix[100:110] = matrix[99]  # equal cosines
    vectors = vectors_of(words, matrix)
    nearest, keyed = NearestWords(vectors), in_gensim(vectors)
    for a, b, c in np.random.default_rng(0).choice(words, (50, 3)).tolist():
        assert nearest.neighbors(a, topn) == keyed.most_similar(a, topn=topn)
        assert nearest.analogy(a, b, c, topn) == keyed.most_similar([a, c], [b], topn=topn)
    assert nearest.neighbors(words[99], topn) == keyed.most_similar(words[99], topn=topn)


def test_the_error_for_an_unknown_word_suggests_similar_words():
    nearest = NearestWords(vectors_of(["the", "Greece", "greek", "KING", "kingdom"], np.eye(5)))
    with pytest.raises(DataError, match="'greece' is not in the vocabulary; similar words: 'Greece', 'greek'"):
        nearest.neighbors("greece")
    with pytest.raises(DataError, match="'king' is not in the vocabulary; similar words: 'KING'"):
        nearest.analogy("the", "king", "greek")
    with pytest.raises(DataError, match=r"'xyzzy' is not in the vocabulary$"):
        nearest.neighbors("xyzzy")


def test_finding_similar_words_is_cheap_in_a_large_vocabulary(monkeypatch):
    """Only a limited number of words is compared letter by letter."""
    compared, compare = [], neighbors.difflib.get_close_matches

    def counted(word, possibilities, **more):
        compared.extend(possibilities)
        return compare(word, possibilities, **more)

    monkeypatch.setattr(neighbors.difflib, "get_close_matches", counted)
    vectors = vectors_of([f"word{i}" for i in range(300_000)], np.zeros((300_000, 1)))
    assert close_words(vectors.words, "wrod77")
    assert 0 < len(compared) <= 5_000
