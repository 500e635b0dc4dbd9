"""The command `bench`: print each measurement as it arrives, and a table at the end.

The measurements are made in evaluation/bench.py and evaluation/sweep.py.
"""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from w2vtrain.commands.inputs import check_different
from w2vtrain.errors import ConfigError, UsageError, shown
from w2vtrain.evaluation import sweep as sweeping
from w2vtrain.evaluation.bench import describe_machine, picture, ratios, side_by_side, table
from w2vtrain.evaluation.figures import check_picture
from w2vtrain.evaluation.limits import Limits
from w2vtrain.evaluation.measure import Measurement
from w2vtrain.evaluation.roofline import limiting, scaling
from w2vtrain.evaluation.systems import SYSTEMS, Job, installed, program_path
from w2vtrain.parsers import FASTEST, Real, Whole
from w2vtrain.system.files import atomic_write, check_writable
from w2vtrain.system.json_text import json_text
from w2vtrain.system.terminal import echo

THREADS, RATE = Whole(1, 1024), Real(0.0, FASTEST)


def bench(
    corpus: str, architectures: str, objectives: str, seeds: int, json_file: str | None, questions: str | None,
    pairs: tuple[str, ...], sweep: str | None, plot: str | None, **options: Any,
) -> None:  # fmt: skip
    """Measure, print each result as it arrives, and print the table.

    sweep: file for the plot of evaluation/sweep.py; plot: file for that of evaluation/bench.py; options: systems,
    alphas and programs as on the command line, and settings of a Job.
    """
    files = [file for file in (json_file, sweep, plot) if file]
    check_different(files, [file for file in (corpus, questions, *pairs) if file])
    for file in files:
        check_writable(file, force=True)
    if sweep and (options["alphas"] or options["programs"] or questions or pairs or plot):
        raise UsageError("--sweep measures only speed: remove --alpha, --program, --questions, --pairs and --plot")
    if sweep and "," in options["threads"]:
        raise UsageError("--sweep varies the threads itself: give --threads a single number, for the other settings")
    if plot and not questions:
        raise UsageError("--plot shows the accuracy on --questions: add that option")
    for option, drawn in (("plot", plot), ("sweep", sweep)):
        if drawn:
            check_picture(drawn, option)
    systems = _systems(corpus, **options)
    machine, results = describe_machine(), []  # type: dict[str, Any], list[Measurement]
    echo(json_text(machine), err=True)
    named = architectures.split(","), objectives.split(",")
    try:
        if sweep:
            base = replace(systems[0], system="w2vtrain", architecture=named[0][0], objective=named[1][0])
            _sweep(results, base, seeds, machine["limits"]["flops"], Path(sweep))
        else:
            limits = Limits(**machine["limits"])
            _side_by_side(results, limits, systems, *named, seeds, questions, pairs)
    finally:  # a job that fails does not lose the measurements before it
        if json_file:
            rows = {"machine": machine, "measurements": [_record(m) for m in results]}
            with atomic_write(json_file, force=True) as out:
                out.write(json_text(rows, indent=True).encode() + b"\n")
        if plot and results:
            picture(results, Path(plot))


def _record(m: Measurement) -> dict[str, Any]:
    """Return a measurement for the JSON file, with the figures that classify it."""
    return {**asdict(m), "wall_speed": m.wall_speed, "cores": m.cores}


def _systems(
    corpus: str, systems: str, threads: str, alphas: tuple[str, ...], programs: tuple[str, ...], **settings: Any
) -> list[Job]:
    """Return a job per number of threads and requested system that is installed.

    Raise ConfigError for an unknown system, or if none is installed.
    """
    numbers = _threads(threads)
    if wrong := [text for text in programs if "=" not in text]:
        raise ConfigError(f"program: expected SYSTEM=PATH, got {wrong[0]!r}")
    paths = {name: program_path(name, path) for name, _, path in (text.partition("=") for text in programs)}
    rates, wanted = _rates(alphas), [*systems.split(","), *paths]
    if unknown := [name for name in [*wanted, *rates] if name not in SYSTEMS]:
        raise ConfigError(f"systems: {unknown[0]!r} is not one of {', '.join(SYSTEMS)}")
    found = dict.fromkeys(installed(wanted, paths))
    if not found:
        raise ConfigError(f"systems: none of {', '.join(wanted)} is installed")
    if missing := [name for name in wanted if name not in found]:
        echo(f"warning: not installed, so not measured: {', '.join(missing)}", err=True)
    base = Job("w2vtrain", "skipgram", "neg", corpus, **settings)
    jobs = [replace(base, system=name, alpha=rates.get(name), program=paths.get(name)) for name in found]
    return [replace(job, threads=number) for number in numbers for job in jobs]


def _threads(text: str) -> list[int]:
    """Return the numbers of threads in a string such as `1,2`, each once."""
    try:
        return list(dict.fromkeys(THREADS.parse(number) for number in text.split(",")))
    except ValueError as error:
        raise ConfigError(f"threads: {error}, or several separated by commas, got {shown(text)}") from None


def _rates(alphas: tuple[str, ...]) -> dict[str, float]:
    """Return learning rates by system, from strings such as `gensim=0.05`."""
    try:
        rates = {name: RATE.parse(value) for name, _, value in (pair.partition("=") for pair in alphas)}
        if all(rates.values()):
            return rates
    except ValueError:
        pass
    raise ConfigError(f"alpha: expected SYSTEM=NUMBER, with a positive number, got {', '.join(alphas)}")


def _side_by_side(results: list[Measurement], limits: Limits, *what: Any) -> None:
    """Measure and append to `results`; print each result, the table, ratios and what limits this machine.

    what: the arguments of `side_by_side`.
    """
    try:
        for m in side_by_side(*what):
            results.append(m)
            echo(_line(m), err=True)
    finally:
        echo(table(results))
        for line in [*ratios(results), *scaling(results), *limiting(results, limits)]:
            echo(line)


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
