"""Negative sampling (Mikolov et al. 2013). Not a language model: its scores are not normalized in any sense."""

from typing import NamedTuple

import numpy as np
from numba import float32

from w2vtrain.kernels.hot_rows import HOT
from w2vtrain.kernels.logistic import logistic_errors
from w2vtrain.probability.problem import Problem, check_ranges
from w2vtrain.probability.sampling import alias_table, draw_alias, noise_distribution

DEFAULTS = {
    "skipgram": {"alpha": 0.05, "shuffle": True},
    "cbow": {"alpha": 0.075, "shuffle": True},
    "cbow-corrected": {"alpha": 0.15, "shuffle": True},
    "vlbl": {"alpha": 0.05, "shuffle": True},
}

REDRAWS = 1000


class Negative(NamedTuple):
    """L = -log σ(o_w·h) - Σ_k log σ(-o_v·h), v ~ Q: g = label - σ(s), Q = counts^0.75.

    Mikolov, Sutskever, Chen, Corrado & Dean 2013, "Distributed representations of words and phrases and their
    compositionality". The noise words are drawn once a window and shared by its context words (Ji et al. 2016); a draw
    that hits the target is drawn again, up to REDRAWS times a window: Q may have next to nothing else.
    """

    accept: np.ndarray
    alias: np.ndarray
    negative: int

    @classmethod
    def build(cls, problem: Problem, *, negative: int = 5, ns_exponent: float = 0.75) -> "Negative":
        """negative: noise words a target. ns_exponent: Q is counts to this power."""
        check_ranges("neg", negative=(negative, 1, 1000), ns_exponent=(ns_exponent, -2, 2))
        accept, alias = alias_table(noise_distribution(problem.counts, ns_exponent))
        return cls(accept, alias, negative)

    def hot_rows(self, rows: int) -> range:
        """The most frequent words: noise, most of all."""
        return range(min(HOT, rows))

    @property
    def candidate_limit(self) -> int:
        """The target and its noise words."""
        return self.negative + 1

    def arrays(self) -> dict[str, np.ndarray]:
        """The noise distribution's alias table."""
        return {"noise.accept": self.accept, "noise.alias": self.alias}

    def candidates(self, sentence, position, rng, rows, labels, shifts):
        """The target, then `negative` noise words, if they are found, other than the target."""
        target = sentence[position]
        rows[0], labels[0] = target, float32(1)
        m, left = 1, REDRAWS
        while m <= self.negative and left > 0:
            word = draw_alias(rng, self.accept, self.alias)
            if word != target:
                rows[m], labels[m] = word, float32(0)
                m += 1
            else:
                left -= 1
        return m

    def errors(self, logits, window, candidates, lr):
        """Coefficients g = label - σ(s)."""
        return logistic_errors(logits, len(logits), candidates.m, candidates.labels, candidates.shifts, lr)


OBJECTIVE = Negative
