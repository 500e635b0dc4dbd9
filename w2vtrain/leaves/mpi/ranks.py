"""The ranks of an MPI job: they read one corpus, train one model, and end together.

Rank 0 leads: it owns the run folder, the outputs and the console, and the others follow. Nothing here parses commands
or writes results.
"""

import socket
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from w2vtrain.architectures import architecture_class
from w2vtrain.config import Settings
from w2vtrain.embeddings.model import Model
from w2vtrain.errors import ConfigError, Disconnected, OutputError, W2VError, reason
from w2vtrain.kernels.jit import source_hash
from w2vtrain.leaves.mpi.agreement import Standby, together
from w2vtrain.leaves.mpi.communicator import Communicator, allgather_json
from w2vtrain.leaves.mpi.encoding import encode_together
from w2vtrain.leaves.mpi.pace import Pace
from w2vtrain.leaves.mpi.rounds import AgreedClock, Rounds, Traffic
from w2vtrain.leaves.mpi.session import MeetingStage, Session
from w2vtrain.system.json_text import typed
from w2vtrain.system.machine import cores_of_process, versions
from w2vtrain.text.encoded import EncodedCorpus
from w2vtrain.text.source import Source
from w2vtrain.text.text_files import Corpus
from w2vtrain.training.checkpointing import CheckpointedRun
from w2vtrain.training.epoch import Order, SliceReport
from w2vtrain.training.events import Events
from w2vtrain.training.inputs import Generator, Inputs
from w2vtrain.training.one_process import Alone
from w2vtrain.training.run import Run
from w2vtrain.training.run_files import FREE_SETTINGS, differences
from w2vtrain.training.state import State
from w2vtrain.training.trainer import Trainer

HOLD_SECONDS = 2.0
"""Between two messages of rank 0 to the ranks that wait for it."""


class Ranks(Alone):
    """One rank of a distributed run.

    words: the words per rank between two synchronizations, or None to adapt them to the network; folder: on shared
    storage, for the encoded corpus, None before `begin`, and if there is nothing to do; threads: of every rank.
    """

    copies = 1

    def __init__(self, comm: Communicator, words: int | None) -> None:
        super().__init__()
        self.comm, self.words, self.session = comm, words, Session(comm)
        self.size, self.leads = comm.size, comm.rank == 0
        self.folder: Path | None = None
        self.threads = [1] * comm.size
        self.traffic = Traffic(comm.size)
        self._standby: Standby | None = None
        self._held = 0.0  # when rank 0 told the others that it is still at work

    def agree(self, settings: Settings, reason: str, request: dict[str, Any], automatic: bool) -> tuple[Settings, str]:
        """If the number of threads was chosen automatically, ranks on the same cores divide these cores among them."""
        if architecture_class(settings.architecture).uses_tags():
            raise ConfigError("distributed: vectors of documents are trained by one process; leave out --distributed")
        with self._together():
            pass
        mine = {
            **{name: value for name, value in asdict(settings).items() if name not in FREE_SETTINGS},
            **request,
            "sync-words": self.words,
            **{name: text for name, text in versions().items() if name != "platform"},
            "code of w2vtrain": source_hash()[:16],
            **_own_code(settings),
        }
        place = [socket.gethostname(), cores_of_process()]
        everyone, places = zip(*allgather_json(self.comm, [mine, place]), strict=True)
        with self._agreeing():
            for rank, theirs in enumerate(everyone):
                if different := differences(theirs, everyone[0], everyone[0] | theirs):
                    raise ConfigError(f"rank {rank} differs from rank 0: {'; '.join(different)}; start all ranks alike")
        threads = int(settings.threads)
        if automatic:
            threads = max(1, threads // places.count(place))
        self.threads = allgather_json(self.comm, threads)
        where = f"on each of {self.comm.size} ranks" if len(set(self.threads)) == 1 else "on rank 0"
        return replace(settings, threads=threads), where

    def begin(self, run: Run | None) -> bool:
        """Create the folder that the ranks share, on rank 0. The others wait for it here, and raise rank 0's errors.

        If `run` is None on rank 0, there is nothing to train: return False on all ranks.
        """
        folder = None
        if isinstance(run, CheckpointedRun):
            folder = run.shared
            try:
                folder.mkdir(0o700, exist_ok=True)
            except OSError as error:
                raise OutputError(f"{folder}: the folder cannot be created: {reason(error)}") from error
        with self._together():
            pass
        path = allgather_json(self.comm, folder and str(folder))[0]
        self.folder = path and Path(path)
        return self.folder is not None

    def read(self, run: Run, inputs: Inputs, corpus: Source, settings: Settings, events: Events) -> EncodedCorpus:
        def progress(done: int, total: int | None, tokens: int) -> None:
            run.end_if_stopped()
            events.reading(done, total, tokens)

        assert self.folder
        if isinstance(corpus, Generator):  # each rank reads all of it
            self._standby = Standby(self.comm)
            return corpus.generated(settings, inputs.folder, progress)
        assert isinstance(corpus, Corpus)
        with self._agreeing():
            ids = encode_together(self.comm, corpus, settings, self.folder, inputs.known_words(), progress)
        self._standby = Standby(self.comm)  # reading held-out text and compiling may take longer than others wait
        return ids

    @contextmanager
    def training(self, trainer: Trainer) -> Iterator[None]:
        """Begin once all ranks are ready. Raise Left if another rank has left because of an error."""
        with self._together():
            trainer.run.end_if_stopped()
        self.session.stage = MeetingStage.EXCHANGING
        trainer.state = typed(allgather_json(self.comm, asdict(trainer.state))[0], State, "the state of rank 0")
        trainer.clock = clock = AgreedClock(trainer.schedule.seconds)
        self.traffic.words_per_chunk = float(trainer.text.words.mean())
        chunks = len(trainer.text.words) * trainer.schedule.epochs
        pace = Pace(self.comm.size, max(self.threads), chunks, self.words)
        self._rounds = Rounds(trainer, clock, self.session, pace, self.traffic)
        self.session.stage = MeetingStage.MEETING
        try:
            yield
        finally:
            self._rounds.close()

    def share(self, trainer: Trainer, order: Order) -> AbstractContextManager[Iterator[SliceReport | None]]:
        return closing(self._rounds.train(order))

    def wait(self) -> bool:
        return self.session.wait()

    def watch(self, events: Events) -> Events:
        """Return events that also keep in touch with the ranks that wait while rank 0 scores. For rank 0."""

        def hold(done: int, total: int) -> None:
            if time.monotonic() - self._held >= HOLD_SECONDS:
                self._held = time.monotonic()
                self.session.hold()

        return Events(scoring=hold).followed_by(events)

    def note(self) -> tuple[str, dict[str, Any]]:
        facts = self.facts()
        return f"  {facts['ranks']} ranks, {facts['communication']:.0%} communication", {"distributed": facts}

    def finish(self, model: Model) -> Model:
        self.session.end()
        return replace(model, record={**model.record, "distributed": self.facts()})

    def facts(self) -> dict[str, Any]:
        """Return how the ranks worked together, for the run's record."""
        return {"threads": self.threads, **self.traffic.facts()}

    def tell(self, error: W2VError) -> bool:
        """Tell the other ranks about an error that ends this one. Return whether all ranks know and end by themselves.

        False means that they wait for something else, or are gone.
        """
        if isinstance(error, Disconnected):
            return False
        if self.session.stage is MeetingStage.PREPARING:
            with suppress(W2VError), self._together():
                raise error
        return self.session.leave(str(error), error.exit_code)

    @contextmanager
    def _together(self) -> Iterator[None]:
        """Run the block that all ranks come to next before training. If it raises an error on any, all raise it."""
        with self._agreeing(), self._standby.ending() if self._standby else together(self.comm):
            yield

    @contextmanager
    def _agreeing(self) -> Iterator[None]:
        """Note that all ranks raise the error that a block raises, unless they are gone."""
        try:
            yield
        except Disconnected:
            raise
        except W2VError:
            self.session.stage = MeetingStage.ENDED
            raise


def _own_code(settings: Settings) -> dict[str, str]:
    """Return checksums of the user's files that are the objective or the architecture."""
    checksums = {}
    for kind, name in (("objective", settings.objective), ("architecture", settings.architecture)):
        with suppress(OSError):
            checksums[f"code of the {kind}"] = sha256(Path(name).read_bytes()).hexdigest()[:16]
    return checksums
