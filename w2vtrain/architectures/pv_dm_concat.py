"""PV-DM with concatenation: the vectors of a document's tags and the context words, side by side, predict the target.

The output rows are as wide: a word has output weights of its own for each position of the window.
"""

import sys
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numba import float32, int64

from w2vtrain.architectures.contract import Blend, Layout
from w2vtrain.kernels.jit import inline
from w2vtrain.kernels.rows import HOT_INPUTS


class PvDmConcat(NamedTuple):
    """h = [Σ_t d_t; r_1; ...; r_2w], where r_i is the row of the word at position i of the window, in text order.

    A position beyond the sentence has zeros. A row changes by its part of -dL/dh: -dL/dr_i is part i, and each -dL/dd_t
    part 0. Le & Mikolov 2014, "Distributed representations of sentences and documents", section 2.2.
    """

    window: int
    dim: int

    @staticmethod
    def fixed_positions() -> bool:
        return True

    @staticmethod
    def concatenated(window: int) -> int:
        return 1 + 2 * window

    @staticmethod
    def uses_tags() -> bool:
        return True

    @staticmethod
    def like() -> str:
        """Use the default learning rates of skip-gram, whose gradients of rows are as large."""
        return "skipgram"

    @staticmethod
    def blend() -> Blend:
        """Return a blend that no text prefers: input and output vectors have different sizes."""
        return Blend(share=0, words=sys.maxsize)

    @classmethod
    def build(cls, layout: Layout, arrays: Mapping[str, np.ndarray]) -> "PvDmConcat":
        return cls(layout.window, layout.dim)

    def hot_rows(self, rows: int) -> range:
        return range(min(HOT_INPUTS, rows))

    def forward(self, w_in, window, example, hidden):
        hidden[0, :] = float32(0)
        for i in range(window.n):
            row, first = window.context[i], self.dim * part_of(i, self.window)
            if row >= 0:
                for c in range(self.dim):
                    hidden[0, first + c] += w_in[row, c]

    def backward(self, w_in, window, example, gradient, step):
        for i in range(window.n):
            row, first = window.context[i], self.dim * part_of(i, self.window)
            if row >= 0:
                for c in range(self.dim):
                    w_in[row, c] += step * gradient[0, first + c]


@inline
def part_of(i, window):
    """Return which part of the hidden vector entry i of a window is: the tags, which come last, are part 0."""
    return int64(i + 1 if i < 2 * window else 0)


ARCHITECTURE = PvDmConcat
