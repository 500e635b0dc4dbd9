"""The command `bench`: what evaluation/bench.py and evaluation/sweep.py measure, printed as it comes and as a table."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from w2vtrain.errors import ConfigError, UsageError
from w2vtrain.evaluation import sweep as sweeping
from w2vtrain.evaluation.bench import describe_machine, ratios, side_by_side, table
from w2vtrain.evaluation.measure import SYSTEMS, Job, Measurement, installed
from w2vtrain.system.files import atomic_write, check_writable
from w2vtrain.system.json_text import json_text
from w2vtrain.system.terminal import echo


def bench(
    corpus: str, systems: str, architectures: str, objectives: str, alphas: tuple[str, ...], seeds: int,
    json_file: str | None, questions: str | None, pairs: tuple[str, ...], sweep: str | None = None, **settings: Any,
) -> None:  # fmt: skip
    """Measure, say each result as it comes, and print the table. sweep: the picture's file, see evaluation/sweep.py."""
    for file in filter(None, (json_file, sweep)):
        check_writable(file, force=True)
    if sweep and (alphas or questions or pairs):
        raise UsageError("--sweep measures speed alone: leave out --alpha, --questions and --pairs")
    rates, wanted = _rates(alphas), systems.split(",")
    if unknown := [name for name in [*wanted, *rates] if name not in SYSTEMS]:
        raise ConfigError(f"systems: {unknown[0]!r} is not one of {', '.join(SYSTEMS)}")
    found = installed(tuple(wanted))
    if not found:
        raise ConfigError(f"systems: none of {', '.join(wanted)} is installed here")
    machine, results = describe_machine(), []  # type: dict[str, Any], list[Measurement]
    echo(json_text(machine), err=True)
    named = architectures.split(","), objectives.split(",")
    first = Job(found[0], "skipgram", "neg", corpus, **settings)
    if sweep:
        base = replace(first, system="w2vtrain", architecture=named[0][0], objective=named[1][0])
        results += _sweep(base, seeds, machine["limits"]["flops"], Path(sweep))
    else:
        results += _side_by_side(first, found, *named, seeds, rates, questions, pairs)
    if json_file:
        rows = {"machine": machine, "measurements": [asdict(m) for m in results]}
        with atomic_write(json_file, force=True) as out:
            out.write(json_text(rows, indent=True).encode() + b"\n")


def _rates(alphas: tuple[str, ...]) -> dict[str, float]:
    """Return learning rates by system from texts like `gensim=0.05`."""
    try:
        return {name: float(value) for name, _, value in (pair.partition("=") for pair in alphas)}
    except ValueError:
        raise ConfigError(f"alpha: expected SYSTEM=NUMBER, got {', '.join(alphas)}") from None


def _side_by_side(first: Job, *what: Any) -> list[Measurement]:
    """Measure, and print each result and the table. Arguments: as for `side_by_side`."""
    results = []
    for m in side_by_side(first, *what):
        results.append(m)
        speed = f"{m.speed:,.0f} words/CPU s" if m.speed else ""
        scores = " ".join(f"{name} {value:.4f}" for name, value in m.scores.items())
        job = f"{m.job.system} {m.job.architecture} {m.job.objective} seed {m.job.seed}"
        echo(f"{job}: {m.whole_wall:.1f} s {speed} {scores}", err=True)
    echo(table(results))
    for line in ratios(results):
        echo(line)
    return results


def _sweep(base: Job, repeats: int, peak: float, path: Path) -> list[Measurement]:
    """Measure, print each result and the table, and draw the picture. peak: operations per second."""
    results = []
    for axis, value, found in sweeping.sweep(base, repeats):
        results.append((axis, value, found))
        name = sweeping.NAMES.get(axis, axis)
        echo(f"{name} {value:,}: {sweeping.speed(found)[0]:,.0f} words/CPU s", err=True)
    echo(sweeping.table(results))
    sweeping.picture(results, base, peak, path)
    return [m for _, _, found in results for m in found]
