"""Noise-contrastive estimation with noise words that a block of examples shares (Zoph, Vaswani, May & Knight 2016).

The scores of all examples against the noise are one matrix product.
"""

import numpy as np

from w2vtrain.objectives.block_neg import SharedNoise, check_sharing
from w2vtrain.objectives.contract import rates
from w2vtrain.probability.dense import RowScorer
from w2vtrain.probability.noise import noise_distribution
from w2vtrain.probability.problem import Arrays, Options, Problem

GROUP = "discrimination"
DEFAULTS = rates(skipgram=0.025, cbow=0.05, cbow_corrected=0.1, vlbl=0.05)


class BlockNoiseContrastive(SharedNoise):
    """L = -log σ(x_w) - k/S Σ_i log σ(-x_{v_i}), x_v = s_v - log(k·Q(v)): g_w = σ(-x_w), g_{v_i} = -k/S σ(x_{v_i}).

    Zoph, Vaswani, May & Knight 2016, "Simple, fast noise-contrastive estimation for large RNN vocabularies";
    Jozefowicz, Vinyals, Schuster, Shazeer & Wu 2016, "Exploring the limits of language modeling". The loss is that of
    `nce` with Z fixed at 1, but all examples of a block share the same S draws from Q. The sum over them is weighted by
    k/S, so the expected gradient is that of `nce` with k noise words per target. If Z(h) is 1, the expected gradient
    tends to that of the softmax as k grows. A draw that hits a target is kept, as the theory requires.

    The papers take k = S. A smaller k allows higher learning rates: where Z(h) is far above 1, the coefficients of the
    noise words add up to as much as k per example, and the examples of a block add up, too. On 6,000 lines of the Penn
    Treebank, blocks of 32 diverged at a rate of 0.025 with k = 100 and S = 256; with k = 25, they diverged at 0.07 but
    not at 0.05.
    """

    def __init__(self, output: np.ndarray, noise: np.ndarray, samples: int, k: int) -> None:
        super().__init__(output, noise, samples, k)
        self.normalized, self.shift = False, np.log(k * noise).astype(output.dtype)

    @classmethod
    def build(
        cls, problem: Problem, *, samples: int = 256, negative: int = 25, ns_exponent: float = 1.0
    ) -> "BlockNoiseContrastive":
        """samples: S, the noise words per block. ns_exponent: Q is proportional to the counts to this power.

        negative: k, the noise words per target that the S words stand for; 0 means S, as in the papers.

        Biases, if any, start at the log-frequencies of the words, because scores should be log-probabilities.
        """
        check_sharing("block-nce", samples, negative, ns_exponent)
        noise = noise_distribution(np.maximum(problem.counts, 1), ns_exponent)
        return cls(problem.initial_rows(bias=problem.log_unigram()), noise, samples, negative or samples)

    @classmethod
    def scorer(cls, problem: Problem, options: Options, output: np.ndarray, arrays: Arrays) -> RowScorer:
        return RowScorer(output, normalized=False)


OBJECTIVE = BlockNoiseContrastive
