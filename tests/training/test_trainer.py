"""The training loop: learning, reproducibility, learning rates, divergence, errors, pauses and resuming."""

import itertools
import threading

import numpy as np
import pytest
from reference import chunks, problem_of, topics, trained

import w2vtrain
from w2vtrain.architectures.skipgram import SkipGram
from w2vtrain.engines import window_engine
from w2vtrain.engines.contract import Chunks, Schedule
from w2vtrain.engines.weights import initial_input, initial_output
from w2vtrain.engines.window_engine import WindowEngine
from w2vtrain.engines.window_kernel import Windows
from w2vtrain.errors import Diverged
from w2vtrain.objectives import objective_class
from w2vtrain.training.state import State
from w2vtrain.training.trainer import Course, chunk_order, make_engine

SKIPGRAM = SkipGram(5)


def train(architecture, objective, text, dim, schedule, on_progress=lambda _: None):
    """Return the weights and epochs of one run."""
    problem = problem_of(text.counts, dim=dim, seed=schedule.seed)
    engine = make_engine(architecture, objective, problem, text, Windows(), schedule)
    epochs = trained(engine, text, schedule, on_progress)
    return engine.weights(), epochs


def run(rng, architecture, objective="neg", dim=20, **settings):
    tokens, counts, topic = topics(rng)
    starts, words = chunks(tokens, 20)
    schedule = Schedule(**{"alpha": 0.05, "sample": 0.0, "epochs": 3, **settings})
    built = objective_class(objective).build(problem_of(counts, dim=dim))
    weights, epochs = train(architecture, built, Chunks(tokens, starts, words, counts), dim, schedule)
    return weights, epochs, topic


@pytest.mark.parametrize("objective", ["neg", "hs", "nce"])
@pytest.mark.parametrize("threads", [1, 2])
def test_training_learns_which_words_belong_together(rng, architecture, objective, threads):
    weights, epochs, topic = run(rng, architecture[1](5), objective, threads=threads, alpha=0.1)
    unit = weights.input / np.linalg.norm(weights.input, axis=1, keepdims=True)
    similar = unit @ unit.T
    np.fill_diagonal(similar, -1)
    assert (topic[similar.argmax(axis=1)] == topic).mean() > 0.95
    assert epochs[-1].loss < epochs[0].loss
    assert all(epoch.examples == epochs[0].examples > 0 for epoch in epochs) or architecture[0] == "skipgram"


@pytest.mark.parametrize("objective", ["neg", "hs", "nce", "softmax"])
def test_one_thread_and_a_seed_give_the_same_bytes(architecture, objective):
    first, second, other = (
        run(np.random.default_rng(1), architecture[1](3), objective, epochs=2, seed=seed)[0] for seed in (4, 4, 5)
    )
    assert first.input.tobytes() == second.input.tobytes()
    assert first.output.tobytes() == second.output.tobytes()
    assert first.input.tobytes() != other.input.tobytes()


def test_slice_size_does_not_change_the_weights(monkeypatch, architecture):
    results = []
    for size in (1, 7, 64):
        monkeypatch.setattr(WindowEngine, "MAX_CHUNKS_PER_CALL", size)
        results.append(run(np.random.default_rng(1), architecture[1](3), epochs=1)[0].input.tobytes())
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("threads", [1, 3])
def test_every_chunk_is_learned_once_per_epoch(rng, threads):
    """The number of examples does not depend on the number of threads, and words add up to the corpus."""
    tokens, counts, _ = topics(rng)
    starts, words = chunks(tokens, 20)
    seen = []
    schedule = Schedule(alpha=0.01, sample=0.01, epochs=2, threads=threads)
    built = objective_class("neg").build(problem_of(counts))
    _, epochs = train(SKIPGRAM, built, Chunks(tokens, starts, words, counts), 8, schedule, on_progress=seen.append)
    assert seen[-1].words == seen[-1].total_words == 2 * words.sum()
    assert sum(p.examples for p in seen) == sum(e.examples for e in epochs)
    assert sum(p.loss for p in seen) == pytest.approx(sum(e.loss * e.examples for e in epochs))
    once = Schedule(alpha=0.01, sample=0.01, epochs=2, threads=1)
    _, expected = train(SKIPGRAM, built, Chunks(tokens, starts, words, counts), 8, once)
    assert [e.examples for e in epochs] == [e.examples for e in expected]


def test_reported_learning_rate_falls_linearly_to_min_alpha(rng):
    tokens, counts, _ = topics(rng)
    starts, words = chunks(tokens, 20)
    seen = []
    schedule = Schedule(alpha=0.1, min_alpha=0.02, epochs=2)
    train(
        SKIPGRAM, objective_class("neg").build(problem_of(counts)), Chunks(tokens, starts, words, counts), 8, schedule,
        on_progress=seen.append,
    )  # fmt: skip
    rates = [p.alpha for p in seen]
    assert rates == sorted(rates, reverse=True)
    assert 0.09 < rates[0] <= 0.1
    assert 0.02 <= rates[-1] < 0.022
    middle = next(p.alpha for p in seen if p.epoch == 2)
    assert middle == pytest.approx(0.06, abs=0.006)


@pytest.mark.parametrize("alpha", [1e3, 1e30, 3e38])
@pytest.mark.parametrize("objective", ["neg", "hs", "nce"])
def test_divergence_stops_the_run_and_names_the_learning_rate(rng, architecture, objective, alpha):
    with pytest.raises(Diverged, match=r"diverged in epoch \d+ at learning rate") as caught:
        run(rng, architecture[1](5), objective, alpha=alpha)
    assert caught.value.exit_code == 76


def test_weights_that_grow_without_becoming_infinite_are_divergence():
    text = [["the", "cat", "sat", "on", "the", "mat", f"word{i % 40}"] for i in range(400)]
    settings = {"objective": "char-softmax", "vector_size": 16, "min_count": 1, "threads": 1, "sample": 0, "epochs": 3}
    with pytest.raises(Diverged, match=r"at learning rate 30: a weight is \d"):
        w2vtrain.train(text, alpha=30, **settings)
    start = w2vtrain.train(text, **settings)
    assert max(start.input.max(), -start.input.min()) < 10


def test_failing_worker_ends_the_run_at_once(rng, monkeypatch):
    calls = []

    def broken(*args):
        calls.append(threading.current_thread())
        if len(calls) > 5:
            raise RuntimeError("worker broke")
        return 0.0, 1

    monkeypatch.setattr(window_engine, "train_chunks", broken)
    before = threading.active_count()
    with pytest.raises(RuntimeError, match="worker broke"):
        run(rng, SKIPGRAM, threads=3)
    assert threading.active_count() == before


def test_failing_callback_ends_the_run(rng):
    tokens, counts, _ = topics(rng)
    starts, words = chunks(tokens, 20)

    def stop(_):
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        train(
            SKIPGRAM, objective_class("neg").build(problem_of(counts)), Chunks(tokens, starts, words, counts), 8,
            Schedule(threads=2), on_progress=stop,
        )  # fmt: skip
    assert threading.active_count() == before


def test_initial_weights_are_those_of_word2vec():
    problem = problem_of(np.ones(5000, int), dim=30, seed=9)
    w_in, w_out = initial_input(problem, len(problem.counts)), initial_output(problem, 4999, 2)
    assert w_in.shape == (5000, 32)
    assert w_out.shape == (5001, 32)
    used = w_in[:, :30]
    assert np.abs(used).max() <= 0.5 / 30
    assert used.std() == pytest.approx(1 / 30 / np.sqrt(12), rel=0.02)
    assert not w_in[:, 30:].any()
    assert not w_out.any()
    assert initial_input(problem, len(problem.counts)).tobytes() == w_in.tobytes()


@pytest.mark.parametrize("name", ["neg", "hs", "softmax", "sampled-softmax"])
def test_pauses_and_resuming_do_not_change_the_weights(architecture, name):
    """A run that pauses after every slice and one resumed from a pause give the same bytes as a run without pauses."""
    tokens, counts, _ = topics(np.random.default_rng(3), sentences=300)
    starts, words = chunks(tokens, 20)
    text, schedule = Chunks(tokens, starts, words, counts), Schedule(alpha=0.02, sample=0.0, epochs=2, threads=1)

    def run(pause, stop_at=None, resume_from=None):
        problem = problem_of(counts, dim=8, tokens=tokens, starts=starts)
        objective = objective_class(name).build(problem)
        engine, states = make_engine(architecture[1](3), objective, problem, text, Windows(), schedule), []
        start = None
        if resume_from:
            start, arrays = resume_from
            for mine, old in zip(learned(engine), arrays, strict=True):
                mine[:] = old
        engine.compile()
        for state in itertools.islice(Course(engine, text, start).run(pause=pause), stop_at):
            states.append(state)
        return states, [array.copy() for array in learned(engine)], [s.last for s in states if not s.chunks]

    def learned(engine):
        weights = engine.weights()
        return [weights.input, weights.output]

    never, whole, expected = run(lambda: False)
    assert [state.epoch for state in never] == [1, 2]
    states, paused, epochs = run(lambda: True)
    assert len(states) > 8
    assert [(e.loss, e.examples, e.words) for e in epochs] == [(e.loss, e.examples, e.words) for e in expected]
    stopped, half, _ = run(lambda: True, stop_at=5)
    _, resumed, again = run(lambda: False, resume_from=(stopped[-1], half))
    assert [e.examples for e in again] == [e.examples for e in expected][-len(again) :]
    for found in (paused, resumed):
        for mine, theirs in zip(found, whole, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_training_ends_when_the_caller_requests_no_more_states(rng):
    """Training is a generator: after each epoch, the caller decides whether to request another state."""
    tokens, counts, _ = topics(rng, sentences=100)
    text, schedule, seen = Chunks(tokens, *chunks(tokens, 20), counts), Schedule(epochs=5), []
    problem = problem_of(counts, dim=8)
    engine = make_engine(SKIPGRAM, objective_class("neg").build(problem), problem, text, Windows(), schedule)
    states = Course(engine, text).run(seen.append)
    assert not seen, "nothing happens before the first state is requested"
    assert [next(states).epoch, next(states).epoch] == [1, 2]
    states.close()
    assert {at.epoch for at in seen} == {1, 2}
    ended = State(epoch=5)
    assert list(Course(engine, text, ended).run()) == []


def test_schedule_rate_is_linear_from_alpha_to_min_alpha():
    schedule = Schedule(alpha=0.1, min_alpha=0.02)
    rates = schedule.rate(np.array([0.0, 0.25, 0.5, 1.0]))
    np.testing.assert_allclose(rates, [0.1, 0.08, 0.06, 0.02], rtol=1e-15)
    assert rates.dtype == np.float64


def test_chunk_order_is_a_permutation_that_depends_on_seed_and_epoch():
    orders = [chunk_order(s, e, 50) for s in range(3) for e in range(3)]
    assert all(sorted(o.tolist()) == list(range(50)) for o in orders)
    assert len({tuple(o.tolist()) for o in orders}) == 9
    assert chunk_order(1, 1, 50).tolist() == chunk_order(1, 1, 50).tolist()
    assert chunk_order(1, 1, 5, shuffle=False).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("threads", [1, 2])
def test_every_chunk_is_learned_at_the_rate_of_its_position_in_the_run(rng, threads):
    """Chunks of the second epoch come after all words of the first, whichever thread learns them."""
    tokens, counts, _ = topics(rng, sentences=100)
    text, schedule = Chunks(tokens, *chunks(tokens, 2), counts), Schedule(alpha=0.1, epochs=2, threads=threads)
    found = {}

    class Recorder:
        chunks_per_call = 3

        def __init__(self):
            self.schedule = schedule

        def train(self, order, rates, epoch, thread):
            found.update({(epoch, chunk): rate for chunk, rate in zip(order.tolist(), rates.tolist(), strict=True)})
            return 0.0, 1

    for _ in Course(Recorder(), text).run():
        pass
    total, before, expected = 2 * text.words.sum(), 0, {}
    for epoch in range(2):
        for chunk in chunk_order(schedule.seed, epoch, len(text.words)).tolist():
            expected[epoch, chunk] = schedule.alpha - (schedule.alpha - schedule.min_alpha) * before / total
            before += text.words[chunk]
    assert found == pytest.approx(expected, rel=1e-12)
