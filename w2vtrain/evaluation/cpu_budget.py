"""Train within a limit of CPU time instead of wall-clock time, so that other programs on the machine take nothing away.

training/trainer.py trains; this module only decides when the time is up, and counts it.
"""

import threading
from collections.abc import Callable, Iterator

from w2vtrain.engines.schedule import Schedule, State, Text
from w2vtrain.training.events import Events
from w2vtrain.training.team import Team
from w2vtrain.training.trainer import Engine, Order, Slice, Training


class CpuBudget(Team):
    """This process alone; the schedule's `seconds` are CPU seconds of all learning threads.

    cpu: the CPU seconds of learning so far, without waiting and scoring; also counted if there is no limit.
    """

    cpu = 0.0

    def train(
        self, engine: Engine, text: Text, schedule: Schedule, events: Events, state: State, pause: Callable[[], bool]
    ) -> Iterator[State]:
        """Train; the parameters and what is yielded are those of training.trainer.train."""
        training = _Training(self, engine, text, schedule, state, pause)
        while not training.has_ended():
            training.advance(events.training)
            yield training.state


class _Training(Training):
    """The state of one call of `CpuBudget.train`.

    learned, dealt_words: the words that threads have learned, and those that they were given; ended: time is up.
    """

    def __init__(
        self, budget: CpuBudget, engine: Engine, text: Text, schedule: Schedule, state: State,
        pause: Callable[[], bool],
    ) -> None:  # fmt: skip
        super().__init__(engine, text, schedule, state, pause)
        self.budget, self.lock = budget, threading.Lock()
        self.learned, self.dealt_words, self.ended = 0, 0, False

    def used(self) -> float:
        """Return the CPU seconds of learning so far."""
        return self.budget.cpu

    def is_out_of_time(self) -> bool:
        """Return whether a slice was refused."""
        return self.ended

    def has_time_for(self, words: int) -> bool:
        """Return whether the run comes closer to its limit with a slice of this many words than without it.

        Threads that are learning count with the CPU time per word so far.
        """
        limit = self.schedule.seconds
        with self.lock:
            pace = self.budget.cpu / self.learned if self.learned else 0.0
            ahead = self.dealt_words - self.learned + words / 2
            self.ended = self.ended or (limit is not None and self.budget.cpu + pace * ahead >= limit)
            self.dealt_words += 0 if self.ended else words
        return not self.ended

    def learn(self, order: Order, part: slice, thread: int) -> Slice:
        """Learn a slice in this thread, and count its CPU time."""
        done = super().learn(order, part, thread)
        with self.lock:
            self.budget.cpu += done.cpu
            self.learned += done.words
        return done
