"""CBOW with the gradient that differentiation gives: the mean of the context predicts the target."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numba import float32

from w2vtrain.architectures.cbow import mean_of_rows
from w2vtrain.architectures.contract import Layout
from w2vtrain.kernels.rows import add_to_rows


class CorrectedCbow(NamedTuple):
    """h = Σ_c r_c / n over the n context words; -dL/dr_c = -dL/dh / n.

    İrsoy, Benton & Stratos 2021, "Corrected CBOW performs as well as skip-gram".
    """

    window: int

    @classmethod
    def build(cls, layout: Layout, arrays: Mapping[str, np.ndarray]) -> "CorrectedCbow":
        """There is nothing to learn but the rows."""
        return cls(layout.window)

    def forward(self, w_in, window, example, hidden):
        """The mean of the context words' rows."""
        mean_of_rows(hidden, w_in, window)

    def backward(self, w_in, window, example, gradient, step):
        """Each row's share of the gradient."""
        add_to_rows(w_in, window.context, window.n, gradient, step / float32(window.n))


ARCHITECTURE = CorrectedCbow
