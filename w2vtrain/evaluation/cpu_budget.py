"""Train within a limit of CPU time instead of wall-clock time, so that other programs on the machine take nothing away.

training/trainer.py trains; this module only decides when the time is up, and counts it.
"""

import threading

from w2vtrain.engines.contract import Schedule
from w2vtrain.training.state import State
from w2vtrain.training.team import Team
from w2vtrain.training.trainer import Clock, SliceReport


class CpuBudget(Team):
    """This process alone; the schedule's `seconds` are CPU seconds of all training threads.

    cpu: the CPU seconds of training so far, without waiting and scoring, including those before a run was resumed; also
    counted if there is no limit.
    """

    cpu = 0.0

    def clock(self, schedule: Schedule, state: State) -> Clock:
        self.cpu = state.cpu
        return CpuClock(self, schedule.seconds, state.timed)


class CpuClock(Clock):
    """Counts the CPU seconds of training, and lets no slice begin that would take the run farther from its limit.

    learned, dealt: the words that threads have learned, and those that they were given; ended: a slice was refused.
    """

    def __init__(self, budget: CpuBudget, limit: float | None, learned: int = 0) -> None:
        super().__init__(limit)
        self.budget, self.lock = budget, threading.Lock()
        self.learned, self.dealt, self.ended = learned, learned, False

    def used(self) -> float:
        return self.budget.cpu

    def is_over(self) -> bool:
        return self.ended

    def has_time_for(self, words: int) -> bool:
        """Return whether the run comes closer to its limit with a slice of this many words than without it.

        Threads that are learning count with the CPU time per word so far.
        """
        with self.lock:
            pace = self.budget.cpu / self.learned if self.learned else 0.0
            ahead = self.dealt - self.learned + words / 2
            self.ended = self.ended or (self.limit is not None and self.budget.cpu + pace * ahead >= self.limit)
            self.dealt += 0 if self.ended else words
        return not self.ended

    def count(self, report: SliceReport) -> None:
        with self.lock:
            self.budget.cpu += report.cpu
            self.learned += report.words
