"""Hidden vectors of whole blocks of examples, for the block engine and for scoring, and their way back to the rows.

Which words are an example's context is decided by `gather`; what a hidden vector is compared with is not known here.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import float32, int64

from w2vtrain.architectures import gather_context, place
from w2vtrain.engines.window import read_sentence
from w2vtrain.kernels.jit import inline, kernel
from w2vtrain.kernels.rows import ROW
from w2vtrain.probability.sampling import draw_below, seed_stream


class Examples(NamedTuple):
    """Examples of a stretch of text: example e has the context words contexts[starts[e]:starts[e + 1]].

    contexts (n,) int32 and places (n,) int32, the position weight of each; starts (E + 1,) int64; targets (E,) int32;
    previous (E,) int32, the word before the target in its sentence or -1.
    """

    contexts: np.ndarray
    places: np.ndarray
    starts: np.ndarray
    targets: np.ndarray
    previous: np.ndarray


class Mixing(NamedTuple):
    """How rows become a hidden vector: (V, d) rows, whose weighted sum it is, or their mean, or just one of them.

    weights (positions, d), or (0, d) for the plain mean. pairs: every context word is an example of its own.
    whole: a row takes the mean's gradient undivided, as in word2vec.c. bias: the vector ends with a 1.
    """

    rows: np.ndarray
    weights: np.ndarray
    dim: int
    pairs: bool
    whole: bool
    bias: bool


def mixing(rows: np.ndarray, dim: int, pairs: bool, whole: bool, bias: bool, weights: Any = None) -> Mixing:
    """A Mixing; weights None: there are none."""
    given = np.zeros((0, rows.shape[1]), rows.dtype) if weights is None else weights
    return Mixing(rows, given, dim, pairs, whole and weights is None, bias)


def gather(
    tokens: np.ndarray, first: int, last: int, keep: np.ndarray, windows: Any, pairs: bool, stream: Any, work: Any
) -> Examples:
    """The examples of tokens[first:last], whole sentences.

    stream: (seed, epoch, chunk) of the random numbers. The arrays are the workspace's, good until the next call.
    """
    n = last - first + 2
    most = n * 2 * windows.size
    arrays = Examples(
        work.array("contexts", (most + ROW,), np.int32),
        work.array("places", (most + 1,), np.int32),
        work.array("starts", ((most if pairs else n) + 2,), np.int64),
        work.array("targets", ((most if pairs else n) + 1,), np.int32),
        work.array("before", ((most if pairs else n) + 1,), np.int32),
    )
    sentence = work.array("sentence", (last - first + windows.pads + ROW,), np.int32)
    rng = np.zeros(1, np.uint64)
    count, width = _gather(tokens, first, last, keep, windows, pairs, *stream, rng, sentence, arrays)
    return Examples(
        arrays.contexts[:width],
        arrays.places[:width],
        arrays.starts[: count + 1],
        arrays.targets[:count],
        arrays.previous[:count],
    )


@kernel()
def _gather(tokens, position, end, keep, windows, pairs, seed, epoch, chunk, rng, sentence, out):
    """Returns (examples, context words)."""
    seed_stream(rng, seed, epoch, chunk)
    count, width = int64(0), int64(0)
    out.starts[0] = 0
    while position < end:
        position, length = read_sentence(tokens, position, end, keep, windows, rng, sentence)
        for target in range(windows.pads, length):
            reach = windows.size - draw_below(rng, windows.size) if windows.shrink else windows.size
            n, left = gather_context(sentence, length, target, reach, windows, out.contexts[width:])
            for k in range(n):
                out.places[width + k] = place(k, left, windows.size)
            for _ in range(n if pairs else min(n, 1)):
                width += 1 if pairs else n
                out.starts[count + 1] = width
                out.targets[count] = sentence[target]
                out.previous[count] = sentence[target - 1] if target > 0 else -1
                count += 1
    return count, width


@kernel()
def forward(mixing, examples, first, H):
    """Hidden vectors H (B, width) of the examples from `first` on."""
    for b in range(len(H)):
        start, end = examples.starts[first + b], examples.starts[first + b + 1]
        H[b, :] = 0
        share = float32(1) / float32(end - start)
        for k in range(start, end):
            row = mixing.rows[examples.contexts[k]]
            if len(mixing.weights):
                weight = mixing.weights[examples.places[k]]
                for c in range(mixing.dim):
                    H[b, c] += weight[c] * row[c]
            else:
                for c in range(mixing.dim):
                    H[b, c] += share * row[c]
        if mixing.bias:
            H[b, mixing.dim] = 1


@kernel()
def backward(mixing, examples, first, dH, lr):
    """Learn the rows, and the position weights at a tenth of the rate, from dH = -dL/dH (B, width)."""
    for b in range(len(dH)):
        start, end = examples.starts[first + b], examples.starts[first + b + 1]
        share = lr if mixing.whole else lr / float32(end - start)
        for k in range(start, end):
            row = mixing.rows[examples.contexts[k]]
            if len(mixing.weights):
                learn_weighted(row, mixing.weights[examples.places[k]], dH[b], mixing.dim, lr)
            else:
                for c in range(mixing.dim):
                    row[c] += share * dH[b, c]


@inline
def learn_weighted(row, weight, gradient, dim, lr):
    """One context word of h = Σ c ⊙ r."""
    for c in range(dim):
        step = lr * gradient[c]
        change = step * row[c]
        row[c] += step * weight[c]
        weight[c] += float32(0.1) * change
