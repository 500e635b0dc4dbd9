"""Score held-out text after each epoch, keep the weights of the best one, and say when patience has ended.

It does not train, and it does not decide when a checkpoint is written.
"""

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from w2vtrain.config import Settings
from w2vtrain.engines.schedule import Epoch, Text, Weights
from w2vtrain.text.vocab import Vocabulary
from w2vtrain.training.events import Events
from w2vtrain.training.perplexity import PerplexityScore, score
from w2vtrain.training.predictor import predictor
from w2vtrain.training.units import Watch

LONG_SCORING = 10.0
"""Seconds of scoring that need no warning, however short an epoch is."""


class EarlyStopping:
    """What held-out text says of the epochs of one run.

    Methods take `weights`, a function that gives those of the epoch, since without held-out text nobody needs them.
    text: the held-out text, None without one; finished: epochs that are scored, or need not be; lowest: the best
    perplexity; waited: epochs since then; best: weights of the best epoch, None if that is the last of the schedule or
    there is no held-out text; seconds: of scoring so far.
    """

    def __init__(self, text: Text | None, settings: Settings, vocabulary: Vocabulary, events: Events) -> None:
        self.text, self.settings, self.vocabulary, self.events = text, settings, vocabulary, events
        self.finished, self.waited = 0, 0
        self.lowest, self.seconds = math.inf, 0.0
        self.best: Weights | None = None

    def score(self, epoch: Epoch, weights: Callable[[], Weights], stop: Callable[[], bool]) -> PerplexityScore | None:
        """Score the held-out text, if there is one. Raise Interrupted if `stop` asks for it. Warn if it takes long."""
        if self.text is None:
            return None

        def warn(seconds: float) -> None:
            if not self.finished and seconds > max(epoch.seconds, LONG_SCORING):
                self.events.warning(
                    f"scoring the held-out text will take about {seconds:,.0f} s after each epoch of"
                    f" {epoch.seconds:,.1f} s: a shorter --heldout text would do"
                )

        found = predictor(self.settings, self.vocabulary, weights())
        watch = Watch(self.events.scoring, warn, stop, self.settings.stall_timeout)
        started = time.monotonic()
        result = score(found.scorer, found.layer, found.windows, self.text, int(self.settings.threads), watch)
        self.seconds += time.monotonic() - started
        return result

    def finish(self, epoch: int, found: PerplexityScore | None, weights: Callable[[], Weights]) -> None:
        """Take in the score of an epoch, and keep a copy of its weights if it is the best and others will follow."""
        if found:
            self.waited += 1
            if found.perplexity < self.lowest or not self.finished:
                self.lowest, self.waited = found.perplexity, 0
                self.best = _copied(weights()) if epoch < self.settings.epochs else None
        self.finished = epoch

    def is_out_of_patience(self) -> bool:
        """Return whether as many epochs without improvement have passed as the settings allow."""
        return self.settings.patience is not None and self.waited >= self.settings.patience

    def chosen(self, weights: Callable[[], Weights]) -> Weights:
        """Return the weights of the best epoch, given those of the last."""
        return self.best if self.waited and self.best else weights()

    def best_epoch(self) -> int | None:
        """Return the number of the best epoch, from 1; None without held-out text."""
        return None if self.text is None else self.finished - self.waited

    def facts(self) -> dict[str, Any]:
        """Return what a checkpoint says of this, besides `arrays`."""
        return {
            "finished": self.finished,
            "scoring": self.seconds,
            "lowest": self.lowest,
            "waited": self.waited,
            "best": self.best is not None,
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays that a checkpoint holds of this, by name."""
        return best_arrays(self.best) if self.best else {}

    def restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Take over `facts` and `arrays` of a checkpoint. KeyError, TypeError or ValueError if the facts are none."""
        self.waited, self.finished, self.seconds = facts["waited"], facts["finished"], float(facts["scoring"])
        if not (isinstance(self.waited, int) and isinstance(self.finished, int)):
            raise ValueError("waited or finished")
        self.lowest = math.inf if facts["lowest"] is None else float(facts["lowest"])
        if facts["best"]:
            kept = {name.removeprefix("best."): array for name, array in arrays.items()}
            self.best = Weights(kept.pop("input"), kept.pop("output"), kept)


def best_arrays(weights: Weights) -> dict[str, np.ndarray]:
    """Return weights by the names that they have in a checkpoint as those of the best epoch."""
    named = {"input": weights.input, "output": weights.output, **weights.arrays}
    return {f"best.{name}": array for name, array in named.items()}


def _copied(weights: Weights) -> Weights:
    arrays = {name: array.copy() for name, array in weights.arrays.items()}
    return Weights(weights.input.copy(), weights.output.copy(), arrays)
