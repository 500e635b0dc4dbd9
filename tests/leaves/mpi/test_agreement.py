"""Agreement: an error on one rank is raised on all, whatever the others are doing, and reports reach all ranks."""

import threading
import time

import pytest
from simulated import Simulated, run_ranks

from w2vtrain.errors import DataError, Disconnected, InputMissing, MissingKey, Stopped, W2VError, WriteError
from w2vtrain.leaves.mpi import agreement
from w2vtrain.leaves.mpi.agreement import together
from w2vtrain.leaves.mpi.communicator import broadcast_bytes


class OtherError(DataError):
    """An error of a class that errors.py does not have."""


def caught(count, work):
    """Return the error that each rank raises."""

    def follow(comm):
        with pytest.raises(W2VError) as error:
            work(comm)
        return error.value

    return run_ranks(count, follow)


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (DataError("x: 'é' is wrong\n"), DataError, "x: 'é' is wrong\n"),
        (InputMissing("gone"), InputMissing, "rank 1: gone"),
        (WriteError("full"), WriteError, "rank 1: full"),
        (MissingKey("no word", lambda: "; did you mean word?"), MissingKey, "no word; did you mean word?"),
        (OtherError("odd"), DataError, "odd"),
        (Stopped("signal"), Stopped, "signal"),
    ],
)
def test_all_ranks_raise_the_error_of_one(error, kind, message):
    def work(comm):
        with together(comm):
            if comm.rank == 1:
                raise error

    found = caught(3, work)
    assert [(type(each), str(each)) for each in found] == [(kind, message)] * 3
    assert found[1].__cause__ is error
    assert found[0].__cause__ is None


def test_the_error_of_the_first_rank_is_raised():
    def work(comm):
        with together(comm):
            if comm.rank:
                raise DataError(f"from rank {comm.rank}")

    assert {str(error) for error in caught(3, work)} == {"from rank 1"}


def test_an_error_interrupts_ranks_that_are_still_working(monkeypatch):
    monkeypatch.setattr(agreement, "REPORT_SECONDS", 0.0)

    def work(comm):
        with together(comm) as gathering:
            if comm.rank == 2:
                raise DataError("broken")
            while True:
                gathering.report()

    assert {str(error) for error in caught(3, work)} == {"broken"}


def test_an_error_that_left_the_block_can_be_raised_in_another_one():
    def work(comm):
        with together(comm), together(comm):
            if comm.rank:
                raise DataError("inner")

    assert {str(error) for error in caught(2, work)} == {"inner"}


def test_reports_reach_all_ranks_until_all_have_finished(monkeypatch):
    monkeypatch.setattr(agreement, "REPORT_SECONDS", 0.0)

    def work(comm):
        heard = []
        with together(comm, heard.append) as gathering:
            for step in range(1 + comm.rank):
                gathering.report([comm.rank, step])
                gathering.report()
        return heard

    heard = [[[0, 0], [1, 0]], [[0, 0], [1, 0]], [[0, 0], [1, 1]], [[0, 0], [1, 1]]]
    assert run_ranks(2, work) == [heard, heard]


def test_reports_are_exchanged_only_once_per_interval():
    def work(comm):
        heard = []
        with together(comm, heard.append) as gathering:
            for step in range(100):
                gathering.report(step)
        return heard

    assert run_ranks(2, work) == [[], []]


def test_an_error_in_the_callback_of_one_rank_is_raised_on_all(monkeypatch):
    monkeypatch.setattr(agreement, "REPORT_SECONDS", 0.0)

    def work(comm):
        def heard(_):
            if comm.rank == 1:
                raise Stopped("a signal")

        with together(comm, heard) as gathering:
            gathering.report(1)

    assert {type(error) for error in caught(3, work)} == {Stopped}


def test_a_rank_that_is_gone_is_not_told():
    class Gone(Simulated):
        def allgather(self, data):
            raise AssertionError("called")

    def work():
        with together(Gone(0, threading.Barrier(1), [None], 1.0)):
            raise Disconnected("rank 1 has ended")

    with pytest.raises(Disconnected, match="rank 1 has ended"):
        work()


def test_other_exceptions_end_the_rank_and_release_the_others():
    def work(comm):
        with together(comm):
            if comm.rank == 0:
                raise ZeroDivisionError
            time.sleep(0)

    with pytest.raises(ZeroDivisionError):
        run_ranks(3, work)


def test_broadcast_bytes_returns_the_data_of_rank_0():
    assert run_ranks(3, lambda comm: broadcast_bytes(comm, bytes([comm.rank]) * 3)) == [b"\0\0\0"] * 3
