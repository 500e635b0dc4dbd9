"""Distributions that noise words are drawn from, and alias tables, which draw from them.

The objectives compute the weight of a draw, such as log Q.
"""

import numpy as np

from w2vtrain.kernels.jit import kernel


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
