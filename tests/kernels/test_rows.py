"""Sums and updates of rows of any length and alignment, compared with reference implementations; aligned matrices."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from w2vtrain.engines.window_engine import Extent, make_scratch
from w2vtrain.kernels import rows
from w2vtrain.kernels.jit import kernel


@kernel()
def sum_rows(T, A, ai, n, scale):
    """Run the operation in a kernel."""
    rows.sum_rows(T, A, ai, n, np.float32(scale))


@pytest.mark.parametrize("dim", [1, 16, 70, 200, 300])
@pytest.mark.parametrize("n", [0, 1, 5, 9])
def test_sum_rows_and_add_to_rows_agree_with_numpy(rng, dim, n):
    A, B = rows.padded_rows(9, dim), rows.padded_rows(9, dim)
    A[:, :dim], B[:, :dim] = rng.normal(size=(9, dim)), rng.normal(size=(9, dim))
    ai = rng.permutation(9).astype(np.int32)
    ai[-1] = ai[0]  # a row listed twice counts twice
    T, before = np.full((1, A.shape[1]), 9, np.float32), A.copy()

    @kernel()
    def call(A, ai, n, T, B):
        rows.prefetch(A, 2)
        rows.sum_rows(T, A, ai, n, np.float32(0.25))
        rows.add_to_rows(A, ai, n, B, np.float32(0.5))

    call(A, ai, n, T, B)
    expected, total = before.copy(), np.empty_like(T)
    rows.sum_rows(total, before, ai, n, np.float32(0.25))
    rows.add_to_rows(expected, ai, n, B, np.float32(0.5))
    np.testing.assert_allclose(T, total, atol=1e-5)
    np.testing.assert_allclose(A, expected, atol=1e-5)
    np.testing.assert_allclose(total[0], 0.25 * sum((before[i] for i in ai[:n]), np.zeros(A.shape[1])), atol=1e-5)
    assert (before != A).any() == (n > 0)


def test_padded_rows_start_on_cache_lines():
    for dim in (1, 16, 100):
        m = rows.padded_rows(5, dim)
        assert m.shape == (5, -(-dim // 16) * 16)
        assert m.ctypes.data % 64 == 0
        assert m.flags.c_contiguous


def test_scratch_arrays_of_two_threads_share_no_cache_line():
    extent = Extent(5, 6, 100)
    scratches = [make_scratch(rows.padded_rows(9, 16), rows.padded_rows(11, 16), t, 2, extent) for t in (0, 1)]
    used = []
    for scratch in scratches:
        spans = [(a.ctypes.data, a.nbytes) for a in scratch if isinstance(a, np.ndarray)]
        used.append({line for start, size in spans for line in range(start // 128, (start + size - 1) // 128 + 1)})
    assert not used[0] & used[1]


GUARD = 7.0


def array_rows(count, d, offset):
    """Return an unpadded array (count, d) of NaN, whose first element is `offset` bytes after the start of a page."""
    raw = np.zeros(4096 + 64 + 4 * count * d, np.uint8)
    first = -raw.ctypes.data % 4096 + offset
    array = raw[first : first + 4 * count * d].view(np.float32).reshape(count, d)
    array[:] = np.nan
    return array


def padded_view(count, d, offset):
    """Return the first d columns of padded rows; the columns after them are NaN and must not be read."""
    wide = array_rows(count, -(-d // rows.ROW) * rows.ROW + rows.ROW * (d % 2), offset)
    return wide[:, :d]


@settings(deadline=None)
@given(
    make=st.sampled_from([array_rows, padded_view]),
    d=st.integers(1, 70),
    offset=st.integers(0, 15).map(lambda k: 4 * k) | st.integers(0, 63),
    ai=st.lists(st.integers(0, 4), max_size=7),
    extra=st.integers(0, 20),
    data=st.data(),
)
def test_sum_rows_accepts_any_row_length_and_alignment(make, d, offset, ai, extra, data):
    A = make(5, d, offset)
    A[:] = data.draw(st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed).normal(size=(5, d))))
    whole = A if A.base is None else A.base
    before = whole.tobytes()
    block = np.full((3, 200), GUARD, np.float32)  # the sum is surrounded by guards
    expected, of, columns = block.copy(), np.array(ai, np.int32), slice(16, 16 + d + extra)
    sum_rows(block[1:2, columns], A, of, len(ai), 0.25)
    rows.sum_rows(expected[1:2, columns], A, of, len(ai), np.float32(0.25))
    np.testing.assert_allclose(block, expected, rtol=1e-5, atol=1e-5)
    exact = 0.25 * sum((A[i].astype(float) for i in ai), np.zeros(d))
    np.testing.assert_allclose(block[1, 16 : 16 + d], exact, rtol=1e-5, atol=1e-5)
    block[1, 16 : 16 + d] = GUARD
    assert (block == GUARD).all(), "elements outside the d columns of the sum were written"
    assert whole.tobytes() == before, "the rows were written"


LAST_PAGE = """
import ctypes
import mmap
import sys
import numpy as np
from w2vtrain.kernels import rows
from w2vtrain.kernels.jit import kernel

@kernel()
def call(T, A, ai, n, scale):
    rows.sum_rows(T, A, ai, n, np.float32(scale))

PAGE = mmap.PAGESIZE
pages = mmap.mmap(-1, 2 * PAGE)
data = np.frombuffer(pages, np.uint8)
assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(data.ctypes.data + PAGE), ctypes.c_size_t(PAGE), 0) == 0
for d in range(1, 71):
    A = data[PAGE - 12 * d : PAGE].view(np.float32).reshape(3, d)
    A[:] = 1
    T = np.zeros((1, d), np.float32)
    call(T, A, np.array([0, 2], np.int32), 2, 0.5)
    assert (T == 1).all()
print("ends")
"""


@pytest.mark.skipif(os.name != "posix", reason="pages without access need mprotect")
def test_sum_rows_reads_nothing_beyond_the_last_row():
    """The array ends where an inaccessible page begins, as can happen with a memory-mapped file."""
    done = subprocess.run([sys.executable, "-c", LAST_PAGE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "ends\n"), done.stderr
