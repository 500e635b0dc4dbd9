"""Speed and accuracy beside gensim and fastText, in one run on one corpus, or over one setting after the other.

It trains nothing itself: measure.py does, one process a training. Systems take turns, seed by seed, for shared machines
drift.
"""

import contextlib
import importlib
import os
import platform
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from w2vtrain.errors import ConfigError, UsageError
from w2vtrain.evaluation.limits import measure_limits
from w2vtrain.evaluation.measure import SYSTEMS, Job, Measurement, installed, measure, warm_up
from w2vtrain.evaluation.sweep import run_sweep
from w2vtrain.system.files import atomic_write, check_writable
from w2vtrain.system.json_text import json_text
from w2vtrain.system.machine import versions
from w2vtrain.system.terminal import echo


def compare(
    first: Job, systems: list[str], models: list[str], objectives: list[str], seeds: int, alphas: dict[str, float],
    questions: str | None, pairs: tuple[str, ...],
) -> Iterator[Measurement]:  # fmt: skip
    """Every system on every model and objective that it has, seed by seed, in turns. alphas: rates by system."""
    for model in models:
        for objective in objectives:
            if "w2vtrain" in systems:  # compile the kernel, which is kept on disk, outside the measurements
                with tempfile.TemporaryDirectory() as folder:
                    warm_up(replace(first, system="w2vtrain", model=model, objective=objective), folder)
            for seed in range(1, seeds + 1):
                for system in systems:
                    if objective not in ("neg", "hs") and system != "w2vtrain":
                        continue  # the others have no more
                    job = replace(
                        first, system=system, model=model, objective=objective, seed=seed, alpha=alphas.get(system)
                    )
                    yield measure(job, questions, pairs)


def table(measurements: list[Measurement]) -> str:
    """Medians over seeds for what takes time, means with their range for scores; Markdown."""
    names = sorted({name for m in measurements for name in m.scores})
    head = ["model", "objective", "system", "alpha", "words/CPU s", "GFLOP/CPU s", "read words/s", "ready s"]
    head += ["whole job s", "peak MiB", *names]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for group in _groups(measurements):
        job = group[0].job
        cells = [job.model, job.objective, job.system, f"{job.alpha:g}" if job.alpha else "default"]
        cells.append(_median([m.speed for m in group]))
        cells.append(_median([m.flops and m.flops / 1e9 for m in group]))
        cells.append(_median([m.read_speed for m in group]))
        cells.append(_median([m.preparing for m in group], ".2f"))
        cells.append(_median([m.whole_wall for m in group], ".1f"))
        cells.append(_median([m.peak_memory / 2**20 for m in group]))
        for name in names:
            values = [m.scores[name] for m in group]
            cells.append(f"{statistics.mean(values):.4f} ({min(values):.4f}-{max(values):.4f})")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _median(values: Sequence[float | None], form: str = ",.0f") -> str:
    known = [value for value in values if value is not None]
    return format(statistics.median(known), form) if known else "-"


def ratios(measurements: list[Measurement]) -> list[str]:
    """How many times as fast as the others w2vtrain is, line by line: medians of each divided."""
    groups = {(g[0].job.model, g[0].job.objective, g[0].job.system): g for g in _groups(measurements)}
    what: dict[str, Callable[[Measurement], float | None]] = {
        "words a CPU second": lambda m: m.speed,
        "whole job": lambda m: 1 / m.whole_wall,
        "reading": lambda m: m.read_speed,
    }
    lines = []
    for (model, objective, system), theirs in groups.items():
        ours = groups.get((model, objective, "w2vtrain"))
        if system == "w2vtrain" or ours is None:
            continue
        found = []
        for name, of in what.items():
            pair = [[value for m in group if (value := of(m))] for group in (ours, theirs)]
            if all(pair):
                found.append(f"{name} {statistics.median(pair[0]) / statistics.median(pair[1]):.1f}x")
        lines.append(f"{model} {objective} beside {system}: {', '.join(found)}")
    return lines


def _groups(measurements: list[Measurement]) -> list[list[Measurement]]:
    groups: dict[Job, list[Measurement]] = {}
    for m in measurements:
        groups.setdefault(replace(m.job, seed=0), []).append(m)
    return list(groups.values())


def describe_machine() -> dict[str, Any]:
    """Processor, cores, what one of them can do (limits.py) and versions, for the head of a table."""
    model = platform.processor()
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), model)
    from w2vtrain.kernels.llvm import LANES

    found = versions()
    for name in ("gensim", "fasttext"):
        with contextlib.suppress(ImportError):
            found[name] = getattr(importlib.import_module(name), "__version__", "installed")
    limits = {name: float(f"{value:.3g}") for name, value in asdict(measure_limits()).items()}
    about = {"processor": model, "cores": os.cpu_count(), "floats_per_vector": LANES}
    return {**about, "limits": limits, "versions": found}


def run_bench(
    corpus: str, systems: str, models: str, objectives: str, alphas: tuple[str, ...], seeds: int, json_file: str | None,
    questions: str | None, pairs: tuple[str, ...], sweep: str | None = None, **settings: Any,
) -> None:  # fmt: skip
    """Measure, saying each result as it comes; print the table. sweep: the picture's file, see sweep.py."""
    for file in filter(None, (json_file, sweep)):
        check_writable(file, force=True)
    if sweep and (alphas or questions or pairs):
        raise UsageError("--sweep measures speed alone: leave out --alpha, --questions and --pairs")
    try:
        rates = {name: float(value) for name, _, value in (pair.partition("=") for pair in alphas)}
    except ValueError:
        raise ConfigError(f"alpha: expected SYSTEM=NUMBER, got {', '.join(alphas)}") from None
    wanted = systems.split(",")
    if unknown := [name for name in [*wanted, *rates] if name not in SYSTEMS]:
        raise ConfigError(f"systems: {unknown[0]!r} is not one of {', '.join(SYSTEMS)}")
    found = installed(tuple(wanted))
    machine, results = describe_machine(), []  # type: dict[str, Any], list[Measurement]
    echo(json_text(machine), err=True)
    first = Job(found[0], "skipgram", "neg", corpus, **settings)
    if sweep:
        base = replace(first, system="w2vtrain", model=models.split(",")[0], objective=objectives.split(",")[0])
        results += run_sweep(base, seeds, machine["limits"]["flops"], Path(sweep))
    else:
        results += _side_by_side(first, found, models.split(","), objectives.split(","), seeds, rates, questions, pairs)
    if json_file:
        rows = {"machine": machine, "measurements": [asdict(m) for m in results]}
        with atomic_write(json_file, force=True) as out:
            out.write(json_text(rows, indent=True).encode() + b"\n")


def _side_by_side(first: Job, *what: Any) -> list[Measurement]:
    """Arguments as `compare`'s; prints the table."""
    results = []
    for m in compare(first, *what):
        results.append(m)
        speed = f"{m.speed:,.0f} words/CPU s" if m.speed else ""
        scores = " ".join(f"{name} {value:.4f}" for name, value in m.scores.items())
        line = (
            f"{m.job.system} {m.job.model} {m.job.objective} seed {m.job.seed}: {m.whole_wall:.1f} s {speed} {scores}"
        )
        echo(line, err=True)
    echo(table(results))
    for line in ratios(results):
        echo(line)
    return results
