"""How chunks are dealt to the ranks, and how the interval adapts to the network and the speeds of the ranks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from w2vtrain.leaves.mpi.pace import MAX_CHUNKS, MIN_LONG_ROUNDS, MIN_ROUNDS, USUAL_CHUNKS, WARM_UP_DIVISOR, Pace
from w2vtrain.training.inputs import CHUNK_WORDS

LONG = 10**7
"""Chunks of a run so long that its length does not limit the interval."""


def begun(ranks, threads, words=None, chunks=LONG):
    return Pace(ranks, threads, chunks, words)


@given(
    st.integers(1, 9), st.integers(0, 500), st.integers(1, 50), st.lists(st.floats(0.01, 100), min_size=9, max_size=9)
)
def test_chunks_are_dealt_in_order_without_gaps_whatever_the_speeds(ranks, left, chunks, speeds):
    pace = begun(ranks, 1, chunks * CHUNK_WORDS)
    pace.weights = np.array(speeds[:ranks]) / sum(speeds[:ranks])
    bounds = pace.deal(left, LONG)
    assert len(bounds) == ranks + 1
    assert bounds[0] == 0
    assert bounds[-1] == min(left, ranks * chunks)
    assert (np.diff(bounds) >= 0).all()


@pytest.mark.parametrize("ranks", [1, 2, 3, 7])
def test_equal_ranks_get_equal_numbers_of_chunks(ranks):
    assert np.diff(begun(ranks, 1, 5 * CHUNK_WORDS).deal(1000, LONG)).tolist() == [5] * ranks


@pytest.mark.parametrize(("words", "chunks"), [(1, 1), (2 * CHUNK_WORDS, 2), (int(2.6 * CHUNK_WORDS), 3)])
def test_given_interval_is_rounded_to_chunks_and_never_changes(words, chunks):
    pace = begun(2, 8, words)
    pace.adapt(np.array([1.0, 9.0]), np.array([9.0, 1.0]), np.array([5, 5]))
    assert pace.chunks == chunks
    assert pace.weights.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("ranks", "threads", "least"),
    [(2, 1, USUAL_CHUNKS // 2), (4, 32, 32), (2 * USUAL_CHUNKS, 1, 1), (3, 1, USUAL_CHUNKS // 3)],
)
def test_shortest_interval_occupies_all_threads(ranks, threads, least):
    pace = begun(ranks, threads)
    assert pace.chunks == pace.shortest == least


def test_short_runs_have_shorter_intervals():
    assert begun(2, 1, chunks=MIN_ROUNDS * 10).chunks == 5
    assert begun(2, 1, chunks=10).chunks == 1
    assert begun(2, 4, chunks=10).chunks == 4


def test_first_rounds_are_short_whatever_the_interval():
    pace = begun(2, 1, 100 * CHUNK_WORDS)
    done = [0, 2 * WARM_UP_DIVISOR, 10 * WARM_UP_DIVISOR, 200 * WARM_UP_DIVISOR, LONG]
    assert [pace.deal(LONG, at)[-1] for at in done] == [2, 2, 10, 200, 200]


def adapted(waiting, times=1):
    pace = begun(2, 1)
    for _ in range(times):
        pace.adapt(np.ones(2), np.full(2, waiting), np.array([10, 10]))
    return pace.chunks // pace.shortest


@pytest.mark.parametrize("chunks", [10**6, 10**9])
@pytest.mark.parametrize(("ranks", "threads", "most"), [(2, 1, 256), (8, 1, 64), (3, 1, 170), (8, 100, 100)])
def test_interval_doubles_up_to_a_limit_for_all_ranks_together_whatever_the_length_of_the_text(
    ranks, threads, most, chunks
):
    pace = begun(ranks, threads, chunks=chunks)
    found = []
    for _ in range(4):
        pace.adapt(np.ones(ranks), np.full(ranks, 0.5), np.full(ranks, 10))
        found.append(pace.chunks)
    assert found[-2:] == [most, most]
    assert most == max(MAX_CHUNKS // ranks, threads)
    assert found[0] == min(2 * pace.shortest, most)


def test_interval_leaves_a_minimum_of_rounds():
    pace = begun(2, 1, chunks=MIN_LONG_ROUNDS * 2 * 150)
    for _ in range(3):
        pace.adapt(np.ones(2), np.full(2, 0.5), np.array([10, 10]))
    assert pace.chunks == 150


def test_interval_keeps_if_communication_is_neither_slow_nor_quick():
    assert adapted(0.2, 3) == 1


def test_interval_halves_if_communication_is_quick():
    pace = begun(2, 1)
    pace.chunks = 4 * pace.shortest
    found = []
    for _ in range(3):
        pace.adapt(np.ones(2), np.full(2, 0.01), np.array([10, 10]))
        found.append(pace.chunks // pace.shortest)
    assert found == [2, 1, 1]


def test_waiting_for_a_slow_rank_is_not_communication_and_faster_ranks_get_more_chunks():
    pace = begun(2, 1)
    pace.adapt(np.array([1.0, 3.0]), np.array([2.2, 0.2]), np.array([30, 30]))
    assert pace.chunks == pace.shortest
    np.testing.assert_allclose(pace.weights, [0.75, 0.25])
    pace.adapt(np.array([1.0, 0.95]), np.array([0.1, 0.1]), np.array([30, 30]))
    assert pace.weights.tolist() == [0.5, 0.5]


def test_a_cycle_in_which_a_rank_had_nothing_to_learn_changes_nothing():
    pace = begun(2, 1)
    pace.adapt(np.array([1.0, 0.0]), np.array([9.0, 9.0]), np.array([30, 0]))
    assert pace.chunks == pace.shortest
    assert pace.weights.tolist() == [0.5, 0.5]
