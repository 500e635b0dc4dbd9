"""Negative sampling with noise words that a block of examples shares (Mikolov et al. 2013; Ji et al. 2016).

It is not a language model: nothing ties its scores to normalized probabilities.
"""

import numpy as np

from w2vtrain.probability.problem import Problem
from w2vtrain.probability.sampling import alias_probabilities, contrasted, noise_distribution
from w2vtrain.probability.shared_noise import SharedNoise, check_sharing

GROUP = "discrimination"
DEFAULTS = {
    "skipgram": {"alpha": 0.05, "shuffle": True},
    "cbow": {"alpha": 0.075, "shuffle": True},
    "cbow-corrected": {"alpha": 0.15, "shuffle": True},
    "vlbl": {"alpha": 0.05, "shuffle": True},
}


class BlockNegative(SharedNoise):
    """L = -log σ(s_w) - k/(S - c) Σ_{v_i ≠ w} log σ(-s_{v_i}): g_w = σ(-s_w), g_{v_i} = -k/(S - c) σ(s_{v_i}).

    Mikolov, Sutskever, Chen, Corrado & Dean 2013, "Distributed representations of words and phrases and their
    compositionality"; noise shared by many examples: Ji, Satish, Li & Dubey 2016, "Parallelizing word2vec in shared
    and distributed memory". The loss is that of `neg`, but all examples of a block share the same S draws from Q. An
    example ignores the c draws that hit its target w, whereas `neg` repeats such draws. With its weight k/(S - c), the
    sum stands for k noise words, and the expected gradient is that of `neg`.
    """

    discard = True

    @classmethod
    def build(
        cls, problem: Problem, *, samples: int = 64, negative: int = 5, ns_exponent: float = 0.75
    ) -> "BlockNegative":
        """samples: S, the noise words per block. ns_exponent: Q is proportional to the counts to this power.

        negative: k, the noise words per target that the S words stand for; 0 stands for S.
        """
        check_sharing("block-neg", samples, negative, ns_exponent)
        noise = noise_distribution(np.maximum(problem.counts, 1), ns_exponent)
        return cls(problem.initial_rows(), noise, samples, negative or samples)

    def optimum(self, P: np.ndarray) -> np.ndarray:
        """Return the probabilities that training converges to: see probability.sampling.contrasted."""
        return contrasted(P, alias_probabilities(self.accept, self.alias))


OBJECTIVE = BlockNegative
