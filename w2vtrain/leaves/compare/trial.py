"""Train one contender of a comparison and score it, in its own process, so that its peak memory can be measured.

comparison.py decides what is trained and keeps the results. Budgets are CPU seconds of training: see cpu_clock.py. A
long run saves checkpoints, so that an interrupted comparison continues inside a run.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from w2vtrain.config import Settings
from w2vtrain.embeddings.model import Model
from w2vtrain.engines.chunks import Chunks
from w2vtrain.errors import W2VError
from w2vtrain.formats.vectors import Vectors
from w2vtrain.leaves.compare.cpu_clock import CpuClock
from w2vtrain.leaves.compare.measure import evaluate
from w2vtrain.leaves.compare.result import CurvePoint, CurveSoFar
from w2vtrain.probability.dense import RowScorer, one_thread
from w2vtrain.system.children import tell
from w2vtrain.system.files import resolved, write_json
from w2vtrain.system.json_text import json_object, typed
from w2vtrain.system.reading import read_small
from w2vtrain.text.encoded import EncodedCorpus
from w2vtrain.training.checkpointing import CheckpointedRun
from w2vtrain.training.events import Events
from w2vtrain.training.inputs import Inputs, corpus_of, heldout_text
from w2vtrain.training.perplexity import paces, perplexity, score
from w2vtrain.training.plan import Plan
from w2vtrain.training.predictor import Predictor, model_predictor
from w2vtrain.training.record import bounded
from w2vtrain.training.run import Run
from w2vtrain.training.scoring_units import Interrupted, Watch
from w2vtrain.training.state import Epoch, PerplexityScore, State
from w2vtrain.training.trainer import trained

MAX_CURVE_BYTES = 1 << 20
FRACTIONS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4)
"""Fractions of a time limit after which held-out text is scored; it is scored at the end, too."""
UNITS_TO_ESTIMATE = 16
"""Units of scoring on which the estimate of its time is based."""
SCORING_ROUNDS, TURN_CPU_SECONDS = 7, 0.1
"""Rounds in which the speed of scoring is compared with a softmax's, and the CPU seconds of each of both turns."""


@dataclass(frozen=True)
class Trial:
    """One training run, as passed to its process.

    settings: every setting, not only those that differ; test: text scored at the end, by default that of heldout;
    brief: True if only the perplexity at the end matters, as when learning rates are tried; contents: checksums of the
    files that are read and of the user's code, by name.
    """

    name: str
    sources: list[str]
    heldout: str
    settings: dict[str, Any]
    test: str | None = None
    questions: str | None = None
    pairs: list[str] = field(default_factory=list)
    brief: bool = False
    contents: dict[str, str | int] = field(default_factory=dict)


def child(job: dict[str, Any], path: str) -> dict[str, Any]:
    """Train and score a trial in a process of its own, and tell the parent what the user should know: see `train`."""
    return train(Trial(**job), tell, Path(path))


class Curve:
    """Scores held-out text at fixed fractions of a time limit, while the clock is stopped: see training.events.Probe.

    Without a time limit it scores nothing, because `fit` scores held-out text after each epoch. Before the first
    scoring, it estimates how long all scoring will take, and reports it.

    text: the held-out text, once the corpus has been read; points: {"seconds", "perplexity"}, with the CPU seconds of
    training so far; file: that of the points, for the case that the run is resumed, or None; spent: seconds of scoring.
    """

    text: Chunks

    def __init__(
        self, settings: Settings, trial: Trial, say: Callable[[str], None], file: Path | None = None
    ) -> None:  # fmt: skip
        self.settings, self.trial, self.say, self.file = settings, trial, say, file
        limit = None if trial.brief else settings.seconds
        self.moments = [limit * fraction for fraction in FRACTIONS] if limit else []
        self.estimated, self.spent, self.clock = trial.brief, 0.0, CpuClock(settings.seconds)
        self.points: Sequence[CurvePoint] = []

    def read(self, ids: EncodedCorpus, _: float) -> None:
        """Encode the held-out text, and the test text to find now, before training, that it cannot be scored."""
        ids.stats.report(corpus_of(self.trial.sources, self.settings).name, self.warn)
        self.text = heldout_text([self.trial.heldout], self.settings, ids.vocabulary, warn=self.warn)[0]
        if self.trial.test:
            heldout_text([self.trial.test], self.settings, ids.vocabulary, warn=self.warn)

    def warn(self, sentence: str) -> None:
        """Tell the user what may be wrong, in the same words in each trial if all have it."""
        self.say(f"warning: {sentence}")

    def warn_of_trial(self, sentence: str) -> None:
        """Say a warning that concerns this trial alone."""
        self.warn(f"{self.trial.name}: {sentence}")

    def resumed(self, state: State) -> None:
        """Take over the points from before this state of a run that was interrupted."""
        assert self.file, "the run saves checkpoints"
        self.clock.cpu = state.cpu
        with suppress(W2VError):  # a curve with a gap is better than no result
            kept = json_object(read_small(self.file, MAX_CURVE_BYTES), f"{self.file} is")
            points = typed(kept, CurveSoFar, str(self.file))["points"]
            self.points = [point for point in points if 0 < point["seconds"] <= state.cpu]

    def keep(self) -> None:
        """Write the points to the file, if there is one."""
        if self.file:
            write_json(self.file, {"points": self.points}, force=True)

    def add(self, perplexity: float) -> None:
        """Add a point, in place of that of the same moment."""
        earlier = [point for point in self.points if point["seconds"] != self.clock.cpu]
        self.points = bounded([*earlier, {"seconds": self.clock.cpu, "perplexity": perplexity}])
        self.keep()

    def scored(self, _: Epoch, score: PerplexityScore | None) -> None:
        """Add a point after an epoch whose held-out text was scored."""
        if score:
            self.add(score.perplexity)

    def due(self) -> bool:
        """Return whether a fraction has passed, or nothing has been estimated yet."""
        return not self.estimated or self.is_passed()

    def is_passed(self) -> bool:
        """Return whether a fraction has passed since the last point."""
        last = max((point["seconds"] for point in self.points), default=0.0)
        return any(last < moment <= self.clock.cpu for moment in self.moments)

    def visit(self, predictor: Predictor) -> None:
        """Estimate the time of scoring, or score the held-out text. Fractions that passed together make one point."""
        started = time.monotonic()
        if not self.estimated:
            self.estimate(predictor)
        if self.is_passed():
            self.add(self.score(predictor, Watch()).perplexity)
        self.spent += time.monotonic() - started

    def score(self, predictor: Predictor, watch: Watch) -> PerplexityScore:
        """Score the held-out text."""
        return score(predictor, self.text, int(self.settings.threads), watch)

    def expected(self, predictor: Predictor) -> float:
        """Return the seconds that scoring the held-out text will take: begin with it, and stop after a few units."""
        started, seconds = time.monotonic(), list[float]()

        def note(done: int, units: int) -> None:
            if done >= min(UNITS_TO_ESTIMATE, units):
                seconds.append((time.monotonic() - started) * units / done)

        with suppress(Interrupted):
            self.score(predictor, Watch(note, lambda: bool(seconds)))
        return seconds[0]

    def estimate(self, predictor: Predictor) -> None:
        """Say how long all scoring will take."""
        self.estimated = True
        self.expected(predictor)  # loads kernels and builds tables
        timed, test = self.settings.seconds is not None, self.trial.test
        times = (len(FRACTIONS) if timed else self.settings.epochs) + float(timed or not test)
        if test:
            times += Path(test).stat().st_size / max(1, Path(self.trial.heldout).stat().st_size)
        seconds = self.expected(predictor) * times + 2 * (SCORING_ROUNDS + 1) * turn(self.settings)
        self.say(f"scoring will take about {seconds:,.1f} s")


def train(trial: Trial, say: Callable[[str], None] = lambda text: None, path: Path | None = None) -> dict[str, Any]:
    """Train one trial in this process; return the trial with its measurements and scores.

    say: is called before the first scoring with the time that all scoring will take, and with warnings; path: of the
    result, which is written there. Until then, checkpoints are kept beside it, from which the same call continues after
    this process was killed; not for a brief trial.
    """
    settings = Settings(**trial.settings)
    if path is None or trial.brief:
        return _train(trial, settings, Curve(settings, trial, say), Run())
    folder, points = kept_beside(path)
    curve = Curve(settings, trial, say, points)
    # Copies of arrays would count as memory of the trial. A trial that was resumed needs one for a moment.
    run = CheckpointedRun(folder, allow_changed=True, background=False)
    run.warn = curve.warn_of_trial
    request = {"sources": trial.sources, "heldout": [trial.heldout], "comparison": trial.name}
    with run.held():
        run.read(settings, {"cwd": str(resolved(".")), "request": request}, ("sources", "heldout"), anew=True)
        run.begin_outputs(complete=False)
        result = _train(trial, settings, curve, run)
        write_json(path, result)
    return result


def kept_beside(path: Path) -> tuple[Path, Path]:
    """Return what a trial keeps beside its result until that is written: the run folder, and the file of the curve."""
    return path.with_suffix(".run"), path.with_suffix(".curve")


def _train(trial: Trial, settings: Settings, curve: Curve, run: Run) -> dict[str, Any]:
    timed, threads = settings.seconds is not None, int(settings.threads)
    inputs = Inputs(trial.sources, [] if timed else [trial.heldout])
    events = Events(
        read=curve.read, epoch=curve.scored, resumed=curve.resumed,
        ready=lambda _: curve.keep(),  # the points of a run that has started over are gone then
    )  # fmt: skip
    model = trained(Plan.of(inputs, settings), run, events=events, clock=curve.clock, probe=curve).model()
    started, seconds = time.monotonic(), model.record["seconds"]
    score, parts, coverage = perplexity(model, [trial.test or trial.heldout], threads, phrases=settings.phrases)
    if timed:
        last = perplexity(model, [trial.heldout], threads, phrases=settings.phrases)[0] if trial.test else score
        curve.add(last.perplexity)
    names = (
        "epochs", "seconds", "words_per_second", "words_per_cpu_second", "output_parameters", "peak_memory_bytes",
        "versions",
    )  # fmt: skip
    scores = {}
    if trial.questions or trial.pairs:
        vectors = Vectors(model.words, model.vectors())
        scores = evaluate(vectors, trial.questions, trial.pairs, curve.warn_of_trial)
    result = {
        "job": asdict(trial),
        **{name: model.record[name] for name in names},
        "vocabulary": len(model.words),
        "corpus_words": model.record["vocabulary"]["words"],
        "width": settings.vector_size + settings.bias,
        "curve": list(curve.points),
        "test": {**asdict(score), "coverage": coverage, **({} if parts is None else {"parts": parts.tolist()})},
        "scoring": scoring(model, curve.text, 1 if trial.brief else SCORING_ROUNDS, turn(settings)),
        "scores": scores,
    }
    seconds["scoring"] = seconds.get("scoring", 0.0) + curve.spent + time.monotonic() - started
    return result


def turn(settings: Settings) -> float:
    """Return the CPU seconds for which each scorer is timed per round: less if the time for training is short, too."""
    return TURN_CPU_SECONDS if settings.seconds is None else min(TURN_CPU_SECONDS, settings.seconds / 20)


def scoring(model: Model, text: Chunks, rounds: int, seconds: float) -> dict[str, Any]:
    """Measure how fast a model scores targets, and relative to a full softmax over as many words.

    Both take turns of so many CPU seconds. Return targets per CPU second of the model ("per_second") and of that
    softmax ("reference"), the ratio of each round ("ratios"), and whether both do the same work ("same"), so that each
    ratio should be 1.
    """
    with one_thread():
        predictor = model_predictor(model)[2]
        size = (len(text.counts), predictor.layer.width)
        rows = np.random.default_rng(1).standard_normal(size, np.float32)
        rows *= np.float32(0.1)  # in place: a large vocabulary has gigabytes of rows
        own, reference = paces(predictor, [RowScorer(rows)], text, rounds, seconds)
    same = type(predictor.scorer) is RowScorer and predictor.scorer.normalized
    ratios = [mine / theirs for mine, theirs in zip(own, reference, strict=True)]
    paces_of_both = {"per_second": statistics.median(own), "reference": statistics.median(reference)}
    return {**paces_of_both, "ratios": ratios, "same": same}
