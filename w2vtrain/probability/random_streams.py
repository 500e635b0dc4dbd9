"""Random streams of 64-bit numbers, by splitmix64: seed one, draw numbers and words from it, and hash words."""

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
    """Apply splitmix64's finalizer (Steele, Lea & Flood 2014), a bijection on 64 bits that mixes all of them."""
    z = (z ^ (z >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    return z ^ (z >> _31)


@inline
def seed_stream(rng, seed, epoch, chunk):
    """Set the stream of one chunk, which depends only on (seed, epoch, chunk)."""
    rng[0] = mix(mix(mix(uint64(seed) + _GAMMA) + uint64(epoch) + _GAMMA) + uint64(chunk) + _GAMMA)


@inline
def draw(rng):
    """Return the next 64 random bits of a stream, whose state is rng[0], uint64."""
    rng[0] += _GAMMA
    return mix(rng[0])


@inline
def draw_below(rng, n):
    """Return a uniform integer in [0, n), n < 2^32, from the upper half of one draw."""
    return int64(((draw(rng) >> _32) * uint64(n)) >> _32)


@inline
def draw_alias(rng, accept, alias):
    """Return a word from an alias table with one draw: its upper half picks a column, its lower half the word in it."""
    bits = draw(rng)
    i = int64(((bits >> _32) * uint64(len(accept))) >> _32)
    other = int64(alias[i])  # always read: a branch would be mispredicted half of the time
    return other if (bits & _LOW) >= uint64(accept[i]) else i


@inline
def hash_words(words, first, size, n):
    """Return a number in [0, n), n < 2^32, that depends on words[first : first + size] and their order."""
    state = uint64(0)
    for i in range(first, first + size):
        state = mix(state + uint64(words[i]) + _GAMMA)
    return int64(((state >> _32) * uint64(n)) >> _32)


@kernel()
def draw_words(rng: np.ndarray, accept: np.ndarray, alias: np.ndarray, out: np.ndarray) -> None:
    """Fill out (n,) with words drawn independently from an alias table."""
    for i in range(len(out)):
        out[i] = draw_alias(rng, accept, alias)
