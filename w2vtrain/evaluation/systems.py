"""Train one benchmark job with one system: w2vtrain, gensim, fastText, word2vec.c or pWord2Vec.

gensim and fastText are imported if they are installed; word2vec.c and pWord2Vec are programs, given by their paths.
measure.py runs each job in its own process, by `child`. Imports that take memory are inside the functions that need
them, so that the peak memory of a job is that of its own system.
"""

import contextlib
import importlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from w2vtrain.errors import ConfigError, W2VError
from w2vtrain.system.machine import peak_memory


@dataclass(frozen=True)
class Job:
    """One training run: a system, what it trains, and its settings.

    alpha: the learning rate, None for the system's default; negative: noise words, 0 if there are none; program: the
    path of the executable, if the system is one.
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
    program: str | None = None

    @property
    def task(self) -> str:
        """The architecture, the objective and the noise words."""
        noise = f", {counted(self.negative, 'noise word')}" if self.negative else ""
        return f"{self.architecture} {self.objective}{noise}"

    @property
    def name(self) -> str:
        """The task and how it is trained, in words."""
        return f"{self.task}, {counted(self.epochs, 'epoch')}, {counted(self.threads, 'thread')}"


def counted(number: int, what: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number:,} {what}{'s' if number != 1 else ''}"


class Clock:
    """CPU and wall-clock seconds since the object was made."""

    def __init__(self) -> None:
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    def read(self) -> tuple[float, float]:
        """Return (CPU seconds, wall-clock seconds)."""
        return time.process_time() - self.cpu, time.perf_counter() - self.wall


def _train_w2vtrain(job: Job, output: str) -> dict[str, Any]:
    from w2vtrain.api import train
    from w2vtrain.formats.model_file import recorded_share, which_vectors
    from w2vtrain.formats.transforms import exported
    from w2vtrain.formats.vectors import write_vectors
    from w2vtrain.training.events import Events

    clocks: list[Clock] = []
    options = {"negative": job.negative} if has_noise(job.objective) else {}
    apart = ("system", "corpus", "negative", "program")
    settings = {k: v for k, v in asdict(job).items() if k not in apart and v is not None}
    events = Events(ready=lambda seconds: clocks.append(Clock()))
    model = train(job.corpus, events=events, options=options, **settings)
    training = clocks[0].read()
    # model.vectors() would make a copy, which `fit` does not.
    which, share = which_vectors(model.record), recorded_share(model.record)
    vectors = exported(model.input, model.output, which, share, output)
    write_vectors(output, model.words, vectors, force=True)
    examples = sum(epoch["examples"] for epoch in model.record["epochs"])
    words = model.record["vocabulary"]["words"] * job.epochs
    phases = {name: model.record["seconds"][name] for name in ("reading", "preparing")}
    done = {"words": words, "training": training, **needed(job, model.counts, examples)}
    return {**done, **phases, "tokens": model.record["corpus"]["tokens"]}


def needed(job: Job, counts: Any, examples: int) -> dict[str, float]:
    """Return the operations and the bytes of rows that training on `examples` examples needs at least; see limits.py.

    Return nothing if the objective scores another number of rows. counts (V,): of the words. A window of random size
    has window + 1 context words on average, away from the ends of sentences.
    """
    from w2vtrain.architectures import architecture_class
    from w2vtrain.evaluation.limits import operations, path_length, row_bytes, rows_fetched
    from w2vtrain.objectives import option_defaults
    from w2vtrain.probability.pools import pool_size
    from w2vtrain.probability.sampling import noise_distribution
    from w2vtrain.training.inputs import CHUNK_WORDS

    if job.objective not in ("neg", "nce", "hs"):
        return {}
    architecture = architecture_class(job.architecture)
    context = 2 * job.window if architecture.fixed_positions() else job.window + 1
    windows = examples / context if architecture.pairs() else examples
    if job.objective == "hs":
        scored, noise, draws = path_length(counts, job.sample), None, 0.0
    else:
        options = option_defaults(job.objective)
        scored, noise = 1.0 + job.negative, noise_distribution(counts, options["ns_exponent"])
        pool = pool_size(options["pool"], job.negative, len(counts))
        draws = pool * job.epochs * counts.sum() / CHUNK_WORDS if pool else windows * job.negative
    per_example = operations(job.vector_size, scored, 0 if architecture.pairs() else context)
    rows = rows_fetched(counts, job.sample, windows, noise, float(draws))
    return {"operations": examples * per_example, "row_bytes": row_bytes(job.vector_size, rows)}


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

    from w2vtrain.formats.vectors import write_vectors

    model = fasttext.train_unsupervised(
        job.corpus, model=job.architecture, loss="hs" if job.objective == "hs" else "ns", dim=job.vector_size,
        ws=job.window, neg=job.negative, t=job.sample, thread=job.threads, minCount=job.min_count, epoch=job.epochs,
        lr=job.alpha or 0.05, maxn=0, verbose=0,
    )  # fmt: skip
    words, counts = model.get_words(include_freq=True)
    matrix = model.get_input_matrix()
    write_vectors(output, words, matrix[: len(words)], force=True)
    count = sum(int(n) for word, n in zip(words, counts, strict=True) if word != "</s>")
    return {"words": count * job.epochs, "training": (None, None)}


def _train_program(job: Job, output: str) -> dict[str, Any]:
    """Train with word2vec.c or pWord2Vec, which take the same options and print their progress in percent.

    Training time is measured from the first report of progress to the last, and scaled to the whole training.
    """
    command = [str(job.program), *arguments(job, output)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        count, points = _watched(process)
    if process.returncode:
        raise ConfigError(f"{job.program}: ended with exit code {process.returncode}: run it by hand to see why")
    if not points or points[0].done == points[-1].done:
        raise ConfigError(
            f"{job.program}: fewer than two reports of progress, which come every 10,000 words: use more text"
        )
    first, last = points[0], points[-1]
    share, used = last.done - first.done, os.times()
    words = count - _lines(job.corpus)  # both programs count the end of a line as a word, </s>
    return {
        "words": words * job.epochs, "training": ((last.cpu - first.cpu) / share, (last.wall - first.wall) / share),
        "whole_cpu": used.children_user + used.children_system, "peak_memory": max(point.memory for point in points),
    }  # fmt: skip


def _lines(path: str) -> int:
    """Return the number of line ends in a file."""
    with Path(path).open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


def arguments(job: Job, output: str) -> list[str]:
    """Return the command-line arguments of word2vec.c or pWord2Vec for a job."""
    options: dict[str, Any] = {
        "train": job.corpus, "output": output, "size": job.vector_size, "window": job.window, "sample": job.sample,
        "negative": 0 if job.objective == "hs" else job.negative, "threads": job.threads, "iter": job.epochs,
        "min-count": job.min_count, "binary": 0,
    }  # fmt: skip
    if job.system == "word2vec.c":
        options |= {"cbow": int(job.architecture == "cbow"), "hs": int(job.objective == "hs")}
    if job.alpha:
        options["alpha"] = job.alpha  # after -cbow, which sets a default
    return [text for name, value in options.items() for text in (f"-{name}", str(value))]


class Progress(NamedTuple):
    """A report of progress of a program: the fraction done, CPU and wall-clock seconds, bytes of resident memory."""

    done: float
    cpu: float
    wall: float
    memory: int


def _watched(process: subprocess.Popen[bytes]) -> tuple[int, list[Progress]]:
    """Read the output of a program until it ends. Return the number of training words, and its reports of progress."""
    assert process.stdout
    watched, count, points, rest = psutil.Process(process.pid), 0, [], b""
    while block := os.read(process.stdout.fileno(), 1 << 16):
        rest += block
        if total := re.search(rb"Words in train file: (\d+)\n", rest):
            count = int(total[1])
        if found := list(re.finditer(rb"Progress: ([\d.]+)%", rest)):
            rest = rest[found[-1].end() :]  # keep what may be the beginning of the next report
            with contextlib.suppress(psutil.Error):  # the program may have ended
                used, memory = watched.cpu_times(), watched.memory_info().rss
                points.append(Progress(float(found[-1][1]) / 100, used.user + used.system, time.perf_counter(), memory))
    return count, points


SYSTEMS: dict[str, Callable[[Job, str], dict[str, Any]]] = {
    "w2vtrain": _train_w2vtrain,
    "gensim": _train_gensim,
    "fasttext": _train_fasttext,
    "word2vec.c": _train_program,
    "pword2vec": _train_program,
}


def child(task: bytes) -> None:
    """Run one job in this process and write its measurements as JSON to the last line of stdout.

    task: the job, and the file for its vectors, as JSON. An error is one line on stderr and an exit code.
    """
    about, output = json.loads(task)
    job = Job(**about)
    if job.system not in PROGRAMS:  # imports are not part of the measurement
        importlib.import_module({"w2vtrain": "w2vtrain.api"}.get(job.system, job.system))
    clock = Clock()
    try:
        done = SYSTEMS[job.system](job, output)
    except W2VError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(error.exit_code)
    cpu, wall = clock.read()
    whole = done.pop("whole_cpu", cpu), wall
    sys.stdout.write(json.dumps({"peak_memory": peak_memory(), **done, "whole": whole}) + "\n")


PROGRAMS = ("word2vec.c", "pword2vec")
"""The systems that are separate programs, given by their paths."""
COMMON = {("skipgram", "neg"), ("skipgram", "hs"), ("cbow", "neg"), ("cbow", "hs")}
"""The jobs that gensim, fastText and word2vec.c support."""


def supports(system: str, architecture: str, objective: str) -> bool:
    """Return whether a system trains an architecture with an objective."""
    if system == "pword2vec":
        return (architecture, objective) == ("skipgram", "neg")
    return system == "w2vtrain" or (architecture, objective) in COMMON


def has_noise(objective: str) -> bool:
    """Return whether an objective takes a number of noise words."""
    from w2vtrain.objectives import option_defaults

    return "negative" in option_defaults(objective)


def installed(systems: Iterable[str], programs: Mapping[str, str]) -> list[str]:
    """Return the systems that can be imported here or whose program is given. programs: paths by system."""
    return [name for name in systems if name in programs or (name not in PROGRAMS and importlib.util.find_spec(name))]


def program_path(system: str, path: str) -> str:
    """Return the absolute path of a system's program.

    Raise ConfigError if the system is not one of PROGRAMS, or if the path is not an executable file.
    """
    if system not in PROGRAMS:
        raise ConfigError(f"program: {system!r} is not one of {', '.join(PROGRAMS)}")
    found = shutil.which(str(Path(path).absolute()))
    if not found:
        raise ConfigError(f"program: {path} is not an executable file")
    return str(found)
