"""Train a model on text.

This module writes no results and prints nothing; the command line and the Python API are thin layers on top of it.
"""

import math
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, replace

import numpy as np

from w2vtrain.embeddings.model import Model
from w2vtrain.engines.contract import Engine
from w2vtrain.errors import CorpusChanged, DataError, NothingLearned, spelled
from w2vtrain.kernels.jit import on_compilation
from w2vtrain.objectives import engine_of
from w2vtrain.probability.dense import one_thread
from w2vtrain.text.encoded import EncodedCorpus
from w2vtrain.text.source import Source
from w2vtrain.training.checkpoint import BEST, Checkpoint
from w2vtrain.training.compiling import Announcement, compile_engine
from w2vtrain.training.early_stopping import EarlyStopping, arrays_of
from w2vtrain.training.events import Events, Probe
from w2vtrain.training.fingerprint import Fingerprint, Origin
from w2vtrain.training.inputs import Inputs, chunks_of, corpus_of, heldout_text
from w2vtrain.training.plan import Plan
from w2vtrain.training.predictor import architecture_of, engine_for, predictor, subwords_of
from w2vtrain.training.record import Record, output_parameters
from w2vtrain.training.run import Phase
from w2vtrain.training.scoring_units import Interrupted
from w2vtrain.training.space import Footprint, check_run_memory, keeps_best
from w2vtrain.training.state import Progress, Saved, State
from w2vtrain.training.suspicions import punctuated, suspicions, thinned
from w2vtrain.training.team import Team
from w2vtrain.training.trainer import check_weights
from w2vtrain.training.warm_start import WarmStart

LEARNED_NOTHING = 1.01
"""A loss that exceeds an untrained model's by no more than this factor is that of a few examples at a low rate."""
MAX_WEIGHT = 1000.0
"""Training has diverged if a weight is larger. No objective has weights above 3 after a short training at its default
rate; char-softmax and lsh, whose losses stay finite, have 1e7 at a rate of 10."""
MIN_REPORTS, SAME_LOSS = 10, 1e-8
"""Nothing was learned if at least so many slices of the text had the same mean loss, up to this relative error: it is
larger than that of the sums, and smaller than any change worth an epoch."""


def fit(
    plan: Plan,
    *,
    events: Events | None = None,
    team: Team | None = None,
    probe: Probe | None = None,
    prepare: Callable[[Engine], None] | None = None,
) -> Model:
    """Train a model on text, as planned.

    With `plan.inputs.start`, the weights start from those of a model. `prepare` is called with the engine before it is
    trained: it may change the initial values in `engine.state()`, and keep the views `engine.weights()`, which training
    updates. `team`: the processes that read the text and train, by default this one alone, and their run, which saves
    checkpoints; training resumes from `team.run.checkpoint`. With held-out text, the model has the weights of the epoch
    that predicts it best. A `probe` looks at the weights during epochs. The model's record says what was read and
    learned, and how long it took. All errors are subclasses of W2VError, except those that an iterable among the inputs
    raises; DataError is raised if there is no example to learn from.
    """
    inputs, settings = plan.inputs, plan.settings
    events, record, team = events or Events(), Record(), team or Team()
    corpus, ids = _read(plan, events, record, team)
    compiling = Announcement(f"{settings.architecture} with {settings.objective}", events.compiling)
    is_blas_used = engine_of(settings.objective) == "blocks" or inputs.heldout or probe
    with one_thread() if is_blas_used else nullcontext(), on_compilation(compiling):
        learner = _Learner(plan, ids, events, record, team, probe)
        learner.largest = math.inf if inputs.start or prepare else MAX_WEIGHT  # weights of others can be of any size
        if inputs.start:
            learner.start(inputs.start, inputs)
        if prepare:
            prepare(learner.engine)
        learner.resume(corpus, inputs.start)
        team.run.keep(ids.vocabulary)
        learner.train()
    return learner.model()


def _read(plan: Plan, events: Events, record: Record, team: Team) -> tuple[Source, EncodedCorpus]:
    """Read and encode the corpus, report its size, and warn about anything that looks wrong with it."""
    inputs, settings = plan.inputs, plan.settings
    started, corpus = time.monotonic(), corpus_of(inputs.sources, settings)
    compiling = Announcement("the reader", events.compiling)
    announcing = Events(reading=lambda *_: compiling.deliver()).followed_by(events)
    with on_compilation(compiling):
        ids = inputs.encoded or team.read(inputs, corpus, settings, announcing)
    record.seconds["reading"] = time.monotonic() - started
    events.read(ids, record.seconds["reading"])
    thinning = thinned(ids.vocabulary.counts, settings.sample)
    events.kept(round(thinning.share * ids.words), thinning.share)  # an estimate: `vocabulary` may have other counts
    hint = punctuated(ids.vocabulary.words, ids.vocabulary.counts) if inputs.raw else None
    for sentence in [*suspicions(ids.sample, corpus.name), *filter(None, [thinning.warning, hint])]:
        events.warning(sentence)
    return corpus, ids


class _Learner:
    """One training run on an encoded corpus: its engine, held-out text, record and run.

    state: what training continues from; largest: the weight above which training has diverged; fingerprint: of what was
    read, if the run saves checkpoints; subwords: the input rows of words, or None if each has one.
    """

    def __init__(
        self, plan: Plan, ids: EncodedCorpus, events: Events, record: Record, team: Team, probe: Probe | None
    ) -> None:
        inputs, settings = plan.inputs, plan.settings
        self.team, self.settings, self.ids, self.events = team, settings, ids, events
        self.record, self.run, self.probe = record, team.run, probe
        self.largest = MAX_WEIGHT
        self.reports, self.lowest, self.highest = 0, math.inf, -math.inf
        self.started = time.monotonic()
        self.state = State()
        self.fingerprint: Fingerprint | None = None
        self.subwords = subwords_of(settings, ids.vocabulary.words)
        self.architecture = architecture_of(settings, ids.vocabulary.words)
        check_run_memory(plan, len(ids.vocabulary), self.architecture, self.subwords, team.copies)
        if self.subwords:
            events.subwords(self.subwords)
        text = heldout_text(inputs.heldout, settings, ids.vocabulary, inputs.folder)[0] if inputs.heldout else None
        self.early_stopping = EarlyStopping(text, settings, ids.vocabulary, events)
        self.text = chunks_of(ids, settings)
        self.engine = engine_for(settings, ids.vocabulary, self.text, self.architecture, self.subwords)
        self.schedule, self.objective = self.engine.schedule, self.engine.objective
        if self.run.folder:
            weights, best = self.engine.weights(), keeps_best(settings, inputs.heldout)
            self.run.check_disk_space(
                Footprint.of(self.engine.state(), weights, ids.vocabulary, best), ids.vocabulary, weights
            )

    def start(self, start: WarmStart, inputs: Inputs) -> None:
        """Start from the weights of a trained model, and record it."""
        facts = start.copy_to(self.engine, self.settings)
        others = len(start.words) - facts["words"]
        self.record.init_from = facts | {"kept_words" if inputs.grow else "left_out_words": others}
        if inputs.freeze:
            index = self.ids.vocabulary.index
            self.engine.lock_rows(np.array([index[word] for word in start.words if word in index], np.int64))
        self.events.started(self.record.init_from)

    def train(self) -> None:
        """Train all remaining epochs. Raise NothingLearned, without checkpoints, if there was no example or effect."""
        if self.state.last and self.early_stopping.finished < self.state.last.epoch:  # stopped while scoring
            self.state = self.end_epoch(self.state)
        compile_engine(self.engine, self.objective, self.architecture)
        self.record.seconds["preparing"] = time.monotonic() - self.started
        self.events.ready(self.record.seconds["preparing"])
        self.run.enter(Phase.TRAINING)  # from now on, signals take effect when training pauses
        events = Events(training=self.note_loss).followed_by(self.events)
        states = self.team.train(self.engine, self.text, events, self.state, self.is_pause_due)
        for reached in states:
            self.state = reached if reached.chunks else self.end_epoch(reached)
            self.run.pause(self.snapshot)
            if self.probe and self.probe.due():
                self.probe.visit(predictor(self.settings, self.ids.vocabulary, self.engine.weights()))
            if self.state.has_ended(self.schedule.epochs):
                break
        limit = math.inf if self.early_stopping.text else self.largest  # an epoch before may have been the best
        check_weights(self.engine.weights(), self.schedule.alpha, self.state.epoch, limit)
        self.check_loss()
        self.record.seconds["training"] = self.state.spent
        if self.early_stopping.text:
            self.record.seconds["scoring"] = self.early_stopping.seconds
        if not self.state.learned:
            self.run.remove_checkpoints()
            raise NothingLearned(
                f"there is nothing to learn from: no word has a context word; {spelled('sample', 0)} keeps frequent"
                f" words, a lower {spelled('min_count')} keeps rare ones, and a line needs at least two words"
            )
        if self.reports >= MIN_REPORTS and math.isclose(self.lowest, self.highest, rel_tol=SAME_LOSS):
            self.run.remove_checkpoints()
            raise NothingLearned(
                f"nothing was learned: the mean loss of all {self.reports:,} parts of the text was {self.highest:.4g};"
                f" raise {spelled('alpha')} ({self.schedule.alpha:.4g}) or {spelled('vector_size')}, or change the"
                f" options of objective {self.settings.objective}"
            )

    def note_loss(self, progress: Progress) -> None:
        """Note the mean loss of a report: if all are equal, nothing was learned."""
        if progress.examples:
            mean = progress.loss / progress.examples
            self.reports, self.lowest, self.highest = (
                self.reports + 1, min(self.lowest, mean), max(self.highest, mean),
            )  # fmt: skip

    def check_loss(self) -> None:
        """Warn if the last epoch's loss is higher than without training, although no weight is infinite."""
        untrained, last = self.objective.untrained_loss(), self.state.last
        if last and last.loss is not None and last.loss > untrained * LEARNED_NOTHING:
            self.events.warning(
                f"training diverged: the loss of epoch {last.epoch}, {last.loss:.4g}, is above that of a model that"
                f" learned nothing, {untrained:.4g}; lower {spelled('alpha')} ({self.schedule.alpha:.4g}) or"
                f" {spelled('window')}"
            )

    def is_pause_due(self) -> bool:
        """Return whether training should pause before the next slice. Called by any thread."""
        return self.run.due() or bool(self.probe and self.probe.due())

    def end_epoch(self, state: State) -> State:
        """Save a checkpoint, score the held-out text and keep the best weights.

        Return the state to continue from, which is over if time or patience has run out.
        """
        assert state.last, "no epoch has ended"
        self.state, epoch, weights = state, state.last, self.engine.weights
        if self.early_stopping.text:
            self.run.pause(self.snapshot, milestone=True)
        try:
            score = self.early_stopping.score(epoch, weights, lambda: self.run.stop_requested)
        except Interrupted:
            self.run.pause(self.snapshot)  # raises Stopped
            raise
        self.early_stopping.finish(epoch, score, weights)
        self.record.add(epoch, state.spent, score)
        self.events.epoch(epoch, score)
        return replace(state, is_over=state.is_over or self.early_stopping.is_out_of_patience())

    def snapshot(self) -> tuple[Saved, dict[str, np.ndarray]]:
        """Return the facts and the arrays to save in a checkpoint."""
        assert self.fingerprint, "the run saves checkpoints"
        saved = Saved(self.state, self.fingerprint, list(self.record.epochs), **self.early_stopping.facts())
        return saved, self.engine.state() | self.early_stopping.arrays()

    def resume(self, corpus: Source, start: WarmStart | None) -> None:
        """Restore the run's checkpoint, if it has one. If the corpus has changed, raise CorpusChanged or start over.

        start: what the run started from, which must not have changed, either. Raise DataError if the checkpoint does
        not fit this run.
        """
        if self.run.folder:
            origin = Origin(start.name, start.sha256) if start else None
            self.fingerprint = Fingerprint.of(corpus, self.ids, origin)
        checkpoint, self.run.checkpoint = self.run.checkpoint, None  # free its arrays when this method returns
        if checkpoint is None:
            return
        try:
            self._restore(checkpoint)
        except CorpusChanged as error:
            if not self.run.allow_changed:
                raise CorpusChanged(
                    f"{error}; restore it, or use {spelled('allow_changed', True)} to start over"
                ) from None
            self.run.warn(f"{error}; the run starts over")
            self.run.remove_checkpoints()
        else:
            self.events.resumed(self.state)

    def _restore(self, checkpoint: Checkpoint) -> None:
        saved, mine = checkpoint.saved, self.engine.state()
        if self.fingerprint:
            self.fingerprint.check(saved.corpus)
        best = arrays_of(self.engine.weights()) if saved.best else {}
        for name, array in (mine | {f"{BEST}{name}": array for name, array in best.items()}).items():
            theirs = checkpoint.arrays.get(name)
            if theirs is None or theirs.shape != array.shape or theirs.dtype != array.dtype:
                raise DataError(
                    f"checkpoint {checkpoint.number}: its array {name} does not fit this run;"
                    " remove the run folder to start over"
                )
        for name, array in mine.items():
            array[...] = checkpoint.arrays[name]
        state = self.state = saved.state
        if state.chunks > len(self.text.words) or state.epoch > self.schedule.epochs:
            raise DataError(f"checkpoint {checkpoint.number}: the state is beyond the end of the run")
        if state.epoch and (state.last is None or state.last.epoch != state.epoch):
            raise DataError(f"checkpoint {checkpoint.number}: the last epoch has no record")
        self.record.epochs = saved.epochs
        self.early_stopping.restore(saved, {name: checkpoint.arrays[f"{BEST}{name}"] for name in best})

    def model(self) -> Model:
        """Return the model: the best weights, or the last without held-out text, and the record of the run."""
        weights, vocabulary = self.early_stopping.chosen(self.engine.weights), self.ids.vocabulary
        parameters, best_epoch = output_parameters(self.objective, weights), self.early_stopping.best_epoch()
        blend = self.architecture.blend()
        blends = self.objective.blends(self.settings.architecture) and not self.subwords
        vectors = blend.preferred(blends, int(vocabulary.counts.sum()))
        return Model(
            words=vocabulary.words,
            counts=vocabulary.counts,
            input=weights.input,
            output=weights.output,
            arrays=weights.arrays,
            settings=asdict(self.settings),
            record=self.record.finished(self.ids, self.state, parameters, vectors, blend.share, best_epoch),
        )
