"""Each change of vectors equals its definition, computed naively in float64."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from memory import traced

from w2vtrain.errors import DataError, UsageError
from w2vtrain.formats.safetensors import row_blocks
from w2vtrain.formats.transforms import check_components, exported, transform
from w2vtrain.formats.vectors import write_vectors

VALUES = st.floats(-100, 100, width=32).map(lambda x: 0.0 if abs(x) < 1e-3 else x)
MATRICES = st.tuples(st.integers(1, 12), st.integers(1, 5)).flatmap(
    lambda shape: arrays(np.float32, shape, elements=VALUES)
)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """Blocks of at most 7 values make every matrix of these tests several blocks."""
    monkeypatch.setattr("w2vtrain.formats.safetensors.VALUES_PER_BLOCK", 7)


def changed(matrix, **steps):
    found = matrix.copy()
    transform(found, "v.txt", **steps)
    assert found.dtype == np.float32
    return found


def centered(matrix):
    return matrix.astype(float) - matrix.astype(float).mean(axis=0)


def without_top(matrix, count):
    """Return what all-but-the-top returns, from the singular value decomposition."""
    rows = centered(matrix)
    top = np.linalg.svd(rows)[2][:count]
    return rows - rows @ top.T @ top


@given(MATRICES)
def test_centering_subtracts_the_mean(matrix):
    found = changed(matrix, center=True)
    np.testing.assert_allclose(found, centered(matrix), atol=1e-4)
    np.testing.assert_allclose(found.mean(axis=0, dtype=float), 0, atol=1e-4)


@given(MATRICES)
def test_normalizing_divides_by_lengths_and_keeps_zero_vectors(matrix):
    found = changed(matrix, normalize=True)
    for old, new in zip(matrix.astype(float), found, strict=True):
        expected = old / np.sqrt((old**2).sum()) if old.any() else old
        np.testing.assert_allclose(new, expected, rtol=1e-6)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_removing_components_equals_the_singular_value_decomposition(rng, count):
    matrix = (rng.normal(size=(40, 5)) * [9, 5, 3, 2, 1] + 7).astype(np.float32)
    found = changed(matrix, remove_top=count)
    np.testing.assert_allclose(found, without_top(matrix, count), atol=1e-5)
    np.testing.assert_array_equal(found, changed(matrix, center=True, remove_top=count))
    assert np.linalg.matrix_rank(found, tol=1e-3) == 5 - count


def test_the_steps_are_center_then_components_then_lengths(rng):
    matrix = (rng.normal(size=(30, 4)) * [8, 4, 2, 1] + 3).astype(np.float32)
    expected = without_top(matrix, 1)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(changed(matrix, center=True, remove_top=1, normalize=True), expected, atol=1e-5)


def test_no_step_changes_nothing(rng):
    matrix = rng.normal(size=(9, 3)).astype(np.float32)
    np.testing.assert_array_equal(changed(matrix), matrix)


def test_equal_vectors_have_no_component_to_remove():
    assert not changed(np.ones((6, 3), np.float32), remove_top=2).any()


@pytest.mark.parametrize("scale", [1e-38, 1e-44, 1e38])
def test_lengths_of_the_smallest_and_largest_values_are_exact(scale):
    matrix = np.array([[3, 0], [3, 3]], np.float32) * np.float32(scale)
    np.testing.assert_allclose(changed(matrix, normalize=True), [[1, 0], [0.5**0.5, 0.5**0.5]], rtol=1e-6)


def test_sums_of_many_equal_values_are_exact():
    """A sum in float32 of 10,000 times 16,777.215 would be off by more than 1."""
    assert np.abs(changed(np.full((10_000, 2), 16_777.215, np.float32), center=True)).max() == 0


@pytest.mark.parametrize("steps", [{"center": True}, {"remove_top": 1}])
def test_a_value_too_large_for_float32_is_an_error(steps):
    largest = np.finfo(np.float32).max
    matrix = np.array([[largest, 0], [-largest, 0], [-largest, 1]], np.float32)
    with pytest.raises(DataError, match=r"v\.txt: .* too large for float32"):
        changed(matrix, **steps)


@pytest.mark.parametrize(
    ("shape", "count", "message"),
    [
        ((10, 3), 3, "remove_top=3 would leave nothing of vectors of 3 dimensions"),
        ((10, 3), 10**20, "would leave nothing"),
        ((2, 3), 1, "needs at least 3 vectors of 3 dimensions, but there are 2"),
        ((5000, 4097), 1, "at most 4,096 dimensions, not 4,097"),
    ],
)
def test_components_that_cannot_be_removed_are_refused(shape, count, message):
    with pytest.raises(UsageError, match=message):
        check_components(shape, count, "v.txt")


def test_components_are_refused_before_anything_changes_or_is_allocated(rng):
    matrix = rng.normal(size=(2, 4000)).astype(np.float32)
    before = matrix.copy()
    with traced() as memory, pytest.raises(UsageError):
        transform(matrix, "v.txt", center=True, remove_top=1, normalize=True)
    np.testing.assert_array_equal(matrix, before)
    assert memory.peak < 1 << 20


def test_all_steps_need_little_memory_besides_the_matrix(rng, monkeypatch):
    monkeypatch.setattr("w2vtrain.formats.safetensors.VALUES_PER_BLOCK", 1 << 12)
    matrix = rng.normal(size=(40_000, 20)).astype(np.float32)
    with traced() as memory:
        transform(matrix, "v.txt", center=True, remove_top=2, normalize=True)
    assert memory.peak < matrix.nbytes / 8


def test_input_output_or_their_sum_is_exported(rng):
    padded = rng.normal(size=(4, 8)).astype(np.float32)
    a, b = padded[:, :3], padded[:, 4:7]
    assert exported(a, b, "in", 0.4, "v.txt") is a
    assert exported(a, b, "out", 0.4, "v.txt") is b
    found = exported(a, b, "in+out", 0.4, "v.txt")
    np.testing.assert_array_equal(found[:], a + b)
    np.testing.assert_array_equal(found[1:3], (a + b)[1:3])
    assert (len(found), found.shape, found.size) == (4, (4, 3), 12)


@given(MATRICES, st.floats(0, 1), st.data())
def test_a_blend_adds_a_share_of_the_output_vectors(a, share, data):
    b = data.draw(arrays(np.float32, a.shape, elements=VALUES))
    x, y = centered(a), centered(b)
    length = np.sqrt((y**2).sum())
    weight = share * np.sqrt((x**2).sum()) / length if length > 1e-3 else 0
    found = exported(a, b, "blend", share, "v.txt")[:]
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, x + weight * y, atol=2e-3)


def test_output_vectors_that_are_all_equal_add_nothing(rng):
    a = rng.normal(size=(9, 3)).astype(np.float32)
    for b in (np.zeros_like(a), np.ones_like(a)):
        np.testing.assert_allclose(exported(a, b, "blend", 0.4, "v.txt")[:], centered(a), atol=1e-6)


@pytest.mark.parametrize("which", ["out", "in+out", "blend"])
@pytest.mark.parametrize("shape", [(3, 2), (4, 6)], ids=["nodes", "wider"])
def test_output_vectors_that_do_not_belong_to_words_are_not_exported(which, shape):
    words, output, line = np.ones((4, 2), np.float32), np.ones(shape, np.float32), f"{shape[0]} output vectors of"
    with pytest.raises(DataError, match=rf"m\.safetensors: the model has 4 words of 2 values and {line} {shape[1]} "):
        exported(words, output, which, 0.4, "m.safetensors")
    assert exported(words, output, "in", 0.4, "m.safetensors") is words


def test_an_unknown_choice_is_refused():
    with pytest.raises(UsageError, match=r"m: 'input' is not one of in, out, in\+out, blend"):
        exported(np.ones((2, 2), np.float32), np.ones((2, 2), np.float32), "input", 0.4, "m")


def test_a_sum_too_large_for_float32_is_not_written(tmp_path):
    largest = np.full((2, 2), np.finfo(np.float32).max)
    for which in ("in+out", "blend"):
        rows = exported(largest, np.eye(2, dtype=np.float32) * largest, which, 0.4, "v.txt")
        if which == "in+out":
            with pytest.raises(DataError, match="not finite"):
                write_vectors(tmp_path / "v.txt", ["a", "b"], rows)
        else:
            assert np.isfinite(rows[:]).all()


def test_a_blend_takes_no_memory(rng, monkeypatch):
    monkeypatch.setattr("w2vtrain.formats.safetensors.VALUES_PER_BLOCK", 1 << 12)
    a, b = (rng.normal(size=(40_000, 20)).astype(np.float32) for _ in range(2))
    with traced() as memory:
        rows = exported(a, b, "blend", 0.4, "v.txt")
        for part in row_blocks(rows):
            assert rows[part].shape[1] == 20
    assert memory.peak < a.nbytes / 8
