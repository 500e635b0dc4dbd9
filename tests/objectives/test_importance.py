"""Importance sampling, compared with a reference implementation in float64; its draws, weights and bias."""

import math
from functools import partial

import numpy as np
import pytest
from reference import COUNTS, begun, check_step, drawn_words, hidden_vectors, objective_of

from w2vtrain.errors import ConfigError
from w2vtrain.probability.noise import alias_probabilities

TARGETS = np.array([0, 3, 3, 10, 1, 8, 0, 2], np.int32)
WIDTH = 6
SOME = {"samples": 10, "ess": 6.2, "cap": 39}  # three batches
built = partial(objective_of, "is")


def hidden(rng):
    """Return hidden vectors from short to long, for which P ranges from flat to peaked."""
    return hidden_vectors(rng, len(TARGETS), WIDTH, np.linspace(0.05, 2, len(TARGETS)))


def proposal_of(name, exponent=1.0):
    """Return Q of a proposal that does not depend on the previous word, (V,)."""
    weights = {
        "unigram": COUNTS**exponent,
        "log-uniform": [math.log((r + 2) / (r + 1)) for r in range(len(COUNTS))],
        "uniform": np.ones(len(COUNTS)),
    }[name]
    return np.array(weights) / sum(weights)


def naive(objective, H, targets, q):
    """Return loss, -dL/dH, -dL/d output, draws and fallbacks of a block, one example and one draw at a time."""
    output, loss, dH, d_output = objective.output, 0.0, np.zeros_like(H), np.zeros_like(objective.output)
    stream = begun().stream()
    drawn = [[] for _ in H]
    waiting = list(range(len(H)))
    while waiting and len(drawn[waiting[0]]) < objective.estimator.batches * objective.estimator.samples:
        batch = drawn_words(objective.estimator.table, objective.estimator.samples, stream)
        for b in waiting:
            drawn[b] += batch
        waiting = [b for b in waiting if effective(output, H[b], drawn[b], q) < objective.estimator.ess]
    for b, (h, target) in enumerate(zip(H, targets, strict=True)):
        if b in waiting:
            words, weights = range(len(q)), np.exp(output @ h) / np.exp(output @ h).sum()
            log_z = np.log(np.exp(output @ h).sum())
        else:
            r = [np.exp(output[v] @ h) / q[v] for v in drawn[b]]
            words, weights, log_z = drawn[b], np.array(r) / sum(r), np.log(np.mean(r))
        loss += log_z - output[target] @ h
        for v, g in [(target, 1.0), *zip(words, -weights, strict=True)]:
            dH[b] += g * output[v]
            d_output[v] += g * h
    return loss, dH, d_output, [len(d) for d in drawn], waiting


def effective(output, h, drawn, q):
    r = np.array([np.exp(output[v] @ h) / q[v] for v in drawn])
    return r.sum() ** 2 / (r**2).sum()


@pytest.mark.parametrize(
    ("proposal", "exponent", "ess"),
    [("unigram", 0.5, 6.2), ("unigram", 1.0, 6.2), ("log-uniform", 1.0, 6.2), ("uniform", 1.0, 5.5)],
)
def test_step_matches_the_reference_implementation(rng, proposal, exponent, ess):
    objective, H = built(proposal=proposal, ns_exponent=exponent, **{**SOME, "ess": ess}), hidden(rng)
    loss, dH, d_output, draws, waiting = naive(objective, H, TARGETS, proposal_of(proposal, exponent))
    assert {10, 30} <= set(draws), "one batch must suffice for some examples, and others need all"
    assert 0 < len(waiting) < draws.count(30), "some of those must fall back to the exact sum"
    check_step(objective, H, TARGETS, begun(), loss, dH, d_output)
    assert objective.arrays()["is.counts"].tolist() == [len(H), len(waiting), sum(draws)]
    assert objective.counts[:2].tolist() == [len(H), len(waiting)]


def test_all_draws_have_equal_weight_if_q_equals_p():
    """All r are 1, so the effective sample size is m, the loss is exact, and every weight is 1/m."""
    m = 64
    objective = built(samples=m, ess=float(m) - 1e-6, cap=m)
    objective.output[:, -1] = np.log(COUNTS / COUNTS.sum())
    h = np.zeros((1, WIDTH))
    h[0, -1] = 1
    target, old = np.array([4], np.int32), objective.output.copy()
    loss, _ = objective.step(h, target, 1.0, begun())
    assert loss == pytest.approx(-np.log(COUNTS[4] / COUNTS.sum()), rel=1e-12)
    assert objective.counts[1] == 0
    words = drawn_words(objective.estimator.table, m)
    expected = (np.arange(len(COUNTS)) == 4) - np.bincount(words, minlength=len(COUNTS)) / m
    np.testing.assert_allclose((objective.output - old)[:, -1], expected, atol=1e-12)


@pytest.mark.parametrize(
    "options", [{}, {"ns_exponent": 0.0}, {"proposal": "unigram"}, {"proposal": "log-uniform"}, {"proposal": "uniform"}]
)
def test_draws_follow_the_proposal(options):
    """The default is the unigrams."""
    objective = built(**options)
    q = proposal_of(options.get("proposal", "unigram"), options.get("ns_exponent", 1.0))
    np.testing.assert_allclose(alias_probabilities(*objective.estimator.table), q, atol=1e-8)
    np.testing.assert_allclose(np.exp(objective.estimator.log_noise), q, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"proposal": "trigram"},
            "proposal of objective is: 'trigram' is not one of unigram, bigram, log-uniform, uniform",
        ),
        (
            {"proposal": "uniform", "ns_exponent": 0.5},
            "ns_exponent of objective is: has no effect on the proposal uniform",
        ),
        ({"proposal": "log-uniform", "ns_exponent": 0.0}, "has no effect on the proposal log-uniform; omit it"),
        ({"proposal": "bigram", "cap": 2_000_000}, "cap of objective is: 2000000 is not between 0 and 1000000"),
        ({"proposal": "bigram", "ns_exponent": 2.5}, "ns_exponent of objective is: 2.5"),
    ],
)
def test_options_that_do_not_fit_the_proposal_are_rejected(options, message):
    with pytest.raises(ConfigError, match=message):
        built(**options)


def test_the_usual_numbers_of_draws_depend_on_who_shares_them():
    """A batch that a block shares has more draws than a batch of one example."""
    for proposal, usual in (("unigram", (2048, 200, 8192)), ("uniform", (2048, 200, 8192)), ("bigram", (32, 25, 4096))):
        estimator = built(proposal=proposal).estimator
        cap = getattr(estimator, "cap", 0) or estimator.batches * estimator.samples
        assert (estimator.samples, estimator.ess, cap) == usual
    estimator = built(proposal="bigram", samples=10, ess=0.0, cap=40).estimator
    assert (estimator.samples, estimator.ess, estimator.cap) == (10, 0, 40)
