"""From settings to what computes: architecture, windows, problem, and a trained model as a predictor of text.

It reads no text and trains nothing: fit.py does.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from w2vtrain.architectures import Cbow, SkipGram, Weighted, Windows
from w2vtrain.config import Settings, validated
from w2vtrain.engines.block import mixing_of
from w2vtrain.engines.hidden import Mixing
from w2vtrain.engines.schedule import Text, Weights
from w2vtrain.errors import ConfigError, DataError
from w2vtrain.formats.model import Model
from w2vtrain.kernels.rows import padded_rows
from w2vtrain.objectives import check_options, checked_options, objective_class
from w2vtrain.probability.problem import Problem
from w2vtrain.text.vocab import SENTENCE_END, Vocabulary


@dataclass(frozen=True)
class Predictor:
    """Scores targets by their context: see training.perplexity.score."""

    scorer: Any
    mixing: Mixing
    windows: Windows


def end_of(settings: Settings, vocabulary: Vocabulary) -> int:
    """The id of the word that ends every sentence, -1 where none does."""
    return vocabulary.index[SENTENCE_END] if settings.sentence_end else -1


def windows_of(settings: Settings, vocabulary: Vocabulary) -> Windows:
    """Which words are a target's context."""
    end = end_of(settings, vocabulary)
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


def problem_of(settings: Settings, vocabulary: Vocabulary, text: Text | None = None) -> Problem:
    """What an objective is built for; text: None where a trained model is only scored."""
    size, init, end = settings.vector_size, settings.init, end_of(settings, vocabulary)
    problem = Problem(vocabulary.words, vocabulary.counts, size, settings.bias, init, settings.seed, end=end)
    return problem if text is None else replace(problem, tokens=text.tokens, starts=text.starts)


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
    """Settings, vocabulary and predictor of a saved model. DataError where its parts do not fit together."""
    damaged = "the model's arrays do not fit its settings: the file is damaged, train it again"
    try:
        settings = validated(model.settings)
        vocabulary = Vocabulary(model.words, model.counts)
        _check_shapes(settings, model)
        settings = _checked(settings, vocabulary)
        found = predictor(settings, vocabulary, Weights(model.input, model.output, model.arrays))
        H = np.zeros((1, settings.vector_size + settings.bias), np.float32)
        found.scorer.scores(H, np.array([len(vocabulary) - 1], np.int32))
    except ConfigError as error:
        raise DataError(f"the model's settings: {error}") from error
    except (KeyError, IndexError, ValueError) as error:
        raise DataError(damaged) from error
    return settings, vocabulary, found


def _checked(settings: Settings, vocabulary: Vocabulary) -> Settings:
    """Settings of a model with all options, which pass the same checks as a command line's; else ConfigError."""
    if settings.sentence_end and SENTENCE_END not in vocabulary.index:
        raise ConfigError(f"sentence-end: {SENTENCE_END} is not among the model's words")
    settings = replace(settings, options=checked_options(settings.objective, settings.options))
    check_options(settings, files=False)
    return settings


def _check_shapes(settings: Settings, model: Model) -> None:
    """ValueError for arrays of other shapes than kernels rely on, which look at no bounds."""
    if model.input.shape != (len(model.words), settings.vector_size):
        raise ValueError(f"input has shape {model.input.shape}")
    expected: dict[str, tuple[int, ...]] = {}
    if settings.bias:
        expected["bias"] = (len(model.output),)
    if settings.context_weights:
        expected["context_weights"] = (2 * settings.window, settings.vector_size)
    for name, shape in expected.items():
        if model.arrays[name].shape != shape or model.arrays[name].dtype != np.float32:
            raise ValueError(f"{name} has shape {model.arrays[name].shape}")
