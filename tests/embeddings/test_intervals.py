"""Confidence intervals, compared with SciPy and with simulated data."""

import math

import numpy as np
import pytest
from scipy import stats

from w2vtrain.embeddings.intervals import fisher_interval, wilson_interval


def test_wilson_interval_equals_scipys():
    for correct, n in [(0, 10), (3, 10), (10, 10), (1, 1), (4321, 19_544)]:
        expected = stats.binomtest(correct, n).proportion_ci(method="wilson")
        assert wilson_interval(correct, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_fisher_interval_covers_the_true_value_95_percent_of_the_time():
    rng = np.random.default_rng(0)
    true, hits, rounds = 0.5, 0, 400
    truth = 6 / math.pi * math.asin(true / 2)  # Spearman's correlation of normal pairs
    for _ in range(rounds):
        x = rng.standard_normal((100, 2)) @ np.linalg.cholesky([[1, true], [true, 1]]).T
        low, high = fisher_interval(stats.spearmanr(x).statistic, 100)
        hits += low < truth < high
    assert 0.92 < hits / rounds < 0.98
    assert fisher_interval(0.5, 3) == (-1, 1)
    assert fisher_interval(1.0, 50)[1] <= 1
    assert fisher_interval(0.3, 353)[0] == pytest.approx(-fisher_interval(-0.3, 353)[1])
