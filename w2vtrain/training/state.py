"""Where a run is: its epochs, its progress, the state from which training continues, and what a checkpoint stores.

Nothing here trains, and nothing opens a file.
"""

import sys
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta

from w2vtrain.training.fingerprint import Fingerprint

Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Amount = Annotated[float, Meta(ge=0.0, le=sys.float_info.max)]
Loss = Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max)]
"""The numbers that a checkpoint may have: all are finite, and only a loss may be negative."""


@dataclass(frozen=True)
class Progress:
    """A progress report during training.

    epoch: counted from 1; words: the words processed so far, before subsampling; total_words: the words processed by
    the end of training, an estimate if time is limited; loss and examples: sums since the previous report; seconds: of
    training so far; epochs: trained so far, with the fraction of the current one. Words, seconds and epochs include
    those before a run was resumed.
    """

    epoch: int
    words: int
    total_words: int
    alpha: float
    loss: float
    examples: int
    seconds: float
    epochs: float


@dataclass(frozen=True)
class Epoch:
    """The record of one epoch.

    epoch: counted from 1; loss: the mean per example, in float64, or None if there was no example, for instance because
    subsampling dropped every word; words: the words of the text that were processed, before subsampling; seconds: the
    training time, without the scoring of held-out text.
    """

    epoch: Count
    loss: Loss | None
    examples: Count
    words: Count
    seconds: Amount


@dataclass(frozen=True)
class PerplexityScore:
    """The score of a model on a text.

    perplexity: exp of the mean negative log-probability, exactly normalized; unnormalized: the same for raw scores, not
    divided by Z; bits: log2 of the perplexity; log_z_mean, log_z_variance: mean and variance of log Z; examples: number
    of predictions, which for skip-gram are word pairs; normalized: number of examples whose log Z was computed;
    seconds: time spent on scoring, summed over threads.

    log Z is computed for all examples unless that is too expensive (char-softmax); then its mean over a random sample
    estimates the mean over all examples. log_z_error: the standard error of that estimate, 0 without sampling. The
    logarithm of the perplexity has the same error.
    """

    perplexity: float
    unnormalized: float
    bits: float
    log_z_mean: float
    log_z_variance: float
    examples: int
    normalized: int
    seconds: float
    log_z_error: float = 0.0


@dataclass(frozen=True)
class State:
    """The state of a run while no thread is training. A run can resume from it and the weights.

    epoch: the number of completed epochs. chunks: the number of chunks completed in the current epoch, in its order;
    loss, examples and seconds are the totals of these chunks. last: the record of the last completed epoch. spent,
    passed and learned: the total seconds, words and examples of the completed epochs. cpu: the CPU seconds that all
    threads spent on learning so far, without waiting and scoring, for `timed` words. is_over: the run ends here,
    although epochs are left, because time or patience has run out.
    """

    epoch: Count = 0
    chunks: Count = 0
    loss: Loss = 0.0
    examples: Count = 0
    seconds: Amount = 0.0
    last: Epoch | None = None
    spent: Amount = 0.0
    passed: Count = 0
    learned: Count = 0
    cpu: Amount = 0.0
    timed: Count = 0
    is_over: bool = False

    @property
    def current(self) -> int:
        """The number of the epoch that the run is in, counted from 1, or of the last one if the run is over."""
        return self.epoch + (not self.is_over)

    def has_ended(self, epochs: int) -> bool:
        """Return whether all epochs are complete, or time or patience has run out."""
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
    scoring: its `seconds`; best: whether its best weights are stored; settings: the digest of the run's settings, see
    `run_files.settings_digest`; chunks: of an epoch, of which the state has completed some.
    """

    state: State
    corpus: Fingerprint
    epochs: list[dict[str, Any]]
    finished: Count
    scoring: Amount
    lowest: Annotated[float, Meta(ge=0.0)] | None  # None stands for the infinity before the first scoring
    waited: Count
    best: bool
    settings: str
    chunks: Count = 0
