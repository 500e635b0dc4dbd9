"""The round trip of a cache line between two cores."""

import threading

import numpy as np

from w2vtrain.evaluation import coherence


def test_two_threads_answer_each_other_in_turns():
    cell, found = np.zeros(1, np.int64), []
    other = threading.Thread(target=lambda: found.append(coherence.bounce(cell, 1, 0, 50, coherence.SPINS)))
    other.start()
    assert coherence.bounce(cell, 0, 0, 50, coherence.SPINS)
    other.join()
    assert found == [True]
    assert cell[0] == 100


def test_a_thread_gives_up_if_nobody_answers():
    cell = np.zeros(1, np.int64)
    assert not coherence.bounce(cell, 0, 0, 2, 1000)
    assert cell[0] == 1


def test_a_round_trip_is_a_time(monkeypatch):
    monkeypatch.setattr(coherence, "automatic_threads", lambda: (2, ""))
    assert 1e-9 < coherence.round_trip(turns=100, tries=1) < 1


def test_a_single_core_has_no_round_trip(monkeypatch):
    monkeypatch.setattr(coherence, "automatic_threads", lambda: (1, ""))
    assert coherence.round_trip() is None
