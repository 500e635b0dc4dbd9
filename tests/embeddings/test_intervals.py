"""Confidence intervals, compared with SciPy and with simulated data."""

import math

import numpy as np
import pytest
from scipy import stats

from w2vtrain.embeddings.intervals import clustered_interval, fisher_interval, pair_jackknife, wilson_interval


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


def combined(m):
    """Return the questions that combine m word pairs, each with each other in both orders, (m (m - 1), 2)."""
    return np.argwhere(~np.eye(m, dtype=bool))


@pytest.mark.parametrize(("m", "spread", "mean"), [(20, 0.0, 0.0), (20, 0.3, -1.5), (20, 1.0, 0.0), (40, 1.0, -1.5)])
def test_the_interval_of_questions_that_share_pairs_covers_the_true_accuracy(m, spread, mean):
    """A question is answered with probability Phi(location + the effects of its two pairs), which are normal."""
    rng, pairs, rounds = np.random.default_rng(0), combined(m), 400
    truth, location = stats.norm.cdf(mean), mean * math.sqrt(1 + 2 * spread**2)
    hits = too_narrow = 0
    for _ in range(rounds):
        effects = rng.normal(0, spread, m)
        correct = rng.random(len(pairs)) < stats.norm.cdf(location + effects[pairs].sum(axis=1))
        count = int(correct.sum())
        low, high = clustered_interval(count, len(pairs), pair_jackknife(correct, pairs))
        hits += low <= truth <= high
        low, high = wilson_interval(count, len(pairs))
        too_narrow += not low <= truth <= high
    assert hits / rounds > 0.93
    assert spread < 1 or too_narrow / rounds > 0.4


@pytest.mark.parametrize(("shared", "own", "excess"), [(1, 0, 1.05), (0.5, 1, 1.4), (0, 1, 1.5)])
def test_the_variance_is_right_for_effects_of_pairs_and_not_too_small_for_those_of_combinations(shared, own, excess):
    """The variance of a sum is defined for answers of any size, so that effects can be added."""
    rng, m = np.random.default_rng(0), 12
    pairs = np.argwhere(np.tri(m, k=-1, dtype=bool))
    answers = shared * rng.normal(0, 1, (4000, m))[:, pairs].sum(axis=2) + own * rng.normal(0, 1, (4000, len(pairs)))
    found = np.mean([pair_jackknife(answer, pairs).variance for answer in answers])
    assert 0.95 < found / (len(pairs) ** 2 * (4 * shared**2 / m + own**2 / len(pairs))) < excess


def test_the_jackknife_leaves_out_one_pair_at_a_time():
    rng = np.random.default_rng(1)
    pairs = rng.integers(0, 7, (40, 2)) * 10 + 3  # some combine a pair with itself
    correct = rng.random(40) < 0.4
    variance = 0.0
    for pair in np.unique(pairs):
        kept = ~(pairs == pair).any(axis=1)
        variance += (correct[kept].mean() - correct.mean()) ** 2
    combinations = {frozenset(pair) for pair in pairs.tolist()}
    for combination in combinations:
        own = [frozenset(pair) == combination for pair in pairs.tolist()]
        variance -= ((correct[own] - correct.mean()).sum() / 40) ** 2
    found = pair_jackknife(correct, pairs)
    assert found == (7, len(combinations), pytest.approx(variance * 40**2))


def test_independent_questions_have_wilsons_interval():
    pairs = np.arange(200).reshape(-1, 2)
    correct = np.arange(100) % 4 == 0
    low, high = clustered_interval(25, 100, pair_jackknife(correct, pairs))
    assert (low, high) == pytest.approx(wilson_interval(25, 100), abs=0.003)


@pytest.mark.parametrize("m", [3, 5, 40])
def test_no_or_all_correct_answers_have_the_interval_for_as_many_questions_as_pairs(m):
    pairs = combined(m)
    none = np.zeros(len(pairs), bool)
    assert clustered_interval(0, len(pairs), pair_jackknife(none, pairs)) == pytest.approx(wilson_interval(0, m))
    assert clustered_interval(len(pairs), len(pairs), pair_jackknife(~none, pairs)) == pytest.approx(
        wilson_interval(m, m)
    )
    one = none.copy()
    one[0] = True
    low, high = clustered_interval(1, len(pairs), pair_jackknife(one, pairs))
    assert low < 1 / len(pairs) < high
    assert high >= wilson_interval(0, m)[1], "one correct answer of many is no better known than none"


@pytest.mark.parametrize("pairs", [[[0, 1]], [[0, 0]], [[0, 1], [1, 0]], [[0, 1], [0, 2]]])
def test_few_questions_have_a_wide_interval(pairs):
    for answers in ([False, True], [True, True]):
        correct = np.array(answers[-len(pairs) :])
        low, high = clustered_interval(int(correct.sum()), len(correct), pair_jackknife(correct, np.array(pairs)))
        assert 0 <= low <= correct.mean() <= high <= 1
        assert high - low > 0.5
