# ruff: noqa: N999 -- named as on the command line
"""Softmax gradient estimated by importance sampling from word frequencies (Bengio & Senécal 2003).

The proposal distribution Q is fixed; adaptive_is.py has one that learns.
"""

from typing import NamedTuple

import numpy as np

from w2vtrain.probability.dense import RowObjective, Workspace, softmax
from w2vtrain.probability.problem import Problem, check_ranges
from w2vtrain.probability.sampling import alias_table, draw_words, noise_distribution
from w2vtrain.probability.subset import add_rows, learn_all, learn_rows, take_rows

DEFAULTS = {
    "skipgram": {"alpha": 0.05, "shuffle": True},
    "cbow": {"alpha": 0.05, "shuffle": True},
    "cbow-corrected": {"alpha": 0.05, "shuffle": True},
    "vlbl": {"alpha": 0.04, "shuffle": True},
}


class Batch(NamedTuple):
    """One batch of draws, shared by b examples of a block.

    words (n,): the distinct words drawn. rows (n, width): their output rows before the step. lines (b,): the examples.
    shares (b, n): each word's share of the example's Σ r over this batch. log_sum (b,): the logarithm of that sum.
    """

    words: np.ndarray
    rows: np.ndarray
    lines: np.ndarray
    shares: np.ndarray
    log_sum: np.ndarray


class ImportanceSampling(RowObjective):
    """∇L = -∇s_w + Σ_v (r_v / Σ r) ∇s_v, v ~ Q, r_v = exp(s_v) / Q(v): g_v = [v=w] - r_v / Σ r.

    Bengio & Senécal 2003, "Quick training of probabilistic neural nets by importance sampling". The reported loss is
    L = -s_w + log(mean r). Both the gradient and the loss are biased; the bias shrinks as more words are drawn.

    Words are drawn in batches. A batch is shared by all examples of the block that still need draws, that is, whose
    effective sample size (Σ r)² / Σ r² is below `ess`. An example still below it after `cap` draws uses the exact sum
    over all words instead. `examples` counts all examples, and `fallbacks` counts those that used the exact sum.

    samples: draws per batch, with replacement. ess: effective sample size to reach; 0 draws exactly one batch. cap:
    maximum draws per example, rounded down to whole batches. ns_exponent: Q is proportional to the counts to this
    power.
    """

    def __init__(self, output: np.ndarray, noise: np.ndarray, samples: int, ess: float, cap: int) -> None:
        super().__init__(output)
        self.samples, self.ess, self.batches = samples, ess, cap // samples
        self.accept, self.alias = alias_table(noise)
        self.log_noise = np.log(noise).astype(output.dtype)
        self.counts = np.zeros(3, np.int64)
        self.examples, self.fallbacks, self.draws = self.counts[:1], self.counts[1:2], self.counts[2:]

    @classmethod
    def build(
        cls, problem: Problem, *, samples: int = 2048, ess: float = 200.0, cap: int = 8192, ns_exponent: float = 1.0
    ) -> "ImportanceSampling":
        """Start biases, if any, at the log-frequencies of the words."""
        check_ranges(
            "is",
            samples=(samples, 1, 1_000_000),
            cap=(cap, samples, 10_000_000),
            ess=(ess, 0, cap),
            ns_exponent=(ns_exponent, 0, 2),
        )
        noise = noise_distribution(np.maximum(problem.counts, 1), ns_exponent)
        return cls(problem.initial_rows(bias=problem.log_unigram()), noise, samples, ess, cap)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return "is.counts": the examples trained on, those that used the exact sum, and the draws made for all."""
        return {"is.counts": self.counts}

    def step(self, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> tuple[float, np.ndarray]:
        """Train on one block: H (B, width), targets (B,). Return the summed loss and -dL/dH (B, width)."""
        dH = self.output[targets]
        hit = np.einsum("bd,bd->b", H, dH)
        batches, log_sum, drawn, few = self._draw(H, work)
        log_z = log_sum - np.log(drawn).astype(H.dtype)
        if len(few):
            log_z[few], change = learn_all(self.output, H[few], lr, work)
            log_sum[few], dH[few] = np.inf, dH[few] + change  # discard their draws
        for batch in batches:
            g = batch.shares
            g *= -np.exp(batch.log_sum - log_sum[batch.lines])[:, None]
            dH[batch.lines] += g @ batch.rows
            learn_rows(self.output, batch.words, g, H[batch.lines], lr, work)
        add_rows(self.output, targets, H, self.output.dtype.type(lr))
        if lr:
            self.counts += len(H), len(few), drawn.sum()
        return float((log_z - hit).sum(dtype=np.float64)), dH

    def _draw(self, H: np.ndarray, work: Workspace) -> tuple[list[Batch], np.ndarray, np.ndarray, np.ndarray]:
        """Draw batches until every example has enough or has reached the cap.

        Return the batches, each example's log Σ r and number of draws, (B,), and the examples that need the exact sum.
        """
        log_sum, inverse = np.full(len(H), -np.inf, H.dtype), np.zeros(len(H), H.dtype)
        drawn, few = np.zeros(len(H), np.int64), np.arange(len(H))
        stream = work.stream()
        batches: list[Batch] = []
        while len(few) and len(batches) < self.batches:
            batch, squares = self._batch(H, few, stream, work, str(len(batches)))
            batches.append(batch)
            total = np.logaddexp(log_sum[few], batch.log_sum)
            inverse[few] = inverse[few] * np.exp(2 * (log_sum[few] - total))
            inverse[few] += squares * np.exp(2 * (batch.log_sum - total))
            log_sum[few] = total
            drawn[few] += self.samples
            few = few[inverse[few] * self.ess > 1]
        return batches, log_sum, drawn, few

    def _batch(
        self, H: np.ndarray, lines: np.ndarray, stream: np.ndarray, work: Workspace, name: str
    ) -> tuple[Batch, np.ndarray]:
        """Draw one batch for the examples `lines` (b,); return it and Σ r² / (Σ r)² of each example, (b,)."""
        drawn = work.array("drawn", (self.samples,), np.int32)
        draw_words(stream, self.accept, self.alias, drawn)
        words, times = np.unique(drawn, return_counts=True)
        rows = take_rows(self.output, words, work, "rows" + name)
        r = np.dot(H[lines], rows.T, out=work.array("shares" + name, (len(lines), len(words)), H.dtype))
        r += np.log(times).astype(H.dtype) - self.log_noise[words]
        log_sum = softmax(r)
        squares = np.square(r, out=work.array("squares", r.shape, r.dtype)) @ (1 / times).astype(r.dtype)
        return Batch(words, rows, lines, r, log_sum), squares


OBJECTIVE = ImportanceSampling
