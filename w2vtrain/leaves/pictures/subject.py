"""Gather what a report is about: the vectors, and what their run recorded, from any file or folder that has some.

The facts may come from any file. Nothing is changed, and no code of a user is run.
"""

import json
import logging
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from w2vtrain.config import FIELDS
from w2vtrain.errors import DataError, InputMissing
from w2vtrain.formats.describe import describe
from w2vtrain.formats.vectors import Vectors, read_vectors
from w2vtrain.leaves.pictures.run_logs import RunLog, read_run
from w2vtrain.registry import CodeNotAllowed
from w2vtrain.training.checkpoint_file import newest
from w2vtrain.training.checkpoint_vectors import settings_of, vectors_of, vocabulary_of
from w2vtrain.training.run_files import run_config
from w2vtrain.training.run_status import describe_record, describe_run, is_run_folder

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Subject:
    """What a report is about.

    path: as the user gave it; kind: of the file or folder, for people; vectors: None if there are none yet; settings,
    record: of the run, empty if unknown; status: of an unfinished run, as `describe_run` returns it, otherwise empty;
    command: the `fit` command that repeats the run, or ""; run: its curves, if they are known; missing: why there are
    no vectors.
    """

    path: str
    kind: str
    vectors: Vectors | None
    settings: dict[str, Any] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=dict)
    status: dict[str, Any] = field(default_factory=dict)
    command: str = ""
    run: RunLog | None = None
    missing: str = ""

    def table(self, name: str) -> dict[str, Any]:
        """Return a table of the record; an empty one if it is not there or of another type."""
        value = self.record.get(name)
        return value if isinstance(value, dict) else {}

    def entries(self, name: str, kind: type) -> list[Any]:
        """Return the entries of a list of the record that have this type."""
        value = self.record.get(name)
        return [entry for entry in value if isinstance(entry, kind)] if isinstance(value, list) else []

    def chosen(self) -> list[tuple[str, str, str]]:
        """Return name, value and origin of each setting that is not a default, sorted by origin."""
        origins = self.table("origins")
        options, of_options = self.settings.get("options"), origins.get("options")
        rows = [(name, value, origins.get(name)) for name, value in self.settings.items() if name != "options"]
        rows = [row for row in rows if row[2] or not _is_default(*row[:2])]
        if isinstance(options, dict):
            known = of_options if isinstance(of_options, dict) else {}
            rows += [(f"{name} (option)", value, known.get(name)) for name, value in options.items()]
        rows.sort(key=lambda row: row[2] == "chosen automatically")
        return [
            (name, json.dumps(value, ensure_ascii=False), str(origin or "not recorded"))
            for name, value, origin in rows
            if origin != "default"
        ]


def numbers(table: Mapping[str, Any]) -> dict[str, float]:
    """Return the positive numbers of a table of the record."""
    known = ((name, value) for name, value in table.items() if type(value) in (int, float))
    return {name: value for name, value in known if math.isfinite(value) and value > 0}


def _is_default(name: str, value: Any) -> bool:
    return value is None or (name in FIELDS and bool(FIELDS[name].default == value))


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
    record = describe_record(path)
    if record and record["kind"] == "run folder":
        return _unfinished(str(record["path"]), log)
    file = record["vectors"] if record else path
    if record and not Path(file).exists():
        raise InputMissing(f"{file} does not exist: {path} is the record beside these vectors")
    facts, vectors = describe(file), read_vectors(file)
    if record is None and Path(f"{file}.json").is_file():
        record = describe_record(f"{file}.json")
        if record is None:
            logger.warning("%s.json is damaged or not the record of a run, so the report says nothing of it", file)
    source = record or facts
    kind = f"{facts['kind']}, with the record of its run" if record else str(facts["kind"])
    return Subject(
        path, kind, vectors, source.get("settings", {}), source.get("record", {}), command=source.get("repeat", ""),
        run=_curves(log, source["path"]),
    )  # fmt: skip


def _curves(log: str | None, path: str) -> RunLog | None:
    """Return the curves of a log, which must be one, or else of any other file that has some."""
    if log:
        return read_run(log)
    with suppress(DataError):
        return read_run(path)
    return None


def _unfinished(path: str, log: str | None) -> Subject:
    """Return what the folder of an unfinished run has: its newest checkpoint, and the vocabulary."""
    folder = Path(path)
    config, status = run_config(folder), describe_run(path)
    request, settings = config.request, config.settings
    named = request.get("log_json")
    if log is None and isinstance(named, str) and Path(config.cwd, named).is_file():
        log = str(Path(config.cwd, named))
    facts, command = {"origins": request.get("origins")}, str(request.get("command") or "")
    subject = Subject(path, "run folder", None, settings, facts, status, command, _curves(log, path))
    try:
        checkpoint = newest(folder, config.run)
        if checkpoint is None:
            return replace(subject, missing="The run has no checkpoint yet.")
        saved = checkpoint.saved
        facts.update(epochs=saved.epochs, seconds={"training": saved.state.spent + saved.state.seconds})
        vocabulary = vocabulary_of(folder, checkpoint)
        matrix = vectors_of(checkpoint, saved.best, settings_of(folder, config), vocabulary.words)
    except CodeNotAllowed:
        return replace(subject, missing="The run uses code of its own, which a report does not run.")
    rows = np.ascontiguousarray(matrix[:])
    return replace(subject, vectors=Vectors(vocabulary.words, rows, "checkpoint", counts=vocabulary.counts))
