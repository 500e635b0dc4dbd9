"""The command `fit`: resolve the settings, check inputs and outputs, run the training, and write log and results.

Training is in training/fit.py, the checks before it in preflight.py, and the writing of results in outputs.py.
"""

import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TextIO

from w2vtrain.api import cut_vocabulary
from w2vtrain.commands.console import Console, Log, json_lines, warn
from w2vtrain.commands.outputs import locked_outputs, write_results
from w2vtrain.commands.preflight import check_apart, check_begun, check_folders, preflight
from w2vtrain.commands.ranks import Ranks, agreed, joined, tidy
from w2vtrain.commands.request import FitRequest, all_outputs, cache_folder, is_stream, run_folder
from w2vtrain.commands.shell import explained
from w2vtrain.config import Settings, check_rules, resolve
from w2vtrain.errors import ConfigError, DataError, InputMissing, Stopped, UsageError, W2VError
from w2vtrain.objectives import engine_of, stated_options
from w2vtrain.permission import Named
from w2vtrain.system.files import atomic_write
from w2vtrain.system.machine import automatic_threads
from w2vtrain.system.terminal import echo
from w2vtrain.system.trust import answering
from w2vtrain.text.vocabulary import Vocabulary
from w2vtrain.training.checkpoint import Checkpoint, locked, numbers
from w2vtrain.training.fit import effective
from w2vtrain.training.fit import fit as train
from w2vtrain.training.inputs import Inputs
from w2vtrain.training.run_folder import Run, listening
from w2vtrain.training.warm_start import WarmStart
from w2vtrain.training.writer import SLOW

NOBODY = Named()


def fit(
    request: FitRequest, environment: Mapping[str, str] = os.environ, named: Named = NOBODY, resumed: bool = False
) -> None:
    """Train and write the results. Errors in settings, inputs and outputs are reported before anything is read.

    named: the objective and the architecture that the command line names, whose code may run; resumed: the request
    comes from a run folder, not from the command line.
    """
    with joined(request) as ranks:
        named.allow()
        _fit_agreed(request, environment, resumed, ranks)


def _fit_agreed(request: FitRequest, environment: Mapping[str, str], resumed: bool, ranks: Ranks | None) -> None:
    """Resolve the settings, the same on all ranks, and run `fit` as this rank."""
    start = WarmStart.load(request.init_from) if request.init_from else None
    asked, origins = (start.resolve if start else resolve)(request.flags, environment, request.config)
    for name, why in without_effect(asked).items():
        if origins[name] == "command line":
            raise ConfigError(why)
    if request.read_vocab and origins["min_count"] == "default":
        asked = replace(asked, min_count=1)
        origins["min_count"] = "--read-vocab"
    request = replace(request, raw=origins["tokenizer"] == "default")
    check_rules(asked, heldout=bool(request.heldout))
    settings, reason = effective(asked)
    check_start(request, settings, start)
    if request.print_config:
        print_settings(asked, settings, origins)
        return
    if ranks:
        settings, reason = agreed(ranks, request, settings, asked)
    if ranks and not ranks.leads:
        ranks.follow(request, settings, start)
    else:
        _fit(request, settings, reason, start, resumed, ranks)


def _fit(
    request: FitRequest, settings: Settings, reason: str, start: WarmStart | None, resumed: bool, ranks: Ranks | None
) -> None:
    """Lock the run folder and the outputs, train, and write the results."""
    check_folders(request)
    folder = run_folder(request)
    check_apart(request, folder)
    if folder is None:
        _fit_locked(request, settings, reason, None, start)
        return
    run = Run(folder, request.checkpoint_every * 60, request.on_full == "wait")
    with listening(run), locked(folder):  # from here on, every signal stops or saves the run
        try:
            _fit_locked(request, settings, reason, run, start, resumed, ranks)
            tidy(run, request)
            run.finish()
        except Exception:
            run.settle(SLOW)
            raise
        finally:
            run.tidy()


def without_effect(settings: Settings) -> dict[str, str]:
    """Return the settings that have no effect with this objective, each with the error message for its use."""
    if engine_of(settings.objective) == "windows":
        return {
            "block": f"block: objective {settings.objective} trains window by window and has no blocks; remove --block"
        }
    return {}


def check_start(request: FitRequest, settings: Settings, start: WarmStart | None) -> None:
    """Raise UsageError or ConfigError if the run cannot start from what --init-from names."""
    if start is None:
        if request.grow_vocabulary is not None:
            raise UsageError("grow-vocabulary: has no effect without --init-from")
        return
    if start.model and request.read_vocab:
        raise UsageError("read-vocab: with --init-from, the model has the vocabulary; leave out --read-vocab")
    start.check(settings, bool(request.grow_vocabulary))


def _fit_locked(
    request: FitRequest, settings: Settings, reason: str, run: Run | None, start: WarmStart | None,
    resumed: bool = False, ranks: Ranks | None = None,
) -> None:  # fmt: skip
    """Begin or continue a run: determine its outputs, lock them, train with a log, and write the results."""
    found = None
    if run:
        about = {"cwd": working_folder(), "request": asdict(request)}
        found = run.begin(settings, about, anew=request.force)
        if resumed:
            check_begun(request, run.journal)
    name = run.journal.run if run else ""
    files = preflight(request, settings, run.journal.owns if run else lambda _: False)
    complete = run is not None and run.is_complete(files)
    with locked_outputs(request, name, run.is_needed if run else lambda: False) as locks, ExitStack() as stack:
        if run:
            run.journal.locks, run.journal.complete = locks, complete
            run.journal.save()
        log_file = None if complete and request.log_json and ends_done(request.log_json) else request.log_json
        log = stack.enter_context(json_lines(log_file, request.on_full == "wait", log_opener(request, run)))
        console = Console(request.quiet, request.progress_every, log, ranks.note if ranks else None)
        if run:
            run.warn = lambda line: console.say(f"warning     {line}")
            run.alarm = lambda line: warn(f"warning     {line}")
        try:
            with reported(log):
                console.start(settings, headline(settings, reason), all_outputs(request), name)
                if warning := crowded(settings.threads):
                    console.say(warning)
                for why in found.skipped if found else []:
                    console.say(f"warning     {why}; resuming from the checkpoint before it")
                if complete:
                    console.complete(files)
                    if ranks:
                        ranks.job.share_folder(None)
                else:
                    _train(request, settings, console, files, run, found, start, ranks)
        except DataError:
            if run:
                tidy(run, request)
            raise
        finally:
            console.close()


def _train(
    request: FitRequest, settings: Settings, console: Console, files: list[str], run: Run | None,
    found: Checkpoint | None, start: WarmStart | None, ranks: Ranks | None,
) -> None:  # fmt: skip
    vocabulary = None
    if request.read_vocab:
        vocabulary = cut_vocabulary(Vocabulary.load(request.read_vocab), settings.min_count, settings.max_vocab)
    execution = None
    if run and ranks:
        ranks.begin(run, request)
        execution = ranks.job.execution()
    elif run:
        run.prepare()
    cache = Path(request.cache_dir) if request.cache_dir else cache_folder(request.output)
    grow = bool(request.grow_vocabulary)
    inputs = Inputs(request.sources, request.heldout, vocabulary, cache, start=start, grow=grow, raw=request.raw)
    events = ranks.events(console.events()) if ranks else console.events()
    model = train(
        inputs, settings, events=events, run=run, found=found, allow_changed=request.allow_changed, execution=execution
    )
    if ranks:
        model = ranks.ended(model)
    started = time.monotonic()
    with rescued(run):
        if run:
            journal = run.journal
            write_results(request, model, journal.owns, journal.claim, run.await_disk_space, journal.run)
            run.journal.complete = True
            with suppress(W2VError):  # needed only if the run is killed during cleanup
                run.journal.save()
        else:
            write_results(request, model)
    console.summary(model, files, time.monotonic() - started)


def log_opener(request: FitRequest, run: Run | None) -> Callable[[str], TextIO]:
    """Return a function that opens the log. It appends to the run's own log; any other existing file needs --force."""

    def open_log(path: str) -> TextIO:
        if is_stream(path):
            return Path(path).open("w", encoding="utf-8", newline="\n")
        if not run or not run.journal.owns(path):
            with atomic_write(path, request.force, claim=run.journal.claim_log if run else None):
                pass
        log = Path(path).open("a", encoding="utf-8", newline="\n")  # noqa: SIM115
        if _is_cut(path):
            log.write("\n")
        return log

    return open_log


def ends_done(path: str) -> bool:
    """Return whether the last line of a run's log says that all is done, so that there is nothing to add."""
    if is_stream(path):
        return False
    with answering(Path(path)), Path(path).open("rb") as file:
        last = deque(file, 1)
    return bool(last) and last[0].startswith(b'{"event":"done"') and last[0].endswith(b"\n")


def _is_cut(path: str) -> bool:
    """Return whether the last line of a file is incomplete, because the disk was full."""
    with Path(path).open("rb") as file:
        return file.seek(0, os.SEEK_END) > 0 and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n"


@contextmanager
def reported(log: Log) -> Iterator[None]:
    """Log how the run ended if it was stopped or failed."""
    try:
        yield
    except BaseException as error:
        code, message = explained(error)
        event = "stopped" if isinstance(error, Stopped) else "error"
        if code:  # 0 if the reader of standard output closed it, which is not an error
            with suppress(W2VError):  # the error itself matters more
                log({"event": event, "exit_code": code, "message": message})
        raise


def working_folder() -> str:
    """Return the working directory, to which relative names refer; InputMissing if it was deleted."""
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        raise InputMissing("the working directory was deleted: change to one that exists") from None


@contextmanager
def rescued(run: Run | None) -> Iterator[None]:
    """If the results cannot be written, save what was learned and say in the error how to resume."""
    try:
        yield
    except W2VError as error:
        if run is None:
            raise
        try:
            run.save()
            what, does = "what was learned is saved", "writes the results once this is fixed"
        except W2VError:
            what, does = "the last checkpoint is kept", "continues from it"
        if not numbers(run.folder):
            raise
        raise type(error)(f"{error}; {what}: w2vtrain resume {run.folder} {does}") from error


def headline(settings: Settings, reason: str) -> str:
    """Return a line with the most important settings, including those chosen automatically."""
    chosen = stated_options(settings.objective, settings.options)
    options = ", ".join(f"{key} {value}" for key, value in chosen.items())
    objective = settings.objective + (f" ({options})" if options else "")
    threads = f"{settings.threads} thread{'s' * (settings.threads != 1)} ({reason})"
    epochs = f"{settings.epochs} epoch{'s' * (settings.epochs != 1)}"
    return (
        f"settings    {settings.architecture}, {objective}, {settings.vector_size} dimensions,"
        f" window {settings.window}, alpha {settings.alpha:g}, {epochs}, {threads}"
    )


def crowded(threads: int | str) -> str | None:
    """Return a warning if there are more threads than cores, else None."""
    cores, why = automatic_threads()
    if int(threads) <= cores:
        return None
    return f"warning     {threads} threads on {cores} core{'s' * (cores != 1)} ({why}) will slow each other down"


def print_settings(asked: Settings, settings: Settings, origins: dict[str, str]) -> None:
    """Print the effective settings as TOML that --config accepts, each with its origin."""
    before = asdict(asked)
    for name, value in asdict(settings).items():
        origin = "chosen automatically" if before[name] != value else origins[name]
        if value is None:
            echo(f"# {name} is not set")
        elif name != "options":
            echo(toml_line(name, value, origin))
    echo("\n[options]")
    for name, value in settings.options.items():
        echo(toml_line(name, value, origins["options"] if name in asked.options else "default"))


def toml_line(name: str, value: Any, origin: str) -> str:
    """Return `name = value  # origin`; JSON's numbers, booleans and strings are also valid TOML."""
    return f"{name} = {json.dumps(value, ensure_ascii=False)}  # {origin if origin.isprintable() else ascii(origin)}"
