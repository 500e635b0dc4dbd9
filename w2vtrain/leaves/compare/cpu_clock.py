"""Train within a limit of CPU time instead of wall-clock time, so that other programs on the machine take nothing away.

training/trainer.py trains; this module only decides when the time is up, and counts it.
"""

import threading

from w2vtrain.training.epoch import Clock, SliceReport
from w2vtrain.training.state import State


class CpuClock(Clock):
    """Counts the CPU seconds of training, and lets no slice begin that would take the run farther from its limit.

    limit: CPU seconds of all training threads, or None; cpu: those of training so far, without waiting and scoring,
    including those before a run was resumed; learned, dealt: the words that threads have learned, and those that they
    were given; ended: a slice was refused.
    """

    def __init__(self, limit: float | None) -> None:
        super().__init__(limit)
        self.lock, self.cpu, self.ended = threading.Lock(), 0.0, False
        self.learned = self.dealt = 0

    def resume(self, state: State) -> None:
        super().resume(state)
        self.cpu, self.learned, self.dealt = state.cpu, state.timed, state.timed

    def used(self) -> float:
        return self.cpu

    def is_over(self) -> bool:
        return self.ended

    def has_time_for(self, words: int) -> bool:
        """Return whether the run comes closer to its limit with a slice of this many words than without it.

        Threads that are learning count with the CPU time per word so far.
        """
        with self.lock:
            pace = self.cpu / self.learned if self.learned else 0.0
            ahead = self.dealt - self.learned + words / 2
            self.ended = self.ended or (self.limit is not None and self.cpu + pace * ahead >= self.limit)
            self.dealt += 0 if self.ended else words
        return not self.ended

    def count(self, report: SliceReport) -> None:
        with self.lock:
            self.cpu += report.cpu
            self.learned += report.words
