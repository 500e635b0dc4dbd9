"""Training within a limit of CPU seconds, with made-up costs."""

import threading

import numpy as np
import pytest

from w2vtrain.engines.contract import Chunks, Schedule
from w2vtrain.evaluation.cpu_clock import CpuClock
from w2vtrain.training import trainer


class Costly:
    """An engine whose chunks take made-up CPU seconds, and no time."""

    def __init__(self, cost, monkeypatch, slice=1):
        self.chunks_per_call, self.cost, self.rates = slice, cost, []
        self.spent, self.total = threading.local(), []
        monkeypatch.setattr(trainer.time, "thread_time", lambda: getattr(self.spent, "seconds", 0.0))

    def train(self, order, rates, epoch, thread):
        cost = sum(self.cost(chunk) for chunk in order.tolist())
        self.spent.seconds = getattr(self.spent, "seconds", 0.0) + cost
        self.total.append(cost)
        self.rates.append(float(rates[-1]))
        return 1.0, len(order)


def text(chunks):
    words = np.full(chunks, 1000)
    return Chunks(np.zeros(0, np.int32), np.arange(chunks + 1), words, np.ones(2, np.int64))


def run(engine, seconds, chunks=2000, **settings):
    """Train to the end and return the clock and the last state."""
    engine.schedule = Schedule(seconds=seconds, alpha=0.1, min_alpha=0.0, **{"epochs": 1000, **settings})
    clock = CpuClock(seconds)
    *_, state = trainer.Course(engine, text(chunks), clock=clock).run()
    return clock, state


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("cost", [0.01, 0.3, 1.9])
def test_training_stops_within_a_tenth_of_its_cpu_seconds(cost, threads, monkeypatch):
    engine = Costly(lambda chunk: cost * (0.9 + 0.2 * (chunk % 2)) / threads, monkeypatch)
    clock, state = run(engine, 10.0, threads=threads)
    assert clock.cpu == pytest.approx(sum(engine.total))
    assert 9.0 <= clock.cpu <= 11.0
    assert state.cpu == pytest.approx(clock.cpu)
    assert state.passed == 1000 * len(engine.total)


def test_the_learning_rate_follows_the_cpu_seconds(monkeypatch):
    engine = Costly(lambda chunk: 0.1, monkeypatch)
    run(engine, 10.0)
    assert engine.rates == pytest.approx(np.linspace(0.1, 0.0, 101)[:-1])


def test_a_run_may_go_on_for_several_epochs_and_pauses(monkeypatch):
    engine = Costly(lambda chunk: 0.1, monkeypatch)
    engine.schedule, clock = Schedule(seconds=10.0, epochs=1000), CpuClock(10.0)
    pause = lambda: len(engine.total) % 7 == 0  # noqa: E731
    states = list(trainer.Course(engine, text(30), clock=clock).run(pause=pause))
    assert 9.0 <= clock.cpu <= 11.0
    assert [state.epoch for state in states if not state.chunks] == [1, 2, 3, 4]
    assert any(state.chunks for state in states)


def test_without_a_limit_all_epochs_are_trained_and_counted(monkeypatch):
    engine = Costly(lambda chunk: 0.5, monkeypatch)
    clock, state = run(engine, None, chunks=40, epochs=2)
    assert (state.epoch, clock.cpu) == (2, pytest.approx(40.0))
