"""Importance sampling from a mixture of unigram and bigram that follows the model (Bengio & Senécal 2008).

Only the mixture learns, by frequency class of the word before; the bigrams are the text's, counted once.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import int64, uint64

from w2vtrain.kernels.jit import inline, kernel
from w2vtrain.probability.dense import RowObjective, Workspace
from w2vtrain.probability.ngrams import Bigrams, count_at, count_bigrams, draw_followers, find_followers, followers
from w2vtrain.probability.problem import Problem, check_ranges
from w2vtrain.probability.sampling import alias_table, draw, draw_words, noise_distribution
from w2vtrain.probability.subset import learn_all

DEFAULTS = {
    "skipgram": {"alpha": 0.05, "shuffle": True},
    "cbow": {"alpha": 0.05, "shuffle": True},
    "cbow-corrected": {"alpha": 0.05, "shuffle": True},
    "vlbl": {"alpha": 0.04, "shuffle": True},
}
LEAST = 0.01
"""Both parts of the mixture keep this much of it: the bigram knows no word that never followed, and λ = 0 stays 0."""
_32 = uint64(32)


class Proposal(NamedTuple):
    """Q(v|p) = λ B(v|p) + (1 - λ) U(v): λ = mixture[class_of[p]], 0 where no word or none with followers is before.

    accept, alias: U's table; unigram (V,) float64: U; class_of (V,) int32; mixture (classes,) float64.
    """

    accept: np.ndarray
    alias: np.ndarray
    unigram: np.ndarray
    bigrams: Bigrams
    class_of: np.ndarray
    mixture: np.ndarray


class Estimate(NamedTuple):
    """What was drawn for a block: words (B, cap) int32, weights (B, cap), of which example b has drawn[b].

    log_z (B,): log(mean r); bigram (B,) float64: Σ weight_v λ B(v|p) / Q(v|p), the bigram's part in what the
    samples stand for; enough (B,) bool: whether the effective sample size was reached.
    """

    words: np.ndarray
    weights: np.ndarray
    drawn: np.ndarray
    log_z: np.ndarray
    bigram: np.ndarray
    enough: np.ndarray


class Scratch(NamedTuple):
    """Of a batch of draws, (n,) each: λ B and Q float64, places among the bigrams and what is searched int64."""

    parts: np.ndarray
    q: np.ndarray
    places: np.ndarray
    least: np.ndarray


class AdaptiveImportanceSampling(RowObjective):
    """∇L = -∇s_w + Σ_v (r_v / Σ r) ∇s_v, v ~ Q(v|p), r_v = exp(s_v) / Q(v|p): g_v = [v=w] - r_v / Σ r.

    Bengio & Senécal 2008, "Adaptive importance sampling to accelerate training of a neural probabilistic language
    model". Q(v|p) = λ B(v|p) + (1 - λ) U(v) mixes the bigrams of the text, p being the word before the target, with
    word frequencies. Each class of p, by log2 of its count, has its λ, which descends KL(P‖Q) as the weights estimate
    it: λ += mixture_rate · (Σ_v weight_v λ B(v|p) / Q(v|p) - λ), the gradient by the logit of λ.

    Each example draws for itself. samples: draws at a time; ess: the effective sample size (Σ r)² / Σ r² at which it
    stops; cap: draws, in whole batches, at which it takes the exact sum over all words instead, as `fallbacks` of
    `examples` did; ns_exponent: U is counts to this power; mixture_rate: see above.
    """

    def __init__(
        self, output: np.ndarray, proposal: Proposal, samples: int, ess: float, cap: int, mixture_rate: float
    ) -> None:
        super().__init__(output)
        self.proposal, self.samples, self.ess, self.cap = proposal, samples, ess, cap // samples * samples
        self.mixture_rate = mixture_rate
        self.counts = np.zeros(3, np.int64)
        self.examples, self.fallbacks, self.draws = self.counts[:1], self.counts[1:2], self.counts[2:]

    @classmethod
    def build(
        cls,
        problem: Problem,
        *,
        samples: int = 32,
        ess: float = 25.0,
        cap: int = 4096,
        ns_exponent: float = 1.0,
        mixture_rate: float = 0.001,
    ) -> "AdaptiveImportanceSampling":
        """Biases, if there are any, start at the words' log-frequencies. Without a text there are no bigrams."""
        check_ranges(
            "adaptive-is",
            samples=(samples, 1, 1_000_000),
            cap=(cap, samples, 1_000_000),
            ess=(ess, 0, cap),
            ns_exponent=(ns_exponent, 0, 2),
            mixture_rate=(mixture_rate, 0, 1),
        )
        unigram = noise_distribution(np.maximum(problem.counts, 1), ns_exponent)
        bigrams = count_bigrams(problem.tokens, len(problem.counts), problem.end)
        class_of = np.log2(np.maximum(problem.counts, 1)).astype(np.int32)
        mixture = np.full(class_of.max() + 1, 0.5)
        proposal = Proposal(*alias_table(unigram), unigram, bigrams, class_of, mixture)
        output = problem.initial_rows(bias=problem.log_unigram())
        return cls(output, proposal, samples, ess, cap, mixture_rate)

    def arrays(self) -> dict[str, np.ndarray]:
        """λ by class; how many examples were learned, how many by the exact sum, how many draws were made for them."""
        return {"is.mixture": self.proposal.mixture, "is.counts": self.counts}

    def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> tuple[float, np.ndarray]:
        """Learn a block: H (B, width), targets (B,). Returns the summed loss and -dL/dH (B, width).

        Words before are work.previous (B,). All is estimated from the old rows, then they learn.
        """
        size, dtype = len(H), H.dtype
        dH = self.output[targets]
        hit = np.einsum("bd,bd->b", H, dH)
        found = Estimate(
            work.array("words", (size, self.cap), np.int32),
            work.array("weights", (size, self.cap), dtype),
            work.array("drawn", (size,), np.int64),
            work.array("log_z", (size,), dtype),
            work.array("bigram", (size,), np.float64),
            work.array("enough", (size,), np.bool_),
        )
        scratch = Scratch(
            *work.array("densities", (2, self.samples), np.float64), *work.array("search", (2, self.samples), np.int64)
        )
        stream = work.stream()
        _estimate(H, work.previous, self.output, self.proposal, stream, self.samples, self.ess, scratch, found, dH)
        few = np.flatnonzero(~found.enough)
        if len(few):
            found.log_z[few], change = learn_all(self.output, H[few], lr, work)
            dH[few] += change
        if lr:
            rate = self.output.dtype.type(lr)
            _learn(H, targets, work.previous, self.output, self.proposal, found, rate, self.mixture_rate)
            self.counts += size, len(few), found.drawn.sum()
        return float((found.log_z - hit).sum(dtype=np.float64)), dH


@inline
def _mixture(proposal, previous):
    """(λ, how often the word before was followed by any) for a word before, -1 for none."""
    pairs = followers(proposal.bigrams, previous) if previous >= 0 else int64(0)
    return (proposal.mixture[proposal.class_of[previous]] if pairs else 0.0), pairs


@inline
def _draw(stream, proposal, previous, share, pairs, scratch, words):
    """Fill words (n,) with draws from Q(.|previous), their λ B and their Q; those of the bigram come first."""
    table, least, places = proposal.bigrams, scratch.least, scratch.places
    size = len(words)
    n = 0
    for _ in range(size):
        n += (draw(stream) >> _32) * 2.0**-32 < share
    if n:
        draw_followers(stream, table, previous, least[:n], places[:n])
        for k in range(n):
            words[k] = table.words[places[k]]
    draw_words(stream, proposal.accept, proposal.alias, words[n:])
    if pairs:
        find_followers(table, previous, words[n:], places[n:size])
    for k in range(size):
        scratch.parts[k] = share * count_at(table, previous, places[k]) / pairs if pairs else 0.0
        scratch.q[k] = scratch.parts[k] + (1 - share) * proposal.unigram[words[k]]


@kernel()
def draw_proposal(stream, proposal, previous, scratch, words):
    """Fill words (n,) with draws from Q(.|previous)."""
    share, pairs = _mixture(proposal, previous)
    _draw(stream, proposal, previous, share, pairs, scratch, words)


@kernel()
def _estimate(H, previous, output, proposal, stream, samples, ess, scratch, out, dH):
    """Fill `out`; dH (B, width) loses Σ weight_v o_v."""
    parts, q = scratch.parts, scratch.q
    for b in range(len(H)):
        h, words, r, n = H[b], out.words[b], out.weights[b], 0
        share, pairs = _mixture(proposal, previous[b])
        # Sums of r, r² and of r λB/Q; all r are multiples of exp(top), the largest exp(s) so far.
        top, total, squares, bigram = -np.inf, 0.0, 0.0, 0.0
        while n == 0 or (n < len(words) and total * total < ess * squares):
            _draw(stream, proposal, previous[b], share, pairs, scratch, words[n : n + samples])
            best = top
            for k in range(n, n + samples):
                r[k] = _score(h, output[words[k]])
                best = max(best, r[k])
            shrink = math.exp(top - best)
            total, squares, bigram, top = total * shrink, squares * shrink * shrink, bigram * shrink, best
            if shrink < 1:
                for k in range(n):
                    r[k] *= shrink
            for k in range(samples):
                r[n + k] = value = math.exp(r[n + k] - top) / q[k]
                total, squares, bigram = total + value, squares + value * value, bigram + value * parts[k] / q[k]
            n += samples
        out.drawn[b], out.bigram[b], out.enough[b] = n, bigram / total, not total * total < ess * squares
        out.log_z[b] = top + math.log(total / n)
        if out.enough[b]:
            _take(words[:n], r[:n], total, output, dH[b])


@inline
def _score(h, row):
    s = h[0] * row[0]
    for j in range(1, len(h)):
        s += h[j] * row[j]
    return s


@inline
def _take(words, r, total, output, d):
    """Make weights of r; d (width,) loses their sum of rows."""
    for k in range(len(words)):
        r[k] /= total
        row, weight = output[words[k]], r[k]
        for j in range(len(d)):
            d[j] -= weight * row[j]


@kernel()
def _learn(H, targets, previous, output, proposal, found, lr, mixture_rate):
    """Move the output rows, except by what the exact sum has to say, and the mixture."""
    for b in range(len(H)):
        h = H[b]
        for k in range(found.drawn[b] if found.enough[b] else 0):
            row, step = output[found.words[b, k]], lr * found.weights[b, k]
            for j in range(len(h)):
                row[j] -= step * h[j]
        row = output[targets[b]]
        for j in range(len(h)):
            row[j] += lr * h[j]
        share, pairs = _mixture(proposal, previous[b])
        if pairs:
            share += mixture_rate * (found.bigram[b] - share)
            proposal.mixture[proposal.class_of[previous[b]]] = min(max(share, LEAST), 1 - LEAST)


OBJECTIVE = AdaptiveImportanceSampling
