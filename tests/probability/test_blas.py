"""Matrix products run in the calling thread only."""

from contextlib import ExitStack

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from w2vtrain.probability.dense import one_thread


def threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_one_thread_limits_the_blas_of_numpy_and_scipy_and_restores_it():
    np.dot(np.eye(3), np.eye(3))
    with one_thread():
        inside = threads()
    before = threads()
    assert set(inside) == {1}
    assert len(inside) >= 1
    with ExitStack() as second:
        with one_thread():  # overlapping, as in two threads of a program
            second.enter_context(one_thread())
        assert set(threads()) == {1}
    assert threads() == before
    with pytest.raises(KeyError), one_thread():
        {}["an error inside"]
    assert threads() == before
