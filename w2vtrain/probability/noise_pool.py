"""Pools of noise words: how large they are, and drawing from them.

A pool is the words that a chunk of the text draws its noise words from. Each chunk draws a pool of words from the noise
distribution Q, and its targets draw their noise words from the pool. A noise word still has the distribution Q, because
the pool's words have it. But the rows of the pool stay in the second-level cache while the chunk is trained on, where
rows drawn from the whole vocabulary have to be fetched from memory.
"""

from typing import Any

import numpy as np
from numba import int64, uint64

from w2vtrain.kernels.jit import inline
from w2vtrain.kernels.rows import apart_zeros
from w2vtrain.probability.problem import bad_option
from w2vtrain.probability.random_streams import draw, draw_alias

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
        raise bad_option(objective, "pool", f"{size} is not -1, 0 or a power of 2 up to {MAX_POOL_WORDS}")


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
