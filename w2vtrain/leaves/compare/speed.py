"""Compare the speed of w2vtrain and other systems in one run on one corpus, as a table and ratios.

measure.py runs each job in its own process. The systems and settings take turns, seed by seed, because the speed of a
shared machine drifts. tradeoff.py shows the accuracy.
"""

import contextlib
import importlib
import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from w2vtrain.leaves.compare.measure import Measurement, groups, measure, median_of, warm_up
from w2vtrain.leaves.compare.systems import COMMON, SETTING, SYSTEMS, Job, has_noise, setting
from w2vtrain.leaves.compare.tradeoff import COLORS
from w2vtrain.system.machine import processor_name, versions

Figure = tuple[Callable[[Any], float | None], str]
"""A column of the table: the figure of a measurement, and its format."""


class Bench:
    """What `bench` measures and shows. benchmarks/bench.py of the repository adds systems and figures.

    systems: the names of the systems; colors: theirs in the plot; figures: the columns of the table of speed, time and
    memory.
    """

    systems: tuple[str, ...] = tuple(SYSTEMS)
    colors: Mapping[str, str] = COLORS
    figures: Mapping[str, Figure] = {
        "words/CPU s": (lambda m: m.speed, ",.0f"),
        "words/s": (lambda m: m.wall_speed, ",.0f"),
        "read words/s": (lambda m: m.read_speed, ",.0f"),
        "ready s": (lambda m: m.preparing, ".2f"),
        "whole job s": (lambda m: m.whole_wall, ".1f"),
        "peak MiB": (lambda m: m.peak_memory / 2**20, ",.0f"),
    }

    def is_installed(self, system: str) -> bool:
        """Return whether a system can be measured here."""
        return importlib.util.find_spec(system) is not None

    def job_of(self, system: str, job: Job) -> Job:
        """Return the job of a system that has the settings of another."""
        return replace(job, system=system)

    def supports(self, job: Job) -> bool:
        """Return whether the system of a job trains its architecture with its objective."""
        return job.system == "w2vtrain" or (job.architecture, job.objective) in COMMON

    def measure(self, job: Job, questions: str | None, pairs: tuple[str, ...]) -> Measurement:
        """Run a job, and score its vectors."""
        return measure(job, questions, pairs)

    def describe_machine(self) -> dict[str, Any]:
        """Return the processor, its cores, and versions."""
        from w2vtrain.kernels.llvm import LANES

        known = versions()
        for name in ("gensim", "fasttext"):
            with contextlib.suppress(ImportError):
                known[name] = getattr(importlib.import_module(name), "__version__", "installed")
        cores = os.cpu_count()
        return {"processor": processor_name(), "cores": cores, "floats_per_vector": LANES, "versions": known}

    def remarks(self, measurements: Sequence[Measurement]) -> list[str]:
        """Return the lines below the tables."""
        return ratios(measurements)

    def side_by_side(
        self, jobs: Sequence[Job], architectures: list[str], objectives: list[str], seeds: int, questions: str | None,
        pairs: tuple[str, ...],
    ) -> Iterator[Measurement]:  # fmt: skip
        """Measure each job with each architecture and objective that its system supports; for each seed, take turns.

        jobs: one per system and setting; architecture, objective and seed are filled in here. Jobs that differ only in
        the number of noise words are one job if the objective has none.
        """
        for architecture, objective in product(architectures, objectives):
            possible = [replace(job, architecture=architecture, objective=objective) for job in jobs]
            possible = list(filter(self.supports, possible))
            if not has_noise(objective):
                possible = list(dict.fromkeys(replace(job, negative=0) for job in possible))
            ours = dict.fromkeys(replace(job, epochs=1) for job in possible if job.system == "w2vtrain")
            for job in ours:  # compile the kernel into the cache on disk before measuring
                warm_up(job)
            for seed, job in product(range(1, seeds + 1), possible):
                yield self.measure(replace(job, seed=seed), questions, pairs)

    def table(self, measurements: Sequence[Measurement]) -> list[list[str]]:
        """Return the cells of the table of the figures, as medians over seeds; the first row is its head."""
        rows = [[*SETTING, *self.figures]]
        for group in groups(measurements):
            medians = [(median_of(group, figure), form) for figure, form in self.figures.values()]
            cells = ["-" if value is None else format(value, form) for value, form in medians]
            rows.append([*setting(group[0].job), *cells])
        return rows


COMPARED: Mapping[str, Callable[[Measurement], float | None]] = {
    "words per CPU second": lambda m: m.speed,
    "whole job": lambda m: 1 / m.whole_wall,
    "reading": lambda m: m.read_speed,
}
"""The figures whose ratios are shown."""


def ratios(measurements: Sequence[Measurement]) -> list[str]:
    """Return one line per job and other system that both train: how fast w2vtrain is beside it.

    Each ratio is the quotient of two medians over seeds.
    """
    by_job = {(group[0].job.name, group[0].job.system): group for group in groups(measurements)}
    lines = []
    for (name, system), theirs in by_job.items():
        ours = by_job.get((name, "w2vtrain"))
        if system == "w2vtrain" or ours is None:
            continue
        quotients = []
        for label, figure in COMPARED.items():
            mine, other = median_of(ours, figure), median_of(theirs, figure)
            if mine and other:
                quotients.append(f"{label} {mine / other:.1f}x")
        lines.append(f"{name}, compared with {system}: {', '.join(quotients)}")
    return lines
