"""Self-normalization on every example (selfnorm) and on a fraction of them (infrequent-norm)."""

import numpy as np
import pytest
from reference import COUNTS, begun, check_steps, hidden_vectors, problem_of
from scipy.special import logsumexp

from w2vtrain.leaves.compare.objective_steps import Block, gradients_of
from w2vtrain.objectives.infrequent_norm import InfrequentNorm
from w2vtrain.objectives.selfnorm import SelfNorm

VARIANTS = [
    (SelfNorm, {"penalty": 0.3}),
    (InfrequentNorm, {"gamma": 0.4, "penalty": 0.3}),
    (InfrequentNorm, {"gamma": 0.4, "penalty": 0.3, "likelihood": "full"}),
]


def problem(dtype=np.float64, **more):
    return problem_of(COUNTS, **{"dim": 5, "bias": True, "init": 0.6, "dtype": dtype, **more})


def block(rng, n=9, width=6, dtype=np.float64):
    return hidden_vectors(rng, n, width).astype(dtype), rng.integers(0, len(COUNTS), n).astype(np.int32)


def naive_step(output, H, targets, lr, slopes, full, bound):
    """Return loss, -dL/dH and the new output rows, computed one example at a time.

    slopes (B,): the slope of each example's penalty at log Z = 1. bound: slope log Z is clipped to ±bound if `full`,
    else to [0, 2 bound]. The penalty is integrated numerically; without clipping it is (slope / 2) log² Z.
    """
    low, high = (-bound, bound) if full else (0, 2 * bound)
    start, new, dH, loss = output.copy(), output.copy(), np.zeros_like(H), 0.0
    for b, (h, w) in enumerate(zip(H, targets, strict=True)):
        s = start @ h
        log_z = logsumexp(s)
        p = np.exp(s - log_z)
        t = (np.arange(200_000) + 0.5) / 200_000 * log_z
        loss += -s[w] + full * log_z + np.clip(slopes[b] * t, low, high).mean() * log_z
        g = -p * (full + min(max(slopes[b] * log_z, low), high))
        g[w] += 1
        dH[b] = g @ start
        new += lr * np.outer(g, h)
    return loss, dH, new


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_selfnorm_matches_the_reference_implementation(rng, dtype):
    objective = SelfNorm.build(problem(dtype), penalty=0.7)
    H, targets = block(rng, dtype=dtype)
    expected = naive_step(objective.output.astype(float), H.astype(float), targets, 0.1, np.full(9, 1.4), True, 1)
    loss, dH = objective.step(H, targets, 0.1, begun())
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    assert loss == pytest.approx(expected[0], rel=1e-5 if dtype == np.float32 else 1e-9)
    np.testing.assert_allclose(dH, expected[1], atol=tolerance)
    np.testing.assert_allclose(objective.output, expected[2], atol=tolerance)


@pytest.mark.parametrize("likelihood", ["full", "unnormalized"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_infrequent_norm_penalizes_exactly_one_subset_of_the_expected_size(rng, likelihood, dtype):
    """All subsets are tried: exactly one explains the loss, and it explains the gradients, too."""
    options = {"gamma": 0.4, "penalty": 0.7, "likelihood": likelihood}
    objective = InfrequentNorm.build(problem(dtype), **options)
    before = objective.output.astype(float)
    H, targets = block(rng, n=5, dtype=dtype)
    loss, dH = objective.step(H, targets, 0.1, begun())
    tolerance = 1e-5 if dtype == np.float32 else 1e-11
    found = []
    for bits in range(32):
        slopes = np.array([bits >> b & 1 for b in range(5)]) * (1.4 / 0.4)
        naive = naive_step(before, H.astype(float), targets, 0.1, slopes, likelihood == "full", 1 / 0.4)
        if loss == pytest.approx(naive[0], rel=1e-5 if dtype == np.float32 else 1e-9):
            found.append((bits, naive))
    assert len(found) == 1
    bits, (_, naive_dh, naive_output) = found[0]
    assert bin(bits).count("1") == 2
    np.testing.assert_allclose(dH, naive_dh, atol=tolerance)
    np.testing.assert_allclose(objective.output, naive_output, atol=tolerance)


def test_every_example_is_sampled_with_probability_gamma():
    """So the expected loss is that of a penalty on all examples, even if gamma B is not a whole number."""
    H, targets = block(np.random.default_rng(3), n=3)
    objective = InfrequentNorm.build(problem(), gamma=0.2, penalty=0.5, likelihood="full")
    assert (np.abs(logsumexp(H @ objective.output.T, axis=1)) > 0.1).all()
    unsampled = naive_step(objective.output, H, targets, 0.0, np.zeros(3), True, 1)[1]
    share, n = np.zeros(3), 4000
    for chunk in range(n):
        _, dH = objective.step(H, targets, 0.0, begun(chunk))
        share += (np.abs(dH - unsampled) > 1e-9).any(axis=1)
    np.testing.assert_allclose(share / n, 0.2, atol=5 * np.sqrt(0.16 / n))


def test_a_block_without_sampled_examples_changes_target_rows_only(rng):
    objective = InfrequentNorm.build(problem(), gamma=1e-6)
    before = objective.output.copy()
    H, _ = block(rng, n=4)
    targets = np.array([2, 2, 7, 0], np.int32)
    loss, dH = objective.step(H, targets, 0.1, begun())
    changed = np.flatnonzero((objective.output != before).any(axis=1))
    assert changed.tolist() == [0, 2, 7]
    np.testing.assert_allclose(objective.output[2] - before[2], 0.1 * (H[0] + H[1]), atol=1e-14)
    np.testing.assert_array_equal(dH, before[targets])
    assert loss == pytest.approx(-(H * before[targets]).sum())


@pytest.mark.parametrize("likelihood", ["full", "unnormalized"])
def test_log_z_starts_at_the_value_that_it_converges_to(likelihood):
    objective = InfrequentNorm.build(problem(init=0.0), penalty=0.2, likelihood=likelihood)
    given = {"penalty": 0.2, "likelihood": likelihood}
    H = np.eye(6)[[5]]
    _, log_z = InfrequentNorm.scorer(problem(), given, objective.output, {}).scores(H, np.zeros(1, np.int32))
    assert log_z[0] == pytest.approx(0, abs=1e-6)
    assert logsumexp(objective.output @ H[0]) == pytest.approx(2.5 * (likelihood != "full"), abs=1e-6)


@pytest.mark.parametrize(("cls", "options"), VARIANTS)
def test_the_penalty_on_log_z_is_linear_far_from_its_minimum(rng, cls, options):
    """Its slope no longer grows, in either direction, and finite differences agree."""
    H, targets = block(rng)
    learned = []
    for far in (-60.0, -30.0, 0.0, 30.0, 60.0):
        objective = cls.build(problem(), **options)
        objective.output[:, -1] += far
        check_steps(objective, H, targets)
        learned.append(gradients_of(objective, Block(H, targets, begun))[2]["output"])
    np.testing.assert_allclose(learned[0], learned[1], atol=1e-7)
    np.testing.assert_allclose(learned[3], learned[4], atol=1e-7)
    up, here, down = (g[:, -1].sum() for g in learned[1:4])
    assert up > here > down
    assert up > 0 > down
