"""Data classes of training: the schedule, the encoded text in chunks, progress, the state of a run, its arrays.

Nothing here trains.
"""

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, NamedTuple, TypeVar, get_type_hints

import numpy as np

MOST_EPOCHS = 1000
"""Maximum number of epoch records that a run keeps: it may have a million epochs, and every checkpoint stores them."""

T = TypeVar("T")


@dataclass(frozen=True)
class Schedule:
    """How to train on the corpus.

    sample: the subsampling threshold. alpha, min_alpha: the learning rate falls linearly from alpha to min_alpha over
    all epochs. weight_decay: each entry of the text (word or sentence end) shrinks every weight by this fraction times
    the learning rate. block: examples per step of an objective on the block engine. seconds: the time limit, if
    any; the learning rate follows the fraction of the time used up if that is larger than the fraction of the words
    processed. stall_timeout: the run fails if a thread does not report for this many seconds.
    """

    sample: float = 1e-3
    alpha: float = 0.05
    min_alpha: float = 5e-6
    epochs: int = 5
    threads: int = 1
    seed: int = 1
    shuffle: bool = True
    weight_decay: float = 0.0
    block: int = 32
    seconds: float | None = None
    stall_timeout: float = 600.0

    def rate(self, done: np.ndarray) -> np.ndarray:
        """Return the learning rates (n,) float64 after the fractions `done` (n,) of a run, 0 to 1."""
        return self.alpha + (self.min_alpha - self.alpha) * done


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


@dataclass(frozen=True)
class Text:
    """An encoded corpus, divided into C chunks. Each chunk is shuffled, assigned to a thread, and seeded as a whole.

    tokens (n,) int32: word ids, with -1 at the end of each sentence; starts (C + 1,) int64: the offsets of the chunks
    in tokens; words (C,) int64: the number of words per chunk; counts (V,) int64: the word counts, in descending
    order; longest_sentence: the most words in a sentence, or more.
    """

    tokens: np.ndarray
    starts: np.ndarray
    words: np.ndarray
    counts: np.ndarray
    longest_sentence: int = 10_000


class Role(Enum):
    """What an array of a run is: see Array."""

    INPUT = "input rows"
    OUTPUT = "output rows"
    LEARNED = "other learned parameters"
    STATE = "what training changes besides"
    STRUCTURE = "what output rows stand for, such as a tree"
    DERIVED = "what follows from the words and their counts"


class Array(NamedTuple):
    """An array of a run, by the name that it has in the model. Checkpoints store all but the last two roles."""

    name: str
    role: Role
    values: np.ndarray


def saved(arrays: Sequence[Array]) -> dict[str, np.ndarray]:
    """Return the arrays that training changes, by name."""
    fixed = (Role.STRUCTURE, Role.DERIVED)
    return {array.name: array.values for array in arrays if array.role not in fixed}


@dataclass(frozen=True)
class Weights:
    """The result of training: input vectors (V, d) and output vectors (R, d), float32, and all other arrays by name.

    arrays: biases, position weights, and the arrays of the objective.
    """

    input: np.ndarray
    output: np.ndarray
    arrays: dict[str, np.ndarray]
