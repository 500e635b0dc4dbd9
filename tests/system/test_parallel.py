"""Tests of `parallel`: reports, errors, and the end. No test waits longer than it must."""

import itertools
import os
import signal
import threading
import time

import pytest

from w2vtrain.system import parallel as module
from w2vtrain.system.parallel import in_order, parallel


@pytest.mark.skipif(os.name == "nt", reason="os.kill ends a process there")
def test_a_signal_during_the_start_of_a_thread_is_handled_after_it(monkeypatch, capfd):
    """An exception inside Thread.start would delete the thread's entry, and the thread would end with a traceback."""
    name = "_start_joinable_thread" if hasattr(threading, "_start_joinable_thread") else "_start_new_thread"
    begin = getattr(threading, name)  # _start_joinable_thread since Python 3.13

    def interrupted(*arguments, **more):
        started = begin(*arguments, **more)
        os.kill(os.getpid(), signal.SIGINT)
        return started

    def stop(*_):
        raise RuntimeError("stopped")

    monkeypatch.setattr(threading, name, interrupted)
    before = signal.signal(signal.SIGINT, stop)
    try:
        with pytest.raises(RuntimeError, match="stopped"), parallel(counting, 1, "worker") as reports:
            list(reports)
    finally:
        signal.signal(signal.SIGINT, before)
    monkeypatch.undo()
    for thread in threading.enumerate():
        if thread.name.startswith("worker"):
            thread.join(300)
            assert not thread.is_alive()
    assert not capfd.readouterr().err


def counting(number, ended):
    """Report three numbers."""
    yield from range(3 * number, 3 * number + 3)


def reports_of(work, threads, **about):
    with parallel(work, threads, "worker", **about) as reports:
        return [report for report in reports if report is not None]


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Let threads take their time to end, because the machine may be busy."""
    monkeypatch.setattr(module, "GRACE_SECONDS", 300.0)


@pytest.fixture
def let():
    """Yield an event for a test's threads to wait for; it is set after the test, so that no thread outlives it."""
    event = threading.Event()
    yield event
    event.set()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_report_of_every_thread_reaches_the_caller_in_order(threads):
    found = reports_of(counting, threads)
    assert sorted(found) == list(range(3 * threads))
    for number in range(threads):
        mine = range(3 * number, 3 * number + 3)
        assert [report for report in found if report in mine] == list(mine), "the reports of each thread are in order"


def test_without_threads_the_caller_does_the_work():
    here = []

    def work(number, ended):
        here.append(threading.current_thread())
        yield from counting(number, ended)

    assert reports_of(work, 0) == reports_of(counting, 1)
    assert here == [threading.current_thread()]
    assert list(in_order(lambda i: (i, threading.current_thread()), 3, 0, "x")) == [(i, here[0]) for i in range(3)]


def test_the_first_error_of_a_thread_is_raised_once_and_ends_the_others(let):
    steps = itertools.count()

    def work(number, ended):
        if number == 1:
            let.wait()
            raise KeyError("first")
        while True:
            if next(steps) == 5:
                let.set()
            if ended.is_set():
                raise ValueError("because of the first")
            yield number

    before = threading.active_count()
    with pytest.raises(KeyError, match="first"):
        reports_of(work, 3)
    assert threading.active_count() == before


def test_a_thread_ends_after_its_step_even_if_it_never_checks_for_the_end():
    closed = []

    def work(number, ended):
        try:
            while True:
                yield number
        finally:
            closed.append(number)

    with parallel(work, 2, "worker") as reports:
        next(reports)
    assert sorted(closed) == [0, 1]


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_error_in_the_caller_ends_the_threads(error):
    def work(number, ended):
        while not ended.is_set():
            yield number

    def fail(report):
        raise error

    before = threading.active_count()
    with pytest.raises(error), parallel(work, 2, "worker") as reports:
        fail(next(reports))
    assert threading.active_count() == before


def test_a_blocked_thread_does_not_delay_the_error_of_another(let, monkeypatch):
    monkeypatch.setattr(module, "GRACE_SECONDS", 0.01)
    waited = []

    def work(number, ended):
        if number:
            raise RuntimeError("injected")
        let.wait()
        waited.append(True)
        yield None

    with pytest.raises(RuntimeError, match="injected"):
        reports_of(work, 2)
    assert not waited


def test_a_waiting_caller_gets_none_at_each_tick(let):
    """The caller can then update the display, or check whether it should stop."""

    def work(number, ended):
        let.wait()
        yield "done"

    found = []
    with parallel(work, 1, "worker", tick=0.01) as reports:
        for report in reports:
            found.append(report)
            if len(found) == 3:
                let.set()
    assert found[:3] == [None] * 3
    assert "done" in found


def test_a_caller_gets_ticks_between_frequent_reports():
    """Threads that report more often than once per tick do not suppress the ticks."""

    def work(number, ended):
        while not ended.is_set():
            time.sleep(0.002)
            yield number

    with parallel(work, 1, "worker", tick=0.02) as reports:
        found = list(itertools.takewhile(lambda report: report is not None, reports))
    assert found


def test_results_come_in_order_and_no_thread_is_far_ahead():
    begun, ahead = set(), []

    def work(index):
        begun.add(index)
        time.sleep(0.002 * (index % 3))
        return index

    for index in (results := in_order(work, 40, 3, "worker")):
        ahead.append(len(begun) - index)
        if index == 20:
            break
    results.close()
    assert len(ahead) == 21
    assert max(ahead) <= 2 * 3 + 1
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("worker")]


def test_an_error_in_one_place_is_raised_there():
    def work(index):
        if index == 5:
            raise KeyError(index)
        return index

    results = in_order(work, 9, 2, "worker")
    assert list(itertools.islice(results, 5)) == list(range(5))
    with pytest.raises(KeyError, match="5"):
        next(results)
