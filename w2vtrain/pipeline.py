"""From text to a trained model: reading, vocabulary, objective, training, in that order.

It writes no result and prints nothing; the command line and the Python API are thin layers above it.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from .architectures import Cbow, SkipGram
from .config import Settings
from .corpus import Corpus
from .errors import ConfigError
from .ids import Ids, encode
from .machine import automatic_threads, peak_memory, versions
from .model import Model
from .objectives import checked_options, objective_class, objective_defaults
from .problem import Problem
from .trainer import Epoch, Progress, Schedule, Text, Weights, train
from .vocab import Vocabulary

CHUNK = 1000
"""Words a chunk, the unit of shuffling: 1,000 gave 2 to 3 points of analogy accuracy over the corpus's own order."""


@dataclass(frozen=True)
class Events:
    """Callbacks of a run; each is called from the thread that called `fit`."""

    reading: Callable[[int, int | None, int], None] = lambda done, total, tokens: None  # bytes, bytes, tokens
    read: Callable[[Ids, float], None] = lambda ids, seconds: None
    ready: Callable[[float], None] = lambda seconds: None  # the kernel is compiled
    training: Callable[[Progress], None] = lambda progress: None


def effective(settings: Settings) -> tuple[Settings, str]:
    """Settings with nothing left automatic, and the reason for the number of threads.

    ConfigError if the objective or one of its options does not exist.
    """
    options = checked_options(settings.objective, settings.options)
    model = "cbow-corrected" if (settings.model, settings.cbow_gradient) == ("cbow", "corrected") else settings.model
    defaults = objective_defaults(settings.objective)[model]
    alpha = settings.alpha if settings.alpha is not None else defaults["alpha"]
    if alpha == 0:
        raise ConfigError("alpha: 0 would learn nothing")
    min_alpha = settings.min_alpha if settings.min_alpha is not None else alpha * 1e-4
    if min_alpha > alpha:
        raise ConfigError(f"min-alpha: {min_alpha} is more than alpha, {alpha}")
    threads, reason = automatic_threads() if settings.threads == "auto" else (int(settings.threads), "as asked")
    shuffle = settings.shuffle if settings.shuffle is not None else defaults["shuffle"]
    done = replace(settings, options=options, alpha=alpha, min_alpha=min_alpha, shuffle=shuffle, threads=threads)
    return done, reason


def fit(
    sources: Sequence[str],
    settings: Settings,
    *,
    vocabulary: Vocabulary | None = None,
    folder: Path | None = None,
    events: Events | None = None,
) -> Model:
    """Train on text files. `settings` as `effective` gives them; folder: where the encoded corpus lies meanwhile.

    The model's record says what was read and learned, and how long it took. Errors are W2VError's subclasses.
    """
    events = events or Events()
    threads = int(settings.threads)
    started = time.monotonic()
    ids = encode(
        Corpus(sources, settings.tokenizer),
        min_count=settings.min_count,
        max_vocab=settings.max_vocab,
        vocabulary=vocabulary,
        max_sentence=settings.max_sentence,
        threads=threads,
        folder=folder,
        progress=events.reading,
    )
    seconds = {"reading": time.monotonic() - started}
    events.read(ids, seconds["reading"])

    started = time.monotonic()
    problem = Problem(ids.vocabulary.words, ids.vocabulary.counts, settings.vector_size, seed=settings.seed)
    objective = objective_class(settings.objective).build(problem, **settings.options)
    ready: list[float] = []

    def on_ready() -> None:
        ready.append(time.monotonic())
        events.ready(ready[0] - started)

    weights, epochs = _train(settings, objective, ids, events, on_ready)
    seconds |= {"preparing": ready[0] - started, "training": time.monotonic() - ready[0]}
    return _model(settings, objective, ids, weights, epochs, seconds)


def _train(
    settings: Settings, objective: Any, ids: Ids, events: Events, on_ready: Callable[[], None]
) -> tuple[Weights, list[Epoch]]:
    names = ("window", "shrink_windows", "sample", "alpha", "min_alpha", "epochs", "threads", "seed", "shuffle")
    schedule = Schedule(**{name: getattr(settings, name) for name in names})
    starts = ids.chunks(CHUNK)
    text = Text(ids.tokens, starts, ids.chunk_words(starts), ids.vocabulary.counts, settings.max_sentence)
    corrected = settings.cbow_gradient == "corrected"
    return train(
        SkipGram(settings.window) if settings.model == "skipgram" else Cbow(settings.window, corrected),
        objective,
        text,
        settings.vector_size,
        schedule,
        on_progress=events.training,
        on_ready=on_ready,
    )


def _model(
    settings: Settings, objective: Any, ids: Ids, weights: Weights, epochs: list[Epoch], seconds: dict[str, float]
) -> Model:
    record = {
        "corpus": asdict(ids.stats),
        "vocabulary": {"size": len(ids.vocabulary), "words": ids.words},
        "epochs": [asdict(epoch) for epoch in epochs],
        "seconds": seconds,
        "words_per_second": ids.words * settings.epochs / seconds["training"],
        "peak_memory_bytes": peak_memory(),
        "versions": versions(),
    }
    return Model(
        words=ids.vocabulary.words,
        counts=ids.vocabulary.counts,
        input=weights.input,
        output=weights.output,
        arrays=objective.arrays(),
        settings=asdict(settings),
        record=record,
    )
