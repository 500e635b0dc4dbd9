"""CBOW with the true gradient: the mean of the context words' input rows predicts the target word.

The positions of the context words make no difference.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numba import float32

from w2vtrain.architectures.cbow import mean_of_rows
from w2vtrain.architectures.contract import Layout
from w2vtrain.kernels.rows import HOT_INPUTS, add_to_rows


class CorrectedCbow(NamedTuple):
    """h = Σ_c r_c / n over the n context words; -dL/dr_c = -dL/dh / n.

    İrsoy, Benton & Stratos 2021, "Corrected CBOW performs as well as skip-gram".
    """

    window: int

    @classmethod
    def build(cls, layout: Layout, arrays: Mapping[str, np.ndarray]) -> "CorrectedCbow":
        return cls(layout.window)

    def hot_rows(self, rows: int) -> range:
        return range(min(HOT_INPUTS, rows))

    def forward(self, w_in, window, example, hidden):
        mean_of_rows(hidden, w_in, window)

    def backward(self, w_in, window, example, gradient, step):
        add_to_rows(w_in, window.context, window.n, gradient, step / float32(window.n))


ARCHITECTURE = CorrectedCbow
