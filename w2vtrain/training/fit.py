"""From text to a trained model: reading, vocabulary, objective, training, in that order; and from a model to scores.

It writes no result and prints nothing; the command line and the Python API are thin layers above it.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from w2vtrain.architectures import architecture_class
from w2vtrain.config import Settings
from w2vtrain.engines.schedule import Epoch, Progress, Schedule, State, Text, Weights, bounded
from w2vtrain.errors import ConfigError, CorpusChanged, DataError
from w2vtrain.formats.model import Model
from w2vtrain.kernels.blas import one_thread
from w2vtrain.objectives import build, checked_options, engine_of, objective_defaults
from w2vtrain.system.machine import peak_memory, threads_of, versions
from w2vtrain.text.corpus import Corpus
from w2vtrain.text.encoded import EncodedCorpus, encode
from w2vtrain.text.vocab import Vocabulary
from w2vtrain.training.checkpoint import Checkpoint
from w2vtrain.training.fingerprint import check_fingerprint, fingerprint
from w2vtrain.training.perplexity import PerplexityScore, score
from w2vtrain.training.predictor import (
    architecture_name,
    architecture_of,
    model_predictor,
    predictor,
    problem_of,
    windows_of,
)
from w2vtrain.training.preflight import check_memory
from w2vtrain.training.run_folder import Run
from w2vtrain.training.suspicions import suspicions, thinned
from w2vtrain.training.trainer import Engine, make_engine, train
from w2vtrain.training.units import Interrupted, Watch

CHUNK = 1000
"""Words a chunk, the unit of shuffling: 1,000 gave 2 to 3 points of analogy accuracy over the corpus's own order."""
LONG_SCORING = 10.0
"""Seconds of scoring that need no warning, however short an epoch is."""


@dataclass(frozen=True)
class Events:
    """Callbacks of a run; each is called from the thread that called `fit`."""

    reading: Callable[[int, int | None, int], None] = lambda done, total, tokens: None  # bytes, bytes, tokens
    read: Callable[[EncodedCorpus, float], None] = lambda ids, seconds: None
    kept: Callable[[int, float], None] = lambda words, share: None  # by subsampling: words per epoch, share of all
    warning: Callable[[str], None] = lambda sentence: None
    ready: Callable[[float], None] = lambda seconds: None  # the kernel is compiled
    training: Callable[[Progress], None] = lambda progress: None
    epoch: Callable[[Epoch, PerplexityScore | None], None] = lambda epoch, heldout: None
    scoring: Callable[[int, int], None] = lambda done, total: None  # parts of held-out text
    resumed: Callable[[State], None] = lambda state: None


def effective(settings: Settings) -> tuple[Settings, str]:
    """Settings with nothing left automatic, and the reason for the number of threads.

    ConfigError if the objective or one of its options does not exist.
    """
    options = checked_options(settings.objective, settings.options)
    name = architecture_name(settings)
    known = objective_defaults(settings.objective)
    defaults = known.get(name, known[architecture_class(name).like()])
    alpha = settings.alpha if settings.alpha is not None else defaults["alpha"]
    if alpha == 0:
        raise ConfigError("alpha: 0 would learn nothing")
    if settings.seconds == 0:
        raise ConfigError("seconds: 0 would learn nothing")
    min_alpha = settings.min_alpha if settings.min_alpha is not None else alpha * 1e-4
    if min_alpha > alpha:
        raise ConfigError(f"min-alpha: {min_alpha} is more than alpha, {alpha}")
    threads, reason = threads_of(settings.threads)
    block = settings.block if settings.block is not None else defaults.get("block", 32)
    shuffle = settings.shuffle if settings.shuffle is not None else defaults["shuffle"]
    shrink = settings.shrink_windows if settings.shrink_windows is not None else not settings.context_weights
    if settings.context_weights and settings.model != "cbow":
        raise ConfigError("context-weights: skip-gram has no positions; say --model cbow, too")
    done = replace(settings, options=options, alpha=alpha, min_alpha=min_alpha, shuffle=shuffle, threads=threads)
    return replace(done, shrink_windows=shrink, block=block), reason


def corpus_of(sources: Sequence[str], settings: Settings) -> Corpus:
    """The text that the sources name, to be read as the settings say."""
    return Corpus(sources, settings.tokenizer, errors=settings.encoding_errors, allow_nul=settings.allow_nul)


def fit(
    sources: Sequence[str],
    settings: Settings,
    *,
    vocabulary: Vocabulary | None = None,
    heldout: Sequence[str] = (),
    folder: Path | None = None,
    events: Events | None = None,
    run: Run | None = None,
    found: Checkpoint | None = None,
    allow_changed: bool = False,
) -> Model:
    """Train on text files. `settings` as `effective` gives them; folder: where the encoded corpus lies meanwhile.

    With a `run` its folder gets checkpoints, and training resumes from the one `found` there; if the corpus has changed
    since then, it starts over if that is allowed. With `heldout` text the model is that of the epoch that predicts it
    best. The model's record says what was read and learned, and how long it took. Errors are W2VError's subclasses;
    DataError if not a single example is left to learn from.
    """
    events = events or Events()
    if settings.patience and not heldout:
        raise ConfigError("patience: needs held-out text, whose perplexity is watched")
    if heldout:
        corpus_of(heldout, settings)  # what is missing is told before anything is read
    started, corpus = time.monotonic(), corpus_of(sources, settings)
    ids = encode(
        corpus,
        min_count=settings.min_count,
        max_vocab=settings.max_vocab,
        vocabulary=vocabulary,
        max_sentence=settings.max_sentence,
        sentence_end=settings.sentence_end,
        threads=int(settings.threads),
        folder=folder,
        progress=events.reading,
    )
    seconds = {"reading": time.monotonic() - started}
    thinning = thinned(ids.vocabulary.counts, settings.sample)
    events.read(ids, seconds["reading"])
    events.kept(round(thinning.share * ids.words), thinning.share)  # a given vocabulary has counts of its own
    for sentence in [*suspicions(ids.sample, corpus.name), *filter(None, [thinning.warning])]:
        events.warning(sentence)
    words, width = len(ids.vocabulary), settings.vector_size + settings.bias
    check_memory(words, width, copies=2 if heldout else 1)  # with held-out text the best epoch is kept beside
    if run:
        run.check_room(words, width)
    products = heldout or engine_of(settings.objective) == "blocks"
    with one_thread() if products else nullcontext():
        fitting = _Fit(settings, ids, heldout, folder, events, run)
        if run:
            fitting.identity = fingerprint(corpus, ids)
        if found:
            try:
                fitting.go_on(found)
            except CorpusChanged as error:
                if not run or not allow_changed:
                    raise CorpusChanged(f"{error}; restore it, or say --allow-changed to start over") from None
                run.warn(f"{error}; the run starts over")
                run.forget()
        if run:
            run.keep(ids.vocabulary)
        fitting.train()
    return fitting.model(seconds | fitting.seconds)


class _Fit:
    """One run after its corpus was read."""

    def __init__(
        self, settings: Settings, ids: EncodedCorpus, heldout: Sequence[str], folder: Path | None, events: Events,
        run: Run | None,
    ) -> None:  # fmt: skip
        self.settings, self.ids, self.events, self.run = settings, ids, events, run
        self.state, self.identity = State(), {}  # type: State, dict[str, Any]
        self.started = time.monotonic()
        self.heldout = heldout_text(heldout, settings, ids.vocabulary, folder)[0] if heldout else None
        self.text = text_of(ids, settings)
        problem = problem_of(settings, ids.vocabulary, self.text)
        objective = build(settings.objective, problem, settings.options)
        windows = windows_of(settings, ids.vocabulary)
        schedule = Schedule(**{field.name: getattr(settings, field.name) for field in fields(Schedule)})
        self.schedule, self.objective = schedule, objective
        self.engine: Engine = make_engine(architecture_of(settings), objective, problem, self.text, windows, schedule)
        self.epochs: list[dict[str, Any]] = []
        self.best: Weights | None = None
        self.lowest, self.waited, self.finished = np.inf, 0, 0
        self.scoring = 0.0  # seconds
        self.seconds: dict[str, float] = {}

    def train(self) -> None:
        """Learn all epochs, or those that are left."""
        state = self.state
        if self.finished < state.epoch and self.after(state.epochs[-1], state):  # it was stopped while it was scored
            state = replace(state, epoch=self.schedule.epochs)
        train(
            self.engine, self.text, self.schedule, self.events.training, self.ready, self.after, state,
            self.run.due if self.run else lambda: False, self.pause,
        )  # fmt: skip
        self.seconds["training"] = self.state.spent
        if self.heldout:
            self.seconds["scoring"] = self.scoring
        if not self.state.learned:
            if self.run:
                self.run.settle()
                self.run.forget()
            raise DataError(
                "there is nothing to learn from: no word kept a context word; --sample 0 keeps frequent words, a lower"
                " --min-count rare ones, and a line needs at least two words"
            )

    def pause(self, state: State, milestone: bool = False) -> None:
        """Save, if the run's folder says so."""
        if not self.run:
            return

        def about() -> dict[str, Any]:
            kept = {
                "epochs": list(self.epochs),
                "finished": self.finished,
                "scoring": self.scoring,
                "lowest": self.lowest,
                "waited": self.waited,
                "best": self.best is not None,
            }
            return {"state": asdict(state), "corpus": self.identity, **kept}

        def arrays() -> dict[str, np.ndarray]:
            best = {f"best.{name}": array for name, array in _named(self.best).items()} if self.best else {}
            return {**self.engine.state(), **best}

        self.run.pause(arrays, about, milestone)

    def go_on(self, found: Checkpoint) -> None:
        """Take over a checkpoint. DataError where it is of another corpus, or of other arrays than this run has."""
        try:
            self._take(found)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"checkpoint {found.number}: what it says about its run is not sound: {error!r}") from error
        self.events.resumed(self.state)

    def _take(self, found: Checkpoint) -> None:
        about, mine = found.about, self.engine.state()
        check_fingerprint(about["corpus"], self.identity)
        best = {f"best.{name}": array for name, array in _named(self.engine.weights()).items()} if about["best"] else {}
        for name, array in (mine | best).items():
            theirs = found.arrays.get(name)
            if theirs is None or theirs.shape != array.shape or theirs.dtype != array.dtype:
                raise DataError(f"checkpoint {found.number}: its array {name} does not fit this run")
        for name, array in mine.items():
            array[...] = found.arrays[name]
        state = about["state"]
        self.state = State.read(state)
        if self.state.chunks > len(self.text.words) or self.state.epoch > self.schedule.epochs:
            raise ValueError("more is learned than there is")
        self.epochs, self.waited, self.finished = about["epochs"], about["waited"], about["finished"]
        self.scoring = float(about["scoring"])
        if not (isinstance(self.waited, int) and isinstance(self.finished, int) and isinstance(self.epochs, list)):
            raise ValueError("waited, finished or epochs")
        if self.finished < self.state.epoch and not self.state.epochs:
            raise ValueError("an epoch without a record")
        self.lowest = np.inf if about["lowest"] is None else float(about["lowest"])
        if about["best"]:
            kept = {name.removeprefix("best."): found.arrays[name] for name in best}
            self.best = Weights(kept.pop("input"), kept.pop("output"), kept)

    def ready(self) -> None:
        """All is compiled."""
        self.seconds["preparing"] = time.monotonic() - self.started
        self.events.ready(self.seconds["preparing"])
        if self.run:
            self.run.learning = True

    def after(self, epoch: Epoch, state: State) -> bool:
        """Save, score held-out text and keep the best weights; return whether patience is at an end."""
        self.state = state
        about, found = {**asdict(epoch), "elapsed": state.spent}, None
        if self.heldout:
            self.pause(state, milestone=True)
            weights = self.engine.weights()
            found = self.score(weights, self.heldout, epoch, state)
            about["heldout"] = asdict(found)
            self.waited += 1
            if found.perplexity < self.lowest or not self.finished:
                self.lowest, self.waited = found.perplexity, 0
                self.best = _copied(weights) if epoch.epoch < self.schedule.epochs else None
        self.epochs, self.finished = list(bounded([*self.epochs, about])), epoch.epoch
        self.events.epoch(epoch, found)
        return self.settings.patience is not None and self.waited >= self.settings.patience

    def score(self, weights: Weights, text: Text, epoch: Epoch, state: State) -> PerplexityScore:
        """Score held-out text; a signal saves the epoch that is done and stops. Warn if that takes long."""

        def expect(seconds: float) -> None:
            if not self.finished and seconds > max(epoch.seconds, LONG_SCORING):
                self.events.warning(
                    f"scoring the held-out text will take about {seconds:,.0f} s after each epoch of"
                    f" {epoch.seconds:,.1f} s: a shorter --heldout text would do"
                )

        found = predictor(self.settings, self.ids.vocabulary, weights)
        watch = Watch(self.events.scoring, expect, lambda: self.run is not None and self.run.stopping)
        started = time.monotonic()
        try:
            score = _score(found, text, self.schedule, watch)
            self.scoring += time.monotonic() - started
            return score
        except Interrupted:
            self.pause(state)  # which raises Stopped
            raise

    def model(self, seconds: dict[str, float]) -> Model:
        """The best weights, or the last, with the record of the run."""
        settings, ids = self.settings, self.ids
        weights = self.best if self.waited and self.best else self.engine.weights()
        record = {
            "corpus": asdict(ids.stats),
            "vocabulary": {"size": len(ids.vocabulary), "words": ids.words},
            "epochs": self.epochs,
            "seconds": seconds,
            "words_per_second": self.state.passed / max(seconds["training"], 1e-9),
            "output_parameters": _parameters(self.objective, weights),
            "peak_memory_bytes": peak_memory(),
            "versions": versions(),
        }
        if self.heldout:
            record["best_epoch"] = self.finished - self.waited
        return Model(
            words=ids.vocabulary.words,
            counts=ids.vocabulary.counts,
            input=weights.input,
            output=weights.output,
            arrays=weights.arrays,
            settings=asdict(settings),
            record=record,
        )


def _copied(weights: Weights) -> Weights:
    return Weights(
        weights.input.copy(), weights.output.copy(), {name: array.copy() for name, array in weights.arrays.items()}
    )


def _named(weights: Weights) -> dict[str, np.ndarray]:
    return {"input": weights.input, "output": weights.output, **weights.arrays}


def _parameters(objective: Any, weights: Weights) -> int:
    """How many numbers the output layer learned."""
    if objective.engine == "blocks":
        return sum(array.size for array in objective.parameters().values())
    return weights.output.size + (weights.arrays["bias"].size if "bias" in weights.arrays else 0)


def text_of(ids: EncodedCorpus, settings: Settings) -> Text:
    """An encoded corpus in chunks."""
    starts = ids.chunks(CHUNK)
    return Text(ids.tokens, starts, ids.chunk_words(starts), ids.vocabulary.counts, settings.max_sentence)


def heldout_text(
    sources: Sequence[str], settings: Settings, vocabulary: Vocabulary, folder: Path | None = None
) -> tuple[Text, float]:
    """Held-out text in a model's words, and the share of its tokens that they are. Errors as `encode`'s."""
    ids = encode(
        corpus_of(sources, settings),
        vocabulary=vocabulary,
        max_sentence=settings.max_sentence,
        sentence_end=settings.sentence_end,
        threads=1,
        folder=folder,
    )
    return text_of(ids, settings), ids.words / max(1, ids.stats.tokens)


def perplexity(
    model: Model, sources: Sequence[str], threads: int = 1, events: Events | None = None
) -> tuple[PerplexityScore, float]:
    """How a model predicts text, and the share of the text's tokens that are in its vocabulary."""
    settings, vocabulary, found = model_predictor(model)
    text, coverage = heldout_text(sources, settings, vocabulary)
    with one_thread():
        watch = Watch((events or Events()).scoring)
        return _score(found, text, Schedule(threads=threads), watch), coverage


def _score(found: Any, text: Text, s: Schedule, watch: Watch) -> PerplexityScore:
    watch = watch._replace(stall_timeout=s.stall_timeout)
    return score(found.scorer, found.layer, found.windows, text, s.threads, watch)
