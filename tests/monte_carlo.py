"""The yardstick of objectives that sample: estimates of the softmax's gradient from words drawn from P itself.

Notation: P (V,) is the softmax of one example's scores, w its target, and g (V,) the coefficients -dL/ds.
"""

import numpy as np
from reference import begun


def exact(p, target):
    """Return the softmax's coefficients, (V,): g_v = [v=w] - P(v)."""
    return (np.arange(len(p)) == target) - p


def drawn_from_p(p, target, m, rounds, seed=5):
    """Return `rounds` estimates of the coefficients, (rounds, V), each from m words drawn from P.

    g_v = [v=w] - 1/m Σ_i [v_i=v]. No bias; the variance of g_v is P(v) (1 - P(v)) / m. No estimate that knows the model
    only through words drawn from P is better, but P takes the sum over all words that sampling is meant to avoid.
    """
    return (np.arange(len(p)) == target) - np.random.default_rng(seed).multinomial(m, p, size=rounds) / m


def estimates(objective, scores, target, rounds, block=1, previous=-1):
    """Return `rounds` estimates of the coefficients by steps of a block objective at rate 0, (rounds, V).

    The objective's rows must be as wide as the vocabulary. They become the unit vectors, so a hidden vector is the
    scores (V,) themselves, and -dL/dH is the coefficients. block: examples per step; more than one only if each example
    draws its own words.
    """
    objective.output[:] = np.eye(len(scores))
    H, targets = np.tile(scores, (block, 1)), np.full(block, target, np.int32)
    work = begun(previous=np.full(block, previous, np.int32))
    return np.concatenate([objective.step(H, targets, 0.0, work)[1] for _ in range(rounds // block)])


def deviations(found, expected):
    """Return how many standard errors each mean coefficient, over found (rounds, V), is from `expected` (V,)."""
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    return np.abs(found.mean(axis=0) - expected) / np.maximum(error, 1e-12)


def squared_error(found, expected):
    """Return the mean of |g - expected|² over found (rounds, V), and its standard error."""
    squares = ((found - expected) ** 2).sum(axis=1)
    return squares.mean(), squares.std(ddof=1) / np.sqrt(len(squares))


def error_of_weighting(p, q, m):
    """Return the bias (V,) and the mean squared error of self-normalized importance sampling, for m draws from q (V,).

    Both are the terms of order 1/m of the delta method: with weights P/Q, the bias of the estimate of P(v) is
    -Cov(P/Q [x=v] - P(v) P/Q, P/Q) / m. Coefficients have the opposite sign.
    """
    spread = (p**2 / q).sum()
    bias = (p**2 / q - p * spread) / m
    return bias, (p**2 / q * (1 - 2 * p + (p**2).sum())).sum() / m


def least_error(p, m):
    """Return the lowest mean squared error that self-normalized importance sampling can have, to order 1/m.

    It follows from the Cauchy-Schwarz inequality; the best Q is not quite P.
    """
    return (p * np.sqrt(1 - 2 * p + (p**2).sum())).sum() ** 2 / m
