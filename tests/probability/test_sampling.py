"""Random streams, alias tables, noise distributions and the subsampling of frequent words."""

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from w2vtrain.kernels.jit import kernel
from w2vtrain.probability import sampling


@kernel()
def draws(rng, out):
    for i in range(len(out)):
        out[i] = sampling.draw(rng)


@kernel()
def words(rng, accept, alias, out):
    for i in range(len(out)):
        out[i] = sampling.draw_alias(rng, accept, alias)


@kernel()
def below(rng, n, out):
    for i in range(len(out)):
        out[i] = sampling.draw_below(rng, n)


def test_stream_is_splitmix64():
    """Compare with the published first outputs for the seed 1234567."""
    out = np.zeros(5, np.uint64)
    draws(np.array([1234567], np.uint64), out)
    known = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]
    assert out.tolist() == known
    stream = reference.Stream(1234567)
    assert [stream.draw() for _ in range(5)] == known


def test_streams_of_chunks_differ():
    @kernel()
    def seed(rng, s, e, c):
        sampling.seed_stream(rng, s, e, c)

    rng, seen = np.zeros(1, np.uint64), set()
    for key in [(s, e, c) for s in range(5) for e in range(5) for c in range(40)]:
        seed(rng, *key)
        assert int(rng[0]) == reference.Stream.of_chunk(*key).state
        seen.add(int(rng[0]))
    assert len(seen) == 1000


@pytest.mark.parametrize("exponent", [0.0, 0.5, 0.75, 1.0])
def test_draws_from_the_alias_table_follow_the_noise_distribution(exponent, rng):
    """Run a chi-square test on a million draws; none may be outside the vocabulary."""
    counts = np.sort(rng.integers(5, 100_000, 300))[::-1].copy()
    q = sampling.noise_distribution(counts, exponent)
    assert q.sum() == pytest.approx(1)
    out = np.zeros(1_000_000, np.int64)
    words(np.array([3], np.uint64), *sampling.alias_table(q), out)
    seen = np.bincount(out, minlength=len(q))
    assert len(seen) == len(q)
    assert stats.chisquare(seen, q * len(out)).pvalue > 1e-4


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=60))
def test_alias_table_holds_the_distribution_exactly(counts):
    q = sampling.noise_distribution(np.array(counts), 1.0)
    accept, alias = sampling.alias_table(q)
    share = accept / 2.0**32
    held = share.copy()
    np.add.at(held, alias, 1 - share)
    np.testing.assert_allclose(held / len(q), q, atol=1e-9)


def test_draw_below_is_uniform():
    out = np.zeros(100_000, np.int64)
    below(np.array([5], np.uint64), 5, out)
    assert out.min() == 0
    assert out.max() == 4
    assert stats.chisquare(np.bincount(out)).pvalue > 1e-4


def test_subsampling_agrees_with_the_formula_of_word2vec_c():
    counts = np.array([1000, 100, 10, 1])
    sample = 1e-2
    keep = sampling.keep_thresholds(counts, sample) / (2**32 - 1)
    for c, k in zip(counts, keep, strict=True):
        expected = (np.sqrt(c / (sample * 1111)) + 1) * (sample * 1111) / c
        assert k == pytest.approx(min(1, expected), abs=1e-9)
    assert (sampling.keep_thresholds(counts, 0.0) == 2**32 - 1).all()
