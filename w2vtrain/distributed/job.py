"""One rank of a distributed run: what replaces reading and training in training.fit, and what happens to errors.

Nothing here parses commands or writes results. Rank 0 owns the run folder; the others only follow.
"""

import json
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from w2vtrain.config import Settings
from w2vtrain.distributed.agreement import Standby, together
from w2vtrain.distributed.communicator import Communicator
from w2vtrain.distributed.corpus import encode_together
from w2vtrain.distributed.pace import Pace
from w2vtrain.distributed.session import Session
from w2vtrain.distributed.trainer import Signals, Trainer
from w2vtrain.engines.schedule import State
from w2vtrain.errors import ConfigError, Disconnected, Stopped, W2VError, shown
from w2vtrain.kernels.jit import source_hash
from w2vtrain.system.machine import cores_of_process, versions
from w2vtrain.text.encoded import EncodedCorpus
from w2vtrain.text.source import Source
from w2vtrain.text.text_files import Corpus
from w2vtrain.training.events import Events
from w2vtrain.training.fit import Execution
from w2vtrain.training.inputs import Inputs
from w2vtrain.training.journal import FREE
from w2vtrain.training.run_folder import STOPPED_EARLY

HOLD = 2.0
"""Seconds between the messages of rank 0 to the ranks that wait for it."""


class Listener:
    """What signals ask of a rank that has no run folder. It has the attributes of a Run that signal handlers use."""

    def __init__(self) -> None:
        self.stopping = self.saving = self.preparing = self.learning = False

    def end_if_stopped(self) -> None:
        """Do nothing: all ranks stop together, at the next synchronization."""


class Job:
    """One rank of a distributed run.

    words: the words per rank between two synchronizations, or None to adapt them to the network; signals: what signals
    ask of this rank; folder: on shared storage, for the encoded corpus, or None if there is none yet; threads: of every
    rank.
    """

    def __init__(self, team: Communicator, words: int | None) -> None:
        self.team, self.words, self.session = team, words, Session(team)
        self.signals: Signals = Listener()
        self.folder: Path | None = None
        self.threads = [1] * team.size
        self.trainer: Trainer | None = None
        self._standby: Standby | None = None
        self._agreed = self._training = False
        self._held = 0.0

    def agree(self, settings: Settings, about: Mapping[str, Any], automatic: bool) -> Settings:
        """Return the settings with this rank's number of threads. Raise ConfigError if the ranks differ otherwise.

        about: what else must be equal; automatic: whether the number of threads was chosen automatically; then ranks
        on the same cores share them.
        """
        with self._agreeing(), together(self.team):
            pass
        mine = {
            "settings": {name: value for name, value in asdict(settings).items() if name not in FREE},
            "request": {**about, "sync-words": self.words},
            "versions": {name: text for name, text in versions().items() if name != "platform"},
            "code": {"code of w2vtrain": source_hash()[:16], **_own_code(settings)},
        }
        place = [socket.gethostname(), cores_of_process()]
        found = self._gather({"about": mine, "place": place})
        for rank, theirs in enumerate(found):
            if different := _differences(found[0]["about"], theirs["about"]):
                self._agreed = True
                raise ConfigError(f"rank {rank} differs from rank 0: {'; '.join(different)}; start all ranks alike")
        threads = int(settings.threads)
        if automatic:
            threads = max(1, threads // sum(theirs["place"] == found[self.team.rank]["place"] for theirs in found))
        self.threads = self._gather(threads)
        return replace(settings, threads=threads)

    def share_folder(self, folder: Path | None = None) -> None:
        """Tell all ranks the folder that rank 0 has created. The others wait here for rank 0, and raise its errors.

        None means that there is nothing to do, because an earlier run had finished.
        """
        with self._agreeing(), together(self.team):
            pass
        found = self._gather(folder and str(folder))[0]
        self.folder = found and Path(found)

    def execution(self) -> Execution:
        """Return what training.fit.fit needs in order to read and train as this rank."""
        pace = Pace(self.team.size, max(self.threads), self.words)
        self.trainer = Trainer(self.session, pace, self.signals)
        return Execution(self._read, self._train, copies=1)

    def hold(self) -> None:
        """Let the ranks that wait for rank 0 know that it is still at work, every few seconds."""
        if self.session.together and time.monotonic() - self._held > HOLD:
            self.session.hold()
            self._held = time.monotonic()

    def tell(self, error: W2VError) -> bool:
        """Tell the other ranks about an error that ends this one. Return whether all ranks know and end by themselves.

        False means that they wait for something else, or are gone.
        """
        if isinstance(error, Disconnected):
            return False
        if self._agreed or self.session.over:
            return True
        if self._training:
            return self.session.leave(str(error), error.exit_code)
        with suppress(W2VError):
            self._announce(error)
        return self._agreed

    def facts(self) -> dict[str, Any]:
        """Return the part of the run's record that tells how the ranks worked together."""
        assert self.trainer is not None
        return {"threads": self.threads, **self.trainer.facts()}

    def _announce(self, error: W2VError) -> None:
        """Raise an error before training on all ranks, which come to such a block next."""
        with self._agreeing():
            if self._standby:
                self._standby.end(error)
            with together(self.team):
                raise error

    def _read(self, inputs: Inputs, corpus: Source, settings: Settings, events: Events) -> EncodedCorpus:
        """Count and encode the corpus as one of the ranks."""

        def progress(done: int, total: int | None, tokens: int) -> None:
            if error := self._stopped():
                raise error
            events.reading(done, total, tokens)

        assert self.folder
        if inputs.grow or not isinstance(corpus, Corpus):
            raise ConfigError("distributed: several ranks cannot add words to a model or read lists of words")
        vocabulary = inputs.vocabulary or (inputs.start.vocabulary() if inputs.start else None)
        with self._agreeing():
            ids = encode_together(self.team, corpus, settings, self.folder, vocabulary, progress)
        self._standby = Standby(self.team)  # reading held-out text and compiling may take longer than others wait
        return ids

    def _train(self, *arguments: Any) -> Iterator[State]:
        """Train as one of the ranks, once all are ready."""
        assert self.trainer
        assert self._standby
        with self._agreeing():
            self._standby.end(self._stopped())
        self._training = True
        return self.trainer(*arguments)

    def _stopped(self) -> Stopped | None:
        """Return the error that ends all ranks if a signal has asked this one to stop before training."""
        return Stopped(STOPPED_EARLY) if self.signals.stopping else None

    @contextmanager
    def _agreeing(self) -> Iterator[None]:
        """Note that all ranks raise the error that a block raises."""
        try:
            yield
        except W2VError as error:
            self._agreed = not isinstance(error, Disconnected)
            raise

    def _gather(self, value: Any) -> list[Any]:
        """Return a JSON value of every rank."""
        return [json.loads(data) for data in self.team.gather(json.dumps(value).encode())]


def _own_code(settings: Settings) -> dict[str, str]:
    """Return checksums of the user's files that are the objective or the architecture."""
    found = {}
    for kind, name in (("objective", settings.objective), ("architecture", settings.architecture)):
        with suppress(OSError):
            found[f"code of the {kind}"] = sha256(Path(name).read_bytes()).hexdigest()[:16]
    return found


def _differences(first: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Return the differences of two descriptions, each like "alpha 0.05, not 0.1"."""
    return [
        f"{name} {shown(values.get(name))}, not {shown(first[part].get(name))}"
        for part, values in other.items()
        for name in {**first[part], **values}
        if first[part].get(name) != values.get(name)
    ]
