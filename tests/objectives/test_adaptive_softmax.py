"""Adaptive softmax: cut-offs, agreement with the paper's formula, initial values, and damaged models."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import COUNTS, begun, hidden_vectors, problem_of
from scipy.special import log_softmax

from w2vtrain import objectives
from w2vtrain.errors import ConfigError, DataError
from w2vtrain.objectives import adaptive_softmax
from w2vtrain.objectives.adaptive_softmax import AdaptiveSoftmax, choose_cutoffs, read_cutoffs

SIZE, DIM, CUTS = len(COUNTS), 8, [3, 7]
BIASES = pytest.mark.parametrize("bias", [False, True])


def problem(dtype=np.float64, **more):
    return problem_of(COUNTS, **{"dim": DIM, "bias": True, "init": 0.6, "dtype": dtype, **more})


def built(dtype=np.float64, cutoffs="3,7", factor=2.0, **more):
    return AdaptiveSoftmax.build(problem(dtype, **more), cutoffs=cutoffs, factor=factor)


def block(rng, bias=True, n=9, dtype=np.float64):
    H = hidden_vectors(rng, n, DIM + bias) if bias else rng.normal(size=(n, DIM))
    return H.astype(dtype), rng.integers(0, SIZE, n).astype(np.int32)


def naive_log_probs(objective, h, bias):
    """Return log P(v|h) of all words v, one cluster after another: P(cluster|h) P(v|cluster, A h)."""
    head, *rest = (array.astype(float) for array in objective.parameters().values())
    tails, projections = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    of_head = log_softmax(head @ h)
    words = len(head) - len(tails)
    found = list(of_head[:words])
    for i, (tail, projection) in enumerate(zip(tails, projections, strict=True)):
        seen = projection @ h
        if bias:
            seen = np.append(seen, 1.0)
        found += list(of_head[words + i] + log_softmax(tail @ seen))
    return np.array(found)


@BIASES
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probabilities_are_those_of_the_head_times_those_of_the_cluster(rng, bias, dtype):
    objective, (H, targets) = built(dtype, bias=bias), block(rng, bias, dtype=dtype)
    expected = np.array([naive_log_probs(objective, h, bias) for h in H.astype(float)])
    lines, tolerance = np.arange(len(H)), 1e-5 if dtype == np.float32 else 1e-13
    np.testing.assert_allclose(np.exp(expected).sum(axis=1), 1)
    scorer = AdaptiveSoftmax.scorer(problem(bias=bias), {}, objective.output, objective.arrays())
    raw, log_z = scorer.scores(H, targets)
    for got in (raw, scorer.raw(H, targets), scorer.log_prob(H, targets), scorer.log_probs(H)[lines, targets]):
        assert got.dtype == dtype
        np.testing.assert_allclose(got, expected[lines, targets], atol=tolerance)
    np.testing.assert_array_equal(log_z, np.zeros(len(H)))
    np.testing.assert_allclose(scorer.log_probs(H), expected, atol=tolerance)
    loss, _ = objective.step(H, targets, 0.1, begun())
    assert loss == pytest.approx(-expected[lines, targets].sum(), rel=tolerance)


def test_a_cluster_without_targets_in_the_block_does_not_change(rng):
    objective, (H, _) = built(), block(rng, n=4)
    before = {name: array.copy() for name, array in objective.parameters().items()}
    objective.step(H, np.array([0, 7, 2, 10], np.int32), 0.1, begun())
    changed = [name for name, array in objective.parameters().items() if (array != before[name]).any()]
    assert changed == ["head", "tails.1", "projections.1"]
    assert (objective.head[3] != before["head"][3]).all(), "its row in the head learns that it was not the target"


def test_clusters_learn_from_rows_of_zeros(rng):
    """With projections of zeros, too, their gradients would stay 0 for ever."""
    objective, (H, targets) = built(init=0.0, bias=False), block(rng, bias=False)
    assert not objective.head.any()
    assert not any(tail.any() for tail in objective.tails)
    for _ in range(2):
        objective.step(H, targets, 0.1, begun())
    assert all(tail.all() for tail in objective.tails)


def test_arrays_have_different_initial_values():
    ratios = [array[0, 1] / array[0, 0] for array in built(bias=False).parameters().values()]
    assert len(np.unique(np.round(ratios, 5))) == 5


def test_projections_keep_the_length_of_vectors():
    """So the rows of a cluster start to learn as fast as those of the head."""
    wide = problem_of(np.ones(40), dim=400)
    objective = AdaptiveSoftmax.build(wide, cutoffs="10,20,30", factor=2.0)
    H = np.random.default_rng(5).normal(size=(200, 400)).astype(np.float32)
    for projection, dim in zip(objective.projections, (200, 100, 50), strict=True):
        assert projection.shape == (dim, 400)
        assert np.square(H @ projection.T).sum() == pytest.approx(np.square(H).sum(), rel=0.1)


@BIASES
def test_the_model_stores_head_tails_and_projections_and_no_output_rows(bias):
    objective = built(np.float32, bias=bias)
    shapes = {name: array.shape for name, array in objective.arrays().items()}
    assert shapes == {
        "head": (5, 8 + bias),
        "tails.0": (4, 4 + bias),
        "tails.1": (4, 2 + bias),
        "projections.0": (4, 8 + bias),
        "projections.1": (2, 8 + bias),
    }
    assert objective.output.shape == (0, 8 + bias)
    assert objective.output.dtype == np.float32
    assert all(objective.parameters()[name] is array for name, array in objective.arrays().items())
    assert len(objective.decayed()) == 5
    assert all(a is b for a, b in zip(objective.decayed(), objective.parameters().values(), strict=True))


def damaged(**changes):
    arrays = {**built(np.float32).arrays(), **changes}
    return {name: array for name, array in arrays.items() if array is not None}


DAMAGED = {
    "none": {},
    "no-head": damaged(head=None),
    "wide-head": damaged(head=np.zeros((5, 8), np.float32)),
    "few-rows": damaged(head=np.zeros((2, 9), np.float32)),
    "many-rows": damaged(head=np.zeros((6, 9), np.float32)),
    "integers": damaged(head=np.zeros((5, 9), np.int32)),
    "flat-head": damaged(head=np.zeros(45, np.float32)),
    "no-tail-0": damaged(**{"tails.0": None}),
    "no-tail-1": damaged(**{"tails.1": None}),
    "tail-2-small": damaged(**{"tails.2": np.zeros((1, 2), np.float32)}),
    "tail-0-narrow": damaged(**{"tails.0": np.zeros((4, 4), np.float32)}),
    "tail-1-empty": damaged(**{"tails.0": np.zeros((8, 5), np.float32), "tails.1": np.zeros((0, 3), np.float32)}),
    "tail-1-short": damaged(**{"tails.1": np.zeros((3, 3), np.float32)}),
    "tail-1-scalar": damaged(**{"tails.1": np.zeros((), np.float32)}),
    "no-projection-1": damaged(**{"projections.1": None}),
    "projection-1-small": damaged(**{"projections.1": np.zeros((2, 8), np.float32)}),
    "projection-0-large": damaged(**{"projections.0": np.zeros((5, 9), np.float32)}),
}
"""Arrays of models that do not fit their clusters, by what is wrong with them."""


@pytest.mark.parametrize("arrays", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_model_is_rejected_in_one_line(arrays):
    with pytest.raises(DataError, match=r"^the model's clusters do not fit .*: the file is damaged; .*$"):
        AdaptiveSoftmax.scorer(problem(), {"cutoffs": "3,7", "factor": 2.0}, np.zeros((0, 9), np.float32), arrays)
    assert AdaptiveSoftmax.scorer(problem(), {}, np.zeros((0, 9), np.float32), damaged())


# Cut-offs.


def cost_of(counts, cuts, overhead):
    """Return the cost of cut-offs: the rows of the head, and per cluster its share of the text times its words."""
    edges = [0, *cuts, len(counts)]
    shares = [counts[a:b].sum() / counts.sum() for a, b in pairwise(edges)]
    sizes = np.diff(edges)
    return sizes[0] + len(cuts) * (1 + overhead) + sum(p * k for p, k in zip(shares[1:], sizes[1:], strict=True))


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=9), st.integers(0, 3), st.integers(1, 3))
def test_chosen_cutoffs_have_the_lowest_cost_of_all(counts, overhead, most):
    counts = np.sort(counts)[::-1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adaptive_softmax, "CLUSTER_COST_ROWS", overhead)
        patch.setattr(adaptive_softmax, "MAX_CLUSTERS", most)
        chosen = choose_cutoffs(counts)
    every = [cuts for n in range(most + 1) for cuts in combinations(range(1, len(counts)), n)]
    lowest = min(cost_of(counts, cuts, overhead) for cuts in every)
    assert len(chosen) <= most
    assert cost_of(counts, chosen, overhead) == pytest.approx(lowest)


@pytest.mark.parametrize("size", [1, 2, 100, 10_000, 1_000_000])
def test_cutoffs_of_a_vocabulary_of_any_size_are_ascending_and_below_it(size):
    chosen = choose_cutoffs(1e9 / np.arange(1, size + 1))
    assert [0, *chosen, size] == sorted({0, *chosen, size})
    assert bool(chosen) is (size >= 10_000)


def test_cutoffs_of_a_realistic_vocabulary_save_most_of_the_work():
    """The cost is in rows scored per example; the softmax scores all of them."""
    counts = 1e9 / np.arange(1, 100_001)
    chosen = choose_cutoffs(counts)
    assert 2 <= len(chosen) <= 4
    assert 100 < chosen[0] < 10_000
    assert cost_of(counts, chosen, 300) < 0.1 * len(counts)


def test_clusters_have_at_least_one_column():
    objective = built(cutoffs="1,2,3,4,5,6,7,8,9,10", factor=1000.0)
    assert [tail.shape for tail in objective.tails] == [(1, 2)] * 10
    assert built(cutoffs="5", factor=8 / 3).tails[0].shape == (6, 4)


def test_cutoffs_are_read_from_text():
    assert read_cutoffs("") == read_cutoffs(" ") == []
    assert read_cutoffs("20") == [20]
    assert read_cutoffs("3, 70,500") == [3, 70, 500]


@pytest.mark.parametrize(
    ("cutoffs", "message"),
    [
        ("x", "'x' is not NUMBER,NUMBER,..."),
        ("3,", "'3,' is not NUMBER,NUMBER,..."),
        ("3.5", "'3.5' is not NUMBER,NUMBER,..."),
        ("7,3", "3 must be larger than 7"),
        ("3,3", "3 must be larger than 3"),
        ("0,3", "0 must be larger than 0"),
        ("-2", "-2 must be larger than 0"),
        ("3,11", "11 is not below the 11 words of the vocabulary"),
        ("2000,20000", "20,000 is not below the 11 words of the vocabulary"),
    ],
)
def test_invalid_cutoffs_are_rejected(cutoffs, message):
    with pytest.raises(ConfigError) as caught:
        objectives.build("adaptive-softmax", problem(), {"cutoffs": cutoffs})
    assert str(caught.value) == f"option cutoffs of objective adaptive-softmax: {message}"


def test_options_are_checked_without_a_vocabulary():
    """A cut-off beyond two words is not an error before the words are counted."""
    AdaptiveSoftmax.check({"cutoffs": "2000,20000", "factor": 4.0})
    with pytest.raises(ConfigError, match="cutoffs"):
        AdaptiveSoftmax.check({"cutoffs": "5,4", "factor": 4.0})
