"""Measure the speed of w2vtrain over dimensions, noise words, windows, vocabulary sizes and threads, and plot it.

    python benchmarks/sweep.py enwiki30.txt docs/speed.png --architecture skipgram --objective neg

One setting at a time varies while the others stay fixed, to show where the time goes.
"""

import os
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click
from bench import rounded
from limits import measure_limits
from observed import Observed, observe

from w2vtrain.commands.input_files import check_different
from w2vtrain.commands.options import COUNT
from w2vtrain.commands.shell import execute
from w2vtrain.evaluation.figures import check_picture, new_figure, save_figure
from w2vtrain.evaluation.measure import median_of, warm_up
from w2vtrain.evaluation.systems import Job
from w2vtrain.system.files import check_writable, write_json
from w2vtrain.system.json_text import json_text
from w2vtrain.system.terminal import echo

AXES: dict[str, tuple[Any, ...]] = {
    "vector_size": (25, 50, 100, 200, 300, 512, 1024),
    "negative": (1, 2, 5, 10, 20, 50),
    "window": (1, 2, 5, 10, 20),
    "max_vocab": (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
    "threads": tuple(range(1, (os.cpu_count() or 1) + 1)),
}
Results = list[tuple[str, Any, list[Observed]]]
"""(axis, value, measurements) of every job, with one measurement per seed."""
NAMES = {"vector_size": "dimensions", "negative": "noise words", "max_vocab": "vocabulary size"}


def jobs(base: Job) -> Iterator[tuple[str, Job]]:
    """Yield (axis, job) for every value of every axis. The axis `max_vocab` keeps rare words, to reach large sizes."""
    for axis, values in AXES.items():
        for value in values:
            job = replace(base, **{axis: value})
            yield axis, replace(job, min_count=1) if axis == "max_vocab" else job


def sweep(base: Job, repeats: int) -> Iterator[tuple[str, Any, list[Observed]]]:
    """Yield (axis, value, measurements) of every job, after compiling the kernel."""
    warm_up(base)
    for axis, job in jobs(base):
        yield axis, getattr(job, axis), [observe(replace(job, seed=seed + 1)) for seed in range(repeats)]


def speed(measurements: list[Observed]) -> tuple[float, float]:
    """Return the medians of words per CPU second and of float32 operations per CPU second."""
    words, flops = median_of(measurements, lambda m: m.speed), median_of(measurements, lambda m: m.flops)
    return words or 0.0, flops or 0.0


def table(results: Results) -> str:
    """Return the results as a Markdown table."""
    lines = ["| setting | value | words/CPU s | GFLOP/CPU s | peak MiB |", "|---|---|---|---|---|"]
    for axis, value, measurements in results:
        words, flops = speed(measurements)
        peak = median_of(measurements, lambda m: m.peak_memory / 2**20)
        lines.append(f"| {NAMES.get(axis, axis)} | {value:,} | {words:,.0f} | {flops / 1e9:.0f} | {peak:,.0f} |")
    return "\n".join(lines)


def picture(results: Results, base: Job, peak: float, path: Path) -> None:
    """Draw one plot per axis: words per CPU second, and operations per second as a percentage of the peak.

    peak: float32 operations per second of one thread; the suffix of `path` selects the format.
    """
    axes = list(AXES)
    figure = new_figure(figsize=(4 * len(axes), 3.6), layout="constrained")
    for axis, plot in zip(axes, figure.subplots(1, len(axes)), strict=True):
        points = [(value, *speed(measurements)) for name, value, measurements in results if name == axis]
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


@click.command(help=__doc__)
@click.argument("corpus")
@click.argument("plot")
@click.option("--architecture", default="skipgram", show_default=True, help="As for `fit`.")
@click.option("--objective", default="neg", show_default=True, help="As for `fit`.")
@click.option("--epochs", type=COUNT, default=1, show_default=True, help="Passes over the corpus.")
@click.option("--negative", type=COUNT, default=5, show_default=True, help="Noise words where they do not vary.")
@click.option("--vector-size", type=COUNT, default=200, show_default=True, help="Dimensions where they do not vary.")
@click.option("--threads", type=COUNT, default=1, show_default=True, help="Threads where they do not vary.")
@click.option("--seeds", type=COUNT, default=1, show_default=True, help="Training runs per job.")
@click.option("--json", "json_file", metavar="FILE", help="Also write every measurement to FILE as JSON.")
def main(
    corpus: str, plot: str, architecture: str, objective: str, seeds: int, json_file: str | None, **settings: Any
) -> None:
    """Measure, print each result as it arrives and the table, and draw the plot."""
    files = [file for file in (json_file, plot) if file]
    check_different(files, [corpus])
    for file in files:
        check_writable(file, force=True)
    check_picture(plot, "plot")
    limits, base = measure_limits(), Job("w2vtrain", architecture, objective, corpus, **settings)
    echo(json_text({"limits": rounded(limits)}), err=True)
    results: Results = []
    try:
        for axis, value, measurements in sweep(base, seeds):
            results.append((axis, value, measurements))
            echo(f"{NAMES.get(axis, axis)} {value:,}: {speed(measurements)[0]:,.0f} words/CPU s", err=True)
    finally:  # a job that fails does not lose the measurements before it
        if json_file:
            records = [m.record() for _, _, measurements in results for m in measurements]
            write_json(json_file, {"limits": rounded(limits), "measurements": records}, force=True)
    echo(table(results))
    picture(results, base, limits.flops, Path(plot))


if __name__ == "__main__":
    execute(main)
