"""The window engine compared with the naive trainer, with the same random draws."""

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from reference import problem_of

from w2vtrain.api import train
from w2vtrain.architectures.skipgram import SkipGram
from w2vtrain.engines.window_engine import Extent, hot_rows, make_scratch
from w2vtrain.engines.window_kernel import Matrices, Windows, gather_context, read_sentence, train_chunks, words_at_once
from w2vtrain.errors import ConfigError
from w2vtrain.kernels.jit import kernel
from w2vtrain.kernels.rows import padded_rows
from w2vtrain.objectives import objective_class
from w2vtrain.probability.sampling import keep_thresholds

SIZE, DIM, SKIPGRAM = 23, 19, SkipGram(5)


def corpus(rng, sentences=12, longest=25, size=SIZE):
    """Return sentences, their tokens, and word counts in descending order, as in a vocabulary."""
    p = 1 / np.arange(1, size + 1)
    lines = [rng.choice(size, rng.integers(1, longest), p=p / p.sum()).tolist() for _ in range(sentences)]
    counts = np.sort(np.bincount(np.concatenate(lines), minlength=size) + 1)[::-1].copy()
    tokens = np.concatenate([[*line, -1] for line in lines]).astype(np.int32)
    return lines, tokens, counts


def matrices(rng, rows, size=SIZE, dim=DIM):
    w_in, w_out = padded_rows(size, dim), padded_rows(rows + 1, dim)
    w_in[:size, :dim] = rng.normal(size=(size, dim)) * 0.3
    w_out[:rows, :dim] = rng.normal(size=(rows, dim)) * 0.3
    return w_in, w_out


@pytest.mark.parametrize("window", [1, 4, 100])
@pytest.mark.parametrize("shrink", [True, False])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("neg", {}),
        ("neg", {"negative": 17}),
        ("neg", {"negative": 7, "pool": 8}),
        ("hs", {}),
        ("nce", {}),
        ("nce", {"pool": 16}),
        ("nce", {"learn_z": True, "negative": 2}),
        ("nce", {"learn_z": True, "negative": 2, "z_table": 100}),
    ],
)
def test_kernel_agrees_with_the_naive_trainer(rng, architecture, name, options, shrink, window):
    """Compare every row of both matrices after a chunk. The reference updates from old values, so the rate is small."""
    model, make = architecture
    lines, tokens, counts = corpus(rng)
    fast = objective_class(name).build(problem_of(counts), **options)
    ref = reference.implementation_of("objectives", name)(objective_class(name).build(problem_of(counts), **options))
    rows = fast.output_rows(SIZE)
    w_in, w_out = matrices(rng, rows)
    slow_in, slow_out = w_in[:SIZE, :DIM].astype(float), w_out[:rows, :DIM].astype(float)
    start_in, start_out = slow_in.copy(), slow_out.copy()
    keep = keep_thresholds(counts, 0.05)
    scratch = make_scratch(w_in, w_out, 0, 1, Extent(window, fast.candidate_limit, 100))
    lr, seed, epoch = 1e-4, 5, 2
    one, rates = np.zeros(1, np.int64), np.array([lr])
    loss, examples = train_chunks(
        make(window), fast, Windows(window, shrink), tokens, np.array([0, len(tokens)]), one, rates,
        Matrices(w_in, w_out), DIM, keep, 0.0, seed, epoch, scratch,
    )  # fmt: skip
    stream = reference.Stream.of_chunk(seed, epoch, 0)
    naive_architecture = reference.implementation_of("architectures", model)(window, {})
    windows = Windows(window, shrink)
    naive = reference.train(naive_architecture, ref, lines, keep, windows, slow_in, slow_out, lr, stream)
    assert examples == naive[1] > 0
    assert loss == pytest.approx(naive[0], rel=1e-4)
    for fast_w, slow_w, start in ((w_in[:SIZE, :DIM], slow_in, start_in), (w_out[:rows, :DIM], slow_out, start_out)):
        change = np.abs(slow_w - start).max()
        assert change > 1e-5
        np.testing.assert_allclose(fast_w - start, slow_w - start, atol=0.02 * change)
    assert not w_out[rows].any(), "the output sink must not change"
    assert not w_in[:, DIM:].any(), "the padding of the input rows must not change"
    assert not w_out[:, DIM:].any(), "the padding of the output rows must not change"
    if name == "nce" and options.get("learn_z"):
        log_z = ref.learned["log_z"]
        np.testing.assert_allclose(fast.log_z, log_z, atol=0.02 * np.abs(log_z).max())
        assert log_z.any()


@pytest.mark.parametrize("name", ["neg", pytest.param("hs", marks=pytest.mark.slow)])
def test_windows_of_more_words_than_are_learned_at_once_agree_with_the_naive_trainer(rng, name):
    """Each target has 130 context words, which are learned in seven parts."""
    words, together = rng.choice(SIZE, 131).tolist(), words_at_once(131)
    tokens, counts = np.array([*words, -1], np.int32), np.sort(np.bincount(words, minlength=SIZE) + 1)[::-1].copy()
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
    stream, naive = (
        reference.Stream.of_chunk(5, 2, 0),
        reference.implementation_of("architectures", "skipgram")(len(words), {}),
    )
    expected = reference.train(naive, ref, [words], keep, windows, slow_in, slow_out, lr, stream)
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
        make(5),
        objective,
        Windows(),
        tokens,
        bounds,
        one,
        np.array([1e-6]),
        Matrices(w_in, w_out),
        DIM,
        keep,
        0.0,
        1,
        0,
        scratch,
    )
    references = (
        reference.implementation_of("architectures", model)(5, {}),
        reference.implementation_of("objectives", "neg")(objective),
    )
    stream = reference.Stream.of_chunk(1, 0, 0)
    reference.train(*references, lines, keep, Windows(), slow_in, slow_out, 1e-6, stream)
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
