"""Where a run is: its epochs, its progress, the state from which training continues, and what a checkpoint stores.

Nothing here trains, and nothing opens a file.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from w2vtrain.errors import DataError
from w2vtrain.system.json_text import record
from w2vtrain.training.fingerprint import Fingerprint

MAX_COUNT = 2**63 - 1
"""The largest count that a run can have."""


@dataclass(frozen=True)
class Progress:
    """A progress report during training.

    epoch: counted from 1; words: the words processed so far, before subsampling; total_words: the words processed by
    the end of training, an estimate if time is limited; loss and examples: sums since the previous report; seconds: of
    training so far. Words and seconds include those before a run was resumed.
    """

    epoch: int
    words: int
    total_words: int
    alpha: float
    loss: float
    examples: int
    seconds: float


@dataclass(frozen=True)
class Epoch:
    """The record of one epoch.

    epoch: counted from 1; loss: the mean per example, in float64, or None if there was no example, for instance because
    subsampling dropped every word; words: the words of the text that were processed, before subsampling; seconds: the
    training time, without the scoring of held-out text.
    """

    epoch: int
    loss: float | None
    examples: int
    words: int
    seconds: float


@dataclass(frozen=True)
class State:
    """The state of a run while no thread is training. A run can resume from it and the weights.

    epoch: the number of completed epochs. chunks: the number of chunks completed in the current epoch, in its order;
    loss, examples and seconds are the totals of these chunks. last: the record of the last completed epoch. spent,
    passed and learned: the total seconds, words and examples of the completed epochs. cpu: the CPU seconds that all
    threads spent on learning so far, without waiting and scoring, for `timed` words. is_over: the run ends here,
    although epochs are left, because patience has run out.
    """

    epoch: int = 0
    chunks: int = 0
    loss: float = 0.0
    examples: int = 0
    seconds: float = 0.0
    last: Epoch | None = None
    spent: float = 0.0
    passed: int = 0
    learned: int = 0
    cpu: float = 0.0
    timed: int = 0
    is_over: bool = False

    @classmethod
    def read(cls, values: Any, start: str) -> "State":
        """Return the state that parsed JSON describes. Raise DataError, which begins with `start`, if none."""
        return _checked(record(values, cls, start), start)

    @property
    def current(self) -> int:
        """The number of the epoch that the run is in, counted from 1, or of the last one if patience has run out."""
        return self.epoch + (not self.is_over)

    def has_ended(self, epochs: int) -> bool:
        """Return whether all epochs are complete, or patience has run out."""
        return self.is_over or self.epoch >= epochs

    def after(self, epoch: Epoch) -> "State":
        """Return the state after `epoch` is completed."""
        return State(
            epoch.epoch,
            last=epoch,
            spent=self.spent + epoch.seconds,
            passed=self.passed + epoch.words,
            learned=self.learned + epoch.examples,
            cpu=self.cpu,
            timed=self.timed,
        )


@dataclass(frozen=True)
class Saved:
    """What a checkpoint stores besides arrays.

    corpus: what was read; epochs: the entries of the model's record; finished, lowest, waited: see EarlyStopping;
    scoring: its `seconds`; best: whether its best weights are stored.
    """

    state: State
    corpus: Fingerprint
    epochs: list[dict[str, Any]]
    finished: int
    scoring: float
    lowest: float | None
    waited: int
    best: bool

    @classmethod
    def read(cls, values: Any, start: str) -> "Saved":
        """Return what parsed JSON describes. Raise DataError, which begins with `start`, if a field does not fit."""
        saved = record(values, cls, start)
        _checked(saved.state, start)
        if not 0 <= saved.waited <= saved.finished <= saved.state.epoch:
            raise DataError(
                f"{start}: waited is {saved.waited}, finished {saved.finished} and epoch {saved.state.epoch}; each must"
                " be at least the one before it"
            )
        if min(saved.scoring, 0.0 if saved.lowest is None else saved.lowest) < 0:
            raise DataError(f"{start}: scoring or lowest is negative")
        return saved


def _checked(state: State, start: str) -> State:
    """Return a state. Raise DataError if a number is negative, which only a loss may be, too large, or not finite."""
    for name, value in _numbers(state):
        is_possible = math.isfinite(value) if isinstance(value, float) else value <= MAX_COUNT
        if not is_possible or (value < 0 and name != "loss"):
            raise DataError(f"{start}: {name} is {value!r}")
    if state.last and (state.last.loss is None) != (state.last.examples == 0):
        raise DataError(f"{start}: an epoch of {state.last.examples:,} examples has the loss {state.last.loss}")
    return state


def _numbers(state: State) -> Iterator[tuple[str, float]]:
    """Yield the name and value of every number in a state and in the record of its last epoch."""
    for part in filter(None, (state, state.last)):
        yield from ((name, value) for name, value in vars(part).items() if isinstance(value, int | float))
