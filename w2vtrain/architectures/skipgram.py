"""Skip-gram: each context word predicts the target word.

It does not combine context words: a hidden vector is the input row of one of them.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from w2vtrain.architectures.contract import Blend, Layout
from w2vtrain.kernels.rows import HOT_INPUTS, add_to_rows, sum_rows


class SkipGram(NamedTuple):
    """h = r_c, the input row of one context word c; -dL/dr_c = -dL/dh.

    Mikolov, Chen, Corrado & Dean 2013, "Efficient estimation of word representations in vector space".
    """

    window: int

    @staticmethod
    def pairs() -> bool:
        return True

    @staticmethod
    def in_place() -> bool:
        return True

    @staticmethod
    def like() -> str:
        return "skipgram"

    @staticmethod
    def blend() -> Blend:
        """Return a smaller share than CBOW's: larger ones lower the scores of inflections and verbs."""
        return Blend(share=0.1, words=2_000_000)

    @classmethod
    def build(cls, layout: Layout, arrays: Mapping[str, np.ndarray]) -> "SkipGram":
        return cls(layout.window)

    def hot_rows(self, rows: int) -> range:
        return range(min(HOT_INPUTS, rows))

    # For the block engine and for scoring; the window engine changes the rows themselves, because of `in_place`.
    def forward(self, w_in, window, example, hidden):
        sum_rows(hidden, w_in, window.context[example:], 1, np.float32(1))

    def backward(self, w_in, window, example, gradient, step):
        add_to_rows(w_in, window.context[example:], 1, gradient, step)


ARCHITECTURE = SkipGram
