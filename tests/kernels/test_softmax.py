"""The SIMD passes of softmax, compared with NumPy. probability/test_dense.py tests the whole softmax."""

import numpy as np
import pytest

from w2vtrain.kernels import logits as softmax
from w2vtrain.kernels.jit import kernel
from w2vtrain.kernels.llvm import LANES


@kernel()
def largest(logits, row, last):
    return softmax._largest(logits, row, last)


@kernel()
def exponentials(logits, row, first, last, top):
    return softmax._exp(logits, row, first, last, np.float32(top))


@pytest.mark.parametrize("strides", [0, 1, 3])
def test_largest_agrees_with_numpy_and_ignores_nan(rng, strides):
    logits = rng.normal(size=(2, 3 * softmax.STRIDE)).astype(np.float32)
    logits[1, 1] = np.nan
    for row in (0, 1):
        best = largest(logits, row, strides * softmax.STRIDE)
        assert best == softmax._largest(logits, row, strides * softmax.STRIDE)
        assert (best == -np.inf) == (strides == 0)


def test_exponentials_agree_with_numpy_and_keep_nan(rng):
    logits = (10 * rng.normal(size=(2, 6 * LANES))).astype(np.float32)
    logits[1, LANES : LANES + 3] = -500, np.nan, -60
    slow, top = logits.copy(), np.nanmax(logits)
    total = exponentials(logits, 1, LANES, 5 * LANES, top)
    expected = softmax._exp(slow, 1, LANES, 5 * LANES, top)
    np.testing.assert_allclose(logits, slow, rtol=1e-5)
    assert logits[1, LANES] == 0
    assert np.isnan([total, expected, logits[1, LANES + 1]]).all()
    logits[1, LANES + 1] = slow[1, LANES + 1] = 0
    total = exponentials(logits, 1, LANES, 5 * LANES, 1)
    assert total == pytest.approx(softmax._exp(slow, 1, LANES, 5 * LANES, 1), rel=1e-5)
