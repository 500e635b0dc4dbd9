"""The window engine compared with finite differences, and with the naive trainer, with the same random draws."""

import itertools

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from reference import problem_of
from scipy import stats

from w2vtrain import objectives
from w2vtrain.api import train
from w2vtrain.architectures import architecture_class
from w2vtrain.architectures.contract import Layout
from w2vtrain.architectures.skipgram import SkipGram
from w2vtrain.engines.chunks import read_only
from w2vtrain.engines.window_engine import Extent, hot_rows, make_scratch
from w2vtrain.engines.window_kernel import (
    Matrices,
    Windows,
    gather_context,
    reach_of,
    read_sentence,
    train_chunks,
    words_at_once,
)
from w2vtrain.engines.window_kernel import train_window as learn
from w2vtrain.errors import ConfigError
from w2vtrain.kernels.jit import kernel
from w2vtrain.kernels.rows import padded_rows
from w2vtrain.objectives import objective_class
from w2vtrain.objectives.contract import Candidates, Window
from w2vtrain.probability.subsampling import keep_thresholds

SIZE, DIM, WINDOW, SKIPGRAM = 23, 19, 3, SkipGram(5)
COLUMNS = (0, 1, 3, 4, 7, 8, 15, 16, 18)
"""Columns at the ends of the kernels' vectors, of 4, 8 or 16 numbers, and of a row."""
COUNTS = 1000 // np.arange(1, SIZE + 1)
WINDOWS = [name for name in objectives.objectives() if objectives.engine_of(name) == "windows"]
MODELS = reference.OF_WORDS
VARIANTS = {
    "hs-neg": [{"negative": 7, "pool": 8}],
    "nce": [
        *({"negative": 4}, {"negative": 30}, {"pool": 16}),
        *({"negative": 2, "learn_z": True}, {"negative": 2, "learn_z": True, "z_table": 7}),
    ],
    "neg": [{}, {"negative": 17}, {"negative": 7, "pool": 8}],
}
CASES = [(name, options) for name in WINDOWS for options in VARIANTS.get(name, [{}])]


def corpus(rng, sentences=12, longest=25, size=SIZE):
    """Return sentences, their tokens, and word counts in descending order, as in a vocabulary."""
    p = 1 / np.arange(1, size + 1)
    lines = [rng.choice(size, rng.integers(1, longest), p=p / p.sum()).tolist() for _ in range(sentences)]
    counts = np.sort(np.bincount(np.concatenate(lines), minlength=size) + 1)[::-1].copy()
    tokens = read_only(np.concatenate([[*line, -1] for line in lines]).astype(np.int32))
    return lines, tokens, counts


def matrices(rng, rows, size=SIZE, dim=DIM):
    w_in, w_out = padded_rows(size, dim), padded_rows(rows + 1, dim)
    w_in[:size, :dim] = rng.normal(size=(size, dim)) * 0.3
    w_out[:rows, :dim] = rng.normal(size=(rows, dim)) * 0.3
    return w_in, w_out


def built_architecture(name, bias, arrays=None, window=WINDOW):
    """Build an architecture; arrays: what it learns besides rows, by name."""
    return architecture_class(name).build(Layout(window, DIM, DIM + bias), arrays or {})


def parameters_of(rng, rows, bias, model="skipgram", window=WINDOW):
    """Return padded input rows with a column of ones, output rows with a spare last row, the architecture's arrays."""
    w_in, w_out = padded_rows(SIZE, DIM + bias), padded_rows(rows + 1, DIM + bias)
    w_in[:, :DIM] = rng.normal(size=(SIZE, DIM)) * 0.5
    w_in[:, DIM : DIM + bias] = 1
    w_out[:rows, : DIM + bias] = rng.normal(size=(rows, DIM + bias)) * 0.5
    learned = built_architecture(model, bias, window=window).learned()
    for array in learned.values():
        array[:, :DIM] = 1 + rng.normal(size=(len(array), DIM)) * 0.5
    return w_in, w_out, learned


def slope(loss, array, cell):
    up, down = array.copy(), array.copy()
    up[cell] += 1e-5
    down[cell] -= 1e-5
    return (loss(up) - loss(down)) / 2e-5


# one window learned in float64, with the kernels run as plain Python


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("context", "left"), [([3], 1), ([3], 0), ([1, 4, 0, 6], 3), ([1, 4, 6], 0)])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("name", "options"), CASES)
def test_update_is_the_gradient_of_the_loss(rng, name, options, model, context, left, bias):
    """Rows, biases and the architecture's arrays change by -lr times the slope (times a factor of the reference)."""
    pairs, in_place = architecture_class(model).pairs(), architecture_class(model).in_place()
    if pairs and (not in_place or (bias and name == "hs")):
        context = context[:1]  # learned in turn, so not the gradient at the old values
    objective = objective_class(name).build(problem_of(COUNTS, dim=DIM, bias=bias), **options)
    rows = objective.output_rows(SIZE)
    w_in, w_out, learned = parameters_of(rng, rows, bias, model)
    w_in, w_out = w_in.astype(np.float64), w_out.astype(np.float64)
    learned = {key: array.astype(np.float64) for key, array in learned.items()}
    scratch = make_scratch(w_in, w_out, 0, 1, Extent(WINDOW, objective.candidate_limit, 50))
    fields = ("labels", "shifts", "logits", "hidden", "gradient")
    wide = {field: getattr(scratch, field).astype(np.float64) for field in fields}
    scratch = scratch._replace(**wide, bias=DIM if bias else -1)
    scratch.rng[0] = 12
    sentence = np.array([0, 2, 1], np.int32)
    m = objective.candidates(sentence, 1, scratch.rng, scratch.rows[0], scratch.labels[0], scratch.shifts[0])
    found = list(zip(scratch.rows[0][:m].tolist(), scratch.labels[0][:m], scratch.shifts[0][:m], strict=True))
    scratch.context[: len(context)] = context
    if options.get("learn_z"):
        objective.log_z[:] = rng.normal(size=len(objective.log_z)) * 0.3
    ref = reference.implementation_of("objectives", name)(objective)
    architecture = built_architecture(model, bias, learned)
    make_naive = reference.implementation_of("architectures", model)
    factors = getattr(make_naive(WINDOW, {}), "factors", {})

    def loss(a, o, c):
        naive = make_naive(WINDOW, {key: array[:, :DIM] for key, array in c.items()})
        total = 0.0
        for number, words in reference.parts(naive, context, left):
            h = reference.with_bias(naive.hidden(a[:, :DIM], context, left, number), bias)
            total += reference.line_of(h, o[:, : DIM + bias], found, ref, words)
        return total

    a, o, c, lr = w_in.copy(), w_out.copy(), {key: array.copy() for key, array in learned.items()}, 1e-5
    candidates = Candidates(scratch.rows[0], scratch.labels[0], scratch.shifts[0], m)
    window = Window(scratch.context, len(context), left)
    got = learn(architecture, objective, Matrices(w_in, w_out), window, candidates, lr, scratch)
    assert got == pytest.approx(loss(a, o, c), rel=1e-6)
    whole = factors["rows"](context) if "rows" in factors else 1
    for r, k in itertools.product(set(context), COLUMNS):
        expected = -whole * slope(lambda w: loss(w, o, c), a, (r, k))
        assert (w_in[r, k] - a[r, k]) / lr == pytest.approx(expected, abs=2e-3)
    for r, k in itertools.product({row for row, _, _ in found}, (*COLUMNS, *[DIM] * bias)):
        expected = -slope(lambda w: loss(a, w, c), o, (r, k))
        assert (w_out[r, k] - o[r, k]) / lr == pytest.approx(expected, abs=2e-3), (r, k)
    for key, array in learned.items():
        factor = factors[key](context) if key in factors else 1
        for cell in itertools.product(range(len(array)), COLUMNS):
            expected = -factor * slope(lambda w, key=key: loss(a, o, {**c, key: w}), c[key], cell)
            assert (array[cell] - c[key][cell]) / lr == pytest.approx(expected, abs=2e-4), (key, cell)
        assert (array[:, DIM:] == 0).all()
    assert (w_in[:, DIM:] == a[:, DIM:]).all(), "the column of ones or the padding has changed"


# one chunk of text learned by the kernel, with the same random draws as the naive trainer


KERNELS = [
    (model, name, options)
    for model in MODELS
    for name, options in CASES
    if model in ("skipgram", "vlbl") or options == VARIANTS.get(name, [{}])[0]
]
WINDOWS_OF_ALL_KINDS = [
    Windows(WINDOW, False, True, False, 4, WINDOW),
    Windows(WINDOW, True, True, False, 0, 1),
    Windows(WINDOW, True, False, True),
    Windows(WINDOW, True, True, True, 4, 2),
    Windows(WINDOW, False),
    Windows(1, False),
    Windows(100, False),
    Windows(100, True),
]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("model", "name", "options"), KERNELS)
def test_kernel_agrees_with_the_naive_trainer(rng, model, name, options, bias):
    """Compare all arrays after a chunk. The reference updates from old values, so the rate is small.

    Every second kind of windows is run with biases, and the others without.
    """
    lines, tokens, counts = corpus(rng, sentences=9)
    fast, ref = (
        objective_class(name).build(problem_of(counts, dim=DIM, bias=bias, tokens=tokens), **options) for _ in "ab"
    )
    ref = reference.implementation_of("objectives", name)(ref)
    keep, rows = keep_thresholds(counts, 0.05), fast.output_rows(SIZE)
    for windows in WINDOWS_OF_ALL_KINDS[bias::2]:
        size = windows.size
        w_in, w_out, learned = parameters_of(rng, rows, bias, model, size)
        after = {"input": w_in[:, :DIM], "output": w_out[:rows, : DIM + bias]}
        after |= {key: array[:, :DIM] for key, array in learned.items()}
        starts = {key: array.astype(np.float64) for key, array in after.items()}
        slow = {key: array.copy() for key, array in starts.items()}
        scratch = make_scratch(w_in, w_out, 0, 1, Extent(size, fast.candidate_limit, 100), DIM if bias else -1)
        lr, one, bounds = 1e-4, np.zeros(1, np.int64), np.array([0, len(tokens)])
        loss, examples = train_chunks(
            built_architecture(model, bias, learned, size), fast, windows, tokens, bounds, one, np.array([lr]),
            Matrices(w_in, w_out), DIM, keep, 0.0, 5, 2, scratch,
        )  # fmt: skip
        naive = reference.implementation_of("architectures", model)(size, {key: slow[key] for key in learned})
        matrices = slow["input"], slow["output"]
        expected = reference.train(naive, ref, lines, keep, windows, *matrices, lr, (5, 2, 0), bias)
        assert examples == expected[1] > 0, windows
        in_turn = architecture_class(model).pairs() and not architecture_class(model).in_place()
        tolerance = 3e-3 if in_turn else 1e-4  # the reference computes all examples of a window from the old values
        assert loss == pytest.approx(expected[0], rel=tolerance), windows
        for what, new in after.items():
            change = np.abs(slow[what] - starts[what]).max()
            assert change > 1e-6
            expected = slow[what] - starts[what]
            np.testing.assert_allclose(new - starts[what], expected, atol=0.02 * change, err_msg=f"{what}, {windows}")
        assert (w_in[:, DIM:].any(), w_out[rows].any()) == (bias, False)
        assert not any(array[:, DIM:].any() for array in learned.values())
        assert (w_in[:, DIM : DIM + bias] == 1).all()
        if options.get("learn_z"):
            log_z = ref.learned["log_z"]
            np.testing.assert_allclose(fast.log_z, log_z, atol=0.02 * np.abs(log_z).max())
            assert log_z.any()


def test_skipgram_biases_learn_the_same_in_every_tile(rng):
    """41 candidates need seven tiles; with biases as large as log frequencies, the column of ones must be 1 in each."""
    objective = objective_class("nce").build(problem_of(COUNTS, dim=DIM, bias=True), negative=40)
    w_in, w_out, _ = parameters_of(rng, SIZE, True)
    w_out[:SIZE, DIM] = -8
    rows = padded_rows(SIZE, DIM + 1)
    rows[:] = w_in
    out = w_out[:SIZE, : DIM + 1].astype(np.float64)
    scratch = make_scratch(w_in, w_out, 0, 1, Extent(WINDOW, objective.candidate_limit, 50), DIM)
    one, keep, lr = np.zeros(1, np.int64), np.full(SIZE, 2**32 - 1, np.uint32), 0.1
    windows, text = Windows(1, False, True, False), read_only(np.array([3, 7, -1], np.int32))
    train_chunks(
        SkipGram(WINDOW), objective, windows, text, np.array([0, 3]), one, np.array([lr]), Matrices(w_in, w_out), DIM,
        keep, 0.0, 5, 2, scratch,
    )  # fmt: skip
    ((_, _, (_, found)),) = reference.drawn([[3, 7]], keep, windows, (5, 2, 0), objective)
    h, expected = np.append(rows[3, :DIM].astype(np.float64), 1), out.copy()
    for r, y, s in found:
        expected[r] += lr * (y - reference.sigmoid(out[r] @ h - s)) * h
    np.testing.assert_allclose(w_out[:SIZE, DIM] - out[:, DIM], expected[:, DIM] - out[:, DIM], atol=2e-6)


@pytest.mark.parametrize("name", ["neg", pytest.param("hs", marks=pytest.mark.slow)])
def test_windows_of_more_words_than_are_learned_at_once_agree_with_the_naive_trainer(rng, name):
    """Each target has 130 context words, which are learned in several parts."""
    words, together = rng.choice(SIZE, 131).tolist(), words_at_once(131, name == "hs")
    tokens = read_only(np.array([*words, -1], np.int32))
    counts = np.sort(np.bincount(words, minlength=SIZE) + 1)[::-1].copy()
    fast = objective_class(name).build(problem_of(counts))
    ref = reference.implementation_of("objectives", name)(objective_class(name).build(problem_of(counts)))
    rows, lr = fast.output_rows(SIZE), 1e-5
    w_in, w_out = matrices(rng, rows)
    slow_in, slow_out = w_in[:SIZE, :DIM].astype(float), w_out[:rows, :DIM].astype(float)
    start_in, start_out = slow_in.copy(), slow_out.copy()
    windows, keep = Windows(len(words), False), keep_thresholds(counts, 0)
    loss, examples = train_chunks(
        SkipGram(len(words)), fast, windows, tokens, np.array([0, len(tokens)]), np.zeros(1, np.int64), np.array([lr]),
        Matrices(w_in, w_out), DIM, keep, 0.0, 5, 2,
        make_scratch(w_in, w_out, 0, 1, Extent(len(words), fast.candidate_limit, len(words), together)),
    )  # fmt: skip
    naive = reference.implementation_of("architectures", "skipgram")(len(words), {})
    expected = reference.train(naive, ref, [words], keep, windows, slow_in, slow_out, lr, (5, 2, 0))
    assert examples == expected[1] == len(words) * (len(words) - 1)
    assert loss == pytest.approx(expected[0], rel=1e-3)
    for fast_w, slow_w, start in ((w_in[:SIZE, :DIM], slow_in, start_in), (w_out[:rows, :DIM], slow_out, start_out)):
        change = np.abs(slow_w - start).max()
        np.testing.assert_allclose(fast_w - start, slow_w - start, atol=0.02 * change)


def test_repeated_words_keep_all_their_updates(rng, architecture):
    """With a vocabulary of 3 words, windows contain words twice, and noise words repeat."""
    model, make = architecture
    lines, tokens, counts = corpus(rng, size=3)
    objective = objective_class("neg").build(problem_of(counts), negative=6)
    w_in, w_out = matrices(rng, 3, size=3)
    slow_in, slow_out = w_in[:3, :DIM].astype(float), w_out[:3, :DIM].astype(float)
    start = slow_in.copy(), slow_out.copy()
    scratch = make_scratch(w_in, w_out, 0, 1, Extent(5, 7, 100))
    one, keep = np.zeros(1, np.int64), keep_thresholds(counts, 0)
    bounds = np.array([0, len(tokens)])
    train_chunks(
        make(5), objective, Windows(), tokens, bounds, one, np.array([1e-6]), Matrices(w_in, w_out), DIM, keep, 0.0, 1,
        0, scratch,
    )  # fmt: skip
    references = (
        reference.implementation_of("architectures", model)(5, {}),
        reference.implementation_of("objectives", "neg")(objective),
    )
    reference.train(*references, lines, keep, Windows(), slow_in, slow_out, 1e-6, (1, 0, 0))
    for fast, slow, before in ((w_in, slow_in, start[0]), (w_out, slow_out, start[1])):
        change = np.abs(slow - before).max()
        np.testing.assert_allclose(fast[:3, :DIM] - before, slow - before, atol=0.02 * change)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=15), st.data())
def test_gather_context_copies_the_words_within_reach_on_each_side(words, data):
    position = data.draw(st.integers(0, len(words) - 1))
    reach = data.draw(st.integers(1, 8))
    sentence, context = np.array(words, np.int32), np.zeros(32, np.int32)
    for before, after in ((True, True), (True, False), (False, True)):
        windows = Windows(left=before, right=after)
        n, left = gather_context(sentence, len(words), position, reach, windows, context)
        expected = words[max(0, position - reach) : position] if before else []
        assert left == len(expected)
        assert context[:n].tolist() == expected + (words[position + 1 : position + 1 + reach] if after else [])


def test_windows_shrink_to_every_size_equally_often():
    rng = np.array([8], np.uint64)
    assert reach_of(Windows(5, shrink=False), rng) == 5
    assert rng[0] == 8, "a fixed size must not use the random stream"
    seen = np.bincount([reach_of(Windows(5), rng) for _ in range(2000)], minlength=6)
    assert (seen[0], len(seen)) == (0, 6)
    assert stats.chisquare(seen[1:]).pvalue > 1e-4


def test_read_sentence_stops_at_sentence_ends_and_drops_words():
    @kernel()
    def read(tokens, position, end, keep, windows, rng, sentence):
        return read_sentence(tokens, position, end, keep, windows, rng, sentence)

    tokens = np.array([0, 1, 2, -1, 1, 1, -1, 2], np.int32)
    everything, sentence = np.full(3, 2**32 - 1, np.uint32), np.zeros(20, np.int32)
    rng = np.zeros(1, np.uint64)
    assert read(tokens, 0, 8, everything, Windows(), rng, sentence) == (4, 3)
    assert sentence[:3].tolist() == [0, 1, 2]
    assert read(tokens, 4, 8, everything, Windows(), rng, sentence) == (7, 2)
    assert read(tokens, 7, 8, everything, Windows(), rng, sentence) == (8, 1), "a chunk may end without a sentence end"
    ends = Windows(end=2, pads=3)
    assert read(tokens, 4, 7, everything, ends, rng, sentence) == (7, 6)
    assert sentence[:6].tolist() == [2, 2, 2, 1, 1, 2], "the sentence must be between end-of-sentence words"
    never = everything.copy()
    never[1] = 0
    assert read(tokens, 0, 8, never, Windows(), rng, sentence) == (4, 2)
    assert sentence[:2].tolist() == [0, 2], "each word has its own threshold"


def test_subsampling_keeps_the_expected_fraction_of_words():
    @kernel()
    def read(tokens, position, end, keep, windows, rng, sentence):
        return read_sentence(tokens, position, end, keep, windows, rng, sentence)

    tokens, sentence = np.zeros(100_000, np.int32), np.zeros(100_001, np.int32)
    keep = np.array([int(0.3 * 2**32)], np.uint32)
    _, length = read(tokens, 0, len(tokens), keep, Windows(), np.array([1], np.uint64), sentence)
    assert abs(length - 30_000) < 6 * np.sqrt(21_000)


def test_results_do_not_depend_on_how_chunks_are_divided_among_calls(rng):
    """Random streams and rates depend only on the chunk: calls with one chunk each equal one call with all."""
    _, tokens, counts = corpus(rng)
    ends = np.flatnonzero(tokens < 0) + 1
    starts, rates = np.array([0, ends[3], ends[7], len(tokens)]), np.array([0.1, 0.06, 0.03])
    objective = objective_class("neg").build(problem_of(counts))
    results = []
    for parts in ([[0, 1, 2]], [[0], [1], [2]], [[0, 1], [2]]):
        w_in, w_out = matrices(np.random.default_rng(1), SIZE)
        scratch = make_scratch(w_in, w_out, 0, 1, Extent(5, objective.candidate_limit, 100))
        for part in parts:
            chunks = np.array(part)
            train_chunks(
                SKIPGRAM, objective, Windows(), tokens, starts, chunks, rates[chunks], Matrices(w_in, w_out), DIM,
                keep_thresholds(counts, 0.1), 0.0, 3, 0, scratch,
            )  # fmt: skip
        results.append(w_in.tobytes() + w_out.tobytes())
    assert results[0] == results[1] == results[2]


def test_a_small_text_on_many_threads_is_learned_as_well_as_on_one(tmp_path):
    """With replicas, each of 16 threads would add a 16th of its changes to the hottest rows, and most threads none."""
    words = np.random.default_rng(3).choice(40, 900, p=np.arange(40, 0, -1) / 820)
    (tmp_path / "text").write_text(" ".join(f"w{word}" for word in words) + "\n")
    settings = {"vector_size": 16, "min_count": 1, "sample": 0, "epochs": 15, "seed": 1}
    one, many = (train(tmp_path / "text", threads=threads, **settings).record["epochs"] for threads in (1, 16))
    assert one[-1]["loss"] < 0.9 * one[0]["loss"]
    assert many[-1]["loss"] == pytest.approx(one[-1]["loss"], rel=0.02)


@pytest.mark.parametrize("found", [range(5, 12), range(-1, 3), range(0, 8, 2), [0, 1], None])
def test_hot_rows_that_are_not_adjacent_rows_are_refused(found):
    class Mine:
        def hot_rows(self, rows):
            return found

    with pytest.raises(ConfigError, match=r"^Mine\.hot_rows\(10\) returns .*; expected a range"):
        hot_rows(Mine(), 10)


def test_hot_rows_may_be_any_adjacent_rows():
    for found in (range(0), range(10), range(9, -1, -1), range(3, 5)):
        assert hot_rows(type("Mine", (), {"hot_rows": lambda self, rows, found=found: found})(), 10) == found
