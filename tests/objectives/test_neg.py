"""Negative sampling: its noise words."""

import numpy as np
from reference import problem_of

from w2vtrain.objectives import objective_class
from w2vtrain.probability.sampling import noise_distribution


def test_noise_words_exclude_the_target_with_neg_but_not_with_nce():
    for name, expected in (("neg", False), ("nce", True)):
        objective = objective_class(name).build(problem_of(np.array([5, 3, 2])), negative=50)
        rng, rows = np.array([3], np.uint64), np.zeros(70, np.int32)
        m = objective.candidates(
            np.array([0], np.int32), 0, rng, rows, np.zeros(70, np.float32), np.zeros(70, np.float32)
        )
        assert m == 51
        assert rows[0] == 0
        assert (0 in rows[1:51]) is expected


def test_neg_gives_up_redrawing_if_nearly_all_noise_is_the_target():
    """Redrawing until another word comes up would take forever."""
    negative = objective_class("neg").build(problem_of([10**12, 1]), ns_exponent=2.0)
    arrays = np.zeros(2, np.uint64), np.zeros(32, np.int32), np.zeros(32, np.float32), np.zeros(32, np.float32)
    assert negative.candidates(np.array([0, 1]), 0, *arrays) == 1
    assert negative.candidates(np.array([0, 1]), 1, *arrays) == 6


def test_a_negative_noise_exponent_favors_rare_words():
    assert objective_class("neg").build(problem_of([4, 2, 0]), ns_exponent=-1.0)
    np.testing.assert_allclose(noise_distribution(np.array([4, 2, 0]), -1.0), np.array([1, 2, 4]) / 7)
