"""benchmarks/proposals.py: the proposals are distributions, draws follow them, and estimates are those of training."""

import near_model
import numpy as np
import proposals
import pytest
from scipy.special import softmax

import w2vtrain
from w2vtrain.probability.dense import Workspace, learn_subset
from w2vtrain.probability.sampling import log_drawn


@pytest.fixture(scope="module")
def case(corpus):
    """Return a language model of a small text, with biases, and the examples of that text."""
    settings = {"context": "left", "window": 2, "bias": True, "sentence_end": True, "min_count": 1, "vector_size": 10}
    trained = w2vtrain.train(
        str(corpus), architecture="vlbl", objective="softmax", epochs=2, threads=1, init=0.5, **settings
    )
    return proposals.case(trained, str(corpus), str(corpus))


def test_every_proposal_is_a_distribution(case, rng):
    part = case.some(slice(20))
    found = dict(proposals.proposals(part, [4, 8], rng, case))
    assert len(found) == 17
    for Q in found.values():
        np.testing.assert_allclose(Q.sum(axis=1), 1, rtol=1e-6)
        assert (Q > 0).all()


def test_draws_of_the_sampler_follow_midx(case, rng):
    sampler = near_model.Sampler(proposals.by_frequency(case, 5, rng), case.bias)
    assert 0.8 < proposals.chi_square(case, sampler, 50_000) < 1.2


def test_an_index_with_a_codeword_for_every_word_is_the_softmax(case, rng):
    part = case.some(slice(10))
    index = near_model.Index(case.rows, np.zeros_like(case.rows), np.arange(len(case.rows)) * len(case.rows))
    np.testing.assert_allclose(near_model.midx(index, part.H, case.bias), near_model.softmax(part.scores()), rtol=1e-4)


def test_the_estimate_of_sampled_softmax_is_that_of_training(case, rng):
    """The candidates and their shifts are those that objectives/sampled_softmax.py passes to `learn_subset`."""
    m, part = 30, case.some(slice(3, 4))
    p, q = near_model.softmax(part.scores())[0], case.unigram
    words, target = proposals.drawn(q, (1, m), rng), int(part.targets[0])
    g = proposals.estimates(words, p, q, target)["sampled"].toarray()[0]
    rows, shift = np.unique(np.append(words[0], target)), log_drawn(q, m)
    place = np.flatnonzero(rows == target)
    shifts = np.where(np.isin(rows, words), shift[rows], np.inf)
    output = np.concatenate([case.rows, case.bias[:, None]], axis=1)
    H = np.concatenate([part.H, np.ones((1, 1), np.float32)], axis=1)
    _, dH = learn_subset(output.copy(), rows, H, place, 0.0, Workspace(), shifts, shift[[target]])
    np.testing.assert_allclose(case.rows[target] - g @ case.rows, dH[0, :-1], atol=1e-4)


def test_bias_and_error_of_multinomial_draws_are_those_of_theory(rng):
    """If Q is P, g is the share of draws: no bias, and a squared error of Σ p (1 - p) / m."""
    p, R, m = softmax(rng.normal(size=20)), 4000, 10
    g = proposals.estimates(proposals.drawn(p, (R, m), rng), p, p, 0)["is"]
    for found in (proposals.sparse_spread(g, p), proposals.spread(g.toarray(), p)):
        assert found.error == pytest.approx((p * (1 - p)).sum() / m, rel=0.1)
        assert abs(found.bias) < 0.01 * found.error
    shifted = proposals.spread(g.toarray() + 0.1, p)
    assert shifted.bias == pytest.approx(20 * 0.1**2, rel=0.02)


def test_draws_until_the_effective_sample_size_come_in_batches():
    r = np.ones((2, proposals.CAP))
    assert proposals.needed(r) == (proposals.DRAWS_PER_BATCH, 0)
    r[:, 0] = 1e6
    assert proposals.needed(r) == (proposals.CAP, 1)
