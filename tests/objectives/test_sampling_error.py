"""How far each sampling objective is from the softmax's gradient, beside words drawn from the model itself.

Figures are compared with their expected values from theory, within 5 standard errors of the mean over the rounds.
"""

from functools import cache

import numpy as np
import pytest
from monte_carlo import deviations, drawn_from_p, error_of_weighting, estimates, exact, least_error, squared_error
from reference import problem_of
from scipy.special import softmax

from w2vtrain import objectives

SIZE, M, ROUNDS, TARGET, PREVIOUS = 50, 400, 3000, 3, 1
RANKS = np.arange(SIZE)
COUNTS = (2000 / (RANKS + 3)).astype(int)
SCORES = 0.8 * np.log(COUNTS) + np.random.default_rng(2).normal(size=SIZE) * 0.6
P = softmax(SCORES)
# Every second word follows the word PREVIOUS, in proportion to its share of P.
FOLLOWERS = np.where(RANKS % 2, np.ceil(600 * P), 0).astype(int)
TOKENS = np.concatenate([[PREVIOUS, v, -1] for v in np.repeat(RANKS, FOLLOWERS)]).astype(np.int32)
UNIGRAM = COUNTS / COUNTS.sum()
KNOWN = FOLLOWERS.sum() / (FOLLOWERS.sum() + 5 * (FOLLOWERS > 0).sum())


def mixed(share):
    return share * FOLLOWERS / FOLLOWERS.sum() + (1 - share) * UNIGRAM


PROPOSALS = {
    "unigram": UNIGRAM,
    "bigram": mixed(KNOWN),
    "log-uniform": np.log((RANKS + 2) / (RANKS + 1)) / np.log(SIZE + 1),
    "uniform": np.full(SIZE, 1 / SIZE),
}
CASES = [pytest.param("is", {"proposal": name}, q, id=name) for name, q in PROPOSALS.items()]
CASES.append(pytest.param("adaptive-is", {}, mixed(0.5), id="adaptive-is"))


@cache
def found_by(name, m, rounds=ROUNDS, **options):
    """Return the coefficients that an objective estimates with m draws, (rounds, V)."""
    problem = problem_of(COUNTS, dim=SIZE, dtype=np.float64, tokens=TOKENS)
    fixed = {"ess": 0.0, "cap": m} if name.endswith("is") else {}
    objective = objectives.objective_class(name).build(problem, samples=m, **fixed, **options)
    own = name == "adaptive-is" or options.get("proposal") == "bigram"
    return estimates(objective, SCORES, TARGET, rounds, 500 if own else 1, PREVIOUS)


def test_words_drawn_from_the_model_give_an_unbiased_gradient_of_known_variance():
    found = drawn_from_p(P, TARGET, M, ROUNDS)
    assert deviations(found, exact(P, TARGET)).max() < 5
    error, doubt = squared_error(found, exact(P, TARGET))
    assert abs(error - (P * (1 - P)).sum() / M) < 5 * doubt
    variance = P * (1 - P) / M
    assert (np.abs(found.var(axis=0) / variance - 1) < 5 * np.sqrt((2 + 1 / (M * P)) / ROUNDS)).all()


def test_importance_sampling_from_the_model_attains_the_error_of_words_drawn_from_it():
    """If Q is P, all weights are equal: no bias, and the same squared error."""
    problem = problem_of(COUNTS, dim=SIZE, dtype=np.float64)
    objective = objectives.objective_class("is").build(problem, samples=M, ess=0.0, cap=M)
    found = estimates(objective, np.log(COUNTS), TARGET, ROUNDS)
    assert deviations(found, exact(UNIGRAM, TARGET)).max() < 5
    error, doubt = squared_error(found, exact(UNIGRAM, TARGET))
    other, other_doubt = squared_error(drawn_from_p(UNIGRAM, TARGET, M, ROUNDS), exact(UNIGRAM, TARGET))
    assert abs(error - other) < 5 * np.hypot(doubt, other_doubt)


@pytest.mark.parametrize(("name", "options", "q"), CASES)
def test_bias_and_error_of_importance_sampling_are_those_of_theory(name, options, q):
    assert q.sum() == pytest.approx(1)
    assert (q > 0).all()
    found = found_by(name, M, **options)
    bias, expected = error_of_weighting(P, q, M)
    assert deviations(found, exact(P, TARGET) + bias).max() < 5
    error, doubt = squared_error(found, exact(P, TARGET))
    assert abs(error - expected) < 5 * doubt + 0.05 * expected  # the terms of order 1/m² are left out
    assert error > least_error(P, M) - 5 * doubt


def test_the_bias_of_importance_sampling_is_that_of_theory_and_falls_with_the_number_of_draws():
    """Its component along the bias that theory gives is 1 with many draws; with few, terms of order 1/m² matter."""
    sizes = []
    for m in (2, 8, 32):
        found = found_by("is", m, 2 * ROUNDS, proposal="uniform")
        bias, _ = error_of_weighting(P, PROPOSALS["uniform"], m)
        along = (found - exact(P, TARGET)) @ bias / (bias @ bias)
        doubt = along.std() / np.sqrt(len(along))
        sizes.append(along.mean() * np.linalg.norm(bias))
    assert abs(along.mean() - 1) < 5 * doubt + 0.05
    assert 6 * doubt < 1, "no bias at all must be told from this one"
    assert sizes[0] > 2 * sizes[1] > 4 * sizes[2]


def test_the_bias_of_sampled_softmax_falls_to_nothing_as_the_draws_cover_the_vocabulary():
    sizes = []
    for m in (16, 64, 256, 20_000):
        found = found_by("sampled-softmax", m, 300 if m > 256 else ROUNDS, ns_exponent=0.5)
        sizes.append(np.abs(found.mean(axis=0) - exact(P, TARGET)).sum())
    assert sizes[0] > 2 * sizes[1] > 4 * sizes[2]
    assert np.abs(found - exact(P, TARGET)).max() < 1e-9
