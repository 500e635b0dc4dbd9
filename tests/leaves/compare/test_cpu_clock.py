"""Training within a limit of CPU seconds, with made-up costs."""

import threading

import numpy as np
import pytest
from prepared import prepared

from w2vtrain.config import validated
from w2vtrain.leaves.compare.cpu_clock import CpuClock
from w2vtrain.text.token_lists import Sentences
from w2vtrain.training import inputs, trainer
from w2vtrain.training.inputs import Inputs
from w2vtrain.training.plan import Plan

WORDS = 10
"""Words of a chunk."""


class Costly:
    """Trains with an engine whose chunks take made-up CPU seconds, and no time."""

    def __init__(self, cost, monkeypatch):
        self.cost, self.rates, self.spent, self.total = cost, [], threading.local(), []
        monkeypatch.setattr(trainer.time, "thread_time", lambda: getattr(self.spent, "seconds", 0.0))
        monkeypatch.setattr(inputs, "CHUNK_WORDS", WORDS)

    def prepare(self, engine):
        engine.chunks_per_call, engine.train = 1, self.train

    def train(self, order, rates, epoch, thread):
        cost = sum(self.cost(chunk) for chunk in order.tolist())
        if len(order):  # compiling trains on none
            self.spent.seconds = getattr(self.spent, "seconds", 0.0) + cost
            self.total.append(cost)
            self.rates.append(float(rates[-1]))
        return 1.0 + len(self.total), len(order)

    def run(self, seconds, chunks=2000, probe=None, **settings):
        """Train to the end and return the clock and the record."""
        text = Sentences([[f"word{number % 7}" for number in range(WORDS)]] * chunks)
        about = {"alpha": 0.1, "min_alpha": 0.0, "epochs": 1000, "threads": 1, "sample": 0, "min_count": 1}
        plan = Plan.of(Inputs(text), validated({**about, "vector_size": 8, "seconds": seconds, **settings}))
        clock = CpuClock(seconds)
        return clock, trainer.trained(plan, clock=clock, probe=probe, make=prepared(self.prepare)).model().record


def words_of(record):
    return sum(epoch["words"] for epoch in record["epochs"])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("cost", [0.01, 0.3, 1.9])
def test_training_stops_within_a_tenth_of_its_cpu_seconds(cost, threads, monkeypatch):
    costly = Costly(lambda chunk: cost * (0.9 + 0.2 * (chunk % 2)) / threads, monkeypatch)
    clock, record = costly.run(10.0, threads=threads)
    assert clock.cpu == pytest.approx(sum(costly.total))
    assert 9.0 <= clock.cpu <= 11.0
    assert record["words_per_cpu_second"] == pytest.approx(words_of(record) / clock.cpu)
    assert words_of(record) == WORDS * len(costly.total)


def test_the_learning_rate_follows_the_cpu_seconds(monkeypatch):
    costly = Costly(lambda chunk: 0.1, monkeypatch)
    costly.run(10.0)
    assert costly.rates == pytest.approx(np.linspace(0.1, 0.0, 101)[:-1])


def test_a_run_may_go_on_for_several_epochs_and_pauses(monkeypatch):
    costly = Costly(lambda chunk: 0.1, monkeypatch)

    class Probe:
        visits = 0

        def due(self):
            return len(costly.total) % 7 == 0

        def visit(self, predictor):
            self.visits += 1

    probe = Probe()
    clock, record = costly.run(10.0, chunks=30, probe=probe)
    assert 9.0 <= clock.cpu <= 11.0
    assert [epoch["epoch"] for epoch in record["epochs"]] == [1, 2, 3, 4]
    assert probe.visits > 4


def test_without_a_limit_all_epochs_are_trained_and_counted(monkeypatch):
    costly = Costly(lambda chunk: 0.5, monkeypatch)
    clock, record = costly.run(None, chunks=40, epochs=2)
    assert (len(record["epochs"]), clock.cpu) == (2, pytest.approx(40.0))
