"""Measure what docs/distributed.md shows: accuracy by the number of ranks, speed on one host and on two, and exchanges.

    python benchmarks/distributed_runs.py accuracy enwiki8.txt --ranks 1 2 4 8 16 --seeds 1 2 3
    python benchmarks/distributed_runs.py speed enwiki8.txt
    python benchmarks/distributed_runs.py exchange enwiki8.txt
    python benchmarks/distributed_runs.py model docs/distributed.png

All but the last print one JSON object per measurement. For accuracy, the ranks are threads of one process: it depends
only on what they learn between two synchronizations, not on how they communicate, so a machine with few cores can
measure many ranks. Speed needs a machine on which nothing else runs; for two hosts, which are network namespaces, it
needs root. The bytes of an exchange follow from the vocabulary, and its CPU time is that of one rank, without MPI.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from simulated import Simulated, run_ranks

from w2vtrain.config import resolve
from w2vtrain.embeddings.model import Model
from w2vtrain.errors import Diverged
from w2vtrain.formats.vectors import Vectors
from w2vtrain.leaves.compare.measure import evaluate
from w2vtrain.leaves.mpi import synchronization
from w2vtrain.leaves.mpi.pace import Pace
from w2vtrain.leaves.mpi.ranks import Ranks
from w2vtrain.leaves.mpi.row_updates import expected_updates
from w2vtrain.leaves.mpi.synchronization import Synchronizer, shares
from w2vtrain.objectives import build
from w2vtrain.text.encoded import read
from w2vtrain.training.engine_parts import architecture_of, make_engine, problem_of, schedule_of, windows_of
from w2vtrain.training.inputs import Inputs, chunks_of, corpus_of
from w2vtrain.training.plan import Plan, effective
from w2vtrain.training.trainer import train

ROOT = Path(__file__).parent.parent
QUESTIONS = str(ROOT / "data/eval/questions-words.txt")
PAIRS = [str(ROOT / f"data/eval/{name}.tsv") for name in ("wordsim353", "simlex999")]
COMMAND = (str(Path(sys.executable).parent / "w2vtrain"), "fit")

RULES = {
    "limit": shares,
    "average": lambda updates, words, ranks, limit: np.full(len(updates), 1 / ranks, np.float32),
    "sum": lambda updates, words, ranks, limit: np.ones(len(updates), np.float32),
}
"""Rules that combine the changes of the ranks: ours, the mean of the replicas, and the sum of all changes."""


def accuracy(
    corpus: str, ranks: list[int], seeds: list[int], rule: str, words: int | None, settings: dict[str, str]
) -> Iterator[dict[str, Any]]:
    """Train with each number of ranks and each seed, and yield the scores of the vectors that `fit` would write."""
    chosen = effective(resolve({"threads": "1", **settings}, {}, None)[0])
    with read(corpus_of([corpus], chosen), threads=os.cpu_count() or 1) as counted:
        ids = counted.encode(counted.vocabulary(chosen.min_count))
    for seed in seeds:
        for count in ranks:
            own = effective(resolve({"threads": "1", **settings, "seed": str(seed)}, {}, None)[0])
            inputs, interval = Inputs([corpus], encoded=ids), words

            def of_rank(comm: Simulated, inputs: Any = inputs, own: Any = own, interval: Any = interval) -> Any:
                ranks = Ranks(comm, interval)
                model = train(Plan.of(inputs, own), ranks=ranks)
                return model if comm.rank == 0 else None, ranks.facts()

            run = {"ranks": count, "seed": seed, "rule": rule, "settings": settings}
            try:
                still = patch.object(Pace, "adapt", lambda *_: None)  # threads do not communicate as ranks do
                with patch.object(synchronization, "shares", RULES[rule]), still:
                    model, facts = run_ranks(count, of_rank)[0] if count > 1 else (train(Plan.of(inputs, own)), {})
            except Diverged as error:
                yield {**run, "failed": str(error)}
                continue
            facts = {name: facts.get(name) for name in ("words_per_synchronization", "bytes_per_synchronization")}
            yield {**run, **scores(model), **facts}


def scores(model: Model) -> dict[str, float]:
    """Return the scores of the vectors that `fit` writes by default."""
    vectors = Vectors(model.words, np.ascontiguousarray(model.vectors()))
    scores = evaluate(vectors, QUESTIONS, PAIRS)
    return {name: round(value, 4) for name, value in scores.items() if not name.endswith("standard error")}


def speed(corpus: str, settings: list[str], repeat: int) -> Iterator[dict[str, Any]]:
    """Train on one process, on two ranks of this host, and on two hosts, and yield words per second."""
    sys.path.insert(0, str(ROOT / "tests/leaves/mpi"))
    import hosts as namespaces  # type: ignore[import-not-found]

    launcher = namespaces.mpiexec()
    assert launcher, "mpiexec is not installed: install w2vtrain[mpich]"
    distributed = ["--distributed", "mpi"]
    for _ in range(repeat):
        yield {"where": "one process", **timed([], corpus, settings)}
        yield {"where": "2 ranks, one host", **timed([launcher, "-n", "2"], corpus, [*settings, *distributed])}
        for rate in (None, "1gbit"):
            if why := namespaces.available():
                print(f"two hosts are left out: {why}", file=sys.stderr)
                break
            with namespaces.hosts(2, rate) as cluster:
                where = f"2 hosts, {rate or 'unlimited'}"
                yield {"where": where, **timed(cluster.mpiexec(2), corpus, [*settings, *distributed])}


def timed(launcher: list[str], corpus: str, options: list[str]) -> dict[str, Any]:
    """Run `fit` with one thread per rank, and return the speed and what the ranks did."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        output = Path(folder).resolve() / "vectors.bin"
        command = [*launcher, *COMMAND, str(Path(corpus).resolve()), "-o", str(output), "--threads", "1", *options]
        subprocess.run(command, check=True, capture_output=True)
        record = json.loads(Path(f"{output}.json").read_text())["record"]
    distributed = record.get("distributed", {})
    names = ("communication", "bytes_per_synchronization", "words_per_synchronization", "synchronizations")
    return {"words_per_second": round(record["words_per_second"]), **{name: distributed.get(name) for name in names}}


def exchanges(corpus: str, settings: dict[str, str], repeat: int) -> Iterator[dict[str, Any]]:
    """Exchange the rows of one cycle between two ranks that learn nothing, and yield what an exchange takes on average.

    bytes: of a rank's changes; cpu_seconds: of a rank, to copy, quantize and add its changes.
    """
    own = effective(resolve({"threads": "1", **settings}, {}, None)[0])
    with read(corpus_of([corpus], own), threads=os.cpu_count() or 1) as counted:
        ids = counted.encode(counted.vocabulary(own.min_count))
    text, windows = chunks_of(ids, own), windows_of(own, ids.vocabulary)
    schedule = schedule_of(own)
    problem, pace = problem_of(own, ids.vocabulary, text), Pace(1, 1, len(text.words) * own.epochs)
    words = round(pace.shortest * text.words.mean())

    def cycle(comm: Simulated) -> dict[str, Any]:
        objective = build(own.objective, problem, own.options)
        architecture = architecture_of(own, ids.vocabulary.words)
        engine = make_engine(architecture, objective, problem, text, windows, schedule)
        synchronizer = Synchronizer(comm, engine, expected_updates(engine, text, schedule), words)
        rounds, seconds, ended = 0, 0.0, False
        while not ended:
            for array in engine.state().values():
                array += np.random.default_rng(comm.rank).normal(0, 0.01, array.shape).astype(array.dtype)
            began = time.thread_time()
            ended = synchronizer.synchronize(words)
            rounds, seconds = rounds + 1, seconds + time.thread_time() - began
        facts = {"bytes": round(synchronizer.bytes / rounds), "cpu_seconds": round(seconds / rounds, 4)}
        return {"words": words, "exchanges": rounds, **facts}

    for _ in range(repeat):
        yield run_ranks(2, cycle)[0]


EXCHANGED_BYTES, COPYING_SECONDS = 3.33e6, 17e-3
"""What `exchange` prints for enwiki8: bytes of an exchange, and seconds that one core takes for it at most."""
HOSTS = (1, 2, 4, 8, 16, 32, 64)


def predicted(hosts: int, cores: int, speed: float, words: float, gigabits: float) -> float:
    """Return the words per second of all hosts together, by a model with three terms per round.

    cores: of each host; speed: words per second of one host; words: learned by all hosts between two exchanges. A round
    takes the time to learn its words, to combine the rows on all cores, and to send and receive 2 (K - 1) / K of them.
    """
    line = 2 * (hosts - 1) / hosts * EXCHANGED_BYTES / (gigabits * 1e9 / 8)
    exchange = COPYING_SECONDS / cores + line if hosts > 1 else 0.0
    return words / (words / (hosts * speed) + exchange)


def model(path: Path) -> None:
    """Print the prediction for hosts of one core and of 16, and plot it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    for axes, (cores, speed) in zip(figure.subplots(1, 2), {1: 4.5e6, 16: 50e6}.items(), strict=True):
        name = "one core per host" if cores == 1 else f"{cores} cores per host"
        for gigabits in (1, 10, 100):
            for words, style in ((512e3, "-"), (128e3, "--")):
                speeds = [predicted(hosts, cores, speed, words, gigabits) for hosts in HOSTS]
                print(f"{name}, {gigabits} Gbit/s, {words:,.0f} words: " + ", ".join(f"{x / 1e6:.1f}" for x in speeds))
                color = {1: "tab:red", 10: "tab:blue", 100: "tab:green"}[gigabits]
                axes.plot(HOSTS, speeds, style, color=color, label=f"{gigabits} Gbit/s, {words / 1e6:g}M words")
        axes.plot(HOSTS, [hosts * speed for hosts in HOSTS], ":", color="gray", label="no communication")
        axes.set(xscale="log", yscale="log", xlabel="hosts", ylabel="words per second", title=name)
        axes.set_xticks(HOSTS, [str(hosts) for hosts in HOSTS])
        axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=120)


def main() -> None:
    """Run one of the measurements, or draw the model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["accuracy", "speed", "exchange", "model"])
    parser.add_argument("corpus", help="the text; for the model, the picture to write")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--rule", choices=[*RULES], default="limit")
    parser.add_argument("--words", type=int, help="words per rank between two synchronizations")
    parser.add_argument("--set", nargs="*", default=["vector_size=100", "epochs=3"], metavar="NAME=VALUE")
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    if given.what == "model":
        model(Path(given.corpus))
        return
    settings = dict(pair.split("=", 1) for pair in given.set)
    if given.what == "accuracy":
        measurements = accuracy(given.corpus, given.ranks, given.seeds, given.rule, given.words, settings)
    elif given.what == "exchange":
        measurements = exchanges(given.corpus, settings, given.repeat)
    else:
        options = [word for name, value in settings.items() for word in (f"--{name.replace('_', '-')}", value)]
        measurements = speed(given.corpus, options, given.repeat)
    for measurement in measurements:
        print(json.dumps(measurement), flush=True)


if __name__ == "__main__":
    main()
