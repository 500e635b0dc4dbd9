"""Gather what a report is about: the vectors, and what their run recorded, from any file or folder that has some.

The facts may come from any file, so each is looked up by `Subject.fact`, which takes nothing of an unexpected type.
Nothing is changed, and no code of a user is run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from w2vtrain.embeddings.keyed_vectors import KeyedVectors
from w2vtrain.errors import DataError, InputMissing
from w2vtrain.formats.describe import describe
from w2vtrain.formats.vectors import Vectors, read_vectors
from w2vtrain.pictures.run_logs import log_events
from w2vtrain.registry import CodeNotAllowed
from w2vtrain.training.checkpoint_vectors import newest, settings_of, vectors_of, vocabulary_of
from w2vtrain.training.folder import read_journal
from w2vtrain.training.state import Saved
from w2vtrain.training.status import describe_record, describe_run, is_run_folder


@dataclass(frozen=True)
class Subject:
    """What a report is about.

    path: as the user gave it; kind: of the file or folder, for people; vectors: None if there are none yet; settings,
    record: of the run, empty if unknown; status: of an unfinished run, as `describe_run` returns it, otherwise empty;
    command: the `fit` command that repeats the run, or ""; log: the events of its JSON log; curves: the file or folder
    that has the curves of training, or ""; missing: why there are no vectors.
    """

    path: str
    kind: str
    vectors: Vectors | None
    settings: dict[str, Any] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=dict)
    status: dict[str, Any] = field(default_factory=dict)
    command: str = ""
    log: list[dict[str, Any]] = field(default_factory=list)
    curves: str = ""
    missing: str = ""

    def fact(self, *names: str, of: type | tuple[type, ...] = (int, float)) -> Any:
        """Return a member of the record, or of a table in it; None if it is not there or of another type."""
        value: Any = self.record
        for name in names:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value if isinstance(value, of) and not isinstance(value, bool) else None

    def epochs(self) -> list[dict[str, Any]]:
        """Return the records of the epochs that have ended."""
        return [epoch for epoch in self.fact("epochs", of=list) or [] if isinstance(epoch, dict)]

    def keyed(self) -> KeyedVectors:
        """Return the vectors for queries; there must be some."""
        assert self.vectors is not None
        return KeyedVectors.of(self.vectors.words, self.vectors.matrix, self.vectors.counts, self.vectors.ngrams)


def subject_of(path: str, log: str | None = None) -> Subject:
    """Return what is known about a run folder, a record, a model, or a file of vectors.

    log: the file of --log-json, by default that of the run folder, if it is there. Raise InputMissing, DataError or
    ReadError if the file, the folder or the log cannot be used.
    """
    if Path(path).is_dir():
        if not is_run_folder(path):
            raise DataError(
                f"{path}: is not a run folder: it has no config.json; name vectors, a model or a run folder"
            )
        return _unfinished(path, log)
    events = read_log(log) if log else []
    record = describe_record(path)
    if record and record["kind"] == "run folder":
        return _unfinished(str(record["path"]), log)
    file = record["vectors"] if record else path
    if record and not Path(file).exists():
        raise InputMissing(f"{file} does not exist: {path} is the record beside these vectors")
    facts, vectors = describe(file), read_vectors(file)
    beside = record or _record_beside(file)
    kind = f"{facts['kind']}, with the record of its run" if beside else str(facts["kind"])
    source = beside or facts
    return Subject(
        path, kind, vectors, source.get("settings", {}), source.get("record", {}),
        command=source.get("repeat", ""), log=events, curves=log or source["path"],
    )  # fmt: skip


def _record_beside(path: str) -> dict[str, Any] | None:
    """Return the description of the record that `fit` wrote beside vectors; None if there is none."""
    beside = f"{path}.json"
    if not Path(beside).is_file():
        return None
    description = describe_record(beside)
    return description if description and description["kind"] != "run folder" else None


def _unfinished(path: str, log: str | None) -> Subject:
    """Return what the folder of an unfinished run has: its newest checkpoint, and the vocabulary."""
    folder = Path(path)
    journal, status = read_journal(folder, InputMissing), describe_run(path)
    cwd, request, settings = (journal.description[name] for name in ("cwd", "request", "settings"))
    named = request.get("log_json")
    if log is None and isinstance(named, str) and Path(cwd, named).is_file():
        log = str(Path(cwd, named))
    origins, command = {"origins": request.get("origins")}, str(request.get("command") or "")
    entries = read_log(log) if log else []
    subject = Subject(path, "run folder", None, settings, origins, status, command, entries, log or path)
    try:
        checkpoint = newest(folder)
        if checkpoint is None:
            return replace(subject, missing="The run has no checkpoint yet.")
        saved = checkpoint.saved()
        subject.record.update(_so_far(saved))
        vocabulary = vocabulary_of(folder, checkpoint, saved)
        matrix = vectors_of(checkpoint, saved.best, settings_of(folder, journal), vocabulary.words)
    except CodeNotAllowed:
        return replace(subject, missing="The run uses code of its own, which a report does not run.")
    rows = np.ascontiguousarray(matrix[:])
    vectors = Vectors(vocabulary.words, rows, "checkpoint", counts=vocabulary.counts)
    return replace(subject, vectors=vectors)


def _so_far(saved: Saved) -> dict[str, Any]:
    """Return what a checkpoint says about the epochs so far, by the names of a finished run's record."""
    state = saved.state
    spent = state.spent + state.seconds
    speed = {"words_per_second": state.passed / state.spent} if state.spent else {}
    return {"epochs": saved.epochs, "seconds": {"training": spent}, **speed}


def read_log(path: str) -> list[dict[str, Any]]:
    """Return the events of a log, without reports of progress, which may be millions. Raise as `log_events`."""
    events = enumerate(log_events(path))
    return [event for number, (_, event) in events if number == 0 or event["event"] != "progress"]
