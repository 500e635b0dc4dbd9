"""The commands that read a corpus, `fit` and `vocab`: settings, preflight, the run, its output files.

How a corpus is read and a model trained is pipeline.py's matter.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, get_type_hints

import click
import numpy as np

from .api import cut_vocabulary
from .checkpoint import locked, numbers
from .compare import Comparison, contenders, write_reports
from .compare import run as compare
from .config import Settings, resolve, validated
from .console import Console, duration, json_lines
from .errors import ConfigError, DataError, InputMissing, OutputError, UsageError, W2VError
from .files import STDOUT, atomic_write, check_writable, open_input
from .ids import count
from .machine import automatic_threads
from .model import Model, load_model, save_model
from .objectives import engine_of, objective_class, objectives
from .pipeline import corpus_of, effective, fit, perplexity
from .problem import Problem
from .runs import CONFIG, Run, listening, stored
from .vectors import format_of, write_vectors
from .vocab import Vocabulary


@dataclass(frozen=True)
class FitRequest:
    """What the command line of `fit` asks for; flags: settings as text; output: "" only with print_config."""

    sources: Sequence[str]
    flags: dict[str, Any]
    output: str
    format_: str | None = None
    save_output_vectors: str | None = None
    save_model: str | None = None
    save_vocab: str | None = None
    read_vocab: str | None = None
    heldout: Sequence[str] = ()
    log_json: str | None = None
    config: str | None = None
    cache_dir: str | None = None
    force: bool = False
    print_config: bool = False
    quiet: bool = False
    progress_every: float = 30.0
    run: str | None = None
    checkpoint_every: float = 10.0


def run_fit(request: FitRequest, environment: Mapping[str, str] = os.environ) -> None:
    """Train and write. Nothing is read for minutes before a mistake in settings, inputs or outputs is told."""
    asked, origins = resolve(request.flags, environment, request.config)
    for name, why in without_effect(asked).items():
        if origins[name] == "command line":
            raise ConfigError(why)
    if request.read_vocab and origins["min_count"] == "default":
        asked = replace(asked, min_count=1)
        origins["min_count"] = "--read-vocab"
    if asked.patience and not request.heldout:
        raise ConfigError("patience: needs --heldout, the text whose perplexity is watched")
    settings, reason = effective(asked)
    if request.print_config:
        print_settings(asked, settings, origins)
        return
    folder = run_folder(request)
    if folder is None:
        _fit(request, settings, reason, None)
        return
    with locked(folder):
        run = Run(folder, request.checkpoint_every * 60)
        try:
            _fit(request, settings, reason, run)
            run.finish()
        finally:
            run.tidy()


def without_effect(settings: Settings) -> dict[str, str]:
    """Settings that the model or the objective has no use for, and what to tell who asks for them."""
    found = {}
    if settings.model != "cbow":
        found["cbow_gradient"] = f"cbow-gradient: {settings.model} has none; say --model cbow, too"
    elif settings.context_weights:
        found["cbow_gradient"] = "cbow-gradient: has no effect with --context-weights, whose sum is no mean"
    if engine_of(settings.objective) == "windows":
        found["block"] = f"block: objective {settings.objective} learns window by window, and has no blocks"
    return found


def run_folder(request: FitRequest) -> Path | None:
    """Where checkpoints go: as asked for, or beside the vectors; None where these go to a pipe or a device."""
    if request.run:
        return Path(request.run)
    return None if streamed(request.output) else Path(f"{request.output}.run")


def _fit(request: FitRequest, settings: Settings, reason: str, run: Run | None) -> None:
    found = None
    if run:
        about = {"cwd": str(Path.cwd()), "request": asdict(request)}
        found = run.begin(settings, about, anew=request.force)
    if found:  # outputs that are there were written by this run, before it was killed
        request = replace(request, force=True)
    files = preflight(request, settings)
    vocabulary = None
    if request.read_vocab:
        vocabulary = cut_vocabulary(Vocabulary.load(request.read_vocab), settings.min_count, settings.max_vocab)
    with json_lines(request.log_json) as log:
        console = Console(request.quiet, request.progress_every, log)
        try:
            console.say(headline(settings, reason))
            for why in found.skipped if found else []:
                console.say(f"warning     {why}; going on from the checkpoint before it")
            with listening(run) if run else nullcontext():
                model = fit(
                    request.sources,
                    settings,
                    vocabulary=vocabulary,
                    heldout=request.heldout,
                    folder=Path(request.cache_dir) if request.cache_dir else cache_folder(request.output),
                    events=console.events(),
                    run=run,
                    found=found,
                )
                started = time.monotonic()
                with rescued(run):
                    write_results(request, model)
            console.summary(model, files, time.monotonic() - started)
        finally:
            console.close()


@contextmanager
def rescued(run: Run | None) -> Iterator[None]:
    """Where results cannot be written, save what was learned and say so."""
    try:
        yield
    except W2VError as error:
        if run is None:
            raise
        with suppress(W2VError):
            run.save()
        if not numbers(run.folder):
            raise
        hint = f"what was learned is saved: w2vtrain resume {run.folder} writes it once this is mended"
        raise type(error)(f"{error}; {hint}") from error


def run_resume(folder: str, quiet: bool, force: bool) -> None:
    """Go on with a run that was stopped or killed, as it was asked for then."""
    run = Path(folder).resolve()
    request, cwd = asked_before(run, stored(run))
    try:
        os.chdir(cwd)
    except (OSError, ValueError) as error:
        raise InputMissing(f"{cwd}: the folder that the run was started in is gone") from error
    run_fit(replace(request, quiet=quiet, force=force or request.force), environment={})


def asked_before(run: Path, about: dict[str, Any]) -> tuple[FitRequest, str]:
    """What a run's folder says was asked for, and the working folder of then; DataError where it does not."""
    try:
        cwd, settings = about["cwd"], validated(about["settings"])
        mistakes = without_effect(settings)  # these would be, given on the command line
        flags = {name: value for name, value in vars(settings).items() if value is not None and name not in mistakes}
        request = FitRequest(**{**about["request"], "flags": flags, "config": None, "run": str(run)})
    except (KeyError, TypeError, AttributeError, ConfigError) as error:
        raise DataError(f"{run}: its {CONFIG} is not of a run: {error}") from error
    wanted = get_type_hints(FitRequest)
    for name, value in [("cwd", cwd), *vars(request).items()]:
        if not _fits(value, wanted.get(name, str)):
            raise DataError(f"{run}: its {CONFIG} is not of a run: {name} is {str(value)[:60]!r}")
    return request, cwd


def _fits(value: Any, hint: Any) -> bool:
    """Whether JSON gave what a field of FitRequest holds."""
    kind: Any = {Sequence[str]: list, dict[str, Any]: dict, float: (int, float)}.get(hint, hint)
    return isinstance(value, kind) and (kind is not list or all(isinstance(item, str) for item in value))


def headline(settings: Settings, reason: str) -> str:
    """The settings that matter most, with what was chosen for the user."""
    options = ", ".join(f"{key} {value}" for key, value in settings.options.items())
    objective = settings.objective + (f" ({options})" if options else "")
    threads = f"{settings.threads} thread{'s' * (settings.threads != 1)} ({reason})"
    return (
        f"settings    {settings.model}, {objective}, {settings.vector_size} dimensions, window {settings.window},"
        f" alpha {settings.alpha:g}, {settings.epochs} epoch{'s' * (settings.epochs != 1)}, {threads}"
    )


def outputs(request: FitRequest) -> list[str]:
    """All files that the run will write; the record beside the vectors comes last."""
    named = [request.output, request.save_output_vectors, request.save_model, request.save_vocab, record_file(request)]
    return [file for file in named if file]


def record_file(request: FitRequest) -> str | None:
    """Where the settings and the record go: beside the vectors, if these are a file."""
    return None if streamed(request.output) else f"{request.output}.json"


def streamed(output: str) -> bool:
    """Whether the vectors go to a pipe or a device, beside which nothing can lie."""
    return output == STDOUT or (Path(output).exists() and not Path(output).is_file() and not Path(output).is_dir())


def preflight(request: FitRequest, settings: Settings) -> list[str]:
    """Look at every input and try every output file; returns the outputs' names."""
    built = check_options(settings)
    if request.save_output_vectors and hasattr(built, "output") and not len(built.output):
        raise ConfigError(f"save-output-vectors: objective {settings.objective} has no output rows, no vectors to save")
    vectors = [file for file in (request.output, request.save_output_vectors) if file]
    for file in vectors:
        format_of(file, request.format_)
    files = outputs(request)
    all_files = [*files, *filter(None, [request.log_json])]
    written = [os.path.realpath(file) for file in all_files]
    if twice := [file for file, path in zip(all_files, written, strict=True) if written.count(path) > 1]:
        raise UsageError(f"{twice[0]}: named for two outputs")
    corpus = [file.path for file in corpus_of(request.sources, settings).files]
    if request.heldout:
        corpus += [file.path for file in corpus_of(request.heldout, settings).files]
        if corpus.count(STDOUT) > 1:
            raise UsageError("-: stdin cannot be both the corpus and the held-out text")
    inputs = {os.path.realpath(file) for file in [*corpus, request.read_vocab, request.config] if file and file != "-"}
    if lost := [file for file, path in zip(all_files, written, strict=True) if path in inputs]:
        raise UsageError(f"{lost[0]}: named for input and output; choose another name")
    for file in all_files:
        check_writable(file, request.force)
    return files


def check_options(settings: Settings) -> Any:
    """Have the objective say what its options may not be: by its own `check`, or by building it for two words.

    Returns what was built, or None.
    """
    cls = objective_class(settings.objective)
    if hasattr(cls, "check"):
        cls.check(settings.options)
        return None
    return cls.build(Problem(["a", "b"], np.array([2, 1]), settings.vector_size, settings.bias), **settings.options)


def cache_folder(output: str) -> Path | None:
    """Beside the output, where there is room for results; the system's folder if that is a pipe or a device."""
    return None if streamed(output) else Path(output).resolve().parent


def write_results(request: FitRequest, model: Model) -> None:
    """The vectors first; what else was asked for after them, and standard output last: its reader may leave early."""
    rows = len(model.output)
    names = model.words if rows == len(model.words) else [f"node_{i}" for i in range(rows)]
    record = {"settings": model.settings, "record": model.record}
    writers: list[tuple[str | None, Callable[[str], None]]] = [
        (request.output, lambda file: write_vectors(file, model.words, model.input, request.format_, request.force)),
        (
            request.save_output_vectors,
            lambda file: write_vectors(file, names, model.output, request.format_, request.force),
        ),
        (request.save_model, lambda file: save_model(file, model, request.force)),
        (request.save_vocab, lambda file: Vocabulary(model.words, model.counts).save(file, request.force)),
        (record_file(request), lambda file: write_json(file, record, request.force)),
    ]
    for file, write in sorted(writers, key=lambda writer: writer[0] == STDOUT):
        if file:
            write(file)


def write_json(path: str, about: dict[str, Any], force: bool) -> None:
    """One object, for people and programs."""
    with atomic_write(path, force) as file:
        file.write(json.dumps(about, indent=1).encode() + b"\n")


def print_settings(asked: Settings, settings: Settings, origins: dict[str, str]) -> None:
    """The effective settings as TOML that --config takes, each with its origin."""
    before = asdict(asked)
    for name, value in asdict(settings).items():
        origin = "chosen automatically" if before[name] != value else origins[name]
        if value is None:
            click.echo(f"# {name} is not set")
        elif name != "options":
            click.echo(toml_line(name, value, origin))
    click.echo("\n[options]")
    for name, value in settings.options.items():
        click.echo(toml_line(name, value, origins["options"] if name in asked.options else "default"))


def toml_line(name: str, value: Any, origin: str) -> str:
    """`name = value  # origin`: JSON's numbers, truth values and texts are TOML's."""
    return f"{name} = {json.dumps(value, ensure_ascii=False)}  # {origin if origin.isprintable() else ascii(origin)}"


def run_vocab(sources: Sequence[str], output: str, flags: dict[str, Any], force: bool, quiet: bool = False) -> None:
    """Count words and write them."""
    settings, _ = resolve(flags)
    threads = automatic_threads()[0] if settings.threads == "auto" else int(settings.threads)
    corpus = corpus_of(sources, settings)
    if os.path.realpath(output) in {os.path.realpath(file.path) for file in corpus.files if file.path != "-"}:
        raise UsageError(f"{output}: named for input and output; choose another name")
    check_writable(output, force)
    console, started = Console(quiet), time.monotonic()
    try:
        vocabulary, stats = count(
            corpus,
            min_count=settings.min_count,
            max_vocab=settings.max_vocab,
            threads=threads,
            progress=console.events().reading,
        )
    finally:
        console.close()
    vocabulary.save(output, force)
    console.say(
        f"{stats.tokens:,} words, {stats.types:,} different, {len(vocabulary):,} kept,"
        f" in {duration(time.monotonic() - started)}"
    )


def run_compare(
    sources: Sequence[str], flags: dict[str, Any], output: str, objectives: str, rates: str | None,
    config: str | None, **about: Any,
) -> None:  # fmt: skip
    """Train and score every objective that was named, and write the tables."""
    settings, origins = resolve(flags, config=config)
    if settings.seconds is not None and origins["epochs"] == "default":
        settings = replace(settings, epochs=1_000_000)
    for path in filter(None, [about["heldout"], about["test"], about["questions"], *about["pairs"]]):
        with open_input(path):
            pass
    corpus_of(sources, settings)
    try:
        alphas = [float(rate) for rate in rates.split(",")] if rates else []
    except ValueError:
        raise ConfigError(f"rates: expected numbers with commas between, got {rates!r}") from None
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{output}: the folder cannot be made: {error.strerror}") from None
    comparison = Comparison(
        sources=sources, folder=folder, settings=settings, contenders=contenders(objectives), rates=alphas, **about
    )
    results = compare(comparison, lambda text: click.echo(text, err=True))
    click.echo(write_reports(folder, results), nl=False)


def run_perplexity(
    model: str, sources: Sequence[str], threads: str | None, objective: str | None, as_json: bool, quiet: bool
) -> None:
    """Score held-out text and print the figures. A model's objective that is a file or a module must be asked for."""
    settings, _ = resolve({} if threads is None else {"threads": threads})
    count = automatic_threads()[0] if settings.threads == "auto" else int(settings.threads)
    loaded = load_model(model)
    named = str(loaded.settings.get("objective"))
    if named not in objectives() and named != objective:  # it is code, and the model may come from anywhere
        raise UsageError(f"{model}: its objective is no part of w2vtrain: say --objective to run the code of {named!r}")
    console = Console(quiet)
    try:
        found, coverage = perplexity(loaded, sources, count, console.events())
    finally:
        console.close()
    about = {**asdict(found), "coverage": coverage}
    if as_json:
        click.echo(json.dumps(about))
        return
    click.echo(f"perplexity     {found.perplexity:,.2f} exact, {found.unnormalised:,.2f} without normalising")
    click.echo(f"bits a word    {found.bits:.4f}")
    click.echo(f"log Z          mean {found.log_z_mean:.4f}, variance {found.log_z_variance:.4f}")
    click.echo(f"predictions    {found.examples:,}; {coverage:.2%} of the text's words are in the vocabulary")
