"""Stability of neighbors and alignment, against references that follow the definitions."""

import numpy as np
import pytest
from word_vectors import in_gensim, vectors_of

from w2vtrain.embeddings.alignment import difference
from w2vtrain.embeddings.stability import stability
from w2vtrain.errors import DataError, UsageError
from w2vtrain.formats.vectors import Vectors

WORDS = [f"w{i}" for i in range(60)]


def rotation(rng, d):
    return np.linalg.qr(rng.standard_normal((d, d)))[0]


def test_overlap_is_the_mean_share_of_common_neighbors_over_pairs_of_files(rng):
    base = rng.standard_normal((60, 8))
    files = [vectors_of(WORDS, base + 0.5 * rng.standard_normal(base.shape)) for _ in range(3)]
    report = stability(files, k=7, words=20)
    near = [{word: {w for w, _ in in_gensim(file).most_similar(word, topn=7)} for word in WORDS[:20]} for file in files]
    pairs = [(near[a], near[b]) for a, b in ((0, 1), (0, 2), (1, 2))]
    overlap = np.array([[len(x[w] & y[w]) / 7 for w in WORDS[:20]] for x, y in pairs])
    jaccard = np.array([[len(x[w] & y[w]) / len(x[w] | y[w]) for w in WORDS[:20]] for x, y in pairs])
    np.testing.assert_allclose(report.overlap, overlap.mean(axis=0))
    np.testing.assert_allclose(report.jaccard, jaccard.mean(axis=0))
    np.testing.assert_allclose(report.pairs, overlap.mean(axis=1))
    assert report.interval[0] < report.mean < report.interval[1]
    least, most = report.ranked(3)
    assert least[0][1] == report.overlap.min()
    assert most[0][1] == report.overlap.max()


def test_rotated_vectors_are_perfectly_stable_and_do_not_differ(rng):
    base = rng.standard_normal((60, 8))
    turned = vectors_of(reversed(WORDS), (base @ rotation(rng, 8))[::-1])  # the order of words does not matter
    report = stability([vectors_of(WORDS, base), turned], k=5)
    assert report.mean == 1.0
    assert report.words == WORDS
    found = difference(vectors_of(WORDS, base), turned)
    np.testing.assert_allclose(found.cosines, 1, atol=1e-6)
    assert all(not word.left and not word.came for word in found.moved)


def test_stability_needs_two_files_with_enough_words_in_common(rng):
    one = vectors_of(["a", "b", "c"], np.eye(3))
    with pytest.raises(UsageError, match="two files"):
        stability([one])
    with pytest.raises(DataError, match="too few for 10 neighbors"):
        stability([one, one])
    with pytest.raises(DataError, match="words with vectors in common: 1"):
        stability([one, vectors_of(["a", "b", "d"], [[1, 0], [0, 0], [1, 1]])], k=1)


def test_the_word_that_was_moved_is_found_with_neighbors_that_left_and_came(rng):
    centers = np.repeat(np.eye(6) * 4, 10, axis=0)
    first = centers + 0.2 * rng.standard_normal(centers.shape)
    second = first @ rotation(rng, 6)
    second[3] = second[55] + 0.01 * rng.standard_normal(6)  # from the first group to the last
    extra = vectors_of([*WORDS, "new"], [*second, np.ones(6)])
    found = difference(vectors_of(WORDS, first), extra, count=1, k=5)
    (moved,) = found.moved
    assert moved.word == "w3"
    assert {int(word[1:]) // 10 for word in moved.left} == {0}
    assert {int(word[1:]) // 10 for word in moved.came} == {5}
    assert moved.came[0] == "w55"
    assert (found.only_first, found.only_second) == (0, 1)
    rarer = difference(vectors_of([*WORDS[1:], "w0"], np.roll(first, -1, axis=0)), extra, restrict_vocab=59, k=5)
    assert (rarer.only_first, rarer.only_second) == (0, 0)  # w0 is in both, although it is not compared
    assert moved.cosine < 0.5 < np.delete(found.cosines, 3).min()


def test_vectors_of_different_dimensions_are_not_aligned(rng):
    with pytest.raises(DataError, match="3 and 2 dimensions"):
        difference(vectors_of(["a", "b"], np.eye(3)[:2]), vectors_of(["a", "b"], np.eye(2)))


def test_pairs_of_words_are_compared_in_place_of_shared_words(rng):
    base, turn = rng.standard_normal((60, 8)), rotation(rng, 8)
    others = [f"v{i}" for i in range(60)]
    first, second = vectors_of(WORDS, base), vectors_of(others[::-1], (base @ turn)[::-1])
    pairs = list(zip(WORDS, others, strict=True))
    found = difference(first, second, pairs=[*pairs[:40], ("w51", "none"), ("none", "v51")], count=2)
    assert found.words == WORDS[:40]
    np.testing.assert_allclose(found.cosines, 1, atol=1e-6)
    assert all(word.second == f"v{word.word[1:]}" and not word.left and not word.came for word in found.moved)
    assert (found.only_first, found.only_second) == (20, 20)
    turned = found.rotated(second.matrix)[:]
    np.testing.assert_allclose(turned, base[::-1], atol=1e-5)  # also of words that are in no pair
    with pytest.raises(DataError, match="pairs of words with vectors in common: 1"):
        difference(first, second, pairs=pairs[:1])


def test_every_pair_of_a_word_with_several_translations_counts_in_the_rotation(rng):
    first, second = (vectors_of(WORDS, rng.standard_normal((60, 5))) for _ in range(2))
    pairs = [(f"w{i}", f"w{j}") for i, j in rng.integers(0, 30, (80, 2))]
    pairs = list(dict.fromkeys(pairs))
    rows = np.array([[int(word[1:]) for word in pair] for pair in pairs])
    one, two = (file.matrix / np.linalg.norm(file.matrix, axis=1, keepdims=True) for file in (first, second))
    left, _, right = np.linalg.svd(two[rows[:, 1]].T @ one[rows[:, 0]])
    given = [*pairs, *pairs[:9], ("w0", "none"), ("none", "w0")]  # repeated pairs and unknown words change nothing
    found = difference(first, second, pairs=given, count=200)
    np.testing.assert_allclose(found.rotated(second.matrix)[:], second.matrix @ left @ right, atol=1e-5)
    assert list(zip(found.words, found.others, strict=True)) == pairs
    np.testing.assert_allclose(found.cosines, (one[rows[:, 0]] * (two @ left @ right)[rows[:, 1]]).sum(1), atol=1e-5)
    assert sorted((word.word, word.second) for word in found.moved) == sorted(pairs)
    assert (found.only_first, found.only_second) == tuple(60 - np.unique(column).size for column in rows.T)


def test_neighbors_with_several_translations_are_listed_once_and_only_if_none_of_them_is_a_neighbor(rng):
    angles = {"bank": 0, "shore": 0.1, "coast": 0.2, "money": 2, "cash": 2.1}
    first = vectors_of(angles, [[np.cos(a), np.sin(a)] for a in angles.values()])
    others = {"ufer": 0.05, "bank": 2.2, "strand": 0.1, "kueste": 0.2, "geld": 2, "bares": 2.1}
    second = vectors_of(others, [[np.cos(a), np.sin(a)] for a in others.values()])
    pairs = [("bank", "ufer"), ("bank", "bank"), ("shore", "strand"), ("shore", "ufer"), ("coast", "kueste")]
    pairs += [("coast", "strand"), ("money", "geld"), ("cash", "bares"), ("cash", "geld")]
    found = {(word.word, word.second): word for word in difference(first, second, pairs=pairs, k=2, count=9).moved}
    assert len(found) == 9
    assert (found["bank", "ufer"].left, found["bank", "ufer"].came) == ([], [])
    assert (found["bank", "bank"].left, found["bank", "bank"].came) == (["shore", "coast"], ["bares", "geld"])
    assert (found["cash", "geld"].left, found["cash", "geld"].came) == (["coast"], ["bank"])  # bares is cash, too
    assert found["bank", "bank"].cosine < 0


def test_rotated_vectors_are_the_nearest_to_the_pairs_and_keep_their_products(rng):
    """They have the cosines with the first file that are compared, although the means of the two files differ."""
    first, second = (vectors_of(WORDS, shift + rng.standard_normal((60, 5))) for shift in (0, 1))
    turned = difference(first, second).rotated(second.matrix)[:]
    np.testing.assert_allclose(turned @ turned.T, second.matrix @ second.matrix.T, atol=1e-4)
    one, two = (file.matrix / np.linalg.norm(file.matrix, axis=1, keepdims=True) for file in (first, second))
    left, _, right = np.linalg.svd(two.T @ one)
    np.testing.assert_allclose(turned, second.matrix @ left @ right, atol=1e-5)
    units = turned / np.linalg.norm(turned, axis=1, keepdims=True)
    np.testing.assert_allclose(difference(first, second).cosines, (one * units).sum(axis=1), atol=1e-5)


def test_rare_words_of_either_file_are_not_compared(rng):
    counts = np.arange(60, 0, -1)
    first = Vectors(WORDS, rng.standard_normal((60, 4)).astype(np.float32), counts=counts)
    second = Vectors(WORDS[::-1], rng.standard_normal((60, 4)).astype(np.float32), counts=counts)
    assert difference(first, second, min_count=21).words == WORDS[20:40]
    with pytest.raises(DataError, match="; min_count leaves out what is rarer in either text than 1,000"):
        difference(first, second, min_count=1000)
    with pytest.raises(DataError, match="min_count: the vectors have no counts of words"):
        difference(first, vectors_of(WORDS, np.ones((60, 4))), min_count=2)
