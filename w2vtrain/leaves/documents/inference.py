"""Infer vectors of new documents with a trained model: gradient steps on their rows alone.

The vector of a text is the same whatever the other texts, their order and the number of threads: see inference_kernel.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.config import Settings, broken_rules, validated
from w2vtrain.embeddings.model import Model
from w2vtrain.engines.base import Engine
from w2vtrain.engines.block_engine import BlockEngine, gather
from w2vtrain.engines.chunks import Chunks, read_only
from w2vtrain.engines.window_engine import WindowEngine
from w2vtrain.engines.window_kernel import Matrices
from w2vtrain.errors import ConfigError, DataError, NoKnownWords, ResourceError
from w2vtrain.kernels.rows import padded_rows
from w2vtrain.leaves.documents.inference_kernel import infer_documents, seeds_of
from w2vtrain.objectives import CodeNotAllowed, build, check_options
from w2vtrain.objectives.hs import stored_tree
from w2vtrain.probability.dense import one_thread
from w2vtrain.system.amounts import size_text
from w2vtrain.system.parallel import parallel
from w2vtrain.text.counting import OnRead
from w2vtrain.text.encoded import Tags, read
from w2vtrain.text.source import Source
from w2vtrain.text.vocabulary import Vocabulary
from w2vtrain.text.word_table import LEFT_OUT, LINE_END, cut_sentences
from w2vtrain.training.engine_parts import (
    architecture_of,
    check_documents,
    make_engine,
    parts_of,
    problem_of,
    schedule_of,
    windows_of,
)
from w2vtrain.training.memory_and_disk import matrices, too_small
from w2vtrain.training.warm_start import WarmStart

BATCH_DOCUMENTS = 64
"""Documents that a thread takes at once."""


class Inference:
    """A trained model, ready to infer vectors, one after the other or many at once, in any thread.

    model: it must have been trained on documents, see `Model.documents`. Raise DataError otherwise. Its weights are
    copied at the first call.
    """

    def __init__(self, model: Model) -> None:
        model.documents  # noqa: B018 - it raises DataError
        self.start = WarmStart.of(model)
        assert self.start.model
        self.model = self.start.model
        try:
            self.settings = validated(model.settings)
            check_options(self.settings, files=False)
            check_documents(self.settings, True)
        except CodeNotAllowed:
            raise
        except ConfigError as error:
            raise DataError(f"{model.name}: its settings: {error}") from error
        self.vocabulary = Vocabulary(model.words, self.model.counts)
        self._engine: Engine | None = None
        self._turn = threading.Lock()  # calls share the rows of the engine

    def vectors(
        self, source: Source, epochs: int | None = None, alpha: float | None = None, min_alpha: float | None = None,
        threads: int = 1, folder: Path | None = None, on_read: OnRead | None = None,
        on_learned: Callable[[int, int], None] = lambda done, total: None,
        warn: Callable[[str], None] | None = None,
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:  # fmt: skip
        """Return the vector of each line of a source, (D, d), and its number of known words, (D,).

        epochs, alpha, min_alpha: those of the model by default; the learning rate falls linearly over the epochs. A
        line without known words gets zeros. If subsampling leaves no word of a line in any epoch, the line is learned
        without subsampling. folder: see `encoded.read`, whose errors are raised; on_read, warn: its `progress` and
        `warn`; on_learned: called with the number of documents that are done, and of all. Raise ResourceError if memory
        is too small, and ConfigError for rates that rise.
        """
        settings = self._with(epochs, alpha, min_alpha, threads)
        if problems := broken_rules(settings):
            raise ConfigError("; ".join(problems))
        with read(source, threads=threads, folder=folder, progress=on_read, warn=warn) as counted:
            lines, tokens = counted.lines, np.empty(0, np.int32)
            with suppress(NoKnownWords):
                tokens = counted.encode(self.vocabulary, max_sentence=settings.max_sentence, numbered=True).tokens
        return self._learned(np.asarray(tokens), lines, settings, on_learned)

    def vector(
        self, words: Sequence[str], epochs: int | None = None, alpha: float | None = None,
        min_alpha: float | None = None,
    ) -> tuple[NDArray[np.float32], int]:  # fmt: skip
        """Return the vector of one document, (d,), and its number of known words; the vector is that of `vectors`."""
        settings, index = self._with(epochs, alpha, min_alpha, threads=1), self.vocabulary.index
        ids = np.array([*(index.get(word, LEFT_OUT) for word in words), LINE_END], np.int32)
        tokens, state = np.empty(2 * len(ids), np.int32), np.zeros(5, np.int64)
        size = cut_sentences(ids, settings.max_sentence, True, tokens, state)
        vectors, known = self._learned(tokens[:size], 1, settings)
        return vectors[0], int(known[0])

    def _with(self, epochs: int | None, alpha: float | None, min_alpha: float | None, threads: int) -> Settings:
        """Return the settings of the model, in which those that are given replace its own."""
        if min_alpha is None and alpha is not None and self.settings.min_alpha is not None:  # rates never rise
            min_alpha = min(alpha, self.settings.min_alpha)
        given: dict[str, Any] = {"epochs": epochs, "alpha": alpha, "min_alpha": min_alpha, "threads": threads}
        return replace(self.settings, **{name: value for name, value in given.items() if value is not None})

    def _learned(
        self, tokens: NDArray[np.int32], lines: int, settings: Settings,
        on_learned: Callable[[int, int], None] = lambda done, total: None,
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:  # fmt: skip
        """Return what `vectors` does for documents as ids, in which each sentence ends with the number of its own."""
        tokens, words, entries = read_only(tokens), *np.zeros((2, lines), np.int64)
        sentences = np.flatnonzero(tokens < 0)
        sizes = np.diff(sentences, prepend=-1) - 1
        np.add.at(words, -2 - tokens[sentences], sizes)
        np.add.at(entries, -2 - tokens[sentences], sizes + 1)
        starts = np.concatenate([[0], np.cumsum(entries)])
        schedule, seeds = schedule_of(settings), np.empty(lines, np.int64)
        rates = schedule.rate(np.arange(schedule.epochs) / schedule.epochs)
        seeds_of(tokens, starts, schedule.seed, seeds)
        parts = [slice(at, min(at + BATCH_DOCUMENTS, lines)) for at in range(0, lines, BATCH_DOCUMENTS)]
        turn, left, learned = threading.Lock(), iter(parts), 0

        def work(thread: int, _: threading.Event) -> Iterator[int]:
            while True:
                with turn:
                    part = next(left, None)
                if part is None:
                    return
                infer(engine, tokens, starts, part, rates, seeds, engine.keep, thread)
                for d in part.start + np.flatnonzero(~rows[part].any(axis=1)):  # subsampling left no word in any epoch
                    infer(engine, tokens, starts, slice(d, d + 1), rates, seeds, all_words, thread)
                yield part.stop - part.start

        with self._turn:
            engine = self._prepared(lines, settings)
            is_blas_used = not isinstance(engine, WindowEngine)
            infer: Any = _infer_blocks if is_blas_used else _infer_windows
            rows = engine.matrices()[0][len(self.vocabulary) : len(self.vocabulary) + lines, : settings.vector_size]
            rows[...], all_words = 0, np.full_like(engine.keep, np.iinfo(engine.keep.dtype).max)
            threads = schedule.threads if len(parts) > 1 else 0
            blas = one_thread() if is_blas_used else nullcontext()
            with blas, parallel(work, threads, "w2vtrain inference") as done:
                for documents in done:
                    learned += documents or 0
                    on_learned(learned, lines)
            return rows.copy(), words

    def _prepared(self, lines: int, settings: Settings) -> Engine:
        """Return the engine, with the weights of the model, a row for each document, and one more, the sink."""
        engine, schedule, rows = self._engine, schedule_of(settings), len(self.vocabulary) + lines + 1
        if engine and engine.input_rows >= rows and engine.schedule.threads >= schedule.threads:
            return engine
        more = 2 * lines + len(self.vocabulary) * (parts_of(settings) - 1)  # documents with their copy, wider outputs
        needed = matrices(len(self.vocabulary), settings.vector_size + settings.bias, more)
        if (free := too_small(needed)) is not None:
            raise ResourceError(
                f"{lines:,} documents need {size_text(needed)} of memory, but only {size_text(free)} are free: infer"
                " the vectors of fewer at a time"
            )
        none, size = np.zeros(1, np.int64), lines + 1
        tags = Tags(np.arange(size), len(self.vocabulary) + np.arange(lines, dtype=np.int32), size, 1)
        text = Chunks(np.empty(0, np.int32), none, none[1:], self.vocabulary.counts, settings.max_sentence, tags)
        architecture = architecture_of(settings, self.model.words, self.model.arrays)
        problem, windows = problem_of(settings, self.vocabulary), windows_of(settings, self.vocabulary)
        objective = build(settings.objective, problem, settings.options)
        if (tree := stored_tree(self.model.arrays, len(self.vocabulary) - 1)) and objective.structure():
            objective = objective.with_tree(tree)
        engine = make_engine(architecture, objective, problem, text, windows, schedule)
        self.start.copy_to(engine, settings)
        if architecture.pairs():  # each context word and tag predicts alone, so that words teach tags nothing
            engine.windows = engine.windows._replace(left=False, right=False)
        self._engine = engine
        return engine


def _infer_windows(
    engine: WindowEngine, tokens: Any, starts: Any, part: slice, rates: Any, seeds: Any, keep: Any, thread: int
) -> None:
    architecture, objective, scratch = engine.workers[thread]
    matrices, still = Matrices(engine.w_in, engine.w_out), padded_rows(1, engine.w_out.shape[1])
    infer_documents(
        architecture, objective, engine.windows, tokens, starts, part.start, part.stop, rates, matrices,
        keep, np.int32(engine.input_rows - 1), still, np.empty_like(scratch.context), seeds, scratch,
    )  # fmt: skip


def _infer_blocks(
    engine: BlockEngine, tokens: Any, starts: Any, part: slice, rates: Any, seeds: Any, keep: Any, thread: int
) -> None:
    first_row, sink = len(engine.problem.counts), np.int32(engine.input_rows - 1)
    for d in range(part.start, part.stop):
        span, seed = (int(starts[d]), int(starts[d + 1])), int(seeds[d])
        for epoch, lr in enumerate(rates.tolist() if span[0] < span[1] else ()):
            work, stream = engine.work[thread], (seed, epoch, 0)
            work.begin(*stream)
            for examples in gather(tokens, *span, keep, engine.windows, engine.architecture, stream, work):
                moved = examples._replace(contexts=np.where(examples.contexts < first_row, sink, examples.contexts))
                for at in range(0, len(examples.targets), engine.schedule.block):
                    engine.step(examples, at, lr, thread, moved)
