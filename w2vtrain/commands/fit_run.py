"""Carry out what a `fit` command asks for: join the ranks of an MPI job, train as planned, and write the results.

fit_plan.py decides what to do, training/trainer.py trains, and fit_outputs.py writes. leaves/mpi/ has what ranks
exchange.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import asdict, replace
from typing import Any

from w2vtrain.architectures import architecture_class
from w2vtrain.commands.console import Console
from w2vtrain.commands.fit_outputs import check_begun, check_outputs, locked_outputs, write_results
from w2vtrain.commands.fit_plan import FitPlan, check_frozen, plan_fit
from w2vtrain.commands.fit_request import DECIDING, FitRequest
from w2vtrain.commands.log import json_log
from w2vtrain.commands.records import remove_record
from w2vtrain.commands.shell import WARNINGS, explained
from w2vtrain.config import FIELDS, INIT_FROM, ROWS, WORDS, Settings, option
from w2vtrain.doors import leaf
from w2vtrain.errors import Relayed, W2VError
from w2vtrain.objectives import stated_options
from w2vtrain.system.files import resolved
from w2vtrain.system.machine import automatic_threads
from w2vtrain.system.stopping import NAME, ignore_signals
from w2vtrain.system.terminal import echo, one_line
from w2vtrain.text.encoded import EncodedCorpus
from w2vtrain.training.events import Events
from w2vtrain.training.one_process import Alone
from w2vtrain.training.plan import Plan
from w2vtrain.training.run import Phase, Run
from w2vtrain.training.signals import listening
from w2vtrain.training.trainer import train

FORWARDING_SECONDS = 0.5
"""Time for the launcher to forward an error message: after an abort, it may drop what ranks have written."""


def carry_out(request: FitRequest, resumed: bool = False) -> None:
    """Train and write the results. Errors in settings, inputs and outputs are reported before anything is read.

    resumed: the request comes from a run folder, which has all settings, not from the command line.
    """
    with ranks_for(request) as ranks:
        planned = plan_fit(request, {} if resumed else os.environ, ranks)
        request = planned.request  # with the origins of the settings
        if request.print_config:
            print_settings(planned)
            return
        if not ranks.leads:
            follow(planned, ranks)
            return
        run = planned.run()
        with run.held():  # from here on, signals stop or save a run that has a folder
            complete = take_over(planned, run, resumed)
            with locked_outputs(request, run, complete), reporting(planned, run, ranks) as console:
                if not ranks.begin(None if complete else run):
                    console.complete(request.results)
                    return
                events = console.events().followed_by(checks(planned, run))
                model = train(planned, run, events=events, ranks=ranks)
                started = time.monotonic()
                run.enter(Phase.WRITING)
                with run.rescued():  # if they cannot be written, what was learned is saved
                    console.close()  # its bar: vectors may go to the same terminal
                    written = write_results(request, model, run, console.warnings, planned.kept)
                for file in request.results:
                    if file != request.output:  # whose record is that of this run
                        remove_record(file, request.force)
                console.summary(model, written, request.results, time.monotonic() - started)


def checks(planned: FitPlan, run: Run) -> Events:
    """Return events that check, before a run trains, what the text decides.

    They raise ConfigError if --freeze keeps all vectors, and, if the run has no folder to keep words in, DataError for
    words that no output can have.
    """

    def started(facts: dict[str, Any]) -> None:
        check_frozen(planned.request, planned.inputs, planned.settings.min_count, facts["new_words"])

    def read(ids: EncodedCorpus, _: float) -> None:
        if not run.folder:
            ids.vocabulary.text()

    return Events(read=read, started=started)


@contextmanager
def ranks_for(request: FitRequest) -> Iterator[Alone]:
    """Yield the processes that train together: this one, or the ranks of an MPI job, which is joined and ended here.

    If an exception ends the block on any rank, all ranks end with its exit code.
    """
    if request.distributed is None or request.print_config:
        yield Alone()
        return
    job = leaf("mpi").Mpi(request.sync_timeout)
    if job.size == 1:
        job.finish()
        yield Alone()
        return
    ranks = leaf("ranks").Ranks(job, request.sync_words)
    with nullcontext() if ranks.leads else listening(ranks.run):
        try:
            yield ranks
        except BaseException as error:
            code, message = explained(error)
            if isinstance(error, W2VError) and ranks.tell(error):
                job.finish(code)
                raise error if ranks.leads else Relayed("", code) from error  # rank 0 prints the message
            if message:
                echo(f"{NAME}: error: {one_line(f'rank {job.rank}: {message}')}", err=True)
                time.sleep(FORWARDING_SECONDS)
            job.abort(code or 1)
        else:
            ignore_signals()  # the results are written, and the exit code must say so
            job.finish()


def follow(planned: FitPlan, ranks: Alone) -> None:
    """Train as a rank other than 0: without held-out text, outputs and console."""
    inputs = replace(planned.inputs, heldout=(), folder=None)
    mine = Plan.of(inputs, replace(planned.settings, patience=None))
    if ranks.begin(ranks.run):
        train(mine, ranks=ranks)


def take_over(planned: FitPlan, run: Run, resumed: bool) -> bool:
    """Load what the run folder has, and check the outputs. Return whether all results are written already."""
    request = planned.request
    recorded = {"cwd": str(resolved(".")), "request": asdict(request)}  # for `resume`, which repeats the request
    run.read(planned.settings, recorded, DECIDING, anew=request.force)
    if resumed:
        check_begun(request, run)
    check_outputs(request, run.owns)
    return run.is_complete(request.results)


@contextmanager
def reporting(planned: FitPlan, run: Run, ranks: Alone) -> Iterator[Console]:
    """Yield a console that has reported what will be done, and what is odd about it; log how the block ends."""
    request, settings = planned.request, planned.settings
    with (
        json_log(request.log_json, run, request.force) as log,
        closing(Console(request.quiet, request.progress_every, log, ranks.note)) as console,
    ):
        run.warn = console.events().warning
        console.start(settings, headline(settings, planned.reason, request.origins), request.files, run.id)
        for warning in filter(None, (crowded(settings.threads), lost_ngrams(request, settings))):
            run.warn(warning)
        for why in run.checkpoint.skipped if run.checkpoint else []:
            run.warn(f"{why}; resuming from the checkpoint before it")
        with WARNINGS.kept(console.keep):
            yield console


def headline(settings: Settings, reason: str, origins: Mapping[str, Any]) -> str:
    """Return a line with the most important settings, including those chosen automatically.

    reason: for the number of threads. Settings that decide how the text is read are named if a model has chosen them.
    """
    chosen = stated_options(settings.objective, settings.options)
    options = ", ".join(f"{key} {value}" for key, value in chosen.items())
    objective = settings.objective + (f" ({options})" if options else "")
    threads = f"{settings.threads} thread{'s' * (settings.threads != 1)} ({reason})"
    epochs = f"{settings.epochs} epoch{'s' * (settings.epochs != 1)}"
    subwords = " with subwords" * settings.subwords
    window = f" window {settings.window}," if architecture_class(settings.architecture).uses_words() else ""
    words = {name: getattr(settings, name) for name, row in ROWS.items() if row.section == WORDS}
    taken = ", ".join(
        f"{option(name)} {value}"
        for name, value in words.items()
        if origins.get(name) == INIT_FROM and value != FIELDS[name].default
    )
    return (
        f"settings    {settings.architecture}{subwords}, {objective}, {settings.vector_size} dimensions,"
        f"{window} alpha {settings.alpha:g}, {epochs}, {threads}" + (f"; of the model: {taken}" if taken else "")
    )


def crowded(threads: int | str) -> str | None:
    """Return a warning if there are more threads than cores, else None."""
    cores, why = automatic_threads()
    if int(threads) <= cores:
        return None
    return f"{threads} threads on {cores} core{'s' * (cores != 1)} ({why}) will slow each other down"


def lost_ngrams(request: FitRequest, settings: Settings) -> str | None:
    """Return a warning if no output will have the vectors of n-grams, which give vectors to unknown words."""
    if not settings.subwords or request.save_model or request.vectors[0].is_model:
        return None
    return f"{request.output} has no vectors of n-grams, for words that are not in it: add --save-model FILE"


def print_settings(planned: FitPlan) -> None:
    """Print the effective settings as TOML that --config accepts, each with its origin."""
    settings, origins = planned.settings, planned.request.origins
    for name, value in asdict(settings).items():
        if value is None:
            echo(f"# {name} is not set")
        elif name != "options":
            echo(toml_line(name, value, origins[name]))
    echo("\n[options]")
    for name, value in settings.options.items():
        echo(toml_line(name, value, origins["options"][name]))


def toml_line(name: str, value: Any, origin: str) -> str:
    """Return `name = value  # origin`; JSON's numbers, booleans and strings are also valid TOML."""
    return f"{name} = {json.dumps(value, ensure_ascii=False)}  # {origin if origin.isprintable() else ascii(origin)}"
