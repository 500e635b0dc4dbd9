"""Measure the time, memory and accuracy of one training by one system: w2vtrain, gensim or fastText.

Every measurement runs in a fresh process, so that peak memory is that of the job and no system warms another's caches.
bench.py and sweep.py choose what to measure.
"""

import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from w2vtrain.errors import ConfigError
from w2vtrain.evaluation.analogies import evaluate_analogies
from w2vtrain.evaluation.limits import operations, path_length
from w2vtrain.evaluation.similarity import evaluate_similarity
from w2vtrain.formats.vectors import read_vectors, write_vectors
from w2vtrain.system.machine import peak_memory


@dataclass(frozen=True)
class Job:
    """One training: a system, what it trains, and its settings. alpha None: the default of the system."""

    system: str
    architecture: str
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
    max_vocab: int | None = None


@dataclass(frozen=True)
class Measurement:
    """The measurements of one training. All times are in seconds; None where a system does not report a figure.

    words: corpus words that the system counts in its vocabulary, times epochs; training: from the first trained word
    to the last; whole: from the text to written vectors, without imports; peak_memory: bytes; operations: float32
    operations in products and updates; reading: from the text to the vocabulary and, for w2vtrain, to word indices;
    tokens: words of the text read; preparing: from the end of reading to the first trained word.
    """

    job: Job
    words: int
    training_cpu: float | None
    training_wall: float | None
    whole_cpu: float
    whole_wall: float
    peak_memory: int
    scores: dict[str, float]
    operations: float | None = None
    tokens: int | None = None
    reading: float | None = None
    preparing: float | None = None

    @property
    def speed(self) -> float | None:
        """Words per CPU second of training."""
        return self.words / self.training_cpu if self.training_cpu else None

    @property
    def read_speed(self) -> float | None:
        """Words of the text per second of counting and, for w2vtrain, encoding."""
        return self.tokens / self.reading if self.tokens and self.reading else None

    @property
    def flops(self) -> float | None:
        """Float32 operations per CPU second of training."""
        return self.operations / self.training_cpu if self.operations and self.training_cpu else None


class Clock:
    """CPU and wall-clock seconds since the object was made."""

    def __init__(self) -> None:
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    def read(self) -> tuple[float, float]:
        """Return (CPU seconds, wall-clock seconds)."""
        return time.process_time() - self.cpu, time.perf_counter() - self.wall


def _train_w2vtrain(job: Job, output: str) -> dict[str, Any]:
    from w2vtrain.api import train
    from w2vtrain.training.events import Events

    clocks: list[Clock] = []
    options = {"negative": job.negative} if job.objective in ("neg", "nce") else {}
    settings = {k: v for k, v in asdict(job).items() if k not in ("system", "corpus", "negative") and v is not None}
    events = Events(ready=lambda seconds: clocks.append(Clock()))
    model = train(job.corpus, events=events, options=options, **settings)
    training = clocks[0].read()
    write_vectors(output, model.words, model.input, force=True)
    examples = sum(epoch["examples"] for epoch in model.record["epochs"])
    words = model.record["vocabulary"]["words"] * job.epochs
    phases = {name: model.record["seconds"][name] for name in ("reading", "preparing")}
    done = {"words": words, "training": training, "operations": examples * _operations(job, model.counts)}
    return {**done, **phases, "tokens": model.record["corpus"]["tokens"]}


def _operations(job: Job, counts: np.ndarray) -> float:
    """Return the operations per example. The window size is random; on average there are window + 1 context words."""
    from w2vtrain.architectures import architecture_class

    rows = path_length(counts, job.sample) if job.objective == "hs" else 1.0 + job.negative
    return operations(job.vector_size, rows, 0 if architecture_class(job.architecture).pairs() else job.window + 1)


def _train_gensim(job: Job, output: str) -> dict[str, Any]:
    from gensim.models import Word2Vec

    hs = job.objective == "hs"
    model = Word2Vec(
        vector_size=job.vector_size, window=job.window, negative=0 if hs else job.negative, hs=int(hs),
        sg=int(job.architecture == "skipgram"), sample=job.sample, workers=job.threads, seed=job.seed,
        min_count=job.min_count, alpha=job.alpha or 0.025,
    )  # fmt: skip
    clock = Clock()
    model.build_vocab(corpus_file=job.corpus)
    reading, clock = clock.read()[1], Clock()
    total = int(model.corpus_total_words)
    model.train(corpus_file=job.corpus, total_words=total, epochs=job.epochs)
    training = clock.read()
    model.wv.save_word2vec_format(output)
    words = int(sum(model.wv.get_vecattr(word, "count") for word in model.wv.index_to_key))
    return {"words": words * job.epochs, "training": training, "reading": reading, "tokens": total}


def _train_fasttext(job: Job, output: str) -> dict[str, Any]:
    import fasttext

    model = fasttext.train_unsupervised(
        job.corpus, model=job.architecture, loss="hs" if job.objective == "hs" else "ns", dim=job.vector_size,
        ws=job.window, neg=job.negative, t=job.sample, thread=job.threads, minCount=job.min_count, epoch=job.epochs,
        lr=job.alpha or 0.05, maxn=0, verbose=0,
    )  # fmt: skip
    words, counts = model.get_words(include_freq=True)
    matrix = model.get_input_matrix()
    write_vectors(output, words, matrix[: len(words)], force=True)
    return {"words": int(counts.sum()) * job.epochs, "training": (None, None)}


SYSTEMS: dict[str, Callable[[Job, str], dict[str, Any]]] = {
    "w2vtrain": _train_w2vtrain,
    "gensim": _train_gensim,
    "fasttext": _train_fasttext,
}


def child(text: str, output: str) -> None:
    """Run one job in this process and write its measurements as JSON to the last line of stdout."""
    job = Job(**json.loads(text))
    importlib.import_module({"w2vtrain": "w2vtrain.api"}.get(job.system, job.system))
    clock = Clock()
    done = SYSTEMS[job.system](job, output)
    sys.stdout.write(json.dumps({**done, "whole": clock.read(), "peak_memory": peak_memory()}) + "\n")


def measure(job: Job, questions: str | None = None, pairs: tuple[str, ...] = ()) -> Measurement:
    """Run a job in its own process and score its vectors. Raises ConfigError if the training fails."""
    with tempfile.TemporaryDirectory() as folder:
        output = str(Path(folder) / "vectors.txt")
        code = "import sys; from w2vtrain.evaluation.measure import child; child(*sys.argv[1:])"
        command = [sys.executable, "-c", code, json.dumps(asdict(job)), output]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise ConfigError(
                f"{job.system} could not train {job.architecture} with {job.objective}: see its messages above"
            )
        result = json.loads(done.stdout.splitlines()[-1])
        scores = evaluate(output, questions, pairs)
    (cpu, wall), whole = result["training"], result["whole"]
    times = cpu, wall, whole[0], whole[1]
    more = {name: result.get(name) for name in ("operations", "tokens", "reading", "preparing")}
    return Measurement(job, result["words"], *times, result["peak_memory"], scores, **more)


def evaluate(vectors: str, questions: str | None, pairs: tuple[str, ...]) -> dict[str, float]:
    """Return analogy accuracy among the 30,000 most frequent words, and Spearman's correlation for each pairs file."""
    found, scores = read_vectors(vectors), {}
    if questions:
        scores["analogies"] = evaluate_analogies(found, questions, restrict_vocab=30_000).total.accuracy or 0.0
    for path in pairs:
        scores[Path(path).stem] = evaluate_similarity(found, path).spearman
    return scores


def installed(systems: tuple[str, ...]) -> list[str]:
    """Return the systems that can be imported here."""
    return [name for name in systems if importlib.util.find_spec(name)]


def warm_up(job: Job, folder: str) -> None:
    """Train on 100 words, so that a later measurement finds the compiled kernel in the cache."""
    tiny = Path(folder) / "tiny.txt"
    tiny.write_text("a b a b a b a b a b\n" * 10)
    measure(replace(job, corpus=str(tiny), min_count=1, epochs=1))
