"""`fit --dry-run`: print what a run would take, and write nothing.

fit_plan.py decides what the run would do, and training/estimate.py counts.
"""

import os
from contextlib import closing
from pathlib import Path
from typing import Any

from w2vtrain.commands.console import Console
from w2vtrain.commands.fit_outputs import check_outputs
from w2vtrain.commands.fit_plan import FitPlan, plan_fit
from w2vtrain.commands.fit_request import DECIDING, FitRequest
from w2vtrain.commands.fit_run import headline, recorded
from w2vtrain.commands.shell import echo_json
from w2vtrain.system.amounts import duration, size_text
from w2vtrain.system.locks import check_lock
from w2vtrain.system.terminal import echo
from w2vtrain.text.counting import ODDITIES
from w2vtrain.training.estimate import Estimate, estimate
from w2vtrain.training.one_process import Alone
from w2vtrain.training.run_files import locked


def dry_run(request: FitRequest, as_json: bool) -> None:
    """Print what a request would take. Raise the errors that the run itself would raise before training."""
    planned = plan_fit(request, os.environ, Alone())
    with closing(Console(request.quiet)) as console:
        in_the_way = refuse(planned)
        expected = estimate(planned, planned.run(), console.events().reading)
    expected.warnings += in_the_way
    if as_json:
        chosen = {"epochs": planned.settings.epochs, "min_count": planned.settings.min_count}
        echo_json({"task": "dry-run"} | chosen | vars(expected))
    else:
        show(planned, expected)


def refuse(planned: FitPlan) -> list[str]:
    """Raise the errors of `fit_run.carry_out` for the run folder, outputs and locks, but leave nothing behind.

    Return a warning for each output that exists and that `fit` would not overwrite.
    """
    request, run = planned.request, planned.run()
    if run.folder:
        with locked(run.folder):
            run.read(planned.settings, recorded(request), DECIDING, anew=request.force)
    check_outputs(request, lambda file: True)
    for file, path in request.locks.items():
        check_lock(path, file)
    return [
        f"{file} exists: fit overwrites it only with --force, or continues the run that began it"
        for file in request.locks
        if not (request.force or run.owns(file)) and Path(file).exists()
    ]


def show(planned: FitPlan, expected: Estimate) -> None:
    """Print an estimate."""
    echo(headline(planned.settings, planned.reason))
    if expected.vocabularies:
        show_words(planned, expected)
    else:
        echo(f"corpus      {expected.about or f'{expected.tokens:,} words'}")
        echo(f"vocabulary  {expected.words:,} words")
    echo(
        f"memory      weights {size_text(expected.weights)}; the process needs about {size_text(expected.peak)} at"
        f" most; {size_text(expected.free)} are free"
    )
    checkpoints = f"run folder {size_text(expected.checkpoints)}, " if expected.checkpoints else ""
    encoded = f"encoded text {size_text(expected.encoded)}, " if expected.encoded else ""
    echo(f"disk        {checkpoints}{encoded}results {size_text(expected.results)}")
    for warning in expected.warnings:
        echo(f"warning     {warning}")
    echo("time        try `--seconds 5`, and look at the words per second; nothing was written")


def show_words(planned: FitPlan, expected: Estimate) -> None:
    """Print the words of the text, and how many of them are chosen."""
    settings, request = planned.settings, planned.request
    echo(
        f"corpus      {expected.tokens:,} words, {expected.types:,} distinct, all read in {duration(expected.reading)}"
    )
    for name, count in expected.oddities.items():
        if count:
            echo(f"            {count:,} {ODDITIES[name]}")
    echo("vocabulary  --min-count      words   of the text")
    for choice in expected.vocabularies:
        echo(f"            {choice['min_count']:>11,}  {choice['words']:>9,}  {choice['coverage']:>12.2%}")
    chosen = "--read-vocab or --init-from" if request.read_vocab or request.init_from else _chosen(settings)
    echo(f"            chosen: {expected.words:,} words, {expected.coverage:.2%} of the text ({chosen})")


def _chosen(settings: Any) -> str:
    limit = f", --max-vocab {settings.max_vocab}" if settings.max_vocab else ""
    return f"--min-count {settings.min_count}{limit}"
