"""Examples, hidden vectors and their gradients compared with naive versions, for many kinds of windows."""

import math
from unittest.mock import patch

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from w2vtrain.architectures import architecture_class
from w2vtrain.architectures.contract import Layout
from w2vtrain.engines.block_engine import Examples, InputLayer, gather
from w2vtrain.engines.chunks import read_only
from w2vtrain.engines.window_kernel import Windows
from w2vtrain.kernels.rows import padded_rows
from w2vtrain.probability.dense import Workspace

SIZE, DIM = 7, 5
WORK = Workspace()  # shared by all tests: what an earlier call left there must not matter
KEEPS = {"all": np.full(SIZE, 2**32 - 1, np.uint32), "some": np.linspace(0, 2**32 - 1, SIZE).astype(np.uint32)}

NAMES = reference.OF_WORDS
ARCHITECTURES = {name: architecture_class(name).build(Layout(4, DIM, DIM), {}) for name in NAMES}
REFERENCES = {name: reference.implementation_of("architectures", name) for name in NAMES}

SENTENCES = st.lists(st.lists(st.integers(0, SIZE - 1), min_size=1, max_size=9), min_size=1, max_size=5)


@st.composite
def all_windows(draw):
    left, right = draw(st.sampled_from([(True, True), (True, False), (False, True)]))
    size, end = draw(st.integers(1, 4)), draw(st.sampled_from([-1, 2]))
    pads = draw(st.integers(0, size)) if end >= 0 else 0
    return Windows(size, draw(st.booleans()), left, right, end, pads)


def stream_of(sentences):
    return read_only(np.concatenate([[*words, -1] for words in sentences]).astype(np.int32))


def listed(found):
    """Return examples in the form of the reference."""
    columns = (found.starts, found.sizes, found.lefts, found.indices, found.targets, found.previous)
    return [
        (target, found.contexts[start : start + n].tolist(), left, number, previous)
        for start, n, left, number, target, previous in zip(*(c.tolist() for c in columns), strict=True)
    ]


@given(SENTENCES, all_windows(), st.sampled_from(["skipgram", "vlbl"]), st.sampled_from(list(KEEPS)), st.data())
@settings(max_examples=300)
def test_gather_agrees_with_the_naive_version(sentences, windows, name, keep, data):
    """Gather any range of whole sentences, with one example per context word or per window."""
    tokens, stream = stream_of(sentences), (data.draw(st.integers(0, 2**63 - 1)), 3, 1)
    ends = [0, *(np.flatnonzero(tokens < 0) + 1).tolist()]
    a, b = sorted((data.draw(st.integers(0, len(sentences))), data.draw(st.integers(0, len(sentences)))))
    (found,) = gather(tokens, ends[a], ends[b], KEEPS[keep], windows, ARCHITECTURES[name], stream, WORK)
    expected = reference.examples(sentences[a:b], KEEPS[keep], windows, REFERENCES[name](4, {}), stream)
    assert listed(found) == expected
    if name == "skipgram":
        assert found.words(slice(1, None)).tolist() == [context[k] for _, context, _, k, _ in expected[1:]]


@given(SENTENCES, all_windows(), st.sampled_from(["skipgram", "vlbl"]), st.sampled_from(list(KEEPS)), st.data())
@settings(max_examples=100)
def test_wide_windows_give_the_same_examples_in_parts_of_bounded_size(sentences, windows, name, keep, data):
    """Windows of more than PLANNED_WORDS words: here, of more than one."""
    windows = windows._replace(size=windows.size + data.draw(st.sampled_from([0, 1000])))
    tokens, stream, modest = stream_of(sentences), (data.draw(st.integers(0, 2**63 - 1)), 3, 1), 1
    found, bound = [], max(2 * modest * (len(tokens) + 2), 2 * windows.reach(len(tokens) + 2))
    with patch("w2vtrain.engines.block_engine.PLANNED_WORDS", modest):
        for part in gather(tokens, 0, len(tokens), KEEPS[keep], windows, ARCHITECTURES[name], stream, WORK):
            assert len(part.contexts) <= bound
            found += listed(part)
    assert found == reference.examples(sentences, KEEPS[keep], windows, REFERENCES[name](4, {}), stream)


def test_a_text_may_end_without_a_sentence_end():
    whole, cut = np.array([1, 2, 0, -1], np.int32), np.array([1, 2, 0], np.int32)
    windows, vlbl = Windows(2, False, end=4, pads=2), ARCHITECTURES["vlbl"]
    found = [listed(*gather(t, 0, len(t), KEEPS["all"], windows, vlbl, (0, 0, 0), WORK)) for t in (whole, cut)]
    assert found[0] == found[1]
    assert found[0][0] == (1, [4, 4, 2, 0], 2, 0, 4)
    assert found[0][-1] == (4, [2, 0], 2, 0, 0), "the sentence end is predicted from the words before it"


def test_left_contexts_contain_no_later_words():
    words = list(range(SIZE))
    for windows in (Windows(3, False, right=False), Windows(3, False, right=False, end=0, pads=3)):
        (found,) = gather(
            stream_of([words]), 0, SIZE + 1, KEEPS["all"], windows, ARCHITECTURES["vlbl"], (0, 0, 0), WORK
        )
        before = {}
        for target, context, left, _, previous in listed(found)[: SIZE - 1]:
            assert all(c <= target for c in context)
            assert left == len(context)
            assert context[-1] == previous, "the nearest word must come last"
            before[target] = context
        assert len(before) == SIZE - 1


def case(rng, name, bias, lines=9):
    """Return an input layer over padded rows, examples with repeated words, and their windows for the reference."""
    rows = padded_rows(SIZE, DIM + bias)
    rows[:, :DIM] = rng.normal(size=(SIZE, DIM))
    rows[:, DIM : DIM + bias] = 1
    architecture = architecture_class(name).build(Layout(3, DIM, DIM + bias), {})
    for array in architecture.learned().values():
        array[:, :DIM] = rng.normal(size=(len(array), DIM))
    windows = []
    for _ in range(lines):
        left, right = rng.integers(4, size=2)
        context = rng.integers(4, size=max(1, left + right)).tolist()
        number = int(rng.integers(len(context))) if architecture.pairs() else 0
        windows.append((context, int(min(left, len(context))), number))
    sizes = np.array([len(context) for context, _, _ in windows], np.int32)
    contexts = np.array([word for context, _, _ in windows for word in context], np.int32)
    starts, lefts, numbers = np.cumsum(sizes) - sizes, *np.array([w[1:] for w in windows], np.int32).T.copy()
    none = np.zeros(lines, np.int32)
    examples = Examples(contexts, starts, sizes, lefts, numbers, none, none)
    return InputLayer(architecture, rows, DIM, bias), examples, windows


def implementation_of(layer, name, dtype=np.float64):
    """Return the reference implementation with the layer's arrays."""
    arrays = {key: array[:, :DIM].astype(dtype) for key, array in layer.architecture.learned().items()}
    return REFERENCES[name](3, arrays)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_hidden_vectors_equal_those_of_the_reference(rng, name, bias):
    layer, examples, windows = case(rng, name, bias)
    ref = implementation_of(layer, name)
    for first, count in ((0, 9), (4, 3), (8, 1), (3, 0)):
        H = np.full((count, DIM + bias), np.nan, np.float32)
        layer.hidden(examples, first, H)
        expected = [
            reference.with_bias(ref.hidden(layer.rows[:, :DIM].astype(float), *windows[first + b]), bias)
            for b in range(count)
        ]
        np.testing.assert_allclose(H, np.reshape(expected, H.shape), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_hidden_vectors_can_be_computed_from_rows_without_padding(rng, name):
    """Scoring uses the rows (V, d) of a model directly, without padding or as a view of padded ones."""
    layer, examples, _ = case(rng, name, False)
    expected = np.zeros((9, DIM), np.float32)
    layer.hidden(examples, 0, expected)
    # Rows of another width are added by other instructions. Either way rounds n sums of at most n products.
    n, factors = examples.sizes.max(), [layer.rows, *layer.architecture.learned().values()]
    tolerance = n * n * np.finfo(np.float32).eps * math.prod(np.abs(array).max() for array in factors)
    for rows in (layer.rows[:, :DIM], np.ascontiguousarray(layer.rows[:, :DIM])):
        arrays = {key: np.ascontiguousarray(a[:, :DIM]) for key, a in layer.architecture.learned().items()}
        found = np.zeros_like(expected)
        layer._replace(rows=rows, architecture=layer.architecture._replace(**arrays)).hidden(examples, 0, found)
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_rows_and_arrays_learn_the_same_as_in_the_reference(rng, name, bias):
    """The step is large, so that an array that learns from a changed value of another differs."""
    layer, examples, windows = case(rng, name, bias)
    ref, rows = implementation_of(layer, name), layer.rows[:, :DIM].astype(np.float64)
    first, lr, dH = 2, 0.5, rng.normal(size=(5, DIM + bias)).astype(np.float32)
    before, arrays = rows.copy(), {key: array.copy() for key, array in ref.arrays.items()}
    layer.update(examples, first, dH, lr)
    for b in range(5):
        ref.learn(rows, *windows[first + b], dH[b, :DIM].astype(float), lr)
    np.testing.assert_allclose(layer.rows[:, :DIM] - before, rows - before, rtol=1e-5, atol=1e-5)
    assert np.abs(rows - before).max() > 0.1
    for key, array in layer.architecture.learned().items():
        change = ref.arrays[key] - arrays[key]
        np.testing.assert_allclose(array[:, :DIM] - arrays[key], change, rtol=1e-5, atol=1e-5)
        assert np.abs(change).max() > 0.01
    if bias:
        assert (layer.rows[:, DIM] == 1).all(), "the column of ones must not change"
    assert not layer.rows[:, DIM + bias :].any()
