"""Softmax with label smoothing (Szegedy et al. 2016). It scores all words, as the softmax does."""

import numpy as np

from w2vtrain.probability.dense import RowObjective, Workspace, add_product, softmax
from w2vtrain.probability.problem import Problem, check_ranges

GROUP = "structure"
DEFAULTS = {name: {"alpha": 0.05, "shuffle": True} for name in ("skipgram", "cbow", "cbow-corrected")}


class SmoothedSoftmax(RowObjective):
    """L = -(1-ε) log P(w|h) - ε/V Σ_v log P(v|h): g_v = (1-ε) [v=w] + ε/V - P(v|h).

    Szegedy, Vanhoucke, Ioffe, Shlens & Wojna 2016, "Rethinking the Inception architecture for computer vision".
    """

    def __init__(self, output: np.ndarray, epsilon: float) -> None:
        super().__init__(output)
        self.epsilon = epsilon

    @classmethod
    def build(cls, problem: Problem, *, epsilon: float = 0.1) -> "SmoothedSoftmax":
        """epsilon: the share of the target's label that is spread over all words."""
        check_ranges("smoothed", epsilon=(epsilon, 0, 1))
        return cls(problem.initial_rows(bias=problem.log_unigram()), epsilon)

    def optimum(self, P: np.ndarray) -> np.ndarray:
        """Return the smoothed probabilities (C, V), at which the loss is lowest."""
        return np.asarray((1 - self.epsilon) * P + self.epsilon / P.shape[1])

    def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> tuple[float, np.ndarray]:
        """Train on one block: H (B, width), targets (B,). Return the summed loss and -dL/dH (B, width)."""
        logits, lines, share = H @ self.output.T, np.arange(len(H)), self.epsilon / len(self.output)
        scores = (1 - self.epsilon) * logits[lines, targets] + share * logits.sum(axis=1)
        log_z = softmax(logits)  # logits now contains probabilities
        g = share - logits
        g[lines, targets] += 1 - self.epsilon
        dH = g @ self.output
        add_product(self.output, g, H, lr)
        return float((log_z - scores).sum()), dH


OBJECTIVE = SmoothedSoftmax
