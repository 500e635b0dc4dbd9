"""The limits of the machine, and the work that training needs, compared with counts by hand."""

from dataclasses import replace

import numpy as np
import pytest
from limits import (
    CHAINS,
    change_rows,
    measure_limits,
    multiply_adds,
    needed,
    operations,
    path_length,
    row_bytes,
    rows_fetched,
    triad,
)
from reference import huffman_lengths

from w2vtrain.kernels.llvm import LANES
from w2vtrain.kernels.rows import padded_rows
from w2vtrain.leaves.compare.systems import Job


def test_measured_limits_count_the_work_that_is_done(monkeypatch):
    assert multiply_adds(3, 0.5) == pytest.approx(multiply_adds(0, 0.5)), "1 = 0.5 * 1 + 0.5"
    assert multiply_adds(2, 2.0) == pytest.approx(10 * multiply_adds(0, 2.0)), "1 -> 4 -> 10"
    a, b, c = (np.full(9, x, np.float32) for x in (0, 1, 2))
    triad(a, b, c, 3.0)
    np.testing.assert_array_equal(a, 7)
    matrix = padded_rows(20, 16)
    change_rows(matrix, np.array([3, 19, 3]), np.ones((1, 16), np.float32))
    assert matrix.sum(axis=1).tolist() == [16.0 * k for k in [0, 0, 0, 1, *[0] * 15, 0.5]]
    monkeypatch.setattr("limits.fastest", lambda act: (act(), 0.5)[1])
    found = measure_limits(1000, 32)
    assert found.flops == 2 * (2 * LANES * CHAINS << 22), "operations per second"
    assert (found.triad, found.rows) == (2 * (3 * 4 << 24), 2 * (2 * 1000 * 32 * 4)), "bytes per second"


def test_operations_match_a_count_by_hand():
    """A multiply-add counts as two operations; each candidate needs a product and an update of each of two rows."""
    assert operations(32, 6, 0) == 6 * 3 * 32 * 2
    assert operations(25, 6, 0) == operations(32, 6, 0), "rows are padded"
    assert operations(32, 6, 4) == (6 * 3 + 4 * 2) * 32 * 2, "CBOW also sums and updates its context rows"


def test_path_length_is_weighted_by_the_words_left_by_subsampling():
    counts = np.array([900, 50, 30, 20])
    lengths = np.array(huffman_lengths(counts))
    assert path_length(counts, 0.0) == pytest.approx((lengths * counts).sum() / 1000)
    assert path_length(counts, 0.001) > path_length(counts, 0.0)


@pytest.fixture
def three_cached(monkeypatch):
    monkeypatch.setattr("limits.CACHED_NODES", 3)


COUNTS = np.array([8, 4, 2, 1, 1])
"""Paths of 1, 2, 3, 4 and 4 nodes, of which the three nearest the root are in all but the last two."""


def test_rows_fetched_match_a_count_by_hand(three_cached):
    """Two of 16 tokens are words beyond the three most frequent, and only their paths have a fourth node."""
    noise = np.array([0.4, 0.3, 0.2, 0.05, 0.05])
    assert rows_fetched(COUNTS, 0.0, 800, noise, 70) == pytest.approx(800 * 2 * 2 / 16 + 70 * 0.1)
    assert path_length(COUNTS, 0.0) == pytest.approx((8 + 2 * 4 + 3 * 2 + 4 + 4) / 16)
    assert path_length(COUNTS, 0.0, 3) == pytest.approx(2 / 16)
    assert rows_fetched(COUNTS, 0.0, 800, None, 0) == pytest.approx(800 * (2 + 2) / 16)
    assert rows_fetched(COUNTS, 0.1, 800, None, 0) > rows_fetched(COUNTS, 0.0, 800, None, 0), "of rare words, more stay"


def test_a_changed_row_is_read_and_written():
    assert row_bytes(25, 10) == 10 * 32 * 4 * 2


def test_what_training_needs_matches_a_count_by_hand(three_cached, monkeypatch):
    """A skip-gram window has six examples, one per context word."""
    job = Job("w2vtrain", "skipgram", "nce", "corpus", sample=0.0, vector_size=16, epochs=2)
    counts = 1000 * COUNTS
    found = needed(job, counts, 600)
    assert found["operations"] == 600 * operations(16, 6, 0)
    assert found["row_bytes"] == pytest.approx(row_bytes(16, 100 * 2 * 2 / 16 + 100 * 5 * 2 / 16)), "no pool"
    monkeypatch.setattr("limits.pool_size", lambda *_: 8)
    pools = 2 * 16  # one of 8 words per chunk of 1,000 words in each epoch
    assert needed(job, counts, 600)["row_bytes"] == pytest.approx(row_bytes(16, 100 * 2 * 2 / 16 + pools * 8 * 2 / 16))
    assert needed(replace(job, architecture="cbow"), counts, 100)["operations"] == 100 * operations(16, 6, 6)
    hs = needed(replace(job, objective="hs"), counts, 600)
    assert hs["row_bytes"] == pytest.approx(row_bytes(16, 100 * (2 + 2) / 16))
    assert needed(replace(job, objective="softmax"), counts, 600) == {}
