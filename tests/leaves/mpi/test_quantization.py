"""Sums of rows with one byte per value: their error, values that are not finite or tiny, and equality on all ranks."""

import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from simulated import run_ranks

from w2vtrain.engines.base import Array, Role
from w2vtrain.leaves.mpi import synchronization
from w2vtrain.leaves.mpi.quantized_sum import QuantizedSum
from w2vtrain.leaves.mpi.row_kernels import MIN_SCALE, add_quantized, quantize, row_bytes, views
from w2vtrain.leaves.mpi.synchronization import Synchronizer

FLOATS = st.floats(width=32)
ROWS = st.integers(1, 40).flatmap(lambda columns: arrays(np.float32, (3, columns), elements=FLOATS))


def quantized(values):
    """Return the quantized rows."""
    rows = np.zeros((len(values), row_bytes(values.shape[1])), np.uint8)
    quantize(values, *views(rows))
    return rows


def decoded(rows, columns):
    values = np.zeros((len(rows), columns), np.float32)
    add_quantized(*views(rows), values)
    return values


@given(ROWS)
def test_round_trip_errs_by_at_most_half_a_step_and_keeps_rows_apart(values):
    found = decoded(quantized(values), values.shape[1])
    for row, result in zip(values.astype(np.float64), found.astype(np.float64), strict=True):
        if not np.isfinite(row).all():
            assert np.isnan(result).all()
            continue
        step = np.abs(row).max() / 127
        assert np.isfinite(result).all()
        assert (np.abs(result - row) <= 0.50001 * step).all() or (step <= 1.0001 * MIN_SCALE and not result.any())


@given(ROWS)
def test_quantized_rows_are_quantized_to_themselves(values):
    once = decoded(quantized(values), values.shape[1])
    twice = decoded(quantized(once), values.shape[1])
    np.testing.assert_allclose(twice, once, rtol=1e-6)


@given(ROWS)
def test_same_values_give_the_same_bytes_wherever_they_are_in_memory(values):
    apart = np.full((len(values), values.shape[1] + 3), np.nan, np.float32)
    apart[:, 1:-2] = values
    assert quantized(apart[:, 1:-2]).tobytes() == quantized(values).tobytes()


def test_halves_are_rounded_to_the_even_integer():
    row = np.array([[127, 0.5, 1.5, 2.5, -0.5, -1.5]], np.float32)
    assert decoded(quantized(row), 6).tolist() == [[127, 0, 2, 2, 0, -2]]


@pytest.mark.parametrize("value", [0.0, 1e-45, -1e-40, MIN_SCALE])
def test_rows_without_changes_that_a_weight_could_notice_are_zero(value):
    row = np.full((1, 5), value, np.float32)
    assert decoded(quantized(row), 5).tolist() == [[0] * 5]


def test_largest_float_does_not_overflow():
    top = np.finfo(np.float32).max
    row = np.array([[top, -top, top / 2]], np.float32)
    np.testing.assert_allclose(decoded(quantized(row), 3), row, rtol=0.01)


def test_row_takes_a_byte_per_value_and_four_for_the_scale():
    assert [row_bytes(columns) for columns in (1, 4, 5, 100, 300)] == [8, 8, 12, 104, 304]


def changes(ranks, rows, columns):
    random = np.random.default_rng(ranks * rows)
    return [random.normal(size=(rows, columns)).astype(np.float32) for _ in range(ranks)]


def on_one_thread(function, *by_row):
    function(*by_row)


def summed(parts, spread=on_one_thread, delays=None):
    """Return the sum as each rank has it, and the bytes that it reports. delays: seconds before each rank begins."""

    def work(comm):
        time.sleep(delays[comm.rank] if delays else 0)
        values = parts[comm.rank].copy()
        return values, QuantizedSum(comm, spread)(values)

    return run_ranks(len(parts), work, timeout=60)


@pytest.mark.parametrize(("ranks", "rows", "columns"), [(2, 300, 100), (3, 7, 33), (4, 3, 16), (3, 1, 5), (2, 0, 5)])
def test_sum_errs_by_at_most_half_a_step_per_rank_and_is_equal_on_all(ranks, rows, columns):
    parts = changes(ranks, rows, columns)
    found = summed(parts)
    assert all(array.tobytes() == found[0][0].tobytes() for array, _ in found)
    assert {size for _, size in found} == {rows * row_bytes(columns)}
    exact = sum(part.astype(np.float64) for part in parts)
    steps = sum(np.abs(part).max(axis=1) for part in [*parts, found[0][0]]) / 127
    assert (np.abs(found[0][0] - exact) <= 0.501 * steps[:, None]).all()


def test_sum_does_not_depend_on_which_rank_comes_first_or_on_threads():
    parts = changes(3, 50, 20)
    expected = summed(parts)[0][0].tobytes()
    for delays in ([0, 0.02, 0.04], [0.04, 0.02, 0], [0.02, 0, 0.04]):
        assert all(array.tobytes() == expected for array, _ in summed(parts, delays=delays))
    with ThreadPoolExecutor(2) as pool:

        def spread(function, *by_row):
            half = len(by_row[0]) // 2
            list(pool.map(lambda at: function(*(part[at] for part in by_row)), [slice(half), slice(half, None)]))

        assert all(array.tobytes() == expected for array, _ in summed(parts, spread))


def test_memory_of_a_longer_sum_is_used_for_a_shorter_one():
    def work(comm):
        add_up = QuantizedSum(comm, on_one_thread)
        found = [np.ones((rows, columns), np.float32) for rows, columns in ((50, 20), (3, 7), (60, 9))]
        for values in found:
            add_up(values)
        return found

    for found in run_ranks(2, work):
        assert all(np.array_equal(values, np.full_like(values, 2)) for values in found)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_row_that_is_not_finite_on_one_rank_is_nan_on_all(value):
    parts = changes(3, 5, 20)
    parts[1][4, 3] = value
    for array, _ in summed(parts):
        assert np.isnan(array).all(axis=1).tolist() == [False] * 4 + [True]


def test_row_whose_sum_overflows_is_nan_on_all_ranks():
    parts = [np.full((2, 5), [[1.0], [3e38]], np.float32) for _ in range(2)]
    for array, _ in summed(parts):
        assert np.isnan(array).all(axis=1).tolist() == [False, True]


@pytest.mark.parametrize(("columns", "size"), [(1, 4), (2, 8), (3, 8), (20, 24)])
def test_ranks_exchange_a_byte_per_value_where_that_is_smaller(monkeypatch, columns, size):
    monkeypatch.setattr(synchronization, "MIN_EXCHANGED_ROWS", 8)

    def work(comm):
        array = np.zeros((40, columns), np.float32)
        engine = SimpleNamespace(
            architecture=SimpleNamespace(learned=dict), problem=SimpleNamespace(width=columns),
            schedule=SimpleNamespace(threads=1), trained=lambda: [Array("input", Role.INPUT, array)],
        )  # fmt: skip
        mine = Synchronizer(comm, engine, {Role.INPUT: np.full(40, 1e-9)}, 1000)
        array += comm.rank + 1
        mine.synchronize(1000)
        return array, mine.bytes

    for array, sent in run_ranks(2, work):
        assert sent == 8 * size
        np.testing.assert_allclose(array[:8], 3, rtol=1e-6)
