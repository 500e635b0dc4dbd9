"""The vector log-bilinear model (vLBL): a sum of the context words' rows, weighted by position.

This is only the input side of that language model; any objective can score its hidden vectors.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numba import float32

from w2vtrain.architectures.contract import Layout, rate_scale_of_sum
from w2vtrain.kernels.jit import inline
from w2vtrain.kernels.rows import HOT_INPUTS, padded_rows

POSITION_RATE = 0.1
"""Position weights learn at this fraction of the learning rate, because every example changes them."""


class Vlbl(NamedTuple):
    """h = Σ_c p_i(c) ⊙ r_c, where p_i(c) are the weights of context word c's position; -dL/dr_c = p_i(c) ⊙ -dL/dh.

    Mnih & Kavukcuoglu 2013, "Learning word embeddings efficiently with noise-contrastive estimation".

    With --window above 50, a window with n > 10 context words uses 10 / n of the learning rate.

    context_weights (2 window, columns) float32: one row per position, all 1 at the start. The positions before the
    target come first, then those after it, both in order of distance from the target.
    """

    window: int
    context_weights: np.ndarray

    @staticmethod
    def fixed_positions() -> bool:
        return True

    @classmethod
    def build(cls, layout: Layout, arrays: Mapping[str, np.ndarray]) -> "Vlbl":
        weights = arrays.get("context_weights")
        if weights is None:
            weights = padded_rows(2 * layout.window, layout.width)
            weights[:, : layout.dim] = 1
        return cls(layout.window, weights)

    def learned(self) -> dict[str, np.ndarray]:
        return {"context_weights": self.context_weights}

    def hot_rows(self, rows: int) -> range:
        return range(min(HOT_INPUTS, rows))

    def rate_scale(self, n):
        return rate_scale_of_sum(self.window, n)

    def forward(self, w_in, window, example, hidden):
        hidden[0, :] = float32(0)
        for i in range(window.n):
            row, weight = w_in[window.context[i]], self.context_weights[position(i, window.left, self.window)]
            for c in range(min(len(row), len(weight))):
                hidden[0, c] += weight[c] * row[c]

    def backward(self, w_in, window, example, gradient, step):
        """Update rows and position weights, each from the other's old value.

        If a word occurs twice in the window, its second position learns from the row that the first has changed.
        """
        for i in range(window.n):
            row, weight = w_in[window.context[i]], self.context_weights[position(i, window.left, self.window)]
            for c in range(len(row)):
                change = step * gradient[0, c]
                slope = change * row[c]
                row[c] += change * weight[c]
                weight[c] += float32(POSITION_RATE) * slope


@inline
def position(i, left, window):
    """Return the row of context_weights for context word i; the first `left` words come before the target."""
    return left - 1 - i if i < left else window + i - left


ARCHITECTURE = Vlbl
