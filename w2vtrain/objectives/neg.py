"""Negative sampling (Mikolov et al. 2013).

It is not a language model: nothing ties its scores to normalized probabilities.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import float32, uint64

from w2vtrain.kernels.logits import logistic_errors
from w2vtrain.kernels.rows import HOT_WORDS, apart_zeros
from w2vtrain.objectives.contract import rates
from w2vtrain.probability.noise import alias_probabilities, alias_table, contrasted, noise_distribution
from w2vtrain.probability.noise_pool import AUTOMATIC, check_pool, draw_pooled, empty_pool, fill_pool, pool_size
from w2vtrain.probability.problem import Arrays, Problem, check_ranges
from w2vtrain.probability.random_streams import draw_alias

GROUP = "discrimination"
DEFAULTS = rates(skipgram=0.05, cbow=0.075, cbow_corrected=0.15, vlbl=0.05)

REDRAWS = 1000
"""How often a draw that hits the target is repeated, per window."""

DRAWS_UNTIL_CACHED = 3
"""Draws per pool word after which the pool's rows are in the cache: 95% of them have been drawn. Prefetching them as
long as the pool is used makes skip-gram 3% and CBOW 4% slower (AVX2 code on an AMD Zen 4)."""


def check_noise(objective: str, negative: int, ns_exponent: float, pool: int) -> None:
    """Raise ConfigError for an option of an objective that is out of range."""
    check_ranges(objective, negative=(negative, 1, 1000), ns_exponent=(ns_exponent, -2, 2))
    check_pool(objective, pool)


class Negative(NamedTuple):
    """L = -log σ(o_w·h) - Σ_k log σ(-o_v·h), v ~ Q: g = label - σ(s), Q = counts^0.75.

    Mikolov, Sutskever, Chen, Corrado & Dean 2013, "Distributed representations of words and phrases and their
    compositionality". A logistic classifier separates the target word (label 1) from k noise words (label 0).

    The noise words are drawn once per window and shared by its context words (Ji et al. 2016). If a draw hits the
    target, another word is drawn, at most REDRAWS times per window, because the target may have nearly all of Q. With a
    pool, the windows of a chunk draw their noise words from a few words that were drawn from Q at its start.
    """

    accept: np.ndarray
    alias: np.ndarray
    pool: np.ndarray
    drawn: np.ndarray  # (1,) int64: words drawn from the pool since it was filled
    negative: int

    @staticmethod
    def blends(architecture: str) -> bool:
        """Return True: with large texts, blends score higher on analogies and word similarity."""
        return True

    @staticmethod
    def is_language_model() -> bool:
        """Return False: it learns log P(w|h) - log Q(w) - log k, so that rare words score too high."""
        return False

    @staticmethod
    def shares_noise() -> bool:
        return True

    @classmethod
    def build(
        cls, problem: Problem, *, negative: int = 5, ns_exponent: float = 0.75, pool: int = AUTOMATIC
    ) -> "Negative":
        """negative: noise words per target. ns_exponent: Q is proportional to the counts to this power.

        pool: the number of words that a chunk draws its noise words from, a power of 2; 0 means all words; -1 chooses
        by `negative` and the vocabulary: 256 or more words, but 0 for a small vocabulary.
        """
        check_noise("neg", negative, ns_exponent, pool)
        table = alias_table(noise_distribution(problem.counts, ns_exponent))
        size = pool_size(pool, negative, len(problem.counts))
        return cls(*table, empty_pool(size), apart_zeros((1,), np.int64), negative)

    def hot_rows(self, rows: int) -> range:
        return range(min(HOT_WORDS, rows))

    def draws(self, targets: np.ndarray) -> np.ndarray:
        return np.asarray(targets + self.negative * alias_probabilities(self.accept, self.alias))

    @property
    def candidate_limit(self) -> int:
        return self.negative + 1

    def arrays(self) -> Arrays:
        return {"noise.accept": self.accept, "noise.alias": self.alias}

    def untrained_loss(self) -> float:
        return self.candidate_limit * math.log(2)

    def optimum(self, P: np.ndarray) -> np.ndarray:
        return contrasted(P, alias_probabilities(self.accept, self.alias))

    def for_threads(self, threads: int) -> "list[Negative]":
        return [
            self._replace(pool=empty_pool(len(self.pool)), drawn=apart_zeros((1,), np.int64)) for _ in range(threads)
        ]

    def begin(self, rng):
        fill_pool(rng, self.pool, self.accept, self.alias)
        self.drawn[0] = 0

    def candidates(self, sentence, position, rng, rows, labels, shifts):
        """Write the target, then up to `negative` noise words other than the target; a word may occur twice."""
        target = sentence[position]
        rows[0], labels[0] = target, float32(1)
        m, left, bits = 1, REDRAWS, uint64(0)
        while m <= self.negative and left > 0:
            if len(self.pool) > 0:
                word, bits = draw_pooled(rng, self.pool, m - 1 + REDRAWS - left, bits)
            else:
                word = draw_alias(rng, self.accept, self.alias)
            if word != target:
                rows[m], labels[m] = word, float32(0)
                m += 1
            else:
                left -= 1
        self.drawn[0] += self.negative
        return m

    def prefetched(self, rows, m):
        """Return all candidates or, if the pool's rows are in the cache, only the target."""
        return 0, 1 if 0 < DRAWS_UNTIL_CACHED * len(self.pool) < self.drawn[0] else m

    def errors(self, logits, window, candidates, lr):
        # The arithmetic is in kernels/logits.py. The rows are updated in engines/window_kernel.py, train_rows_together.
        return logistic_errors(logits, len(logits), candidates.m, candidates.labels, candidates.shifts, lr)


OBJECTIVE = Negative
