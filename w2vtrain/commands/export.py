"""The command `export`: write the vectors of an unfinished run, from its folder alone.

It trains nothing, and needs no corpus.
"""

import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import NDArray

from w2vtrain.architectures import architecture_class
from w2vtrain.commands.plan import check_export
from w2vtrain.commands.request import Export
from w2vtrain.config import Settings, validated
from w2vtrain.engines.schedule import State
from w2vtrain.errors import ConfigError, DataError, InputMissing
from w2vtrain.formats.transforms import Combined, exported
from w2vtrain.formats.vectors import format_of, write_vectors
from w2vtrain.objectives import objective_class
from w2vtrain.permission import Named, placed, require
from w2vtrain.registry import CodeNotAllowed, is_code
from w2vtrain.system.terminal import echo
from w2vtrain.training.checkpoint import Checkpoint, load, numbers
from w2vtrain.training.inputs import vocabulary_checksum
from w2vtrain.training.journal import CONFIG, VOCABULARY, Journal
from w2vtrain.training.predictor import architecture_of
from w2vtrain.training.run_folder import kept_vocabulary, stored


def export(run: str, output: str, format_: str | None, which: Export, force: bool, named: Named) -> None:
    """Write the vectors of the newest undamaged checkpoint. No lock is taken, so the run may continue meanwhile.

    which: as for `fit --export`; named: as for `resume`.
    """
    folder = Path(run)
    format_of(output, format_)
    named.allow()
    journal = stored(folder, InputMissing)
    settings = settings_of(folder, journal)
    if which == "auto":
        which = chosen(journal)
    own = is_code(settings.objective)  # which is not run: input vectors are written unless others are requested
    if not own:
        check_export(which, settings.objective)
    found = _newest(folder)
    if found is None:
        advice = "send it SIGUSR1 to save one" if hasattr(signal, "SIGUSR1") else "wait for its first checkpoint"
        raise InputMissing(f"{folder}: the run has no checkpoint yet: {advice}")
    vocabulary = kept_vocabulary(folder)
    try:
        best, identity = found.facts["best"], found.facts["corpus"]["vocabulary"]
        epoch, epochs = State.read(found.facts["state"]).epoch, settings.epochs
        where = f"in epoch {epoch + 1} of {epochs}" if epoch < epochs else "at the end of training"
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"checkpoint {found.number}: its description of the run is invalid: {error!r}") from error
    if vocabulary_checksum(vocabulary) != identity:
        raise DataError(f"{folder / VOCABULARY}: not the vocabulary of checkpoint {found.number}")
    rows: NDArray[np.float32] | Combined = _vectors(found, bool(best), settings, vocabulary.words)
    blend = architecture_class(settings.architecture).blend()
    if which == "auto":
        blends = not own and objective_class(settings.objective).blends(settings.architecture)
        which = cast("Export", blend.preferred(blends, int(vocabulary.counts.sum())))
    if which != "in":
        rows = exported(rows[:], _output_vectors(found, bool(best), settings, len(rows)), which, blend.share, folder)
    write_vectors(output, vocabulary.words, rows, format_, force)
    for why in found.skipped:
        echo(f"warning: {why}; using the checkpoint before it", err=True)
    origin = "from the best epoch so far on held-out text" if best else "current weights"
    echo(f"{output}: {len(rows):,} vectors of checkpoint {found.number}, {where}, {origin}", err=True)


def chosen(journal: Journal) -> Export:
    """Return the --export of the `fit` that began a run, "auto" if its folder does not say."""
    asked = journal.description.get("request")
    found: Any = asked.get("export") if isinstance(asked, dict) else None
    return found if found in get_args(Export) else "auto"


def settings_of(folder: Path, journal: Journal) -> Settings:
    """Return the settings of a run. Raise DataError if they are damaged, and CodeNotAllowed as `resume` does."""
    try:
        settings = validated(journal.description["settings"])
        cwd = str(journal.description["cwd"])
        require(settings.objective, settings.architecture, cwd)
    except CodeNotAllowed:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, ConfigError) as error:
        raise DataError(f"{folder}: its {CONFIG} is damaged: {error}") from error
    return replace(settings, architecture=placed(settings.architecture, cwd))


def _newest(folder: Path) -> Checkpoint | None:
    """Return the newest checkpoint, even while the run writes and deletes checkpoints; None if there is none."""
    while True:
        before = numbers(folder)
        try:
            if (found := load(folder)) or before == numbers(folder):
                return found
        except DataError:
            if before == numbers(folder):
                raise


def _vectors(found: Checkpoint, best: bool, settings: Settings, words: Sequence[str]) -> np.ndarray:
    """Return the word vectors (V, d) of a checkpoint: of the best epoch, or the current ones."""
    if best:
        return _rows(found, "best.input", len(words), settings.vector_size)
    architecture = architecture_of(settings, words)
    rows = _rows(found, "input", architecture.input_rows(len(words)), settings.vector_size)
    return np.asarray(architecture.vectors(rows))


def _output_vectors(found: Checkpoint, best: bool, settings: Settings, words: int) -> np.ndarray:
    """Return the output vectors (V, d) that belong to `_vectors`; DataError if the checkpoint has none."""
    names = ["best.output"] if best else ["output", "learned.output"]  # with windows, and with blocks
    if kept := [name for name in names if name in found.arrays]:
        return _rows(found, kept[0], words, settings.vector_size)
    raise DataError(
        f"checkpoint {found.number}: objective {settings.objective} computes its output vectors only at the end of"
        " training; use --export in"
    )


def _rows(found: Checkpoint, name: str, size: int, dim: int) -> np.ndarray:
    """Return an array of a checkpoint as (size, dim), without padding; DataError if its shape or dtype is wrong."""
    rows = found.arrays.get(name, np.empty(0))
    if rows.ndim != 2 or len(rows) != size or rows.shape[1] < dim or rows.dtype != np.float32:
        raise DataError(
            f"checkpoint {found.number}: its array {name} does not hold {size:,} vectors of {dim} dimensions"
        )
    return rows[:, :dim]
