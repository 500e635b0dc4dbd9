"""Importance sampling of the softmax's gradient: separate draws for each example, and counters of the cost.

The proposals are in bigrams.py. Draws that a block shares are in objectives/is.py, which alone uses them.
"""

import math
from typing import NamedTuple, Protocol

import numpy as np

from w2vtrain.kernels.jit import inline, kernel
from w2vtrain.probability.bigrams import DrawBuffers, Proposal, draw_mixed, mixture_at
from w2vtrain.probability.dense import RowObjective, Workspace, learn_all
from w2vtrain.probability.problem import Arrays, bad_option

MIN_SHARE = 0.01
"""A learned λ stays in [MIN_SHARE, 1 - MIN_SHARE]: at 0 it would remain 0, and at 1 only followers would be drawn."""


MAX_DRAWS = 1_000_000
"""The highest value of `samples`, and of `cap` for draws that each example makes for itself."""


def check_cap(objective: str, cap: int, **options: float) -> None:
    """Raise ConfigError for the first option that is more than `cap`, the maximum draws per example."""
    for name, value in options.items():
        if value > cap:
            lower = " and ".join(other for other in options if options[other] > cap)
            raise bad_option(objective, name, f"{value} is more than cap, {cap}: lower {lower}, or raise cap")


class Outcome(NamedTuple):
    """The result of a step.

    loss: summed. change (B, width): -dL/dH. fallbacks: number of examples that used the exact sum. draws: number of
    draws for all examples.
    """

    loss: float
    change: np.ndarray
    fallbacks: int
    draws: int


class Estimator(Protocol):
    """A way to draw words for a block of examples and to learn from them."""

    def learn(self, output: np.ndarray, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> Outcome:
        """Train output (V, width) on a block: H (B, width), targets (B,)."""


class ImportanceObjective(RowObjective):
    """Base class of objectives that learn by importance sampling. Subclasses define `build`."""

    def __init__(self, output: np.ndarray, estimator: Estimator) -> None:
        super().__init__(output)
        self.estimator, self.counts = estimator, np.zeros(3, np.int64)

    def arrays(self) -> Arrays:
        """Return "is.counts": the examples trained on, those that used the exact sum, and the draws made for all.

        They are those of one rank in a distributed run.
        """
        return {"is.counts": self.counts}

    def untrained_loss(self) -> float:
        return math.log(len(self.output))

    def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> tuple[float, np.ndarray]:
        outcome = self.estimator.learn(self.output, H, targets, lr, work)
        if lr:
            self.counts += len(H), outcome.fallbacks, outcome.draws
        return outcome.loss, outcome.change


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


class OwnDraws:
    """Draws from a mixture of bigrams and unigrams, for each example of a block separately.

    samples: draws per batch. ess: effective sample size to reach; an example that does not reach it within `cap` draws,
    rounded down to whole batches, uses the exact sum over all words. mixture_rate: rate at which λ learns; 0 keeps the
    mixture fixed.
    """

    def __init__(self, proposal: Proposal, samples: int, ess: float, cap: int, mixture_rate: float = 0.0) -> None:
        self.proposal, self.samples, self.ess, self.cap = proposal, samples, ess, cap // samples * samples
        self.mixture_rate = mixture_rate

    def learn(self, output: np.ndarray, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> Outcome:
        """Train output (V, width) on a block: H (B, width), targets (B,).

        work.previous (B,): the word before each target. All estimates are made from the old rows, before any changes.
        """
        size, dtype = len(H), H.dtype
        dH = output[targets]
        hit = np.einsum("bd,bd->b", H, dH)
        estimate = Estimate(
            work.array("words", (size, self.cap), np.int32),
            work.array("weights", (size, self.cap), dtype),
            work.array("drawn", (size,), np.int64),
            work.array("log_z", (size,), dtype),
            work.array("bigram", (size,), np.float64),
            work.array("enough", (size,), np.bool_),
        )
        scratch = DrawBuffers(
            *work.array("densities", (2, self.samples), np.float64), *work.array("search", (2, self.samples), np.int64)
        )
        stream = work.stream()
        _estimate(H, work.previous, output, self.proposal, stream, self.samples, self.ess, scratch, estimate, dH)
        few = np.flatnonzero(~estimate.enough)
        if len(few):
            estimate.log_z[few], change = learn_all(output, H[few], lr, work)
            dH[few] += change
        if lr:
            rate = output.dtype.type(lr)
            _learn(H, targets, work.previous, output, self.proposal, estimate, rate, self.mixture_rate)
        loss = float((estimate.log_z - hit).sum(dtype=np.float64))
        return Outcome(loss, dH, len(few), int(estimate.drawn.sum()))


@kernel()
def _estimate(H, previous, output, proposal, stream, samples, ess, scratch, out, dH):
    """Fill `out`. Subtract Σ weight_v o_v from the rows of dH (B, width) whose examples have enough draws."""
    parts, q = scratch.parts, scratch.q
    for b in range(len(H)):
        h, words, r, n = H[b], out.words[b], out.weights[b], 0
        share, pairs = mixture_at(proposal, previous[b])
        # Sums of r, r² and r λB/Q. To avoid overflow, each r is divided by exp(top), the largest exp(s) so far.
        top, total, squares, bigram = -np.inf, 0.0, 0.0, 0.0
        while n == 0 or (n < len(words) and total * total < ess * squares):
            draw_mixed(stream, proposal, previous[b], share, pairs, scratch, words[n : n + samples])
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
def _learn(H, targets, previous, output, proposal, estimate, lr, mixture_rate):
    """Update the output rows and the mixture. `learn_all` has already applied the exact sums."""
    for b in range(len(H)):
        h = H[b]
        for k in range(estimate.drawn[b] if estimate.enough[b] else 0):
            row, step = output[estimate.words[b, k]], lr * estimate.weights[b, k]
            for j in range(len(h)):
                row[j] -= step * h[j]
        row = output[targets[b]]
        for j in range(len(h)):
            row[j] += lr * h[j]
        share, pairs = mixture_at(proposal, previous[b])
        if pairs and mixture_rate > 0:
            share += mixture_rate * (estimate.bigram[b] - share)
            proposal.mixture[proposal.class_of[previous[b]]] = min(max(share, MIN_SHARE), 1 - MIN_SHARE)
