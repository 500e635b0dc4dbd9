"""Self-normalization: the full softmax with a penalty on log Z, so that scoring can skip Z (Devlin et al. 2014).

Training still sums over all words.
"""

import numpy as np

from w2vtrain.objectives.contract import rates
from w2vtrain.probability.dense import RowObjective, RowScorer, Workspace, learn_softmax
from w2vtrain.probability.problem import Arrays, Options, Problem, check_ranges

GROUP = "self-normalization"
DEFAULTS = rates(skipgram=0.025, cbow=0.025, cbow_corrected=0.025, vlbl=0.02)


class SelfNorm(RowObjective):
    """L = -log P(w|h) + penalty log² Z(h): g_v = [v=w] - P(v|h) (1 + 2 penalty log Z(h)), the last term within ±1.

    Devlin, Zbib, Huang, Lamar, Schwartz & Makhoul 2014, "Fast and robust neural network joint models for statistical
    machine translation". A training step costs as much as with the full softmax. Scoring uses exp(s_w) as the
    probability, without Z.

    The penalty is quadratic up to |log Z| = 1 / (2 penalty) and linear beyond, so its slope never exceeds that of the
    likelihood. A purely quadratic penalty diverged at a quarter of the learning rate that the softmax tolerates,
    because its gradients add up over the examples of a block.

    penalty: α in the paper, which uses 0.1; 0 is the softmax. With penalty 1, the perplexity without Z is close to
    the exact one; with 0.1 it is not, but the exact one is a little lower and higher learning rates work.
    """

    def __init__(self, output: np.ndarray, penalty: float) -> None:
        super().__init__(output)
        self.penalty = penalty

    @classmethod
    def build(cls, problem: Problem, *, penalty: float = 1.0) -> "SelfNorm":
        """Start biases, if any, at the log-frequencies of the words, so that Z starts near 1."""
        check_ranges("selfnorm", penalty=(penalty, 0, 100))
        return cls(problem.initial_rows(bias=problem.log_unigram()), penalty)

    def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> tuple[float, np.ndarray]:
        return learn_softmax(self.output, H, targets, lr, work, np.full(len(H), 2 * self.penalty, H.dtype), 1.0)

    @classmethod
    def scorer(cls, problem: Problem, options: Options, output: np.ndarray, arrays: Arrays) -> RowScorer:
        return RowScorer(output, normalized=False)


OBJECTIVE = SelfNorm
