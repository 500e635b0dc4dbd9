"""Random streams and noise distributions: splitmix64 and alias tables.

It draws words; what a draw is worth (log Q, weights) is for the objectives that ask.
"""

import numpy as np
from numba import int64, uint64

from w2vtrain.kernels.jit import inline, kernel

_GAMMA = uint64(0x9E3779B97F4A7C15)
_MIX_1 = uint64(0xBF58476D1CE4E5B9)
_MIX_2 = uint64(0x94D049BB133111EB)
_30, _27, _31, _32 = uint64(30), uint64(27), uint64(31), uint64(32)
_LOW = uint64(0xFFFFFFFF)


@inline
def mix(z):
    """splitmix64's finalizer (Steele, Lea & Flood 2014): a bijection of 64 bits in which every bit counts."""
    z = (z ^ (z >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    return z ^ (z >> _31)


@inline
def seed_stream(rng, seed, epoch, chunk):
    """Set the stream of one chunk: a function of (seed, epoch, chunk) and of nothing else."""
    rng[0] = mix(mix(mix(uint64(seed) + _GAMMA) + uint64(epoch) + _GAMMA) + uint64(chunk) + _GAMMA)


@inline
def draw(rng):
    """Next 64 random bits of the stream rng (1,) uint64."""
    rng[0] += _GAMMA
    return mix(rng[0])


@inline
def draw_below(rng, n):
    """Uniform integer in [0, n), n < 2^32, from the upper half of a draw."""
    return int64(((draw(rng) >> _32) * uint64(n)) >> _32)


@inline
def draw_alias(rng, accept, alias):
    """One word from an alias table, by one draw: its upper half picks the column, its lower half the side."""
    bits = draw(rng)
    i = int64(((bits >> _32) * uint64(len(accept))) >> _32)
    other = int64(alias[i])  # read in either case: a branch would be mispredicted half of the time
    return other if (bits & _LOW) >= uint64(accept[i]) else i


@kernel()
def draw_words(rng: np.ndarray, accept: np.ndarray, alias: np.ndarray, out: np.ndarray) -> None:
    """Fill out (n,) with words from an alias table, independent of one another."""
    for i in range(len(out)):
        out[i] = draw_alias(rng, accept, alias)


def noise_distribution(counts: np.ndarray, exponent: float) -> np.ndarray:
    """Q (V,) float64, proportional to counts to a power, summing to 1; for negative powers 0 counts as 1."""
    weights = np.maximum(counts, exponent < 0).astype(np.float64) ** exponent
    return np.asarray(weights / weights.sum())


def alias_table(probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Walker's alias method as Vose (1991) builds it: (accept, alias) for `draw_alias`.

    probabilities (V,) float64, summing to 1. accept (V,) uint32: column i is kept when 32 random bits are below it;
    alias (V,) int32: the word taken otherwise. 8 bytes a word, where word2vec.c's table takes 400 MB and a cache miss.
    """
    size = len(probabilities)
    scaled, alias = probabilities * size, np.arange(size, dtype=np.int32)
    _fill_alias(scaled, alias, np.empty(size, np.int32), np.empty(size, np.int32))
    return np.minimum(scaled * 2.0**32, 2.0**32 - 1).astype(np.uint32), alias


@kernel()
def _fill_alias(scaled, alias, small, large):
    n_small = n_large = 0
    for i in range(len(scaled)):
        if scaled[i] < 1.0:
            small[n_small] = i
            n_small += 1
        else:
            large[n_large] = i
            n_large += 1
    while n_small > 0 and n_large > 0:
        n_small -= 1
        s, g = small[n_small], large[n_large - 1]
        alias[s] = g
        scaled[g] -= 1.0 - scaled[s]
        if scaled[g] < 1.0:
            n_large -= 1
            small[n_small] = g
            n_small += 1
    for i in range(n_small):  # what rounding left over is full
        scaled[small[i]] = 1.0
    for i in range(n_large):
        scaled[large[i]] = 1.0


def keep_thresholds(counts: np.ndarray, sample: float) -> np.ndarray:
    """Subsampling of frequent words as word2vec.c does it: (V,) uint32, an occurrence stays when 32 bits are <= it.

    P(keep w) = min(1, (sqrt(f/t) + 1) t/f) with f the word's share of the corpus and t = `sample`; 0 keeps all.
    """
    if sample == 0:
        return np.full(len(counts), 2**32 - 1, np.uint32)
    share = counts / counts.sum() / sample
    keep = np.minimum(1.0, (np.sqrt(share) + 1) / share)
    return np.asarray(np.floor(keep * (2**32 - 1)), np.uint32)
