"""Replicas of hot rows: what each thread learns, and how synchronization merges it."""

import numpy as np
import pytest
from reference import chunks, problem_of, schedule_of, topics, trained

from w2vtrain.architectures.cbow import Cbow
from w2vtrain.architectures.skipgram import SkipGram
from w2vtrain.architectures.vlbl import Vlbl
from w2vtrain.engines.chunks import Chunks
from w2vtrain.engines.window_kernel import Windows
from w2vtrain.kernels import rows as hot_rows
from w2vtrain.kernels.jit import kernel
from w2vtrain.kernels.rows import HOTTEST_ROWS, ROW, padded_rows
from w2vtrain.objectives import objective_class
from w2vtrain.training.engine_parts import make_engine

DIM, WINDOW = 16, 3


@pytest.mark.parametrize("hot", [range(5, 7), range(6, 4, -1)])
@pytest.mark.parametrize("hottest", [2, 1, 0])
def test_synchronize_adds_the_changes_of_each_thread_or_a_share_of_them(rng, monkeypatch, hot, hottest):
    monkeypatch.setattr(hot_rows, "HOTTEST_ROWS", hottest)
    matrix = padded_rows(12, DIM)
    matrix[:] = rng.normal(size=matrix.shape)
    found = [hot_rows.replicate(matrix, 8, hot, thread, 2) for thread in (0, 1)]
    start, learned = matrix[5:7].copy(), rng.normal(size=(2, 2, DIM)).astype(np.float32)
    shares = np.array([[0.5 if row in hot[:hottest] else 1] for row in (5, 6)])

    @kernel()
    def load_replicas(parts):
        hot_rows.load_replicas(parts)

    @kernel()
    def synchronize(parts):
        hot_rows.synchronize(parts)

    rows, own = np.arange(8 + ROW, dtype=np.int32), np.zeros(8 + ROW, np.int32)
    for thread, (hot_range, part) in enumerate(found):
        load_replicas((part,))
        hot_rows.replicas_of(hot_range, rows, 8, own)
        assert own[:8].tolist() == [0, 1, 2, 3, 4, 8 + 2 * thread, 9 + 2 * thread, 7]
        assert [hot_rows.replica_of(hot_range, row) for row in range(8)] == own[:8].tolist()
        part.own[:] += learned[thread]
        np.testing.assert_array_equal(part.shared, start)
    for _, part in found:
        synchronize((part,))
    merged = start + shares * learned.sum(axis=0)
    np.testing.assert_allclose(matrix[5:7], merged, atol=1e-6)
    np.testing.assert_array_equal(found[1][1].own, matrix[5:7])
    synchronize((found[0][1],))
    np.testing.assert_allclose(matrix[5:7], merged, atol=1e-6, err_msg="a change was added twice")
    np.testing.assert_array_equal(matrix[8:10], matrix[5:7])


def engine_of(model, threads, name="hs"):
    """Return an engine for a text with 200 distinct words; all tree nodes are hot, 64 of them hottest."""
    rng = np.random.default_rng(3)
    counts = np.sort(rng.integers(5, 900, 200))[::-1]
    tokens = np.append(rng.choice(200, 4000, p=counts / counts.sum()), -1).astype(np.int32)
    tokens[::20] = -1
    starts, words = chunks(tokens, 5)
    weights = padded_rows(2 * WINDOW, DIM)
    weights[:] = 1
    architecture = {"skipgram": SkipGram(WINDOW), "cbow": Cbow(WINDOW), "vlbl": Vlbl(WINDOW, weights)}
    problem, schedule = problem_of(counts, dim=DIM), schedule_of(threads=threads, alpha=0.05, sample=0.0)
    objective = objective_class(name).build(problem)
    text = Chunks(tokens, starts, words, counts)
    return make_engine(architecture[model], objective, problem, text, Windows(WINDOW), schedule)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        *[("skipgram", "hs"), ("skipgram", "neg"), ("cbow", "neg"), ("vlbl", "hs")],
        *(pytest.param(*pair, marks=pytest.mark.slow) for pair in [("cbow", "hs"), ("skipgram", "nce")]),
    ],
)
def test_either_of_two_threads_learns_the_same_as_a_single_thread(model, name):
    """Rows agree to 1e-6, but the hottest change half as much, whichever thread learns."""
    order, rates = np.array([2]), np.array([0.04])
    one, two, second = (engine_of(model, threads, name) for threads in (1, 2, 2))
    start = {what: array.copy() for what, array in one.state().items()}
    expected = one.train(order, rates, 0, 0)
    assert two.train(order, rates, 0, 0) == expected
    assert second.train(order, rates, 0, 1) == expected
    alone, shared = one.state(), two.state()
    for what, array in second.state().items():
        np.testing.assert_array_equal(array, shared[what])
    hot = slice(199 - HOTTEST_ROWS, 199) if name == "hs" else slice(HOTTEST_ROWS)
    halves = {"input": slice(HOTTEST_ROWS), "output": hot, "context_weights": slice(None)}
    for what in alone:
        change = alone[what] - start[what]
        assert np.abs(change[halves[what]]).max() > 0
        change[halves[what]] /= 2
        np.testing.assert_allclose(shared[what], start[what] + change, atol=1e-6)


def test_hs_learns_on_several_threads():
    """The loss falls with four threads as it does with one."""
    losses = []
    for threads in (1, 4):
        rng = np.random.default_rng(3)
        tokens, counts, _ = topics(rng, sentences=300)
        starts, words = chunks(tokens, 8)
        problem, text = problem_of(counts, dim=DIM), Chunks(tokens, starts, words, counts)
        schedule = schedule_of(threads=threads, alpha=0.05, sample=0.0, epochs=8)
        objective = objective_class("hs").build(problem)
        engine = make_engine(SkipGram(WINDOW), objective, problem, text, Windows(WINDOW), schedule)
        losses.append([loss for loss, _ in trained(engine, text, schedule)])
    assert losses[1][-1] < 0.8 * losses[1][0]
    assert losses[1][-1] == pytest.approx(losses[0][-1], rel=0.15)


@pytest.mark.parametrize(("threads", "share"), [(2, 1), (32, 1), (64, 0.5), (128, 0.25)])
def test_more_than_32_threads_take_a_fraction_of_all_changes(threads, share):
    """They synchronize after every chunk, so that the sum of all changes would overshoot, as with fewer threads."""
    _, replicas = hot_rows.replicate(padded_rows(100 + threads * 80, DIM), 100, range(80), 0, threads)
    assert replicas.share[:HOTTEST_ROWS].tolist() == [np.float32(1 / threads)] * HOTTEST_ROWS
    assert replicas.share[HOTTEST_ROWS:].tolist() == [share] * (80 - HOTTEST_ROWS)
