"""Train a model on text: `train` reads it, and a Trainer trains, scores and saves. All callers come here.

epoch.py has the order of an epoch's chunks and the clock, and divergence.py what can be wrong with the result. This
module does not depend on the objective or the architecture, writes no results and prints nothing.
"""

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import numpy as np

from w2vtrain.embeddings.model import Model
from w2vtrain.engines.base import Engine
from w2vtrain.engines.chunks import Chunks
from w2vtrain.errors import CorpusChanged, DataError, NoKnownWords, NothingLearned, Stopped, spelled
from w2vtrain.kernels.jit import on_compilation
from w2vtrain.objectives import engine_of
from w2vtrain.probability.dense import one_thread
from w2vtrain.system.parallel import parallel
from w2vtrain.text.encoded import EncodedCorpus
from w2vtrain.text.source import Source
from w2vtrain.text.token_lists import TINY
from w2vtrain.text.vocabulary import Vocabulary
from w2vtrain.training.checkpoint_file import BEST, Checkpoint
from w2vtrain.training.compiling import Announcement, check_rows, compile_engine
from w2vtrain.training.divergence import (
    Given,
    Losses,
    check_decay,
    check_given,
    check_weights,
    diverged,
    loss_warning,
)
from w2vtrain.training.early_stopping import EarlyStopping, arrays_of
from w2vtrain.training.epoch import Clock, Order, SliceReport
from w2vtrain.training.events import Events, Probe
from w2vtrain.training.fingerprint import Fingerprint, Origin, other_inputs
from w2vtrain.training.inputs import Inputs, chunks_of, corpus_of, heldout_text
from w2vtrain.training.memory_and_disk import Footprint, engine_that_fits, keeps_best
from w2vtrain.training.one_process import Alone
from w2vtrain.training.plan import Plan
from w2vtrain.training.record import Record, output_parameters
from w2vtrain.training.run import Phase, Run
from w2vtrain.training.run_files import settings_digest
from w2vtrain.training.state import Epoch, Progress, Saved, State
from w2vtrain.training.suspicions import thinned, warnings_of

if TYPE_CHECKING:
    from w2vtrain.training.warm_start import WarmStart


def train(plan: Plan, run: Run | None = None, *, events: Events | None = None, ranks: Alone | None = None) -> Model:
    """Train a model on text, as planned.

    With held-out text, the model has the weights of the epoch that predicts it best. Its record says what was read and
    learned, and how long it took. The arguments and errors are those of `trained`.
    """
    return trained(plan, run, events=events, ranks=ranks).model()


def trained(
    plan: Plan,
    run: Run | None = None,
    *,
    events: Events | None = None,
    ranks: Alone | None = None,
    clock: Clock | None = None,
    probe: Probe | None = None,
    make: Callable[[Plan, Vocabulary, Chunks, int], Engine] = engine_that_fits,
) -> "Trainer":
    """Train on text, as planned, and return the trainer, whose `model` lets the other ranks end.

    run: saves checkpoints, and training resumes from `run.checkpoint`; by default, nothing is saved. ranks: the
    processes that train together; clock: of the time limit, by default the clock on the wall; probe: looks at the
    weights during epochs. make: returns the engine with the weights to start from, for the same arguments as
    `engine_that_fits`; it may keep the views `engine.weights()`, which training updates.

    With `plan.inputs.start`, the weights start from those of a model.

    All errors are subclasses of W2VError, except those that an iterable among the inputs raises; DataError is raised if
    there is no example to learn from.
    """
    inputs, settings, ranks = plan.inputs, plan.settings, ranks or Alone()
    run = run or ranks.run
    events, record = ranks.watch(events or Events()), Record()
    corpus, ids = _read(plan, run, ranks, events, record)
    compiling = Announcement(f"{settings.architecture} with {settings.objective}", events.compiling)
    is_blas_used = engine_of(settings.objective) == "blocks" or inputs.heldout or probe
    with one_thread() if is_blas_used else nullcontext(), on_compilation(compiling), on_compilation(run.compiling):
        trainer = Trainer(plan, ids, run, ranks, events, record, clock, probe, make)
        if inputs.start:
            trainer.start(inputs.start, inputs)
        is_given = inputs.start or make is not engine_that_fits
        given = check_given(trainer.engine.weights(), trainer.settings) if is_given else None
        trainer.resume(corpus, inputs.start)
        run.keep(ids.vocabulary)
        trainer.train(given)
    return trainer


def _read(plan: Plan, run: Run, ranks: Alone, events: Events, record: Record) -> tuple[Source, EncodedCorpus]:
    """Read and encode the corpus, report its size, and warn about anything that looks wrong with it."""
    inputs, settings = plan.inputs, plan.settings
    started, corpus = time.monotonic(), corpus_of(inputs.sources, settings)
    compiling = Announcement("the reader", events.compiling)
    announcing = Events(reading=lambda *_: compiling.deliver()).followed_by(events)
    with on_compilation(compiling), on_compilation(run.compiling):
        try:
            ids = inputs.encoded or ranks.read(run, inputs, corpus, settings, announcing)
        except NoKnownWords as error:
            raise NoKnownWords(f"{error} If not, {inputs.more_words()}") from error
    record.seconds["reading"] = time.monotonic() - started
    events.read(ids, record.seconds["reading"])
    thinning = thinned(ids.vocabulary.counts, settings.sample)
    events.kept(round(thinning.share * ids.words), thinning.share)  # an estimate: `vocabulary` may have other counts
    for sentence in warnings_of(ids, corpus, thinning, inputs.raw):
        events.warning(sentence)
    return corpus, ids


class Trainer:
    """One training run on an encoded corpus.

    engine: what is trained; early_stopping: held-out text, best weights and patience; state: at the last pause or end
    of an epoch, with the sums of the slices since then; clock: decides when the time limit is reached; dealt: chunks of
    the epoch's order that were given to threads; total: words of all epochs; fingerprint: of what was read, if the run
    saves checkpoints; more_words: see `Inputs.more_words`.
    """

    def __init__(
        self, plan: Plan, ids: EncodedCorpus, run: Run, ranks: Alone, events: Events, record: Record,
        clock: Clock | None, probe: Probe | None, make: Callable[[Plan, Vocabulary, Chunks, int], Engine],
    ) -> None:  # fmt: skip
        """Check memory and disk, make the engine, and read the held-out text."""
        self.settings, self.ids, self.run, self.ranks = plan.settings, ids, run, ranks
        self.events, self.record, self.probe = events, record, probe
        self.more_words = plan.inputs.more_words()
        self.started, inputs, settings = time.monotonic(), plan.inputs, plan.settings
        self.text = chunks_of(ids, settings)
        self.engine = make(plan, ids.vocabulary, self.text, ranks.copies)
        if self.engine.subwords:
            events.subwords(self.engine.subwords)
        heldout = None
        if inputs.heldout:
            heldout, _ = heldout_text(inputs.heldout, settings, ids.vocabulary, inputs.folder, events.warning)
        self.early_stopping = EarlyStopping(heldout, settings, ids.vocabulary, events)
        if heldout and not self.engine.objective.is_language_model():
            events.warning(
                f"{settings.objective} learns no probabilities, so the perplexity of the held-out text does not say"
                " which epoch has the best vectors: use another objective, or leave the held-out text out"
            )
        self.schedule, self.state, self.losses = self.engine.schedule, State(), Losses()
        self.clock = clock or Clock(self.schedule.seconds)
        self.total, self.dealt = int(self.text.words.sum()) * self.schedule.epochs, 0
        self.fingerprint: Fingerprint | None = None
        if run.folder:
            weights, best = self.engine.weights(), keeps_best(settings, inputs.heldout)
            footprint = Footprint.of(self.engine.state(), weights, ids.vocabulary, best)
            run.check_disk_space(footprint, ids.vocabulary, weights)

    def start(self, start: "WarmStart", inputs: Inputs) -> None:
        """Start from the weights of a trained model, and record it.

        Raise CorpusChanged first if the model has changed since the run began: it may not fit the run.
        """
        if self.run.checkpoint and not self.run.allow_changed:
            with self._noticing_changes():
                Origin(start.name, start.sha256).check(self.run.checkpoint.saved.corpus.init_from)
        facts = start.copy_to(self.engine, self.settings)
        others = len(start.words) - facts["words"]
        self.record.init_from = facts | {"kept_words" if inputs.grow else "left_out_words": others}
        if inputs.freeze:
            index = self.ids.vocabulary.index
            self.engine.lock_rows(np.array([index[word] for word in start.words if word in index], np.int64))
        self.events.started(self.record.init_from)
        if start.model and others:  # the corpus has words of its own, as a graph has
            self.events.warning(f"{others:,} words of {start.name} are left out: the corpus does not have them")

    def resume(self, corpus: Source, start: "WarmStart | None") -> None:
        """Restore the run's checkpoint, if it has one. If the corpus has changed, raise CorpusChanged or start over.

        start: what the run started from, which must not have changed, either. Raise DataError if the checkpoint does
        not fit this run.
        """
        if self.run.folder:
            origin = Origin(start.name, start.sha256, self.record.init_from.get("kept_words", 0)) if start else None
            others = other_inputs(self.settings, self.early_stopping.text)
            self.fingerprint = Fingerprint.of(corpus, self.ids, origin, others)
        checkpoint, self.run.checkpoint = self.run.checkpoint, None  # free its arrays when this method returns
        if checkpoint is None:
            return
        with self._noticing_changes():
            self._restore(checkpoint)
            self.events.resumed(self.state)

    @contextmanager
    def _noticing_changes(self) -> Iterator[None]:
        """If the block raises CorpusChanged, add to it what to do, or start over if changes are allowed."""
        try:
            yield
        except CorpusChanged as error:
            if not self.run.allow_changed:
                raise CorpusChanged(
                    f"{error}; restore it, or use {spelled('allow_changed', True)} to start over"
                ) from None
            self.run.warn(f"{error}; the run starts over")
            self.run.remove_checkpoints()

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
        self.state, self.record.epochs = saved.state, saved.epochs
        self.early_stopping.restore(saved, {name: checkpoint.arrays[f"{BEST}{name}"] for name in best})

    def train(self, given: Given | None) -> None:
        """Train all epochs that are left: train, score, save, until they are done or time or patience has run out.

        From a state and the weights of that moment, training continues as if it had never stopped. Raise Stopped if a
        signal asked for it; Diverged if a loss is not finite, or a weight is too large; NothingLearned, without
        checkpoints, if there was no example or effect. given: what was known of given weights.
        """
        if self.state.last and self.early_stopping.finished < self.state.last.epoch:  # stopped while scoring
            self.end_epoch(self.state.last)
        compile_engine(self.engine, self.engine.objective, self.engine.architecture)
        check_rows(self.engine)
        self.record.seconds["preparing"] = time.monotonic() - self.started
        self.events.ready(self.record.seconds["preparing"])
        self.run.enter(Phase.TRAINING)  # from now on, signals take effect when training pauses
        with self.ranks.training(self):
            self.clock.resume(self.state)
            continues = not self.has_ended()
            while continues:
                self.train_epoch()
                if self.state.last and not self.state.chunks:
                    self.end_epoch(self.state.last)
                self.run.pause(self.snapshot)
                if self.probe and self.probe.due():
                    from w2vtrain.training.predictor import predictor  # needed only by probes

                    self.probe.visit(predictor(self.settings, self.ids.vocabulary, self.engine.weights()))
                continues = not self.has_ended() and self.ranks.wait()
        self.check(given)

    def has_ended(self) -> bool:
        """Return whether nothing is left to learn: all epochs are complete, or time or patience has run out."""
        return self.state.has_ended(self.schedule.epochs) or self.clock.is_over()

    def train_epoch(self) -> None:
        """Train on the rest of an epoch, or up to a pause, and report each slice.

        The epoch has ended if the state's `chunks` is 0 then. Raise Diverged if a loss is not finite.
        """
        order, self.dealt = Order.of(self.text, self.schedule, self.state.epoch), self.state.chunks
        done = int(order.before[0]) + int(order.words[: self.dealt].sum())
        self.clock.start()
        with self.ranks.share(self, order) as reports:
            for report in filter(None, reports):
                done += report.words
                self.events.training(self.add(report, order, done))
        state, seconds = self.state, self.clock.stop() + self.state.seconds
        if self.dealt < len(order.chunks) and not self.clock.is_over():
            state = replace(state, chunks=self.dealt, seconds=seconds)
        else:
            mean = state.loss / state.examples if state.examples else None
            state = state.after(Epoch(order.epoch + 1, mean, state.examples, done - int(order.before[0]), seconds))
        self.state = replace(state, is_over=self.clock.is_over())

    def on_threads(self, order: Order) -> AbstractContextManager[Iterator[SliceReport | None]]:
        """Train on the rest of an epoch on several threads, any of which takes the next slice, and yield their reports.

        Chunks are dealt from `dealt` on. If a pause is due, all threads finish their slices. With one thread, the same
        seed gives the same bytes. Any exception of a thread is raised.
        """
        turn, slices = threading.Lock(), self.slices(order)

        def work(thread: int, _: threading.Event) -> Iterator[SliceReport]:
            while True:
                with turn:
                    part = next(slices, None)
                if part is None:
                    return
                yield self.train_slice(order, part, thread)

        threads = 0 if self.total <= TINY and engine_of(self.settings.objective) == "windows" else self.schedule.threads
        return parallel(work, threads, "w2vtrain learner")

    def slices(self, order: Order) -> Iterator[slice]:
        """Deal slices of an epoch's order until there are no more, time is up, or a pause is due.

        The thread that comes for the next slice asks whether a pause is due.
        """
        chunks = len(order.chunks)
        size = max(1, min(self.engine.chunks_per_call, chunks // (8 * self.schedule.threads)))
        while self.dealt < chunks:
            part = slice(self.dealt, min(self.dealt + size, chunks))
            if not self.clock.has_time_for(int(order.words[part].sum())):
                return
            self.dealt = part.stop
            yield part
            if self.is_pause_due():
                return

    def train_slice(self, order: Order, part: slice, thread: int) -> SliceReport:
        """Train on a slice in this thread, each chunk at the learning rate of its position in the run."""
        rates, started = self.rates(order, part), time.thread_time()
        loss, examples = self.engine.train(order.chunks[part], rates, order.epoch, thread)
        cpu = time.thread_time() - started
        report = SliceReport(loss, examples, int(order.words[part].sum()), float(rates[-1]), cpu)
        self.clock.count(report)
        return report

    def rates(self, order: Order, part: slice) -> np.ndarray:
        """Return the learning rate of each chunk of a slice, (n,) float64."""
        done = order.before[part] / self.total
        if self.schedule.seconds is not None:  # the share of the time that is used up, if larger
            np.maximum(done, min(1.0, self.clock.used() / self.schedule.seconds), out=done)
        return np.asarray(self.schedule.rate(done))

    def add(self, report: SliceReport, order: Order, done: int) -> Progress:
        """Add a slice. Return the progress after `done` words of the run; raise Diverged if the loss is not finite."""
        loss, examples, state = report.loss, report.examples, self.state
        if not math.isfinite(loss):
            raise diverged(self.schedule.alpha, order.epoch + 1)
        self.losses.note(loss, examples)
        self.state = replace(
            state, loss=state.loss + loss, examples=state.examples + examples, cpu=state.cpu + report.cpu,
            timed=state.timed + report.words,
        )  # fmt: skip
        seconds, epochs = self.clock.elapsed(), done * self.schedule.epochs / self.total
        return Progress(order.epoch + 1, done, self.expected(done), report.alpha, loss, examples, seconds, epochs)

    def expected(self, done: int) -> int:
        """Return the words of the whole run: those of all epochs, or fewer if the time limit will end it earlier."""
        if self.schedule.seconds is None:
            return self.total
        return min(self.total, max(done, round(done * self.schedule.seconds / max(self.clock.used(), 1e-9))))

    def is_pause_due(self) -> bool:
        """Return whether training should pause before the next slice. Called by any thread."""
        return self.run.due() or bool(self.probe and self.probe.due())

    def end_epoch(self, epoch: Epoch) -> None:
        """Save a checkpoint, score the held-out text and keep the best weights; the run is over if patience is."""
        weights = self.engine.weights
        if self.early_stopping.text:
            self.run.pause(self.snapshot, milestone=True)
        try:
            score = self.early_stopping.score(weights, lambda: self.run.stop_requested)
        except Stopped:
            self.run.pause(self.snapshot)  # raises Stopped
            raise
        self.early_stopping.finish(epoch, score, weights)
        self.record.add(epoch, self.state.spent, score)
        self.events.epoch(epoch, score)
        is_over = self.state.is_over or self.early_stopping.is_out_of_patience()
        self.state = replace(self.state, is_over=is_over)

    def snapshot(self) -> tuple[Saved, dict[str, np.ndarray]]:
        """Return the facts and the arrays to save in a checkpoint."""
        assert self.fingerprint, "the run saves checkpoints"
        facts = {**self.early_stopping.facts(), "settings": settings_digest(self.settings)}
        chunks = len(self.text.words)
        saved = Saved(self.state, self.fingerprint, list(self.record.epochs), **facts, chunks=chunks)
        return saved, self.engine.state() | self.early_stopping.arrays()

    def check(self, given: Given | None) -> None:
        """Check what was learned, and warn or raise as `train` does."""
        weights = self.early_stopping.chosen(self.engine.weights)
        check_weights(weights, self.schedule.alpha, self.state.epoch, max(1.0, given.largest if given else 0.0))
        untrained = self.engine.objective.untrained_loss()
        if warning := loss_warning(self.state.last, untrained, self.settings):
            self.events.warning(warning)
        try:
            self.losses.check(self.state, self.settings, self.more_words, given)
            check_decay(weights, self.settings, given)
        except NothingLearned:
            self.run.remove_checkpoints()
            raise

    def model(self) -> Model:
        """Return the model: the best weights, or the last without held-out text, and the record of the run.

        Let the other ranks end.
        """
        weights, vocabulary = self.early_stopping.chosen(self.engine.weights), self.ids.vocabulary
        objective, blend = self.engine.objective, self.engine.architecture.blend()
        blends = objective.blends(self.settings.architecture) and not self.engine.subwords
        vectors = blend.preferred(blends, int(vocabulary.counts.sum()))
        if self.engine.locked:  # blends of unchanged input vectors and trained output vectors would have changed
            vectors = "in"
        if not self.engine.architecture.uses_words() and len(weights.output) == len(vocabulary):
            vectors = "out"  # words have no other vectors that were trained
        parameters, best_epoch = output_parameters(objective, weights), self.early_stopping.best_epoch()
        self.record.seconds["training"] = self.state.spent
        if self.early_stopping.text:
            self.record.seconds["scoring"] = self.early_stopping.seconds
        model = Model(
            words=vocabulary.words,
            counts=vocabulary.counts,
            input=weights.input,
            output=weights.output,
            arrays=weights.arrays | self.ids.arrays(),
            settings=asdict(self.settings),
            record=self.record.finished(self.ids, self.state, parameters, vectors, blend.share, best_epoch),
        )
        return self.ranks.finish(model)
