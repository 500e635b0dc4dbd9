"""Compare the speed of w2vtrain and other systems in one run on one corpus, as a table and ratios.

measure.py runs each job in its own process. The systems and settings take turns, seed by seed, because the speed of a
shared machine drifts. tradeoff.py shows the accuracy.
"""

import contextlib
import importlib
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from w2vtrain.evaluation.limits import measure_limits
from w2vtrain.evaluation.measure import Measurement, measure, warm_up
from w2vtrain.evaluation.systems import Job, has_noise, supports
from w2vtrain.system.machine import processor_name, versions


def side_by_side(
    systems: Sequence[Job], architectures: list[str], objectives: list[str], seeds: int, questions: str | None,
    pairs: tuple[str, ...],
) -> Iterator[Measurement]:  # fmt: skip
    """Measure every system on each architecture and objective that it supports; for each seed, the systems take turns.

    systems: one job per system and setting; architecture, objective and seed are filled in here. Jobs that differ only
    in the number of noise words are one job if the objective has none.
    """
    for architecture in architectures:
        for objective in objectives:
            jobs = [replace(job, architecture=architecture, objective=objective) for job in systems]
            jobs = [job for job in jobs if supports(job.system, architecture, objective)]
            if not has_noise(objective):
                jobs = list(dict.fromkeys(replace(job, negative=0) for job in jobs))
            ours = dict.fromkeys(replace(job, epochs=1) for job in jobs if job.system == "w2vtrain")
            for job in ours:  # compile the kernel into the cache on disk before measuring
                with tempfile.TemporaryDirectory() as folder:
                    warm_up(job, folder)
            for seed in range(1, seeds + 1):
                for job in jobs:
                    yield measure(replace(job, seed=seed), questions, pairs)


SETTING = ["architecture", "objective", "noise words", "system", "alpha", "threads", "epochs"]
"""The heads of the cells of `setting`."""


def setting(job: Job) -> list[str]:
    """Return the cells of a table that say what was trained and how."""
    cells = [job.architecture, job.objective, f"{job.negative or '-'}", job.system]
    return [*cells, f"{job.alpha:g}" if job.alpha else "default", f"{job.threads}", f"{job.epochs}"]


def table(measurements: Sequence[Measurement]) -> list[list[str]]:
    """Return the cells of a table of speed, time and memory, as medians over seeds; the first row is its head."""
    figures = ["words/CPU s", "words/s", "round trip ns", "GFLOP/CPU s", "read words/s", "ready s", "whole job s"]
    rows = [[*SETTING, *figures, "peak MiB"]]
    for group in groups(measurements):
        cells = setting(group[0].job)
        cells.append(_median([m.speed for m in group]))
        cells.append(_median([m.wall_speed for m in group]))
        cells.append(_median([m.round_trip and m.round_trip * 1e9 for m in group]))
        cells.append(_median([m.flops and m.flops / 1e9 for m in group]))
        cells.append(_median([m.read_speed for m in group]))
        cells.append(_median([m.preparing for m in group], ".2f"))
        cells.append(_median([m.whole_wall for m in group], ".1f"))
        cells.append(_median([m.peak_memory / 2**20 for m in group]))
        rows.append(cells)
    return rows


def _median(values: Sequence[float | None], form: str = ",.0f") -> str:
    known = [value for value in values if value is not None]
    return format(statistics.median(known), form) if known else "-"


def ratios(measurements: Sequence[Measurement]) -> list[str]:
    """Return one line per job and other system that both train: how fast w2vtrain is beside it.

    Each ratio is the quotient of two medians over seeds.
    """
    found = {(group[0].job.name, group[0].job.system): group for group in groups(measurements)}
    what: dict[str, Callable[[Measurement], float | None]] = {
        "words per CPU second": lambda m: m.speed,
        "whole job": lambda m: 1 / m.whole_wall,
        "reading": lambda m: m.read_speed,
    }
    lines = []
    for (name, system), theirs in found.items():
        ours = found.get((name, "w2vtrain"))
        if system == "w2vtrain" or ours is None:
            continue
        quotients = []
        for figure, of in what.items():
            pair = [[value for m in group if (value := of(m))] for group in (ours, theirs)]
            if all(pair):
                quotients.append(f"{figure} {statistics.median(pair[0]) / statistics.median(pair[1]):.1f}x")
        lines.append(f"{name}, compared with {system}: {', '.join(quotients)}")
    return lines


def groups(measurements: Sequence[Measurement]) -> list[list[Measurement]]:
    """Return the measurements of each job, one per seed."""
    found: dict[Job, list[Measurement]] = {}
    for m in measurements:
        found.setdefault(replace(m.job, seed=0), []).append(m)
    return list(found.values())


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
