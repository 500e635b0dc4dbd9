"""Compute 95% confidence intervals of an accuracy and of a rank correlation.

The modules named after the evaluations compute the figures themselves.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Z95 = 1.959963984540054


class PairJackknife(NamedTuple):
    """How much the number of correct answers to analogy questions varies with the word pairs that they combine.

    pairs: the number of different word pairs; combinations: the number of different sets of two pairs; variance: that
    of the number of correct answers. For several sections, all three are sums.
    """

    pairs: int
    combinations: int
    variance: float


def pair_jackknife(correct: NDArray[np.bool_], pairs: NDArray[np.int64]) -> PairJackknife:
    """Return the variance by pairs of the questions of one section.

    correct: which answers are correct, (n,) with n > 0; pairs: the numbers of both pairs of each question, (n, 2).

    Questions that share a pair are not independent: 30 pairs make up to 870 questions. The jackknife leaves out one
    pair at a time, with all its questions (Efron & Stein 1981). It counts what is particular to a combination with both
    pairs, so that is subtracted once, as in the dyadic cluster-robust variance (Fafchamps & Gubert 2007; Aronow, Samii
    & Assenova 2015). A pair without which no question would be left counts as fixed.
    """
    # n^2 sum over pairs p of (accuracy without p - accuracy)^2 - sum over combinations of (sum of residuals)^2
    n = len(correct)
    known, numbers = np.unique(pairs, return_inverse=True)
    m, numbers = len(known), numbers.reshape(n, 2)
    residuals = correct - correct.mean()
    once = numbers[:, 0] != numbers[:, 1]  # a question may combine a pair with itself
    members = np.concatenate([numbers[:, 0], numbers[once, 1]])
    moved = np.bincount(members, np.concatenate([residuals, residuals[once]]), m)
    left = n - np.bincount(members, minlength=m)
    shifts = np.divide(moved, left, out=np.zeros(m), where=left > 0)
    combinations = np.unique(numbers.min(axis=1) * m + numbers.max(axis=1), return_inverse=True)[1]
    both = np.bincount(combinations, residuals)
    variance = max(0.0, float(n * n * (shifts**2).sum() - (both**2).sum()))
    return PairJackknife(m, len(both), variance)


def effective_questions(correct: int, n: int, jackknife: PairJackknife) -> float:
    """Return how many independent questions would determine the accuracy, `correct` of n > 0, as well.

    They are at most the number of combinations: a question and its reverse have the same two pairs.
    """
    return _effective(correct / n, jackknife.variance / (n * n), jackknife.combinations)


def _effective(p: float, variance: float, most: int) -> float:
    """Return the effective sample size p(1-p) / variance (Korn & Graubard 1998), at least 1 and at most `most`."""
    return max(1.0, min(most, p * (1 - p) / variance)) if variance > 0 else most


def clustered_interval(correct: int, n: int, jackknife: PairJackknife) -> tuple[float, float]:
    """Return the 95% interval for an accuracy of `correct` out of n > 0 questions that share pairs.

    It is Wilson's interval for the effective number of questions (Franco et al. 2019). Near 0 and 1, where too few
    answers differ for an estimate of the variance, its upper end is not below that of Wilson's interval for no correct
    answer out of as many questions as there are pairs, and its lower end not above that for all correct.
    """
    effective = effective_questions(correct, n, jackknife)
    low, high = wilson_interval(correct / n * effective, effective)
    least, most = wilson_interval(jackknife.pairs, jackknife.pairs)[0], wilson_interval(0, jackknife.pairs)[1]
    return min(low, least), max(high, most)


def grouped_interval(correct: Sequence[int], sizes: Sequence[int]) -> tuple[float, float]:
    """Return the 95% interval for an accuracy over groups of questions that are alike, such as those of a topic.

    correct, sizes: the number of correct answers and of answers of each group, all sizes > 0. It is Wilson's interval
    for the effective number of questions, by the jackknife over groups: at least 1, and at most all questions. With
    one group, or if all groups are alike, the questions count as independent.
    """
    # (g - 1)/g sum over groups of (accuracy without the group - accuracy)^2
    total, n, g = sum(correct), sum(sizes), len(sizes)
    p, variance = total / n, 0.0
    if g > 1:
        without = ((total - right) / (n - size) for right, size in zip(correct, sizes, strict=True))
        variance = (g - 1) / g * math.fsum((share - p) ** 2 for share in without)
    effective = _effective(p, variance, n)
    return wilson_interval(p * effective, effective)


def wilson_interval(correct: float, n: float) -> tuple[float, float]:
    """Return Wilson's 95% interval for `correct` out of n > 0 (Wilson 1927): accurate for small n and near 0 and 1."""
    # (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n)
    p, square = correct / n, Z95 * Z95 / n
    half = Z95 * math.sqrt(p * (1 - p) / n + square / (4 * n))
    return max(0.0, (p + square / 2 - half) / (1 + square)), min(1.0, (p + square / 2 + half) / (1 + square))


def fisher_interval(r: float, n: int) -> tuple[float, float]:
    """Return the 95% interval for Spearman's r over n pairs, or (-1, 1) if n < 4.

    Uses Fisher's z with the standard error of Bonett and Wright (2000), for independent pairs. Words that occur in
    several pairs make it somewhat too narrow.
    """
    # tanh(atanh(r) -+ z sqrt((1 + r^2/2) / (n - 3)))
    if n < 4:
        return -1.0, 1.0
    z = math.atanh(max(-1 + 1e-15, min(1 - 1e-15, r)))
    half = Z95 * math.sqrt((1 + r * r / 2) / (n - 3))
    return math.tanh(z - half), math.tanh(z + half)
