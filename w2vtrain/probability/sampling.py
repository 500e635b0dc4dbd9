"""Random streams, noise distributions, noise pools and hashes of words: splitmix64 and alias tables.

It only draws and hashes words. The objectives compute the weight of a draw, such as log Q.

A pool is the words that a chunk of the text draws its noise words from. Each chunk draws a pool of words from the noise
distribution Q, and its targets draw their noise words from the pool. A noise word still has the distribution Q, because
the pool's words have it. But the rows of the pool stay in the second-level cache while the chunk is trained on, where
rows drawn from the whole vocabulary have to be fetched from memory.
"""

from typing import Any

import numpy as np
from numba import int64, uint64

from w2vtrain.errors import ConfigError
from w2vtrain.kernels.jit import inline, kernel
from w2vtrain.kernels.rows import apart_zeros

_GAMMA = uint64(0x9E3779B97F4A7C15)
_MIX_1 = uint64(0xBF58476D1CE4E5B9)
_MIX_2 = uint64(0x94D049BB133111EB)
_30, _27, _31, _32 = uint64(30), uint64(27), uint64(31), uint64(32)
_LOW = uint64(0xFFFFFFFF)

MIN_POOL_WORDS, MAX_POOL_WORDS = 256, 4096
"""Bounds of the size that is chosen. 256 rows of 200 dimensions take 213 kB, less than half of a second-level cache
of 512 KiB; 4,096 take 3.4 MB."""

POOL_WORDS_PER_NOISE_WORD = 48
"""Pool words per noise word of a target. A chunk of 1,000 words then draws each pool word about 20 times at most, and
after subsampling about 12 times; with several times as many, word vectors get worse."""

MIN_WORDS_PER_POOL_WORD = 16
"""Words of the vocabulary per pool word, below which there is no pool: all rows are in the cache without one."""

INDEX_BITS, INDICES_PER_DRAW = 12, 5
"""Bits of an index into a pool, and how many indices one draw of 64 random bits gives."""

AUTOMATIC = -1
"""The option's value for a size that depends on the noise words per target and on the vocabulary."""


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


def noise_distribution(counts: np.ndarray, exponent: float) -> np.ndarray:
    """Return Q (V,) float64, proportional to counts ** exponent, with sum 1. If exponent < 0, count 0 is taken as 1."""
    weights = np.maximum(counts, exponent < 0).astype(np.float64) ** exponent
    return np.asarray(weights / weights.sum())


def log_drawn(noise: np.ndarray, draws: int) -> np.ndarray:
    """Return the logarithm of the probability that each word is among `draws` draws, for Q of words, (n,) float64.

    It is 0 for a word with Q = 1, and minus infinity without draws.
    """
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(-np.expm1(draws * np.log1p(-noise))))


def log_uniform(size: int) -> np.ndarray:
    """Return Zipf's law over the ranks 0..V-1, V = `size`: P(r) = log((r + 2) / (r + 1)) / log(V + 1), (V,) float64.

    It is the distribution of TensorFlow's log_uniform_candidate_sampler, for words in descending order of count.
    """
    return np.asarray(np.diff(np.log(np.arange(1.0, size + 2))) / np.log(size + 1))


def distinct_candidates(drawn: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the distinct words among draws (m,) and targets (B,), in ascending order, (n,).

    Return with them the indices (B,) of the targets among these words, and how often each word was drawn, (n,).
    """
    rows, places = np.unique(np.concatenate([drawn, targets]), return_inverse=True)
    return rows, places[len(drawn) :], np.bincount(places[: len(drawn)], minlength=len(rows))


def alias_table(probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (accept, alias) for `draw_alias`, built by Vose's (1991) version of Walker's alias method.

    probabilities: (V,) float64, with sum 1.
    accept: (V,) uint32. Column i is kept if 32 random bits are below accept[i].
    alias: (V,) int32, the word that is drawn otherwise.

    The table takes 8 bytes per word; word2vec.c's takes 400 MB, and a cache miss per draw.
    """
    size = len(probabilities)
    scaled, alias = probabilities * size, np.arange(size, dtype=np.int32)
    _fill_alias(scaled, alias, np.empty(size, np.int32), np.empty(size, np.int32))
    return np.minimum(scaled * 2.0**32, 2.0**32 - 1).astype(np.uint32), alias


def alias_probabilities(accept: np.ndarray, alias: np.ndarray) -> np.ndarray:
    """Return the distribution (V,) float64 that an alias table draws from."""
    kept = accept / 2.0**32
    return np.asarray((kept + np.bincount(alias, 1 - kept, len(alias))) / len(alias))


def contrasted(P: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return the softmax of the scores that best tell words from noise words other than the target, (C, V).

    P (C, V): P(w|h) in C contexts; noise (V,): Q. As a draw that hits the target t is repeated or left out, the share
    of v among the noise words is N(v|h) = Σ_t P(t|h) Q(v) / (1 - Q(t)) over t other than v, and exp(s_v) is
    proportional to P(v|h) / N(v|h).
    """
    against = P / (1 - noise)
    ratio = P / (noise * (against.sum(axis=1, keepdims=True) - against))
    return np.asarray(ratio / ratio.sum(axis=1, keepdims=True))


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
    for i in range(n_small):  # columns left over by rounding are full
        scaled[small[i]] = 1.0
    for i in range(n_large):
        scaled[large[i]] = 1.0


def keep_thresholds(counts: np.ndarray, sample: float) -> np.ndarray:
    """Return thresholds (V,) uint32 that subsample frequent words as word2vec.c does.

    A token is kept if 32 random bits are <= the threshold of its word.
    """
    return np.asarray(np.floor(keep_probabilities(counts, sample) * (2**32 - 1)), np.uint32)


def keep_probabilities(counts: np.ndarray, sample: float) -> np.ndarray:
    """Return P(keep w) (V,) float64 of subsampling: min(1, (sqrt(f/t) + 1) t/f).

    f is the word's fraction of the corpus and t = `sample`; sample = 0 keeps all tokens.
    """
    if sample == 0:
        return np.ones(len(counts))
    share = counts / counts.sum() / sample
    with np.errstate(divide="ignore"):  # a word that was added to the vectors of a model has the count 0: it is kept
        return np.asarray(np.minimum(1.0, (np.sqrt(share) + 1) / share))


def pool_size(size: int, negative: int, words: int) -> int:
    """Return the option's pool size or, if it is AUTOMATIC, a size for this vocabulary, 0 for no pool.

    negative: noise words per target; words: words of the vocabulary. The size must not depend on the machine: the same
    seed gives the same vectors everywhere.
    """
    if size != AUTOMATIC:
        return size
    needed = max(MIN_POOL_WORDS, 1 << (POOL_WORDS_PER_NOISE_WORD * negative - 1).bit_length())
    return needed if needed <= MAX_POOL_WORDS and MIN_WORDS_PER_POOL_WORD * needed <= words else 0


def check_pool(objective: str, size: Any) -> None:
    """Raise ConfigError for an invalid size. objective: the objective's name."""
    if size not in (AUTOMATIC, 0) and (size & (size - 1) or not 2 <= size <= MAX_POOL_WORDS):
        raise ConfigError(
            f"option pool of objective {objective} is {size}; expected -1, 0 or a power of 2 up to {MAX_POOL_WORDS}"
        )


def empty_pool(size: int) -> np.ndarray:
    """Return memory for the pool of one thread, (size,) int32; size 0 means that there is none."""
    return apart_zeros((size,), np.int32)


@inline
def fill_pool(rng, words, accept, alias):
    """Draw the pool `words` of a chunk from an alias table."""
    for j in range(len(words)):
        words[j] = draw_alias(rng, accept, alias)


@inline
def draw_pooled(rng, words, j, bits):
    """Return the j-th word that a target draws from a pool's words, and the random bits that are left for the next one.

    One draw serves INDICES_PER_DRAW words. bits: as returned for word j - 1; anything for j = 0.
    """
    bits = draw(rng) if j % INDICES_PER_DRAW == 0 else bits >> uint64(INDEX_BITS)
    return int64(words[int64(bits & uint64(len(words) - 1))]), bits
