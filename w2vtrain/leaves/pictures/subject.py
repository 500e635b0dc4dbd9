"""Gather what a report is about: vectors, and what their run recorded.

The facts may come from any file. Nothing is changed.
"""

import json
import logging
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from w2vtrain.config import FIELDS
from w2vtrain.errors import DataError, InputMissing
from w2vtrain.formats.describe import describe
from w2vtrain.formats.vectors import Vectors, read_vectors
from w2vtrain.leaves.pictures.run_logs import RunLog, read_run
from w2vtrain.training.run_status import describe_record

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Subject:
    """What a report is about.

    path: as the user gave it; kind: of the file, for people; settings, record: of the run, empty if unknown; command:
    the `fit` command that repeats the run, or ""; run: its curves, if they are known.
    """

    path: str
    kind: str
    vectors: Vectors
    settings: dict[str, Any] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=dict)
    command: str = ""
    run: RunLog | None = None

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
    """Return what is known about a record, a model, or a file of vectors.

    log: the file of --log-json, if there is one. Raise InputMissing or DataError if a file cannot be used.
    """
    record = _record_in(path)
    file = record["vectors"] if record else path
    if record and not Path(file).exists():
        raise InputMissing(f"{file} does not exist: {path} is the record beside these vectors")
    facts, vectors = describe(file), read_vectors(file)
    if record is None and Path(f"{file}.json").is_file():
        record = _record_in(f"{file}.json")
        if record is None:
            logger.warning("%s.json is damaged or not the record of a run, so the report says nothing of it", file)
    source = record or facts
    kind = f"{facts['kind']}, with the record of its run" if record else str(facts["kind"])
    return Subject(
        path, kind, vectors, source.get("settings", {}), source.get("record", {}), command=source.get("repeat", ""),
        run=_curves(log, source["path"]),
    )  # fmt: skip


def _record_in(path: str) -> dict[str, Any] | None:
    """Return the description of the record beside vectors; None for any other file."""
    found = describe_record(path)
    return found if found and "vectors" in found else None


def _curves(log: str | None, path: str) -> RunLog | None:
    """Return the curves of a log, which must be one, or else of any other file that has some."""
    if log:
        return read_run(log)
    with suppress(DataError):
        return read_run(path)
    return None
