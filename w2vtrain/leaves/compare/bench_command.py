"""The command `bench`: print each measurement as it arrives, and a table at the end.

The measurements are made in speed.py; tradeoff.py compares their scores. benchmarks/bench.py of
the repository measures and shows more.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from w2vtrain.commands.input_files import check_different, check_repeatable
from w2vtrain.commands.options import CODES, COUNT, command, scored_options
from w2vtrain.commands.shell import imports
from w2vtrain.errors import ConfigError, UsageError, shown
from w2vtrain.parsers import MAX_LEARNING_RATE, MAX_SECONDS, MAX_WORDS, Number, Real, Whole
from w2vtrain.system.files import write_json
from w2vtrain.system.locks import check_output
from w2vtrain.system.reading import open_input
from w2vtrain.system.terminal import echo

if TYPE_CHECKING:
    from w2vtrain.leaves.compare.measure import Measurement
    from w2vtrain.leaves.compare.speed import Bench
    from w2vtrain.leaves.compare.systems import Job
    from w2vtrain.leaves.compare.tradeoff import Point

THREADS, REPEATS = Whole(1, 1024), Whole(1, MAX_WORDS)
RATE, SECONDS = Real(0.0, MAX_LEARNING_RATE), Real(0.0, MAX_SECONDS)


@command(epilog=CODES)
@click.argument("corpus")
@click.option(
    "--systems", default="w2vtrain,gensim,fasttext", show_default=True, help="Systems to measure, if installed."
)
@click.option("--architectures", "--models", default="skipgram,cbow", show_default=True, help="As for `fit`.")
@click.option("--objectives", default="neg,hs,nce", show_default=True, help="As for `fit`.")
@click.option("--alpha", "alphas", multiple=True, metavar="SYSTEM=X", help="Learning rate of a system; repeatable.")
@click.option("--seeds", type=COUNT, default=1, show_default=True, help="Training runs per job.")
@click.option(
    "--epochs", multiple=True, metavar="[SYSTEM=]N,...",
    help="Passes over the corpus, or several numbers, each a run of its own: 1,3,10, and gensim=1,3 for one system;"
    " repeatable.  [default: 1]",
)  # fmt: skip
@click.option(
    "--negative", multiple=True, metavar="[SYSTEM=]N,...",
    help="Noise words, or several numbers, as with --epochs; repeatable.  [default: 5]",
)  # fmt: skip
@click.option("--vector-size", type=COUNT, default=200, show_default=True, help="Dimensions.")
@click.option("--subwords", is_flag=True, help="Train with n-grams of 3 to 6 characters in 2,000,000 buckets.")
@click.option("--threads", default="1", show_default=True, help="Number of threads, or several: 1,2,4.")
@scored_options
@click.option(
    "--within", metavar="SECONDS,...", default="30,60,120,300", show_default=True,
    help="Time limits for which the best setting of each system is printed.",
)  # fmt: skip
@click.option("--json", "json_file", metavar="FILE", help="Also write every measurement to FILE as JSON.")
@click.option(
    "--plot",
    metavar="FILE",
    help="Also plot scores against the total time to FILE; needs w2vtrain[plot].",
)
@click.option("--force", is_flag=True, help="Overwrite the files of --json and --plot.")
def bench(corpus: str, **values: Any) -> None:
    """Measure speed and accuracy of w2vtrain and other systems on CORPUS, which is plain text.

    All jobs use window 5, sample 1e-3 and min count 5. Each runs in its own process, and systems and settings take
    turns. With --questions or --pairs, the scores are listed beside the total time, from the text to written vectors.
    For each time limit of --within, the measured setting of each system with the highest mean score is printed.
    """
    with imports():
        from w2vtrain.leaves.compare.speed import Bench
    run(Bench(), corpus, **values)


def run(
    bench: Bench, corpus: str, architectures: str, objectives: str, seeds: int, json_file: str | None,
    questions: str | None, pairs: tuple[str, ...], within: str, plot: str | None, force: bool, **options: Any,
) -> None:  # fmt: skip
    """Measure, print each result as it arrives, and print the tables.

    options: systems, alphas, threads, epochs and negative as on the command line, and settings of a Job.
    """
    from w2vtrain.architectures import architecture_class
    from w2vtrain.leaves.compare import tradeoff
    from w2vtrain.leaves.compare.measure import check_scored
    from w2vtrain.leaves.figures import check_picture
    from w2vtrain.objectives import objective_class
    from w2vtrain.system.json_text import json_text

    files = [file for file in (json_file, plot) if file]
    inputs = [file for file in (corpus, questions, *pairs) if file]
    check_different(files, inputs)
    check_repeatable(inputs)
    for file in files:
        check_output(file, force)
    if plot and not (questions or pairs):
        raise UsageError("--plot shows scores: add --questions or --pairs")
    if plot:
        check_picture(plot, "plot")
    check_scored(questions, pairs)
    limits, jobs = _numbers("within", within, SECONDS), _jobs(bench, corpus, **options)
    if others := [job.system for job in jobs if job.system != "w2vtrain"]:
        with open_input(corpus) as (_, compression):
            if compression:  # fastText would take the bytes for text
                raise UsageError(f"{corpus}: compressed with {compression}, which {others[0]} does not read: unpack it")
    models, losses = _names(architectures), _names(objectives)
    for name in models:
        architecture_class(name)  # it raises ConfigError for an unknown one
    for name in losses:
        objective_class(name)
    machine, results = bench.describe_machine(), []  # type: dict[str, Any], list[Measurement]
    echo(json_text(machine), err=True)
    try:
        for m in bench.side_by_side(jobs, models, losses, seeds, questions, pairs):
            results.append(m)
            echo(_line(m), err=True)
    finally:  # a job that fails does not lose the measurements before it
        points = tradeoff.points(results)
        if json_file:
            best = [
                {"within": limit, "job": asdict(point.job), "seconds": point.seconds, "mean": point.mean}
                for limit in limits for point in tradeoff.best(points, limit)
            ]  # fmt: skip
            record = {"machine": machine, "measurements": [m.record() for m in results], "best": best}
            write_json(json_file, record, force=True)
        _report(bench, results, points, limits)
        if plot and points:
            tradeoff.picture(points, Path(plot), bench.colors)


def _report(bench: Bench, results: list[Measurement], points: list[Point], within: list[float]) -> None:
    """Print the tables, ratios and remarks. points: of the results; within: limits of time, in seconds."""
    from w2vtrain.leaves.compare import tradeoff
    from w2vtrain.leaves.compare.comparison_tables import markdown

    echo(markdown(bench.table(results)))
    if points:
        echo(markdown(tradeoff.table(points)))
        if len(rows := tradeoff.table_within(points, within)) > 1:
            echo("The highest mean score of each system within a time:\n")
            echo(markdown(rows))
    for line in [*tradeoff.equal_times(points), *bench.remarks(results)]:
        echo(line)


def _jobs(
    bench: Bench, corpus: str, systems: str, threads: str, alphas: tuple[str, ...], epochs: tuple[str, ...],
    negative: tuple[str, ...], **settings: Any,
) -> list[Job]:  # fmt: skip
    """Return a job per number of threads, noise words and epochs and requested system that is installed.

    Raise ConfigError for an unknown system, or if none is installed.
    """
    from w2vtrain.leaves.compare.systems import Job

    rates, wanted = _rates(alphas), _names(systems)
    passes, noise = {"": [1]} | _counts("epochs", epochs), {"": [5]} | _counts("negative", negative)
    if unknown := [name for name in [*wanted, *rates, *passes, *noise] if name not in {*bench.systems, ""}]:
        raise ConfigError(f"systems: {unknown[0]!r} is not one of {', '.join(bench.systems)}")
    installed = dict.fromkeys(filter(bench.is_installed, wanted))
    if not installed:
        raise ConfigError(f"systems: none of {', '.join(wanted)} is installed")
    if missing := [name for name in wanted if name not in installed]:
        echo(f"warning: not installed, so not measured: {', '.join(missing)}", err=True)
    base = Job("w2vtrain", "skipgram", "neg", corpus, **settings)
    jobs = [
        replace(bench.job_of(name, base), alpha=rates.get(name), threads=t, negative=k, epochs=n)
        for t in _numbers("threads", threads, THREADS) for name in installed
        for k in noise.get(name, noise[""]) for n in passes.get(name, passes[""])
    ]  # fmt: skip
    return sorted(jobs, key=lambda job: (job.negative, job.epochs))  # systems with equal settings take turns


def _names(text: str) -> list[str]:
    """Return the names in a text such as `neg, hs`."""
    return [name.strip() for name in text.split(",")]


def _numbers(option: str, text: str, parser: Number) -> list[Any]:
    """Return the numbers in a text such as `1,2`, each once."""
    try:
        return list(dict.fromkeys(parser.parse(number) for number in text.split(",")))
    except ValueError as error:
        raise ConfigError(f"{option}: {error}, or several separated by commas, got {shown(text)}") from None


def _by_system(option: str, texts: tuple[str, ...]) -> dict[str, str]:
    """Return values by system, from texts such as `gensim=1,3`, or `1,3` for all others, whose key is ""."""
    values: dict[str, str] = {}
    for text in texts:
        system, _, value = text.rpartition("=")
        if system in values:
            raise ConfigError(f"{option}: {system or 'the value for all systems'} is given twice")
        values[system] = value
    return values


def _counts(option: str, texts: tuple[str, ...]) -> dict[str, list[int]]:
    return {system: _numbers(option, value, REPEATS) for system, value in _by_system(option, texts).items()}


def _rates(alphas: tuple[str, ...]) -> dict[str, float]:
    """Return learning rates by system, from strings such as `gensim=0.05`."""
    try:
        rates = {system: RATE.parse(value) for system, value in _by_system("alpha", alphas).items()}
        if "" not in rates and all(rates.values()):
            return rates
    except ValueError:
        pass
    raise ConfigError(f"alpha: expected SYSTEM=NUMBER, with a positive number, got {', '.join(alphas)}")


def _line(m: Measurement) -> str:
    """Return a measurement in one line."""
    texts = [f"{m.job.system} {m.job.name}, seed {m.job.seed}: {m.whole_wall:.1f} s"]
    if m.speed and m.wall_speed:
        texts.append(f"{m.speed:,.0f} words/CPU s {m.wall_speed:,.0f} words/s")
    return " ".join([*texts, *(f"{name} {value:.4f}" for name, value in m.scores.items())])
