"""Negative sampling with noise words that a block of examples shares (Mikolov et al. 2013; Ji et al. 2016).

It is not a language model: nothing ties its scores to normalized probabilities.
"""

import numpy as np

from w2vtrain.objectives.contract import rates
from w2vtrain.probability.dense import RowObjective, Workspace, add_rows, learn_rows, log_one_plus, take_rows
from w2vtrain.probability.noise import alias_probabilities, alias_table, contrasted, noise_distribution
from w2vtrain.probability.problem import Problem, check_ranges
from w2vtrain.probability.random_streams import draw_words

GROUP = "discrimination"
DEFAULTS = rates(skipgram=0.05, cbow=0.075, cbow_corrected=0.15, vlbl=0.05)


def logistic(x: np.ndarray, work: Workspace) -> np.ndarray:
    """Replace x (any shape) with σ(x); return log(1 + exp(x)), which is valid until the next call."""
    soft = log_one_plus(x, work.array("softplus", x.shape, x.dtype))
    soft += np.maximum(x, 0, out=work.array("positive", x.shape, x.dtype))
    np.exp(np.subtract(x, soft, out=x), out=x)
    return soft


def check_sharing(objective: str, samples: int, negative: int, ns_exponent: float) -> None:
    """Raise ConfigError for an option of SharedNoise that is out of range."""
    sizes = {"samples": (samples, 1, 1_000_000), "negative": (negative, 0, 1_000_000)}
    check_ranges(objective, "{} is not between {} and {:,}", **sizes)
    check_ranges(objective, ns_exponent=(ns_exponent, -2, 2))


class SharedNoise(RowObjective):
    """L = -log σ(x_w) - k/S Σ_i log σ(-x_{v_i}), x = s - shift: g_w = σ(-x_w), g_{v_i} = -k/S σ(x_{v_i}).

    The S words v_i are drawn from `noise` (V,) once for all examples of a block, so the sum is a matrix product. With
    its weight k/S, the expected gradient is that of k draws per target, whatever S is.

    samples: S. k: the noise words per target that the sum stands for. shift (V,): zeros unless a subclass sets them.
    discard: whether an example ignores the draws that hit its own target. Its sum then has the weight k/(S - hits), so
    that the expected gradient is that of k draws of other words.
    """

    discard = False

    def __init__(self, output: np.ndarray, noise: np.ndarray, samples: int, k: int) -> None:
        super().__init__(output)
        self.accept, self.alias = alias_table(noise)
        self.samples, self.k, self.shift = samples, k, np.zeros(len(output), output.dtype)

    def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> tuple[float, np.ndarray]:
        own = take_rows(self.output, targets, work, "own")
        g_own = self.shift[targets] - np.einsum("bd,bd->b", H, own)
        loss = float(logistic(g_own, work).sum(dtype=np.float64))
        drawn = work.array("drawn", (self.samples,), np.int32)
        draw_words(work.stream(), self.accept, self.alias, drawn)
        words, times = np.unique(drawn, return_counts=True)
        noise = take_rows(self.output, words, work, "noise")
        g = np.dot(H, noise.T, out=work.array("scores", (len(H), len(words)), H.dtype))
        g -= self.shift[words]
        weights = self._weights(g, targets, words, times)
        times = times.astype(H.dtype)
        loss += float(weights.astype(np.float64) @ (logistic(g, work) @ times))
        g *= times
        g *= -weights[:, None]
        dH = np.dot(g, noise)
        dH += g_own[:, None] * own
        learn_rows(self.output, words, g, H, lr, work)
        add_rows(self.output, targets, g_own[:, None] * H, self.output.dtype.type(lr))
        return loss, dH

    def _weights(self, x: np.ndarray, targets: np.ndarray, words: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Return the weight of each example's sum, (B,). Set discarded elements of x (B, n) to minus infinity.

        words (n,): the distinct words among the draws, sorted; times (n,): how often each was drawn.
        """
        weights = np.full(len(x), self.k / self.samples, x.dtype)
        if self.discard:
            columns = np.searchsorted(words, targets).clip(max=len(words) - 1)
            lines = np.flatnonzero(words[columns] == targets)
            x[lines, columns[lines]] = -np.inf
            weights[lines] = self.k / np.maximum(self.samples - times[columns[lines]], 1)  # not 0 if no draw is left
        return weights


class BlockNegative(SharedNoise):
    """L = -log σ(s_w) - k/(S - c) Σ_{v_i ≠ w} log σ(-s_{v_i}): g_w = σ(-s_w), g_{v_i} = -k/(S - c) σ(s_{v_i}).

    Mikolov, Sutskever, Chen, Corrado & Dean 2013, "Distributed representations of words and phrases and their
    compositionality"; noise shared by many examples: Ji, Satish, Li & Dubey 2016, "Parallelizing word2vec in shared and
    distributed memory". The loss is that of `neg`, but all examples of a block share the same S draws from Q. An
    example ignores the c draws that hit its target w, whereas `neg` replaces such draws. With its weight k/(S - c), the
    sum stands for k noise words, and the expected gradient is that of `neg`.
    """

    discard = True

    @staticmethod
    def is_language_model() -> bool:
        """Return False: see neg."""
        return False

    @classmethod
    def build(
        cls, problem: Problem, *, samples: int = 64, negative: int = 5, ns_exponent: float = 0.75
    ) -> "BlockNegative":
        """samples: S, the noise words per block. ns_exponent: Q is proportional to the counts to this power.

        negative: k, the noise words per target that the S words stand for; 0 means S.
        """
        check_sharing("block-neg", samples, negative, ns_exponent)
        noise = noise_distribution(np.maximum(problem.counts, 1), ns_exponent)
        return cls(problem.initial_rows(), noise, samples, negative or samples)

    def optimum(self, P: np.ndarray) -> np.ndarray:
        return contrasted(P, alias_probabilities(self.accept, self.alias))


OBJECTIVE = BlockNegative
