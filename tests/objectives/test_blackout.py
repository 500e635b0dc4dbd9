"""BlackOut, compared with the paper's formulas written out for one example and one draw at a time in float64."""

from functools import partial

import numpy as np
import pytest
from monte_carlo import estimates
from reference import COUNTS, begun, draws_of, hidden_vectors, objective_of, problem_of, slopes, softplus

from w2vtrain import objectives
from w2vtrain.probability.noise import alias_probabilities

TARGETS = np.array([0, 3, 3, 10, 1, 8], np.int32)
WIDTH = 6
built = partial(objective_of, "blackout")
hidden = partial(hidden_vectors, size=len(TARGETS), width=WIDTH)


def example(scores, target, drawn, q):
    """Return the loss and the coefficients (V,) of one example, by the formulas of the paper, Section 2.

    drawn: all draws, in which words may repeat; those that are the target do not count.
    """
    others = [v for v in drawn if v != target]
    weights = np.array([1 / q[v] * np.exp(scores[v]) for v in [target, *others]])
    own, p = weights[0] / weights.sum(), weights[1:] / weights.sum()
    loss = -(np.log(own) + np.log(1 - p).sum())
    g, odds = np.zeros(len(scores)), (p / (1 - p)).sum()
    g[target] = 1 - (1 - odds) * own
    for v, share in zip(others, p, strict=True):
        g[v] -= (1 / (1 - share) + 1 - odds) * share
    return loss, g


def naive(output, H, targets, drawn, exponent):
    """Return the loss of a block and its coefficients (B, V)."""
    q = COUNTS**exponent / (COUNTS**exponent).sum()
    found = [example(output @ h, target, drawn, q) for h, target in zip(H, targets, strict=True)]
    return sum(loss for loss, _ in found), np.array([g for _, g in found])


@pytest.mark.parametrize("exponent", [0.4, 1.0])
def test_step_matches_the_formulas_of_the_paper(rng, exponent):
    objective, H = built(samples=7, ns_exponent=exponent), hidden(rng)
    drawn, old = draws_of(objective), objective.output.copy()
    assert len(set(drawn)) < len(drawn), "the draws must contain a word twice, which counts twice"
    assert set(drawn) & set(TARGETS.tolist()), "the draws must contain a target"
    assert set(TARGETS.tolist()) - set(drawn), "the draws must miss another target"
    loss, g = naive(old, H, TARGETS, drawn, exponent)
    by_differences = slopes(lambda: naive(old, H, TARGETS, drawn, exponent)[0], H)
    np.testing.assert_allclose(g @ old, -by_differences, atol=1e-7, err_msg="the paper's gradient is that of its loss")
    got, dH = objective.step(H, TARGETS, 0.01, begun())
    assert got == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(dH, g @ old, atol=1e-12)
    np.testing.assert_allclose(objective.output - old, 0.01 * g.T @ H, atol=1e-14)


def test_one_draw_is_twice_the_logistic_loss_of_the_difference(rng):
    """p_w + p_i = 1, so both terms are log σ(x_w - x_i), where x = s - log Q. A draw of the target has no loss."""
    objective, H = built(samples=1, ns_exponent=0.5), hidden(rng)
    (word,) = draws_of(objective)
    targets = np.array([word, *(v for v in range(len(COUNTS)) if v != word)][: len(H)], np.int32)
    x = H @ objective.output.T - np.log(COUNTS**0.5 / (COUNTS**0.5).sum())
    expected = sum(2 * softplus(x[b, word] - x[b, w]) for b, w in enumerate(targets) if w != word)
    loss, dH = objective.step(H, targets, 0.0, begun())
    assert loss == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(dH[0], 0, atol=1e-14)


def test_very_many_draws_learn_from_the_odds_rather_than_the_probability():
    """No draw is the target, so L tends to log Σ_{v≠w} exp(s_v) - s_w + const: g_v = -P(v) / (1 - P(w)), v ≠ w."""
    size = len(COUNTS)
    objective = objectives.objective_class("blackout").build(
        problem_of(COUNTS, dim=size, dtype=np.float64), samples=1_000_000, ns_exponent=0.5
    )
    scores, target = np.random.default_rng(1).normal(size=size), 2
    (g,) = estimates(objective, scores, target, 1)
    p = np.exp(scores) / np.exp(scores).sum()
    expected = np.where(np.arange(size) == target, 1, -p / (1 - p[target]))
    np.testing.assert_allclose(g, expected, atol=5e-3)


@pytest.mark.parametrize(("dtype", "ahead"), [(np.float64, 32.0), (np.float32, 14.0), (np.float32, 32.0)])
def test_the_gradient_is_exact_where_a_drawn_word_has_nearly_all_of_the_probability(dtype, ahead):
    """1 - p of that word must not be computed as a difference, which would lose all digits."""
    objective = objectives.objective_class("blackout").build(
        problem_of(COUNTS, dim=len(COUNTS), dtype=dtype), samples=7, ns_exponent=0.4
    )
    drawn = draws_of(objective)
    once = next(v for v in drawn if drawn.count(v) == 1)
    target = next(v for v in range(len(COUNTS)) if v not in drawn)
    scores = np.random.default_rng(3).normal(size=len(COUNTS)).astype(dtype)
    scores[once] += ahead
    (g,) = estimates(objective, scores, target, 1)
    q = COUNTS**0.4 / (COUNTS**0.4).sum()
    loss, expected = example(scores.astype(np.longdouble), target, drawn, q.astype(np.longdouble))
    np.testing.assert_allclose(g, expected.astype(float), atol=1e-5)
    work = begun(previous=np.zeros(1, np.int32))
    got, _ = objective.step(scores[None], np.array([target], np.int32), 0.0, work)
    assert got == pytest.approx(float(loss), rel=1e-5)


@pytest.mark.parametrize("ahead", [80.0, 1e4])
def test_coefficients_are_bounded_and_the_loss_is_finite_however_far_a_word_is_ahead(ahead):
    objective = objectives.objective_class("blackout").build(problem_of(COUNTS, dim=len(COUNTS)), samples=7)
    scores = np.zeros(len(COUNTS), np.float32)
    drawn = draws_of(objective)
    scores[next(v for v in drawn if drawn.count(v) == 1)] = ahead
    for target in range(len(COUNTS)):
        (g,) = estimates(objective, scores, target, 1)
        assert np.abs(g).max() <= 2
        loss, _ = objective.step(scores[None], np.array([target], np.int32), 0.0, begun())
        assert 0 <= loss < 3 * max(ahead, 100)


def test_by_default_512_words_are_drawn_by_their_counts_to_the_power_of_0_4():
    objective = built()
    assert objective.samples == 512
    np.testing.assert_allclose(alias_probabilities(*objective.table), COUNTS**0.4 / (COUNTS**0.4).sum(), atol=1e-8)
