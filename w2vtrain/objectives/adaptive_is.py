"""Importance sampling from a mixture of unigrams and bigrams that adapts to the model (Bengio & Senécal 2008).

Only the mixture weights are learned, one for each frequency class of the preceding word. The bigrams are counted once
and do not change.
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
"""λ stays between LEAST and 1 - LEAST: bigrams cannot draw a word that never followed, and λ = 0 would stay 0."""
_32 = uint64(32)


class Proposal(NamedTuple):
    """The proposal distribution Q(v|p) = λ B(v|p) + (1 - λ) U(v), where p is the word before the target.

    λ is mixture[class_of[p]], or 0 if the target is the first word of its sentence or no word ever followed p.

    accept, alias: the alias table of U. unigram (V,) float64: U. bigrams: the counts behind B. class_of (V,) int32: the
    frequency class of each word. mixture (classes,) float64: λ of each class.
    """

    accept: np.ndarray
    alias: np.ndarray
    unigram: np.ndarray
    bigrams: Bigrams
    class_of: np.ndarray
    mixture: np.ndarray


class Estimate(NamedTuple):
    """The words drawn for a block and the estimates made from them.

    words (B, cap) int32 and weights (B, cap): the draws of example b are the first drawn[b] of row b. log_z (B,):
    log(mean r). bigram (B,) float64: Σ weight_v λ B(v|p) / Q(v|p), the share of P that the bigrams account for.
    enough (B,) bool: true if the effective sample size was reached.
    """

    words: np.ndarray
    weights: np.ndarray
    drawn: np.ndarray
    log_z: np.ndarray
    bigram: np.ndarray
    enough: np.ndarray


class Scratch(NamedTuple):
    """Working memory for a batch of n draws, (n,) each.

    parts float64: λ B. q float64: Q. places int64: indices into the bigram table. least int64: cumulative counts to
    search for in that table.
    """

    parts: np.ndarray
    q: np.ndarray
    places: np.ndarray
    least: np.ndarray


class AdaptiveImportanceSampling(RowObjective):
    """∇L = -∇s_w + Σ_v (r_v / Σ r) ∇s_v, v ~ Q(v|p), r_v = exp(s_v) / Q(v|p): g_v = [v=w] - r_v / Σ r.

    Bengio & Senécal 2008, "Adaptive importance sampling to accelerate training of a neural probabilistic language
    model". The proposal Q(v|p) = λ B(v|p) + (1 - λ) U(v) mixes the bigrams of the text with word frequencies, where p
    is the word before the target. Words p are grouped into classes by log2 of their counts, and each class has its own
    λ. It is learned to minimize KL(P‖Q): λ += mixture_rate · (Σ_v weight_v λ B(v|p) / Q(v|p) - λ). The term in
    parentheses, with weight_v = r_v / Σ r, estimates minus the gradient with respect to the logit of λ.

    Each example draws its own words, in batches, until its effective sample size (Σ r)² / Σ r² reaches `ess`. If that
    takes more than `cap` draws, it uses the exact sum over all words instead. `examples` counts all examples,
    and `fallbacks` counts those that used the exact sum.

    samples: draws per batch. ess: effective sample size to reach. cap: maximum draws per example, rounded down to whole
    batches. ns_exponent: U is proportional to the counts to this power. mixture_rate: see above.
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
        """Start biases, if any, at the log-frequencies of the words. Without a text there are no bigrams."""
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
        """Return "is.mixture", λ of each class, and "is.counts": examples, fallbacks to the exact sum, and draws."""
        return {"is.mixture": self.proposal.mixture, "is.counts": self.counts}

    def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> tuple[float, np.ndarray]:
        """Train on one block: H (B, width), targets (B,). Return the summed loss and -dL/dH (B, width).

        work.previous (B,): the word before each target. All estimates are made from the old rows, before any changes.
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
    """Return λ for the word `previous` (-1: there is none), and how often any word followed it."""
    pairs = followers(proposal.bigrams, previous) if previous >= 0 else int64(0)
    return (proposal.mixture[proposal.class_of[previous]] if pairs else 0.0), pairs


@inline
def _draw(stream, proposal, previous, share, pairs, scratch, words):
    """Fill words (n,) with draws from Q(.|previous), bigram draws first, and scratch with the words' λ B and Q."""
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
    """Fill `out`. Subtract Σ weight_v o_v from the rows of dH (B, width) whose examples have enough draws."""
    parts, q = scratch.parts, scratch.q
    for b in range(len(H)):
        h, words, r, n = H[b], out.words[b], out.weights[b], 0
        share, pairs = _mixture(proposal, previous[b])
        # Sums of r, r² and r λB/Q. To avoid overflow, each r is divided by exp(top), the largest exp(s) so far.
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
    """Normalize r to weights, and subtract the weighted sum of the output rows from d (width,)."""
    for k in range(len(words)):
        r[k] /= total
        row, weight = output[words[k]], r[k]
        for j in range(len(d)):
            d[j] -= weight * row[j]


@kernel()
def _learn(H, targets, previous, output, proposal, found, lr, mixture_rate):
    """Update the output rows and the mixture. `learn_all` has already applied the exact sums."""
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
