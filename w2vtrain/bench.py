"""Speed and accuracy beside gensim and fastText, in one run on one corpus.

It trains nothing in its own process: every measurement is a fresh process, so that peak memory is the job's own and no
system warms another's caches. Systems take turns, seed by seed: shared machines drift.
"""

import contextlib
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import click

from .errors import ConfigError
from .files import atomic_write, check_writable
from .machine import peak_memory, versions


@dataclass(frozen=True)
class Job:
    """One training: a system, what it trains, and with which settings. alpha None: w2vtrain's own choice."""

    system: str
    model: str
    objective: str
    corpus: str
    seed: int = 1
    alpha: float | None = None
    vector_size: int = 200
    window: int = 5
    negative: int = 5
    sample: float = 1e-3
    epochs: int = 3
    min_count: int = 5
    threads: int = 2


@dataclass(frozen=True)
class Measurement:
    """words: of the corpus as the system counts them in its vocabulary, times epochs. Seconds of CPU and of wall time.

    training: from the first trained word to the last; whole: from the text to written vectors, without imports.
    """

    job: Job
    words: int
    training_cpu: float | None
    training_wall: float | None
    whole_cpu: float
    whole_wall: float
    peak_memory: int
    scores: dict[str, float]


class Clock:
    """CPU and wall seconds since it was made."""

    def __init__(self) -> None:
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    def read(self) -> tuple[float, float]:
        """(CPU, wall)."""
        return time.process_time() - self.cpu, time.perf_counter() - self.wall


def _train_w2vtrain(job: Job, output: str) -> dict[str, Any]:
    from .api import train
    from .pipeline import Events
    from .vectors import write_vectors

    clocks: list[Clock] = []
    options = {"negative": job.negative} if job.objective in ("neg", "nce") else {}
    settings = {k: v for k, v in asdict(job).items() if k not in ("system", "corpus", "negative") and v is not None}
    events = Events(ready=lambda seconds: clocks.append(Clock()))
    model = train(job.corpus, events=events, options=options, **settings)
    training = clocks[0].read()
    write_vectors(output, model.words, model.input, force=True)
    return {"words": model.record["vocabulary"]["words"] * job.epochs, "training": training}


def _train_gensim(job: Job, output: str) -> dict[str, Any]:
    from gensim.models import Word2Vec

    hs = job.objective == "hs"
    model = Word2Vec(
        vector_size=job.vector_size, window=job.window, negative=0 if hs else job.negative, hs=int(hs),
        sg=int(job.model == "skipgram"), sample=job.sample, workers=job.threads, seed=job.seed,
        min_count=job.min_count, alpha=job.alpha or 0.025,
    )  # fmt: skip
    model.build_vocab(corpus_file=job.corpus)
    clock = Clock()
    total = int(model.corpus_total_words)
    model.train(corpus_file=job.corpus, total_words=total, epochs=job.epochs)
    training = clock.read()
    model.wv.save_word2vec_format(output)
    words = int(sum(model.wv.get_vecattr(word, "count") for word in model.wv.index_to_key))
    return {"words": words * job.epochs, "training": training}


def _train_fasttext(job: Job, output: str) -> dict[str, Any]:
    import fasttext

    model = fasttext.train_unsupervised(
        job.corpus, model=job.model, loss="hs" if job.objective == "hs" else "ns", dim=job.vector_size,
        ws=job.window, neg=job.negative, t=job.sample, thread=job.threads, minCount=job.min_count, epoch=job.epochs,
        lr=job.alpha or 0.05, maxn=0, verbose=0,
    )  # fmt: skip
    words, counts = model.get_words(include_freq=True)
    matrix = model.get_input_matrix()
    from .vectors import write_vectors

    write_vectors(output, words, matrix[: len(words)], force=True)
    return {"words": int(counts.sum()) * job.epochs, "training": (None, None)}


SYSTEMS: dict[str, Callable[[Job, str], dict[str, Any]]] = {
    "w2vtrain": _train_w2vtrain,
    "gensim": _train_gensim,
    "fasttext": _train_fasttext,
}


def child(text: str, output: str) -> None:
    """Run one job in this process and print what it took as JSON on the last line."""
    job = Job(**json.loads(text))
    importlib.import_module({"w2vtrain": "w2vtrain.api"}.get(job.system, job.system))
    clock = Clock()
    done = SYSTEMS[job.system](job, output)
    print(json.dumps({**done, "whole": clock.read(), "peak_memory": peak_memory()}))


def measure(job: Job, questions: str | None = None, pairs: tuple[str, ...] = ()) -> Measurement:
    """Run a job in a process of its own, and score its vectors."""
    with tempfile.TemporaryDirectory() as folder:
        output = str(Path(folder) / "vectors.txt")
        code = "import sys; from w2vtrain.bench import child; child(*sys.argv[1:])"
        command = [sys.executable, "-c", code, json.dumps(asdict(job)), output]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise ConfigError(f"{job.system} could not train {job.model} with {job.objective}: see above")
        result = json.loads(done.stdout.splitlines()[-1])
        scores = evaluate(output, questions, pairs)
    (cpu, wall), whole = result["training"], result["whole"]
    return Measurement(job, result["words"], cpu, wall, whole[0], whole[1], result["peak_memory"], scores)


def evaluate(vectors: str, questions: str | None, pairs: tuple[str, ...]) -> dict[str, float]:
    """Analogy accuracy among the 30,000 most frequent words, Spearman's correlation for each file of pairs."""
    from . import evaluation
    from .vectors import load_keyed_vectors

    kv, scores = load_keyed_vectors(vectors), {}
    if questions:
        scores["analogies"] = evaluation.analogies(kv, questions, restrict_vocab=30_000).total.accuracy or 0.0
    for path in pairs:
        scores[Path(path).stem] = evaluation.similarity(kv, path).spearman
    return scores


def installed(systems: tuple[str, ...]) -> list[str]:
    """Those of the systems that can be imported here."""
    return [name for name in systems if importlib.util.find_spec(name)]


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


def warm_up(job: Job, folder: str) -> None:
    """Train on ten words."""
    tiny = Path(folder) / "tiny.txt"
    tiny.write_text("a b a b a b a b a b\n" * 10)
    measure(replace(job, corpus=str(tiny), min_count=1, epochs=1))


def table(measurements: list[Measurement]) -> str:
    """Medians over seeds for what takes time, means with their range for scores; Markdown."""
    names = sorted({name for m in measurements for name in m.scores})
    head = ["model", "objective", "system", "alpha", "words/CPU s", "whole job s", "peak MiB", *names]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for group in _groups(measurements):
        job = group[0].job
        speeds = [m.words / m.training_cpu for m in group if m.training_cpu]
        cells = [job.model, job.objective, job.system, f"{job.alpha:g}" if job.alpha else "default"]
        cells.append(f"{statistics.median(speeds):,.0f}" if speeds else "-")
        cells.append(f"{statistics.median(m.whole_wall for m in group):.1f}")
        cells.append(f"{statistics.median(m.peak_memory for m in group) / 2**20:,.0f}")
        for name in names:
            values = [m.scores[name] for m in group]
            cells.append(f"{statistics.mean(values):.4f} ({min(values):.4f}-{max(values):.4f})")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _groups(measurements: list[Measurement]) -> list[list[Measurement]]:
    groups: dict[Job, list[Measurement]] = {}
    for m in measurements:
        groups.setdefault(replace(m.job, seed=0), []).append(m)
    return list(groups.values())


def describe_machine() -> dict[str, Any]:
    """Processor, cores and versions, for the head of a table."""
    model = platform.processor()
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), model)
    from .llvm import LANES

    found = versions()
    for name in ("gensim", "fasttext"):
        with contextlib.suppress(ImportError):
            found[name] = getattr(importlib.import_module(name), "__version__", "installed")
    return {"processor": model, "cores": os.cpu_count(), "floats_per_vector": LANES, "versions": found}


def run_bench(
    corpus: str, systems: str, models: str, objectives: str, alphas: tuple[str, ...], seeds: int, json_file: str | None,
    questions: str | None, pairs: tuple[str, ...], **settings: Any,
) -> None:  # fmt: skip
    """Measure, saying each result as it comes; print the table."""
    if json_file:
        check_writable(json_file, force=True)
    try:
        rates = {name: float(value) for name, _, value in (pair.partition("=") for pair in alphas)}
    except ValueError:
        raise ConfigError(f"alpha: expected SYSTEM=NUMBER, got {', '.join(alphas)}") from None
    wanted = systems.split(",")
    if unknown := [name for name in [*wanted, *rates] if name not in SYSTEMS]:
        raise ConfigError(f"systems: {unknown[0]!r} is not one of {', '.join(SYSTEMS)}")
    found = installed(tuple(wanted))
    machine, results = describe_machine(), []
    click.echo(json.dumps(machine), err=True)
    first = Job(found[0], "skipgram", "neg", corpus, **settings)
    for m in compare(first, found, models.split(","), objectives.split(","), seeds, rates, questions, pairs):
        results.append(m)
        speed = f"{m.words / m.training_cpu:,.0f} words/CPU s" if m.training_cpu else ""
        scores = " ".join(f"{name} {value:.4f}" for name, value in m.scores.items())
        line = (
            f"{m.job.system} {m.job.model} {m.job.objective} seed {m.job.seed}: {m.whole_wall:.1f} s {speed} {scores}"
        )
        click.echo(line, err=True)
    click.echo(table(results))
    if json_file:
        with atomic_write(json_file, force=True) as file:
            rows = {"machine": machine, "measurements": [asdict(m) for m in results]}
            file.write(json.dumps(rows, indent=1).encode() + b"\n")
