"""The training loop: learning, reproducibility, learning rates, divergence, errors and pauses."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from prepared import prepared
from reference import problem_of, topics

import w2vtrain
from w2vtrain.config import validated
from w2vtrain.engines import window_engine
from w2vtrain.engines.initial_weights import initial_input, initial_output
from w2vtrain.engines.window_engine import WindowEngine
from w2vtrain.errors import Diverged, NothingLearned
from w2vtrain.text.token_lists import Sentences
from w2vtrain.training import inputs
from w2vtrain.training.divergence import Losses
from w2vtrain.training.epoch import chunk_order
from w2vtrain.training.inputs import Inputs
from w2vtrain.training.plan import Plan
from w2vtrain.training.state import State
from w2vtrain.training.trainer import train, trained

SMALL = {"vector_size": 20, "alpha": 0.05, "sample": 0.0, "epochs": 3, "min_count": 1, "window": 5, "threads": 1}


@pytest.fixture(autouse=True)
def _short_chunks(monkeypatch):
    """Let a chunk have about 20 sentences of 12 words, so that the texts of these tests have many."""
    monkeypatch.setattr(inputs, "CHUNK_WORDS", 240)


def text_of(rng, sentences=1500):
    """Return sentences about one topic each, and the topic of each word."""
    tokens, _, topic = topics(rng, sentences)
    text = [[f"{word}" for word in line[:-1]] for line in np.split(tokens, np.flatnonzero(tokens < 0) + 1)[:-1]]
    return text, {f"{word}": number for word, number in enumerate(topic.tolist())}


def planned(text, **settings):
    return Plan.of(Inputs(Sentences(text)), validated({**SMALL, **settings}))


def followed(text, **settings):
    """Train, and return the model and all reports of progress."""
    seen = []
    events = w2vtrain.Events(training=seen.append)
    return w2vtrain.train(text, events=events, **{**SMALL, **settings}), seen


@pytest.mark.parametrize("objective", ["neg", "hs", "nce"])
@pytest.mark.parametrize("threads", [1, 2])
def test_training_learns_which_words_belong_together(rng, architecture, objective, threads):
    text, topic = text_of(rng)
    model = w2vtrain.train(
        text, objective=objective, architecture=architecture[0], **{**SMALL, "threads": threads, "alpha": 0.1}
    )
    unit = model.input / np.linalg.norm(model.input, axis=1, keepdims=True)
    similar = unit @ unit.T
    np.fill_diagonal(similar, -1)
    found = np.array([topic[word] for word in model.words])
    assert (found[similar.argmax(axis=1)] == found).mean() > 0.95
    epochs = model.record["epochs"]
    assert epochs[-1]["loss"] < epochs[0]["loss"]


@pytest.mark.parametrize("objective", ["neg", "hs", "nce", "softmax"])
def test_one_thread_and_a_seed_give_the_same_bytes(architecture, objective):
    text, _ = text_of(np.random.default_rng(1), 300)
    about = {**SMALL, "objective": objective, "architecture": architecture[0], "epochs": 2}
    first, second, other = (w2vtrain.train(text, seed=seed, **about) for seed in (4, 4, 5))
    assert first.input.tobytes() == second.input.tobytes()
    assert first.output.tobytes() == second.output.tobytes()
    assert first.input.tobytes() != other.input.tobytes()


def test_slice_size_does_not_change_the_weights(monkeypatch, architecture):
    results, (text, _) = [], text_of(np.random.default_rng(1))
    for size in (1, 7, 64):
        monkeypatch.setattr(WindowEngine, "MAX_CHUNKS_PER_CALL", size)
        results.append(followed(text, architecture=architecture[0], epochs=1)[0].input.tobytes())
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("threads", [1, 3])
def test_every_chunk_is_learned_once_per_epoch(rng, threads):
    """The number of examples does not depend on the number of threads, and words add up to the corpus."""
    text, _ = text_of(rng)
    model, seen = followed(text, sample=0.01, epochs=2, threads=threads)
    epochs = model.record["epochs"]
    assert seen[-1].words == seen[-1].total_words == 2 * sum(map(len, text))
    assert sum(p.examples for p in seen) == sum(epoch["examples"] for epoch in epochs)
    assert sum(p.loss for p in seen) == pytest.approx(sum(epoch["loss"] * epoch["examples"] for epoch in epochs))
    once, _ = followed(text, sample=0.01, epochs=2, threads=1)
    assert [epoch["examples"] for epoch in epochs] == [epoch["examples"] for epoch in once.record["epochs"]]


def test_reported_learning_rate_falls_linearly_to_min_alpha(rng):
    _, seen = followed(text_of(rng)[0], alpha=0.1, min_alpha=0.02, epochs=2)
    rates = [p.alpha for p in seen]
    assert rates == sorted(rates, reverse=True)
    assert 0.09 < rates[0] <= 0.1
    assert 0.02 <= rates[-1] < 0.022
    middle = next(p.alpha for p in seen if p.epoch == 2)
    assert middle == pytest.approx(0.06, abs=0.006)


@pytest.mark.parametrize("alpha", [1e3, 1e6])
@pytest.mark.parametrize("objective", ["neg", "hs", "nce"])
def test_divergence_stops_the_run_and_names_the_learning_rate(rng, architecture, objective, alpha):
    text, _ = text_of(rng)
    with pytest.raises(Diverged, match=r"diverged in epoch \d+ at learning rate") as caught:
        followed(text, architecture=architecture[0], objective=objective, alpha=alpha)
    assert caught.value.exit_code == 76


def test_weights_that_grow_without_becoming_infinite_are_divergence():
    text = [["the", "cat", "sat", "on", "the", "mat", f"word{i % 40}"] for i in range(400)]
    settings = {"objective": "char-softmax", "vector_size": 16, "min_count": 1, "threads": 1, "sample": 0, "epochs": 3}
    with pytest.raises(Diverged, match=r"at learning rate 30: a weight is \d"):
        w2vtrain.train(text, alpha=30, **settings)
    start = w2vtrain.train(text, **settings)
    assert max(start.input.max(), -start.input.min()) < 10
    with pytest.raises(Diverged, match=r"at learning rate 30: a weight is \d"):
        w2vtrain.continue_training(start, text, alpha=30)
    large = replace(start, input=1e6 * start.input)
    assert w2vtrain.continue_training(large, text, epochs=1, alpha=1e-9).input.max() > 1e3


def test_a_loss_of_zero_is_no_learning_however_short_the_text():
    losses = Losses()
    losses.note(0.0, 9)
    with pytest.raises(NothingLearned, match=r"was 0; change the options of objective lsh"):
        losses.check(State(passed=9, learned=9), validated({"objective": "lsh"}), "")


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
        followed(text_of(rng)[0], threads=3)
    assert threading.active_count() == before


def test_failing_callback_ends_the_run(rng):
    def stop(_):
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        w2vtrain.train(text_of(rng)[0], events=w2vtrain.Events(training=stop), **{**SMALL, "threads": 2})
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
def test_pauses_do_not_change_the_weights(architecture, name):
    """A run that pauses after every slice gives the same bytes. test_checkpointing.py resumes runs from such states."""

    class Probe:
        visits = 0

        def due(self):
            return True

        def visit(self, predictor):
            self.visits += 1

    text, _ = text_of(np.random.default_rng(3), 300)
    plan, probe = planned(text, objective=name, architecture=architecture[0], epochs=2), Probe()
    whole, paused = train(plan), trained(plan, probe=probe).model()
    assert probe.visits > 8
    assert np.array_equal(paused.input, whole.input)
    assert np.array_equal(paused.output, whole.output)
    for one, other in zip(paused.record["epochs"], whole.record["epochs"], strict=True):
        assert all(one[key] == other[key] for key in ("loss", "examples", "words"))


def test_chunk_order_is_a_permutation_that_depends_on_seed_and_epoch():
    orders = [chunk_order(s, e, 50) for s in range(3) for e in range(3)]
    assert all(sorted(o.tolist()) == list(range(50)) for o in orders)
    assert len({tuple(o.tolist()) for o in orders}) == 9
    assert chunk_order(1, 1, 50).tolist() == chunk_order(1, 1, 50).tolist()
    assert chunk_order(1, 1, 5, shuffle=False).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("threads", [1, 2])
def test_every_chunk_is_learned_at_the_rate_of_its_position_in_the_run(rng, threads):
    """Chunks of the second epoch come after all words of the first, whichever thread learns them."""
    plan, found, engines = planned(text_of(rng)[0], alpha=0.1, epochs=2, threads=threads), {}, []

    def watch(engine):
        learn = engine.train

        def watched(order, rates, epoch, thread):
            found.update({(epoch, chunk): rate for chunk, rate in zip(order.tolist(), rates.tolist(), strict=True)})
            return learn(order, rates, epoch, thread)

        engine.train = watched
        engines.append(engine)

    trained(plan, make=prepared(watch))
    [engine], expected, before = engines, {}, 0
    words, schedule = engine.text.words, engine.schedule
    assert len(words) > 50
    for epoch in range(2):
        for chunk in chunk_order(schedule.seed, epoch, len(words)).tolist():
            share = before / (2 * words.sum())
            expected[epoch, chunk] = schedule.alpha - (schedule.alpha - schedule.min_alpha) * share
            before += words[chunk]
    assert found == pytest.approx(expected, rel=1e-12)
