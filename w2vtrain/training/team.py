"""The processes that train together: this one alone. distributed/team_of_ranks.py has the ranks of an MPI job."""

from collections.abc import Callable, Iterator
from typing import Any

from w2vtrain.config import Settings
from w2vtrain.embeddings.model import Model
from w2vtrain.engines.contract import Chunks, Engine
from w2vtrain.text.encoded import EncodedCorpus, read
from w2vtrain.text.source import Source
from w2vtrain.training.events import Events
from w2vtrain.training.inputs import Inputs
from w2vtrain.training.run import Phase, Run
from w2vtrain.training.state import State
from w2vtrain.training.trainer import Clock, Course


class Team:
    """A team of one: this process reads and trains alone, and leads.

    size: the number of processes; leads: whether this one owns the run folder, the outputs and the console; copies: of
    the weights that it keeps in memory besides those of the engine; run: what this process does, and what signals have
    asked it for; clock: of the time limit, by default the clock on the wall.
    """

    size, leads, copies = 1, True, 0

    def __init__(self, clock: Clock | None = None) -> None:
        self.run, self.clock = Run(), clock

    def agree(self, settings: Settings, reason: str, request: dict[str, Any], automatic: bool) -> tuple[Settings, str]:
        """Return the settings with this process's number of threads, and the reason for this number.

        Raise ConfigError if the processes differ in other settings or in `request`. automatic: whether nobody chose the
        number of threads.
        """
        return settings, reason

    def begin(self, run: Run | None) -> bool:
        """Let all processes begin to read. From now on, signals end the run.

        run: None if it has finished before; then let the other processes end. Return whether there is anything to do.
        """
        if run:
            self.run = run
            run.enter(Phase.PREPARING)
        return run is not None

    def read(self, inputs: Inputs, corpus: Source, settings: Settings, events: Events) -> EncodedCorpus:
        """Count the corpus, and encode it with the words that `Inputs.words` chooses."""
        with read(corpus, threads=int(settings.threads), folder=inputs.folder, progress=events.reading) as counted:
            words = inputs.words(counted, settings)
            ids = counted.encode(words, max_sentence=settings.max_sentence, sentence_end=settings.sentence_end)
            events.reading(ids.stats.bytes_read, corpus.size, counted.token_count)
            return ids

    def train(
        self, engine: Engine, text: Chunks, events: Events, state: State, pause: Callable[[], bool]
    ) -> Iterator[State]:
        """Train, and yield the states: see Course.run."""
        return Course(engine, text, state, self.clock).run(events.training, pause)

    def watch(self, events: Events) -> Events:
        """Return events that also tell the other processes that this one is at work."""
        return events

    def note(self) -> tuple[str, dict[str, Any]]:
        """Return what to add to a progress line and to its entry in the log."""
        return "", {}

    def finish(self, model: Model) -> Model:
        """Let the other processes end: they need not wait for the results. Return the model with what they did."""
        return model
