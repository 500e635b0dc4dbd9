"""The round trip of a cache line between two cores."""

import threading

import coherence
import numpy as np
import pytest

PATIENT = 10**11
"""Looks, about half a minute: enough for a busy machine, where two threads may take turns on one core."""


def test_two_threads_answer_each_other_in_turns():
    cell, found = np.zeros(1, np.int64), []
    other = threading.Thread(target=lambda: found.append(coherence.bounce(cell, 1, 0, 10, PATIENT)))
    other.start()
    assert coherence.bounce(cell, 0, 0, 10, PATIENT)
    other.join()
    assert found == [True]
    assert cell[0] == 20


def test_a_thread_gives_up_if_nobody_answers():
    cell = np.zeros(1, np.int64)
    assert not coherence.bounce(cell, 0, 0, 2, 1000)
    assert cell[0] == 1, "its own first turn waits for nobody"


def test_a_round_trip_is_a_time(monkeypatch):
    monkeypatch.setattr(coherence, "MAX_SPINS", PATIENT)
    assert 1e-9 < coherence.round_trip(turns=10, tries=1) < 1


def test_a_round_trip_without_answers_is_unknown(monkeypatch):
    monkeypatch.setattr(coherence, "MAX_SPINS", 0)
    before = threading.active_count()
    assert coherence.round_trip() is None
    assert threading.active_count() == before


def test_the_other_thread_ends_after_an_error(monkeypatch):
    def fails(cell, player, *turns):
        return 1 / player if turns[1] > 0 else True  # player 0 fails, but not in the call that compiles

    monkeypatch.setattr(coherence, "bounce", fails)
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        coherence.round_trip()
    assert threading.active_count() == before
