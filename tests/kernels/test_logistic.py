"""The logistic loss and its coefficients, compared with their definition; NaN, infinity and overflow."""

import math

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from w2vtrain.kernels.jit import kernel
from w2vtrain.kernels.logits import logistic_errors


@kernel()
def fast(logits, n, m, labels, shifts, lr):
    return logistic_errors(logits, n, m, labels, shifts, lr)


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
    in_python = g.astype(np.float64)
    loss = fast(g, len(g), m, labels, shifts, np.float32(0.1))
    python_loss = logistic_errors(in_python, len(g), m, labels, shifts, 0.1)
    np.testing.assert_allclose(g[:, :m], naive, atol=2e-7)
    np.testing.assert_allclose(in_python[:, :m], naive, atol=2e-6)
    assert loss == pytest.approx(naive_loss, rel=1e-5, abs=1e-5 * max(1, len(g)))
    assert python_loss == pytest.approx(naive_loss, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("m", [1, 6, 16, 17])
def test_nan_logit_makes_the_loss_nan(m):
    for cell in range(m):
        g = np.ones((2, m + 16), np.float32)
        g[1, cell] = math.nan
        zeros = np.zeros(m + 16, np.float32)
        assert math.isnan(fast(g, 2, m, zeros, zeros, np.float32(0.1)))


def test_infinite_logits_give_an_infinite_loss():
    g, zeros = np.zeros((1, 17), np.float32), np.zeros(17, np.float32)
    g[0, 0] = math.inf
    assert not math.isfinite(fast(g, 1, 1, zeros, zeros, np.float32(0.1)))


def test_many_rows_do_not_overflow_the_product_in_the_logarithm():
    g, zeros = np.zeros((120, 20), np.float32), np.zeros(20, np.float32)
    assert fast(g, 120, 4, zeros, zeros, np.float32(0.1)) == pytest.approx(480 * math.log(2), rel=1e-6)
