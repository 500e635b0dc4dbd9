"""block-nce and block-neg: a naive loop in float64, nce and neg for the same draws, and expectations over all draws."""

import itertools
from functools import partial

import numpy as np
import pytest
from reference import (
    COUNTS,
    begun,
    check_same_step,
    check_step,
    draws_of,
    hidden_vectors,
    problem_of,
    sigmoid,
    softplus,
)
from reference import objective_of as built

from w2vtrain import objectives
from w2vtrain.objectives import block_neg as shared_noise
from w2vtrain.objectives.contract import Candidates, Window
from w2vtrain.probability.dense import Workspace
from w2vtrain.probability.noise import alias_probabilities, noise_distribution

TARGETS = np.array([0, 3, 3, 10, 1, 8], np.int32)
WIDTH = 6
NAMES = ("block-nce", "block-neg")
NAMED = pytest.mark.parametrize("name", NAMES)
hidden = partial(hidden_vectors, size=len(TARGETS), width=WIDTH)


def naive(name, output, H, targets, drawn, k, exponent):
    """Return loss, -dL/dH and -dL/d output of a block, from one example and one noise word at a time."""
    loss, dH, d_output = 0.0, np.zeros_like(H), np.zeros_like(output)
    q = COUNTS**exponent / (COUNTS**exponent).sum()
    for b, (h, w) in enumerate(zip(H, targets, strict=True)):
        noise = list(drawn) if name == "block-nce" else [v for v in drawn if v != w]
        shift = np.log(k * q) if name == "block-nce" else np.zeros(len(q))
        x = output @ h - shift
        loss += softplus(-x[w])
        pairs = [(w, 1 - sigmoid(x[w]))]
        for v in noise:
            loss += k / len(noise) * softplus(x[v])
            pairs.append((v, -k / len(noise) * sigmoid(x[v])))
        for v, g in pairs:
            dH[b] += g * output[v]
            d_output[v] += g * h
    return loss, dH, d_output


@NAMED
@pytest.mark.parametrize(("k", "exponent"), [(0, 1.0), (3, 0.5), (40, 0.75)])
def test_step_agrees_with_the_naive_loop(rng, name, k, exponent):
    objective, H = built(name, samples=6, negative=k, ns_exponent=exponent), hidden(rng)
    drawn = draws_of(objective)
    assert len(set(drawn)) < len(drawn), "the draws must contain a word twice, which counts twice"
    assert set(drawn) & set(TARGETS.tolist()), "the draws must hit a target"
    assert set(TARGETS.tolist()) - set(drawn), "the draws must miss another target"
    loss, dH, d_output = naive(name, objective.output, H, TARGETS, drawn, k or 6, exponent)
    check_step(objective, H, TARGETS, begun(), loss, dH, d_output)


@NAMED
def test_negative_0_stands_for_the_number_of_samples(rng, name):
    H = hidden(rng)
    check_same_step(built(name, samples=6, negative=0), built(name, samples=6, negative=6), H, TARGETS)
    losses = [built(name, samples=6, negative=k).step(H, TARGETS, 0.0, begun())[0] for k in (6, 7)]
    assert losses[0] != losses[1]


@NAMED
def test_one_example_with_as_many_samples_as_k_equals_the_window_objective(rng, name):
    """The coefficients are those of nce and neg for the same draws, none of which is the target."""
    k, size = 7, len(COUNTS)
    objective = built(name, samples=k, negative=k)
    other = objectives.objective_class(name.removeprefix("block-")).build(problem_of(COUNTS), negative=k)
    np.testing.assert_array_equal(objective.accept, other.accept)
    drawn = draws_of(objective)
    target = next(w for w in range(size) if w not in drawn)
    H = hidden(rng)[:1]
    rows = np.zeros(k + 17, np.int32)
    rows[: k + 1] = [target, *drawn]
    labels, shifts = np.zeros(k + 17, np.float32), np.zeros(k + 17, np.float32)
    labels[0] = 1
    if name == "block-nce":
        shifts = other.log_kq[rows]
    logits = np.zeros((1, k + 17), np.float32)
    logits[0, : k + 1] = objective.output[rows[: k + 1]] @ H[0]
    loss = other.errors(
        logits, Window(np.zeros(1, np.int32), 1, 0), Candidates(rows, labels, shifts, k + 1), np.float32(1)
    )
    expected = np.zeros_like(objective.output)
    np.add.at(expected, rows[: k + 1], np.outer(logits[0, : k + 1], H[0]))
    old = objective.output.copy()
    got, _ = objective.step(H, np.array([target], np.int32), 1.0, begun())
    assert got == pytest.approx(loss, rel=1e-6)
    np.testing.assert_allclose(objective.output - old, expected, atol=1e-6)


# Expectations, exactly: the mean over all sequences of draws, weighted by their probabilities.


def expected_noise_gradient(monkeypatch, name, H, target, samples, k):
    """Return the expectation of -dL/dH (B, width) of the noise term, over every sequence of draws, and Q."""
    counts = COUNTS[:3]
    objective = built(name, counts, samples=samples, negative=k)
    q = noise_distribution(counts, 1.0 if name == "block-nce" else 0.75)
    targets = np.full(len(H), target, np.int32)
    x = H @ objective.output[target] - objective.shift[target]
    own = np.outer(1 / (1 + np.exp(x)), objective.output[target])
    total = np.zeros_like(H)
    for drawn in itertools.product(range(3), repeat=samples):
        monkeypatch.setattr(shared_noise, "draw_words", lambda *_, drawn=drawn: _[-1].__setitem__(slice(None), drawn))
        total += np.prod(q[list(drawn)]) * (objective.step(H, targets, 0.0, begun())[1] - own)
    return total, q, objective


def test_expected_gradient_of_block_nce_does_not_depend_on_the_number_of_samples(rng, monkeypatch):
    H, k = hidden(rng)[:2], 5
    for samples in (1, 2, 4):
        found, q, objective = expected_noise_gradient(monkeypatch, "block-nce", H, 1, samples, k)
        weights = k * q / (1 + np.exp(-(H @ objective.output.T - np.log(k * q))))
        np.testing.assert_allclose(found, -weights @ objective.output, rtol=1e-10)


def test_expected_gradient_of_block_neg_is_that_of_draws_other_than_the_target(rng, monkeypatch):
    """If all draws hit the target, which has the probability Q(w)^S, an example has no noise term."""
    H, k, target = hidden(rng)[:2], 5, 1
    for samples in (1, 2, 4):
        found, q, objective = expected_noise_gradient(monkeypatch, "block-neg", H, target, samples, k)
        rest = np.where(np.arange(3) == target, 0, q) / (1 - q[target])
        weights = k * rest / (1 + np.exp(-(H @ objective.output.T)))
        np.testing.assert_allclose(found, -weights @ objective.output * (1 - q[target] ** samples), rtol=1e-10)


def test_gradient_of_block_nce_tends_to_that_of_the_softmax_as_samples_grow(rng):
    """For a normalized model: with many samples, the coefficients are [v = w] - P(v|h)."""
    h, target, distances = hidden(rng)[0], 3, []
    for samples in (10, 1000, 1_000_000):
        objective = built("block-nce", samples=samples, negative=0)
        objective.output[:, -1] -= np.log(np.exp(objective.output @ h).sum())
        p = np.exp(objective.output @ h)
        assert p.sum() == pytest.approx(1)
        old = objective.output.copy()
        objective.step(h[None], np.array([target], np.int32), 1.0, begun())
        coefficients = (objective.output - old) @ h / (h @ h)
        distances.append(np.abs(coefficients - (np.arange(len(p)) == target) + p).max())
    assert distances[2] < 0.003 < distances[1] < distances[0]


# Scores, draws and edge cases.


def test_block_nce_needs_no_normalization(rng):
    zero = problem_of(COUNTS, dim=WIDTH - 1, bias=True)
    nce, neg = (objectives.objective_class(name) for name in NAMES)
    assert not neg.build(zero).output.any()
    output, H = rng.normal(size=(len(COUNTS), WIDTH)), hidden(rng)
    raw = (H * output[TARGETS]).sum(axis=1)
    log_z = np.log(np.exp(H @ output.T).sum(axis=1))
    options = {name: objectives.option_defaults(name) for name in NAMES}
    np.testing.assert_allclose(nce.scorer(zero, options["block-nce"], output, {}).log_prob(H, TARGETS), raw)
    np.testing.assert_allclose(neg.scorer(zero, options["block-neg"], output, {}).log_prob(H, TARGETS), raw - log_z)
    objective = built("block-nce", samples=3)
    np.testing.assert_allclose(objective.log_prob(H, TARGETS), objective.raw(H, TARGETS))


@NAMED
def test_noise_words_follow_the_noise_distribution(name):
    objective, power = built(name), COUNTS ** (1.0 if name == "block-nce" else 0.75)
    found = alias_probabilities(objective.accept, objective.alias)
    np.testing.assert_allclose(found, power / power.sum(), atol=1e-8)


@NAMED
def test_noise_that_is_nearly_always_the_target_has_a_finite_loss(rng, name):
    objective, H = built(name, np.array([10**9, 1]), samples=4), hidden(rng)
    targets = np.array([0, 1, 0, 1, 0, 0], np.int32)
    assert draws_of(objective) == [0] * 4
    loss, dH = objective.step(H, targets, 0.1, begun())
    assert np.isfinite(loss)
    assert np.isfinite(dH).all()
    if name == "block-neg":
        x = H[0] @ built(name, np.array([10**9, 1]), samples=4).output[0]
        np.testing.assert_allclose(dH[0], (1 - sigmoid(x)) * built(name, np.array([10**9, 1])).output[0])


def test_a_count_of_0_is_taken_as_1():
    """A given vocabulary may count words as 0; the logarithm of Q must be finite."""
    objective = built("block-nce", np.array([5, 2, 0]), samples=3, negative=0)
    np.testing.assert_allclose(np.exp(objective.shift), 3 * np.array([5, 2, 1]) / 8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logistic_is_exact_where_exp_would_overflow(dtype):
    x = np.array([[-np.inf, -800.0, -30.0, -1.0, 0.0, 1.0, 30.0, 800.0]], dtype)
    expected = np.array(
        [[0, 0, np.log1p(np.exp(-30)), np.log1p(np.exp(-1)), np.log(2), 1 + np.log1p(np.exp(-1)), 30, 800]]
    )
    soft = shared_noise.logistic(x, Workspace())
    assert soft.dtype == x.dtype == dtype
    np.testing.assert_allclose(soft, expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(
        x, [[0, 0, *(1 / (1 + np.exp(-t)) for t in (-30.0, -1.0, 0.0, 1.0, 30.0)), 1]], rtol=1e-5
    )
