"""Engine 1: the window kernel, for objectives that score a handful of output rows a target.

It walks chunks of the encoded corpus and hands each window to the architecture; it knows neither the one nor the
objective. Weights are shared between threads without locks (Hogwild: Niu et al. 2011).
"""

import numpy as np
from numba import float32, int64, uint32, uint64
from numba.extending import overload

from .architectures import examples, gather_context, learn
from .jit import FORCED, inline, kernel
from .rows import prefetch
from .sampling import draw, draw_below, seed_stream


def candidates(self, sentence, position, rng, rows, labels, shifts):
    """The objective's own `candidates`."""
    return self.candidates(sentence, position, rng, rows, labels, shifts)


@overload(candidates, jit_options=FORCED)
def _candidates(self, sentence, position, rng, rows, labels, shifts):
    return self.instance_class.candidates


def prefetch_from(self, m):
    """The first candidate whose row is worth asking memory for; the objective's own, or 0."""
    return self.prefetch_from(m) if hasattr(self, "prefetch_from") else 0


@overload(prefetch_from, jit_options=FORCED)
def _prefetch_from(self, m):
    return getattr(self.instance_class, "prefetch_from", lambda self, m: 0)


@inline
def read_sentence(tokens, position, end, keep, rng, sentence):
    """Copy one sentence without the words that subsampling drops. Returns (next position, length)."""
    length = 0
    while position < end:
        word = tokens[position]
        position += 1
        if word < 0:
            break
        sentence[length] = word
        length += int64(uint32(draw(rng) >> uint64(32)) <= keep[word])
    return position, length


@inline
def next_candidates(objective, w_out, scratch, length, position):
    """Draw the candidates of a coming target and ask memory for their rows. Returns how many, 0 past the end."""
    if position >= length:
        return int64(0)
    k = position & 1
    rows = scratch.rows[k]
    m = candidates(objective, scratch.sentence, position, scratch.rng, rows, scratch.labels[k], scratch.shifts[k])
    for j in range(prefetch_from(objective, m), m):
        prefetch(w_out, int64(rows[j]))
    return int64(m)


@inline
def learn_sentence(architecture, objective, w_in, w_out, length, window, shrink, lr, scratch):
    """Learn every window of the sentence in scratch. Returns (loss, examples)."""
    sentence, context = scratch.sentence, scratch.context
    loss, seen = 0.0, 0
    coming = next_candidates(objective, w_out, scratch, length, 0)
    for position in range(length):
        k, m = position & 1, coming
        coming = next_candidates(objective, w_out, scratch, length, position + 1)
        if position + 1 + window < length:
            prefetch(w_in, int64(sentence[position + 1 + window]))
        reach = window - draw_below(scratch.rng, window) if shrink else window
        n = gather_context(sentence, length, position, reach, context)
        if n > 0 and m > 0:
            rows, labels, shifts = scratch.rows[k], scratch.labels[k], scratch.shifts[k]
            loss += learn(architecture, objective, w_in, w_out, context, n, rows, labels, shifts, m, lr, scratch)
            seen += examples(architecture, n)
    return loss, seen


@kernel()
def train_chunks(
    architecture, objective, tokens, starts, order, before, w_in, w_out, keep, window, shrink, alpha, min_alpha, total,
    seed, epoch, scratch,
):  # fmt: skip
    """Learn the chunks order (n,) of one epoch. Returns (loss, examples).

    tokens int32, -1 ends a sentence; starts (chunks + 1,) int64, where chunks begin in tokens; before (n,) int64, words
    that precede each chunk in the whole run, of which there are `total`: the rate falls with them, linearly from alpha
    to min_alpha, and stays the same through a chunk. Random numbers depend on (seed, epoch, chunk) alone.
    """
    loss, seen = 0.0, 0
    for k in range(len(order)):
        chunk = order[k]
        seed_stream(scratch.rng, seed, epoch, chunk)
        lr = float32(alpha + (min_alpha - alpha) * (before[k] / total))
        position, end = starts[chunk], starts[chunk + 1]
        while position < end:
            position, length = read_sentence(tokens, position, end, keep, scratch.rng, scratch.sentence)
            part, count = learn_sentence(architecture, objective, w_in, w_out, length, window, shrink, lr, scratch)
            loss += part
            seen += count
    return loss, seen


def chunk_order(seed: int, epoch: int, chunks: int, shuffle: bool = True) -> np.ndarray:
    """The order (chunks,) int64 in which an epoch learns its chunks: a permutation by (seed, epoch)."""
    if not shuffle:
        return np.arange(chunks, dtype=np.int64)
    return np.random.default_rng([seed, epoch]).permutation(chunks).astype(np.int64)
