"""Noise pools: the words that a chunk of the text draws its noise words from.

Each chunk draws a pool of words from the noise distribution Q, and its targets draw their noise words from the pool. A
noise word still has the distribution Q, because the pool's words have it. But the rows of the pool stay in the
second-level cache while the chunk is trained on, where rows drawn from the whole vocabulary have to be fetched from
memory.

Several threads divide the vocabulary: for some time, each draws its pools from a part of it, then from the next part. A
row then stays with one core for that time, instead of travelling between cores that both write to it. Over all parts,
each word is drawn with its probability in Q.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import int64, uint64

from w2vtrain.errors import ConfigError
from w2vtrain.kernels.jit import inline
from w2vtrain.kernels.rows import apart_zeros
from w2vtrain.probability.sampling import alias_table, draw, draw_alias

SMALLEST, LARGEST = 512, 4096
"""Bounds of the size that is chosen. 4,096 rows of 200 dimensions take 3.4 MB."""

PER_NOISE_WORD = 64
"""Pool words per noise word of a target. A chunk of 1,000 words then draws each pool word about 15 times at most, and
after subsampling about 7 times; with several times as many, word vectors get worse."""

MARGIN = 16
"""Words of the vocabulary per pool word, below which there is no pool: all rows are in the cache without one."""

BITS, INDICES = 12, 5
"""Bits of an index into a pool, and how many indices one draw of 64 random bits gives."""

AUTOMATIC = -1
"""The option's value for a size that depends on the noise words per target and on the vocabulary."""


PHASE = 256
"""Chunks for which a thread draws its pools from the same part of the vocabulary."""


class Pool(NamedTuple):
    """The pool of one thread, and the parts of the vocabulary that it is drawn from.

    words (size,) int32: the pool; size 0 means that there is none. members int32, with the alias table accept uint32
    and alias int32: the words of each part, one part after another. starts (parts + 1,) int64: where each begins.
    phase (1,) int64: the number of chunks so far, plus PHASE times the part to begin with.
    """

    words: np.ndarray
    members: np.ndarray
    accept: np.ndarray
    alias: np.ndarray
    starts: np.ndarray
    phase: np.ndarray


def make_pools(noise: np.ndarray, size: int, threads: int, hot: int) -> list[Pool]:
    """Return a pool for each of `threads` threads.

    noise (V,): Q. size: words per pool, a power of 2 or 0. hot: the first `hot` words are in every part, because each
    thread has its own replicas of their rows.
    """
    parts = [np.arange(len(noise) if size else 0)]
    if threads > 1 and size:
        turn = np.arange(len(noise) - hot)
        turn = np.where(turn // threads % 2, threads - 1 - turn % threads, turn % threads)
        parts = [np.concatenate([np.arange(hot), hot + np.flatnonzero(turn == part)]) for part in range(threads)]
    weights = [noise[words] * np.where(words < hot, 1, len(parts)) for words in parts]
    tables = [alias_table(w / w.sum()) for w in weights] if size else [(np.empty(0, np.uint32), np.empty(0, np.int32))]
    accept, alias = (np.concatenate(found) for found in zip(*tables, strict=True))
    members, starts = np.concatenate(parts).astype(np.int32), np.cumsum([0, *map(len, parts)])
    phases = [apart_zeros((1,), np.int64) for _ in range(threads)]
    for thread, phase in enumerate(phases):
        phase[0] = PHASE * thread
    return [Pool(apart_zeros((size,), np.int32), members, accept, alias, starts, phase) for phase in phases]


def pool_size(size: int, negative: int, words: int) -> int:
    """Return the size of a pool for the value of an option: automatic_size if it is AUTOMATIC, otherwise itself."""
    return automatic_size(words, negative) if size == AUTOMATIC else size


def automatic_size(words: int, negative: int) -> int:
    """Return the size of the pool for a vocabulary of `words` words and `negative` noise words per target, or 0.

    It must not depend on the machine: the same seed gives the same vectors everywhere.
    """
    needed = max(SMALLEST, 1 << (PER_NOISE_WORD * negative - 1).bit_length())
    return needed if needed <= LARGEST and MARGIN * needed <= words else 0


def check_pool(what: str, size: Any) -> None:
    """Raise ConfigError for an invalid size. what: the objective's name."""
    if size not in (AUTOMATIC, 0) and (size & (size - 1) or not 2 <= size <= LARGEST):
        raise ConfigError(f"option pool of objective {what} is {size}; expected -1, 0 or a power of 2 up to {LARGEST}")


@inline
def fill_pool(rng, pool):
    """Draw the pool of a chunk."""
    part = pool.phase[0] // PHASE % (len(pool.starts) - 1)
    pool.phase[0] += 1
    first, end = pool.starts[part], pool.starts[part + 1]
    for j in range(len(pool.words)):
        pool.words[j] = pool.members[first + draw_alias(rng, pool.accept[first:end], pool.alias[first:end])]


@inline
def draw_pooled(rng, words, j, bits):
    """Return the j-th word that a target draws from a pool's words, and the random bits that are left for the next one.

    One draw serves INDICES words. bits: as returned for word j - 1; anything for j = 0.
    """
    bits = draw(rng) if j % INDICES == 0 else bits >> uint64(BITS)
    return int64(words[int64(bits & uint64(len(words) - 1))]), bits
