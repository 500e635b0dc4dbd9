"""Build what scores target words given their context words, from the weights of a run or from a saved model.

perplexity.py scores text with it.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from w2vtrain.architectures.contract import composes
from w2vtrain.config import Settings, validated
from w2vtrain.embeddings.model import Model
from w2vtrain.engines.base import Weights
from w2vtrain.engines.block_engine import InputLayer
from w2vtrain.engines.window_kernel import Windows
from w2vtrain.errors import ConfigError, DataError, label, spelled
from w2vtrain.formats.fasttext_file import NAME as FASTTEXT
from w2vtrain.formats.model_file import INPUT_ROWS, ngram_vectors
from w2vtrain.objectives import build, check_options, checked_options, objective_class
from w2vtrain.text.vocabulary import SENTENCE_END, Vocabulary
from w2vtrain.training.engine_parts import (
    architecture_of,
    check_architecture,
    check_documents,
    parts_of,
    problem_of,
    windows_of,
)


@dataclass(frozen=True)
class Predictor:
    """The parts of a model that score target words given their context words: see training.perplexity.score."""

    scorer: Any
    layer: InputLayer
    windows: Windows


def predictor(settings: Settings, vocabulary: Vocabulary, weights: Weights) -> Predictor:
    """Return a predictor that uses these weights without copying them; biases require a copy of the output rows."""
    arrays, output = weights.arrays, weights.output
    if settings.bias:
        output = np.concatenate([output, arrays["bias"][:, None]], axis=1)
    problem = problem_of(settings, vocabulary)
    cls, architecture = objective_class(settings.objective), architecture_of(settings, vocabulary.words, arrays)
    rows = arrays[INPUT_ROWS] if composes(architecture) else weights.input
    return Predictor(
        cls.scorer(problem, settings.options, output, arrays),
        InputLayer(architecture, rows, problem.dim, settings.bias),
        windows_of(settings, vocabulary),
    )


def model_predictor(model: Model) -> tuple[Settings, Vocabulary, Predictor]:
    """Return the settings, vocabulary and predictor of a saved model. Raise DataError if its parts do not match."""
    damaged = f"{model.name}: its arrays do not match its settings: the file is damaged; train the model again"
    try:
        settings = validated(model.settings)
        vocabulary = Vocabulary(model.words, model.counts)
        _check_shapes(settings, model)
        settings = _checked(settings, vocabulary)
        arrays = model.arrays
        if FASTTEXT in model.record:  # its files leave out what follows from the counts
            arrays = build(settings.objective, problem_of(settings, vocabulary), settings.options).arrays() | arrays
        built = predictor(settings, vocabulary, Weights(model.input, model.output, arrays))
        H = np.zeros((1, built.layer.width), np.float32)
        built.scorer.scores(H, np.array([len(vocabulary) - 1], np.int32))
    except ConfigError as error:
        raise DataError(f"{model.name}: its settings: {error}") from error
    except (KeyError, IndexError, ValueError) as error:
        raise DataError(damaged) from error
    except DataError as error:
        raise DataError(f"{model.name}: {error}") from error
    return settings, vocabulary, built


def _checked(settings: Settings, vocabulary: Vocabulary) -> Settings:
    """Return a model's settings with all options filled in. Raise ConfigError if `fit` would refuse them."""
    if settings.sentence_end and SENTENCE_END not in vocabulary.index:
        raise ConfigError(
            f"{label('sentence_end')}: {SENTENCE_END} is not among the model's words: train it with"
            f" {spelled('sentence_end', True)}"
        )
    check_architecture(settings)
    check_documents(settings, False)
    settings = replace(settings, options=checked_options(settings.objective, settings.options))
    check_options(settings, files=False)
    return settings


def _check_shapes(settings: Settings, model: Model) -> None:
    """Raise ValueError if an array has an unexpected shape or dtype: kernels do not check bounds."""
    if model.input.shape != (len(model.words), settings.vector_size):
        raise ValueError(f"input has shape {model.input.shape}")
    if model.output.shape[1] != settings.vector_size * parts_of(settings):
        raise ValueError(f"output has shape {model.output.shape}")
    expected: dict[str, tuple[int, ...]] = {}
    if settings.bias:
        expected["bias"] = (len(model.output),)
    architecture, size = architecture_of(settings, model.words), len(model.words)
    for name, array in architecture.learned().items():
        expected[name] = (len(array), settings.vector_size)
    if composes(architecture):
        expected[INPUT_ROWS] = (architecture.input_rows(size), settings.vector_size)
    ngram_vectors(model.settings, model.arrays, size, settings.vector_size)
    for name, shape in expected.items():
        if model.arrays[name].shape != shape or model.arrays[name].dtype != np.float32:
            raise ValueError(f"{name} has shape {model.arrays[name].shape}")
