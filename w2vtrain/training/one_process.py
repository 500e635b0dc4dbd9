"""The processes that train together: `Alone` is one process, and what the ranks of an MPI job override."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from w2vtrain.config import Settings
from w2vtrain.embeddings.model import Model
from w2vtrain.text.encoded import EncodedCorpus, read
from w2vtrain.text.source import Source
from w2vtrain.training.epoch import Order, SliceReport
from w2vtrain.training.events import Events
from w2vtrain.training.inputs import Generator, Inputs
from w2vtrain.training.run import Phase, Run


class Alone:
    """The processes that train together: this one alone. leaves/mpi/ranks.py has the ranks of an MPI job.

    size: the number of processes; leads: whether this one owns the run folder, the outputs and the console; copies: of
    the weights that it keeps in memory besides those of the engine; run: of a process without a run folder, with what
    signals have asked for. `trainer` is a Trainer, which imports this module.
    """

    size, leads, copies = 1, True, 0

    def __init__(self) -> None:
        self.run = Run()

    def agree(self, settings: Settings, reason: str, request: dict[str, Any], automatic: bool) -> tuple[Settings, str]:
        """Return the settings with this process's number of threads, and the reason for this number.

        Raise ConfigError if the processes differ in other settings or in `request`. automatic: whether nobody chose the
        number of threads.
        """
        return settings, reason

    def begin(self, run: Run | None) -> bool:
        """Let all processes begin, or end if `run` is None: it has finished before. Return whether they begin."""
        return run is not None

    def read(self, run: Run, inputs: Inputs, corpus: Source, settings: Settings, events: Events) -> EncodedCorpus:
        """Count and encode the corpus, with the words that `Inputs.words` chooses. From now on, signals end the run."""
        run.enter(Phase.PREPARING)
        if isinstance(corpus, Generator):
            return corpus.generated(settings, inputs.folder, events.reading)
        with read(corpus, threads=int(settings.threads), folder=inputs.folder, progress=events.reading) as counted:
            words = inputs.words(counted, settings)
            ids = counted.encode(words, max_sentence=settings.max_sentence, sentence_end=settings.sentence_end)
            events.reading(ids.stats.bytes_read, corpus.size, counted.token_count)
            return ids

    def training(self, trainer: Any) -> AbstractContextManager[None]:
        """Let all processes begin to train with the weights and the state of the one that leads."""
        return nullcontext()

    def share(self, trainer: Any, order: Order) -> AbstractContextManager[Iterator[SliceReport | None]]:
        """Train on this process's share of the rest of an epoch. Yield the sums of all processes, or None meanwhile."""
        return trainer.on_threads(order)  # type: ignore[no-any-return]

    def wait(self) -> bool:
        """Wait for the process that leads, which scores and saves. Return whether training continues."""
        return True

    def watch(self, events: Events) -> Events:
        """Return events that also tell the processes that `wait` that this one is at work."""
        return events

    def note(self) -> tuple[str, dict[str, Any]]:
        """Return what to add to a progress line and to its entry in the log."""
        return "", {}

    def finish(self, model: Model) -> Model:
        """Let the other processes end: they need not wait for the results. Return the model with what they did."""
        return model
