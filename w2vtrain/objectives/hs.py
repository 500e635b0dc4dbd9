"""Hierarchical softmax over a binary tree (Morin & Bengio 2005). It samples nothing and is exactly normalised."""

from typing import NamedTuple

import numpy as np
from numba import float32

from ..logistic import logistic_errors
from ..problem import Problem
from ..trees import huffman

DEFAULTS = {
    "skipgram": {"alpha": 0.025, "shuffle": False},
    "cbow": {"alpha": 0.05, "shuffle": True},
    "cbow-corrected": {"alpha": 0.1, "shuffle": True},
}


class Hierarchical(NamedTuple):
    """L = -Σ_n log σ((1-2c_n)·o_n·h) over the inner nodes n of the word's path: g_n = 1 - c_n - σ(o_n·h).

    Morin & Bengio 2005, "Hierarchical probabilistic neural network language model"; with Huffman's tree as in Mikolov
    et al. 2013. P(w|h) is the product along the path and sums to 1 over the words.
    """

    start: np.ndarray
    nodes: np.ndarray
    codes: np.ndarray

    @classmethod
    def build(cls, problem: Problem) -> "Hierarchical":
        """The tree that is meant, over the problem's words."""
        return cls(*huffman(problem.counts))

    def output_rows(self, size: int) -> int:
        """One row an inner node."""
        return size - 1

    @property
    def candidate_limit(self) -> int:
        """The longest path."""
        return int(np.diff(self.start).max())

    def arrays(self) -> dict[str, np.ndarray]:
        """The tree."""
        return {"tree.start": self.start, "tree.nodes": self.nodes, "tree.codes": self.codes}

    def candidates(self, sentence, position, rng, rows, labels, shifts):
        """The nodes of the target's path, labelled 1 - code."""
        target = sentence[position]
        first = self.start[target]
        m = self.start[target + 1] - first
        for p in range(m):
            rows[p] = self.nodes[first + p]
            labels[p] = float32(1) - float32(self.codes[first + p])
        return m

    def in_turn(self):
        """True: nodes near the root stand in every path; updates from old values overshoot, which costs a point."""
        return True

    def prefetch_from(self, m):
        """The last six nodes: those nearer to the root are in cache, and asking for them costs 7% of the speed."""
        return max(0, m - 6)

    def errors(self, logits, n, m, context, width, rows, labels, shifts, lr):
        """Coefficients g_n = 1 - c_n - σ(s_n)."""
        return logistic_errors(logits, n, m, labels, shifts, lr)


OBJECTIVE = Hierarchical
