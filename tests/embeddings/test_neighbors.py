"""Ranking of rows by cosine in blocks of bounded memory, and words of similar spelling."""

import numpy as np
import pytest

from w2vtrain.embeddings import neighbors
from w2vtrain.embeddings.neighbors import close_words, largest, nearest_rows, row_norms


@pytest.mark.parametrize("shape", [(1, 3), (70_000, 1), (3_000, 33)])
def test_norms_by_blocks_equal_those_of_the_whole_matrix_bit_for_bit(shape, rng):
    padded = rng.standard_normal((shape[0], shape[1] + 7)).astype(np.float32)
    matrix = padded[:, : shape[1]]
    np.testing.assert_array_equal(row_norms(matrix), np.linalg.norm(matrix, axis=1))


def test_largest_values_come_first_and_nan_last():
    assert largest(np.array([1, np.nan, 3, 2]), 2).tolist() == [2, 3]
    assert largest(np.array([1, np.nan, 3, 2]), 9).tolist() == [2, 3, 0, 1]


@pytest.mark.parametrize("count", [1, 12, 39, 40, 500])
@pytest.mark.parametrize("kind", ["distinct", "equal", "often NaN", "infinite", "equal beyond the last"])
def test_the_largest_of_many_values_are_those_of_a_partition_also_among_equal_ones(kind, count, rng):
    """gensim partitions, and answers with equal cosines have its order."""
    values = rng.permutation(10_137).astype(np.float32)
    if kind == "equal":
        values //= 7
    elif kind == "often NaN":
        values[rng.random(len(values)) < 0.5] = np.nan
    elif kind == "infinite":
        values[[5, 900, 10_130]] = np.inf, -np.inf, -np.inf
    elif kind == "equal beyond the last":
        values[values == np.sort(values)[-count - 1]] = np.sort(values)[-count]
    partition = np.argpartition(-values, count)[:count]
    assert largest(values, count).tolist() == partition[np.argsort(-values[partition])].tolist()


@pytest.mark.parametrize("cosines", [1, 50, 1 << 22])
def test_nearest_rows_do_not_depend_on_the_size_of_blocks(cosines, monkeypatch, rng):
    monkeypatch.setattr(neighbors, "COSINES_AT_ONCE", cosines)
    monkeypatch.setattr(neighbors, "QUERIES_AT_ONCE", 3)
    matrix = rng.standard_normal((40, 5)).astype(np.float32)
    matrix[7] = 0
    units = matrix[[1, 2, 3, 4]] / np.linalg.norm(matrix[[1, 2, 3, 4]], axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        exact = units @ matrix.T / np.linalg.norm(matrix, axis=1)
    found = list(nearest_rows(matrix, row_norms(matrix), units, 6))
    assert len(found) == 4
    for (rows, values), cosine in zip(found, exact, strict=True):
        order = np.argsort(np.where(np.isnan(cosine), -9, -cosine) * np.where(np.isnan(cosine), -1, 1))
        assert rows.tolist() == order[:6].tolist()
        np.testing.assert_allclose(values, cosine[rows], atol=1e-6)
    assert [len(rows) for rows, _ in nearest_rows(matrix, row_norms(matrix), units, 99)] == [39] * 4  # without row 7


def test_finding_similar_words_is_cheap_in_a_large_vocabulary(monkeypatch):
    """Only a limited number of words is compared letter by letter."""
    compared, compare = [], neighbors.difflib.get_close_matches

    def counted(word, possibilities, **more):
        compared.extend(possibilities)
        return compare(word, possibilities, **more)

    monkeypatch.setattr(neighbors.difflib, "get_close_matches", counted)
    assert close_words([f"word{i}" for i in range(300_000)], "wrod77")
    assert 0 < len(compared) <= 5_000
