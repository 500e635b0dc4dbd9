"""Proposals near the softmax of a model, for proposals.py: MIDX, the quadratic kernel and random Fourier features.

P(v|h) is proportional to exp(h·o_v + b_v), where o_v (d,) is an output row and b_v its bias. A proposal is an array
(C, V) of probabilities, one line per context: small enough on the Penn Treebank to compare every entry with P. How fast
each could be drawn from is another question; `Sampler` draws from MIDX as a trainer would.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from w2vtrain.kernels.jit import inline, kernel
from w2vtrain.probability.sampling import draw

Array = NDArray[Any]


def normalized(weights: Array) -> Array:
    """Divide each line of weights (C, V) by its sum."""
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def softmax(scores: Array) -> Array:
    """Return the softmax of each line of scores (C, V), in float64."""
    return normalized(np.exp(scores.astype(np.float64) - scores.max(axis=1, keepdims=True)))


def k_means(rows: Array, size: int, rounds: int, rng: np.random.Generator, weights: Array) -> tuple[Array, Array]:
    """Return `size` centers (size, d) of rows (V, d) and the nearest center of each row, (V,), by Lloyd's algorithm.

    weights (V,): how much each row counts.
    """
    centers = rows[rng.choice(len(rows), size, replace=False, p=weights / weights.sum())].copy()
    for i in range(rounds + 1):
        nearest = (rows @ centers.T - (centers**2).sum(axis=1) / 2).argmax(axis=1)
        if i < rounds:
            members = np.zeros((size, len(rows)), rows.dtype)
            members[nearest, np.arange(len(rows))] = weights
            mass = members.sum(axis=1)
            used = mass > 0
            centers[used] = (members @ rows)[used] / mass[used, None]
    return centers, nearest


class Index(NamedTuple):
    """An inverted multi-index: o_v is near first[i] + second[j], where (i, j) = divmod(codes[v], K).

    first, second (K, d): codewords; a product quantizer leaves half of the columns of each at 0. codes (V,).
    """

    first: Array
    second: Array
    codes: Array


def quantized(
    rows: Array, codewords: int, form: str, rng: np.random.Generator, rounds: int = 10, weights: Array | None = None
) -> Index:
    """Quantize rows (V, d). form: "residual" or "product"."""
    weights = np.ones(len(rows), rows.dtype) if weights is None else weights.astype(rows.dtype)
    if form == "residual":
        first, i = k_means(rows, codewords, rounds, rng, weights)
        second, j = k_means(rows - first[i], codewords, rounds, rng, weights)
    else:
        left, right = rows.copy(), rows.copy()
        left[:, rows.shape[1] // 2 :] = 0
        right -= left
        first, i = k_means(left, codewords, rounds, rng, weights)
        second, j = k_means(right, codewords, rounds, rng, weights)
    return Index(first, second, i * codewords + j)


def midx(index: Index, H: Array, bias: Array) -> Array:
    """Return Q(v|h) ∝ exp(h·(first[i] + second[j]) + b_v), (C, V): MIDX (Chen et al. 2025), for H (C, d).

    The paper has no biases and draws a word of the chosen cell (i, j) uniformly: bias = 0.
    """
    i, j = np.divmod(index.codes, len(index.first))
    return softmax((H @ index.first.T)[:, i] + (H @ index.second.T)[:, j] + bias)


def quadratic(scores: Array, alpha: float) -> Array:
    """Return Q(v|h) ∝ alpha s_v² + 1 (Blanc & Rendle 2018), for scores (C, V).

    The square prefers words with low scores to those with scores near 0. With biases, most scores are far below 0.
    """
    return normalized(alpha * scores.astype(np.float64) ** 2 + 1)


def taylor(H: Array, rows: Array, bias: Array) -> Array:
    """Return Q(v|h) ∝ (1 + x + x²/2) exp(b_v), (C, V), with x = h·(o_v - mean o): a quadratic kernel that knows biases.

    1 + x + x²/2 is the Taylor polynomial of exp(x), and at least 1/2. Subtracting h·(mean o) from all scores does not
    change P.
    """
    x = (H @ (rows - rows.mean(axis=0)).T).astype(np.float64)
    return normalized((1 + x + x**2 / 2) * np.exp(bias.astype(np.float64)))


def fourier(H: Array, rows: Array, bias: Array, features: int, nu: float, rng: np.random.Generator) -> Array:
    """Return Q(v|h) ∝ max(φ(h)·φ(o_v), 1/sqrt(features)) exp(b_v), (C, V): random Fourier features (Rawat et al. 2019).

    h and o_v are scaled to length 1, as in the paper, and φ(x)·φ(y) estimates exp(-nu |x - y|² / 2), which is
    proportional to exp(nu x·y): φ(x) = [cos(u_k·x), sin(u_k·x)] / sqrt(features), u_k normal with variance nu. The
    estimate may be negative; the bound, of the size of its standard deviation, keeps Q above 0. The paper has no
    biases.
    """
    u = rng.normal(size=(H.shape[1], features)) * nu**0.5
    x, y = (a / np.linalg.norm(a, axis=1, keepdims=True).clip(1e-30) @ u for a in (H, rows))
    kernels = (np.cos(x) @ np.cos(y).T + np.sin(x) @ np.sin(y).T) / features
    return normalized(np.maximum(kernels, features**-0.5) * np.exp(bias.astype(np.float64)))


class Cells(NamedTuple):
    """What drawing from MIDX needs besides the codewords.

    words (V,) int32: the words by cell. starts (K² + 1,) int64: where each cell begins in `words`. ends (V,) float64:
    cumulative exp(b) within each cell. omega (K, K) float32: the sum of exp(b) over each cell. weights (V,): exp(b).
    """

    words: Array
    starts: Array
    ends: Array
    omega: Array
    weights: Array


def cells(index: Index, bias: Array) -> Cells:
    """Return the cells of an index, for biases (V,)."""
    K = len(index.first)
    words = np.argsort(index.codes, kind="stable").astype(np.int32)
    sizes = np.bincount(index.codes, minlength=K * K)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    weights = np.exp(bias.astype(np.float64))
    total = np.concatenate([[0], np.cumsum(weights[words])])
    ends = total[1:] - np.repeat(total[starts[:-1]], sizes)
    omega = np.bincount(index.codes, weights, K * K).reshape(K, K).astype(np.float32)
    return Cells(words, starts, ends, omega, weights)


class Sampler:
    """Draws from MIDX for blocks of examples: O(K d + K²) operations per example, then O(log V) per draw.

    index: the index. bias (V,): the biases that its cells use.
    """

    def __init__(self, index: Index, bias: Array) -> None:
        self.index, self.cells = index, cells(index, bias)

    def __call__(self, H: Array, stream: Array, words: Array, q: Array) -> None:
        """Fill words (B, m) int32 with draws for H (B, d), and q (B, m) float64 with their probabilities."""
        K = len(self.index.first)
        x, y = H @ self.index.first.T, H @ self.index.second.T
        for s in (x, y):
            s -= s.max(axis=1, keepdims=True)
            np.exp(s, out=s)
        first = np.cumsum(x * (y @ self.cells.omega.T), axis=1, dtype=np.float64)
        _draw(stream, x, y, first, self.cells, np.empty((K, K)), np.empty(K, np.bool_), words, q)


@inline
def above(values: Any, low: Any, high: Any, least: Any) -> Any:
    """Return the index of the first of the ascending values[low:high] that is > least, at most high - 1."""
    size = high - low
    while size > 1:
        half = size >> 1
        low += half if values[low + half - 1] <= least else 0
        size -= half
    return low


@inline
def uniform(stream: Any) -> Any:
    """Return a uniform number in [0, 1)."""
    return (draw(stream) >> np.uint64(11)) * 2.0**-53


@kernel()
def _draw(stream: Any, x: Any, y: Any, first: Any, cells: Any, second: Any, known: Any, words: Any, q: Any) -> None:
    """Draw i, then j given i, then a word of cell (i, j). second (K, K): cumulative weights of j given the known i."""
    K = len(known)
    for b in range(len(words)):
        known[:] = False
        for k in range(words.shape[1]):
            i = above(first[b], 0, K, uniform(stream) * first[b, K - 1])
            if not known[i]:
                known[i], total = True, 0.0
                for j in range(K):
                    total += cells.omega[i, j] * y[b, j]
                    second[i, j] = total
            j = above(second[i], 0, K, uniform(stream) * second[i, K - 1])
            low, high = cells.starts[i * K + j], cells.starts[i * K + j + 1]
            word = cells.words[above(cells.ends, low, high, uniform(stream) * cells.omega[i, j])]
            words[b, k], q[b, k] = word, x[b, i] * y[b, j] * cells.weights[word] / first[b, K - 1]
