"""The command `compare`: train objectives side by side, and write tables and a plot.

Training and measuring are in comparison.py.
"""

import os
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import click

from w2vtrain.commands.input_files import check_outside, check_repeatable
from w2vtrain.commands.options import (
    CODES,
    COMPARING,
    COUNT,
    Within,
    command,
    config_option,
    given,
    scored_options,
    setting_options,
)
from w2vtrain.commands.shell import imports
from w2vtrain.config import ROWS, Settings, resolve
from w2vtrain.errors import ConfigError, Diverged, OutputError
from w2vtrain.parsers import MAX_SECONDS, Real, Whole
from w2vtrain.system.files import not_created
from w2vtrain.system.machine import threads_of
from w2vtrain.system.reading import digest
from w2vtrain.system.spinner import SPINNER
from w2vtrain.system.terminal import echo


@command(epilog=CODES)
@click.argument("corpus", nargs=-1, required=True)
@click.option(
    "-o", "--output", required=True, metavar="DIR", help="Folder for results; those already there are reused."
)
@click.option(
    "--heldout", required=True, metavar="FILE",
    help="Text scored after each epoch or, with --seconds, at fractions of that CPU time.",
)  # fmt: skip
@click.option("--test", metavar="FILE", help="Text scored at the end.  [default: that of --heldout]")
@click.option(
    "--objectives", default="all", show_default=True, metavar="LIST",
    help="Objectives, with options and settings in parentheses, as in `softmax, nce(negative=25, alpha=0.1)`.",
)  # fmt: skip
@click.option(
    "--seeds", type=COUNT, default=1, show_default=True, metavar="N",
    help="Train each objective N times, with seeds 1 to N.",
)  # fmt: skip
@click.option(
    "--rates", metavar="LIST",
    help="First try these learning rates with each objective and keep the best: 0.02,0.05,0.1 or, as multiples of its"
    " default, 0.5x,1x,2x.",
)  # fmt: skip
@click.option(
    "--tune-seconds", type=Within(Real(0.1, MAX_SECONDS)), default=20, show_default=True,
    help="CPU seconds of training for each of these tries.",
)  # fmt: skip
@click.option(
    "--jobs", "at_once", type=Within(Whole(1, 1024)), default=1, show_default=True, metavar="N",
    help="Train N objectives at a time, each on --threads threads.",
)  # fmt: skip
@scored_options
@config_option
@setting_options(*COMPARING)
def compare(
    corpus: tuple[str, ...], output: str, objectives: str, rates: str | None, config: str | None, **values: Any
) -> None:
    """Train objectives on CORPUS one by one under the same budget, --epochs or --seconds, and print a table.

    --seconds are CPU seconds of training, summed over threads, so other programs on the machine do not affect them.
    Compilation and scoring do not count; the time that scoring will take is printed before it begins. The table has
    words per second of wall-clock time, how many times as fast as `softmax` training and scoring are in CPU time
    (medians over seeds; training has "-" without `softmax`), and perplexity (the mean, and the range over seeds). The
    files table.md, table.csv, compare.json and curves.png in DIR have all figures, such as log Z, scores of the
    vectors, size and memory. The picture, curves.png, needs w2vtrain[plot].
    """
    with imports():
        from w2vtrain.leaves.compare.comparison import (
            REPORTS,
            RUNS,
            Comparison,
            describe_comparison,
            train_all,
            write_reports,
        )
        from w2vtrain.leaves.compare.comparison_tables import busy, plain, unreliable
        from w2vtrain.leaves.compare.contenders import contenders
        from w2vtrain.leaves.compare.measure import check_scored
        from w2vtrain.leaves.figures import INSTALL, can_draw
        from w2vtrain.training.inputs import corpus_of
    settings = _budgeted(given(values, COMPARING), config, values["at_once"])
    scored = [path for path in (values["heldout"], values["test"], values["questions"], *values["pairs"]) if path]
    check_repeatable([*corpus, *scored])
    folder = Path(output)
    check_outside([output, *(str(folder / name) for name in (RUNS, *REPORTS))], corpus)
    check_scored(values["questions"], values["pairs"])
    trained = [file.path for file in corpus_of(corpus, settings).files]
    joined = [settings.phrases] if settings.phrases else []
    contents = {path: digest(path) for path in (*trained, *joined, *scored)}
    rates_to_try = parsed_rates(rates) if rates else []
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise not_created(f"{output}: the folder", error) from None
    if (theirs := [name for name in REPORTS if (folder / name).exists()]) and describe_comparison(folder) is None:
        raise OutputError(
            f"{output}: has {', '.join(theirs)}, but no results of a comparison in {RUNS}/: choose another folder, or"
            " remove these files"
        )
    comparison = Comparison(
        sources=corpus, folder=folder, settings=settings, contenders=contenders(objectives), rates=rates_to_try,
        contents=contents, **values,
    )  # fmt: skip
    if not can_draw():
        echo(f"note: curves.png needs the package matplotlib: {INSTALL}, then the same command draws it", err=True)
    # Each trial reads the same texts: the cache leaves out repeated warnings.
    with SPINNER.during("comparing"):
        results = train_all(comparison, cache(lambda text: echo(text, err=True)))
    write_reports(folder, results)
    echo(plain(results), end="")
    for warning in filter(None, (busy(results), unreliable(results))):
        echo(f"warning: {warning}", err=True)
    if kernels := os.environ.get("OPENBLAS_CORETYPE"):
        echo(f"warning: OPENBLAS_CORETYPE is {kernels}: the softmax may be slower than this machine allows", err=True)
    if all("failed" in result for result in results):
        raise Diverged(f"{output}: all {len(results):,} runs diverged; the first: {results[0]['failed']}")


def _budgeted(flags: dict[str, Any], config: str | None, at_once: int) -> Settings:
    """Return the settings: --seconds ends training unless --epochs does, and `at_once` runs share the cores."""
    from w2vtrain.training.plan import check_origins

    settings, origins = resolve(flags, config=config)
    check_origins(settings, origins)
    if (origin := origins["seed"]) != "default":
        raise ConfigError(f"{origin}: seed: --seeds N trains with the seeds 1 to N; leave it out")
    if settings.seconds is not None and origins["epochs"] == "default":
        settings = replace(settings, epochs=1_000_000)
    if settings.threads == "auto":
        settings = replace(settings, threads=max(1, threads_of("auto")[0] // at_once))
    return settings


def parsed_rates(text: str) -> list[str]:
    """Return the numbers and multiples of --rates; ConfigError if one is neither."""
    rates = [rate.strip() for rate in text.split(",")]
    try:
        for rate in rates:
            ROWS["alpha"].parser.parse(rate.removesuffix("x"))
    except ValueError:
        raise ConfigError(f"rates: expected comma-separated numbers or multiples such as 2x, got {text!r}") from None
    return rates
