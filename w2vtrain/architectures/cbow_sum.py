"""CBOW with a sum: the sum of the context words' input rows predicts the target word.

The positions of the context words make no difference.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numba import float32

from w2vtrain.architectures.contract import Layout, rate_scale_of_sum
from w2vtrain.kernels.rows import HOT_INPUTS, add_to_rows, sum_rows


class CbowSum(NamedTuple):
    """h = Σ_c r_c over the context words; -dL/dr_c = -dL/dh.

    Mikolov, Chen, Corrado & Dean 2013, "Efficient estimation of word representations in vector space", with the sum in
    place of the mean, as gensim with cbow_mean=0. The more context words a window has, the longer its hidden vector and
    the larger its step; with --window above 50, a window with n > 10 context words uses 10 / n of the learning rate.
    gensim divides this step by the number of context words, which scores lower at every learning rate that was tried:
    docs/laboratory.md has the figures.
    """

    window: int

    @staticmethod
    def like() -> str:
        """Use the default learning rates of skip-gram, since those of CBOW are too high for a sum."""
        return "skipgram"

    @classmethod
    def build(cls, layout: Layout, arrays: Mapping[str, np.ndarray]) -> "CbowSum":
        return cls(layout.window)

    def hot_rows(self, rows: int) -> range:
        return range(min(HOT_INPUTS, rows))

    def rate_scale(self, n):
        return rate_scale_of_sum(self.window, n)

    def forward(self, w_in, window, example, hidden):
        sum_rows(hidden, w_in, window.context, window.n, float32(1))

    def backward(self, w_in, window, example, gradient, step):
        add_to_rows(w_in, window.context, window.n, gradient, step)


ARCHITECTURE = CbowSum
