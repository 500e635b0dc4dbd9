"""Highway layers: each mixes a transform of its input with the input itself, in learned proportions.

Srivastava, Greff & Schmidhuber 2015, "Highway networks". Layers l = 0, 1, ... compute x_l+1 from x_l, a row of d
values, as

    x_l+1 = t ⊙ g + (1 - t) ⊙ x_l,  g = ReLU(x_l W + b),  t = σ(x_l W_t + b_t).

The arrays of L layers are stacked, so that a layer needs only one product: weights (L, d, 2d) have the columns of W,
then those of W_t, and offsets (L, 2d) have b, then b_t.
"""

import numpy as np

CARRY = -2.0
"""Initial b_t, as in Kim et al. 2016: layers start by carrying 88% of their input through."""


def initial_highway(layers: int, d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return initial weights (layers, d, 2d) and offsets (layers, 2d), both float64."""
    weights = rng.standard_normal((layers, d, 2 * d)) / np.sqrt(d)
    return weights, np.repeat([[0.0, CARRY]] * layers, d).reshape(layers, 2 * d)


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
