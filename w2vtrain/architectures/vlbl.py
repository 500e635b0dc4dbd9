"""The vector log-bilinear language model: a sum of the context weighted by position. It is a language model's input."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numba import float32

from w2vtrain.architectures.contract import Layout
from w2vtrain.kernels.jit import inline
from w2vtrain.kernels.rows import padded_rows

POSITION_RATE = 0.1
"""Position weights learn at this part of the rate: every example changes them."""


class Vlbl(NamedTuple):
    """h = Σ_c p_i(c) ⊙ r_c, p_i the weights of the context word's position; -dL/dr_c = p_i ⊙ -dL/dh.

    Mnih & Kavukcuoglu 2013, "Learning word embeddings efficiently with noise-contrastive estimation".
    context_weights (2 window, columns): first the positions before the target, nearest first, then those after it.
    They start from 1.
    """

    window: int
    context_weights: np.ndarray

    @staticmethod
    def fixed_positions() -> bool:
        """Each position has weights of its own."""
        return True

    @classmethod
    def build(cls, layout: Layout, arrays: Mapping[str, np.ndarray]) -> "Vlbl":
        """Weights of 1, or those of a trained model."""
        weights = arrays.get("context_weights")
        if weights is None:
            weights = padded_rows(2 * layout.window, layout.width)
            weights[:, : layout.dim] = 1
        return cls(layout.window, weights)

    def learned(self) -> dict[str, np.ndarray]:
        """The position weights."""
        return {"context_weights": self.context_weights}

    def forward(self, w_in, window, example, hidden):
        """The weighted sum of the context words' rows."""
        hidden[0, :] = float32(0)
        for i in range(window.n):
            row, weight = w_in[window.context[i]], self.context_weights[position(i, window.left, self.window)]
            for c in range(min(len(row), len(weight))):
                hidden[0, c] += weight[c] * row[c]

    def backward(self, w_in, window, example, gradient, step):
        """Rows and weights, each by the other's old value."""
        for i in range(window.n):
            row, weight = w_in[window.context[i]], self.context_weights[position(i, window.left, self.window)]
            for c in range(len(row)):
                change = step * gradient[0, c]
                slope = change * row[c]
                row[c] += change * weight[c]
                weight[c] += float32(POSITION_RATE) * slope


@inline
def position(i, left, window):
    """Return the row of the position weights for context word i, the first `left` of which come before the target."""
    return left - 1 - i if i < left else window + i - left


ARCHITECTURE = Vlbl
