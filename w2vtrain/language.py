"""From settings to what computes: architecture, windows, problem, and a trained model as a predictor of text.

It reads no text and trains nothing: pipeline.py does.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .architectures import Cbow, SkipGram, Weighted, Windows
from .blocks import mixing_of
from .config import Settings
from .hidden import Mixing
from .model import Model
from .objectives import objective_class
from .plan import Weights
from .problem import Problem
from .rows import padded_rows
from .vocab import SENTENCE_END, Vocabulary


@dataclass(frozen=True)
class Predictor:
    """Scores targets by their context: see scoring.score."""

    scorer: Any
    mixing: Mixing
    windows: Windows


def windows_of(settings: Settings, vocabulary: Vocabulary) -> Windows:
    """Which words are a target's context."""
    end = vocabulary.index[SENTENCE_END] if settings.sentence_end else -1
    pads = 0 if end < 0 else settings.window if settings.context_weights else 1  # position weights want all positions
    left, right = settings.context != "right", settings.context != "left"
    return Windows(settings.window, bool(settings.shrink_windows), left, right, end, pads)


def architecture_of(settings: Settings, weights: np.ndarray | None = None) -> Any:
    """The architecture; weights (2 window, d or more): trained position weights, by default all 1."""
    bias = settings.vector_size if settings.bias else -1
    if settings.model == "skipgram":
        return SkipGram(settings.window, bias)
    if not settings.context_weights:
        return Cbow(settings.window, settings.cbow_gradient == "corrected", bias)
    if weights is None:
        weights = padded_rows(2 * settings.window, settings.vector_size + settings.bias)
        weights[:, : settings.vector_size] = 1
    return Weighted(settings.window, weights, bias)


def problem_of(settings: Settings, vocabulary: Vocabulary, **text: np.ndarray) -> Problem:
    """What an objective is built for; text: tokens and starts of the encoded corpus."""
    size, init = settings.vector_size, settings.init
    return Problem(vocabulary.words, vocabulary.counts, size, settings.bias, init, settings.seed, **text)


def predictor(settings: Settings, vocabulary: Vocabulary, weights: Weights) -> Predictor:
    """A predictor by these weights, which are looked at and not copied, but for biases."""
    arrays, output = weights.arrays, weights.output
    if settings.bias:
        output = np.concatenate([output, arrays["bias"][:, None]], axis=1)
    positions = arrays.get("context_weights")
    problem = problem_of(settings, vocabulary)
    cls = objective_class(settings.objective)
    return Predictor(
        cls.scorer(problem, settings.options, output, arrays),
        mixing_of(architecture_of(settings, positions), weights.input, settings.vector_size, settings.bias),
        windows_of(settings, vocabulary),
    )


def model_predictor(model: Model) -> tuple[Settings, Vocabulary, Predictor]:
    """Settings, vocabulary and predictor of a saved model."""
    settings = Settings(**model.settings)
    vocabulary = Vocabulary(model.words, model.counts)
    return settings, vocabulary, predictor(settings, vocabulary, Weights(model.input, model.output, model.arrays))
