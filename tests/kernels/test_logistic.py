"""The logistic loss and its coefficients, compared with their definition; NaN, infinity and overflow."""

import math

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from w2vtrain.kernels.jit import kernel
from w2vtrain.kernels.logistic import logistic_errors, no_losses, take_losses
from w2vtrain.objectives.contract import Candidates


@kernel()
def fast(logits, candidates, lr, times):
    loss = 0.0
    for _ in range(times):
        loss += logistic_errors(logits, candidates, lr)
    return loss + take_losses(candidates.losses)


def candidates_of(labels, shifts, m):
    return Candidates(np.zeros(m, np.int32), labels, shifts, m, no_losses())


def block(values, m):
    g = np.zeros((len(values) // m, m + 16), np.float32)
    g[:, :m] = np.asarray(values[: len(g) * m]).reshape(-1, m)
    return g


@given(
    st.lists(st.floats(-200, 200, width=32), min_size=1, max_size=120),
    st.integers(1, 40),
    st.integers(0, 2**40),
    st.floats(-20, 20, width=32),
)
def test_logistic_errors_agree_with_the_definition(values, m, bits, shift):
    g = block(values, m)
    labels = np.array([bits >> j & 1 for j in range(m + 16)], np.float32)
    shifts = np.full(m + 16, shift, np.float32)
    naive_loss, naive = 0.0, np.zeros((len(g), m))
    for i in range(len(g)):
        for j in range(m):
            x, y = float(np.float32(g[i, j] - np.float32(shift))), float(labels[j])
            naive_loss += reference.softplus(x) - y * x
            naive[i, j] = 0.1 * (y - reference.sigmoid(x))
    twin = g.astype(np.float64)
    found = candidates_of(labels, shifts, m)
    loss = fast(g, found, np.float32(0.1), 1)
    twin_loss = logistic_errors(twin, found, 0.1)
    np.testing.assert_allclose(g[:, :m], naive, atol=2e-7)
    np.testing.assert_allclose(twin[:, :m], naive, atol=2e-6)
    assert loss == pytest.approx(naive_loss, rel=1e-5, abs=1e-5 * max(1, len(g)))
    assert twin_loss == pytest.approx(naive_loss, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("m", [1, 6, 16, 17])
def test_nan_logit_makes_the_loss_nan(m):
    for cell in range(m):
        g = np.ones((2, m + 16), np.float32)
        g[1, cell] = math.nan
        zeros = np.zeros(m + 16, np.float32)
        assert math.isnan(fast(g, candidates_of(zeros, zeros, m), np.float32(0.1), 1))


def test_infinite_logits_give_an_infinite_loss():
    g, zeros = np.zeros((1, 17), np.float32), np.zeros(17, np.float32)
    g[0, 0] = math.inf
    assert not math.isfinite(fast(g, candidates_of(zeros, zeros, 1), np.float32(0.1), 1))


@pytest.mark.parametrize("rows", [1, 5, 63, 120])
def test_many_rows_and_calls_do_not_overflow_the_product_in_the_logarithm(rows):
    """At a rate of 0, coefficients are 0, and so are the logits of the next call."""
    g, zeros = np.zeros((rows, 36), np.float32), np.zeros(36, np.float32)
    found = candidates_of(zeros, zeros, 20)
    assert fast(g, found, np.float32(0), 300) == pytest.approx(300 * rows * 20 * math.log(2), rel=1e-6)
    assert (found.losses == no_losses()).all()
