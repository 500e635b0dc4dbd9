"""Products and softmax over blocks, compared with NumPy and SciPy: the compiled float32 code and its NumPy fallback."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax, logsumexp

from w2vtrain.probability.dense import RowScorer, Workspace, add_product, log_sum_exp, softmax, softmax_errors

WIDTHS = [1, 5, 15, 16, 17, 63, 64, 65, 130, 4096, 9001]


def product_case(rng, dtype, view):
    """Return out (n, w), a (B, n), b (B, w); with `view`, each is part of a larger array whose rest must not change."""
    shapes = [(7, 5), (3, 7), (3, 5)]
    if not view:
        return [rng.normal(size=shape).astype(dtype) for shape in shapes]
    wide = [rng.normal(size=(r + 2, c + 4)).astype(dtype) for r, c in shapes]
    return [w[1:-1, 2:-2] for w in wide]


@pytest.mark.parametrize("view", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_add_product_adds_to_the_existing_values(rng, dtype, view):
    out, a, b = product_case(rng, dtype, view)
    whole = out.base.copy() if view else None
    expected = out + 0.25 * (a.T @ b)
    add_product(out, a, b, 0.25)
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)
    if view:
        whole[1:-1, 2:-2] = out
        np.testing.assert_array_equal(out.base, whole)


def test_add_product_accepts_arrays_with_noncontiguous_rows(rng):
    out, a, b = np.zeros((5, 7), np.float32).T, *(rng.normal(size=(3, n)).astype(np.float32) for n in (7, 5))
    add_product(out, a, b, -1.0)
    np.testing.assert_allclose(out, -a.T @ b, rtol=1e-5)


@pytest.mark.parametrize("shape", [(0, 2, 2), (2, 0, 2), (2, 2, 0)])
def test_add_product_of_empty_arrays_changes_nothing(shape):
    n, w, B = shape
    out = np.ones((n, w), np.float32)
    add_product(out, np.ones((B, n), np.float32), np.ones((B, w), np.float32), 1.0)
    assert (out == 1).all()


@pytest.mark.parametrize("n", WIDTHS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_softmax_and_log_normalizer_agree_with_scipy(rng, dtype, n):
    logits = (rng.normal(size=(4, n)) * [[0.1], [1], [10], [60]] + 200).astype(dtype)
    wide, tolerance = logits.astype(np.float64), 5e-7 if dtype == np.float32 else 1e-14
    p, other = logits.copy(), logits.copy()
    log_z, again = softmax(p), log_sum_exp(other)
    assert p.dtype == log_z.dtype == again.dtype == dtype
    np.testing.assert_allclose(log_z, logsumexp(wide, axis=1), rtol=tolerance)
    np.testing.assert_allclose(again, log_z, rtol=tolerance)
    np.testing.assert_allclose(p, np.exp(log_softmax(wide, axis=1)), rtol=10 * tolerance, atol=1e-29)


@given(st.lists(st.floats(-90, 90, width=32), min_size=2, max_size=90), st.integers(0, 89))
def test_compiled_softmax_errors_agree_with_numpy(values, target):
    logits = np.asarray([values, values[::-1]], np.float32)
    targets, slope = np.array([target % len(values), 0], np.int32), np.array([0.2, -0.1], np.float32)
    wide = logits.astype(np.float64)
    expected = wide.copy()
    a, b = softmax_errors(logits, targets, slope), softmax_errors(expected, targets, slope)
    np.testing.assert_allclose(a[0], b[0], rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(a[1], b[1])
    np.testing.assert_allclose(logits, expected, rtol=1e-5, atol=2e-5)
    naive = -(1 + slope * logsumexp(wide, axis=1))[:, None] * np.exp(log_softmax(wide, axis=1))
    naive[[0, 1], targets] += 1
    np.testing.assert_allclose(expected, naive, atol=1e-12)


def test_softmax_errors_sum_to_zero_and_ignore_a_constant_added_to_logits(rng):
    logits, targets = rng.normal(size=(5, 101)), np.arange(5)
    moved = logits + 30
    log_z, hit = softmax_errors(logits, targets)
    log_z_moved, hit_moved = softmax_errors(moved, targets)
    np.testing.assert_allclose(logits.sum(axis=1), 0, atol=1e-13)
    np.testing.assert_allclose(moved, logits, atol=1e-13)
    np.testing.assert_allclose(log_z_moved - hit_moved, log_z - hit)


def test_softmax_of_two_classes_is_the_logistic_function(rng):
    s = rng.normal(size=9) * 3
    p = np.stack([s, np.zeros(9)], axis=1)
    softmax(p)
    np.testing.assert_allclose(p[:, 0], 1 / (1 + np.exp(-s)))


@pytest.mark.parametrize("n", [3, 16, 70, 200])
def test_nan_and_infinity_give_nan_and_minus_infinity_gives_probability_zero(n):
    for cell in range(n):
        for bad in (math.nan, math.inf):
            logits = np.ones((2, n), np.float32)
            logits[0, cell] = bad
            log_z = log_sum_exp(logits.copy())
            assert math.isnan(softmax(logits)[0])
            assert np.isnan(logits[0]).all()
            assert math.isnan(log_z[0])
            assert log_z[1] == pytest.approx(1 + math.log(n))
            np.testing.assert_allclose(logits[1], 1 / n, rtol=1e-6)
        logits = np.ones((1, n), np.float32)
        logits[0, cell] = -math.inf
        assert softmax(logits)[0] == pytest.approx(1 + math.log(n - 1))
        assert logits[0, cell] == 0


def test_softmax_of_a_view_changes_nothing_outside_the_view(rng):
    whole = rng.normal(size=(3, 40)).astype(np.float32)
    before, part = whole.copy(), whole[:, 3:20]
    softmax(part)
    np.testing.assert_allclose(part.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(whole[:, 20:], before[:, 20:])


def test_softmax_gives_no_denormal_numbers():
    logits = -np.arange(200, dtype=np.float32)[None] * 1.5
    softmax(logits)
    assert not ((logits > 0) & (logits < np.finfo(np.float32).tiny)).any()
    assert (logits == 0).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_row_scorer_agrees_with_scipy_for_any_block_size(rng, dtype, monkeypatch):
    output, H = rng.normal(size=(11, 6)).astype(dtype), rng.normal(size=(5, 6)).astype(dtype)
    targets = np.array([0, 3, 10, 3, 1], np.int32)
    expected = log_softmax(H.astype(np.float64) @ output.T.astype(np.float64), axis=1)
    scorer = RowScorer(output)
    for logits in (1 << 22, 22, 1):
        monkeypatch.setattr("w2vtrain.probability.dense.LOGITS_AT_ONCE", logits)
        s, log_z = scorer.scores(H, targets)
        np.testing.assert_allclose(s - log_z, expected[np.arange(5), targets], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(s, (H * output[targets]).sum(axis=1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(scorer.log_probs(H), expected, rtol=1e-5, atol=2e-6)
    np.testing.assert_array_equal(scorer.log_prob(H, targets), s - log_z)
    np.testing.assert_array_equal(RowScorer(output, normalized=False).log_prob(H, targets), s)


def test_workspace_reuses_memory_and_repeats_the_draws_of_a_chunk():
    work = Workspace()
    first = work.array("a", (4, 5))
    assert np.shares_memory(first, work.array("a", (3, 2)))
    assert not np.shares_memory(first, work.array("b", (3, 2)))
    assert work.array("a", (40, 5)).shape == (40, 5)
    assert work.array("a", (2, 2), np.float64).dtype == np.float64
    work.begin(1, 2, 3)
    draws = work.rng.random(3)
    work.begin(1, 2, 3)
    np.testing.assert_array_equal(work.rng.random(3), draws)
    work.begin(1, 2, 4)
    assert work.chunk == 4
    assert (work.rng.random(3) != draws).all()
