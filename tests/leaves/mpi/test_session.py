"""The meetings of the ranks: sums, wishes to stop, errors, and the end."""

import itertools
import threading

import pytest
from simulated import Simulated, run_ranks

from w2vtrain.errors import ConfigError, DataError, Disconnected
from w2vtrain.leaves.mpi.agreement import Standby
from w2vtrain.leaves.mpi.session import Left, MeetingStage, RankReport, Session


def test_all_ranks_get_the_sums_of_all_reports_and_the_seconds_of_each():
    def work(comm):
        found, seconds = Session(comm).meet(
            RankReport(loss=comm.rank, stop=comm.rank == 2), (comm.rank, 10 * comm.rank)
        )
        return found.loss, found.stop, seconds.tolist()

    assert run_ranks(3, work) == [(3.0, 1.0, [[0, 1, 2], [0, 10, 20]])] * 3


def test_rank_that_leaves_tells_the_others_its_error():
    def work(comm):
        session = Session(comm)
        session.meet(RankReport())
        if comm.rank == 1:
            return session.leave("the disk is full", 74), session.stage
        with pytest.raises(Left) as error:
            session.wait()
        return str(error.value), error.value.exit_code, session.stage

    told = ("rank 1: the disk is full", 74, MeetingStage.ENDED)
    assert run_ranks(3, work) == [told, (True, MeetingStage.ENDED), told]


def test_error_of_rank_0_does_not_name_it():
    def work(comm):
        session = Session(comm)
        session.meet(RankReport())
        if comm.rank == 0:
            session.leave("stopped", 75)
            return ""
        with pytest.raises(Left) as error:
            session.meet(RankReport())
        return str(error.value)

    assert run_ranks(2, work) == ["", "stopped"]


def test_ranks_that_all_leave_raise_nothing():
    def work(comm):
        session = Session(comm)
        session.meet(RankReport())
        return session.leave(f"from {comm.rank}", 76)

    assert run_ranks(2, work) == [True, True]


def test_rank_cannot_leave_while_the_others_exchange_other_data():
    def work(comm):
        session = Session(comm)
        session.meet(RankReport())
        session.stage = MeetingStage.EXCHANGING
        return session.leave("no", 70)

    assert run_ranks(2, work) == [False, False]


def test_rank_that_cannot_reach_the_others_leaves_without_an_error():
    def work(comm):
        session = Session(comm)
        session.meet(RankReport())
        comm._timeout = 0.1  # only now: on a busy machine, the ranks may need longer to meet
        return comm.rank == 0 and session.leave("the disk is full", 74)

    assert run_ranks(2, work) == [False, False]


def test_ranks_wait_while_rank_0_is_at_work_and_learn_of_the_end():
    def work(comm):
        session = Session(comm)
        session.meet(RankReport())
        if comm.rank:
            return session.wait(), session.wait(), session.stage
        session.hold()
        session.hold()
        assert session.wait()
        session.end()
        session.end()
        return session.stage

    assert run_ranks(2, work) == [MeetingStage.ENDED, (True, False, MeetingStage.ENDED)]


def end(standby, error=None):
    """End a standby with a block that raises an error, if any."""
    with standby.ending():
        if error:
            raise error


@pytest.mark.parametrize(("error", "message"), [(DataError("odd"), "odd"), (ConfigError("odd"), "rank 1: odd")])
def test_error_that_ends_the_standby_of_one_rank_is_raised_on_all(error, message):
    def work(comm):
        with pytest.raises(type(error)) as found:
            end(Standby(comm), error if comm.rank == 1 else None)
        return str(found.value)

    assert run_ranks(3, work) == [message] * 3


def test_standby_keeps_ranks_in_touch_for_longer_than_their_time_limit(monkeypatch):
    """Each exchange has a time limit of its own, so ranks may work for any time if they exchange something often."""
    monkeypatch.setattr("w2vtrain.leaves.mpi.agreement.REPORT_SECONDS", 0.01)
    exchanges, allgather, enough = itertools.count(1), Simulated.allgather, threading.Event()

    def counted(comm, data):
        found = allgather(comm, data)
        if next(exchanges) == 20:
            enough.set()
        return found

    monkeypatch.setattr(Simulated, "allgather", counted)

    def work(comm):
        standby = Standby(comm)
        if comm.rank:
            assert enough.wait(300)
        end(standby)
        return True

    assert run_ranks(2, work) == [True, True]


def test_standby_raises_disconnected_if_another_rank_has_ended():
    def work(comm):
        if comm.rank:
            raise DataError("broken")
        with pytest.raises(Disconnected):
            end(Standby(comm))

    with pytest.raises(DataError, match="broken"):
        run_ranks(2, work)
