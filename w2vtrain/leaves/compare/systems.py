"""Train one benchmark job with one system: w2vtrain, gensim or fastText.

measure.py runs each job in its own process, by `child`. gensim and fastText are imported if they are installed. Imports
that take memory are inside the functions that need them, so that the peak memory of a job is that of its own system.
"""

import importlib
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from w2vtrain.errors import DataError
from w2vtrain.system.amounts import counted
from w2vtrain.system.machine import peak_memory


@dataclass(frozen=True)
class Job:
    """One training run: a system, what it trains, and its settings.

    alpha: the learning rate, None for the system's default; negative: noise words, 0 if there are none.
    """

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
    subwords: bool = False

    @property
    def task(self) -> str:
        """The architecture, the objective and the noise words."""
        noise = f", {counted(self.negative, 'noise word')}" if self.negative else ""
        subwords = " with subwords" * self.subwords
        return f"{self.architecture}{subwords} {self.objective}{noise}"

    @property
    def name(self) -> str:
        """The task and how it is trained, in words."""
        return f"{self.task}, {counted(self.epochs, 'epoch')}, {counted(self.threads, 'thread')}"


SETTING = ["architecture", "objective", "noise words", "system", "alpha", "threads", "epochs"]
"""The heads of the cells of `setting`."""


def setting(job: Job) -> list[str]:
    """Return the cells of a table that say what was trained and how."""
    cells = [job.architecture + " with subwords" * job.subwords, job.objective, f"{job.negative or '-'}", job.system]
    return [*cells, f"{job.alpha:g}" if job.alpha else "default", f"{job.threads}", f"{job.epochs}"]


class Stopwatch:
    """CPU and wall-clock seconds since the object was made."""

    def __init__(self) -> None:
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    def read(self, phase: str) -> dict[str, float]:
        """Return the seconds of a phase by the names of a Measurement, such as training_cpu and training_wall."""
        return {f"{phase}_cpu": time.process_time() - self.cpu, f"{phase}_wall": time.perf_counter() - self.wall}


def _train_w2vtrain(job: Job, output: str) -> dict[str, Any]:
    from w2vtrain.api import train
    from w2vtrain.formats.model_file import choose_vectors
    from w2vtrain.formats.transforms import exported
    from w2vtrain.formats.vectors import write_vectors
    from w2vtrain.training.events import Events

    clocks: list[Stopwatch] = []
    options = {"negative": job.negative} if has_noise(job.objective) else {}
    other = ("system", "corpus", "negative")
    settings = {k: v for k, v in asdict(job).items() if k not in other and v is not None}
    events = Events(ready=lambda seconds: clocks.append(Stopwatch()))
    model = train(job.corpus, events=events, options=options, **settings)
    training = clocks[0].read("training")
    # model.vectors() would make a copy, which `fit` does not.
    vectors = exported(model.input, model.output, *choose_vectors(model.record), output)
    write_vectors(output, model.words, vectors, force=True)
    examples = sum(epoch["examples"] for epoch in model.record["epochs"])
    words = model.record["vocabulary"]["words"] * job.epochs
    phases = {name: model.record["seconds"][name] for name in ("reading", "preparing")}
    tokens = model.record["corpus"]["tokens"]
    return {"words": words, **training, "tokens": tokens, "examples": examples, **phases}


def _train_gensim(job: Job, output: str) -> dict[str, Any]:
    from gensim.models import FastText, Word2Vec

    hs = job.objective == "hs"
    model = (FastText if job.subwords else Word2Vec)(
        vector_size=job.vector_size, window=job.window, negative=0 if hs else job.negative, hs=int(hs),
        sg=int(job.architecture == "skipgram"), sample=job.sample, workers=job.threads, seed=job.seed,
        min_count=job.min_count, alpha=job.alpha or 0.025,
    )  # fmt: skip
    clock = Stopwatch()
    model.build_vocab(corpus_file=job.corpus)
    reading, clock = clock.read("reading")["reading_wall"], Stopwatch()
    total = int(model.corpus_total_words)
    model.train(corpus_file=job.corpus, total_words=total, epochs=job.epochs)
    training = clock.read("training")
    model.wv.save_word2vec_format(output)
    words = int(sum(model.wv.get_vecattr(word, "count") for word in model.wv.index_to_key))
    return {"words": words * job.epochs, **training, "reading": reading, "tokens": total}


def _train_fasttext(job: Job, output: str) -> dict[str, Any]:
    import fasttext
    import numpy as np

    from w2vtrain.formats.vectors import write_vectors

    clock = Stopwatch()  # fastText does not tell when it has read the text, so this includes reading
    model = fasttext.train_unsupervised(
        job.corpus, model=job.architecture, loss="hs" if job.objective == "hs" else "ns", dim=job.vector_size,
        ws=job.window, neg=job.negative, t=job.sample, thread=job.threads, minCount=job.min_count, epoch=job.epochs,
        lr=job.alpha or 0.05, minn=3, maxn=6 if job.subwords else 0, verbose=0,
    )  # fmt: skip
    training = clock.read("training")
    words, counts = model.get_words(include_freq=True)
    if job.subwords:
        matrix = np.array([model.get_word_vector(word) for word in words], np.float32)
    else:
        matrix = model.get_input_matrix()[: len(words)]
    write_vectors(output, words, matrix, force=True)
    count = sum(int(n) for word, n in zip(words, counts, strict=True) if word != "</s>")
    return {"words": count * job.epochs, **training}


SYSTEMS: dict[str, Callable[[Job, str], dict[str, Any]]] = {
    "w2vtrain": _train_w2vtrain,
    "gensim": _train_gensim,
    "fasttext": _train_fasttext,
}
"""For each system, the function that trains a job, writes its vectors to a file and returns its measurements, by the
names of a Measurement."""


def child(settings: dict[str, Any], output: str) -> dict[str, Any]:
    """Run one job in this process, write its vectors to the file `output`, and return its measurements."""
    job = Job(**settings)
    importlib.import_module({"w2vtrain": "w2vtrain.api"}.get(job.system, job.system))  # is not part of the measurement
    try:
        return measured(SYSTEMS[job.system], job, output)
    except (RuntimeError, ValueError) as error:  # what other systems raise for a text that they cannot learn from
        if job.system == "w2vtrain":
            raise
        raise DataError(str(error)) from error


def measured(train: Callable[[Any, str], dict[str, Any]], job: Any, output: str) -> dict[str, Any]:
    """Train, and return the measurements, with those of the whole job that `train` does not return."""
    clock = Stopwatch()
    done = train(job, output)
    return {**clock.read("whole"), "peak_memory": peak_memory(), **done}


COMMON = {("skipgram", "neg"), ("skipgram", "hs"), ("cbow", "neg"), ("cbow", "hs")}
"""The architectures and objectives that gensim and fastText support."""


def has_noise(objective: str) -> bool:
    """Return whether an objective takes a number of noise words."""
    from w2vtrain.objectives import option_defaults

    return "negative" in option_defaults(objective)
