"""Do what `w2vtrain bench` does, measure programs as well, and say what limits each job of w2vtrain on this machine.

    python benchmarks/bench.py enwiki8.txt --systems w2vtrain,gensim --program pword2vec=./pWord2Vec --threads 2

It has all options of that command. The machine's limits are printed first. GFLOP counts the floating-point operations
of products and updates. Last comes what limits each job of w2vtrain: the arithmetic, the rows that have to come from
memory, or coherence, which is what threads lose to each other.
"""

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import programs
from limits import Limits, measure_limits
from observed import Observed, observe
from roofline import limiting, scaling

from w2vtrain.commands.shell import execute
from w2vtrain.leaves.compare import bench_command as installed
from w2vtrain.leaves.compare.measure import Measurement
from w2vtrain.leaves.compare.speed import Bench, ratios
from w2vtrain.leaves.compare.systems import Job


class FullBench(Bench):
    """Measures programs, given as `SYSTEM=PATH`, as well, and what limits each job."""

    systems = (*Bench.systems, *programs.PROGRAMS)
    colors = {**Bench.colors, **programs.PROGRAMS}  # noqa: RUF012
    figures = {  # noqa: RUF012
        **{name: Bench.figures[name] for name in ("words/CPU s", "words/s")},
        "GFLOP/CPU s": (lambda m: m.flops and m.flops / 1e9, ",.0f"),
        **{name: Bench.figures[name] for name in ("read words/s", "ready s", "whole job s", "peak MiB")},
    }

    def __init__(self, given: Sequence[str]) -> None:
        self.paths = programs.paths_of(given)

    def is_installed(self, system: str) -> bool:
        return system in self.paths if system in programs.PROGRAMS else super().is_installed(system)

    def job_of(self, system: str, job: Job) -> Job:
        if system in self.paths:
            return programs.ProgramJob(**asdict(job) | {"system": system}, program=self.paths[system])
        return super().job_of(system, job)

    def supports(self, job: Job) -> bool:
        only_neg = job.system == "pword2vec" and (job.architecture, job.objective) != ("skipgram", "neg")
        return super().supports(job) and not only_neg

    def measure(self, job: Job, questions: str | None, pairs: tuple[str, ...]) -> Observed:
        return observe(job, questions, pairs)

    def describe_machine(self) -> dict[str, Any]:
        self.limits = measure_limits()
        return {**super().describe_machine(), "limits": rounded(self.limits)}

    def remarks(self, measurements: Sequence[Measurement]) -> list[str]:
        observed = [m for m in measurements if isinstance(m, Observed)]
        return [*ratios(observed), *scaling(observed), *limiting(observed, self.limits)]


def rounded(limits: Limits) -> dict[str, float]:
    """Return the limits with three digits."""
    return {name: float(f"{value:.3g}") for name, value in asdict(limits).items()}


PROGRAM = click.Option(
    ["--program", "given"],
    multiple=True,
    metavar="SYSTEM=PATH",
    help="Also measure a program that you compiled: word2vec.c=PATH or pword2vec=PATH; repeatable.",
)


def bench(given: tuple[str, ...], systems: str, **values: Any) -> None:
    """Measure and print."""
    full = FullBench(given)
    installed.run(full, systems=",".join([systems, *full.paths]), **values)


command = click.Command("bench", params=[*installed.bench.params, PROGRAM], callback=bench, help=__doc__)

if __name__ == "__main__":
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    execute(command)
