"""BlackOut: the target is told from words drawn at random by a weighted softmax over all of them (Ji et al. 2016).

It never sums over all words.
"""

import numpy as np

from w2vtrain.kernels.jit import kernel
from w2vtrain.objectives.contract import rates
from w2vtrain.probability.dense import RowObjective, Workspace, learn_rows, softmax, subtract_shifts, take_rows
from w2vtrain.probability.noise import alias_table, distinct_candidates, noise_distribution
from w2vtrain.probability.problem import Problem, check_ranges
from w2vtrain.probability.random_streams import draw_words

GROUP = "discrimination"
DEFAULTS = rates(skipgram=0.05, cbow=0.05, cbow_corrected=0.05, vlbl=0.04)
MIN_COMPLEMENT = 1e-37
"""1 - p is taken as at least this, because single precision has no smaller normal number."""


class BlackOut(RowObjective):
    """L = -log p_w - Σ_{i in S} log(1 - p_i), p_v = r_v / (r_w + Σ_{i in S} r_i), r_v = exp(s_v) / Q(v).

    g_w = 1 - p_w (1 - T), g_i = -p_i (1 / (1 - p_i) + 1 - T) for each draw i, where T = Σ_{i in S} p_i / (1 - p_i).

    Ji, Vishwanathan, Satish, Anderson & Dubey 2016, "BlackOut: Speeding up recurrent neural network language models
    with very large vocabularies". S consists of `samples` draws from Q, with replacement; a word that is drawn twice is
    in both sums twice. The whole block shares the draws. Those that hit an example's target are left out for that
    example. The first term of L is importance sampling of the softmax; the second also pushes down each drawn word.

    More draws are not always better. S leaves out the target, so if words are drawn many times each (many draws, a
    small vocabulary, a high power of the counts), L tends to the negative log-odds of the target, up to a constant.

    samples: draws per block. ns_exponent: α in the paper; Q is proportional to the counts to this power.
    """

    def __init__(self, output: np.ndarray, noise: np.ndarray, samples: int) -> None:
        super().__init__(output)
        self.samples, self.table, self.log_noise = samples, alias_table(noise), np.log(noise)

    @classmethod
    def build(cls, problem: Problem, *, samples: int = 512, ns_exponent: float = 0.4) -> "BlackOut":
        """Start biases, if any, at the log-frequencies of the words."""
        check_ranges("blackout", samples=(samples, 1, 1_000_000), ns_exponent=(ns_exponent, 0, 2))
        noise = noise_distribution(np.maximum(problem.counts, 1), ns_exponent)
        return cls(problem.initial_rows(bias=problem.log_unigram()), noise, samples)

    def optimum(self, P: np.ndarray) -> None:
        """Return None: with many draws, the expected loss has no minimum if some P(w|h) > 1/2.

        Its gradient is then that of -log of the odds of w, and p_w near 1 lowers it without bound.
        """

    def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> tuple[float, np.ndarray]:
        drawn = work.array("drawn", (self.samples,), np.int32)
        draw_words(work.stream(), *self.table, drawn)
        rows, places, times = distinct_candidates(drawn, targets)
        with np.errstate(divide="ignore"):  # a target that was not drawn is no candidate of other examples
            shift = self.log_noise[rows] - np.log(times)
        taken = take_rows(self.output, rows, work, "taken")
        g = np.dot(H, taken.T, out=work.array("logits", (len(H), len(rows)), H.dtype))
        subtract_shifts(g, places, shift, self.log_noise[targets].astype(H.dtype))
        hit = g[np.arange(len(H)), places]
        log_z = softmax(g)
        others = work.array("others", g.shape, g.dtype)
        _errors(g, places, 1 / np.maximum(times, 1).astype(g.dtype), others)
        missed = np.log(others, out=others) @ times.astype(g.dtype)
        dH = np.dot(g, taken)
        learn_rows(self.output, rows, g, H, lr, work)
        return float((log_z - hit - missed).sum(dtype=np.float64)), dH


@kernel()
def _errors(p, places, inverse, others):
    """Replace p (B, n), summed over all draws of each word, with -dL/ds; fill others (B, n) with 1 - p of one draw.

    places (B,): columns of the targets, for which `others` is set to 1. inverse (n,): 1 / the number of draws.

    Only one word can have p > 1/2. Its 1 - p is the sum of all other p, because the difference would
    lose digits.
    """
    for b in range(len(p)):
        row, other, hit = p[b], others[b], places[b]
        target = row[hit]
        row[hit] = 0
        top = 0
        for v in range(len(row)):
            if row[v] * inverse[v] > row[top] * inverse[top]:
                top = v
        most = row[top]
        row[top] = 0
        rest, total = float(target), 0.0
        for v in range(len(row)):
            other[v] = 1 - row[v] * inverse[v]
            rest += row[v]
            total += row[v] / other[v]
        left = max(rest + most * (1 - inverse[top]), MIN_COMPLEMENT)
        other[top] = left if top != hit else 1
        t = total + most / left
        for v in range(len(row)):
            row[v] *= t - 1 - 1 / other[v]
        row[top] = most * (total - 1 - rest / left)
        row[hit] = 1 + target * (t - 1)


OBJECTIVE = BlackOut
