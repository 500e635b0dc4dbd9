"""`fit` as one of several ranks: join the MPI job, follow rank 0, and end together.

Rank 0 runs `fit` as usual: it owns the run folder, the outputs and the console. What the ranks exchange is in
distributed/.
"""

import faulthandler
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from w2vtrain.api import cut_vocabulary
from w2vtrain.commands.request import FitRequest, is_stream, outputs
from w2vtrain.commands.shell import explained
from w2vtrain.config import Settings
from w2vtrain.distributed.job import Job
from w2vtrain.distributed.mpi import Mpi
from w2vtrain.distributed.traces import HEARTBEAT
from w2vtrain.embeddings.model import Model
from w2vtrain.engines.schedule import Progress
from w2vtrain.errors import OutputError, Stalled, UsageError, W2VError, WriteError, reason
from w2vtrain.system.files import atomic_write
from w2vtrain.system.stopping import NAME, ignore_signals
from w2vtrain.system.storage import remove_file, remove_tree
from w2vtrain.system.terminal import echo, one_line
from w2vtrain.text.vocabulary import Vocabulary
from w2vtrain.training.events import Events
from w2vtrain.training.fit import fit as train
from w2vtrain.training.inputs import Inputs
from w2vtrain.training.journal import DECIDING
from w2vtrain.training.run_folder import Run, listening
from w2vtrain.training.warm_start import WarmStart

WRITTEN = ("output", "format_", "export", "save_output_vectors", "save_model", "save_vocab", "log_json")
"""Fields of the request that must be equal on all ranks, although only rank 0 writes."""
BEAT = 2.0
"""Seconds between two writes of the heartbeat."""
FORWARDING = 0.5
"""Seconds that the launcher gets to forward an error message: after an abort, it may drop what ranks have written."""
CORPUS = "corpus"
"""The folder of the encoded corpus in the run folder."""


class Silent(W2VError):
    """Raised on a rank whose error rank 0 reports. It has that error's exit code and no message."""

    def __init__(self, code: int) -> None:
        super().__init__("")
        self.exit_code = code


class Ranks:
    """This process in an MPI job of several ranks. Made by `joined`."""

    def __init__(self, team: Mpi, words: int | None) -> None:
        self.team, self.job = team, Job(team, words)
        self._run: Run | None = None
        self._beat = 0.0

    @property
    def leads(self) -> bool:
        """Whether this is rank 0."""
        return self.team.rank == 0

    def begin(self, run: Run, request: FitRequest) -> None:
        """Create the folder of the encoded corpus, and let the other ranks begin. Called on rank 0."""
        self._run, folder = run, _corpus_folder(run, request)
        try:
            folder.mkdir(0o700, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{folder}: the folder cannot be created: {reason(error)}") from error
        self.job.signals, run.shared = run, folder
        self.job.share_folder(folder)

    def events(self, events: Events) -> Events:
        """Return events that also write the heartbeat, and keep in touch with ranks that wait. For rank 0."""

        def reading(done: int, total: int | None, tokens: int) -> None:
            self.beat(read=tokens)
            events.reading(done, total, tokens)

        def training(at: Progress) -> None:
            self.beat(words=at.words)
            events.training(at)

        def scoring(done: int, total: int) -> None:
            self.beat(scored=done)
            self.job.hold()
            events.scoring(done, total)

        return replace(events, reading=reading, training=training, scoring=scoring)

    def beat(self, **facts: int) -> None:
        """Rewrite the heartbeat in the run folder, from which others see that the run is alive."""
        if self._run and time.monotonic() - self._beat >= BEAT:
            self._beat = time.monotonic()
            with suppress(WriteError, OutputError), atomic_write(self._run.folder / HEARTBEAT, force=True) as file:
                file.write(json.dumps({"run": self._run.journal.run, **facts, "time": time.time()}).encode())

    def note(self) -> tuple[str, dict[str, Any]]:
        """Return what a progress line and the log say about the ranks."""
        facts = self.job.facts()
        return f"  {facts['ranks']} ranks, {facts['communication']:.0%} communication", {"distributed": facts}

    def ended(self, model: Model) -> Model:
        """Let the other ranks end, which need not wait for the results. Return the model with what the ranks did."""
        self.job.session.end()
        return replace(model, record={**model.record, "distributed": self.job.facts()})

    def follow(self, request: FitRequest, settings: Settings, start: WarmStart | None) -> None:
        """Train as a rank other than 0: without held-out text, outputs and console."""
        vocabulary = None
        if request.read_vocab:
            found = Vocabulary.load(request.read_vocab)
            vocabulary = cut_vocabulary(found, settings.min_count, settings.max_vocab)
        self.job.share_folder()
        if self.job.folder is None:
            return
        inputs = Inputs(request.sources, (), vocabulary, start=start, grow=bool(request.grow_vocabulary))
        train(inputs, replace(settings, patience=None), execution=self.job.execution())
        self.job.session.end()


def tidy(run: Run, request: FitRequest) -> None:
    """Delete what ranks have left for a restart, if there were any: the encoded corpus and the heartbeat."""
    remove_tree(_corpus_folder(run, request))
    with suppress(OSError):
        remove_file(run.folder / HEARTBEAT)


def _corpus_folder(run: Run, request: FitRequest) -> Path:
    """Return the folder in which the ranks share the encoded corpus."""
    if request.cache_dir:
        return Path(request.cache_dir).resolve() / f"{NAME}-{run.journal.run}"
    return run.folder.resolve() / CORPUS


@contextmanager
def joined(request: FitRequest) -> Iterator[Ranks | None]:
    """Join the MPI job for a block, and end it with all ranks: yield this rank, or None if it is alone.

    If an exception ends the block on any rank, all ranks end with its exit code.
    """
    for name in ("sync_words", "sync_timeout") if request.distributed is None else ():
        if getattr(request, name) != getattr(FitRequest, name):
            raise UsageError(f"{name.replace('_', '-')}: has no effect without --distributed mpi")
    if request.distributed is None or request.print_config:
        yield None
        return
    team = Mpi(request.sync_timeout)
    if team.size == 1:
        team.finish()
        yield None
        return
    ranks = Ranks(team, request.sync_words)
    with nullcontext() if ranks.leads else listening(ranks.job.signals):  # type: ignore[arg-type]
        try:
            yield ranks
        except BaseException as error:
            code, message = explained(error)
            if isinstance(error, W2VError) and ranks.job.tell(error):
                if isinstance(error, Stalled) and not ranks.leads:
                    faulthandler.dump_traceback()  # to which the message refers that rank 0 prints
                team.finish(code)
                raise error if ranks.leads else Silent(code) from error
            if message:
                echo(f"{NAME}: error: {one_line(f'rank {team.rank}: {message}')}", err=True)
                time.sleep(FORWARDING)
            team.abort(code or 1)
        else:
            ignore_signals()  # the results are written, and the exit code must say so
            team.finish()


def agreed(ranks: Ranks, request: FitRequest, settings: Settings, asked: Settings) -> tuple[Settings, str]:
    """Return the settings with the threads of this rank, and the reason. Raise ConfigError if the ranks differ."""
    if streams := list(filter(is_stream, outputs(request))):
        raise UsageError(
            "distributed: the ranks need a run folder: name an output file with -o;"
            f" {streams[0]} is a stream or a device, so name a file in its place"
        )
    about = {name: asdict(request)[name] for name in (*DECIDING, *WRITTEN)}
    settings = ranks.job.agree(settings, json.loads(json.dumps(about)), asked.threads == "auto")
    return settings, f"on each of {ranks.team.size} ranks" if len(set(ranks.job.threads)) == 1 else "on rank 0"
