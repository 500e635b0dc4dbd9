"""Vector operations on short arrays of indices, compared with their Python versions."""

import numpy as np
import pytest
from numba import int64

from w2vtrain.kernels import rows as indices
from w2vtrain.kernels.jit import kernel
from w2vtrain.kernels.rows import ROW

SIZES = pytest.mark.parametrize("n", [0, 1, 7, 8, 15, 16, 17, 40])
INT32 = np.iinfo(np.int32)


@pytest.fixture
def ids(rng):
    return indices.with_room(rng.integers(0, INT32.max, 50).astype(np.int32))


def guarded(dtype=np.int32):
    """Return an output array filled with -7, so that a test sees which elements were written."""
    return np.full(60 + ROW, -7, dtype)


def same_before(fast, slow, end):
    """Assert that both arrays agree up to `end`, and that nothing was written ROW - 1 or more elements after it."""
    np.testing.assert_array_equal(fast[:end], slow[:end])
    assert (fast[end + ROW - 1 :] == -7).all()


@SIZES
@pytest.mark.parametrize(("at", "first"), [(0, 0), (5, 3)])
def test_copy_indices_agrees_with_its_python_version(ids, n, at, first):
    @kernel()
    def call(to, at, source, first, n):
        indices.copy_indices(to, at, source, first, n)

    fast, slow = guarded(), guarded()
    call(fast, at, ids, first, n)
    indices.copy_indices(slow, at, ids, first, n)
    same_before(fast, slow, at + n)
    np.testing.assert_array_equal(slow[at : at + n], ids[first : first + n])


@SIZES
@pytest.mark.parametrize(("first", "size", "shift"), [(20, 10, 100), (0, 50, 7), (3, 0, 5), (49, 1, -49)])
def test_copy_shifted_shifts_only_indices_in_the_range(rng, n, first, size, shift):
    @kernel()
    def call(to, source, n, first, size, shift):
        indices.copy_shifted(to, source, n, int64(first), int64(size), int64(shift))

    source, fast, slow = indices.with_room(rng.permutation(50).astype(np.int32)), guarded(), guarded()
    call(fast, source, n, first, size, shift)
    indices.copy_shifted(slow, source, n, first, size, shift)
    same_before(fast, slow, n)
    inside = [first <= row < first + size for row in source[:n]]
    assert slow[:n].tolist() == [row + shift * yes for row, yes in zip(source[:n].tolist(), inside, strict=True)]


@SIZES
def test_unpack_indices_agrees_with_its_python_version(ids, n):
    @kernel()
    def call(halves, bits, packed, first, n):
        indices.unpack_indices(halves, bits, packed, first, n)

    fast, slow = (guarded(), guarded(np.float32)), (guarded(), guarded(np.float32))
    call(*fast, ids, 2, n)
    indices.unpack_indices(*slow, ids, 2, n)
    for mine, theirs in zip(fast, slow, strict=True):
        same_before(mine, theirs, n)
    np.testing.assert_array_equal(2 * slow[0][:n] + slow[1][:n].astype(np.int32), ids[2 : 2 + n])


def test_with_room_adds_spare_elements_that_the_view_does_not_include(ids):
    assert len(ids) == 50
    assert len(ids.base) == 50 + ROW
    assert ids.dtype == np.int32


@pytest.mark.parametrize("n", [0, 1, 2, 5, 8, 16, 17, 33, 40])
def test_has_repeats_finds_every_pair_of_equal_indices(rng, n):
    @kernel()
    def call(ids, n):
        return indices.has_repeats(ids, n)

    ids = np.zeros(n + ROW, np.int32)
    ids[:n] = rng.permutation(100)[:n]
    assert not call(ids, n)
    assert not indices.has_repeats(ids, n)
    for i in range(n):
        for j in range(i + 1, n):
            twice = ids.copy()
            twice[j] = twice[i]
            assert call(twice, n)
