"""Examples, hidden vectors and their gradients against a naive version, over sentences, windows, sides and ends."""

import itertools

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from w2vtrain.architectures import Windows
from w2vtrain.engines.hidden import Examples, backward, forward, gather, mixing
from w2vtrain.kernels.rows import padded_rows
from w2vtrain.probability.dense import Workspace

SIZE, DIM = 7, 5
WORK = Workspace()  # one for all: what an earlier call left there must not show
KEEPS = {"all": np.full(SIZE, 2**32 - 1, np.uint32), "some": np.linspace(0, 2**32 - 1, SIZE).astype(np.uint32)}

SENTENCES = st.lists(st.lists(st.integers(0, SIZE - 1), min_size=1, max_size=9), min_size=1, max_size=5)


@st.composite
def all_windows(draw):
    left, right = draw(st.sampled_from([(True, True), (True, False), (False, True)]))
    size, end = draw(st.integers(1, 4)), draw(st.sampled_from([-1, 2]))
    pads = draw(st.integers(0, size)) if end >= 0 else 0
    return Windows(size, draw(st.booleans()), left, right, end, pads)


def stream_of(sentences):
    return np.concatenate([[*words, -1] for words in sentences]).astype(np.int32)


def listed(found):
    """Examples as the reference lists them."""
    bounds = itertools.pairwise(found.starts.tolist())
    near = [list(zip(found.contexts[a:b].tolist(), found.places[a:b].tolist(), strict=True)) for a, b in bounds]
    return list(zip(found.targets.tolist(), near, found.previous.tolist(), strict=True))


@given(SENTENCES, all_windows(), st.booleans(), st.sampled_from(list(KEEPS)), st.data())
@settings(max_examples=300)
def test_gather_agrees_with_the_naive_version(sentences, windows, pairs, keep, data):
    """Any whole sentences of a text; position weights matter only where a hidden vector has several rows."""
    tokens, stream = stream_of(sentences), (data.draw(st.integers(0, 2**63 - 1)), 3, 1)
    ends = [0, *(np.flatnonzero(tokens < 0) + 1).tolist()]
    a, b = sorted((data.draw(st.integers(0, len(sentences))), data.draw(st.integers(0, len(sentences)))))
    found = gather(tokens, ends[a], ends[b], KEEPS[keep], windows, pairs, stream, WORK)
    twin = reference.Stream.of_chunk(*stream)
    expected = reference.examples(sentences[a:b], KEEPS[keep], windows, pairs, twin)
    if pairs:
        assert [(t, [c for c, _ in near], p) for t, near, p in listed(found)] == [
            (t, [c for c, _ in near], p) for t, near, p in expected
        ]
    else:
        assert listed(found) == expected


def test_a_text_may_end_without_the_end_of_a_sentence():
    whole, cut = np.array([1, 2, 0, -1], np.int32), np.array([1, 2, 0], np.int32)
    windows = Windows(2, False, end=4, pads=2)
    found = [listed(gather(t, 0, len(t), KEEPS["all"], windows, False, (0, 0, 0), WORK)) for t in (whole, cut)]
    assert found[0] == found[1]
    assert found[0][0] == (1, [(4, 1), (4, 0), (2, 2), (0, 3)], 4)
    assert found[0][-1] == (4, [(2, 1), (0, 0)], 0), "the end of the sentence is predicted from the left alone"


def test_left_contexts_see_nothing_of_the_future(rng):
    words = list(range(SIZE))
    for windows in (Windows(3, False, right=False), Windows(3, False, right=False, end=0, pads=3)):
        found = gather(stream_of([words]), 0, SIZE + 1, KEEPS["all"], windows, False, (0, 0, 0), WORK)
        before = {}
        for target, near, previous in listed(found)[: SIZE - 1]:
            assert all(c <= target for c, _ in near)
            assert [c for c, place in near if place == 0] == [previous], "position 0 is the nearest word"
            before[target] = near
        assert len(before) == SIZE - 1


KINDS = ["pairs", "whole", "corrected", "weighted"]


def case(rng, kind, bias, lines=9):
    """Rows with padding behind, examples with repeated words in them, their mixing; and the lists that they are of."""
    rows = padded_rows(SIZE, DIM + bias)
    rows[:, :DIM] = rng.normal(size=(SIZE, DIM))
    rows[:, DIM : DIM + bias] = 1
    weights = None
    if kind == "weighted":
        weights = padded_rows(6, DIM + bias)
        weights[:, :DIM] = rng.normal(size=(6, DIM))
    near = [
        [(int(rng.integers(4)), int(rng.integers(6))) for _ in range(1 if kind == "pairs" else rng.integers(1, 6))]
        for _ in range(lines)
    ]
    contexts, places = (np.array([pair[k] for part in near for pair in part], np.int32) for k in (0, 1))
    starts = np.cumsum([0, *map(len, near)])
    examples = Examples(contexts, places, starts, np.zeros(lines, np.int32), np.zeros(lines, np.int32))
    return mixing(rows, DIM, kind == "pairs", kind == "whole", bias, weights), examples, near


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_forward_is_the_mean_or_the_weighted_sum(rng, kind, bias):
    mix, examples, near = case(rng, kind, bias)
    weights = mix.weights[:, :DIM] if kind == "weighted" else None
    for first, count in ((0, 9), (4, 3), (8, 1), (3, 0)):
        H = np.full((count, DIM + bias), np.nan, np.float32)
        forward(mix, examples, first, H)
        expected = [reference.hidden(near[first + b], mix.rows[:, :DIM], weights, bias) for b in range(count)]
        np.testing.assert_allclose(H, np.reshape(expected, H.shape), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_backward_is_the_slope_of_forward(rng, kind, bias):
    """Of L = -Σ dH ⊙ H by central differences in float64; `whole` is n times it, position weights learn a tenth."""
    mix, examples, near = case(rng, kind, bias)
    before, weights = mix.rows.astype(np.float64), mix.weights.astype(np.float64)
    first, lr, dH = 2, 1e-4, rng.normal(size=(5, DIM + bias)).astype(np.float32)
    backward(mix, examples, first, dH, np.float32(lr))
    slope_rows, slope_weights = np.zeros_like(before), np.zeros_like(weights)
    for b in range(5):
        line = near[first + b]
        for c, place in line:
            if kind == "weighted":
                slope_rows[c, :DIM] += dH[b, :DIM] * weights[place, :DIM]
                slope_weights[place, :DIM] += dH[b, :DIM] * before[c, :DIM]
            else:
                slope_rows[c, :DIM] += dH[b, :DIM] * (1 if kind == "whole" else 1 / len(line))
    np.testing.assert_allclose((mix.rows - before) / lr, slope_rows, atol=0.02)
    np.testing.assert_allclose((mix.weights - weights) / lr, 0.1 * slope_weights, atol=0.02)
    assert np.abs(slope_rows).max() > 0.5

    def loss(rows, of_weights):
        return -sum(
            dH[b] @ reference.hidden(near[first + b], rows, of_weights if kind == "weighted" else None, bias)
            for b in range(5)
        )

    if kind != "whole":  # what was written down above is the slope indeed
        for r, c in itertools.product(range(4), range(DIM)):
            change = np.zeros((SIZE, DIM))
            change[r, c] = 1e-4
            up, down = (
                loss(before[:, :DIM] + change, weights[:, :DIM]),
                loss(before[:, :DIM] - change, weights[:, :DIM]),
            )
            assert (down - up) / 2e-4 == pytest.approx(slope_rows[r, c], abs=1e-6)
    if bias:
        assert (mix.rows[:, DIM] == 1).all(), "the column of ones has learned"
