"""Noise pools: their sizes, and the distribution of the words drawn from them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import problem_of
from scipy import stats

from w2vtrain.errors import ConfigError
from w2vtrain.kernels.jit import kernel
from w2vtrain.objectives import build, objective_class
from w2vtrain.probability import noise, noise_pool, random_streams


@kernel()
def draw_from_pools(rng, pool, table, chunks, per_chunk, out):
    """Fill out (chunks * per_chunk,) with words, per_chunk of them drawn from the pool of each chunk."""
    for chunk in range(chunks):
        random_streams.seed_stream(rng, 1, 0, chunk)
        noise_pool.fill_pool(rng, pool, table[0], table[1])
        bits = np.uint64(0)
        for j in range(per_chunk):
            out[chunk * per_chunk + j], bits = noise_pool.draw_pooled(rng, pool, j, bits)


@pytest.mark.parametrize("size", [2, 64, 4096])
def test_words_drawn_from_pools_follow_the_noise_distribution(size, rng):
    """One word per pool: words of the same pool are not independent of each other."""
    q = noise.noise_distribution(np.sort(rng.integers(5, 1000, 40))[::-1].copy(), 0.75)
    pool, out = noise_pool.empty_pool(size), np.zeros(20_000, np.int64)
    draw_from_pools(np.zeros(2, np.uint64), pool, noise.alias_table(q), len(out), 1, out)
    assert stats.chisquare(np.bincount(out, minlength=40), q * len(out)).pvalue > 1e-4


def test_all_words_of_a_pool_are_drawn_equally_often():
    pool, out = noise_pool.empty_pool(512), np.zeros(500_000, np.int64)
    draw_from_pools(np.zeros(2, np.uint64), pool, noise.alias_table(np.full(1 << 20, 2.0**-20)), 1, len(out), out)
    found = [np.count_nonzero(out == word) / np.count_nonzero(pool == word) for word in np.unique(pool)]
    assert set(out.tolist()) == set(pool.tolist())
    assert stats.chisquare(found, np.full(len(found), np.mean(found))).pvalue > 1e-4


def test_indices_are_the_same_as_in_the_naive_draws():
    pool, out = np.arange(0, 1024, 2, dtype=np.int32), np.zeros(23, np.int64)

    @kernel()
    def draw(rng, pool, out):
        bits = np.uint64(0)
        for j in range(len(out)):
            out[j], bits = noise_pool.draw_pooled(rng, pool, j, bits)

    draw(np.array([9, 0], np.uint64), pool, out)
    stream = np.array([9], np.uint64)
    bits = [int(random_streams.draw(stream)) for _ in range(5)]
    assert out.tolist() == [pool[bits[j // 5] >> 12 * (j % 5) & 511] for j in range(len(out))]


@pytest.mark.parametrize(
    ("words", "negative", "size"),
    [
        (70_000, 1, 256), (70_000, 5, 256), (70_000, 6, 512), (70_000, 10, 512), (70_000, 15, 1024), (70_000, 20, 1024),
        (70_000, 85, 4096), (70_000, 86, 0), (4096, 5, 256), (4095, 5, 0), (10_000, 25, 0), (1, 5, 0),
    ],
)  # fmt: skip
def test_the_size_depends_on_the_noise_words_and_the_vocabulary(words, negative, size):
    assert noise_pool.pool_size(noise_pool.AUTOMATIC, negative, words) == size
    objective = objective_class("neg").build(problem_of(np.ones(words, np.int64)), negative=negative)
    assert len(objective.pool) == size


@given(st.integers(1, 10**7), st.integers(1, 1000))
def test_a_chosen_size_is_valid(words, negative):
    size = noise_pool.pool_size(noise_pool.AUTOMATIC, negative, words)
    noise_pool.check_pool("neg", size)
    assert size == 0 or (size >= 48 * negative and 16 * size <= words)


@pytest.mark.parametrize("name", ["neg", "nce"])
@pytest.mark.parametrize("size", [-2, 1, 3, 100, 8192])
def test_a_size_that_is_no_power_of_two_is_rejected(name, size):
    with pytest.raises(ConfigError, match=f"option pool of objective {name}: {size} is not"):
        build(name, problem_of([5, 3, 2]), {"pool": size})


@pytest.mark.parametrize("name", ["neg", "nce"])
def test_each_thread_has_a_pool_of_its_own_and_shares_all_else(name):
    shared = objective_class(name).build(problem_of([5, 3, 2]), pool=8)
    first, second = shared.for_threads(2)
    with np.errstate(over="ignore"):
        first.begin(np.array([1, 1], np.uint64))
    assert first.pool.any()
    assert not second.pool.any()
    assert not shared.pool.any()
    fields = zip(shared._fields, shared, first, strict=True)
    assert all(a is b for field, a, b in fields if field not in ("pool", "drawn"))
