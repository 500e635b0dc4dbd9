"""Score held-out text after each epoch, keep the best weights, and report when patience has run out.

This module does not train, and it does not decide when a checkpoint is written.
"""

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from w2vtrain.config import Settings
from w2vtrain.engines.base import Weights
from w2vtrain.engines.chunks import Chunks
from w2vtrain.text.vocabulary import Vocabulary
from w2vtrain.training.checkpoint_file import BEST
from w2vtrain.training.events import Events
from w2vtrain.training.state import Epoch, PerplexityScore, Saved


class EarlyStopping:
    """The held-out scores of one run's epochs, and the weights of the best epoch.

    Methods take `weights`, a function that returns the weights of the current epoch, because they are not needed
    without held-out text.

    text: the held-out text, or None; finished: number of epochs that are complete, including their scoring; lowest:
    the best perplexity so far; waited: epochs since the best one; best: the arrays of the best epoch by their names in
    the model, none if that is the last epoch of the schedule or there is no held-out text; seconds: time spent on
    scoring.
    """

    def __init__(self, text: Chunks | None, settings: Settings, vocabulary: Vocabulary, events: Events) -> None:
        self.text, self.settings, self.vocabulary, self.events = text, settings, vocabulary, events
        self.finished, self.waited = 0, 0
        self.lowest, self.seconds = math.inf, 0.0
        self.best: dict[str, np.ndarray] = {}

    def score(self, weights: Callable[[], Weights], stop: Callable[[], bool]) -> PerplexityScore | None:
        """Score the held-out text; return None if there is none. Raise Interrupted if `stop` returns True."""
        if self.text is None:
            return None
        from w2vtrain.training.perplexity import score  # not needed without held-out text
        from w2vtrain.training.predictor import predictor
        from w2vtrain.training.scoring_units import Watch

        current = predictor(self.settings, self.vocabulary, weights())
        started = time.monotonic()
        result = score(current, self.text, int(self.settings.threads), Watch(self.events.scoring, stop))
        self.seconds += time.monotonic() - started
        return result

    def finish(self, epoch: Epoch, heldout: PerplexityScore | None, weights: Callable[[], Weights]) -> None:
        """Record the score of an epoch. Keep a copy of its weights if it is the best so far and not the last epoch.

        An epoch without an example is never the best.
        """
        if heldout:
            is_first = self.waited == self.finished  # no epoch before it was the best
            self.waited += 1
            if epoch.examples and (heldout.perplexity < self.lowest or is_first):
                self.lowest, self.waited = min(math.inf, heldout.perplexity), 0  # not NaN, than which none is lower
                self.best = {}  # its memory is free before the copy is made
                if epoch.epoch < self.settings.epochs:
                    self.best = {name: array.copy() for name, array in arrays_of(weights()).items()}
        self.finished = epoch.epoch

    def is_out_of_patience(self) -> bool:
        """Return whether `patience` epochs have passed without improvement of one that learned something."""
        patience = self.settings.patience
        return patience is not None and patience <= self.waited < self.finished

    def chosen(self, weights: Callable[[], Weights]) -> Weights:
        """Return the weights of the best epoch; `weights` returns those of the last epoch."""
        if not (self.waited and self.best):
            return weights()
        others = {name: array for name, array in self.best.items() if name not in ("input", "output")}
        return Weights(self.best["input"], self.best["output"], others)

    def best_epoch(self) -> int | None:
        """Return the number of the best epoch, counted from 1; None without held-out text."""
        return None if self.text is None else self.finished - self.waited

    def facts(self) -> dict[str, Any]:
        """Return the fields of Saved that describe this object."""
        return {
            "finished": self.finished,
            "scoring": self.seconds,
            "lowest": self.lowest,
            "waited": self.waited,
            "best": bool(self.best),
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays that a checkpoint stores for this object, by their names there."""
        return {f"{BEST}{name}": array for name, array in self.best.items()}

    def restore(self, saved: Saved, best: dict[str, np.ndarray]) -> None:
        """Restore what a checkpoint stores for this object."""
        self.waited, self.finished, self.seconds = saved.waited, saved.finished, saved.scoring
        self.lowest = math.inf if saved.lowest is None else saved.lowest
        self.best = best


def arrays_of(weights: Weights) -> dict[str, np.ndarray]:
    """Return all arrays of a model by their names."""
    return {"input": weights.input, "output": weights.output, **weights.arrays}
