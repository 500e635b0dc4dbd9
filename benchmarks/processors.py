"""Measure words per CPU second of all systems, as compiled for AVX2 and for this processor: one table.

    python benchmarks/processors.py enwiki30.txt --program pword2vec=./pWord2Vec --program word2vec.c=./word2vec
    python benchmarks/processors.py enwiki10.txt --settings

Every run is a process of its own on one thread, and the systems take turns. For AVX2, Numba, OpenBLAS (gensim) and MKL
(pWord2Vec) are told by variables to use nothing newer; programs are those named PATH-avx2, compiled with
-march=haswell. `--settings` varies one setting at a time beside gensim: where is w2vtrain slow?
"""

import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import click
import numpy as np
from bench import FullBench
from tile_loops import PROCESSORS

from w2vtrain.commands.options import COUNT
from w2vtrain.commands.shell import execute
from w2vtrain.leaves.compare.measure import Measurement, measure, median_of, warm_up
from w2vtrain.leaves.compare.systems import COMMON, Job
from w2vtrain.system.files import write_json
from w2vtrain.system.machine import processor_name
from w2vtrain.system.terminal import echo

AVX2 = {**PROCESSORS["avx2"], "OPENBLAS_CORETYPE": "Haswell", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}
ENVIRONMENTS: Mapping[str, Mapping[str, str]] = {"AVX2": AVX2, "own": {}}
"""Vector widths that are measured, and the variables that select them."""

LINE_WORDS, SHORT_LINE_WORDS, LONG_LINE_WORDS, COMMON_WORDS, RARE_WORDS = 50, 5, 2000, 1_000, 1_000_000
ONCE = ("word2vec.c", "fasttext")
"""Systems that take minutes, and do not use wide vectors: they are measured once."""

SETTINGS: dict[str, list[dict[str, Any]]] = {
    "dimensions": [{"vector_size": n} for n in (64, 100, 128, 200, 300, 512)],
    "noise words": [{"negative": n} for n in (10, 20)],
    "window": [{"window": n} for n in (2, 10, 20)],
    "vocabulary": [{"corpus": "1,000"}, {"corpus": "1,000,000", "min_count": 1}],
    "words per line": [{"corpus": "5"}, {"corpus": "2,000"}],
}
"""The settings that vary, one at a time, around 200 dimensions, window 5 and 5 noise words."""


@contextmanager
def surrounded(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables, which the processes that are started in the block inherit."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def corpora(corpus: str, folder: Path) -> dict[str, str]:
    """Write texts made of a corpus, and one with a large vocabulary. Return the paths by the names in SETTINGS."""
    words = Path(corpus).read_text().split()
    common = {word for word, _ in Counter(words).most_common(COMMON_WORDS)}
    kept = [word for word in words if word in common]
    ids = np.random.default_rng(1).permutation(RARE_WORDS)  # each once, and as many words by Zipf's law
    ranks = np.exp(np.random.default_rng(2).random(RARE_WORDS) * np.log(RARE_WORDS)).astype(np.int64)
    drawn = np.random.default_rng(3).permutation(np.concatenate([ids, ranks]))
    rare = [f"w{n}" for n in drawn]
    texts = {
        "5": (words, SHORT_LINE_WORDS),
        "2,000": (words, LONG_LINE_WORDS),
        "1,000": (kept, LINE_WORDS),
        "1,000,000": (rare, LINE_WORDS),
    }
    for name, (content, length) in texts.items():
        lines = (" ".join(content[k : k + length]) for k in range(0, len(content), length))
        (folder / name).write_text("\n".join(lines) + "\n")
    return {name: str(folder / name) for name in texts}


class Table:
    """Measures jobs in turn, and keeps the measurements by (width, label of the row, system, threads)."""

    def __init__(self, bench: FullBench) -> None:
        self.bench, self.records = bench, list[dict[str, Any]]()
        self.measured: dict[tuple[str, str, str, int], list[Measurement]] = {}

    def add(self, width: str, row: str, job: Job) -> None:
        """Run a job as compiled for a width."""
        with surrounded(ENVIRONMENTS[width]):
            job = self.bench.job_of(job.system, job)
            program = getattr(job, "program", "")
            if program and width == "AVX2":
                job = replace(job, program=f"{program}-avx2")  # type: ignore[call-arg]
            measured = self.bench.measure(job, None, ()) if program else measure(job)
        self.measured.setdefault((width, row, job.system, job.threads), []).append(measured)
        self.records.append({"width": width, "row": row, **measured.record()})
        echo(f"{width} {row} {job.system} x {job.threads}: {measured.speed or 0:,.0f} words/CPU s", err=True)

    def speed(self, width: str, row: str, system: str) -> float | None:
        """Return the median of words per CPU second on one thread, None if it was not measured."""
        return median_of(self.measured.get((width, row, system, 1), []), lambda m: m.speed)

    def gain(self, width: str, row: str) -> float | None:
        """Return how many times as many words per second two threads of w2vtrain train as one, by the clock."""
        one, two = (
            median_of(self.measured.get((width, row, "w2vtrain", n), []), lambda m: m.wall_speed) for n in (1, 2)
        )
        return two / one if one and two else None

    def markdown(self, systems: list[str]) -> str:
        """Return the table: for other systems, how many times as fast w2vtrain is."""
        rows = list(dict.fromkeys(key[:2] for key in self.measured))
        gains = ["two threads"] * any(map(self.gain, *zip(*rows, strict=True)))
        heads = ["vectors", "job", "w2vtrain", *gains, *(f"{system} (w2vtrain is)" for system in systems[1:])]
        lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
        for width, row in rows:
            own, gain = self.speed(width, row, "w2vtrain") or 0.0, self.gain(width, row)
            cells = [f"{gain:.2f}x" if gain else "–"] * len(gains)
            for system in systems[1:]:
                # What does not depend on the width is measured once.
                other = self.speed(width, row, system) or self.speed("own", row, system)
                cells.append(f"{other:,.0f} ({own / other:.1f}x)" if other else "–")
            lines.append("| " + " | ".join([width, row, f"{own:,.0f}", *cells]) + " |")
        return "\n".join(lines)


def by_system(table: Table, base: Job, systems: list[str], rounds: int) -> None:
    """Measure the four jobs that all systems know; pWord2Vec has only one."""
    for turn, width, (architecture, objective) in product(range(rounds), ENVIRONMENTS, sorted(COMMON, reverse=True)):
        for system in systems:
            job = replace(base, system=system, architecture=architecture, objective=objective)
            if table.bench.supports(job) and (system not in ONCE or (turn == 0 and width == "own")):
                table.add(width, f"{architecture} {objective}", job)
        if (os.cpu_count() or 1) > 1:
            job = replace(base, architecture=architecture, objective=objective, threads=2)
            table.add(width, f"{architecture} {objective}", job)


def by_setting(table: Table, base: Job, rounds: int, folder: Path) -> None:
    """Measure skip-gram and CBOW with one setting varied at a time, w2vtrain in both widths and gensim once."""
    paths = corpora(base.corpus, folder)
    for architecture, (axis, variations) in product(("skipgram", "cbow"), SETTINGS.items()):
        for varied in variations:
            label = next(iter(varied.values()))
            job = replace(base, architecture=architecture, objective="neg", **varied)
            job = replace(job, corpus=paths.get(job.corpus, job.corpus))
            for turn in range(rounds):
                table.add("AVX2", f"{architecture} {axis} {label}", job)
                table.add("own", f"{architecture} {axis} {label}", job)
                if turn == 0:
                    table.add("own", f"{architecture} {axis} {label}", replace(job, system="gensim"))


@click.command(help=__doc__)
@click.argument("corpus")
@click.option("--program", "given", multiple=True, metavar="SYSTEM=PATH", help="As for bench.py; repeatable.")
@click.option("--settings", is_flag=True, help="Vary one setting at a time instead, beside gensim.")
@click.option("--rounds", type=COUNT, default=1, show_default=True, help="Runs of each job; the table has medians.")
@click.option("--json", "json_file", metavar="FILE", help="Also write every measurement to FILE as JSON.")
def main(corpus: str, given: tuple[str, ...], settings: bool, rounds: int, json_file: str | None) -> None:
    """Measure, and print the table."""
    table = Table(FullBench(given))
    base = Job("w2vtrain", "skipgram", "neg", corpus, epochs=1, threads=1)
    systems = [name for name in table.bench.systems if table.bench.is_installed(name)]
    for width, (architecture, objective) in product(ENVIRONMENTS, COMMON):
        with surrounded(ENVIRONMENTS[width]):
            warm_up(replace(base, architecture=architecture, objective=objective))
    with tempfile.TemporaryDirectory() as folder:
        if settings:
            by_setting(table, base, rounds, Path(folder))
        else:
            by_system(table, base, systems, rounds)
    if json_file:
        write_json(json_file, {"processor": processor_name(), "measurements": table.records}, force=True)
    echo(processor_name())
    echo(table.markdown(["w2vtrain", "gensim"] if settings else systems))


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    execute(main)
