"""Train a `Word2Vec` model with this package's trainer, whose settings follow from the model's parameters.

The vocabulary is chosen elsewhere; nothing is read here.
"""

import logging
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from w2vtrain.architectures import architecture_class
from w2vtrain.config import WHOLE_SENTENCE, Settings, validated
from w2vtrain.engines.base import Engine
from w2vtrain.engines.chunks import Chunks
from w2vtrain.engines.window_engine import WindowEngine
from w2vtrain.errors import ConfigError, Diverged, InvalidValue, NothingLearned
from w2vtrain.leaves.gensim.callbacks import call
from w2vtrain.leaves.gensim.corpora import Reading
from w2vtrain.leaves.gensim.line_sentence import MAX_SENTENCE_LENGTH
from w2vtrain.leaves.gensim.parameters import SEED_COUNT
from w2vtrain.leaves.gensim.word_choice import share
from w2vtrain.probability.subsampling import keep_probabilities
from w2vtrain.progress_bar import loss_text
from w2vtrain.text.encoded import EncodedCorpus
from w2vtrain.text.source import Source
from w2vtrain.text.token_lists import TINY
from w2vtrain.text.vocabulary import Vocabulary
from w2vtrain.training.engine_parts import schedule_of
from w2vtrain.training.events import Events
from w2vtrain.training.inputs import Inputs
from w2vtrain.training.memory_and_disk import engine_that_fits
from w2vtrain.training.plan import Plan, effective
from w2vtrain.training.state import Epoch, Progress
from w2vtrain.training.trainer import trained

logger = logging.getLogger(__name__)

ARCHITECTURES = {"skipgram": {"sg": 1}, "cbow": {"sg": 0, "cbow_mean": 1}, "cbow-sum": {"sg": 0, "cbow_mean": 0}}
"""The architectures of words, and the parameters that choose each."""
OBJECTIVES = {(0, True): "neg", (1, False): "hs", (1, True): "hs-neg"}
"""The objective for (hs, whether negative is more than 0)."""
SEED_STEP_PER_CALL = 1_000_003
"""Added to the seed for each earlier call of `train`, so that calls draw different random numbers."""
SEED_STEP_PER_READING = 15_485_863
"""Added to the seed for each earlier reading of the corpus in the same call of `train`."""
OF_ANY_CALL: dict[str, Any] = {"alpha": 1.0, "min_alpha": 0.0, "epochs": 1, "seed": 0}
"""Values in place of the settings that may differ between calls of `train` that have the same engine."""
TOKENS_AT_ONCE = 1 << 20
"""The tokens whose probabilities are looked up at once."""

RATES_CHANGED = (
    "a callback has changed alpha or min_alpha, which has no effect until the next call of train: call train once per"
    " epoch, with epochs=1, start_alpha and end_alpha"
)


class InvalidSettings(ConfigError, ValueError):
    """Raised for parameters that this package's settings cannot have. gensim's users expect a ValueError."""


def settings_for(model: Any, epochs: int, alpha: float, min_alpha: float, total: int) -> Settings:
    """Return this package's settings for a model.

    total: words of the vocabulary's text. Raise InvalidSettings if one is out of range.
    """
    is_whole = model.window == WHOLE_SENTENCE
    architecture, objective = method_of(model)
    shrinks = not is_whole and not architecture_class(architecture).fixed_positions()
    settings = {
        "architecture": architecture,
        "objective": objective,
        "options": {"negative": model.negative, "ns_exponent": model.ns_exponent} if model.negative else {},
        "vector_size": model.vector_size,
        "window": model.window if is_whole else min(model.window, MAX_SENTENCE_LENGTH),  # wider is the same
        "shrink_windows": bool(model.shrink_windows) and shrinks,
        "sample": share(model.sample, total),
        "alpha": max(alpha, min_alpha),
        "min_alpha": min_alpha,
        "epochs": epochs,
        "min_count": max(1, model.min_count),
        "tokenizer": "unicode",
        "seed": model.seed % SEED_COUNT,
        "threads": model.threads(),
    }
    try:
        return effective(validated(settings | model.subword_settings()))
    except ConfigError as error:
        raise InvalidSettings(str(error)) from None


def method_of(model: Any) -> tuple[str, str]:
    """Return the names of the architecture and the objective of a model."""
    ways: dict[str, dict[str, int]] = model.architectures
    architecture = next(
        name for name, way in ways.items() if all(getattr(model, parameter) == way[parameter] for parameter in way)
    )
    return architecture, OBJECTIVES[(model.hs, model.negative > 0)]


def span(reading: Reading, examples: int | None, words: int | None, done: int) -> tuple[float, float]:
    """Return the part of a longer schedule that a corpus is, from 0 to 1: where it begins, and where it ends.

    examples, words: sentences or words of the whole schedule, of which sentences decide as in gensim; done: words
    before this corpus, which has words.
    """
    if min(examples or 0, words or 0, done) < 0:
        raise InvalidValue("total_examples, total_words and word_count must not be negative")
    total = examples * reading.words / reading.sentences if examples else words or reading.words
    return min(1.0, done / total), min(1.0, (done + reading.words) / total)


def refuse_totals(examples: int | None, words: int | None, epochs: int | None) -> None:
    """Raise InvalidValue if `train` does not get what gensim's requires."""
    if epochs is None:
        raise InvalidValue("train needs epochs, for example epochs=model.epochs")
    if examples is None and words is None:
        raise InvalidValue(
            "train needs total_examples, for example total_examples=model.corpus_count, or for a corpus_file"
            " total_words=model.corpus_total_words"
        )


def kept_words(encoded: EncodedCorpus, sample: float) -> int:
    """Return the number of words that subsampling is expected to keep of a corpus."""
    counts, tokens = encoded.vocabulary.counts, np.asarray(encoded.tokens)
    keep = keep_probabilities(counts, sample)
    if encoded.words == counts.sum():  # the corpus of build_vocab
        return round(float((counts * keep).sum()))
    parts = (tokens[at : at + TOKENS_AT_ONCE] for at in range(0, len(tokens), TOKENS_AT_ONCE))
    return round(sum(float(keep[part[part >= 0]].sum()) for part in parts))


class TrainCall(NamedTuple):
    """The schedule of one call of `train`: its epochs, the first and the last rate, and how often it reads its corpus.

    examples, words, done: sentences or words of the whole schedule, and words before this call; used for one epoch.
    """

    epochs: int
    start: float
    end: float
    readings: int
    examples: int | None
    words: int | None
    done: int

    def check_count(self, epoch: int, sentences: int, words: int) -> None:
        """Warn, as gensim does, if the corpus of an epoch has not as many sentences or words as were announced."""
        unit, found, expected = (
            ("example", sentences, self.examples) if self.examples else ("raw word", words, self.words)
        )
        if expected and found != expected:
            logger.warning(
                "EPOCH %d: supplied %s count (%d) did not equal expected count (%d)", epoch, unit, found, expected
            )

    def settings(self, model: Any, reading: Reading, earlier: int = 0) -> Settings:
        """Return the settings of a reading. earlier: how often this call has read the corpus before."""
        if reading.encoded and self.epochs == 1:
            first, last = span(reading, self.examples, self.words, self.done)
        else:
            first, last = earlier / self.readings, (earlier + 1) / self.readings
        alpha, min_alpha = (self.start + (self.end - self.start) * place for place in (first, last))
        total = int(model.vocabulary().counts.sum())
        settings = settings_for(model, self.epochs // self.readings, alpha, min_alpha, total)
        step = SEED_STEP_PER_CALL * model.train_count + SEED_STEP_PER_READING * earlier
        return replace(settings, seed=(settings.seed + step) % SEED_COUNT)


class Learner:
    """One call of `train`: copies the weights into the trainer's arrays, and reports its progress to the model.

    epochs: of all corpora so far; done: before this corpus; kept, tokens: words in all epochs, after and before
    subsampling; said: the warnings of the training before.
    """

    def __init__(self, model: Any, callbacks: tuple[Any, ...]) -> None:
        self.model, self.callbacks, self.alpha = model, callbacks, 0.0
        self.rates = model.alpha, model.min_alpha
        self.done = self.epochs = self.kept = self.tokens = 0
        self.said: frozenset[str] = frozenset()

    def run(self, source: Source, encoded: EncodedCorpus, settings: Settings) -> None:
        """Train on a corpus. Whatever ends the training, the model has the weights learned so far."""
        self.done, self.epochs = self.epochs, self.epochs + settings.epochs
        self.kept += settings.epochs * kept_words(encoded, settings.sample)
        matrices = self.model.matrices
        self.said, matrices.warnings = matrices.warnings, frozenset()
        events = Events(
            warning=self.warn,
            training=self.on_progress,
            epoch=self.on_epoch,
            ready=self.on_ready,
        )
        inputs = Inputs(source, encoded=encoded)
        try:
            inputs.check(settings)  # the rest of what `Plan.of` checks was checked with the model's parameters
            trained(Plan(inputs, settings), events=events, make=self.make)
        except NothingLearned as error:
            logger.warning("nothing was learned: %s", error)
        except Diverged as error:
            raise Diverged(f"{error}, after building or loading the model again") from error
        finally:
            matrices.fetch(self.model.wv)
            matrices.release()

    def warn(self, sentence: str) -> None:
        """Log a warning, unless the training before had the same: parts of a text often do."""
        if sentence not in self.said:
            logger.warning(sentence)
        self.model.matrices.warnings |= {sentence}

    def skip(self, epochs: int) -> None:
        """Call the callbacks of epochs in which there is nothing to learn."""
        self.epochs += epochs
        for when in ("on_epoch_begin", "on_epoch_end") * epochs:
            call(self.callbacks, when, self.model)

    def make(self, plan: Plan, vocabulary: Vocabulary, text: Chunks, copies: int) -> Engine:
        """Return an engine with the model's weights, and let the model's arrays be views of those that it updates.

        A call for a tiny text has the engine of such a call before it, if it can: making one takes a time that grows
        with the vocabulary.
        """
        model, matrices, settings = self.model, self.model.matrices, replace(plan.settings, **OF_ANY_CALL)
        is_tiny = len(text.tokens) <= TINY and text.tags is None and not settings.subwords
        engine: WindowEngine | None = matrices.readopt(model.wv, settings if is_tiny else None)
        if engine:
            engine.restart(text, schedule_of(plan.settings))
        else:
            made = engine_that_fits(plan, vocabulary, text, copies)
            assert isinstance(made, WindowEngine)
            engine = made
            matrices.adopt(model.wv, engine.weights(), getattr(model, "dv", None))
            if matrices.tree:
                engine.use(engine.objective.with_tree(matrices.tree))
        if is_tiny:
            matrices.keep(settings, engine)
        self.engine = engine
        self._lock()
        return engine

    def _lock(self) -> None:
        """Lock the vectors that `vectors_lockf` locks now, as they are now."""
        locked = self.model.locked()
        if len(locked) or self.engine.locked:
            self.engine.lock_rows(locked)

    def on_ready(self, seconds: float) -> None:
        """Call the callbacks before the first epoch: compilation has ended."""
        logger.info("prepared training in %.1f s", seconds)
        self._call("on_epoch_begin")

    def _call(self, *methods: str) -> None:
        """Call the callbacks, and let the trainer have the vectors and locks that they have changed.

        Raise RuntimeError if they have changed the learning rate of an epoch that follows.
        """
        if self.callbacks:
            for method in methods:
                call(self.callbacks, method, self.model)
            self.model.matrices.give_back(self.model.wv)
            self._lock()
            if methods[-1] == "on_epoch_begin" and (self.model.alpha, self.model.min_alpha) != self.rates:
                raise RuntimeError(RATES_CHANGED)

    def on_progress(self, progress: Progress) -> None:
        """Add to the loss of this call, and remember the learning rate."""
        self.model.running_training_loss += progress.loss
        self.alpha = progress.alpha

    def on_epoch(self, epoch: Epoch, _: object) -> None:
        """Call the callbacks at the end of an epoch and before the next one."""
        logger.info(
            "EPOCH %d: %d words in %.1f s, %.0f words/s, %s",
            self.done + epoch.epoch, epoch.words, epoch.seconds, epoch.words / max(epoch.seconds, 1e-9),
            loss_text(epoch.loss),
        )  # fmt: skip
        self.model.min_alpha_yet_reached = self.alpha
        if self.callbacks:
            self.model.matrices.fetch(self.model.wv)
            is_last = self.done + epoch.epoch == self.epochs
            self._call("on_epoch_end", *[] if is_last else ["on_epoch_begin"])
