"""Self-normalization that computes Z for a random fraction of the examples only (Andreas & Klein 2015).

This saves most of the sums over all words in training. The fraction is chosen at random, independently of the examples.
"""

import numpy as np

from w2vtrain.objectives.contract import rates
from w2vtrain.probability.dense import (
    RowObjective,
    RowScorer,
    ShiftedScorer,
    Workspace,
    add_product,
    add_rows,
    bounded_square,
    learn_softmax,
    scaled_softmax,
)
from w2vtrain.probability.problem import Arrays, Options, Problem, bad_option, check_ranges

GROUP = "self-normalization"
DEFAULTS = rates(skipgram=0.02, cbow=0.02, cbow_corrected=0.02, vlbl=0.02)
LIKELIHOODS = ("unnormalized", "full")


def rest(penalty: float, likelihood: str) -> float:
    """Return the value that log Z converges to: the unnormalized likelihood raises it until 2 penalty log Z = 1."""
    return 0.0 if likelihood == "full" else 1 / (2 * penalty)


class InfrequentNorm(RowObjective):
    """L = -s_w + penalty/gamma [sampled] log² Z(h): g_v = [v=w] - 1/gamma [sampled] (2 penalty log Z(h)) P(v|h).

    Andreas & Klein 2015, "When and why are log-linear models self-normalizing?". An example is sampled with
    probability gamma, and [sampled] is 1 or 0. An example that is not sampled changes only the target's row, so a step
    costs about gamma times as much as with the full softmax. With likelihood "full", the first term is -log P(w|h)
    instead of -s_w, which needs Z for every example.

    Scoring needs no Z, as with selfnorm. With the unnormalized likelihood, log Z settles around 1 / (2 penalty), not 0:
    at that value, the expected coefficients sum to 0 and equal those of the softmax. The scorer subtracts this constant
    from every score.

    2 penalty log Z is clipped to within 1 of its final value, which is 0 for the full likelihood and 1 for the
    unnormalized one. This makes the penalty linear far from that value, as in selfnorm; without it, training diverged
    at a quarter of the learning rate.

    gamma: fraction of the examples that are penalized. penalty: α in the papers; at least 0.01 if the likelihood is
    unnormalized. likelihood: unnormalized or full.
    """

    def __init__(self, output: np.ndarray, penalty: float, gamma: float, likelihood: str) -> None:
        super().__init__(output)
        self.penalty, self.gamma, self.likelihood = penalty, gamma, likelihood

    @classmethod
    def build(
        cls, problem: Problem, *, gamma: float = 0.1, penalty: float = 0.1, likelihood: str = "unnormalized"
    ) -> "InfrequentNorm":
        """Start biases, if any, at the log-frequencies of the words plus the value that log Z converges to."""
        if likelihood not in LIKELIHOODS:
            raise bad_option("infrequent-norm", "likelihood", f"{likelihood!r} is not one of {', '.join(LIKELIHOODS)}")
        least = 0 if likelihood == "full" else 0.01  # only the penalty limits the scores
        check_ranges("infrequent-norm", gamma=(gamma, 1e-6, 1), penalty=(penalty, least, 100))
        bias = problem.log_unigram() + np.float32(rest(penalty, likelihood))
        return cls(problem.initial_rows(bias=bias), penalty, gamma, likelihood)

    def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> tuple[float, np.ndarray]:
        # Fixed except for rounding: a random count per block made log Z drift and training diverge at lower rates.
        count = int(self.gamma * len(H) + work.rng.random())
        sampled = np.sort(work.rng.permutation(len(H))[:count])
        learn = self._full if self.likelihood == "full" else self._unnormalized
        return learn(H, targets, sampled, lr, work)

    def _full(
        self, H: np.ndarray, targets: np.ndarray, sampled: np.ndarray, lr: float, work: Workspace
    ) -> tuple[float, np.ndarray]:
        slope = np.zeros(len(H), H.dtype)
        slope[sampled] = 2 * self.penalty / self.gamma
        return learn_softmax(self.output, H, targets, lr, work, slope, 1 / self.gamma)

    def _unnormalized(
        self, H: np.ndarray, targets: np.ndarray, sampled: np.ndarray, lr: float, work: Workspace
    ) -> tuple[float, np.ndarray]:
        dH = self.output[targets]
        loss = -float(np.einsum("bd,bd->", H, dH, dtype=np.float64))
        some = H[sampled]
        g = work.array("logits", (len(some), len(self.output)), H.dtype)
        np.dot(some, self.output.T, out=g)
        slope, most = np.full(len(some), 2 * self.penalty / self.gamma, H.dtype), 2 / self.gamma
        log_z = scaled_softmax(g, 0.0, -slope, (-most, 0.0))
        dH[sampled] += np.dot(g, self.output)
        add_product(self.output, g, some, lr)
        add_rows(self.output, targets, H, self.output.dtype.type(lr))
        return loss + float(bounded_square(log_z, slope, 0.0, most).sum(dtype=np.float64)), dH

    @classmethod
    def scorer(cls, problem: Problem, options: Options, output: np.ndarray, arrays: Arrays) -> RowScorer:
        return ShiftedScorer(output, rest(options["penalty"], options["likelihood"]))


OBJECTIVE = InfrequentNorm
