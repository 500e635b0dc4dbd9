"""Layers of neural networks, with their gradients: recurrent units, convolutions with max pooling, highway layers.

Nothing here knows letters or words, and nothing learns.

Recurrent units are the GRU (Cho et al. 2014) and the LSTM (Hochreiter & Schmidhuber 1997), step by step. They multiply
no matrices: the caller passes the products of the states with the recurrent matrix, and the products of the inputs,
which are the rows of a table.

A convolution over the letters of a word adds up rows of a table: the products of each letter's embedding with each
position of each filter. This saves a factor of the embedding's dimensions over multiplying gathered embeddings by all
filters.

Highway layers mix a transform of their input with the input itself, in learned proportions (Srivastava, Greff &
Schmidhuber 2015, "Highway networks"). Layers l = 0, 1, ... compute x_l+1 from x_l, a row of d values, as

    x_l+1 = t ⊙ g + (1 - t) ⊙ x_l,  g = ReLU(x_l W + b),  t = σ(x_l W_t + b_t).

The arrays of L layers are stacked, so that a layer needs only one product: weights (L, d, 2d) have the columns of W,
then those of W_t, and offsets (L, 2d) have b, then b_t.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from w2vtrain.kernels.jit import inline, kernel

HALF, ONE = np.float32(0.5), np.float32(1)
TANH_IS_ONE_FROM = np.float32(7.9053111)
"""From this x on, tanh x is 1 in float32."""
P1, P3, P5, P7 = (np.float32(p) for p in (4.89352456e-3, 6.37261929e-4, 1.48572236e-5, 5.12229709e-8))
P9, P11, P13 = (np.float32(p) for p in (-8.60467152e-11, 2.00018790e-13, -2.76076848e-16))
Q0, Q2, Q4, Q6 = (np.float32(q) for q in (4.89352519e-3, 2.26843463e-3, 1.18534706e-4, 1.19825839e-6))
"""tanh x = (P1 x + P3 x³ + ...) / (Q0 + Q2 x² + ...), error below 3e-7. Eigen's formula, which LLVM can vectorize."""

INITIAL_CARRY_OFFSET = -2.0
"""Initial b_t, as in Kim et al. 2016: layers start by carrying 88% of their input through."""


class Unit(NamedTuple):
    """A kind of recurrent unit. Below, `size` is the number of units.

    offsets: the initial offset of each gate; there are as many gates as offsets, and a gate has `size` columns.
    vectors: vectors of `size` columns in a state, the first of which is the unit's output. kept: vectors that a step
    keeps for the backward step, the first of which are the gates.

    advance(states, products, parents, table, letters, following, gates): take one step. It fills following
    (n, B, vectors * size), and gates (n, B, kept * size).
        states (k, B, vectors * size): the previous states. products (k, B, gates * size): their outputs times the
        recurrent matrix. parents (n,): which of the k states each new state follows. letters (n,): the rows of table
        (letters, gates * size) that are the inputs.
    retreat(errors, states, by_states, gates, products): propagate errors (n, vectors * size) = -dL/d following back.
        Add -dL/d states to by_states (n, vectors * size), without the part that flows through the products. Replace the
        gates in the array of that name, (n, kept * size), by -dL/d of the table rows that were read, and products
        (n, gates * size) by -dL/d products. errors may be overwritten.
    """

    offsets: tuple[float, ...]
    vectors: int
    kept: int
    advance: Callable[..., None]
    retreat: Callable[..., None]

    @property
    def gates(self) -> int:
        """Return the number of gates."""
        return len(self.offsets)


def advance_gru(states, products, parents, table, letters, following, gates):
    """Take one step: s' = (1 - z) ⊙ c + z ⊙ s, with r, z = σ(x + p) and c = tanh(x + r ⊙ p), p = s R.

    gates: reset gate r, update gate z and candidate state c. The reset gate is applied after the product with R rather
    than before, so that each step needs only one product.
    """
    if gates.dtype == np.float32:
        _advance_gru(states, products, parents, table, letters, following, gates)
        return
    size = states.shape[2]
    read, kept = table[letters][:, None], products[parents]
    gates[..., : 2 * size] = 0.5 + 0.5 * np.tanh(0.5 * (read + kept)[..., : 2 * size])
    r, z, c = np.split(gates, 3, axis=2)
    c[:] = np.tanh(read[..., 2 * size :] + r * kept[..., 2 * size :])
    following[:] = c + z * (states[parents] - c)


def advance_lstm(states, products, parents, table, letters, following, gates):
    """Take one step: m' = f ⊙ m + i ⊙ c, s' = o ⊙ tanh(m'), with i, f, o = σ(x + p) and c = tanh(x + p), p = s R.

    Hochreiter & Schmidhuber 1997, "Long short-term memory"; the forget gate f is that of Gers, Schmidhuber & Cummins
    2000, "Learning to forget". A state is s, then the memory m. gates: i, f, o, the candidate c, and tanh(m').
    """
    if gates.dtype == np.float32:
        _advance_lstm(states, products, parents, table, letters, following, gates)
        return
    size = states.shape[2] // 2
    x = table[letters][:, None] + products[parents]
    gates[..., : 3 * size] = 0.5 + 0.5 * np.tanh(0.5 * x[..., : 3 * size])
    i, f, o, c, flat = np.split(gates, 5, axis=2)
    c[:] = np.tanh(x[..., 3 * size :])
    s, m = np.split(following, 2, axis=2)
    m[:] = f * states[parents][..., size:] + i * c
    flat[:] = np.tanh(m)
    s[:] = o * flat


@inline
def _tanh(x):
    x = TANH_IS_ONE_FROM if x > TANH_IS_ONE_FROM else x  # written so that NaN remains NaN
    x = -TANH_IS_ONE_FROM if x < -TANH_IS_ONE_FROM else x
    y = x * x
    odd = (((((P13 * y + P11) * y + P9) * y + P7) * y + P5) * y + P3) * y + P1
    return x * odd / (((Q6 * y + Q4) * y + Q2) * y + Q0)


@kernel()
def _advance_gru(states, products, parents, table, letters, following, gates):
    n, B, size = following.shape
    for i in range(n):
        read = table[letters[i]]
        for b in range(B):
            state, kept, gate, new = states[parents[i], b], products[parents[i], b], gates[i, b], following[i, b]
            # Short loops are four times faster than one, or than one over gate[j - 2 * size]: LLVM must see that
            # nothing overlaps. The same holds for the LSTM.
            for j in range(2 * size):
                gate[j] = HALF + HALF * _tanh(HALF * (read[j] + kept[j]))
            for j in range(size):
                gate[2 * size + j] = _tanh(read[2 * size + j] + gate[j] * kept[2 * size + j])
            for j in range(size):
                c = gate[2 * size + j]
                new[j] = c + gate[size + j] * (state[j] - c)


@kernel()
def _retreat_gru(errors, states, by_states, gates, products):
    n, size = errors.shape
    for i in range(n):
        error, state, by_state, gate, product = errors[i], states[i], by_states[i], gates[i], products[i]
        for j in range(size):
            by_state[j] += error[j] * gate[size + j]
        for j in range(size):
            z, c = gate[size + j], gate[2 * size + j]
            gate[size + j] = error[j] * (state[j] - c) * z * (ONE - z)
            gate[2 * size + j] = error[j] * (ONE - z) * (ONE - c * c)
        for j in range(size):
            r, by_c = gate[j], gate[2 * size + j]
            gate[j] = by_c * product[2 * size + j] * r * (ONE - r)
            product[2 * size + j] = by_c * r
        for j in range(2 * size):
            product[j] = gate[j]


@kernel()
def _advance_lstm(states, products, parents, table, letters, following, gates):
    n, B, width = following.shape
    size = width // 2
    for i in range(n):
        read = table[letters[i]]
        for b in range(B):
            state, kept, gate, new = states[parents[i], b], products[parents[i], b], gates[i, b], following[i, b]
            for j in range(3 * size):
                gate[j] = HALF + HALF * _tanh(HALF * (read[j] + kept[j]))
            for j in range(size):
                gate[3 * size + j] = _tanh(read[3 * size + j] + kept[3 * size + j])
            for j in range(size):
                new[size + j] = gate[size + j] * state[size + j] + gate[j] * gate[3 * size + j]
            for j in range(size):
                gate[4 * size + j] = _tanh(new[size + j])
            for j in range(size):
                new[j] = gate[2 * size + j] * gate[4 * size + j]


@kernel()
def _retreat_lstm(errors, states, by_states, gates, products):
    n, width = errors.shape
    size = width // 2
    for k in range(n):
        error, state, by_state, gate, product = errors[k], states[k], by_states[k], gates[k], products[k]
        for j in range(size):
            flat = gate[4 * size + j]
            error[size + j] += error[j] * gate[2 * size + j] * (ONE - flat * flat)
        for j in range(size):
            o = gate[2 * size + j]
            product[2 * size + j] = error[j] * gate[4 * size + j] * o * (ONE - o)
        for j in range(size):
            by_state[size + j] += error[size + j] * gate[size + j]
        for j in range(size):
            f = gate[size + j]
            product[size + j] = error[size + j] * state[size + j] * f * (ONE - f)
        for j in range(size):
            i = gate[j]
            product[j] = error[size + j] * gate[3 * size + j] * i * (ONE - i)
        for j in range(size):
            c = gate[3 * size + j]
            product[3 * size + j] = error[size + j] * gate[j] * (ONE - c * c)
        for j in range(4 * size):
            gate[j] = product[j]


UNITS = {
    "gru": Unit((0, 0, 0), 1, 3, advance_gru, _retreat_gru),
    "lstm": Unit((0, 1, 0, 0), 2, 5, advance_lstm, _retreat_lstm),  # it starts by remembering
}


@kernel()
def pool(words, letters, lengths, widths, sizes, table, offsets, line, pooled, places):
    """Set pooled (n, filters) to the maximum of ReLU(convolution) over the positions in each word.

    places (n, filters): the position of each maximum, or -1 if the maximum is 0. line (filters,) is working memory.
    """
    for i in range(len(words)):
        spelled, length = letters[words[i]], lengths[words[i]]
        first = column = 0
        for k in range(len(widths)):
            width, size = widths[k], sizes[k]
            best, where = pooled[i, first : first + size], places[i, first : first + size]
            z = line[:size]
            best[:] = 0
            where[:] = -1
            for t in range(max(length - width, 0) + 1):
                for f in range(size):
                    z[f] = offsets[first + f]
                for j in range(width):
                    products = table[spelled[t + j], column + j * size : column + (j + 1) * size]
                    for f in range(size):
                        z[f] += products[f]
                for f in range(size):
                    better = z[f] > best[f] or z[f] != z[f]  # NaN must not be ignored
                    best[f] = z[f] if better else best[f]
                    where[f] = t if better else where[f]
            first += size
            column += width * size


@kernel()
def unpool(words, letters, widths, sizes, places, by_pooled, by_table, by_offsets):
    """Compute the gradients of the table and the offsets from by_pooled (n, filters), those of the pooled features.

    by_table (alphabet, columns) is overwritten; by_offsets (filters,) is added to.
    """
    by_table[:] = 0
    for i in range(len(words)):
        spelled = letters[words[i]]
        first = column = 0
        for k in range(len(widths)):
            width, size = widths[k], sizes[k]
            for f in range(size):
                t = places[i, first + f]
                if t >= 0:
                    slope = by_pooled[i, first + f]
                    by_offsets[first + f] += slope
                    for j in range(width):
                        by_table[spelled[t + j], column + j * size + f] += slope
            first += size
            column += width * size


def initial_highway(layers: int, d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return initial weights (layers, d, 2d) and offsets (layers, 2d), both float64."""
    weights = rng.standard_normal((layers, d, 2 * d)) / np.sqrt(d)
    return weights, np.repeat([[0.0, INITIAL_CARRY_OFFSET]] * layers, d).reshape(layers, 2 * d)


def advance_highway(x: np.ndarray, gates: np.ndarray, weights: np.ndarray, offsets: np.ndarray) -> None:
    """Fill x[1:], where x is (L + 1, n, d), from the n rows in x[0]. Fill gates (L, n, 2d) with g, then t."""
    for layer, gate in enumerate(gates):
        np.dot(x[layer], weights[layer], out=gate)
        gate += offsets[layer]
        g, t = np.hsplit(gate, 2)
        np.maximum(g, 0, out=g)
        t *= 0.5
        np.tanh(t, out=t)  # σ(2u) = (1 + tanh u) / 2 does not overflow
        t += 1
        t *= 0.5
        np.subtract(g, x[layer], out=x[layer + 1])
        x[layer + 1] *= t
        x[layer + 1] += x[layer]


def retreat_highway(
    errors: np.ndarray, x: np.ndarray, gates: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Propagate errors (n, d) = -dL/dx[-1] back. Return -dL/dx[0] (n, d), -dL/dweights and -dL/doffsets.

    x, gates: as `advance_highway` filled them. gates are overwritten.
    """
    by_weights, by_offsets = np.empty_like(weights), np.empty_like(weights[:, 0])
    for layer, gate in reversed(list(enumerate(gates))):
        g, t = np.hsplit(gate, 2)
        by_t = errors * (g - x[layer]) * t * (1 - t)
        g[:] = np.where(g > 0, errors * t, 0)
        errors = errors * (1 - t)
        t[:] = by_t
        np.dot(x[layer].T, gate, out=by_weights[layer])
        np.sum(gate, axis=0, out=by_offsets[layer])
        errors += gate @ weights[layer].T
    return errors, by_weights, by_offsets
