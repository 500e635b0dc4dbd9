"""Build the parts of a model from its settings: architecture, windows, problem, engine, and a predictor for scoring.

This module reads no text and trains nothing: trainer.py does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from w2vtrain.architectures import architecture_class
from w2vtrain.architectures import build as build_architecture
from w2vtrain.architectures.contract import Layout, composes
from w2vtrain.config import WHOLE_SENTENCE, Settings, validated
from w2vtrain.embeddings.model import Model
from w2vtrain.engines.block_engine import BlockEngine, InputLayer
from w2vtrain.engines.contract import Chunks, Engine, Schedule, Weights
from w2vtrain.engines.window_engine import WindowEngine
from w2vtrain.engines.window_kernel import PLANNED_WORDS, Windows
from w2vtrain.errors import ConfigError, DataError, label, spelled
from w2vtrain.formats.fasttext_file import NAME as FASTTEXT
from w2vtrain.formats.model_file import INPUT_ROWS, NGRAM_BUCKETS, ngram_vectors
from w2vtrain.formats.subwords import Ngrams, Subwords
from w2vtrain.objectives import build, check_options, checked_options, objective_class
from w2vtrain.probability.problem import Problem
from w2vtrain.text.vocabulary import SENTENCE_END, Vocabulary


@dataclass(frozen=True)
class Predictor:
    """The parts of a model that score target words given their context words: see training.perplexity.score."""

    scorer: Any
    layer: InputLayer
    windows: Windows


def end_of(settings: Settings, vocabulary: Vocabulary) -> int:
    """Return the id of the word that ends every sentence, or -1 if there is none."""
    return vocabulary.index[SENTENCE_END] if settings.sentence_end else -1


def check_architecture(settings: Settings) -> None:
    """Raise ConfigError if these settings do not fit the architecture.

    Weights for each position of a window do not fit --window sentence, and input rows of its own do not fit --subwords.
    """
    cls = architecture_class(settings.architecture)
    if settings.window == WHOLE_SENTENCE and cls.fixed_positions():
        raise ConfigError(
            f"window: {settings.architecture} has weights for each position of a window, so it needs a number, not"
            f" {WHOLE_SENTENCE}"
        )
    if settings.subwords and composes(cls):
        raise ConfigError(
            f"{label('subwords')}: architecture {settings.architecture} computes the vectors of words from rows of its"
            f" own; leave out {spelled('subwords', True)}"
        )


def shrinks(settings: Settings) -> bool:
    """Return whether windows shrink by default."""
    return settings.window != WHOLE_SENTENCE and not architecture_class(settings.architecture).fixed_positions()


def window_size(settings: Settings) -> int:
    """Return the maximum number of context words on each side of a target word.

    A window that is wider than PLANNED_WORDS and than any sentence may be is the same as one of that size. A whole
    sentence includes the word that marks its end.
    """
    if isinstance(settings.window, str):
        return settings.max_sentence + 1
    return min(settings.window, max(PLANNED_WORDS, settings.max_sentence))


def windows_of(settings: Settings, vocabulary: Vocabulary) -> Windows:
    """Return the windows, which define the context words of a target word."""
    end, fixed = end_of(settings, vocabulary), architecture_class(settings.architecture).fixed_positions()
    size = window_size(settings)
    pads = 0 if end < 0 else size if fixed else 1
    left, right = settings.context != "right", settings.context != "left"
    return Windows(size, bool(settings.shrink_windows), left, right, end, pads)


def architecture_of(settings: Settings, words: Sequence[str], arrays: Mapping[str, np.ndarray] | None = None) -> Any:
    """Build the architecture for a vocabulary. arrays: those of a trained model, by name."""
    layout = Layout(window_size(settings), settings.vector_size, settings.vector_size + settings.bias, words)
    return build_architecture(settings.architecture, layout, arrays or {})


def subwords_of(
    settings: Settings, words: Sequence[str], arrays: Mapping[str, np.ndarray] | None = None
) -> Subwords | None:
    """Return the input rows of words that share n-grams; None without --subwords. arrays: as in `architecture_of`."""
    if not settings.subwords:
        return None
    ngrams = Ngrams(settings.minn, settings.maxn, settings.bucket)
    return Subwords.of(words, ngrams, (arrays or {}).get(NGRAM_BUCKETS))


def composer_of(settings: Settings, words: Sequence[str]) -> Any:
    """Return what composes the vectors of words from input rows, an architecture or Subwords; None if nothing does."""
    architecture = architecture_of(settings, words)
    return subwords_of(settings, words) or (architecture if composes(architecture) else None)


def problem_of(settings: Settings, vocabulary: Vocabulary, text: Chunks | None = None) -> Problem:
    """Return the problem that an objective is built for. text: the corpus, or None to only score a trained model."""
    size, init, end = settings.vector_size, settings.init, end_of(settings, vocabulary)
    problem = Problem(vocabulary.words, vocabulary.counts, size, settings.bias, init, settings.seed, end=end)
    return problem if text is None else replace(problem, tokens=text.tokens, starts=text.starts)


def schedule_of(settings: Settings) -> Schedule:
    """Return how to train with these settings, whose automatic values are filled in."""
    return Schedule(**{field.name: getattr(settings, field.name) for field in fields(Schedule)})


def make_engine(
    architecture: Any, objective: Any, problem: Problem, text: Chunks, windows: Any, schedule: Schedule,
    subwords: Subwords | None = None,
) -> Engine:  # fmt: skip
    """Return an engine of the kind that the objective requires. subwords: the input rows of words, if these share."""
    engine = BlockEngine if objective.engine == "blocks" else WindowEngine
    return engine(architecture, objective, problem, text, windows, schedule, subwords)


def engine_for(
    settings: Settings, vocabulary: Vocabulary, text: Chunks, architecture: Any, subwords: Subwords | None = None
) -> Engine:
    """Return the engine that trains a model, with initial weights. architecture: see `architecture_of`; subwords: see
    `subwords_of`.
    """
    problem, windows = problem_of(settings, vocabulary, text), windows_of(settings, vocabulary)
    objective = build(settings.objective, problem, settings.options)
    return make_engine(architecture, objective, problem, text, windows, schedule_of(settings), subwords)


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
        InputLayer(architecture, rows, settings.vector_size, settings.bias),
        windows_of(settings, vocabulary),
    )


def model_predictor(model: Model) -> tuple[Settings, Vocabulary, Predictor]:
    """Return the settings, vocabulary and predictor of a saved model. Raise DataError if its parts do not match."""
    damaged = "the model's arrays do not match its settings: the file is damaged; train the model again"
    try:
        settings = validated(model.settings)
        vocabulary = Vocabulary(model.words, model.counts)
        _check_shapes(settings, model)
        settings = _checked(settings, vocabulary)
        arrays = model.arrays
        if FASTTEXT in model.record:  # its files leave out what follows from the counts
            arrays = build(settings.objective, problem_of(settings, vocabulary), settings.options).arrays() | arrays
        built = predictor(settings, vocabulary, Weights(model.input, model.output, arrays))
        H = np.zeros((1, settings.vector_size + settings.bias), np.float32)
        built.scorer.scores(H, np.array([len(vocabulary) - 1], np.int32))
    except ConfigError as error:
        raise DataError(f"the model's settings: {error}") from error
    except (KeyError, IndexError, ValueError) as error:
        raise DataError(damaged) from error
    return settings, vocabulary, built


def _checked(settings: Settings, vocabulary: Vocabulary) -> Settings:
    """Return a model's settings with all options filled in. Raise ConfigError if `fit` would refuse them."""
    if settings.sentence_end and SENTENCE_END not in vocabulary.index:
        raise ConfigError(
            f"{label('sentence_end')}: {SENTENCE_END} is not among the model's words: train it with"
            f" {spelled('sentence_end', True)}"
        )
    check_architecture(settings)
    settings = replace(settings, options=checked_options(settings.objective, settings.options))
    check_options(settings, files=False)
    return settings


def _check_shapes(settings: Settings, model: Model) -> None:
    """Raise ValueError if an array has an unexpected shape or dtype: kernels do not check bounds."""
    if model.input.shape != (len(model.words), settings.vector_size):
        raise ValueError(f"input has shape {model.input.shape}")
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
