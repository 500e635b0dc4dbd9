"""Differentiated softmax: bands, gradients, and agreement with zero-padded full rows and with the softmax."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import COUNTS, begun, problem_of
from scipy.special import log_softmax

from w2vtrain.errors import ConfigError, DataError
from w2vtrain.objectives.dsoftmax import DSoftmax, cut

BANDS = "50:50,30:30,20:20"


def problem(dtype=np.float64, **more):
    return problem_of(COUNTS, **{"dim": 7, "bias": True, "init": 0.6, "dtype": dtype, **more})


def block(rng, width=8, bias=True, n=9, dtype=np.float64):
    H = rng.normal(size=(n, width)).astype(dtype)
    if bias:
        H[:, -1] = 1
    return H, rng.integers(0, len(COUNTS), n).astype(np.int32)


def whole(bands, bias):
    """Return the output matrix with its structural zeros, (V, width), and a mask of its other elements."""
    rows, width = sum(len(b) for b in bands), sum(b.shape[1] - bias for b in bands) + bias
    full, free = np.zeros((rows, width)), np.zeros((rows, width), bool)
    r = c = 0
    for band in bands:
        for row in band:
            columns = band.shape[1] - bias
            full[r, c : c + columns] = row[:columns]
            free[r, c : c + columns] = True
            if bias:
                full[r, -1] = row[-1]
                free[r, -1] = True
            r += 1
        c += band.shape[1] - bias
    return full, free


def naive_step(full, free, H, targets, lr):
    new, dH, loss = full.copy(), np.zeros_like(H), 0.0
    for b, (h, w) in enumerate(zip(H, targets, strict=True)):
        log_p = log_softmax(full @ h)
        g = -np.exp(log_p)
        g[w] += 1
        loss -= log_p[w]
        dH[b] = g @ full
        new += lr * np.outer(g, h) * free
    return loss, dH, new


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bands_agree_with_full_rows_padded_with_zeros(rng, bias, dtype):
    objective = DSoftmax.build(problem(dtype, bias=bias), bands=BANDS)
    assert [band.shape for band in objective.bands] == [(2, 4 + bias), (3, 2 + bias), (6, 1 + bias)]
    H, targets = block(rng, 7 + bias, bias, dtype=dtype)
    full, free = whole(objective.bands, bias)
    expected = naive_step(full, free, H.astype(float), targets, 0.1)
    scorer = DSoftmax.scorer(problem(bias=bias), {"bands": BANDS}, objective.output, objective.arrays())
    tolerance = 1e-5 if dtype == np.float32 else 1e-13
    log_p = log_softmax(H.astype(float) @ full.T, axis=1)
    raw, log_z = scorer.scores(H, targets)
    np.testing.assert_allclose(raw, (H * full[targets]).sum(axis=1), atol=tolerance)
    np.testing.assert_allclose(scorer.log_probs(H), log_p, atol=tolerance)
    np.testing.assert_allclose(raw - log_z, log_p[np.arange(9), targets], atol=tolerance)
    np.testing.assert_array_equal(scorer.log_prob(H, targets), raw - log_z)
    loss, dH = objective.step(H, targets, 0.1, begun())
    assert loss == pytest.approx(expected[0], rel=tolerance)
    np.testing.assert_allclose(dH, expected[1], atol=tolerance)
    np.testing.assert_allclose(whole(objective.bands, bias)[0], expected[2], atol=tolerance)


def test_scores_do_not_depend_on_the_size_of_the_blocks(rng, monkeypatch):
    objective = DSoftmax.build(problem(), bands=BANDS)
    H, targets = block(rng)
    whole_block = objective.scores(H, targets)
    monkeypatch.setattr("w2vtrain.objectives.dsoftmax.LOGITS_AT_ONCE", 25)
    np.testing.assert_allclose(objective.scores(H, targets), whole_block, atol=1e-14)


def test_bands_have_different_initial_values():
    first, second = DSoftmax.build(problem(dim=8), bands="50:50,50:50").bands
    assert not np.isclose(first[: len(second), :4], second[: len(first), :4]).any()


def test_the_model_stores_the_bands_and_no_output_rows():
    objective = DSoftmax.build(problem(np.float32), bands=BANDS)
    assert objective.output.shape == (0, 8)
    assert objective.output.dtype == np.float32
    assert list(objective.arrays()) == ["bands.0", "bands.1", "bands.2"]
    for arrays in (objective.arrays().values(), objective.decayed()):
        assert all(a is b for a, b in zip(arrays, objective.bands, strict=True))


@pytest.mark.parametrize(
    "shapes",
    [
        [(2, 5), (3, 3)],
        [(2, 5), (3, 3), (5, 2)],
        [(2, 5), (3, 3), (6, 3)],
        [(2, 10), (3, 0), (6, 0)],
        [(2, 8), (3, 1), (6, 1)],
        [(2, 5), (3, 3), (6,)],
    ],
)
def test_bands_that_do_not_fit_the_model_are_rejected(shapes):
    arrays = {f"bands.{i}": np.zeros(shape, np.float32) for i, shape in enumerate(shapes)}
    with pytest.raises(DataError, match="the model's bands do not fit its words and vectors"):
        DSoftmax.scorer(problem(), {"bands": BANDS}, np.zeros((0, 8), np.float32), arrays)


def test_bands_that_are_not_real_numbers_are_rejected():
    arrays = DSoftmax.build(problem(np.float32), bands=BANDS).arrays()
    assert DSoftmax.scorer(problem(), {"bands": BANDS}, np.zeros((0, 8), np.float32), arrays)
    arrays["bands.1"] = arrays["bands.1"].astype(np.int32)
    with pytest.raises(DataError, match="the model's bands"):
        DSoftmax.scorer(problem(), {"bands": BANDS}, np.zeros((0, 8), np.float32), arrays)


def test_bands_follow_the_given_shares_of_the_text_and_of_the_columns():
    counts = np.array([50, 20, 10, 10, 5, 5])
    assert cut("50:60,50:40", counts, 10) == [(1, 6), (5, 4)]
    assert cut("51:60,49:40", counts, 10) == [(2, 6), (4, 4)]
    assert cut("70:50, 20:25, 10:25", counts, 100) == [(2, 50), (2, 25), (2, 25)]
    assert cut("100:100", counts, 3) == [(6, 3)]
    assert cut("99.5:99.5,0.5:0.5", counts, 10) == [(6, 9), (0, 1)]
    assert cut("1:1,1:1,98:98", counts, 3) == [(1, 1), (0, 1), (5, 1)]
    assert cut("1:50,6:25,93:25", np.ones(100), 4) == [(1, 2), (6, 1), (93, 1)], "1% + 6% is 7.000000000000001%"
    assert cut("50:50,50:50", np.zeros(4), 4) == [(2, 2), (2, 2)], "words without counts weigh as much as one"


@given(
    st.lists(st.integers(0, 1000), min_size=1, max_size=30),
    st.lists(st.tuples(st.integers(1, 50), st.integers(1, 50)), min_size=1, max_size=6),
    st.integers(0, 40),
)
def test_bands_cover_all_words_and_columns(counts, parts, more):
    text, columns = (np.array(p) * 100 / sum(p) for p in zip(*parts, strict=True))
    dim = len(parts) + more
    option = ",".join(f"{t:.12g}:{c:.12g}" for t, c in zip(text, columns, strict=True))
    bands = cut(option, np.sort(counts)[::-1], dim)
    assert len(bands) == len(parts)
    assert sum(words for words, _ in bands) == len(counts)
    assert sum(width for _, width in bands) == dim
    assert all(words >= 0 and width >= 1 for words, width in bands)


@pytest.mark.parametrize(
    "bands",
    ["", "x", "100", "50:50", "50:50,50:49", "60:50,50:50", "150:50,-50:50", "100:100:1", "50:50,50", "nan:100"],
)
def test_invalid_bands_are_rejected(bands):
    with pytest.raises(ConfigError, match="option bands of objective dsoftmax"):
        DSoftmax.build(problem(), bands=bands)


def test_more_bands_than_columns_are_rejected():
    with pytest.raises(ConfigError, match="3 bands are too many for 2-dimensional vectors"):
        DSoftmax.build(problem(dim=2), bands=BANDS)
