"""Infer vectors of new documents with a trained model: gradient steps on their rows alone.

The vector of a text is the same whatever the other texts, their order and the number of threads: see inference_kernel.
"""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from w2vtrain.architectures import architecture_class
from w2vtrain.config import Settings, validated
from w2vtrain.embeddings.model import Model
from w2vtrain.engines.base import Engine
from w2vtrain.engines.block_engine import BlockEngine, gather
from w2vtrain.engines.chunks import Chunks
from w2vtrain.engines.window_engine import WindowEngine
from w2vtrain.engines.window_kernel import Matrices
from w2vtrain.errors import ConfigError
from w2vtrain.kernels.rows import padded_rows
from w2vtrain.leaves.documents.inference_kernel import infer_documents, seeds_of
from w2vtrain.objectives import build
from w2vtrain.probability.dense import one_thread
from w2vtrain.system.parallel import parallel
from w2vtrain.text.encoded import Tags, read
from w2vtrain.text.source import Source
from w2vtrain.text.vocabulary import Vocabulary
from w2vtrain.training.engine_parts import architecture_of, make_engine, problem_of, schedule_of, windows_of
from w2vtrain.training.warm_start import WarmStart

BATCH_DOCUMENTS = 64
"""Documents that a thread takes at once."""


class Inference:
    """A trained model, ready to infer vectors.

    model: it must have been trained on documents, see `Model.documents`. Raise DataError or ConfigError otherwise.
    """

    def __init__(self, model: Model) -> None:
        model.documents  # noqa: B018 - it raises DataError
        self.model, self.start = model, WarmStart.of(model)
        self.settings = validated(model.settings)
        self.vocabulary = Vocabulary(model.words, model.counts)
        if architecture_class(self.settings.architecture).context() == "words":
            raise ConfigError(f"architecture: {self.settings.architecture} learns no vectors of documents")

    def vectors(
        self, source: Source, epochs: int | None = None, alpha: float | None = None, min_alpha: float | None = None,
        threads: int = 1, folder: Path | None = None,
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:  # fmt: skip
        """Return the vector of each line of a source, (D, d), and its number of known words, (D,).

        epochs, alpha, min_alpha: those of the model by default; the learning rate falls linearly over the epochs. A
        line without known words gets zeros. folder: see `encoded.read`, whose errors are raised.
        """
        given: dict[str, Any] = {"epochs": epochs, "alpha": alpha, "min_alpha": min_alpha, "threads": threads}
        settings = replace(self.settings, **{name: value for name, value in given.items() if value is not None})
        with read(source, threads=threads, folder=folder) as counted:
            lines = counted.lines
            ids = counted.encode(self.vocabulary, max_sentence=settings.max_sentence, numbered=True)
        tokens = np.asarray(ids.tokens)
        words = np.zeros(lines, np.int64)
        sentences = np.flatnonzero(tokens < 0)
        sizes = np.diff(sentences, prepend=-1) - 1
        np.add.at(words, -2 - tokens[sentences], sizes)
        entries = np.zeros(lines, np.int64)
        np.add.at(entries, -2 - tokens[sentences], sizes + 1)
        starts = np.concatenate([[0], np.cumsum(entries)])
        engine = self._engine(settings, tokens, int(sizes.max(initial=1)), lines)
        rows = engine.matrices()[0][len(self.vocabulary) : len(self.vocabulary) + lines]
        rows[:, : settings.vector_size] = 0
        rates = engine.schedule.rate(np.arange(settings.epochs) / settings.epochs)
        seeds = np.empty(lines, np.int64)
        seeds_of(tokens, starts, settings.seed, seeds)
        infer: Any = _infer_windows if isinstance(engine, WindowEngine) else _infer_blocks
        parts = iter([slice(at, min(at + BATCH_DOCUMENTS, lines)) for at in range(0, lines, BATCH_DOCUMENTS)])
        turn = threading.Lock()

        def work(thread: int, _: threading.Event) -> Iterator[None]:
            while True:
                with turn:
                    part = next(parts, None)
                if part is None:
                    return
                infer(engine, starts, part, rates, seeds, thread)
                yield

        with one_thread(), parallel(work, threads, "w2vtrain inference") as done:
            for _ in done:
                pass
        return rows[:, : settings.vector_size].copy(), words

    def _engine(self, settings: Settings, tokens: NDArray[np.int32], longest: int, lines: int) -> Engine:
        """Return an engine with the weights of the model, and a row for each line and one more, the sink."""
        words = len(self.vocabulary)
        rows = words + np.arange(lines, dtype=np.int32)
        tags = Tags(np.arange(lines + 1), rows, lines + 1, 1)
        whole = np.array([0, len(tokens)])
        text = Chunks(tokens, whole, np.array([len(tokens)]), self.vocabulary.counts, longest, tags)
        architecture = architecture_of(settings, self.model.words, self.model.arrays)
        problem, windows = problem_of(settings, self.vocabulary), windows_of(settings, self.vocabulary)
        objective = build(settings.objective, problem, settings.options)
        engine = make_engine(architecture, objective, problem, text, windows, schedule_of(settings))
        self.start.copy_to(engine, settings)
        if architecture.pairs():  # each context word and tag predicts alone, so that words teach tags nothing
            engine.windows = engine.windows._replace(left=False, right=False)
        return engine


def _infer_windows(engine: WindowEngine, starts: Any, part: slice, rates: Any, seeds: Any, thread: int) -> None:
    architecture, objective, scratch = engine.workers[thread]
    matrices, still = Matrices(engine.w_in, engine.w_out), padded_rows(1, engine.w_in.shape[1])
    infer_documents(
        architecture, objective, engine.windows, engine.text.tokens, starts, part.start, part.stop, rates, matrices,
        engine.keep, np.int32(engine.input_rows - 1), still, np.empty_like(scratch.context), seeds, scratch,
    )  # fmt: skip


def _infer_blocks(engine: BlockEngine, starts: Any, part: slice, rates: Any, seeds: Any, thread: int) -> None:
    layer, work, size = engine.layers[thread], engine.work[thread], engine.schedule.block
    first_row, sink = len(engine.problem.counts), np.int32(engine.input_rows - 1)
    for d in range(part.start, part.stop):
        span, seed = (int(starts[d]), int(starts[d + 1])), int(seeds[d])
        for epoch, lr in enumerate(rates.tolist() if span[0] < span[1] else ()):
            work.begin(seed, epoch, 0)
            stream = (seed, epoch, 0)
            for examples in gather(
                engine.text.tokens, *span, engine.keep, engine.windows, engine.architecture, stream, work
            ):
                moved = examples._replace(contexts=np.where(examples.contexts < first_row, sink, examples.contexts))
                for at in range(0, len(examples.targets), size):
                    block = slice(at, at + size)
                    targets = examples.targets[block]
                    H = work.array("hidden", (len(targets), engine.problem.width))
                    layer.hidden(examples, at, H)
                    work.previous = examples.previous[block]
                    _, dH = engine.objective.step(H, targets, 0.0, work)
                    layer.update(moved, at, dH, lr * engine.architecture.rate_scale(int(examples.sizes[block].max())))
