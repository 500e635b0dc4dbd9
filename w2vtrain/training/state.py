"""Where a run is: its epochs, its progress, and the state from which training continues.

Nothing here trains.
"""

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, get_type_hints

MOST_EPOCHS = 1000
"""Maximum number of epoch records that a run keeps: it may have a million epochs, and every checkpoint stores them."""

T = TypeVar("T")


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

    epoch: counted from 1; loss: the mean per example, in float64, or NaN (null in JSON) if there was no example, for
    instance because subsampling dropped every word; words: the words of the text that were processed, before
    subsampling; seconds: the training time, without the scoring of held-out text.
    """

    epoch: int
    loss: float
    examples: int
    words: int
    seconds: float


@dataclass(frozen=True)
class State:
    """The state of a run while no thread is training. A run can resume from it and the weights.

    epoch: the number of completed epochs. chunks: the number of chunks completed in the current epoch, in its order;
    loss, examples and seconds are the totals of these chunks. epochs: records of the completed epochs, at most
    MOST_EPOCHS of them. spent, passed and learned: the total seconds, words and examples of the completed epochs. cpu:
    the CPU seconds that all threads spent on learning so far, without waiting and scoring, for `timed` words.
    """

    epoch: int = 0
    chunks: int = 0
    loss: float = 0.0
    examples: int = 0
    seconds: float = 0.0
    epochs: tuple[Epoch, ...] = ()
    spent: float = 0.0
    passed: int = 0
    learned: int = 0
    cpu: float = 0.0
    timed: int = 0

    @classmethod
    def read(cls, facts: Any) -> "State":
        """Return the state described by parsed JSON. Raise KeyError, TypeError or ValueError if it describes none."""
        epochs = tuple(map(_epoch, facts["epochs"]))
        return replace(_checked(cls, {**facts, "epochs": ()}), epochs=epochs)

    def after(self, epoch: Epoch) -> "State":
        """Return the state after `epoch` is completed."""
        return State(
            epoch.epoch,
            epochs=tuple(bounded((*self.epochs, epoch))),
            spent=self.spent + epoch.seconds,
            passed=self.passed + epoch.words,
            learned=self.learned + epoch.examples,
            cpu=self.cpu,
            timed=self.timed,
        )


def _epoch(facts: Mapping[str, Any]) -> Epoch:
    """Return the record of an epoch; its loss may be missing if there was no example."""
    is_empty = facts["examples"] == 0 and (facts["loss"] is None or facts["loss"] != facts["loss"])
    epoch = _checked(Epoch, {**facts, "loss": 0.0} if is_empty else facts)
    return replace(epoch, loss=math.nan) if is_empty else epoch


def _checked(cls: type[T], facts: Mapping[str, Any]) -> T:
    """Return an instance of a data class. Raise ValueError if a number is negative, too large or not finite."""
    instance = cls(**facts)
    for name, hint in get_type_hints(cls).items():
        value: Any = getattr(instance, name)
        if hint not in (int, float):
            continue
        number = isinstance(value, int if hint is int else int | float) and not isinstance(value, bool)
        largest = sys.float_info.max if hint is float else 2**63 - 1
        if not number or not -largest <= value <= largest or (value < 0 and name != "loss"):
            raise ValueError(f"{name} is {value!r}")
    return instance


def bounded(records: Sequence[T]) -> Sequence[T]:
    """Return the records of epochs or, if there are more than MOST_EPOCHS, every second one and the last."""
    return records if len(records) <= MOST_EPOCHS else [*records[:-1:2], records[-1]]
