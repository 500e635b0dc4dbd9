"""What is learned and in which steps: the encoded text in chunks, the schedule, progress. Data only."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, get_type_hints

import numpy as np

MOST_EPOCHS = 1000
"""Epochs of which a run keeps a record: a run of a million must not keep, and save again and again, a million."""

T = TypeVar("T")


@dataclass(frozen=True)
class Schedule:
    """How to walk the corpus.

    alpha falls linearly to min_alpha over all epochs; sample: subsampling threshold; seconds: train no longer than
    this, the rate falling with time where that is nearer its end than the words are; block: examples a step of
    objectives on the block engine. weight_decay: every weight loses this share, times the rate, an example.
    stall_timeout: seconds without a word from a thread after which the run is given up.
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
        """Return the learning rates (n,) float64 at some points of a run. done (n,): its part that is over, 0 to 1."""
        # rate = alpha + (min_alpha - alpha) done
        return self.alpha + (self.min_alpha - self.alpha) * done


@dataclass(frozen=True)
class Progress:
    """Where training stands.

    epoch: from 1; words: so far, before subsampling; total_words: at the end, estimated if time is limited; loss and
    examples: sums since the last event.
    """

    epoch: int
    words: int
    total_words: int
    alpha: float
    loss: float
    examples: int


@dataclass(frozen=True)
class Epoch:
    """What one epoch did.

    epoch: from 1; loss: mean per example, in float64; words: of the text that were passed, before subsampling;
    seconds: of training, without scoring held-out text.
    """

    epoch: int
    loss: float
    examples: int
    words: int
    seconds: float


@dataclass(frozen=True)
class State:
    """Where a run stands at a moment at which no thread is learning: with the weights, all that continuing needs.

    epoch: how many are done. Of the next one the first `chunks` in its order are learned, which gave the summed loss
    and examples and took `seconds`. Of the epochs that are done: `spent` seconds, `passed` words and `learned`
    examples in all, and a record of each, or of MOST_EPOCHS at most.
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

    @classmethod
    def read(cls, facts: Any) -> "State":
        """Return the state that JSON describes; TypeError or ValueError if it describes none."""
        epochs = tuple(_checked(Epoch, epoch) for epoch in facts["epochs"])
        return replace(_checked(cls, {**facts, "epochs": ()}), epochs=epochs)

    def after(self, epoch: Epoch) -> "State":
        """Return the state at the end of an epoch."""
        return State(
            epoch.epoch,
            epochs=tuple(bounded((*self.epochs, epoch))),
            spent=self.spent + epoch.seconds,
            passed=self.passed + epoch.words,
            learned=self.learned + epoch.examples,
        )


def _checked(cls: type[T], facts: Mapping[str, Any]) -> T:
    """Return an instance of a class of numbers; ValueError for one that is negative, too large or not finite."""
    found = cls(**facts)
    for name, hint in get_type_hints(cls).items():
        value: Any = getattr(found, name)
        if hint not in (int, float):
            continue
        number = isinstance(value, int if hint is int else int | float) and not isinstance(value, bool)
        largest = sys.float_info.max if hint is float else 2**63 - 1
        if not number or not -largest <= value <= largest or (value < 0 and name != "loss"):
            raise ValueError(f"{name} is {value!r}")
    return found


def bounded(records: Sequence[T]) -> Sequence[T]:
    """Return records of epochs, or every second one and the last if there are more than MOST_EPOCHS."""
    return records if len(records) <= MOST_EPOCHS else [*records[:-1:2], records[-1]]


@dataclass(frozen=True)
class Text:
    """An encoded corpus in chunks, the unit of shuffling, dealing and random streams.

    tokens: int32 ids, -1 ends a sentence of at most longest_sentence words; starts (C+1,) int64: offsets of the chunks
    in it; words (C,) int64: words in each; counts (V,) int64, descending.
    """

    tokens: np.ndarray
    starts: np.ndarray
    words: np.ndarray
    counts: np.ndarray
    longest_sentence: int = 10_000


@dataclass(frozen=True)
class Weights:
    """What was learned: input (V, d), output (R, d) float32, and `arrays`: biases, position weights, an objective's."""

    input: np.ndarray
    output: np.ndarray
    arrays: dict[str, np.ndarray]
