"""Softmax over the target and words drawn at random for a block (Jean et al. 2015). It never sums over all words."""

import numpy as np

from w2vtrain.probability.dense import RowObjective, Workspace
from w2vtrain.probability.problem import Problem, check_ranges
from w2vtrain.probability.sampling import alias_table, draw_words, noise_distribution
from w2vtrain.probability.subset import learn_subset

DEFAULTS = {
    "skipgram": {"alpha": 0.05, "shuffle": True},
    "cbow": {"alpha": 0.05, "shuffle": True},
    "cbow-corrected": {"alpha": 0.05, "shuffle": True},
    "vlbl": {"alpha": 0.04, "shuffle": True},
}


class SampledSoftmax(RowObjective):
    """L = -log softmax of x_w among {x_v : v in S ∪ {w}}, x_v = s_v - log E(v): g_v = [v=w] - softmax(x)_v.

    Jean, Cho, Memisevic & Bengio 2015, "On using very large target vocabulary for neural machine translation"; the
    candidate sampling of TensorFlow. S is the set of the words that `samples` draws from Q give, the same for a whole
    block; E(v) = 1 - (1 - Q(v))^samples, how many times v is expected in it. The target is there once, drawn or not,
    and other examples' targets are not, unless drawn: they come by the text's distribution, not by Q.

    samples: draws a block, with replacement; 0 takes all words and corrects nothing, which is the full softmax.
    ns_exponent: Q is counts to this power.
    """

    def __init__(self, output: np.ndarray, noise: np.ndarray, samples: int) -> None:
        super().__init__(output)
        self.samples = samples
        self.accept, self.alias = alias_table(noise)
        with np.errstate(divide="ignore"):  # a vocabulary of one word; all words where samples is 0
            self.log_expected = np.log(-np.expm1(samples * np.log1p(-noise))).astype(output.dtype)

    @classmethod
    def build(cls, problem: Problem, *, samples: int = 1024, ns_exponent: float = 1.0) -> "SampledSoftmax":
        """Biases, if there are any, start at the words' log-frequencies."""
        check_ranges("sampled-softmax", samples=(samples, 0, 1_000_000), ns_exponent=(ns_exponent, 0, 2))
        noise = noise_distribution(np.maximum(problem.counts, 1), ns_exponent)
        return cls(problem.initial_rows(bias=problem.log_unigram()), noise, samples)

    def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> tuple[float, np.ndarray]:
        """Learn a block: H (B, width), targets (B,). Returns the summed loss and -dL/dH (B, width)."""
        if not self.samples:
            return learn_subset(self.output, np.arange(len(self.output)), H, targets, lr, work)
        words = work.array("words", (self.samples + len(targets),), np.int32)
        draw_words(work.stream(), self.accept, self.alias, words[: self.samples])
        words[self.samples :] = targets
        rows, places = np.unique(words, return_inverse=True)
        shift = np.full(len(rows), np.inf, H.dtype)
        drawn = places[: self.samples]
        shift[drawn] = self.log_expected[words[: self.samples]]
        own = self.log_expected[targets]
        return learn_subset(self.output, rows, H, places[self.samples :], lr, work, shift, own)


OBJECTIVE = SampledSoftmax
