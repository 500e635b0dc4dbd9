"""Build the parts of a training run from its settings: architecture, windows, input rows, problem and engine.

This module reads no text and trains nothing: trainer.py does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from w2vtrain.architectures import architecture_class, architectures
from w2vtrain.architectures import build as build_architecture
from w2vtrain.architectures.contract import Layout, composes
from w2vtrain.config import WHOLE_SENTENCE, Settings
from w2vtrain.engines.base import Engine
from w2vtrain.engines.chunks import Chunks
from w2vtrain.engines.schedule import Schedule
from w2vtrain.engines.window_kernel import PLANNED_WORDS, Windows
from w2vtrain.errors import ConfigError, label, spelled
from w2vtrain.formats.model_file import NGRAM_BUCKETS
from w2vtrain.formats.subwords import Ngrams, Subwords
from w2vtrain.objectives import build
from w2vtrain.probability.problem import Problem
from w2vtrain.text.vocabulary import SENTENCE_END, Vocabulary


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
    if settings.subwords and parts_of(settings) > 1:
        raise ConfigError(
            f"{label('subwords')}: architecture {settings.architecture} has windows with missing words, which have no"
            f" n-grams; leave out {spelled('subwords', True)}"
        )
    if settings.subwords and composes(cls):
        raise ConfigError(
            f"{label('subwords')}: architecture {settings.architecture} computes the vectors of words from rows of its"
            f" own; leave out {spelled('subwords', True)}"
        )


def check_documents(settings: Settings, has_documents: bool) -> None:
    """Raise ConfigError unless the architecture uses tags of documents exactly if the text has documents."""
    name, uses_tags = settings.architecture, architecture_class(settings.architecture).uses_tags()
    if uses_tags and not has_documents:
        raise ConfigError(
            f"architecture: {name} predicts words from vectors of their documents, and this text has none; --documents"
            " (in Python, w2vtrain.Documents) learns these"
        )
    if has_documents and not uses_tags:
        choices = ", ".join(name for name, cls in architectures().items() if cls.uses_tags())
        raise ConfigError(f"architecture: {name} learns no vectors of documents; choose one of {choices}")


def shrinks(settings: Settings) -> bool:
    """Return whether windows shrink by default."""
    return settings.window != WHOLE_SENTENCE and not architecture_class(settings.architecture).fixed_positions()


def window_size(settings: Settings) -> int:
    """Return the maximum number of context words on each side of a target word.

    A whole sentence includes the word that marks its end. Weights for each position take memory: beyond PLANNED_WORDS,
    there are only as many as a sentence may have words.
    """
    if isinstance(settings.window, str):
        return settings.max_sentence + 1
    fixed = architecture_class(settings.architecture).fixed_positions()
    return min(settings.window, max(PLANNED_WORDS, settings.max_sentence)) if fixed else settings.window


def windows_of(settings: Settings, vocabulary: Vocabulary) -> Windows:
    """Return the windows, which define the context words of a target word."""
    end, fixed = end_of(settings, vocabulary), architecture_class(settings.architecture).fixed_positions()
    size = window_size(settings)
    pads = 0 if end < 0 else size if fixed else 1
    if not architecture_class(settings.architecture).uses_words():
        return Windows(1, False, left=False, right=False, end=end, pads=pads)
    left, right = settings.context != "right", settings.context != "left"
    full = parts_of(settings) > 1
    return Windows(size, bool(settings.shrink_windows), left, right, end, pads, full=full)


def parts_of(settings: Settings) -> int:
    """Return how many input rows are concatenated in a hidden vector."""
    return int(architecture_class(settings.architecture).concatenated(window_size(settings)))


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
    size, init, end = settings.vector_size * parts_of(settings), settings.init, end_of(settings, vocabulary)
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
    parts = (architecture, objective, problem, text, windows, schedule, subwords)
    if objective.engine == "blocks":
        from w2vtrain.engines.block_engine import BlockEngine

        return BlockEngine(*parts)
    from w2vtrain.engines.window_engine import WindowEngine

    return WindowEngine(*parts)


def engine_for(
    settings: Settings, vocabulary: Vocabulary, text: Chunks, architecture: Any, subwords: Subwords | None = None
) -> Engine:
    """Return the engine that trains a model, with initial weights. architecture: see `architecture_of`; subwords: see
    `subwords_of`. Raises ConfigError if the text has documents and the objective learns arrays by contexts of words.
    """
    problem, windows = problem_of(settings, vocabulary, text), windows_of(settings, vocabulary)
    objective = build(settings.objective, problem, settings.options)
    if text.tags and objective.engine == "windows" and objective.learned():
        raise ConfigError(
            f"objective: {settings.objective} with these options learns {', '.join(objective.learned())} for contexts"
            " of words, which documents are not; choose other options, or another objective"
        )
    return make_engine(architecture, objective, problem, text, windows, schedule_of(settings), subwords)
