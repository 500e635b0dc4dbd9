"""The limit of what moves all scores at once: which objectives have it, and its arithmetic."""

from types import SimpleNamespace

import numpy as np
import pytest
from reference import problem_of
from simulated import run_ranks

from w2vtrain.engines.base import Array, Role
from w2vtrain.leaves.mpi.row_kernels import scale_along
from w2vtrain.leaves.mpi.row_updates import shares_direction
from w2vtrain.leaves.mpi.synchronization import INPUT_UPDATES, OUTPUT_UPDATES, Synchronizer, mean_row, shares
from w2vtrain.objectives import build, option_defaults

ROWS, WIDTH, ROUND = 80, 6, 1000


@pytest.mark.parametrize(
    ("name", "bias", "expected"),
    [
        ("nce", False, True),
        ("nce", True, False),
        ("bigram-nce", False, True),
        ("neg", False, False),
        ("hs", False, False),
    ],
)
def test_only_scores_that_are_log_probabilities_without_biases_have_a_limit_of_their_own(name, bias, expected):
    text = np.array([0, 1, 2, 0, -1, 3, 0, 1, -1], np.int32)
    problem = problem_of([40, 20, 20, 10, 5, 5], tokens=text, bias=bias)
    pairs = SimpleNamespace(pairs=lambda: True)
    engine = SimpleNamespace(problem=problem, objective=build(name, problem, option_defaults(name)), architecture=pairs)
    known = {Role.INPUT: np.ones(6), Role.OUTPUT: np.ones(6)}
    assert shares_direction(engine, known) is expected
    assert not shares_direction(engine, {Role.OUTPUT: np.ones(6)})
    engine.architecture = SimpleNamespace(pairs=lambda: False)
    assert not shares_direction(engine, known)


def test_mean_row_is_a_unit_vector_and_its_square():
    direction, square = mean_row(np.array([[1, 2], [5, 6]], np.float32))
    assert square == 25.0
    np.testing.assert_allclose(direction, [0.6, 0.8])
    direction, square = mean_row(np.zeros((3, 2), np.float32))
    assert square == 0.0
    assert direction.tolist() == [0, 0]


def test_only_the_part_along_the_direction_is_scaled(rng):
    values = rng.normal(size=(5, 4)).astype(np.float32)
    direction = np.array([0.6, 0, 0.8, 0], np.float32)
    found, scale = values.copy(), np.linspace(0, 1, 5, dtype=np.float32)
    scale_along(direction, found, scale, np.empty(5, np.float32))
    np.testing.assert_allclose(found @ direction, scale * (values @ direction), atol=1e-6)
    rest = np.eye(4) - np.outer(direction, direction)
    np.testing.assert_allclose(found @ rest, values @ rest, atol=1e-6)
    assert np.array_equal(found[4], values[4])


class Engine:
    """Two matrices whose rows share the directions `input` and `output`, with nce and the given biases."""

    architecture = SimpleNamespace(learned=dict, pairs=lambda: True)

    def __init__(self, bias=False):
        self.schedule, self.problem = SimpleNamespace(threads=1), SimpleNamespace(width=WIDTH, bias=bias)
        self.objective = SimpleNamespace(initial_bias=lambda _: np.zeros(ROWS))
        rng = np.random.default_rng(0)
        self.arrays = {
            name: rng.normal(size=(ROWS, WIDTH)).astype(np.float32) + size * np.eye(WIDTH, dtype=np.float32)[column]
            for name, size, column in (("input", 2.0, 0), ("output", -6.0, 1))
        }

    def trained(self):
        return [Array(name, Role[name.upper()], array) for name, array in self.arrays.items()]


def changes(rank, name):
    return np.random.default_rng((rank, len(name))).normal(size=(ROWS, WIDTH)).astype(np.float32) / 100


@pytest.mark.parametrize("bias", [False, True])
def test_rows_move_less_along_the_mean_row_of_the_other_matrix(bias):
    """Synchronize once, and compute the same with whole matrices in float64: the output after the input."""
    rates = 10.0 / (1 + np.arange(ROWS))

    def work(comm):
        engine = Engine(bias)
        mine = Synchronizer(comm, engine, {Role.INPUT: rates, Role.OUTPUT: rates}, ROUND)
        for name, array in engine.arrays.items():
            array += changes(comm.rank, name)
        mine.synchronize(ROUND, everything=True)
        return engine.arrays, [part.base for part in mine.exchanged]

    (found, bases), (other, _), _ = run_ranks(3, work)

    expected = {name: array.astype(np.float64) for name, array in Engine().arrays.items()}
    for name, opposite, base, limit in (
        ("input", "output", bases[1], INPUT_UPDATES), ("output", "input", bases[0], OUTPUT_UPDATES),
    ):  # fmt: skip
        total = sum(changes(rank, name) for rank in range(3)).astype(np.float64)
        mean = expected[opposite][:base].mean(axis=0)
        square = float(mean @ mean)
        assert square > 3
        along = np.outer(total @ mean, mean) / square
        share, less = (shares(rates, ROUND, 3, x)[:, None] for x in (limit, limit if bias else limit / square))
        expected[name] += share * (total - along) + less * along
        np.testing.assert_allclose(found[name], expected[name], atol=6e-4)  # changes of 0.01 in int8
        assert np.array_equal(found[name], other[name])
