"""The commands that read a corpus, `fit` and `vocab`: settings, preflight, the run, its output files.

How a corpus is read and a model trained is pipeline.py's matter.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from .config import Settings, resolve
from .console import Console, duration
from .corpus import Corpus
from .errors import UsageError
from .files import STDOUT, atomic_write, check_writable
from .ids import count
from .machine import automatic_threads
from .model import Model, save_model
from .pipeline import effective, fit
from .vectors import format_of, write_vectors
from .vocab import Vocabulary


@dataclass(frozen=True)
class FitRequest:
    """What the command line of `fit` asks for; flags: settings as text."""

    sources: Sequence[str]
    flags: dict[str, Any]
    output: str
    format_: str | None = None
    save_output_vectors: str | None = None
    save_model: str | None = None
    save_vocab: str | None = None
    read_vocab: str | None = None
    config: str | None = None
    cache_dir: str | None = None
    force: bool = False
    print_config: bool = False
    quiet: bool = False
    progress_every: float = 30.0


def run_fit(request: FitRequest) -> None:
    """Train and write. Nothing is read for minutes before a mistake in settings or outputs is told."""
    asked, origins = resolve(request.flags, config=request.config)
    settings, reason = effective(asked)
    if request.print_config:
        print_settings(asked, settings, origins)
        return
    files = preflight(request)
    console = Console(request.quiet, request.progress_every)
    try:
        console.say(headline(settings, reason))
        vocabulary = Vocabulary.load(request.read_vocab) if request.read_vocab else None
        folder = Path(request.cache_dir) if request.cache_dir else cache_folder(request.output)
        model = fit(request.sources, settings, vocabulary=vocabulary, folder=folder, events=console.events())
        started = time.monotonic()
        write_results(request, model)
        console.summary(model, files, time.monotonic() - started)
    finally:
        console.close()


def headline(settings: Settings, reason: str) -> str:
    """The settings that matter most, with what was chosen for the user."""
    options = ", ".join(f"{key} {value}" for key, value in settings.options.items())
    objective = settings.objective + (f" ({options})" if options else "")
    threads = f"{settings.threads} thread{'s' * (settings.threads != 1)} ({reason})"
    return (
        f"settings    {settings.model}, {objective}, {settings.vector_size} dimensions, window {settings.window},"
        f" alpha {settings.alpha:g}, {settings.epochs} epochs, {threads}"
    )


def outputs(request: FitRequest) -> list[str]:
    """All files that the run will write; the record beside the vectors comes last."""
    named = [request.output, request.save_output_vectors, request.save_model, request.save_vocab]
    files = [file for file in named if file]
    return files if request.output == STDOUT else [*files, record_file(request.output)]


def record_file(output: str) -> str:
    """Where the settings and the record go: beside the vectors."""
    return f"{output}.json"


def preflight(request: FitRequest) -> list[str]:
    """Check every output file; returns their names."""
    format_of(request.output, request.format_)
    if request.save_output_vectors:
        format_of(request.save_output_vectors, request.format_)
    files = outputs(request)
    if twice := {file for file in files if files.count(file) > 1}:
        raise UsageError(f"{twice.pop()}: named for two outputs")
    for file in files:
        check_writable(file, request.force)
    return files


def cache_folder(output: str) -> Path | None:
    """Beside the output, where there is room for results; the system's folder if that is standard output."""
    return None if output == STDOUT else Path(output).resolve().parent


def write_results(request: FitRequest, model: Model) -> None:
    """The vectors first; what else was asked for after them."""
    write_vectors(request.output, model.words, model.input, request.format_, request.force)
    if request.save_output_vectors:
        rows = len(model.output)
        names = model.words if rows == len(model.words) else [f"node_{i}" for i in range(rows)]
        write_vectors(request.save_output_vectors, names, model.output, request.format_, request.force)
    if request.save_model:
        save_model(request.save_model, model, request.force)
    if request.save_vocab:
        Vocabulary(model.words, model.counts).save(request.save_vocab, request.force)
    if request.output != STDOUT:
        about = {"settings": model.settings, "record": model.record}
        with atomic_write(record_file(request.output), request.force) as file:
            file.write(json.dumps(about, indent=1).encode() + b"\n")


def print_settings(asked: Settings, settings: Settings, origins: dict[str, str]) -> None:
    """The effective settings as TOML, each with its origin."""
    before = asdict(asked)
    for name, value in asdict(settings).items():
        if name == "options":
            continue
        origin = "chosen automatically" if before[name] != value else origins[name]
        text = json.dumps(value) if value is not None else '"" # none'
        click.echo(f"{'# ' if value is None else ''}{name} = {text}  # {origin}")
    click.echo("[options]")
    for name, value in settings.options.items():
        click.echo(f"{name} = {json.dumps(value)}  # {origins['options'] if name in asked.options else 'default'}")


def run_vocab(sources: Sequence[str], output: str, threads: str, force: bool, tokenizer: str, **cut: Any) -> None:
    """Count words and write them."""
    asked, _ = resolve({"threads": threads}, {})
    number = automatic_threads()[0] if asked.threads == "auto" else int(asked.threads)
    check_writable(output, force)
    console, started = Console(), time.monotonic()
    try:
        vocabulary, stats = count(
            Corpus(sources, tokenizer), threads=number, progress=console.events().reading, **cut
        )
    finally:
        console.close()
    vocabulary.save(output, force)
    console.say(
        f"{stats.tokens:,} words, {stats.types:,} different, {len(vocabulary):,} kept,"
        f" in {duration(time.monotonic() - started)}"
    )
