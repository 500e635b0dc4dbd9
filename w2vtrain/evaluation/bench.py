"""Compare the speed and accuracy of w2vtrain and other systems in one run on one corpus, as a table and a plot.

measure.py runs each job in its own process. The systems and numbers of threads take turns, seed by seed, because the
speed of a shared machine drifts.
"""

import contextlib
import importlib
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from w2vtrain.evaluation.figures import new_figure, save_figure
from w2vtrain.evaluation.limits import measure_limits
from w2vtrain.evaluation.measure import Measurement, measure, warm_up
from w2vtrain.evaluation.systems import Job, supports
from w2vtrain.system.machine import versions
from w2vtrain.system.processor import processor_name


def side_by_side(
    systems: Sequence[Job], architectures: list[str], objectives: list[str], seeds: int, questions: str | None,
    pairs: tuple[str, ...],
) -> Iterator[Measurement]:  # fmt: skip
    """Measure every system on each architecture and objective that it supports; for each seed, the systems take turns.

    systems: one job per system and number of threads, with its settings; architecture, objective and seed are filled
    in here.
    """
    for architecture in architectures:
        for objective in objectives:
            jobs = [replace(job, architecture=architecture, objective=objective) for job in systems]
            jobs = [job for job in jobs if supports(job.system, architecture, objective)]
            for job in jobs:
                if job.system == "w2vtrain":  # compile the kernel into the cache on disk before measuring
                    with tempfile.TemporaryDirectory() as folder:
                        warm_up(job, folder)
            for seed in range(1, seeds + 1):
                for job in jobs:
                    yield measure(replace(job, seed=seed), questions, pairs)


def table(measurements: list[Measurement]) -> str:
    """Return a Markdown table: medians over seeds for speed, time and memory, means with ranges for scores."""
    names = sorted({name for m in measurements for name in m.scores})
    head = ["architecture", "objective", "system", "alpha", "threads", "words/CPU s", "words/s", "round trip ns"]
    head += ["GFLOP/CPU s", "read words/s", "ready s", "whole job s", "peak MiB", *names]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for group in _groups(measurements):
        job = group[0].job
        cells = [job.architecture, job.objective, job.system, f"{job.alpha:g}" if job.alpha else "default"]
        cells.append(f"{job.threads}")
        cells.append(_median([m.speed for m in group]))
        cells.append(_median([m.wall_speed for m in group]))
        cells.append(_median([m.round_trip and m.round_trip * 1e9 for m in group]))
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
    """Return one line per architecture, objective, number of threads and other system: how fast w2vtrain is beside it.

    Each ratio is the quotient of two medians over seeds.
    """
    groups = {(g[0].job.name, g[0].job.system): g for g in _groups(measurements)}
    what: dict[str, Callable[[Measurement], float | None]] = {
        "words per CPU second": lambda m: m.speed,
        "whole job": lambda m: 1 / m.whole_wall,
        "reading": lambda m: m.read_speed,
    }
    lines = []
    for (name, system), theirs in groups.items():
        ours = groups.get((name, "w2vtrain"))
        if system == "w2vtrain" or ours is None:
            continue
        found = []
        for figure, of in what.items():
            pair = [[value for m in group if (value := of(m))] for group in (ours, theirs)]
            if all(pair):
                found.append(f"{figure} {statistics.median(pair[0]) / statistics.median(pair[1]):.1f}x")
        lines.append(f"{name}, compared with {system}: {', '.join(found)}")
    return lines


def picture(measurements: Sequence[Measurement], path: Path) -> None:
    """Draw words per second of the whole job beside analogy accuracy: one row per system and job.

    Bars are medians of speed and means of accuracy over seeds; gray lines span the seeds. The measurements must have
    analogy scores.
    """
    groups = sorted(_groups(list(measurements)), key=lambda group: statistics.median(map(_whole_speed, group)))
    jobs = [group[0].job for group in groups]
    alone = len({job.name for job in jobs}) == 1
    names = [job.system if alone else f"{job.system} {job.name}" for job in jobs]
    figure = new_figure(figsize=(9, 0.7 + 0.45 * len(groups)), layout="constrained")
    panels: list[tuple[str, str, Callable[[Measurement], float], Callable[[list[float]], float]]] = [
        ("words per second, from text to written vectors", "{:,.0f}", _whole_speed, statistics.median),
        ("analogies answered, %", "{:.1f}", lambda m: 100 * m.scores["analogies"], statistics.mean),
    ]
    for axes, (title, form, figure_of, middle) in zip(figure.subplots(1, 2, sharey=True), panels, strict=True):
        seeds = [[figure_of(m) for m in group] for group in groups]
        values = [middle(found) for found in seeds]
        below = [value - min(found) for value, found in zip(values, seeds, strict=True)]
        above = [max(found) - value for value, found in zip(values, seeds, strict=True)]
        colors = ["tab:orange" if job.system == "w2vtrain" else "tab:blue" for job in jobs]
        bars = axes.barh(names, values, xerr=[below, above], color=colors, ecolor="gray")
        axes.bar_label(bars, [form.format(value) for value in values], padding=6)
        axes.set_title(title, fontsize="medium", loc="left")
        axes.margins(x=0.25)
        axes.xaxis.set_visible(False)
        axes.spines[["top", "right", "bottom"]].set_visible(False)
    save_figure(figure, path, 150)


def _whole_speed(m: Measurement) -> float:
    """Return words per second of the whole job."""
    return m.words / m.whole_wall


def _groups(measurements: list[Measurement]) -> list[list[Measurement]]:
    groups: dict[Job, list[Measurement]] = {}
    for m in measurements:
        groups.setdefault(replace(m.job, seed=0), []).append(m)
    return list(groups.values())


def describe_machine() -> dict[str, Any]:
    """Return the processor, its cores, the measured limits of one thread (limits.py) and versions."""
    from w2vtrain.kernels.llvm import LANES

    found = versions()
    for name in ("gensim", "fasttext"):
        with contextlib.suppress(ImportError):
            found[name] = getattr(importlib.import_module(name), "__version__", "installed")
    limits = {name: float(f"{value:.3g}") for name, value in asdict(measure_limits()).items()}
    about = {"processor": processor_name(), "cores": os.cpu_count(), "floats_per_vector": LANES}
    return {**about, "limits": limits, "versions": found}
