"""Agreement of the ranks during training: progress, wishes to save or stop, and errors, which all ranks learn of.

Nothing here trains or exchanges weights. After every round, all ranks call `Session.meet`. A rank that fails in between
calls `Session.leave`, which takes the place of its next `meet`; one that is done calls `Session.end`.
"""

from contextlib import suppress
from dataclasses import astuple, dataclass, fields
from enum import Enum
from typing import Any

import numpy as np

from w2vtrain.errors import Disconnected, Relayed
from w2vtrain.leaves.mpi.communicator import Communicator, allgather_json


@dataclass
class RankReport:
    """What one rank reports; `Session.meet` returns the sum over all ranks.

    loss, examples, cpu: of the round that ends; stop, save: whether a signal asks for it; ended: whether the run
    has ended for this rank; busy: whether rank 0 is at work, so that the others wait for its next report; failed:
    whether the rank leaves because of an error; elapsed: seconds of training so far, reported by rank 0 only.
    """

    loss: float = 0
    examples: float = 0
    cpu: float = 0
    stop: float = 0
    save: float = 0
    ended: float = 0
    busy: float = 0
    failed: float = 0
    elapsed: float = 0


FIGURES = len(fields(RankReport))


class MeetingStage(Enum):
    """What all ranks do together next. The value says how an error that ends one of them becomes known to all."""

    PREPARING = "a block of `agreement.together`, which raises the error on all"
    MEETING = "`Session.meet`, which `leave` or `end` may replace"
    EXCHANGING = "an exchange of other data, during which an error cannot be reported"
    ENDED = "nothing: all know the error, or that the run has ended"


class Left(Relayed):
    """Raised on every rank if one has left because of an error, with that error's message and exit code."""


class Session:
    """The meetings of one training run. stage: of the run, set here, by the team and by `Rounds.exchange`."""

    def __init__(self, comm: Communicator) -> None:
        self.comm, self.stage = comm, MeetingStage.PREPARING

    def meet(
        self, report: RankReport, seconds: tuple[float, float] = (0, 0), error: Any = None
    ) -> tuple[RankReport, Any]:
        """Return the sum of the reports of all ranks, and (2, ranks) float64: the `seconds` of every rank.

        error: the message and exit code of a rank that leaves. Raise Left if any rank leaves.
        """
        self.stage = MeetingStage.EXCHANGING
        numbers = np.zeros(FIGURES + 2 * self.comm.size)
        numbers[:FIGURES] = astuple(report)
        by_rank = numbers[FIGURES:].reshape(2, self.comm.size)
        by_rank[:, self.comm.rank] = seconds
        self.comm.allreduce(numbers)
        total = RankReport(*numbers[:FIGURES].tolist())
        if total.failed:
            self.stage = MeetingStage.ENDED
            rank, (message, code) = next(
                (rank, theirs) for rank, theirs in enumerate(allgather_json(self.comm, error)) if theirs
            )
            raise Left(f"rank {rank}: {message}" if rank else message, code)
        self.stage = MeetingStage.ENDED if total.ended else MeetingStage.MEETING
        return total, by_rank

    def leave(self, message: str, code: int) -> bool:
        """Tell the other ranks about an error that ends this one, unless they know. Return whether all ranks know.

        False means that they wait for other data instead, or cannot be reached.
        """
        if self.stage is MeetingStage.MEETING:
            with suppress(Left, Disconnected):
                self.meet(RankReport(failed=1), error=(message, code))
        return self.stage is MeetingStage.ENDED

    def end(self) -> None:
        """Tell the other ranks that the run has ended, unless they know."""
        if self.stage is MeetingStage.MEETING:
            self.meet(RankReport(ended=1))

    def wait(self) -> bool:
        """Wait until rank 0 is done with what it does between rounds. Return whether training continues."""
        while True:
            total, _ = self.meet(RankReport())
            if not total.busy:
                return self.stage is MeetingStage.MEETING

    def hold(self) -> None:
        """Let the other ranks, which `wait`, know that rank 0 is still at work. Called by rank 0."""
        if self.stage is MeetingStage.MEETING:
            self.meet(RankReport(busy=1))
