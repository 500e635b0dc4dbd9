"""Compute 95% confidence intervals of an accuracy and of a rank correlation.

analogies.py and similarity.py compute the figures themselves.
"""

import math

Z95 = 1.959963984540054


def wilson_interval(correct: int, n: int) -> tuple[float, float]:
    """Return Wilson's 95% interval for `correct` out of n > 0 (Wilson 1927): accurate for small n and near 0 and 1."""
    # (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n)
    p, square = correct / n, Z95 * Z95 / n
    half = Z95 * math.sqrt(p * (1 - p) / n + square / (4 * n))
    return max(0.0, (p + square / 2 - half) / (1 + square)), min(1.0, (p + square / 2 + half) / (1 + square))


def fisher_interval(r: float, n: int) -> tuple[float, float]:
    """Return the 95% interval for Spearman's r over n pairs, or (-1, 1) if n < 4.

    Uses Fisher's z with the standard error of Bonett and Wright (2000).
    """
    # tanh(atanh(r) -+ z sqrt((1 + r^2/2) / (n - 3)))
    if n < 4:
        return -1.0, 1.0
    z = math.atanh(max(-1 + 1e-15, min(1 - 1e-15, r)))
    half = Z95 * math.sqrt((1 + r * r / 2) / (n - 3))
    return math.tanh(z - half), math.tanh(z + half)
