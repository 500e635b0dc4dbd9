"""Sampled softmax over the target and words drawn at random for each block (Jean et al. 2015).

It never sums over all words, unless `samples` is 0.
"""

import numpy as np

from w2vtrain.probability.dense import RowObjective, Workspace, learn_subset
from w2vtrain.probability.problem import Problem, check_ranges
from w2vtrain.probability.sampling import alias_table, distinct_candidates, draw_words, noise_distribution

GROUP = "sampling"
DEFAULTS = {
    "skipgram": {"alpha": 0.05, "shuffle": True},
    "cbow": {"alpha": 0.05, "shuffle": True},
    "cbow-corrected": {"alpha": 0.05, "shuffle": True},
    "vlbl": {"alpha": 0.04, "shuffle": True},
}


class SampledSoftmax(RowObjective):
    """L = -log softmax of x_w among {x_v : v in S ∪ {w}}, x_v = s_v - log E(v): g_v = [v=w] - softmax(x)_v.

    Jean, Cho, Memisevic & Bengio 2015, "On using very large target vocabulary for neural machine translation"; also
    known as TensorFlow's candidate sampling. S is the set of distinct words among `samples` draws from Q, and the whole
    block shares it. E(v) = 1 - (1 - Q(v))^samples is the probability that S contains v. The target is a candidate
    exactly once, whether drawn or not. The targets of other examples are candidates only if drawn, because they follow
    the distribution of the text, not Q.

    samples: draws per block, with replacement; 0 takes all words without correction, which is the full softmax.
    ns_exponent: Q is proportional to the counts to this power.
    """

    def __init__(self, output: np.ndarray, noise: np.ndarray, samples: int) -> None:
        super().__init__(output)
        self.samples = samples
        self.accept, self.alias = alias_table(noise)
        with np.errstate(divide="ignore"):  # log(0): a vocabulary of one word, or samples=0 (all words)
            self.log_expected = np.log(-np.expm1(samples * np.log1p(-noise))).astype(output.dtype)

    @classmethod
    def build(cls, problem: Problem, *, samples: int = 1024, ns_exponent: float = 1.0) -> "SampledSoftmax":
        """Start biases, if any, at the log-frequencies of the words."""
        check_ranges("sampled-softmax", samples=(samples, 0, 1_000_000), ns_exponent=(ns_exponent, 0, 2))
        noise = noise_distribution(np.maximum(problem.counts, 1), ns_exponent)
        return cls(problem.initial_rows(bias=problem.log_unigram()), noise, samples)

    def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> tuple[float, np.ndarray]:
        if not self.samples:
            return learn_subset(self.output, np.arange(len(self.output)), H, targets, lr, work)
        drawn = work.array("drawn", (self.samples,), np.int32)
        draw_words(work.stream(), self.accept, self.alias, drawn)
        rows, places, times = distinct_candidates(drawn, targets)
        shift = np.where(times > 0, self.log_expected[rows], self.output.dtype.type(np.inf))
        return learn_subset(self.output, rows, H, places, lr, work, shift, self.log_expected[targets])


OBJECTIVE = SampledSoftmax
