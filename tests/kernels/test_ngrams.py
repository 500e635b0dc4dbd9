"""The n-grams of words and their hashes, beside a plain implementation; the rows of a vocabulary."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from w2vtrain.formats.subwords import WHOLE, Ngrams, NgramVectors, Subwords

WORDS = st.lists(st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12), min_size=1, max_size=6)
SIZES = st.tuples(st.integers(1, 8), st.integers(0, 5), st.integers(1, 3_000_000))


def fnv(text):
    """FNV-1a of 32 bits; fastText takes bytes as signed, so that those from 128 on set the upper 24 bits."""
    found = 2166136261
    for byte in text.encode():
        found = ((found ^ (byte | 0xFFFFFF00 if byte > 127 else byte)) * 16777619) % 2**32
    return found


@given(WORDS, SIZES)
@example(["a", WHOLE, "слово", "你好", "👩‍🔬", "é", "e\u0301"], (1, 5, 1000))
def test_buckets_are_the_hashes_of_the_ngrams(words, sizes):
    ngrams = Ngrams(sizes[0], sizes[0] + sizes[1], sizes[2])
    starts, buckets = ngrams.buckets(words)
    assert starts[0] == 0
    assert starts[-1] == len(buckets)
    for word, first, last in zip(words, starts[:-1], starts[1:], strict=True):
        assert buckets[first:last].tolist() == [fnv(text) % ngrams.bucket for text in ngrams.texts(word)]


@pytest.mark.parametrize(
    ("word", "ngrams", "texts"),
    [
        ("ab", Ngrams(1, 2), ["<a", "a", "ab", "b", "b>"]),
        ("where", Ngrams(3, 3), ["<wh", "whe", "her", "ere", "re>"]),
        ("ну", Ngrams(3, 6), ["<ну", "<ну>", "ну>"]),
        (WHOLE, Ngrams(3, 6), []),
        ("a", Ngrams(5, 6), []),
    ],
    ids=["single characters", "Bojanowski's example", "Cyrillic", "sentence end", "too short"],
)
def test_texts_of_ngrams(word, ngrams, texts):
    assert ngrams.texts(word) == texts


@given(WORDS.filter(lambda words: len(set(words)) == len(words)), SIZES)
def test_each_bucket_that_occurs_has_one_row(words, sizes):
    ngrams = Ngrams(sizes[0], sizes[0] + sizes[1], sizes[2])
    subwords = Subwords.of(words, ngrams)
    rows = [subwords.rows[a:b] for a, b in zip(subwords.starts[:-1], subwords.starts[1:], strict=True)]
    assert [row[0] for row in rows] == list(range(len(words)))
    first_use = list(dict.fromkeys(np.concatenate([row[1:] for row in rows]).tolist()))
    assert first_use == list(range(len(words), subwords.input_rows(len(words))))
    buckets = ngrams.buckets(words)[1]
    assert subwords.buckets[np.concatenate([row[1:] for row in rows]) - len(words)].tolist() == buckets.tolist()
    again = Subwords.of(words, ngrams, subwords.buckets)
    np.testing.assert_array_equal(again.rows, subwords.rows)


def test_a_vector_is_the_mean_of_rows(rng):
    subwords = Subwords.of(["water", "waters", WHOLE], Ngrams(3, 5, 40))
    rows = rng.normal(size=(subwords.input_rows(3), 7)).astype(np.float32)
    for word, vector in enumerate(subwords.vectors(rows)):
        mine = subwords.rows[subwords.starts[word] : subwords.starts[word + 1]]
        np.testing.assert_allclose(vector, rows[mine].mean(axis=0), atol=1e-6)
    numbers = rng.random(3)
    expected = [numbers @ [(subwords.rows[a:b] == row).sum() for a, b in _ranges(subwords)] for row in range(len(rows))]
    np.testing.assert_allclose(subwords.per_row(numbers), expected)


def _ranges(subwords):
    return zip(subwords.starts[:-1], subwords.starts[1:], strict=True)


def test_the_vector_of_an_unseen_word_is_the_mean_over_its_ngrams(rng):
    """N-grams without a row count as zeros, as unused buckets do in a file of fastText."""
    ngrams = Ngrams(3, 4, 1000)
    matrix = rng.normal(size=(1000, 5)).astype(np.float32)
    found = ngrams.buckets(["waterfall"])[1]
    np.testing.assert_allclose(NgramVectors(ngrams, matrix).vector("waterfall"), matrix[found].mean(axis=0), atol=1e-6)
    some = np.unique(found)[::2].astype(np.int32)
    expected = sum(matrix[bucket] for bucket in found if bucket in some) / len(found)
    np.testing.assert_allclose(NgramVectors(ngrams, matrix[some], some).vector("waterfall"), expected, atol=1e-6)
    assert NgramVectors(ngrams, matrix[:0], some[:0]).vector("waterfall") is None
    assert NgramVectors(ngrams, matrix).vector("") is not None or not ngrams.texts("")


def test_a_model_without_the_bucket_of_an_ngram_is_refused():
    with pytest.raises(ValueError, match="has no row"):
        Subwords.of(["water"], Ngrams(), np.array([1], np.int32))


def test_steps_move_the_mean_by_two_changes_at_most_however_often_a_row_is_repeated(rng):
    """fastText moves the vector of a line of 300 equals signs by 300 times the gradient."""
    subwords = Subwords.of(["=" * 300, "water", "banana", WHOLE], Ngrams(3, 6))
    rows = rng.normal(size=(subwords.input_rows(4), 5)).astype(np.float32)
    before, change = subwords.vectors(rows), np.ones(5, np.float32)
    assert subwords.steps[0] < 0.01
    assert subwords.steps[1:].tolist() == [1, 1, 1]
    moves = []
    for word, (a, b) in enumerate(_ranges(subwords)):
        moved = rows.copy()
        np.add.at(moved, subwords.rows[a:b], subwords.steps[word] * change)
        moves.append(subwords.vectors(moved)[word] - before[word])
    np.testing.assert_allclose(moves[0], 2, rtol=1e-4)
    np.testing.assert_allclose(moves[1], 1, rtol=1e-4)
