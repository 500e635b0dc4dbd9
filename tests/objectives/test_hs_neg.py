"""Hierarchical softmax plus negative sampling: two losses, whose rows are in one matrix."""

import numpy as np
import pytest
from reference import COUNTS, problem_of

from w2vtrain import objectives
from w2vtrain.errors import ConfigError, DataError, InputMissing
from w2vtrain.objectives.hs import Hierarchical
from w2vtrain.objectives.hs_neg import HierarchicalNegative
from w2vtrain.objectives.neg import Negative

PROBLEM, SIZE = problem_of(COUNTS), len(COUNTS)
NODES = SIZE - 1


def drawn(objective, target=3):
    """Return the candidates of a target as (rows, labels), and the state of the stream after them."""
    rows, labels, shifts = np.zeros(40, np.int32), np.zeros(40, np.float32), np.zeros(40, np.float32)
    rng = np.array([7, 7], np.uint64)
    objective.begin(np.array([5, 5], np.uint64))
    m = objective.candidates(np.array([1, target, 2], np.int32), 1, rng, rows, labels, shifts)
    assert not shifts.any()
    return rows[:m], labels[:m], int(rng[0])


@pytest.mark.parametrize("pool", [0, 4])
def test_candidates_are_those_of_hs_then_those_of_neg_in_rows_of_their_own(pool):
    both = HierarchicalNegative.build(PROBLEM, tree="balanced", negative=7, pool=pool)
    nodes, turns, _ = drawn(Hierarchical.build(PROBLEM, tree="balanced"))
    words, labels, after = drawn(Negative.build(PROBLEM, negative=7, pool=pool))
    rows, found, state = drawn(both)
    assert rows.tolist() == [*nodes, *(NODES + words)]
    assert found.tolist() == [*turns, *labels]
    assert state == after
    assert both.output_rows(SIZE) == NODES + SIZE
    assert both.candidate_limit == Hierarchical.build(PROBLEM, tree="balanced").candidate_limit + 8


def test_each_thread_has_its_own_pool():
    first, second = HierarchicalNegative.build(PROBLEM, pool=4).for_threads(2)
    drawn(first)
    assert first.noise.pool.any()
    assert not second.noise.pool.any()


def test_only_nodes_near_the_root_are_assumed_to_be_in_cache():
    """The rows of the words follow those of the nodes, so their numbers are higher than the root's."""
    big = problem_of(np.arange(3000, 0, -1))
    both, alone = HierarchicalNegative.build(big, negative=5), Hierarchical.build(big)
    nodes, words = np.array([2998, 2997, 2500, 1900, 600, 3], np.int32), np.arange(3000, 3006, dtype=np.int32)
    rows = np.concatenate([nodes, words])
    assert both.prefetched(rows, len(rows)) == (3, len(rows))
    assert alone.prefetched(nodes, len(nodes)) == (3, len(nodes))


def test_hot_rows_are_the_nodes_nearest_the_root():
    both = HierarchicalNegative.build(problem_of(np.arange(3000, 0, -1)))
    rows = both.output_rows(3000)
    root = both.tree.path[0] >> 1
    found = both.hot_rows(rows)
    assert (found[0], found.step, len(found)) == (root, -1, 1024)
    assert rows == 5999


def test_probabilities_are_those_of_the_tree(rng):
    both = HierarchicalNegative.build(PROBLEM)
    output, H = rng.normal(size=(NODES + SIZE, 16)), rng.normal(size=(4, 16))
    options = objectives.option_defaults("hs-neg")
    tree = Hierarchical.scorer(PROBLEM, {}, output[:NODES], both.tree.arrays())
    found = HierarchicalNegative.scorer(PROBLEM, options, output, both.arrays())
    np.testing.assert_array_equal(found.log_probs(H), tree.log_probs(H))


@pytest.mark.parametrize("rows", [NODES, NODES + SIZE - 1, NODES + SIZE + 1])
def test_a_model_with_the_wrong_number_of_output_rows_is_damaged(rows):
    arrays = HierarchicalNegative.build(PROBLEM).arrays()
    with pytest.raises(DataError, match="does not fit its words and output vectors"):
        HierarchicalNegative.scorer(PROBLEM, {}, np.zeros((rows, 16)), arrays)


@pytest.mark.parametrize(
    "use", [lambda options: objectives.build("hs-neg", PROBLEM, options), None], ids=["build", "check"]
)
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tree": "cluster"}, "option vectors of objective hs-neg: tree cluster needs a file"),
        ({"tree": "classes"}, "option tree of objective hs-neg: classes are not a binary tree"),
        ({"negative": 0}, "option negative of objective hs-neg: 0 is not between 1 and 1000"),
        ({"ns_exponent": 3.0}, "option ns_exponent of objective hs-neg: 3.0 is not between"),
        ({"pool": 3}, "option pool of objective hs-neg: 3 is not"),
    ],
)
def test_errors_in_options_name_this_objective(use, wrong, message):
    with pytest.raises(ConfigError, match=message):
        (use or HierarchicalNegative.check)({**objectives.option_defaults("hs-neg"), **wrong})


def test_a_missing_tree_file_is_found_before_training(tmp_path):
    options = {**objectives.option_defaults("hs-neg"), "tree": str(tmp_path / "none.txt")}
    HierarchicalNegative.check(options)
    with pytest.raises(InputMissing, match="option tree of objective hs-neg: huffman, balanced, cluster or a file"):
        HierarchicalNegative.check_files(options)
