"""Products and gradient steps on tiles of rows, compared with reference implementations."""

import numpy as np
import pytest

from w2vtrain.engines import window_kernel
from w2vtrain.kernels import jit, rows, tiles
from w2vtrain.kernels.jit import kernel
from w2vtrain.kernels.llvm import LANES, registers


def dots_call(function):
    """Return a kernel that calls a dot product operation, as the engine does."""

    @kernel()
    def call(A, ai, i, B, bi, j, G):
        function(A, ai, i, B, bi, j, G)

    return call


def update_call(function, in_turn):
    @kernel()
    def call(A, ai, n, B, bi, j, G):
        function(A, ai, n, B, bi, j, G, in_turn)

    return call


def one_call(function):
    @kernel()
    def call(H, B, bi, j, G, D):
        function(H, B, bi, j, G, D)

    return call


def arrays(rng, dim, count=9):
    A, B = rows.padded_rows(count, dim), rows.padded_rows(count, dim)
    A[:, :dim], B[:, :dim] = rng.normal(size=(count, dim)), rng.normal(size=(count, dim))
    return A, B, rng.permutation(count).astype(np.int32), rng.permutation(count).astype(np.int32)


@pytest.mark.parametrize("dim", [1, 15, 16, 17, 100, 200])
@pytest.mark.parametrize(("ni", "nj"), [(2, 6), (2, 3), (1, 6), (1, 3)])
def test_dots_agree_with_numpy(rng, dim, ni, nj):
    dots = tiles.make_dots(ni, nj)
    A, B, ai, bi = arrays(rng, dim)
    fast, slow = np.zeros((4, 40), np.float32), np.zeros((4, 40), np.float32)
    dots_call(dots)(A, ai, 1, B, bi, 2, fast)
    dots(A, ai, 1, B, bi, 2, slow)
    np.testing.assert_allclose(fast[1 : 1 + ni, 2 : 2 + nj], slow[1 : 1 + ni, 2 : 2 + nj], rtol=1e-4, atol=1e-5)
    assert np.any(slow[1 : 1 + ni, 2 : 2 + nj])
    fast[1 : 1 + ni, 2 : 2 + nj + rows.ROW] = 0
    assert not fast.any(), "more than ROW elements to the right of the tile were written"


@pytest.mark.parametrize("dim", [1, 16, 33, 200])
@pytest.mark.parametrize("n", [0, 1, 2, 5, 8])
@pytest.mark.parametrize("update", [window_kernel.update_many, window_kernel.update_4, window_kernel.update_3])
@pytest.mark.parametrize("in_turn", [False, True])
def test_update_agrees_with_numpy(rng, dim, update, n, in_turn):
    A, B, ai, bi = arrays(rng, dim)
    G = rng.normal(size=(9, 40)).astype(np.float32)
    slow_a, slow_b = A.copy(), B.copy()
    before = A.copy()
    update_call(update, in_turn)(A, ai, n, B, bi, 2, G)
    update(slow_a, ai, n, slow_b, bi, 2, G, in_turn)
    np.testing.assert_allclose(A, slow_a, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(B, slow_b, rtol=1e-4, atol=1e-5)
    assert (before != A).any() == (n > 0)


@pytest.mark.parametrize("in_turn", [False, True])
def test_update_applies_both_changes_to_a_row_of_a_that_is_listed_twice(rng, in_turn):
    """B learns from the row first as it was, then as the first change left it."""
    A, B, _, bi = arrays(rng, 20)
    twice, G = np.array([4, 1, 4], np.int32), rng.normal(size=(3, 40)).astype(np.float32)
    slow_a, slow_b, total = A.copy(), B.copy(), A[4] + (G[0, :3] + G[2, :3]) @ B[bi[:3]]
    update_call(window_kernel.update_3, in_turn)(A, twice, 3, B, bi, 0, G)
    window_kernel.update_3(slow_a, twice, 3, slow_b, bi, 0, G, in_turn)
    np.testing.assert_allclose(A, slow_a, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(B, slow_b, rtol=1e-4, atol=1e-4)
    assert np.allclose(A[4], total, atol=1e-4) is not in_turn


@pytest.mark.parametrize("dim", [1, 16, 33, 50, 64, 200])
@pytest.mark.parametrize("first", [0, 2], ids=["first", "later"])
@pytest.mark.parametrize("update", [window_kernel.update_one_6, window_kernel.update_one_4, window_kernel.update_one_3])
def test_update_one_agrees_with_numpy_and_leaves_its_input_unchanged(rng, update, first, dim):
    A, B, _, bi = arrays(rng, dim)
    D, G = A[3:4].copy(), rng.normal(size=(1, 40)).astype(np.float32)
    if first == 0:
        D[:] = np.nan  # what D was does not matter
    slow_b, slow_d, before = B.copy(), D.copy(), A.copy()
    one_call(update)(A[:2], B, bi, first, G, D)
    update(A[:2], slow_b, bi, first, G, slow_d)
    np.testing.assert_array_equal(A, before)
    np.testing.assert_allclose(B, slow_b, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(D, slow_d, rtol=1e-4, atol=1e-5)
    assert (slow_b != B).any(axis=1).sum() <= len(bi)
    assert (A[3:4] != D).any()


@pytest.mark.parametrize("in_turn", [False, True])
def test_update_gives_the_same_bytes_whatever_fits_in_registers(rng, monkeypatch, in_turn):
    monkeypatch.setattr(jit, "cache_folder", lambda: None)  # the cache tells processors apart, not these values
    A, B, ai, bi = arrays(rng, 5 * LANES)
    G, found = rng.normal(size=(9, 40)).astype(np.float32), set()
    for blocks, available in [((1,), 32), ((2, 1), 32), ((2, 1), 16), ((1,), 16)]:
        monkeypatch.setattr(tiles, "BLOCKS", blocks)
        monkeypatch.setattr(tiles, "REGISTERS", available)
        a, b = A.copy(), B.copy()
        update_call(tiles.make_update(6), in_turn)(a, ai, 5, b, bi, 2, G)
        found.add(a.tobytes() + b.tobytes())
    assert len(found) == 1
    assert (a != A).any()


@pytest.mark.parametrize(
    ("triple", "lanes", "expected"),
    [
        ("x86_64-unknown-linux-gnu", 16, 32),
        ("x86_64-unknown-linux-gnu", 8, 16),
        ("aarch64-unknown-linux-gnu", 4, 32),
        ("arm64-apple-darwin23.0.0", 4, 32),
    ],
)
def test_processors_with_avx_512_and_neon_have_32_vector_registers(triple, lanes, expected):
    assert registers(triple, lanes) == expected
