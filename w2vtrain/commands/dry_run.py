"""`fit --dry-run`: print what a run would take, and write nothing.

fit_plan.py decides what the run would do, and training/estimate.py counts.
"""

import os
from contextlib import closing
from pathlib import Path

from w2vtrain.commands.console import Console
from w2vtrain.commands.fit_outputs import check_outputs
from w2vtrain.commands.fit_plan import FitPlan, plan_fit
from w2vtrain.commands.fit_request import FitRequest
from w2vtrain.commands.fit_run import headline
from w2vtrain.commands.shell import echo_json
from w2vtrain.system.amounts import duration, size_text
from w2vtrain.system.terminal import echo
from w2vtrain.text.counting import ODDITIES
from w2vtrain.training.estimate import Estimate, estimate
from w2vtrain.training.one_process import Alone


def dry_run(request: FitRequest, as_json: bool) -> None:
    """Print what a request would take. Raise the errors for settings, inputs and outputs that `fit` would raise.

    Outputs that exist are warnings; the run folder is not looked into.
    """
    planned = plan_fit(request, os.environ, Alone())
    check_outputs(request, lambda file: True)
    with closing(Console(request.quiet)) as console:
        expected = estimate(planned, planned.run(), console.events().reading)
    expected.warnings += [
        f"{file} exists: fit overwrites it only with --force, or continues the run that began it"
        for file in request.locks
        if not request.force and Path(file).exists()
    ]
    if as_json:
        chosen = {"epochs": planned.settings.epochs, "min_count": planned.settings.min_count}
        echo_json({"task": "dry-run"} | chosen | vars(expected))
    else:
        show(planned, expected)


def show(planned: FitPlan, expected: Estimate) -> None:
    """Print an estimate."""
    echo(headline(planned.settings, planned.reason, planned.request.origins))
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
    chosen = f"--min-count {settings.min_count}" + f", --max-vocab {settings.max_vocab}" * bool(settings.max_vocab)
    if request.read_vocab or request.init_from:
        chosen = "--read-vocab or --init-from"
    echo(f"            chosen: {expected.words:,} words, {expected.coverage:.2%} of the text ({chosen})")
