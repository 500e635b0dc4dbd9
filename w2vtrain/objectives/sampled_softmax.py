"""Sampled softmax over the target and words drawn at random for each block (Jean et al. 2015).

It never sums over all words, unless `samples` is 0.
"""

import numpy as np

from w2vtrain.objectives.contract import rates
from w2vtrain.probability.dense import RowObjective, Workspace, learn_subset
from w2vtrain.probability.noise import alias_table, distinct_candidates, log_drawn, noise_distribution
from w2vtrain.probability.problem import Problem, bad_option, check_ranges
from w2vtrain.probability.random_streams import draw_words

GROUP = "sampling"
DEFAULTS = rates(skipgram=0.05, cbow=0.05, cbow_corrected=0.05, vlbl=0.04)


class SampledSoftmax(RowObjective):
    """L = -log softmax of x_w among {x_v : v in S ∪ {w}}, x_v = s_v - log E(v): g_v = [v=w] - softmax(x)_v.

    Jean, Cho, Memisevic & Bengio 2015, "On using very large target vocabulary for neural machine translation"; also
    known as TensorFlow's candidate sampling. S is the set of distinct words among `samples` draws from Q, and the whole
    block shares it. E(v) = 1 - (1 - Q(v))^samples is the probability that S contains v. The target is a candidate
    exactly once, whether drawn or not. The targets of other examples are candidates only if drawn, because they follow
    the distribution of the text, not Q.

    samples: draws per block, with replacement; 0 takes all words without correction, which is the full softmax.
    ns_exponent: Q is proportional to the counts to this power. in_batch: S is the set of the block's targets, treated
    as len(block) draws from the frequencies of words: the in-batch softmax with log-Q correction (Yi et al. 2019,
    "Sampling-bias-corrected neural modeling for large corpus item recommendations"; without the correction, InfoNCE,
    van den Oord et al. 2018). It cannot be combined with the options above. corrected: leave the target's score as it
    is, x_w = s_w, because the target is a candidate whether drawn or not. The sum over the candidates is then an
    unbiased estimate of Z, and -dL/ds is (1 - p_w) times the softmax over the candidates other than w: the corrected
    log-Q correction of Khrylchenko et al. 2025, "Correcting the LogQ correction: Revisiting sampled softmax for
    large-scale retrieval".
    """

    def __init__(self, output: np.ndarray, noise: np.ndarray, samples: int, corrected: bool, in_batch: bool) -> None:
        super().__init__(output)
        self.samples, self.corrected, self.in_batch, self.noise = samples, corrected, in_batch, noise
        self.accept, self.alias = alias_table(noise)
        self.log_expected = log_drawn(noise, samples).astype(output.dtype)

    @classmethod
    def build(
        cls, problem: Problem, *,
        samples: int = 1024, ns_exponent: float = 1.0, corrected: bool = False, in_batch: bool = False,
    ) -> "SampledSoftmax":  # fmt: skip
        """Start biases, if any, at the log-frequencies of the words."""
        check_ranges("sampled-softmax", samples=(samples, 0, 1_000_000), ns_exponent=(ns_exponent, 0, 2))
        if in_batch and (samples, ns_exponent) != (1024, 1.0):
            raise bad_option("sampled-softmax", "in_batch", "no words are drawn: leave out samples and ns_exponent")
        noise = noise_distribution(np.maximum(problem.counts, 1), ns_exponent)
        return cls(problem.initial_rows(bias=problem.log_unigram()), noise, samples, corrected, in_batch)

    def optimum(self, P: np.ndarray) -> np.ndarray | None:
        """Return P, or None with `corrected` or `in_batch`, which tend to it only with many draws."""
        return None if self.corrected or self.in_batch else P

    def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> tuple[float, np.ndarray]:
        if not (self.samples or self.in_batch):
            return learn_subset(self.output, np.arange(len(self.output)), H, targets, lr, work)
        drawn = targets
        if not self.in_batch:
            drawn = work.array("drawn", (self.samples,), np.int32)
            draw_words(work.stream(), self.accept, self.alias, drawn)
        rows, places, times = distinct_candidates(drawn, targets)
        if self.in_batch:
            expected = log_drawn(self.noise[rows], len(drawn)).astype(self.output.dtype)
        else:
            expected = self.log_expected[rows]
        shift = np.where(times > 0, expected, self.output.dtype.type(np.inf))
        own = np.zeros(len(targets), self.output.dtype) if self.corrected else expected[places]
        return learn_subset(self.output, rows, H, places, lr, work, shift, own)


OBJECTIVE = SampledSoftmax
