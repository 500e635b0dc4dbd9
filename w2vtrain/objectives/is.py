# ruff: noqa: N999 -- named as on the command line
"""Softmax gradient estimated by importance sampling from a fixed proposal (Bengio & Senécal 2003).

The proposal distribution Q does not change; adaptive_is.py has one that learns.
"""

from typing import NamedTuple

import numpy as np

from w2vtrain.errors import shown
from w2vtrain.objectives.contract import rates
from w2vtrain.probability.bigrams import fixed_mixture
from w2vtrain.probability.dense import Workspace, add_rows, learn_all, learn_rows, softmax, take_rows
from w2vtrain.probability.importance import MAX_DRAWS, ImportanceObjective, Outcome, OwnDraws, check_cap
from w2vtrain.probability.noise import alias_table, log_uniform, noise_distribution
from w2vtrain.probability.problem import Problem, bad_option, check_ranges
from w2vtrain.probability.random_streams import draw_words

GROUP = "sampling"
DEFAULTS = rates(skipgram=0.05, cbow=0.05, cbow_corrected=0.05, vlbl=0.04)
SHARED_DRAWS, OWN_DRAWS = (2048, 200.0, 8192), (32, 25.0, 4096)
"""Values for samples, ess and cap: of draws that a block shares, and of draws that each example makes for itself."""
PROPOSALS = {"unigram": SHARED_DRAWS, "bigram": OWN_DRAWS, "log-uniform": SHARED_DRAWS, "uniform": SHARED_DRAWS}


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


class SharedDraws:
    """Draws in batches; a batch is shared by all examples of the block that still need draws.

    noise (V,) float64: Q. samples: draws per batch. ess: effective sample size to reach; an example that does not reach
    it within `cap` draws, rounded down to whole batches, uses the exact sum over all words.
    """

    def __init__(self, noise: np.ndarray, samples: int, ess: float, cap: int) -> None:
        self.samples, self.ess, self.batches = samples, ess, cap // samples
        self.table, self.log_noise = alias_table(noise), np.log(noise)

    def learn(self, output: np.ndarray, H: np.ndarray, targets: np.ndarray, lr: float, work: Workspace) -> Outcome:
        """Train output (V, width) on a block: H (B, width), targets (B,)."""
        dH = output[targets]
        hit = np.einsum("bd,bd->b", H, dH)
        batches, log_sum, drawn, few = self._draw(output, H, work)
        log_z = log_sum - np.log(drawn).astype(H.dtype)
        if len(few):
            log_z[few], change = learn_all(output, H[few], lr, work)
            log_sum[few], dH[few] = np.inf, dH[few] + change  # discard their draws
        for batch in batches:
            g = batch.shares
            g *= -np.exp(batch.log_sum - log_sum[batch.lines])[:, None]
            dH[batch.lines] += g @ batch.rows
            learn_rows(output, batch.words, g, H[batch.lines], lr, work)
        add_rows(output, targets, H, output.dtype.type(lr))
        return Outcome(float((log_z - hit).sum(dtype=np.float64)), dH, len(few), int(drawn.sum()))

    def _draw(
        self, output: np.ndarray, H: np.ndarray, work: Workspace
    ) -> tuple[list[Batch], np.ndarray, np.ndarray, np.ndarray]:
        """Draw batches until every example has enough or has reached the cap.

        Return the batches, each example's log Σ r and number of draws, (B,), and the examples that need the exact sum.
        """
        log_sum, inverse = np.full(len(H), -np.inf, H.dtype), np.zeros(len(H), H.dtype)
        drawn, few = np.zeros(len(H), np.int64), np.arange(len(H))
        stream = work.stream()
        batches: list[Batch] = []
        while len(few) and len(batches) < self.batches:
            batch, squares = self._batch(output, H, few, stream, work, str(len(batches)))
            batches.append(batch)
            total = np.logaddexp(log_sum[few], batch.log_sum)
            inverse[few] = inverse[few] * np.exp(2 * (log_sum[few] - total))
            inverse[few] += squares * np.exp(2 * (batch.log_sum - total))
            log_sum[few] = total
            drawn[few] += self.samples
            few = few[inverse[few] * self.ess > 1]
        return batches, log_sum, drawn, few

    def _batch(
        self, output: np.ndarray, H: np.ndarray, lines: np.ndarray, stream: np.ndarray, work: Workspace, name: str
    ) -> tuple[Batch, np.ndarray]:
        """Draw one batch for the examples `lines` (b,); return it and Σ r² / (Σ r)² of each example, (b,)."""
        drawn = work.array("drawn", (self.samples,), np.int32)
        draw_words(stream, *self.table, drawn)
        words, times = np.unique(drawn, return_counts=True)
        rows = take_rows(output, words, work, "rows" + name)
        r = np.dot(H[lines], rows.T, out=work.array("shares" + name, (len(lines), len(words)), H.dtype))
        r += np.log(times).astype(H.dtype) - self.log_noise[words].astype(H.dtype)
        log_sum = softmax(r)
        squares = np.square(r, out=work.array("squares", r.shape, r.dtype)) @ (1 / times).astype(r.dtype)
        return Batch(words, rows, lines, r, log_sum), squares


class ImportanceSampling(ImportanceObjective):
    """∇L = -∇s_w + Σ_v (r_v / Σ r) ∇s_v, v ~ Q, r_v = exp(s_v) / Q(v): g_v = [v=w] - r_v / Σ r.

    Bengio & Senécal 2003, "Quick training of probabilistic neural nets by importance sampling". The reported loss is
    L = -s_w + log(mean r). Both the gradient and the loss are biased; the bias shrinks as more words are drawn.

    Words are drawn in batches, until the effective sample size (Σ r)² / Σ r² reaches `ess`. An example that is still
    below it after `cap` draws uses the exact sum over all words instead.

    proposal: Q. "unigram" is proportional to the counts to the power ns_exponent. "log-uniform" is Zipf's law over the
    ranks of the words, as in TensorFlow, and "uniform" gives all words the same probability. "bigram" is a mixture,
    Q(v|p) = λ B(v|p) + (1 - λ) U(v), of the words that follow the previous word p in the text and of the unigrams;
    λ = n / (n + 5 t) if n words follow p, t of them distinct (Collins 1999). With "bigram", each example draws its own
    words; otherwise, a batch is shared by all examples of the block that still need draws.

    samples: draws per batch, with replacement; 0 means 2048, or 32 with "bigram". ess: effective sample size to reach;
    0 draws exactly one batch; -1 means 200, or 25 with "bigram". cap: maximum draws per example, rounded down to whole
    batches; 0 means 8192, or 4096 with "bigram". ns_exponent: see proposal; only for "unigram" and "bigram".
    """

    @classmethod
    def build(
        cls,
        problem: Problem,
        *,
        proposal: str = "unigram",
        samples: int = 0,
        ess: float = -1.0,
        cap: int = 0,
        ns_exponent: float = 1.0,
    ) -> "ImportanceSampling":
        """Start biases, if any, at the log-frequencies of the words."""
        if proposal not in PROPOSALS:
            raise bad_option("is", "proposal", f"{shown(proposal)} is not one of {', '.join(PROPOSALS)}")
        if proposal in ("log-uniform", "uniform") and ns_exponent != 1:
            raise bad_option("is", "ns_exponent", f"has no effect on the proposal {proposal}; omit it")
        usual = PROPOSALS[proposal]
        most = MAX_DRAWS if usual is OWN_DRAWS else 10 * MAX_DRAWS
        check_ranges("is", samples=(samples, 0, MAX_DRAWS), cap=(cap, 0, most), ns_exponent=(ns_exponent, 0, 2))
        samples, ess, cap = samples or usual[0], usual[1] if ess == -1 else ess, cap or usual[2]
        check_ranges("is", ess=(ess, 0, most))
        check_cap("is", cap, samples=samples, ess=ess)
        output = problem.initial_rows(bias=problem.log_unigram())
        if proposal == "bigram":
            return cls(output, OwnDraws(fixed_mixture(problem, ns_exponent), samples, ess, cap))
        if proposal == "log-uniform":
            noise = log_uniform(len(problem.counts))
        else:
            noise = noise_distribution(np.maximum(problem.counts, 1), ns_exponent if proposal == "unigram" else 0.0)
        return cls(output, SharedDraws(noise, samples, ess, cap))


OBJECTIVE = ImportanceSampling
