"""The commands `fit` and `resume`: settings, preflight, the run.

How a corpus is read and a model trained is pipeline.py's matter; which files are written, outputs.py's.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_type_hints

import click

from .api import cut_vocabulary
from .checkpoint import Checkpoint, locked, numbers
from .config import Settings, resolve, validated
from .console import Console, json_lines, warn
from .errors import ConfigError, DataError, InputMissing, W2VError
from .machine import automatic_threads
from .objectives import engine_of
from .outputs import FitRequest, cache_folder, preflight, streamed, write_results
from .pipeline import effective, fit
from .runs import CONFIG, Run, listening, stored
from .vocab import Vocabulary
from .writer import SLOW


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
        run = Run(folder, request.checkpoint_every * 60, request.on_full == "wait")
        try:
            _fit(request, settings, reason, run)
            run.finish()
        except Exception:
            run.settle(SLOW)
            raise
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
        about = {"cwd": working_folder(), "request": asdict(request)}
        found = run.begin(settings, about, anew=request.force)
    mine = own_outputs(run, request, found) if run else set()
    files = preflight(request, settings, mine)
    vocabulary = None
    if request.read_vocab:
        vocabulary = cut_vocabulary(Vocabulary.load(request.read_vocab), settings.min_count, settings.max_vocab)
    with json_lines(request.log_json, request.on_full == "wait") as log:
        console = Console(request.quiet, request.progress_every, log)
        if run:
            run.warn = lambda line: console.say(f"warning     {line}")
            run.alarm = lambda line: warn(f"warning     {line}")
        try:
            console.say(headline(settings, reason))
            if warning := crowded(settings.threads):
                console.say(warning)
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
                    allow_changed=request.allow_changed,
                )
                started = time.monotonic()
                if run:
                    run.writing(files)
                with rescued(run):
                    write_results(request, model, mine, *([run.await_room] if run else []))
            console.summary(model, files, time.monotonic() - started)
        finally:
            console.close()


def own_outputs(run: Run, request: FitRequest, found: Checkpoint | None) -> set[str]:
    """Real paths of the files that are there, if they are, because this run was writing them when it was killed."""
    log = request.log_json
    followed = found and log and run.asked.get("log_json") == log  # it is written from the start on
    return run.mine | ({os.path.realpath(log)} if followed and log else set())


def working_folder() -> str:
    """Where relative names start; InputMissing where it was deleted."""
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        raise InputMissing("the working folder is gone: change to one that exists") from None


@contextmanager
def rescued(run: Run | None) -> Iterator[None]:
    """Where results cannot be written, save what was learned and say so."""
    try:
        yield
    except W2VError as error:
        if run is None:
            raise
        try:
            run.save()
            what, does = "what was learned is saved", "writes it once this is mended"
        except W2VError:
            what, does = "the last checkpoint stays", "goes on from it"
        if not numbers(run.folder):
            raise
        raise type(error)(f"{error}; {what}: w2vtrain resume {run.folder} {does}") from error


def run_resume(folder: str, quiet: bool, force: bool, allow_changed: bool) -> None:
    """Go on with a run that was stopped or killed, as it was asked for then."""
    run = Path(folder).resolve()
    request, cwd = asked_before(run, stored(run))
    try:
        os.chdir(cwd)
    except (OSError, ValueError) as error:
        raise InputMissing(f"{cwd}: the folder that the run was started in is gone") from error
    asked = replace(request, quiet=quiet, force=force or request.force, allow_changed=allow_changed)
    run_fit(asked, environment={})


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


def crowded(threads: int | str) -> str | None:
    """A warning where there are more threads than cores for them."""
    cores, why = automatic_threads()
    if int(threads) <= cores:
        return None
    return f"warning     {threads} threads have {cores} core{'s' * (cores != 1)} ({why}), and will wait for one another"


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
