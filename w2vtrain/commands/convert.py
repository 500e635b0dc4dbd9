"""The commands that write vectors: `convert`, of a file or a model, and `export`, of the folder of an unfinished run.

What `convert` changes is computed in formats/transforms.py, and training/checkpoint_vectors.py reads the folder.
Nothing is trained, and no corpus is needed.
"""

from __future__ import annotations

import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from w2vtrain.commands.click_classes import OUTPUTS
from w2vtrain.commands.input_files import check_different, with_vectors
from w2vtrain.commands.options import (
    CODES,
    COUNT_OR_NONE,
    Export,
    code_options,
    command,
    declared,
    export_option,
    restrict_option,
    writing_options,
)
from w2vtrain.commands.records import remove_record
from w2vtrain.commands.shell import imports
from w2vtrain.errors import DataError, InputMissing, ResourceError, UsageError, W2VError
from w2vtrain.registry import is_code
from w2vtrain.system.files import STDOUT, resume_command
from w2vtrain.system.locks import holder
from w2vtrain.system.terminal import echo, one_line

if TYPE_CHECKING:
    from w2vtrain.formats.vectors import Vectors

DOCUMENTS = "documents"
EXPORTED = {
    "in": "input vectors",
    "out": "output vectors",
    "in+out": "sums of input and output vectors",
    "blend": "blends of input and output vectors",
}


@command(epilog=CODES)
@click.argument("vectors")
@writing_options
@declared(
    OUTPUTS, "--export", type=click.Choice([*get_args(Export), DOCUMENTS]), default="auto",
    help="Vectors of a model to write: input vectors, output vectors, their sums, `blend`, the centered input vectors"
    " plus a share of the centered output vectors, or `documents`, the vectors of documents by tag. `auto` is what"
    " `fit` chose for words.",
)  # fmt: skip
@restrict_option(0)
@click.option("--center", is_flag=True, help="Subtract the mean of all vectors.")
@click.option(
    "--remove-top", type=COUNT_OR_NONE, default=0, show_default=True, metavar="N",
    help="Center, and remove the N largest principal components.",
)  # fmt: skip
@click.option("--normalize", is_flag=True, help="Scale each vector to unit length; zero vectors stay zero.")
@click.option(
    "--repair", is_flag=True,
    help="Repair words with white space or invalid UTF-8, leave out other invalid rows, and report them.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite the output file, and remove the record of its run.")
def convert(
    vectors: str, output: str, format_: str | None, dtype: str, export: str, restrict_vocab: int, center: bool,
    remove_top: int, normalize: bool, repair: bool, force: bool,
) -> None:  # fmt: skip
    """Read VECTORS in any format, or from a model, change them as requested, and write them.

    The changes are made in the order of the options below, from --export to --normalize. --export needs a model that
    `fit --save-model` wrote. --remove-top is the method of Mu & Viswanath (2018), "All-but-the-top".

    --repair takes the last values of a line of text as the vector and joins what precedes them with "_"; invalid UTF-8
    becomes U+FFFD. It leaves out empty words, all rows of a word but the first, rows with too few values, and rows with
    values that are not finite numbers. It reports the first 10 invalid rows, by line or row, and counts the others.
    Tables and arrays of NumPy must have equally many values in each row.
    """
    with imports():
        from w2vtrain.formats.precision import mean_cosine
        from w2vtrain.formats.transforms import transform
        from w2vtrain.formats.vectors import Output, check_words, format_of
    written = Output(output, format_of(output, format_, models=True), dtype)
    written.check()
    check_different(written.names, files_read(vectors))
    written.check_writable(lambda _: force)
    if written.is_model:
        is_changed = bool(export != "auto" or restrict_vocab or center or remove_top or normalize or repair)
        _convert_model(vectors, output, written.form, force, is_changed)
        return
    with with_vectors(vectors) as path:
        try:
            loaded, described = read(path, export, restrict_vocab or None, repair)
            words, matrix = loaded.words, loaded.matrix
            check_words(words, path)
            transform(matrix, path, center, remove_top, normalize)
        except MemoryError as error:
            raise ResourceError(
                f"{path}: not enough memory to convert its vectors; --restrict-vocab N converts the first N"
            ) from error
    written.write(words, matrix, lambda _: force, counts=loaded.counts)
    remove_record(output, force)
    for flaw in loaded.flaws:
        echo(one_line(flaw.replace(path, "standard input" if vectors == STDOUT else vectors)), err=True)
    facts = [
        f"{len(words):,} vectors of {matrix.shape[1]:,} dimensions",
        *described,
        *["centered"] * (center or remove_top > 0),
        *[f"without {remove_top} principal component{'s' * (remove_top != 1)}"] * (remove_top > 0),
        *["of unit length"] * normalize,
        *[f"{loaded.skipped:,} row{'s' * (loaded.skipped != 1)} left out"] * (loaded.skipped > 0),
        *[f"{loaded.mended:,} word{'s' * (loaded.mended != 1)} mended"] * (loaded.mended > 0),
    ]
    if dtype != "float32":
        facts.append(f"as {dtype} (mean cosine with float32: {mean_cosine(matrix, dtype):.6f})")
    echo(f"{output}: {', '.join(facts)}", err=True)


def _convert_model(source: str, output: str, form: str, force: bool, is_changed: bool) -> None:
    """Write a model in another format of models.

    Raise UsageError if changes are requested, and DataError if there are vectors alone.
    """
    from w2vtrain.embeddings.model import load_model, save_as
    from w2vtrain.formats.model_file import MODEL, choose_vectors
    from w2vtrain.formats.sniff import MODEL_READERS, sniff

    if is_changed:
        raise UsageError(f"{output}: {form} holds a model, which is converted unchanged: use -o and --force only")
    with with_vectors(source) as path:
        if sniff(path).kind not in MODEL_READERS:
            raise DataError(
                f"{output}: a model has more than vectors, and {source} has only these: write vectors, such as"
                f" {Path(output).stem}.txt or {Path(output).stem}.bin, or convert the file of `fit --save-model`"
            )
        model = load_model(path)
        save_as(form, output, model, force)
    remove_record(output, force)
    chosen = choose_vectors(model.record)[0]
    lost = f": its input vectors, not the {EXPORTED[chosen]}" if form != MODEL.name and chosen != "in" else ""
    echo(f"{output}: a model of {len(model):,} words, {model.input.shape[1]:,} dimensions{lost}", err=True)


def files_read(path: str) -> list[str]:
    """Return an input and, if its format has one, the file beside it."""
    from w2vtrain.formats.sniff import sniff
    from w2vtrain.formats.vector_formats import formats

    with suppress(W2VError):  # which is reported when the vectors are read
        if form := formats().get(sniff(path).kind):
            return [path, *form.beside(path)]
    return [path]


def read(path: str, which: str, limit: int | None, repair: bool) -> tuple[Vectors, list[str]]:
    """Return the first `limit` words of a file with the requested vectors, and what these are if a model has several.

    Raise DataError if the file does not have these vectors, and the errors of `read_vectors` and `load_model`.
    """
    from w2vtrain.embeddings.model import load_model
    from w2vtrain.formats.model_file import MODEL, choose_vectors
    from w2vtrain.formats.sniff import sniff
    from w2vtrain.formats.vectors import Vectors, mended, read_vectors

    if sniff(path).kind != MODEL.name:
        if which != "auto":
            raise DataError(f"{path}: --export {which} needs a model, as `fit --save-model` writes it")
        return read_vectors(path, lenient=repair, limit=limit), []
    model = load_model(path)
    if which == DOCUMENTS:
        tags, rows = model.documents
        loaded, what = Vectors(tags[:limit], rows[:limit], MODEL.name), "vectors of documents"
    else:
        from w2vtrain.architectures import architectures  # imports Numba, which other files do not need

        kind = choose_vectors(model.record, which)[0]
        known = architectures().get(str(model.settings.get("architecture")))
        if known and kind != "out" and not known.uses_words():
            raise DataError(
                f"{path}: {model.settings['architecture']} trains no input vectors of words: use --export {DOCUMENTS}"
                + " or out" * (len(model.output) == len(model.words))
            )
        vectors, what = model._exported(which)[:limit], EXPORTED[kind]
        loaded = Vectors(model.words[:limit], vectors, MODEL.name, counts=model.counts[:limit])
    return mended(loaded, path) if repair else loaded, [what]


@command(epilog=CODES)
@click.argument("run")
@writing_options
@export_option
@click.option("--force", is_flag=True, help="Overwrite the output file, and remove the record of its run.")
@code_options
def export(
    run: str, output: str, format_: str | None, dtype: str, export: Export, force: bool, **named: str | None
) -> None:  # fmt: skip
    """Write the vectors of the last checkpoint in folder RUN, or of the best epoch so far if it has --heldout text.

    The run may still be training and is not affected. The corpus is not needed. Vectors of documents are written only
    when their run ends.
    """
    with imports():
        from w2vtrain.architectures import architecture_class
        from w2vtrain.commands.fit_plan import check_apart, check_export
        from w2vtrain.formats.vectors import Output, format_of
        from w2vtrain.training.checkpoint_file import newest
        from w2vtrain.training.checkpoint_vectors import exported_from, settings_of, vocabulary_of
        from w2vtrain.training.run_files import LOCK, run_config
        from w2vtrain.user_code import Named
    folder = Path(run)
    written = Output(output, format_of(output, format_), dtype)
    written.check()
    code = Named(**named)
    code.allow()
    config = run_config(folder)
    config.settings = code.in_place_of(config.settings, config.home(folder))
    check_apart(written.names, folder)
    written.check_writable(lambda _: force)  # another run, or this one, may be going to write them
    settings = settings_of(folder, config)
    if architecture_class(settings.architecture).uses_tags():
        raise UsageError(f"{run}: vectors of documents are written when the run ends: {resume_command(run)}")
    if export == "auto":
        chosen: Any = config.request.get("export")  # as `plan_fit` decided, unless someone changed the folder
        export = chosen if chosen in get_args(Export) else "auto"
    if not is_code(settings.objective):  # which is not run: input vectors are written unless others are requested
        check_export(export, settings)
    checkpoint = newest(folder, config.run)
    if checkpoint is None:
        advice = f"it has ended: {resume_command(run)} continues it"
        if process := holder(folder / LOCK):
            advice = f"send SIGUSR1 to process {process}, or wait" if hasattr(signal, "SIGUSR1") else "wait"
        raise InputMissing(f"{folder}: the run has no checkpoint yet: {advice}")
    saved = checkpoint.saved
    vocabulary = vocabulary_of(folder, checkpoint)
    state, epochs = saved.state, settings.epochs
    where = "at the end of training" if state.has_ended(epochs) else f"in epoch {state.current} of {epochs}"
    rows = exported_from(checkpoint, saved.best, settings, vocabulary, export, folder)
    written.write(vocabulary.words, rows, lambda _: force, counts=vocabulary.counts)
    remove_record(output, force)
    for why in checkpoint.skipped:
        echo(f"warning: {why}; using the checkpoint before it", err=True)
    if (start := saved.corpus.init_from) and start.kept:
        others = f"{start.kept:,} other word{'s' * (start.kept != 1)} of {start.name}"
        echo(one_line(f"warning: {output} lacks the {others}, which `fit` adds at the end"), err=True)
    origin = "from the best epoch so far on held-out text" if saved.best else "current weights"
    echo(f"{output}: {len(rows):,} vectors of checkpoint {checkpoint.number}, {where}, {origin}", err=True)
