"""The full softmax with a penalty on log Z, so that scores can do without Z. It still sums over all words to learn."""

from typing import Any

import numpy as np

from w2vtrain.probability.dense import RowObjective, RowScorer, Workspace, learn_softmax
from w2vtrain.probability.problem import Problem, check_ranges

DEFAULTS = {
    "skipgram": {"alpha": 0.025, "shuffle": True},
    "cbow": {"alpha": 0.025, "shuffle": True},
    "cbow-corrected": {"alpha": 0.025, "shuffle": True},
    "vlbl": {"alpha": 0.02, "shuffle": True},
}


class SelfNorm(RowObjective):
    """L = -log P(w|h) + penalty log² Z(h): g_v = [v=w] - P(v|h) (1 + 2 penalty log Z(h)), the last term within ±1.

    Devlin, Zbib, Huang, Lamar, Schwartz & Makhoul 2014, "Fast and robust neural network joint models for statistical
    machine translation". Learning costs what the full softmax costs; scoring trusts exp(s_w) alone, without Z.

    The penalty's slope is no steeper than the likelihood's own: beyond |log Z| = 1 / (2 penalty) it is linear. As a
    square, its gradients add up over a block's examples, and learning diverged at a quarter of the softmax's rate.

    penalty: α in the paper, 0.1 there; 0 is the softmax. With 1 the perplexity without Z is 2% off that with Z on the
    Penn Treebank, with 0.1 it is 20%, and either is as good.
    """

    def __init__(self, output: np.ndarray, penalty: float) -> None:
        super().__init__(output, normalized=False)
        self.penalty = penalty

    @classmethod
    def build(cls, problem: Problem, *, penalty: float = 1.0) -> "SelfNorm":
        """Biases, if there are any, start at the words' log-frequencies, hence Z near 1."""
        check_ranges("selfnorm", penalty=(penalty, 0, 100))
        return cls(problem.initial_rows(bias=problem.log_unigram()), penalty)

    def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> tuple[float, np.ndarray]:
        """Learn a block: H (B, width), targets (B,). Returns the summed loss and -dL/dH (B, width)."""
        return learn_softmax(self.output, H, targets, lr, work, np.full(len(H), 2 * self.penalty, H.dtype), 1.0)

    @classmethod
    def scorer(
        cls, problem: Problem, options: dict[str, Any], output: np.ndarray, arrays: dict[str, np.ndarray]
    ) -> RowScorer:
        """Scores by a trained model's output rows, trusted as log-probabilities."""
        return RowScorer(output, normalized=False)


OBJECTIVE = SelfNorm
