"""Importance sampling from a mixture of unigrams and bigrams that adapts to the model (Bengio & Senécal 2008).

Only the mixture weights are learned, one for each frequency class of the preceding word. The bigrams are counted once
and do not change. `is` with the bigram proposal has mixture weights that do not change either.
"""

import numpy as np

from w2vtrain.objectives.contract import rates
from w2vtrain.probability.bigrams import class_mixture
from w2vtrain.probability.importance import MAX_DRAWS, ImportanceObjective, OwnDraws, check_cap
from w2vtrain.probability.problem import Arrays, Problem, check_ranges

GROUP = "sampling"
DEFAULTS = rates(skipgram=0.05, cbow=0.05, cbow_corrected=0.05, vlbl=0.04)


class AdaptiveImportanceSampling(ImportanceObjective):
    """∇L = -∇s_w + Σ_v (r_v / Σ r) ∇s_v, v ~ Q(v|p), r_v = exp(s_v) / Q(v|p): g_v = [v=w] - r_v / Σ r.

    Bengio & Senécal 2008, "Adaptive importance sampling to accelerate training of a neural probabilistic language
    model". The proposal Q(v|p) = λ B(v|p) + (1 - λ) U(v) mixes the bigrams of the text with word frequencies, where p
    is the word before the target. Words p are grouped into classes by log2 of their counts, and each class has its own
    λ. λ is learned to minimize KL(P‖Q): λ += mixture_rate · (Σ_v weight_v λ B(v|p) / Q(v|p) - λ). The term in
    parentheses, with weight_v = r_v / Σ r, estimates the negative gradient by the logit of λ.

    Each example draws its own words, in batches, until its effective sample size (Σ r)² / Σ r² reaches `ess`. If that
    takes more than `cap` draws, the example uses the exact sum over all words instead.

    samples: draws per batch. ess: effective sample size to reach. cap: maximum draws per example, rounded down to whole
    batches. ns_exponent: U is proportional to the counts to this power. mixture_rate: see above.
    """

    estimator: OwnDraws

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
            samples=(samples, 1, MAX_DRAWS),
            cap=(cap, 1, MAX_DRAWS),
            ess=(ess, 0, MAX_DRAWS),
            ns_exponent=(ns_exponent, 0, 2),
            mixture_rate=(mixture_rate, 0, 1),
        )
        check_cap("adaptive-is", cap, samples=samples, ess=ess)
        class_of = np.log2(np.maximum(problem.counts, 1)).astype(np.int32)
        proposal = class_mixture(problem, ns_exponent, class_of, 0.5)
        output = problem.initial_rows(bias=problem.log_unigram())
        return cls(output, OwnDraws(proposal, samples, ess, cap, mixture_rate))

    def arrays(self) -> Arrays:
        """Return "is.mixture", λ of each class, and "is.counts": examples, fallbacks to the exact sum, and draws."""
        return {"is.mixture": self.estimator.proposal.mixture, **super().arrays()}


OBJECTIVE = AdaptiveImportanceSampling
