"""The command `export`: write the vectors of an unfinished run, from its folder alone.

It trains nothing, and needs no corpus. training/unfinished.py reads the folder.
"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import click

from w2vtrain.commands.options import CODES, code_options, command, writing_options
from w2vtrain.commands.request import Export
from w2vtrain.commands.shell import imports
from w2vtrain.errors import DataError, InputMissing
from w2vtrain.registry import is_code
from w2vtrain.system.terminal import echo

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from w2vtrain.formats.transforms import LazyRows


@command(epilog=CODES, short_help="Write the vectors of an unfinished run.")
@click.argument("run")
@writing_options
@click.option("--force", is_flag=True, help="Overwrite the output file.")
@code_options
def export(
    run: str, output: str, format_: str | None, dtype: str, export: Export, force: bool, **named: str | None
) -> None:  # fmt: skip
    """Write the vectors of the last checkpoint in folder RUN, or of the best epoch so far if it has --heldout text.

    The run may still be training and is not affected. The corpus is not needed.
    """
    with imports():
        from w2vtrain.architectures import architecture_class
        from w2vtrain.commands.plan import check_export
        from w2vtrain.formats.transforms import exported
        from w2vtrain.formats.vectors import check_output, format_of, write_as
        from w2vtrain.objectives import objective_class
        from w2vtrain.training.fingerprint import vocabulary_checksum
        from w2vtrain.training.journal import VOCABULARY
        from w2vtrain.training.run_folder import kept_vocabulary, stored
        from w2vtrain.training.unfinished import newest, output_vectors_of, settings_of, vectors_of
        from w2vtrain.user_code import Named
    folder = Path(run)
    form = format_of(output, format_)
    check_output(output, form, dtype)
    Named(**named).allow()
    journal = stored(folder, InputMissing)
    settings = settings_of(folder, journal)
    if export == "auto":
        export = chosen_for(journal.description)
    own = is_code(settings.objective)  # which is not run: input vectors are written unless others are requested
    if not own:
        check_export(export, settings)
    checkpoint = newest(folder)
    if checkpoint is None:
        advice = "send it SIGUSR1 to save one" if hasattr(signal, "SIGUSR1") else "wait for its first checkpoint"
        raise InputMissing(f"{folder}: the run has no checkpoint yet: {advice}")
    vocabulary = kept_vocabulary(folder)
    saved = checkpoint.saved()
    state, epochs = saved.state, settings.epochs
    where = "at the end of training" if state.has_ended(epochs) else f"in epoch {state.current} of {epochs}"
    if vocabulary_checksum(vocabulary) != saved.corpus.vocabulary:
        raise DataError(f"{folder / VOCABULARY}: not the vocabulary of checkpoint {checkpoint.number}")
    rows: NDArray[np.float32] | LazyRows = vectors_of(checkpoint, saved.best, settings, vocabulary.words)
    blend = architecture_class(settings.architecture).blend()
    if export == "auto":
        blends = not (own or settings.subwords) and objective_class(settings.objective).blends(settings.architecture)
        export = cast("Export", blend.preferred(blends, int(vocabulary.counts.sum())))
    if export != "in":
        rows = exported(
            rows[:], output_vectors_of(checkpoint, saved.best, settings, len(rows)), export, blend.share, folder
        )
    write_as(form, output, vocabulary.words, rows, lambda _: force, counts=vocabulary.counts, dtype=dtype)
    for why in checkpoint.skipped:
        echo(f"warning: {why}; using the checkpoint before it", err=True)
    origin = "from the best epoch so far on held-out text" if saved.best else "current weights"
    echo(f"{output}: {len(rows):,} vectors of checkpoint {checkpoint.number}, {where}, {origin}", err=True)


def chosen_for(about: dict[str, Any]) -> Export:
    """Return the --export of the `fit` that began a run, "auto" if the description of the run does not say."""
    request = about.get("request")
    export: Any = request.get("export") if isinstance(request, dict) else None
    return export if export in get_args(Export) else "auto"
