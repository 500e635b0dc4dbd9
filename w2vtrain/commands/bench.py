"""The command `bench`: print each measurement as it arrives, and a table at the end.

The measurements are made in evaluation/bench.py and evaluation/sweep.py; evaluation/tradeoff.py compares their scores.
"""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from w2vtrain.commands.inputs import check_different
from w2vtrain.commands.options import CODES, COUNT, command, pairs_option, questions_option
from w2vtrain.errors import ConfigError, UsageError, shown
from w2vtrain.evaluation import sweep as sweeping
from w2vtrain.evaluation import tradeoff
from w2vtrain.evaluation.bench import describe_machine, ratios, side_by_side, table
from w2vtrain.evaluation.figures import check_picture
from w2vtrain.evaluation.limits import Limits
from w2vtrain.evaluation.measure import Measurement
from w2vtrain.evaluation.report import markdown
from w2vtrain.evaluation.roofline import limiting, scaling
from w2vtrain.evaluation.systems import SYSTEMS, Job, installed, program_path
from w2vtrain.parsers import FASTEST, LONGEST_TIME, MOST_WORDS, Number, Real, Whole
from w2vtrain.system.files import atomic_write, check_writable
from w2vtrain.system.json_text import json_text
from w2vtrain.system.terminal import echo

THREADS, WHOLE = Whole(1, 1024), Whole(1, MOST_WORDS)
RATE, SECONDS = Real(0.0, FASTEST), Real(0.0, LONGEST_TIME)


@command(epilog=CODES, short_help="Compare speed and accuracy with other systems.")
@click.argument("corpus")
@click.option(
    "--systems", default="w2vtrain,gensim,fasttext", show_default=True, help="Systems to measure, if installed."
)
@click.option(
    "--program",
    "programs",
    multiple=True,
    metavar="SYSTEM=PATH",
    help="Also measure a program that you compiled: word2vec.c=PATH or pword2vec=PATH; repeatable.",
)
@click.option("--architectures", "--models", default="skipgram,cbow", show_default=True, help="As for `fit`.")
@click.option("--objectives", default="neg,hs,nce", show_default=True, help="As for `fit`.")
@click.option("--alpha", "alphas", multiple=True, metavar="SYSTEM=X", help="Learning rate of a system; repeatable.")
@click.option("--seeds", type=COUNT, default=1, show_default=True, help="Training runs per job.")
@click.option(
    "--epochs",
    multiple=True,
    metavar="[SYSTEM=]N,...",
    help="Passes over the corpus, or several numbers, each a run of its own: 1,3,10, and gensim=1,3 for one system;"
    " repeatable.  [default: 1]",
)
@click.option(
    "--negative",
    multiple=True,
    metavar="[SYSTEM=]N,...",
    help="Noise words, or several numbers, as with --epochs; repeatable.  [default: 5]",
)
@click.option("--vector-size", type=COUNT, default=200, show_default=True, help="Dimensions.")
@click.option("--threads", default="1", show_default=True, help="Number of threads, or several: 1,2,4.")
@questions_option
@pairs_option
@click.option(
    "--within",
    metavar="SECONDS,...",
    default="30,60,120,300",
    show_default=True,
    help="Times of the whole job for which the best setting of each system is printed.",
)
@click.option("--json", "json_file", metavar="FILE", help="Also write every measurement to FILE as JSON.")
@click.option(
    "--plot",
    metavar="FILE",
    help="Also plot scores against the seconds of the whole job to FILE; needs w2vtrain[plot].",
)
@click.option(
    "--sweep",
    metavar="FILE",
    help="Instead, measure and plot the speed of w2vtrain over dimensions, noise words, windows, vocabulary sizes and"
    " threads, for the first of --architectures and the first of --objectives; needs w2vtrain[plot].",
)
def bench(
    corpus: str, architectures: str, objectives: str, seeds: int, json_file: str | None, questions: str | None,
    pairs: tuple[str, ...], within: str, sweep: str | None, plot: str | None, **options: Any,
) -> None:  # fmt: skip
    """Measure speed and accuracy of w2vtrain and other systems on CORPUS, which is plain text.

    All jobs use window 5, sample 1e-3 and min count 5. Each runs in its own process, and systems and settings take
    turns. With --questions or --pairs, the scores are listed beside the seconds of the whole job, from the text to
    written vectors, and for each time of --within the setting of each system that has the highest mean of the scores,
    of those that were measured. GFLOP counts the floating-point operations of products and updates; the machine's
    limits are printed first. Before and after each job with several threads, the round trip of a cache line between two
    cores is measured: cores are near if both take less than 100 ns. Last comes what limits each job of w2vtrain: the
    arithmetic, the rows that have to come from memory, or coherence, which is what threads lose to each other.
    """
    files = [file for file in (json_file, sweep, plot) if file]
    check_different(files, [file for file in (corpus, questions, *pairs) if file])
    for file in files:
        check_writable(file, force=True)
    if sweep:
        _check_sweep(bool(options["alphas"] or options["programs"] or questions or pairs or plot), **options)
    if plot and not (questions or pairs):
        raise UsageError("--plot shows scores: add --questions or --pairs")
    for option, drawn in (("plot", plot), ("sweep", sweep)):
        if drawn:
            check_picture(drawn, option)
    limits, systems = _numbers("within", within, SECONDS), _systems(corpus, **options)
    machine, results = describe_machine(), []  # type: dict[str, Any], list[Measurement]
    echo(json_text(machine), err=True)
    named = architectures.split(","), objectives.split(",")
    try:
        if sweep:
            base = replace(systems[0], system="w2vtrain", architecture=named[0][0], objective=named[1][0])
            _sweep(results, base, seeds, machine["limits"]["flops"], Path(sweep))
        else:
            for m in side_by_side(systems, *named, seeds, questions, pairs):
                results.append(m)
                echo(_line(m), err=True)
    finally:  # a job that fails does not lose the measurements before it
        if json_file:
            with atomic_write(json_file, force=True) as out:
                out.write(json_text(_record(machine, results, limits), indent=True).encode() + b"\n")
        if not sweep:
            _report(results, limits, Limits(**machine["limits"]))
        if plot and (points := tradeoff.points(results)):
            tradeoff.picture(points, Path(plot))


def _check_sweep(excess: bool, threads: str, epochs: tuple[str, ...], negative: tuple[str, ...], **_: Any) -> None:
    """Raise UsageError for options that a sweep would ignore. excess: whether there are options of other systems."""
    if excess:
        raise UsageError("--sweep measures only speed: remove --alpha, --program, --questions, --pairs and --plot")
    if any("," in text or "=" in text for text in (threads, *epochs, *negative)):
        raise UsageError(
            "--sweep varies one setting at a time: give --threads, --epochs and --negative one number each"
        )


def _record(machine: dict[str, Any], results: list[Measurement], limits: list[float]) -> dict[str, Any]:
    """Return what the JSON file has: each measurement with the figures that classify it, and the best by time limit."""
    points = tradeoff.points(results)
    best = [
        {"within": limit, "job": asdict(point.job), "seconds": point.seconds, "mean": point.mean}
        for limit in limits for point in tradeoff.best(points, limit)
    ]  # fmt: skip
    measurements = [{**asdict(m), "wall_speed": m.wall_speed, "cores": m.cores} for m in results]
    return {"machine": machine, "measurements": measurements, "best": best}


def _report(results: list[Measurement], within: list[float], limits: Limits) -> None:
    """Print the tables, ratios and what limits this machine. within: limits of time, in seconds."""
    echo(markdown(table(results)))
    points = tradeoff.points(results)
    if points:
        echo(markdown(tradeoff.table(points)))
        echo("The highest mean score of each system within a time:\n")
        echo(markdown(tradeoff.table_within(points, within)))
    for line in [*tradeoff.equal_times(points), *ratios(results), *scaling(results), *limiting(results, limits)]:
        echo(line)


def _systems(
    corpus: str, systems: str, threads: str, alphas: tuple[str, ...], programs: tuple[str, ...],
    epochs: tuple[str, ...], negative: tuple[str, ...], **settings: Any,
) -> list[Job]:  # fmt: skip
    """Return a job per number of threads, noise words and epochs and requested system that is installed.

    Raise ConfigError for an unknown system, or if none is installed.
    """
    if wrong := [text for text in programs if "=" not in text]:
        raise ConfigError(f"program: expected SYSTEM=PATH, got {wrong[0]!r}")
    paths = {name: program_path(name, path) for name, _, path in (text.partition("=") for text in programs)}
    rates, wanted = _rates(alphas), [*systems.split(","), *paths]
    passes, noise = _by_system("epochs", ("1", *epochs)), _by_system("negative", ("5", *negative))
    if unknown := [name for name in [*wanted, *rates, *passes, *noise] if name not in {*SYSTEMS, ""}]:
        raise ConfigError(f"systems: {unknown[0]!r} is not one of {', '.join(SYSTEMS)}")
    found = dict.fromkeys(installed(wanted, paths))
    if not found:
        raise ConfigError(f"systems: none of {', '.join(wanted)} is installed")
    if missing := [name for name in wanted if name not in found]:
        echo(f"warning: not installed, so not measured: {', '.join(missing)}", err=True)
    base = Job("w2vtrain", "skipgram", "neg", corpus, **settings)
    jobs = [
        replace(base, system=name, alpha=rates.get(name), program=paths.get(name), threads=t, negative=k, epochs=n)
        for t in _numbers("threads", threads, THREADS) for name in found
        for k in noise.get(name, noise[""]) for n in passes.get(name, passes[""])
    ]  # fmt: skip
    return sorted(jobs, key=lambda job: (job.negative, job.epochs))  # systems with equal settings take turns


def _numbers(option: str, text: str, parser: Number) -> list[Any]:
    """Return the numbers in a text such as `1,2`, each once."""
    try:
        return list(dict.fromkeys(parser.parse(number) for number in text.split(",")))
    except ValueError as error:
        raise ConfigError(f"{option}: {error}, or several separated by commas, got {shown(text)}") from None


def _by_system(option: str, texts: tuple[str, ...]) -> dict[str, list[int]]:
    """Return numbers by system, from texts such as `gensim=1,3`, or `1,3` for all others, whose key is ""."""
    pairs = (text.rpartition("=") for text in texts)
    return {name: _numbers(option, numbers, WHOLE) for name, _, numbers in pairs}


def _rates(alphas: tuple[str, ...]) -> dict[str, float]:
    """Return learning rates by system, from strings such as `gensim=0.05`."""
    try:
        rates = {name: RATE.parse(value) for name, _, value in (pair.partition("=") for pair in alphas)}
        if all(rates.values()):
            return rates
    except ValueError:
        pass
    raise ConfigError(f"alpha: expected SYSTEM=NUMBER, with a positive number, got {', '.join(alphas)}")


def _line(m: Measurement) -> str:
    """Return a measurement in one line."""
    found = [f"{m.job.system} {m.job.name}, seed {m.job.seed}: {m.whole_wall:.1f} s"]
    if m.speed and m.wall_speed:
        found.append(f"{m.speed:,.0f} words/CPU s {m.wall_speed:,.0f} words/s")
    if m.round_trip:
        found.append(f"round trip {1e9 * m.round_trip:,.0f} ns")
    return " ".join(found + [f"{name} {value:.4f}" for name, value in m.scores.items()])


def _sweep(results: list[Measurement], base: Job, repeats: int, peak: float, path: Path) -> None:
    """Measure and append to `results`; print each result and the table, and draw the plot.

    peak: the processor's operations per second.
    """
    points = []
    for axis, value, found in sweeping.sweep(base, repeats):
        points.append((axis, value, found))
        results += found
        name = sweeping.NAMES.get(axis, axis)
        echo(f"{name} {value:,}: {sweeping.speed(found)[0]:,.0f} words/CPU s", err=True)
    echo(sweeping.table(points))
    sweeping.picture(points, base, peak, path)
