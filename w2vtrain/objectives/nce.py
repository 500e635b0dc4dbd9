"""Noise-contrastive estimation (Gutmann & Hyvärinen 2010).

Its scores tend toward normalized log-probabilities, but nothing enforces that.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import float32, int64, uint64

from w2vtrain.kernels.jit import inline, kernel
from w2vtrain.kernels.logits import logistic_errors
from w2vtrain.kernels.rows import HOT_WORDS
from w2vtrain.objectives.contract import rates
from w2vtrain.probability.dense import RowScorer, ShiftedScorer
from w2vtrain.probability.noise import alias_probabilities, alias_table, noise_distribution
from w2vtrain.probability.noise_pool import check_pool, draw_pooled, empty_pool, fill_pool, pool_size
from w2vtrain.probability.problem import Arrays, Options, Problem, bad_option, check_ranges
from w2vtrain.probability.random_streams import draw_alias, hash_words

GROUP = "discrimination"
DEFAULTS = rates(skipgram=0.05, cbow=0.075, cbow_corrected=0.15, vlbl=0.1)

MAX_Z_ENTRIES = 1 << 28
"""Maximum size of a table of log Z: 1 GiB."""


@inline
def log_z_of(table, hashed, context, first, size):
    """Return log Z of the context context[first : first + size]: its own entry if hashed, else its words' mean."""
    if hashed:
        return table[hash_words(context, first, size, len(table))]
    mean = float32(0)
    for c in range(first, first + size):
        mean += table[context[c]] / float32(size)
    return mean


@inline
def learn_log_z(table, hashed, context, first, size, step):
    """Add `step`, a multiple of -dL/d log Z, to the entries that log_z_of reads, each by its share."""
    if hashed:
        table[hash_words(context, first, size, len(table))] += step
    else:
        for c in range(first, first + size):
            table[context[c]] += step / float32(size)


@kernel()
def _log_z_of_all(table, hashed, contexts, out):
    for b in range(len(out)):
        out[b] = log_z_of(table, hashed, contexts.words, contexts.starts[b], int64(contexts.sizes[b]))


class LearnedScorer(RowScorer):
    """Scores minus the log Z that was learned for their contexts, used as log-probabilities.

    log_z: (n,) float32, one entry per word or, if hashed, per hash of a context.
    """

    def __init__(self, output: np.ndarray, log_z: np.ndarray, hashed: bool) -> None:
        super().__init__(output, normalized=False)
        self.log_z, self.hashed = log_z, hashed

    def given(self, contexts: Any) -> RowScorer:
        log_z = np.empty(len(contexts.starts), np.float32)
        _log_z_of_all(self.log_z, self.hashed, contexts, log_z)
        return ShiftedScorer(self.output, log_z)


class NoiseContrastive(NamedTuple):
    """P(D=1|v,h) = σ(s_v - log(k·Q(v)) - log Z(h)), L = -log P(D=1|w,h) - Σ_i log P(D=0|v_i,h): g = D - P(D=1).

    Gutmann & Hyvärinen 2010, "Noise-contrastive estimation"; Mnih & Teh 2012, "A fast and simple algorithm for
    training neural probabilistic language models". A logistic classifier separates the target word (D=1) from k noise
    words (D=0) drawn from Q; its optimal scores are log-probabilities.

    By default, Z is fixed at 1, which Mnih & Teh found to work as well as learning it. With learn_z, one log Z per
    context word is learned instead, and CBOW uses the mean over its context. With z_table in addition, each context as
    a whole has its own log Z, in a hash table as in Mnih & Teh: the words of the context are hashed in the order of the
    text, without the target and without their distances from it. The hash includes the padding at the start of a
    sentence, but not words that subsampling drops or that a shrunk window leaves out. Contexts with the same hash share
    an entry, which is 0 until one of them is trained on. Scoring subtracts the learned log Z, and uses full windows
    with all words.

    The noise words are drawn once per target and shared by its context words; with share_noise=n, they are drawn once
    for n neighboring targets. A draw that hits the target is kept, as the theory requires. With a pool, the targets of
    a chunk draw their noise words from a few words that were drawn from Q at its start.
    """

    accept: np.ndarray
    alias: np.ndarray
    log_kq: np.ndarray
    log_z: np.ndarray
    pool: np.ndarray
    negative: int
    learn_z: bool
    share_noise: int
    hashed: bool

    @staticmethod
    def blends(architecture: str) -> bool:
        """Return True for skip-gram: with CBOW, blends lower SimLex-999 by 3 points."""
        return architecture == "skipgram"

    @classmethod
    def build(
        cls,
        problem: Problem,
        *,
        negative: int = 5,
        ns_exponent: float = 1.0,
        learn_z: bool = False,
        share_noise: int = 1,
        z_table: int = 0,
        pool: int = 0,
    ) -> "NoiseContrastive":
        """negative: k, the noise words per target. ns_exponent: Q is proportional to the counts to this power.

        learn_z: learn log Z. share_noise: neighboring targets that share their noise words. z_table: with learn_z, the
        number of entries, 4 bytes each, for the log Z of whole contexts; 0 learns one log Z per context word. pool: the
        number of words that a chunk draws its noise words from, a power of 2; 0, the default, means all words, because
        pools make skip-gram's vectors worse; -1 chooses by `negative` and the vocabulary: 256 or more words, but 0 for
        a small vocabulary.
        """
        noise = noise_distribution(problem.counts, ns_exponent)
        log_kq = np.log(negative * noise).astype(np.float32)
        log_z = np.zeros(z_table or len(problem.counts), np.float32)
        words = empty_pool(pool_size(pool, negative, len(noise)))
        return cls(*alias_table(noise), log_kq, log_z, words, negative, learn_z, share_noise, z_table > 0)

    @classmethod
    def check(cls, options: Options) -> None:
        exponent = options["ns_exponent"]
        check_ranges("nce", negative=(options["negative"], 1, 1000), ns_exponent=(exponent, -2, 2))
        sizes = {"share_noise": (options["share_noise"], 1, 10_000), "z_table": (options["z_table"], 0, MAX_Z_ENTRIES)}
        check_ranges("nce", "{} is not between {} and {:,}", **sizes)
        check_pool("nce", options["pool"])
        if options["z_table"] and not options["learn_z"]:
            raise bad_option("nce", "z_table", "add learn_z=true, or nothing is learned in the table")

    def initial_bias(self, problem: Problem) -> np.ndarray:
        """Return log P(w) by counts alone: scores should be log-probabilities, so this starts them near their goal."""
        return problem.log_unigram()

    def hot_rows(self, rows: int) -> range:
        return range(min(HOT_WORDS, rows))

    def draws(self, targets: np.ndarray) -> np.ndarray:
        return np.asarray(targets + self.negative * alias_probabilities(self.accept, self.alias))

    @property
    def candidate_limit(self) -> int:
        return self.negative + 1

    @classmethod
    def can_grow(cls, options: Options) -> bool:
        """Return whether a learned log Z, if any, belongs to words rather than to hashes of word ids."""
        return not options["z_table"]

    def arrays(self) -> Arrays:
        noise = {"noise.accept": self.accept, "noise.alias": self.alias, "noise.log_kq": self.log_kq}
        return {**noise, "log_z": self.log_z} if self.learn_z else noise

    @classmethod
    def scorer(cls, problem: Problem, options: Options, output: np.ndarray, arrays: Arrays) -> RowScorer:
        if not options["learn_z"]:
            return RowScorer(output, normalized=False)
        log_z, size = arrays["log_z"], options["z_table"] or len(problem.counts)
        if log_z.shape != (size,) or log_z.dtype != np.float32:
            raise ValueError(f"log_z has shape {log_z.shape}")
        return LearnedScorer(output, log_z, options["z_table"] > 0)

    def learned(self) -> Arrays:
        return {"log_z": self.log_z} if self.learn_z else {}

    def for_threads(self, threads: int) -> "list[NoiseContrastive]":
        return [self._replace(pool=empty_pool(len(self.pool))) for _ in range(threads)]

    def begin(self, rng):
        fill_pool(rng, self.pool, self.accept, self.alias)

    def candidates(self, sentence, position, rng, rows, labels, shifts):
        """Write the target, then k noise words."""
        rows[0], labels[0] = sentence[position], float32(1)
        stream, again = rng[0], self.share_noise > 1 and position % self.share_noise > 0
        if again:
            rng[0] = rng[1]  # the stream where the first target of the group began to draw
        elif self.share_noise > 1:
            rng[1] = stream
        bits = uint64(0)
        for j in range(1, self.negative + 1):
            labels[j] = float32(0)
            if len(self.pool) > 0:
                rows[j], bits = draw_pooled(rng, self.pool, j - 1, bits)
            else:
                rows[j] = draw_alias(rng, self.accept, self.alias)
        if again:
            rng[0] = stream
        for j in range(self.negative + 1):
            shifts[j] = self.log_kq[rows[j]]
        return self.negative + 1

    def errors(self, logits, window, candidates, lr):
        """Compute the coefficients g = D - σ(s - log kQ - log Z), and learn log Z if learn_z is set."""
        n, m, context = len(logits), candidates.m, window.context
        size = window.n // n  # context words per hidden vector: 1 with skip-gram
        if self.learn_z:
            for i in range(n):
                log_z = log_z_of(self.log_z, self.hashed, context, i * size, size)
                for j in range(m):
                    logits[i, j] -= log_z
        loss = logistic_errors(logits, n, m, candidates.labels, candidates.shifts, lr)
        if self.learn_z:
            for i in range(n):
                step = float32(0)
                for j in range(m):
                    step -= logits[i, j]
                learn_log_z(self.log_z, self.hashed, context, i * size, size, step)
        return loss


OBJECTIVE = NoiseContrastive
