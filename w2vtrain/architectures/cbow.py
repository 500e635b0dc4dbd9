"""CBOW as in word2vec.c: the mean of the context words' input rows predicts the target word.

The positions of the context words make no difference.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numba import float32

from w2vtrain.architectures.contract import Layout
from w2vtrain.kernels.jit import inline
from w2vtrain.kernels.rows import HOT_INPUTS, add_to_rows, sum_rows


class Cbow(NamedTuple):
    """h = Σ_c r_c / n over the n context words; each r_c changes by all of -dL/dh, as in word2vec.c, not by 1/n of it.

    Mikolov, Chen, Corrado & Dean 2013, "Efficient estimation of word representations in vector space".
    """

    window: int

    @staticmethod
    def like() -> str:
        return "cbow"

    @classmethod
    def build(cls, layout: Layout, arrays: Mapping[str, np.ndarray]) -> "Cbow":
        return cls(layout.window)

    def hot_rows(self, rows: int) -> range:
        return range(min(HOT_INPUTS, rows))

    def forward(self, w_in, window, example, hidden):
        mean_of_rows(hidden, w_in, window)

    def backward(self, w_in, window, example, gradient, step):
        add_to_rows(w_in, window.context, window.n, gradient, step)


@inline
def mean_of_rows(hidden, w_in, window):
    """Write the mean of the context words' rows to hidden[0]."""
    sum_rows(hidden, w_in, window.context, window.n, float32(1) / float32(window.n))


ARCHITECTURE = Cbow
