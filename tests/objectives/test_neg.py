"""Negative sampling: its noise words, beside those of nce."""

import itertools

import numpy as np
import pytest
from reference import COUNTS, candidates_of, problem_of

from w2vtrain.objectives import objective_class
from w2vtrain.probability.noise import noise_distribution
from w2vtrain.probability.random_streams import draw, draw_alias


def noise_words(objective, rng):
    """Yield the words that one target draws from the alias table or, five per draw, from the pool of a chunk."""
    while True:
        if len(objective.pool) == 0:
            yield draw_alias(rng, objective.accept, objective.alias)
        else:
            bits = int(draw(rng))
            yield from (int(objective.pool[bits >> 12 * k & len(objective.pool) - 1]) for k in range(5))


@pytest.mark.parametrize("pool", [0, 8])
@pytest.mark.parametrize("name", ["neg", "nce"])
def test_noise_words_exclude_the_target_with_neg_but_not_with_nce(name, pool):
    """They are the next words drawn, except that neg skips the target. The shifts of nce are log kQ."""
    objective = objective_class(name).build(problem_of(COUNTS), negative=7, pool=pool)
    log_kq = np.log(7 * COUNTS / COUNTS.sum())
    rng, same = np.array([3, 3], np.uint64), np.array([3, 3], np.uint64)
    objective.begin(rng)
    assert objective.pool.tolist() == [draw_alias(same, objective.accept, objective.alias) for _ in range(pool)]
    for target in [*range(len(COUNTS)), *objective.pool.tolist()]:
        rows, labels, shifts = zip(*candidates_of(objective, [1, target, 2], 1, rng), strict=True)
        noise = (word for word in noise_words(objective, same) if name == "nce" or word != target)
        assert rows == (target, *itertools.islice(noise, 7))
        assert labels == (1, *[0] * 7)
        np.testing.assert_allclose(shifts, log_kq[list(rows)] if name == "nce" else 0, rtol=1e-6)
        assert rng[0] == same[0]


def test_neg_gives_up_redrawing_if_nearly_all_noise_is_the_target():
    """Redrawing until another word comes up would take forever."""
    negative = objective_class("neg").build(problem_of([10**12, 1]), ns_exponent=2.0)
    arrays = np.zeros(2, np.uint64), np.zeros(32, np.int32), np.zeros(32, np.float32), np.zeros(32, np.float32)
    assert negative.candidates(np.array([0, 1]), 0, *arrays) == 1
    assert negative.candidates(np.array([0, 1]), 1, *arrays) == 6


def test_a_negative_noise_exponent_favors_rare_words():
    assert objective_class("neg").build(problem_of([4, 2, 0]), ns_exponent=-1.0)
    np.testing.assert_allclose(noise_distribution(np.array([4, 2, 0]), -1.0), np.array([1, 2, 4]) / 7)


def test_noise_words_are_prefetched_until_the_rows_of_their_pool_are_in_the_cache():
    negative = objective_class("neg").build(problem_of(np.ones(200)), negative=7, pool=8)
    rng, rows = np.array([3, 3], np.uint64), np.zeros(8, np.int32)
    for _ in range(2):  # each chunk has a pool of its own
        negative.begin(rng)
        ends = []
        for _ in range(5):
            candidates_of(negative, [1, 5, 2], 1, rng)
            ends.append(negative.prefetched(rows, 8))
        assert ends == [(0, 8)] * 3 + [(0, 1)] * 2
    unpooled = objective_class("neg").build(problem_of(np.ones(200)), negative=7, pool=0)
    for _ in range(9):
        candidates_of(unpooled, [1, 5, 2], 1, rng)
    assert unpooled.prefetched(rows, 8) == (0, 8)
