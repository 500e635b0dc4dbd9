"""Self-normalization that looks at Z for a share of the examples only. What it saves is learning's sum over all words.

It decides by chance which examples those are, not by what they are.
"""

from typing import Any

import numpy as np

from w2vtrain.errors import ConfigError
from w2vtrain.probability.dense import (
    RowObjective,
    RowScorer,
    Workspace,
    add_product,
    bounded_square,
    learn_softmax,
    scaled_softmax,
)
from w2vtrain.probability.problem import Problem, check_ranges
from w2vtrain.probability.subset import add_rows

DEFAULTS = {
    "skipgram": {"alpha": 0.02, "shuffle": True},
    "cbow": {"alpha": 0.02, "shuffle": True},
    "cbow-corrected": {"alpha": 0.02, "shuffle": True},
    "vlbl": {"alpha": 0.02, "shuffle": True},
}
LIKELIHOODS = ("unnormalized", "full")


def rest(penalty: float, likelihood: str) -> float:
    """Return the value that log Z converges to: the unnormalized likelihood pulls it up until 2 penalty log Z = 1."""
    return 0.0 if likelihood == "full" else 1 / (2 * penalty)


class ShiftedScorer(RowScorer):
    """Scores less a constant, trusted as log-probabilities."""

    def __init__(self, output: np.ndarray, shift: float) -> None:
        super().__init__(output, normalized=False)
        self.shift = output.dtype.type(shift)

    def scores(self, H: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of hidden vectors H (B, width) and targets (B,): shifted log-scores (B,) and their exact log Z (B,)."""
        raw, log_z = super().scores(H, targets)
        return raw, log_z - self.shift

    def raw(self, H: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """o_w·h less the constant, (B,)."""
        return np.asarray(super().raw(H, targets) - self.shift)


class InfrequentNorm(RowObjective):
    """L = -s_w + penalty/gamma [sampled] log² Z(h): g_v = [v=w] - 1/gamma [sampled] (2 penalty log Z(h)) P(v|h).

    Andreas & Klein 2015, "When and why are log-linear models self-normalizing?". An example is sampled with
    probability gamma. Those that are not touch the target's row alone, so that a step costs about gamma of the full
    softmax's; with likelihood "full" the first term is -log P(w|h), which needs Z for every example.

    Scored without Z, as selfnorm is. Unnormalized, the coefficients sum to 0 not at log Z = 0 but where log Z is
    1 / (2 penalty) on average, and are those of the softmax there: the scorer takes that much off each score.

    2 penalty log Z is kept within ±1 of where it rests, so that the penalty is linear far from there, as selfnorm's is:
    learning diverged at a quarter of the rate that it bears so.

    gamma: share of examples that are penalized; penalty: α in the papers, at least 0.01 where the likelihood is
    unnormalized; likelihood: unnormalized or full.
    """

    def __init__(self, output: np.ndarray, penalty: float, gamma: float, likelihood: str) -> None:
        super().__init__(output, normalized=False)
        self.penalty, self.gamma, self.likelihood = penalty, gamma, likelihood

    @classmethod
    def build(
        cls, problem: Problem, *, gamma: float = 0.1, penalty: float = 0.1, likelihood: str = "unnormalized"
    ) -> "InfrequentNorm":
        """Biases, if there are any, start at the words' log-frequencies, hence log Z where it rests."""
        if likelihood == "unnormalised":  # as models of earlier versions spell it
            likelihood = "unnormalized"
        if likelihood not in LIKELIHOODS:
            raise ConfigError(
                f"option likelihood of objective infrequent-norm: {likelihood!r} is not one of {', '.join(LIKELIHOODS)}"
            )
        least = 0 if likelihood == "full" else 0.01  # nothing else keeps the scores from growing
        check_ranges("infrequent-norm", gamma=(gamma, 1e-6, 1), penalty=(penalty, least, 100))
        bias = problem.log_unigram() + np.float32(rest(penalty, likelihood))
        return cls(problem.initial_rows(bias=bias), penalty, gamma, likelihood)

    def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> tuple[float, np.ndarray]:
        """Learn a block: H (B, width), targets (B,). Returns the summed loss and -dL/dH (B, width)."""
        # As many in every block: chance in their number made log Z drift, and divergence come at a lower rate.
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
    def scorer(
        cls, problem: Problem, options: dict[str, Any], output: np.ndarray, arrays: dict[str, np.ndarray]
    ) -> RowScorer:
        """Scores by a trained model's output rows, less what log Z comes to rest at, trusted as log-probabilities."""
        return ShiftedScorer(output, rest(options["penalty"], options["likelihood"]))


OBJECTIVE = InfrequentNorm
