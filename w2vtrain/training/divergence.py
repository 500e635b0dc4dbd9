"""What training has come to: whether it diverged, and whether anything was learned.

Nothing here trains. suspicions.py finds what looks wrong with a text before training.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from w2vtrain.config import Settings
from w2vtrain.engines.base import Weights
from w2vtrain.errors import Diverged, NothingLearned, spelled
from w2vtrain.training.state import Epoch, State

TOLERATED_ALPHA = 0.1
"""A learning rate that most objectives tolerate, and the highest that is suggested after training has diverged."""
LEARNED_NOTHING = 1.01
"""A loss that exceeds an untrained model's by no more than this factor is that of a few examples at a low rate."""
MAX_WEIGHT = 1000.0
"""Training has diverged if a weight is larger, or larger than the largest given weight by this factor. No objective has
weights above 3 after a short training at its default rate; char-softmax and lsh, whose losses stay finite, have 1e7 at
a rate of 10."""
NEGLIGIBLE = 1e-6
"""Weight decay has destroyed a vector whose largest weight is at most this fraction of the median of all vectors."""
MIN_REPORTS, SAME_LOSS = 3, 1e-8
"""Nothing was learned if at least so many slices of the text had the same mean loss, up to this relative error: it is
larger than that of the sums, and smaller than any change worth an epoch."""


def diverged(alpha: float, epoch: int, sign: str = "the loss or a weight is NaN or infinite") -> Diverged:
    """Return the exception for training that diverged. epoch: counted from 1; sign: by which this was noticed."""
    return Diverged(
        f"training diverged in epoch {epoch} at learning rate {alpha:.4g}: {sign};"
        f" try {spelled('alpha', float(f'{min(alpha / 2, TOLERATED_ALPHA):.2g}'))} or less"
    )


class Given(NamedTuple):
    """What `check_decay` and `check_weights` compare with, if weights were given, which may have any size.

    zeros: with weight decay, the number of input vectors that were 0; largest: the largest absolute weight.
    """

    zeros: int
    largest: float


def check_weights(weights: Weights, alpha: float, epochs: int, usual: float) -> None:
    """Raise Diverged if an input or output weight is NaN, infinite or too large, or another array contains NaN.

    usual: the size of large weights, which those here may exceed MAX_WEIGHT times. Other arrays may contain -inf: the
    objective's arrays can hold log 0.
    """
    largest = largest_weight(weights)
    others = (array for array in weights.arrays.values() if array.dtype.kind == "f")
    if not math.isfinite(largest) or any(np.isnan(array).any() for array in others):
        raise diverged(alpha, epochs)
    if largest > MAX_WEIGHT * usual:
        raise diverged(alpha, epochs, f"a weight is {largest:.2g}, where the largest should be near {usual:.2g}")


def largest_weight(weights: Weights) -> float:
    """Return the largest absolute value of the input and output weights, or NaN if one is."""
    extremes = [size for rows in (weights.input, weights.output) if rows.size for size in (-rows.min(), rows.max())]
    return float(np.max(extremes, initial=0.0))


def check_given(weights: Weights, settings: Settings) -> Given:
    """Describe given weights. Raise Diverged if one is NaN or infinite: no learning rate would help."""
    largest = largest_weight(weights)
    if not math.isfinite(largest):
        raise Diverged(
            "weights are NaN or infinite before training begins, as after training that diverged: start from others"
        )
    return Given(zeros(weights) if settings.weight_decay else 0, largest)


def zeros(weights: Weights) -> int:
    """Return the number of input vectors that are 0."""
    return len(weights.input) - int(weights.input.any(axis=1).sum())


def check_decay(weights: Weights, settings: Settings, given: Given | None) -> None:
    """Raise NothingLearned if weight decay has shrunk the weights of a word to 0, or to NEGLIGIBLE of the usual."""
    if not settings.weight_decay:
        return
    if given is None:
        largest = np.maximum(weights.input.max(axis=1), -weights.input.min(axis=1))
        usual = max(float(np.median(largest)), settings.init or 1 / settings.vector_size)
        lost = int((largest <= NEGLIGIBLE * usual).sum())
    else:
        lost = zeros(weights) - given.zeros
    if lost > 0:
        raise NothingLearned(
            f"weight decay has shrunk {lost:,} of {len(weights.input):,} input vectors to almost 0: lower"
            f" {spelled('weight_decay')} ({settings.weight_decay:.4g})"
        )


def loss_warning(last: Epoch | None, untrained: float, settings: Settings) -> str | None:
    """Return a warning if the last epoch's loss is above that of an `untrained` model, although it is finite."""
    if last is None or last.loss is None or last.loss <= untrained * LEARNED_NOTHING:
        return None
    return (
        f"training diverged: the loss of epoch {last.epoch}, {last.loss:.4g}, is above that of a model that learned"
        f" nothing, {untrained:.4g}; lower {' or '.join([*_causes(settings), spelled('window')])}"
    )


def _causes(settings: Settings) -> list[str]:
    """Return the settings that scale what is learned, with their values."""
    values = {"init": settings.init, "alpha": settings.alpha}  # an init of 0 is the default
    return [f"{spelled(name)} ({value:.4g})" for name, value in values.items() if value]


@dataclass
class Losses:
    """The mean losses of slices: how many there were, the lowest and the highest. If all are equal, nothing changed."""

    reports: int = 0
    lowest: float = math.inf
    highest: float = -math.inf

    def note(self, loss: float, examples: int) -> None:
        """Note the summed loss of a slice."""
        if examples:
            mean = loss / examples
            self.reports += 1
            self.lowest, self.highest = min(self.lowest, mean), max(self.highest, mean)

    def check(self, state: State, settings: Settings, more_words: str, given: Given | None = None) -> None:
        """Raise NothingLearned if there was no example, or no effect. more_words: see `Inputs.more_words`.

        A loss of 0 is no effect, unless weights were given, which may have learned all that there is to learn.
        """
        if not state.passed and settings.seconds is not None:
            raise NothingLearned(
                f"nothing was learned: {spelled('seconds', settings.seconds)} ended before any words were trained on;"
                " raise it"
            )
        if not state.learned:
            raise NothingLearned(
                f"there is nothing to learn from: no word has a context word; {spelled('sample', 0)} keeps frequent"
                f" words, {more_words}, and a line needs at least two words"
            )
        is_same = self.reports >= MIN_REPORTS and math.isclose(self.lowest, self.highest, rel_tol=SAME_LOSS)
        if is_same or (self.reports and self.lowest == self.highest == 0 and given is None):
            raised = f"raise {' or '.join([*_causes(settings), spelled('vector_size')])}, or " * bool(self.highest)
            raise NothingLearned(
                f"nothing was learned: the mean loss of all {self.reports:,} parts of the text was {self.highest:.4g};"
                f" {raised}change the options of objective {settings.objective}"
            )
