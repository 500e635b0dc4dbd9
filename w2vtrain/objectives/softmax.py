"""The full softmax over the vocabulary (Bridle 1990).

It samples nothing and leaves out no word. Most other objectives avoid its sum over all words.
"""

import math

import numpy as np

from w2vtrain.objectives.contract import rates
from w2vtrain.probability.dense import RowObjective, Workspace, learn_softmax
from w2vtrain.probability.problem import Problem

GROUP = "structure"
DEFAULTS = rates(skipgram=0.05, cbow=0.05, cbow_corrected=0.05, vlbl=0.04)


class Softmax(RowObjective):
    """L = -log P(w|h), P(w|h) = exp(s_w) / Σ_v exp(s_v): g_v = [v=w] - P(v|h).

    Bridle 1990, "Probabilistic interpretation of feedforward classification network outputs". A step on a block of
    examples takes three matrix products.
    """

    @classmethod
    def build(cls, problem: Problem) -> "Softmax":
        """Start biases, if any, at the log-frequencies of the words."""
        return cls(problem.initial_rows(bias=problem.log_unigram()))

    def untrained_loss(self) -> float:
        return math.log(len(self.output))

    def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> tuple[float, np.ndarray]:
        return learn_softmax(self.output, H, targets, lr, work)


OBJECTIVE = Softmax
