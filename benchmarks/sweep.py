"""Measure speed as one setting at a time varies while the others stay fixed, to show where the time goes.

measure.py runs the jobs; this module chooses the values and draws the plots.
"""

import os
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from w2vtrain.evaluation.figures import new_figure, save_figure
from w2vtrain.evaluation.measure import Measurement, measure, warm_up
from w2vtrain.evaluation.systems import Job

AXES: dict[str, tuple[Any, ...]] = {
    "vector_size": (25, 50, 100, 200, 300, 512, 1024),
    "negative": (1, 2, 5, 10, 20, 50),
    "window": (1, 2, 5, 10, 20),
    "max_vocab": (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
    "threads": tuple(range(1, (os.cpu_count() or 1) + 1)),
}
Results = list[tuple[str, Any, list[Measurement]]]
"""(axis, value, measurements) of every job, with one measurement per seed."""
NAMES = {"vector_size": "dimensions", "negative": "noise words", "max_vocab": "vocabulary size"}


def jobs(base: Job) -> Iterator[tuple[str, Job]]:
    """Yield (axis, job) for every value of every axis. The axis `max_vocab` keeps rare words, to reach large sizes."""
    for axis, values in AXES.items():
        for value in values:
            job = replace(base, **{axis: value})
            yield axis, replace(job, min_count=1) if axis == "max_vocab" else job


def sweep(base: Job, repeats: int) -> Iterator[tuple[str, Any, list[Measurement]]]:
    """Yield (axis, value, measurements) of every job, after compiling the kernel."""
    with tempfile.TemporaryDirectory() as folder:
        warm_up(base, folder)
    for axis, job in jobs(base):
        yield axis, getattr(job, axis), [measure(replace(job, seed=seed + 1)) for seed in range(repeats)]


def speed(found: list[Measurement]) -> tuple[float, float]:
    """Return the medians of words per CPU second and of float32 operations per CPU second."""
    return statistics.median(m.speed or 0.0 for m in found), statistics.median(m.flops or 0.0 for m in found)


def table(results: Results) -> str:
    """Return the results as a Markdown table."""
    lines = ["| setting | value | words/CPU s | GFLOP/CPU s | peak MiB |", "|---|---|---|---|---|"]
    for axis, value, found in results:
        words, flops = speed(found)
        peak = statistics.median(m.peak_memory for m in found) / 2**20
        lines.append(f"| {NAMES.get(axis, axis)} | {value:,} | {words:,.0f} | {flops / 1e9:.0f} | {peak:,.0f} |")
    return "\n".join(lines)


def picture(results: Results, base: Job, peak: float, path: Path) -> None:
    """Draw one plot per axis: words per CPU second, and operations per second as a percentage of the peak.

    peak: float32 operations per second of one thread; the suffix of `path` selects the format.
    """
    axes = list(AXES)
    figure = new_figure(figsize=(4 * len(axes), 3.6), layout="constrained")
    for axis, plot in zip(axes, figure.subplots(1, len(axes)), strict=True):
        points = [(value, *speed(found)) for name, value, found in results if name == axis]
        values = [value for value, _, _ in points]
        plot.plot(values, [words / 1e6 for _, words, _ in points], "o-", color="tab:blue")
        plot.set(xlabel=NAMES.get(axis, axis), ylabel="million words per CPU second", ylim=(0, None))
        if axis != "threads":
            plot.set_xscale("log")
        else:
            plot.set_xticks(values)
        share = plot.twinx()
        share.plot(values, [100 * flops / peak for _, _, flops in points], "s--", color="tab:orange")
        share.set(ylabel="% of peak", ylim=(0, 100))
    fixed = {name: value for name, value in asdict(base).items() if name in AXES and value is not None}
    text = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in fixed.items())
    figure.suptitle(f"{base.architecture} {base.objective}; fixed unless varied: {text}")
    save_figure(figure, path, 110)
