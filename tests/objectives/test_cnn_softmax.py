"""Softmax over rows computed from spellings, compared with a naive network in float64 that reads one word at a time."""

import numpy as np
import pytest
from reference import begun, check_steps

from w2vtrain import objectives
from w2vtrain.errors import ConfigError
from w2vtrain.objectives.cnn_softmax import CnnSoftmax
from w2vtrain.probability.characters import BEGIN, END, MAX_SPELLED_BYTES
from w2vtrain.probability.problem import Problem

WORDS = ["the", "a", "né", "of", "then", "the", "x" * 40, "b", "nation", "national", "irrational", "日本", "a"]
COUNTS = np.array([90, 70, 40, 30, 20, 10, 9, 8, 7, 6, 5, 4, 3])
SIZE, DIM, BLOCK = len(WORDS), 6, 9
SMALL = {"char_dim": 3, "filters": 9, "widths": "1,2,5", "highway": 2, "correction": 2}
LAYERS = [
    *("embeddings", "filters", "offsets", "highway", "highway_offsets"),
    *("projection", "mixing", "correction", "bias"),
]
BY_WORD = ("cnn.correction", "bias")


def built(rng, bias=True, dtype=np.float64, **options):
    """Return an objective that has no parameter at 0, and its problem."""
    problem = Problem(WORDS, COUNTS, DIM, bias=bias, dtype=dtype)
    objective = CnnSoftmax.build(problem, **{**SMALL, **options})
    for name, array in objective.parameters().items():
        array[...] = rng.normal(size=array.shape) * (1.0 if name == "cnn.embeddings" else 0.5)
    return objective, problem


def block(rng, width, dtype=np.float64):
    H = rng.normal(size=(BLOCK, width)).astype(dtype)
    H[:, DIM:] = 1
    return H, rng.integers(0, SIZE, BLOCK).astype(np.int32)


def rows_naively(objective, widths=(1, 2, 5)):
    """Embed, convolve, apply ReLU, pool, pass highways, project and correct, one word and one filter at a time."""
    theta = objective.theta
    alphabet = sorted({byte for word in WORDS for byte in word.encode()[:MAX_SPELLED_BYTES]})
    rows = []
    for w, word in enumerate(WORDS):
        ids = [BEGIN, *(alphabet.index(byte) + END + 1 for byte in word.encode()[:MAX_SPELLED_BYTES]), END]
        pooled, column = [], 0
        for width, size in zip(widths, objective.sizes, strict=True):
            padded = np.array(ids + [0] * max(0, width - len(ids)))
            block = theta["filters"][:, column : column + width * size].reshape(-1, width, size)
            for f in range(size):
                offset = theta["offsets"][len(pooled)]
                windows = [theta["embeddings"][padded[t : t + width]] for t in range(len(padded) - width + 1)]
                pooled.append(max(max(0.0, float((x.T * block[:, :, f]).sum() + offset)) for x in windows))
            column += width * size
        y = np.array(pooled)
        for weights, offsets in zip(theta["highway"], theta["highway_offsets"], strict=True):
            (W_H, W_T), (b_H, b_T) = np.hsplit(weights, 2), np.split(offsets, 2)
            t = 1 / (1 + np.exp(-(W_T.T @ y + b_T)))  # Kim et al. 2016, Equation 8
            y = t * np.maximum(W_H.T @ y + b_H, 0) + (1 - t) * y
        row = y @ theta["projection"] + theta["correction"][w] @ theta["mixing"]
        rows.append(np.concatenate([row, theta["bias"][w : w + 1]]))
    return np.array(rows)


def loss_naively(objective, rows, H, targets, drawn):
    """Return Σ -log softmax of the target among itself and the words drawn, with scores minus log expected counts."""
    q = np.maximum(COUNTS, 0.5) / np.maximum(COUNTS, 0.5).sum()
    expected = 1 - (1 - q) ** objective.samples
    total = 0.0
    for h, target in zip(H, targets, strict=True):
        x = {v: rows[v] @ h - np.log(expected[v]) for v in {*drawn, target}}
        total -= x[target] - np.log(sum(np.exp(list(x.values()))))
    return total


@pytest.mark.parametrize("options", [{}, {"bias": False}, {"correction": 0}, {"highway": 0}, {"highway": 1}])
def test_rows_match_the_naive_network(rng, options):
    objective, _ = built(rng, **options)
    expected = rows_naively(objective)
    assert objective.output.shape == (SIZE, DIM + options.get("bias", True))
    np.testing.assert_allclose(objective.output, expected, rtol=1e-12, atol=1e-12)
    some = objective._forward(np.array([5, 2, 2], np.int32), begun()).rows
    np.testing.assert_allclose(some, expected[[5, 2, 2]], rtol=1e-12, atol=1e-12)


def test_highway_layers_that_are_closed_or_transform_to_the_identity_change_nothing(rng):
    """With t = 0 each layer returns its input; with t = 1, W = 1 and b = 0 too, because no feature is negative."""
    objective, plain = built(rng)[0], built(rng, highway=0)[0]
    plain.theta = {name: objective.theta[name] if plain.theta[name].size else plain.theta[name] for name in plain.theta}
    assert not np.allclose(objective.output, plain.output)
    filters = len(objective.theta["offsets"])
    objective.theta["highway_offsets"][:, filters:] = -1e4
    np.testing.assert_array_equal(objective.output, plain.output)
    objective.theta["highway"][:] = np.hstack([np.eye(filters), np.zeros((filters, filters))])
    objective.theta["highway_offsets"][:] = np.repeat([0, 1e4], filters)
    np.testing.assert_array_equal(objective.output, plain.output)


def test_highway_layers_start_by_carrying_most_of_their_input():
    problem = Problem(WORDS, COUNTS, DIM, init=0.1)
    theta, plain = (CnnSoftmax.build(problem, highway=layers).theta for layers in (2, 0))
    np.testing.assert_array_equal(theta["highway_offsets"], np.repeat([[0, -2.0]] * 2, 256).reshape(2, 512))
    assert theta["highway"].std() == pytest.approx(1 / 16, rel=0.01)
    assert "highway" not in {name for name, array in plain.items() if array.size}
    np.testing.assert_array_equal(theta["projection"], plain["projection"])


def test_words_with_the_same_spelling_share_rows_only_without_correction(rng):
    """WORDS has "the" and "a" twice. Their biases differ in either case."""
    for correction in (0, 2):
        rows = built(rng, correction=correction)[0].output
        for one, other in ((0, 5), (1, 12)):
            assert np.allclose(rows[one, :DIM], rows[other, :DIM]) is (correction == 0)
            assert rows[one, DIM] != rows[other, DIM]
        assert not np.allclose(rows[0, :DIM], rows[4, :DIM]), "rows of 'the' and 'then'"


@pytest.mark.parametrize("samples", [0, 6])
def test_updates_follow_the_gradient_for_words_of_every_kind(rng, samples):
    objective, _ = built(rng, samples=samples)
    assert set(objective.parameters()) == {*objective.arrays(), "bias"}
    check_steps(objective, *block(rng, DIM + 1))


@pytest.mark.parametrize("chunk", range(4))
def test_sampled_loss_matches_its_definition(rng, chunk):
    objective, _ = built(rng, samples=6)
    H, targets = block(rng, DIM + 1)
    words, own, shift = objective._candidates(targets, begun(chunk))
    drawn = words[np.isfinite(shift)]
    assert 1 <= len(drawn) <= 6
    assert set(words.tolist()) == {*drawn.tolist(), *targets.tolist()}
    np.testing.assert_array_equal(words[own], targets)
    loss, _ = objective.step(H, targets, 0.0, begun(chunk))
    assert loss == pytest.approx(loss_naively(objective, objective.output, H, targets, drawn.tolist()), rel=1e-12)


def test_words_are_drawn_as_often_as_their_correction_assumes(rng):
    objective, _ = built(rng, samples=6)
    seen, blocks = np.zeros(SIZE), 4000
    for chunk in range(blocks):
        words, _, shift = objective._candidates(np.array([3], np.int32), begun(chunk))
        seen[words[np.isfinite(shift)]] += 1
    expected = np.exp(objective.log_expected)
    deviation = (seen / blocks - expected) / np.sqrt(expected * (1 - expected) / blocks)
    assert np.abs(deviation).max() < 4


@pytest.mark.parametrize("name", ["embeddings", "filters", "offsets", "highway", "highway_offsets"])
def test_nan_in_a_parameter_makes_the_loss_nan(rng, name):
    """The maximum over the positions in a word must not ignore a NaN, wherever it is."""
    objective, _ = built(rng, samples=0)
    H, targets = block(rng, DIM + 1)
    objective.theta[name].flat[-1] = np.nan
    assert np.isnan(objective.step(H, targets, 0.0, begun())[0])


def test_very_many_samples_equal_the_full_softmax(rng):
    sampled, full = built(rng, samples=100_000)[0], built(rng, samples=0)[0]
    full.theta = sampled.theta
    H, targets = block(rng, DIM + 1)
    a, b = sampled.gradients(H, targets, begun()), full.gradients(H, targets, begun())
    assert a[0] == pytest.approx(b[0], rel=1e-12)
    for name in full.parameters():
        one, other = (slopes[name][1] if name in BY_WORD else slopes[name] for slopes in (a[2], b[2]))
        np.testing.assert_allclose(one, other, atol=1e-11)
    np.testing.assert_array_equal(a[2]["bias"][0], b[2]["bias"][0])


def test_a_step_uses_sgd_for_words_and_adagrad_for_shared_parameters(rng):
    objective, _ = built(rng, samples=6, net_rate=0.5)
    H, targets = block(rng, DIM + 1)
    totals = dict.fromkeys(objective.state, 0.0)
    for chunk in range(2):
        old, new = {name: array.copy() for name, array in objective.parameters().items()}, objective.parameters()
        loss, _, slopes = objective.gradients(H, targets, begun(chunk))
        assert objective.step(H, targets, 0.01, begun(chunk))[0] == loss
        for name in BY_WORD:
            expected = old[name].copy()
            expected[slopes[name][0]] += 0.01 * slopes[name][1]
            np.testing.assert_allclose(new[name], expected, rtol=1e-12)
        for layer in totals:
            name = f"cnn.{layer}"
            totals[layer] = totals[layer] + slopes[name] ** 2
            moved = 0.01 * 0.5 * slopes[name] / np.sqrt(totals[layer] + 1e-12)
            np.testing.assert_allclose(new[name] - old[name], moved, atol=1e-14)
            np.testing.assert_allclose(objective.state[layer], totals[layer], rtol=1e-12)


def test_parameters_are_few_and_initial_rows_have_the_requested_distribution():
    words = [f"word{i}" for i in range(20_000)]
    counts = np.arange(30_000, 10_000, -1)
    objective = CnnSoftmax.build(Problem(words, counts, 100, bias=True, init=0.1))
    learned = sum(array.size for array in objective.parameters().values())
    assert learned < 0.25 * 20_000 * 101
    rows = objective.output
    np.testing.assert_allclose(rows[:, 100], np.log(counts / counts.sum()), rtol=1e-5)
    assert 0.03 < rows[:, :100].std() < 0.3
    assert not CnnSoftmax.build(Problem(words, counts, 100)).output.any()
    again = CnnSoftmax.build(Problem(words, counts, 100, bias=True, init=0.1))
    np.testing.assert_array_equal(again.output, rows)
    some = again._forward(np.arange(9_000, 9_009, dtype=np.int32), begun()).rows
    np.testing.assert_allclose(some, rows[9_000:9_009], rtol=1e-4, atol=1e-5)


def test_the_model_stores_the_network_but_no_biases(rng):
    assert set(built(rng)[0].arrays()) == {f"cnn.{name}" for name in LAYERS if name != "bias"}
    assert set(built(rng, highway=0)[0].arrays()) == {
        f"cnn.{name}" for name in LAYERS if not name.startswith(("bias", "highway"))
    }
    assert "cnn.correction" not in built(rng, correction=0)[0].parameters()


def test_workspace_arrays_of_a_step_are_all_prefixed_with_cnn(rng):
    """The engine keeps the examples of a chunk in the same workspace during steps."""
    objective, _ = built(rng)
    work = begun()
    objective.step(*block(rng, DIM + 1), 0.1, work)
    assert work._arrays
    assert all(name.startswith("cnn.") for name in work._arrays)


def test_filters_are_divided_in_proportion_to_their_widths(rng):
    sizes = built(rng, widths="4,1,2,3", filters=104)[0].sizes
    assert sizes.tolist() == [11, 21, 31, 41]
    assert built(rng, widths="1,16", filters=2)[0].sizes.tolist() == [1, 1]
    assert objectives.checked_options("cnn-softmax", {"widths": 3})["widths"] == "3"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"filters": 2}, "2 filters are too few for 3 widths"),
        ({"widths": ""}, "option widths of objective cnn-softmax: expected comma-separated whole numbers"),
        ({"widths": "1,two"}, "expected comma-separated whole numbers"),
        ({"widths": "0,1"}, "from 1 to 16"),
        ({"widths": "1,17"}, "from 1 to 16"),
    ],
)
def test_invalid_options_are_rejected(given, message):
    with pytest.raises(ConfigError, match=message):
        objectives.build("cnn-softmax", Problem(WORDS, COUNTS, DIM), {**SMALL, **given})
