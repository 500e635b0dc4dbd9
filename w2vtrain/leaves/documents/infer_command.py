"""The command `infer`: write the vectors of new documents."""

from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import click

from w2vtrain.commands.input_files import check_different, check_outside, model_in, refuse_stdin_twice, warn_repeated
from w2vtrain.commands.options import (
    CODES,
    OUTPUT,
    code_options,
    command,
    dtype_option,
    format_option,
    given,
    quiet_option,
    setting_options,
)
from w2vtrain.commands.shell import imports
from w2vtrain.config import resolve
from w2vtrain.system.machine import threads_of

LEARNING, READING = ("epochs", "alpha", "min_alpha"), ("column", "encoding_errors", "allow_nul", "phrases")
SETTINGS = (*LEARNING, "threads", *READING)


@command(epilog=CODES)
@click.argument("model")
@click.argument("texts", nargs=-1, required=True)
@click.option("-o", "--output", required=True, metavar="FILE", help=OUTPUT)
@format_option
@dtype_option
@setting_options(*SETTINGS)
@code_options
@click.option("--force", is_flag=True, help="Overwrite the output file, and remove the record of its run.")
@quiet_option
def infer(
    model: str, texts: tuple[str, ...], output: str, format_: str | None, dtype: str, force: bool, quiet: bool,
    **flags: Any,
) -> None:  # fmt: skip
    """Write a vector for each line of TEXTS, or row of tables, with MODEL, which `fit --documents` saved.

    The vector of a text does not depend on other texts or on the number of threads. A line without words that the model
    knows gets zeros. Epochs, learning rates and how text is read are by default those of the model, except --column
    and --phrases.

    \b
    Example:
      w2vtrain infer reviews.safetensors new.txt -o new.vectors.txt
    """
    with imports():
        from w2vtrain.commands.console import Console
        from w2vtrain.commands.records import remove_record
        from w2vtrain.formats.vectors import Output, format_of
        from w2vtrain.leaves.documents.inference import Inference
        from w2vtrain.training.inputs import corpus_of
        from w2vtrain.training.warm_start import check_phrases
    refuse_stdin_twice(model, *texts)
    written = Output(output, format_of(output, format_), dtype)
    written.check()
    check_different(written.names, [model, *texts])
    check_outside(written.names, texts)
    written.check_writable(lambda _: force)
    settings, origins = resolve(given(flags, SETTINGS))
    mine = {name: getattr(settings, name) for name in SETTINGS if origins[name] != "default"}
    inference = Inference(model_in(model, flags))
    check_phrases(inference.settings.phrases, mine.get("phrases"), "the model")
    how = replace(inference.settings, **{"column": None} | {name: mine[name] for name in READING if name in mine})
    chosen = {name: mine[name] for name in LEARNING if name in mine}
    with closing(Console(quiet)) as console:
        source, events = corpus_of(texts, how, whole_rows=True), console.events()
        warn_repeated([file.path for file in source.files])
        vectors, known = inference.vectors(
            source, **chosen, threads=threads_of(settings.threads)[0], on_read=events.reading,
            on_learned=partial(console.stage, "inferring"), warn=events.warning,
        )  # fmt: skip
        names = [str(line + 1) for line in range(len(vectors))]
        written.write(names, vectors, lambda _: force)
        remove_record(output, force)
        if unknown := int((known == 0).sum()):
            console.say(f"warning     {unknown:,} of {len(known):,} lines have no known word: their vectors are 0")
        console.say(f"{output}: {len(vectors):,} vectors of documents, from {known.sum():,} words")
