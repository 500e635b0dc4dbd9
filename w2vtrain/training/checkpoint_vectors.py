"""The vectors of an unfinished run, read from its folder alone, which may change meanwhile.

commands/convert.py writes them. Nothing is locked or changed here.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from w2vtrain.architectures import architecture_class
from w2vtrain.config import Settings, validated
from w2vtrain.errors import ConfigError, DataError, spelled
from w2vtrain.formats.transforms import LazyRows, exported
from w2vtrain.objectives import objective_class
from w2vtrain.registry import CodeNotAllowed, is_code, placed
from w2vtrain.text.vocabulary import Vocabulary
from w2vtrain.training.checkpoint_file import BEST, Checkpoint
from w2vtrain.training.engine_parts import composer_of
from w2vtrain.training.fingerprint import vocabulary_checksum
from w2vtrain.training.run_files import CONFIG, VOCABULARY, Config, kept_vocabulary
from w2vtrain.user_code import require


def settings_of(folder: Path, config: Config) -> Settings:
    """Return the settings of a run. Raise DataError if they are damaged, and CodeNotAllowed as `resume` does."""
    try:
        settings = validated(config.settings)
        require(settings.objective, settings.architecture, config.home(folder))
    except CodeNotAllowed:
        raise
    except (ValueError, ConfigError) as error:
        raise DataError(f"{folder}: its {CONFIG} is damaged: {error}") from error
    return replace(settings, architecture=placed(settings.architecture, config.home(folder)))


def vocabulary_of(folder: Path, checkpoint: Checkpoint) -> Vocabulary:
    """Return the vocabulary of a run; DataError if a checkpoint has another. Raise also as `kept_vocabulary` does."""
    vocabulary = kept_vocabulary(folder)
    if vocabulary_checksum(vocabulary) != checkpoint.saved.corpus.vocabulary:
        raise DataError(f"{folder / VOCABULARY}: not the vocabulary of checkpoint {checkpoint.number}")
    return vocabulary


def exported_from(
    checkpoint: Checkpoint, best: bool, settings: Settings, vocabulary: Vocabulary, which: str, folder: Path
) -> np.ndarray | LazyRows:
    """Return the vectors that an --export names, of the best epoch or the current ones.

    auto: what `fit` would choose, but input vectors if the objective is code of a user, which is not run.
    """
    rows = vectors_of(checkpoint, best, settings, vocabulary.words)
    blend = architecture_class(settings.architecture).blend()
    if which == "auto":
        known = not (is_code(settings.objective) or settings.subwords)
        blends = known and objective_class(settings.objective).blends(settings.architecture)
        which = blend.preferred(blends, int(vocabulary.counts.sum()))
    if which == "in":
        return rows
    return exported(rows[:], output_vectors_of(checkpoint, best, settings, len(rows)), which, blend.share, folder)


def vectors_of(checkpoint: Checkpoint, best: bool, settings: Settings, words: Sequence[str]) -> np.ndarray:
    """Return the word vectors (V, d) of a checkpoint: of the best epoch, or the current ones."""
    if best:
        return _rows(checkpoint, f"{BEST}input", len(words), settings.vector_size)
    composed = composer_of(settings, words)
    size = composed.input_rows(len(words)) if composed else len(words)
    rows = _rows(checkpoint, "input", size, settings.vector_size)
    return np.asarray(composed.vectors(rows) if composed else rows)


def output_vectors_of(checkpoint: Checkpoint, best: bool, settings: Settings, words: int) -> np.ndarray:
    """Return the output vectors (V, d) that belong to `vectors_of`; DataError if the checkpoint has none."""
    name = f"{BEST}output" if best else "output"
    if name in checkpoint.arrays:
        return _rows(checkpoint, name, words, settings.vector_size)
    raise DataError(
        f"checkpoint {checkpoint.number}: objective {settings.objective} computes its output vectors only at the end of"
        f" training; use {spelled('export', 'in')}"
    )


def _rows(checkpoint: Checkpoint, name: str, size: int, dim: int) -> np.ndarray:
    """Return an array of a checkpoint as (size, dim), without padding; DataError if its shape or dtype is wrong."""
    rows = checkpoint.arrays.get(name, np.empty(0))
    if rows.ndim != 2 or len(rows) != size or rows.shape[1] < dim or rows.dtype != np.float32:
        raise DataError(
            f"checkpoint {checkpoint.number}: its array {name} does not hold {size:,} vectors of {dim} dimensions"
        )
    return rows[:, :dim]
