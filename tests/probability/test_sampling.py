"""Random streams, alias tables, hashes, noise distributions and the subsampling of frequent words."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from w2vtrain.kernels.jit import kernel
from w2vtrain.probability import noise, random_streams, subsampling

MASK, GAMMA = 2**64 - 1, 0x9E3779B97F4A7C15


def mix(z):
    """Return what the finalizer of splitmix64 makes of a state, in Python integers."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def mixed(numbers):
    """Return the state after numbers have been mixed in, one by one."""
    state = 0
    for number in numbers:
        state = mix(state + number + GAMMA & MASK)
    return state


def bits_of(state, count):
    """Return the first draws of a stream."""
    return [mix(state + k * GAMMA & MASK) for k in range(1, count + 1)]


def scaled(bits, n):
    """Return a number in [0, n) from the upper half of 64 bits."""
    return (bits >> 32) * n >> 32


@kernel()
def draws(rng, out):
    for i in range(len(out)):
        out[i] = random_streams.draw(rng)


@kernel()
def words(rng, accept, alias, out):
    for i in range(len(out)):
        out[i] = random_streams.draw_alias(rng, accept, alias)


@kernel()
def below(rng, n, out):
    for i in range(len(out)):
        out[i] = random_streams.draw_below(rng, n)


def test_stream_is_splitmix64():
    """Compare with the published first outputs for the seed 1234567."""
    out = np.zeros(5, np.uint64)
    draws(np.array([1234567], np.uint64), out)
    known = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]
    assert out.tolist() == known
    assert bits_of(1234567, 5) == known


def test_streams_of_chunks_differ():
    @kernel()
    def seed(rng, s, e, c):
        random_streams.seed_stream(rng, s, e, c)

    rng, seen = np.zeros(1, np.uint64), set()
    for key in [(s, e, c) for s in range(5) for e in range(5) for c in range(40)]:
        seed(rng, *key)
        assert int(rng[0]) == mixed(key)
        seen.add(int(rng[0]))
    assert len(seen) == 1000


@pytest.mark.parametrize("exponent", [0.0, 0.5, 0.75, 1.0])
def test_draws_from_the_alias_table_follow_the_noise_distribution(exponent, rng):
    """Run a chi-square test on a million draws; none may be outside the vocabulary."""
    counts = np.sort(rng.integers(5, 100_000, 300))[::-1].copy()
    q = noise.noise_distribution(counts, exponent)
    assert q.sum() == pytest.approx(1)
    out = np.zeros(1_000_000, np.int64)
    accept, alias = noise.alias_table(q)
    words(np.array([3], np.uint64), accept, alias, out)
    for bits, word in zip(bits_of(3, 1000), out, strict=False):
        i = scaled(bits, 300)
        assert word == (i if bits & 0xFFFFFFFF < accept[i] else alias[i])
    seen = np.bincount(out, minlength=len(q))
    assert len(seen) == len(q)
    assert stats.chisquare(seen, q * len(out)).pvalue > 1e-4


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=60))
def test_alias_table_holds_the_distribution_exactly(counts):
    q = noise.noise_distribution(np.array(counts), 1.0)
    accept, alias = noise.alias_table(q)
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
    assert out[:100].tolist() == [scaled(bits, 5) for bits in bits_of(5, 100)]


def test_hashes_of_contexts_depend_on_the_words_and_their_order():
    words = np.array([9, *range(1, 5), 9], np.int32)
    for n in (1, 7, 1000, 2**28):
        for size, first in itertools.product((1, 2, 3, 4), (1, 2)):
            expected = scaled(mixed(words[first : first + size].tolist()), n)
            assert random_streams.hash_words(words, first, size, n) == expected
    both = [random_streams.hash_words(some, 0, len(some), 2**28) for some in ([1, 2], [2, 1], [1], [0, 1], [1, 0])]
    assert len(set(both)) == 5


def test_hashes_of_contexts_are_spread_evenly():
    found = [random_streams.hash_words(pair, 0, 2, 50) for pair in itertools.product(range(200), repeat=2)]
    assert stats.chisquare(np.bincount(found, minlength=50)).pvalue > 1e-4


def test_subsampling_agrees_with_the_formula_of_word2vec_c():
    counts = np.array([1000, 100, 10, 1])
    sample = 1e-2
    keep = subsampling.keep_thresholds(counts, sample) / (2**32 - 1)
    for c, k in zip(counts, keep, strict=True):
        expected = (np.sqrt(c / (sample * 1111)) + 1) * (sample * 1111) / c
        assert k == pytest.approx(min(1, expected), abs=1e-9)
    assert (subsampling.keep_thresholds(counts, 0.0) == 2**32 - 1).all()
