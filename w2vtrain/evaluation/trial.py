"""Train one contender of a comparison and score it, in its own process, so that its peak memory can be measured.

compare.py decides what is trained and keeps the results.
"""

import json
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from w2vtrain.config import Settings
from w2vtrain.embeddings.model import Model
from w2vtrain.engines.schedule import Progress, Text
from w2vtrain.errors import W2VError
from w2vtrain.kernels.blas import one_thread
from w2vtrain.probability.dense import RowScorer
from w2vtrain.system.json_text import json_text
from w2vtrain.text.encoded import EncodedCorpus
from w2vtrain.training.events import Events
from w2vtrain.training.fit import fit
from w2vtrain.training.fit import perplexity as measure
from w2vtrain.training.inputs import Inputs, heldout_text
from w2vtrain.training.perplexity import paces, score
from w2vtrain.training.predictor import Predictor, model_predictor

FRACTIONS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4)
"""Fractions of a time limit after which held-out text is scored; it is scored at the end, too."""


@dataclass(frozen=True)
class Job:
    """One training run, as passed to its process.

    settings: every setting, not only those that differ; test: text scored at the end, by default that of heldout;
    brief: True if only the perplexity at the end matters, as when learning rates are tried.
    """

    name: str
    sources: list[str]
    heldout: str
    settings: dict[str, Any]
    test: str | None = None
    questions: str | None = None
    pairs: list[str] = field(default_factory=list)
    brief: bool = False


def child() -> None:
    """Train and score one job, read from standard input; write the result to standard output as one line of JSON."""
    job = Job(**json.load(sys.stdin.buffer))
    try:
        found = train(job)
    except W2VError as error:
        found = {"failed": str(error), "exit_code": error.exit_code}
    sys.stdout.buffer.write(json_text(found).encode() + b"\n")  # UTF-8 in every locale


class Curve:
    """Scores held-out text at fixed fractions of a time limit, while the clock is stopped: see training.probe.Probe.

    Without a time limit it scores nothing, because `fit` scores held-out text after each epoch.

    text: the held-out text, once the corpus has been read; points: {"seconds", "perplexity"} at each fraction, with the
    seconds of training so far; spent: seconds of scoring.
    """

    text: Text

    def __init__(self, settings: Settings, job: Job) -> None:
        self.settings, self.heldout = settings, job.heldout
        limit = None if job.brief else settings.seconds
        self.coming = [limit * fraction for fraction in FRACTIONS] if limit else []
        self.seconds, self.spent = 0.0, 0.0
        self.points: list[dict[str, float]] = []

    def read(self, ids: EncodedCorpus, _: float) -> None:
        """Encode the held-out text."""
        self.text = heldout_text([self.heldout], self.settings, ids.vocabulary)[0]

    def follow(self, progress: Progress) -> None:
        """Note how long training has taken so far."""
        self.seconds = progress.seconds

    def due(self) -> bool:
        """Return whether the next fraction has passed."""
        return bool(self.coming) and self.seconds >= self.coming[0]

    def visit(self, found: Predictor) -> None:
        """Score the held-out text. Fractions that passed together make one point."""
        self.coming = [moment for moment in self.coming if moment > self.seconds]
        started = time.monotonic()
        value = score(found.scorer, found.layer, found.windows, self.text, int(self.settings.threads)).perplexity
        self.points.append({"seconds": self.seconds, "perplexity": value})
        self.spent += time.monotonic() - started

    def finished(self, model: Model, last: float) -> list[dict[str, float]]:
        """Return all points of a trained model, whose held-out text has the perplexity `last`."""
        if self.settings.seconds is None:
            epochs = model.record["epochs"]
            return [{"seconds": e["elapsed"], "perplexity": e["heldout"]["perplexity"]} for e in epochs]
        return [*self.points, {"seconds": model.record["seconds"]["training"], "perplexity": last}]


def train(job: Job) -> dict[str, Any]:
    """Train one job in this process; return its measurements and scores."""
    settings = Settings(**job.settings)
    timed, threads = settings.seconds is not None, int(settings.threads)
    curve = Curve(settings, job)
    inputs, events = Inputs(job.sources, [] if timed else [job.heldout]), Events(read=curve.read, training=curve.follow)
    model = fit(inputs, settings, events=events, probe=curve)
    started, seconds = time.monotonic(), model.record["seconds"]
    found, coverage = measure(model, [job.test or job.heldout], threads)
    last = measure(model, [job.heldout], threads)[0] if timed and job.test else found
    names = (
        "epochs", "seconds", "words_per_second", "words_per_cpu_second", "output_parameters", "peak_memory_bytes",
        "versions",
    )  # fmt: skip
    result = {
        **{name: model.record[name] for name in names},
        "vocabulary": len(model.words),
        "corpus_words": model.record["vocabulary"]["words"],
        "width": settings.vector_size + settings.bias,
        "curve": curve.finished(model, last.perplexity),
        "test": {**asdict(found), "coverage": coverage},
        "scoring": scoring(model, curve.text, 1 if job.brief else 7),
        "scores": _evaluate(model, job) if job.questions or job.pairs else {},
    }
    seconds["scoring"] = seconds.get("scoring", curve.spent) + time.monotonic() - started
    return result


def scoring(model: Model, text: Text, rounds: int) -> dict[str, Any]:
    """Measure how fast a model scores targets, and relative to a full softmax over as many words.

    Both take turns. Return targets per CPU second of the model ("per_second") and of that softmax ("reference"), the
    ratio of each round ("ratios"), and whether both do the same work ("same"), so that each ratio should be 1.
    """
    with one_thread():
        found = model_predictor(model)[2]
        size = (len(text.counts), found.layer.width)
        rows = np.random.default_rng(1).standard_normal(size, np.float32)
        rows *= np.float32(0.1)  # in place: a large vocabulary has gigabytes of rows
        own, reference = paces([found.scorer, RowScorer(rows)], found.layer, found.windows, text, rounds)
    same = type(found.scorer) is RowScorer and found.scorer.normalized
    ratios = [mine / theirs for mine, theirs in zip(own, reference, strict=True)]
    paces_of_both = {"per_second": statistics.median(own), "reference": statistics.median(reference)}
    return {**paces_of_both, "ratios": ratios, "same": same}


def _evaluate(model: Model, job: Job) -> dict[str, float]:
    from w2vtrain.evaluation.measure import evaluate
    from w2vtrain.formats.vectors import write_vectors

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "vectors.bin")
        write_vectors(path, model.words, model.input)
        return evaluate(path, job.questions, tuple(job.pairs))
