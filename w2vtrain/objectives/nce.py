"""Noise-contrastive estimation (Gutmann & Hyvärinen 2010).

Its scores tend toward normalized log-probabilities, but nothing enforces that.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import float32

from w2vtrain.kernels.hot_rows import HOT
from w2vtrain.kernels.logistic import logistic_errors
from w2vtrain.probability.dense import RowScorer
from w2vtrain.probability.problem import Problem, check_ranges
from w2vtrain.probability.sampling import alias_table, draw_alias, noise_distribution

DEFAULTS = {
    "skipgram": {"alpha": 0.05, "shuffle": True},
    "cbow": {"alpha": 0.075, "shuffle": True},
    "cbow-corrected": {"alpha": 0.15, "shuffle": True},
    "vlbl": {"alpha": 0.1, "shuffle": True},
}


class NoiseContrastive(NamedTuple):
    """P(D=1|v,h) = σ(s_v - log(k·Q(v)) - log Z(h)), L = -log P(D=1|w,h) - Σ_k log P(D=0|v_i,h): g = D - P(D=1).

    Gutmann & Hyvärinen 2010, "Noise-contrastive estimation"; Mnih & Teh 2012, "A fast and simple algorithm for
    training neural probabilistic language models". A logistic classifier separates the target word (D=1) from k noise
    words (D=0) drawn from Q; its optimal scores are log-probabilities.

    Z is fixed at 1, as in Mnih & Teh. With learn_z, one log Z per context word is learned instead, and CBOW uses the
    mean over its context. The noise words are drawn once per target and shared by its context words; with
    share_noise=n, they are drawn once for n neighboring targets (Zoph et al. 2016). A draw that hits the target is
    kept, as the theory requires.
    """

    accept: np.ndarray
    alias: np.ndarray
    log_kq: np.ndarray
    log_z: np.ndarray
    negative: int
    learn_z: bool
    share_noise: int

    @classmethod
    def build(
        cls,
        problem: Problem,
        *,
        negative: int = 5,
        ns_exponent: float = 1.0,
        learn_z: bool = False,
        share_noise: int = 1,
    ) -> "NoiseContrastive":
        """negative: k, the noise words per target. ns_exponent: Q is proportional to the counts to this power.

        learn_z: learn one log Z per context word. share_noise: neighboring targets that share their noise words.
        """
        check_ranges("nce", negative=(negative, 1, 1000), ns_exponent=(ns_exponent, -2, 2))
        check_ranges("nce", "{} is not between {} and {:,}", share_noise=(share_noise, 1, 10_000))
        noise = noise_distribution(problem.counts, ns_exponent)
        log_kq = np.log(negative * noise).astype(np.float32)
        return cls(
            *alias_table(noise), log_kq, np.zeros(len(problem.counts), np.float32), negative, learn_z, share_noise
        )

    def initial_bias(self, problem: Problem) -> np.ndarray:
        """Return log P(w) by counts alone: scores should be log-probabilities, so this starts them near their goal."""
        return problem.log_unigram()

    def hot_rows(self, rows: int) -> range:
        """Return the most frequent words, which are drawn as noise most often."""
        return range(min(HOT, rows))

    @property
    def candidate_limit(self) -> int:
        """One target and its noise words."""
        return self.negative + 1

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the alias table of the noise distribution, log kQ, and log Z if it is learned."""
        noise = {"noise.accept": self.accept, "noise.alias": self.alias, "noise.log_kq": self.log_kq}
        return {**noise, "log_z": self.log_z} if self.learn_z else noise

    @classmethod
    def scorer(
        cls, problem: Problem, options: dict[str, Any], output: np.ndarray, arrays: dict[str, np.ndarray]
    ) -> RowScorer:
        """Return a scorer that uses the scores of a trained model as log-probabilities, without Z."""
        return RowScorer(output, normalized=False)

    def learned(self) -> dict[str, np.ndarray]:
        """Return log Z if it is learned."""
        return {"log_z": self.log_z} if self.learn_z else {}

    def candidates(self, sentence, position, rng, rows, labels, shifts):
        """Write the target, then k noise words."""
        rows[0], labels[0] = sentence[position], float32(1)
        stream, again = rng[0], self.share_noise > 1 and position % self.share_noise > 0
        if again:
            rng[0] = rng[1]  # the stream where the first target of the group began to draw
        elif self.share_noise > 1:
            rng[1] = stream
        for j in range(1, self.negative + 1):
            rows[j], labels[j] = draw_alias(rng, self.accept, self.alias), float32(0)
        if again:
            rng[0] = stream
        for j in range(self.negative + 1):
            shifts[j] = self.log_kq[rows[j]]
        return self.negative + 1

    def errors(self, logits, window, candidates, lr):
        """Compute the coefficients g = D - σ(s - log kQ - log Z), and learn log Z if learn_z is set.

        log Z is the context word's own with skip-gram, and the mean over the context words with CBOW.
        """
        n, m, context = len(logits), candidates.m, window.context
        if self.learn_z:
            share = window.n // n
            for i in range(n):
                z = float32(0)
                for c in range(i * share, (i + 1) * share):
                    z += self.log_z[context[c]] / float32(share)
                for j in range(m):
                    logits[i, j] -= z
        loss = logistic_errors(logits, n, m, candidates.labels, candidates.shifts, lr)
        if self.learn_z:
            share = window.n // n
            for i in range(n):
                step = float32(0)
                for j in range(m):
                    step -= logits[i, j] / float32(share)
                for c in range(i * share, (i + 1) * share):
                    self.log_z[context[c]] += step
        return loss


OBJECTIVE = NoiseContrastive
