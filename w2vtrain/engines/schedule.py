"""The settings of training itself, and the learning rate that follows from them."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Schedule:
    """How to train on the corpus: settings of these names, see `training.engine_parts.schedule_of`.

    sample: the subsampling threshold. alpha, min_alpha: the learning rate falls linearly from alpha to min_alpha
    over all epochs. weight_decay: each word and sentence end of the text shrinks all vectors, but not biases, by
    this fraction times the learning rate. block: examples per step of an objective on the block engine. seconds:
    the time limit, if any; the learning rate follows the fraction of the time used up if that is larger than the
    fraction of the words processed.
    """

    sample: float
    alpha: float
    min_alpha: float
    epochs: int
    threads: int
    seed: int
    shuffle: bool
    weight_decay: float
    block: int
    seconds: float | None

    def rate(self, done: np.ndarray) -> np.ndarray:
        """Return the learning rates (n,) float64 after the fractions `done` (n,) of a run, 0 to 1."""
        return self.alpha + (self.min_alpha - self.alpha) * done
