"""Sampled softmax, compared with a reference implementation in float64 and with `target`."""

from functools import partial

import numpy as np
import pytest
from reference import COUNTS, begun, check_same_step, check_step, draws_of, hidden_vectors, objective_of, problem_of

from w2vtrain import objectives
from w2vtrain.errors import ConfigError
from w2vtrain.probability.noise import alias_probabilities
from w2vtrain.probability.random_streams import draw_words

TARGETS = np.array([0, 3, 3, 10, 1, 8], np.int32)
WIDTH = 6
built = partial(objective_of, "sampled-softmax")
hidden = partial(hidden_vectors, size=len(TARGETS), width=WIDTH)


def naive(objective, H, targets, drawn, exponent=1.0, corrected=False):
    """Return loss, -dL/dH and -dL/d output of a block, computed one example and one candidate at a time."""
    output, loss, dH, d_output = objective.output, 0.0, np.zeros_like(H), np.zeros_like(objective.output)
    q = COUNTS**exponent / (COUNTS**exponent).sum()
    expected = [1 - (1 - p) ** len(drawn) for p in q]
    for b, (h, target) in enumerate(zip(H, targets, strict=True)):
        candidates = [target, *(set(drawn) - {target})]
        x = np.array([output[v] @ h - (0 if v == target and corrected else np.log(expected[v])) for v in candidates])
        p = np.exp(x) / np.exp(x).sum()
        loss -= np.log(p[0])
        for v, share in zip(candidates, p, strict=True):
            g = (v == target) - share
            dH[b] += g * output[v]
            d_output[v] += g * h
    return loss, dH, d_output


@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize("exponent", [0.5, 1.0])
def test_step_is_the_corrected_softmax_over_the_target_and_the_drawn_words(rng, exponent, corrected):
    objective, H = built(samples=6, ns_exponent=exponent, corrected=corrected), hidden(rng)
    drawn = draws_of(objective)
    assert len(set(drawn)) < len(drawn), "the draws must contain a word twice, which counts once"
    assert set(drawn) & set(TARGETS.tolist()), "the draws must contain a target"
    assert set(TARGETS.tolist()) - set(drawn), "the draws must miss another target"
    check_step(objective, H, TARGETS, begun(), *naive(objective, H, TARGETS, drawn, exponent, corrected))


@pytest.mark.parametrize("corrected", [False, True])
def test_in_a_batch_the_other_targets_are_the_drawn_words(rng, corrected):
    objective, H = built(in_batch=True, corrected=corrected), hidden(rng)
    check_step(objective, H, TARGETS, begun(), *naive(objective, H, TARGETS, TARGETS.tolist(), corrected=corrected))


@pytest.mark.parametrize("option", [{"samples": 5}, {"ns_exponent": 0.5}], ids=str)
def test_options_of_draws_are_refused_if_nothing_is_drawn(option):
    with pytest.raises(ConfigError, match=r"option in_batch .*: no words are drawn: leave out samples and ns_exponent"):
        built(in_batch=True, **option)


def test_the_sum_over_the_corrected_candidates_estimates_z_without_bias(rng):
    """It is exp(s_w) exactly, and exp(s_v) / E(v) for each other word v that is drawn, with probability E(v)."""
    objective, H = built(samples=3, corrected=True), hidden(rng)[:1]
    z, work, rounds, target = [], begun(), 20_000, np.array([2], np.int32)
    own = objective.output[2] @ H[0]
    for _ in range(rounds):
        z.append(np.exp(objective.step(H, target, 0.0, work)[0] + own))
    exact = np.exp(objective.output @ H[0]).sum()
    assert abs(np.mean(z) - exact) < 4.5 * np.std(z) / np.sqrt(rounds)


def test_uniform_noise_equals_target_sampling_over_the_same_words(rng):
    """The correction terms are the same for all words and cancel."""
    objective, H = built(samples=8, ns_exponent=0.0), hidden(rng)
    words = np.unique(draws_of(objective)).astype(np.int32)
    targets = words[rng.integers(0, len(words), len(H))]
    other = objective_of("target")
    other.part_of, other.parts = np.zeros(1, np.int32), [words]
    assert len(words) < len(COUNTS)
    check_same_step(objective, other, H, targets)


def test_expected_counts_match_how_often_words_are_in_the_drawn_set():
    objective, rounds = built(samples=7), 100_000
    words = np.empty((rounds, 7), np.int32)
    draw_words(np.array([11], np.uint64), objective.accept, objective.alias, words.reshape(-1))
    found = np.array([(words == v).any(axis=1).mean() for v in range(len(COUNTS))])
    expected = np.exp(objective.log_expected)
    deviation = np.sqrt(expected * (1 - expected) / rounds)
    assert (np.abs(found - expected) < 4.5 * deviation).all()


def test_by_default_1024_words_are_drawn_by_their_counts():
    objective, q = built(), COUNTS / COUNTS.sum()
    np.testing.assert_allclose(alias_probabilities(objective.accept, objective.alias), q, atol=1e-8)
    rare = problem_of(np.arange(40_000, 0, -1), dim=2, dtype=np.float64)  # too many words for all to be expected
    q = rare.counts / rare.counts.sum()
    objective = objectives.objective_class("sampled-softmax").build(rare)
    np.testing.assert_allclose(np.exp(objective.log_expected), 1 - (1 - q) ** 1024, rtol=1e-6)
