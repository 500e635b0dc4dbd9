"""`fit --dry-run`: print what a run would take, and write nothing.

plan.py decides what the run would do, and training/estimate.py measures.
"""

import os
from pathlib import Path
from typing import Any

from w2vtrain.commands.console import Console, duration
from w2vtrain.commands.plan import Plan, plan
from w2vtrain.commands.request import FitRequest, is_stream
from w2vtrain.commands.run import headline
from w2vtrain.system.json_text import json_text
from w2vtrain.system.terminal import echo
from w2vtrain.training.estimate import Estimate, estimate
from w2vtrain.training.team import Team
from w2vtrain.user_code import Named

ODD = {
    "overlong": "tokens over 1,000 bytes would be skipped",
    "invalid": "tokens of invalid UTF-8 would be repaired",
    "nul": "NUL bytes would be treated as white space",
    "grown": "files grew during reading",
}


def dry_run(request: FitRequest, named: Named, seconds: float, as_json: bool) -> None:
    """Print what a request would take. Raise the errors that the run itself would raise before training."""
    named.allow()
    planned = plan(request, os.environ, Team())
    console = Console(request.quiet)
    try:
        found = estimate(
            planned.inputs(), planned.settings, seconds, request.run_folder is not None, console.events().reading
        )
    finally:
        console.close()
    found.warnings += [
        f"{file} exists: fit overwrites it only with --force, or continues the run that began it"
        for file in request.files
        if not request.force and not is_stream(file) and Path(file).exists()
    ]
    if as_json:
        epochs = {"epochs": planned.settings.epochs, "min_count": planned.settings.min_count}
        echo(json_text({"task": "dry-run"} | epochs | found.to_dict()))
    else:
        show(planned, found)


def show(planned: Plan, found: Estimate) -> None:
    """Print an estimate."""
    settings, request = planned.settings, planned.request
    echo(headline(settings, planned.reason))
    echo(f"corpus      {found.tokens:,} words, {found.types:,} distinct, all read in {duration(found.reading)}")
    for name, count in found.oddities.items():
        if count:
            echo(f"            {count:,} {ODD[name]}")
    echo("vocabulary  --min-count      words   of the text")
    for least, words, coverage in found.choices:
        echo(f"            {least:>11,}  {words:>9,}  {coverage:>12.2%}")
    chosen = "--read-vocab or --init-from" if request.read_vocab or request.init_from else _chosen(settings)
    echo(f"            chosen: {found.words:,} words, {found.coverage:.2%} of the text ({chosen})")
    peak = f"; the process needs about {_size(found.peak)} at most" if found.peak else ""
    echo(f"memory      weights {_size(found.weights)}{peak}; {_size(found.free)} are free")
    checkpoints = f"run folder {_size(found.checkpoints)}, " if found.checkpoints else ""
    echo(f"disk        {checkpoints}encoded text {_size(found.encoded)}, vectors as text {_size(found.vectors)}")
    if found.seconds:
        mean, least_seconds, most_seconds = found.seconds
        total = f"{settings.epochs} epochs {duration(mean * settings.epochs)}, reading {duration(found.reading)}"
        echo(
            f"time        {duration(mean)} per epoch ({duration(least_seconds)} to {duration(most_seconds)} in parts of"
            f" the sample), {found.learned / mean:,.0f} words per second; {total}"
        )
    for warning in found.warnings:
        echo(f"warning     {warning}")
    echo("nothing was written")


def _chosen(settings: Any) -> str:
    limit = f", --max-vocab {settings.max_vocab}" if settings.max_vocab else ""
    return f"--min-count {settings.min_count}{limit}"


def _size(size: int | None) -> str:
    """Return a size in MiB or GiB."""
    mib = (size or 0) / 2**20
    return f"{mib:,.0f} MiB" if mib < 10_000 else f"{mib / 1024:,.0f} GiB"
