"""Noise-contrastive estimation with noise words that depend on the previous word (Labeau & Allauzen 2017).

The bigrams are counted once and do not change. Its scores tend toward normalized log-probabilities, as with `nce`.
"""

from typing import NamedTuple

import numpy as np
from numba import float32, int64

from w2vtrain.kernels.logits import logistic_errors
from w2vtrain.kernels.rows import HOT_WORDS
from w2vtrain.objectives.contract import rates
from w2vtrain.probability.bigrams import Bigrams, count_at, count_bigrams, draw_follower, find_follower, followers
from w2vtrain.probability.dense import RowScorer
from w2vtrain.probability.noise import alias_probabilities, alias_table, noise_distribution
from w2vtrain.probability.problem import Arrays, Options, Problem, check_ranges
from w2vtrain.probability.random_streams import draw_alias

GROUP = "discrimination"
DEFAULTS = rates(skipgram=0.05, cbow=0.075, cbow_corrected=0.15, vlbl=0.1)


class BigramNoiseContrastive(NamedTuple):
    """P(D=1|v,h) = σ(s_v - log N(v|p)), N(v|p) = m·B(v|p) + (k-m)·U(v), L as for `nce`: g = D - P(D=1).

    Labeau & Allauzen 2017, "An experimental analysis of noise-contrastive estimation: the noise distribution matters".
    N(v|p) is the expected number of times that v is among the k noise words: m of them are drawn from B, the words that
    follow the previous word p in the text, and the others from U, the frequencies of all words. With m = 0 this is
    `nce`.

    The expected coefficient of v is N / (N + exp s_v) times P_data(v|h) - exp s_v; in `nce`, kU takes the place of N.
    If exp s_v is far above kU(v), which is common for rare words, nce learns almost nothing about v. For a word that
    often follows p, N(v|p) is about m·P(v|p), so the factor N / (N + exp s_v) is about m / (m + 1).

    If no word follows p in the text, all k noise words are drawn from U. The context should contain the previous word,
    because the noise may depend only on what h depends on.
    A draw that hits the target is kept, as the theory requires.

    accept, alias: the alias table of U. log_u (V,) float32: log U. pairs: the bigrams of the text, which define B.
    """

    accept: np.ndarray
    alias: np.ndarray
    log_u: np.ndarray
    pairs: Bigrams
    negative: int
    bigrams: int

    @classmethod
    def build(
        cls, problem: Problem, *, negative: int = 25, bigrams: int = -1, ns_exponent: float = 1.0
    ) -> "BigramNoiseContrastive":
        """negative: k, the noise words per target. bigrams: m, how many of them follow the previous word; -1: k // 4.

        ns_exponent: U is proportional to the counts to this power.
        """
        check_ranges("bigram-nce", negative=(negative, 1, 1000), ns_exponent=(ns_exponent, -2, 2))
        check_ranges("bigram-nce", bigrams=(bigrams, -1, negative - 1))
        bigrams = negative // 4 if bigrams < 0 else bigrams
        noise = noise_distribution(problem.counts, ns_exponent)
        pairs = count_bigrams(problem.tokens, len(problem.counts), problem.end)
        return cls(*alias_table(noise), np.log(noise).astype(np.float32), pairs, negative, bigrams)

    def initial_bias(self, problem: Problem) -> np.ndarray:
        return problem.log_unigram()

    def hot_rows(self, rows: int) -> range:
        return range(min(HOT_WORDS, rows))

    def draws(self, targets: np.ndarray) -> np.ndarray:
        unigrams = self.negative - self.bigrams  # followers of the words of the text are as frequent as words are
        return np.asarray((1 + self.bigrams) * targets + unigrams * alias_probabilities(self.accept, self.alias))

    @property
    def candidate_limit(self) -> int:
        return self.negative + 1

    @classmethod
    def scorer(cls, problem: Problem, options: Options, output: np.ndarray, arrays: Arrays) -> RowScorer:
        return RowScorer(output, normalized=False)

    def candidates(self, sentence, position, rng, rows, labels, shifts):
        """Write the target, then m followers of the previous word, then k - m other noise words."""
        rows[0], labels[0] = sentence[position], float32(1)
        previous = int64(sentence[position - 1]) if position > 0 else int64(-1)
        total = followers(self.pairs, previous) if previous >= 0 else int64(0)
        m = self.bigrams if total > 0 else 0
        for j in range(1, m + 1):
            rows[j], labels[j] = draw_follower(rng, self.pairs, previous), float32(0)
        for j in range(m + 1, self.negative + 1):
            rows[j], labels[j] = draw_alias(rng, self.accept, self.alias), float32(0)
        rest = float32(np.log(float32(self.negative - m)))
        for j in range(self.negative + 1):
            v = rows[j]
            shifts[j] = self.log_u[v] + rest
            place = find_follower(self.pairs, previous, v) if m > 0 else int64(-1)
            if place >= 0:
                share = float32(m) * float32(count_at(self.pairs, previous, place)) / float32(total)
                shifts[j] = np.log(np.exp(shifts[j]) + share)
        return self.negative + 1

    def errors(self, logits, window, candidates, lr):
        return logistic_errors(logits, len(logits), candidates.m, candidates.labels, candidates.shifts, lr)


OBJECTIVE = BigramNoiseContrastive
