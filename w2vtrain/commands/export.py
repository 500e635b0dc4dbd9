"""The command `export`: write the vectors of an unfinished run, from its folder alone.

It trains nothing, and needs no corpus. training/checkpoint_vectors.py reads the folder.
"""

import signal
from pathlib import Path
from typing import Any, get_args

import click

from w2vtrain.commands.options import CODES, code_options, command, writing_options
from w2vtrain.commands.request import Export
from w2vtrain.commands.shell import imports
from w2vtrain.errors import InputMissing
from w2vtrain.registry import is_code
from w2vtrain.system.terminal import echo


@command(epilog=CODES)
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
        from w2vtrain.commands.plan import check_export
        from w2vtrain.formats.vectors import check_output, format_of, write_as
        from w2vtrain.training.checkpoint_vectors import exported_from, newest, settings_of, vocabulary_of
        from w2vtrain.training.folder import stored
        from w2vtrain.user_code import Named
    folder = Path(run)
    form = format_of(output, format_)
    check_output(output, form, dtype)
    Named(**named).allow()
    journal = stored(folder, InputMissing)
    settings = settings_of(folder, journal)
    if export == "auto":
        export = chosen_for(journal.description)
    if not is_code(settings.objective):  # which is not run: input vectors are written unless others are requested
        check_export(export, settings)
    checkpoint = newest(folder)
    if checkpoint is None:
        advice = "send it SIGUSR1 to save one" if hasattr(signal, "SIGUSR1") else "wait for its first checkpoint"
        raise InputMissing(f"{folder}: the run has no checkpoint yet: {advice}")
    saved = checkpoint.saved()
    vocabulary = vocabulary_of(folder, checkpoint, saved)
    state, epochs = saved.state, settings.epochs
    where = "at the end of training" if state.has_ended(epochs) else f"in epoch {state.current} of {epochs}"
    rows = exported_from(checkpoint, saved.best, settings, vocabulary, export, folder)
    write_as(form, output, vocabulary.words, rows, lambda _: force, counts=vocabulary.counts, dtype=dtype)
    for why in checkpoint.skipped:
        echo(f"warning: {why}; using the checkpoint before it", err=True)
    origin = "from the best epoch so far on held-out text" if saved.best else "current weights"
    echo(f"{output}: {len(rows):,} vectors of checkpoint {checkpoint.number}, {where}, {origin}", err=True)


def chosen_for(description: dict[str, Any]) -> Export:
    """Return the --export of the `fit` that began a run, "auto" if the description of the run does not say."""
    export: Any = description["request"].get("export")
    return export if export in get_args(Export) else "auto"
