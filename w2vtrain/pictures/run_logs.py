"""Read what a run did from its JSON log, its record, its model or its run folder, as curves.

All of these are foreign data: what does not have the types of this package's own files is an error that names the line.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from w2vtrain.errors import DataError
from w2vtrain.formats.model_file import MODEL, settings_and_record
from w2vtrain.formats.safetensors import open_safetensors
from w2vtrain.formats.sniff import sniff
from w2vtrain.system.json_text import json_object
from w2vtrain.system.reading import open_input, read_lines
from w2vtrain.training import checkpoint
from w2vtrain.training.folder import stored
from w2vtrain.training.journal import MAX_CONFIG_BYTES
from w2vtrain.training.status import is_run_folder

MAX_LINE, MAX_LOG_BYTES = 1 << 20, 256 << 20
"""Longest line of a log, which has the record of 1,000 epochs, and largest log that is read, in bytes."""
MOST_REPORTS = 1000
"""Reports of progress that are drawn; more are averaged, because a picture is 400 pixels wide."""


@dataclass(frozen=True)
class Moment:
    """A moment of training: epochs, words and seconds of training so far."""

    epochs: float
    words: float
    seconds: float


@dataclass
class RunLog:
    """The curves of one run; each is a list of (moment, value), in order.

    name: of the run; loss: mean per example since the moment before; rate: the learning rate; speed: words per second
    since the moment before; perplexity: of the held-out text.
    """

    name: str
    loss: list[tuple[Moment, float]] = field(default_factory=list)
    rate: list[tuple[Moment, float]] = field(default_factory=list)
    speed: list[tuple[Moment, float]] = field(default_factory=list)
    perplexity: list[tuple[Moment, float]] = field(default_factory=list)


def read_run(path: str | Path, name: str | None = None) -> RunLog:
    """Read a run from a log (`--log-json`), a record (FILE.json), a model or a run folder.

    name: of the run in pictures, by default the path. Raise InputMissing if the file cannot be opened, and DataError if
    it is none of these, or if nothing was learned yet.
    """
    run = RunLog(str(path) if name is None else name)
    if is_run_folder(path):
        _add_folder(run, Path(path))
    elif Path(path).is_dir():
        raise DataError(f"{path}: this folder is not a run folder: it has no config.json")
    elif sniff(path).kind == MODEL.name:
        with open_safetensors(path) as box:
            settings, record = settings_and_record(box)
        _add_epochs(run, settings, _list(record, "epochs", str(path)), str(path))
    else:
        _add_json(run, path)
    if not (run.loss or run.speed or run.perplexity):
        raise DataError(f"{path}: the run has not finished an epoch or logged any progress yet: wait, or name another")
    return run


def _add_folder(run: RunLog, folder: Path) -> None:
    """Add the epochs of the newest checkpoint."""
    settings = stored(folder).description["settings"]
    newest = checkpoint.newest_facts(folder)
    if newest is None:
        raise DataError(f"{folder}: has no checkpoint yet: wait, or name the run's log")
    _add_epochs(run, settings, _list(newest[1], "epochs", str(folder)), str(folder))


def _add_json(run: RunLog, path: str | Path) -> None:
    """Add a record, which is one JSON object on many lines, or a log, which has one on each line."""
    with open_input(path) as (file, _):
        head = file.read(2)
        if head[:1] != b"{":
            raise DataError(
                f"{path}: is no log, record, model or run folder: name the JSON log that `w2vtrain fit` wrote, or"
                " FILE.json"
            )
        if head.strip() == b"{":
            values = json_object(head + file.read(MAX_CONFIG_BYTES), f"{path} is")
            settings, record = (_object(values, name, str(path)) for name in ("settings", "record"))
            _add_epochs(run, settings, _list(record, "epochs", str(path)), str(path))
            return
    _add_log(run, log_events(path))


def log_events(path: str | Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the object of each line of a log; an incomplete last line is left out.

    Raise DataError, naming the line, if the file is no log of `fit`, and InputMissing if it cannot be opened.
    """
    for number, line in read_lines(path, MAX_LINE, MAX_LOG_BYTES):
        if line.endswith(b"\n") and line.strip():
            where = f"{path}:{number}"
            facts = json_object(line, f"{where}:")
            if not isinstance(facts.get("event"), str):
                raise DataError(f"{where}: has no event: name the JSON log that `w2vtrain fit` wrote, or FILE.json")
            yield where, facts


def _add_log(run: RunLog, events: Iterable[tuple[str, dict[str, Any]]]) -> None:
    """Add the events of a log: of progress and of epochs. A run that was resumed continues its curves."""
    settings: dict[str, Any] = {}
    epochs: list[Any] = []
    per_epoch, seconds, where = 0.0, 0.0, run.name
    progress: list[tuple[Moment, float | None, float | None]] = []
    for where, facts in events:
        kind = facts.get("event")
        if kind == "start":
            settings = _object(facts, "settings", where)
        elif kind == "progress":
            words, total, speed = (_number(facts, name, where) for name in ("words", "total_words", "words_per_second"))
            planned = max(1.0, _number(settings, "epochs", where))
            per_epoch = per_epoch or max(1.0, total / planned)
            moment = Moment(words / per_epoch, words, words / max(speed, 1e-9))
            while progress and progress[-1][0].words >= words:  # after the checkpoint that was resumed
                progress.pop()
            progress.append((moment, _known(facts, "loss", where), _known(facts, "alpha", where)))
        elif kind == "epoch":
            epochs = [entry for entry in epochs if entry["epoch"] != facts.get("epoch")]
            epochs.append({**facts, "epoch": _number(facts, "epoch", where)})
        elif kind == "done" and isinstance(facts.get("record"), dict):
            epochs = _list(facts["record"], "epochs", where)
    for entry in (entry for entry in epochs if isinstance(entry, dict)):  # others are refused below
        entry.setdefault("words", per_epoch)
        seconds += _number(entry, "seconds", where)
        entry.setdefault("elapsed", seconds)
    _add_epochs(run, settings, epochs, where)
    _add_progress(run, settings, progress if len(progress) <= MOST_REPORTS else _averaged(progress))


def _averaged(progress: Sequence[tuple[Moment, Any, Any]]) -> list[tuple[Moment, float | None, Any]]:
    """Return at most MOST_REPORTS reports: each is the last of several, with their mean loss."""
    size, averaged = -(-len(progress) // MOST_REPORTS), []
    for first in range(0, len(progress), size):
        group = progress[first : first + size]
        losses = [loss for _, loss, _ in group if loss is not None]
        averaged.append((group[-1][0], fmean(losses) if losses else None, group[-1][2]))
    return averaged


def _add_progress(run: RunLog, settings: dict[str, Any], progress: Sequence[tuple[Moment, Any, Any]]) -> None:
    """Take the curves from reports of progress instead, if there are more of them than epochs."""
    rates = [(Moment(0, 0, 0), _known(settings, "alpha", run.name)), *((at, rate) for at, _, rate in progress)]
    known = [(at, rate) for at, rate in rates if rate is not None]
    if len(known) > 2:
        run.rate = known
    if len(progress) <= len(run.loss):
        return
    run.loss = [(at, loss) for at, loss, _ in progress if loss is not None]
    run.speed, before = [], Moment(0, 0, 0)
    shortest = progress[-1][0].seconds / len(progress) / 4  # the last report may follow at once, too soon for a speed
    for at, _, _ in progress:
        if at.seconds > before.seconds + shortest:
            run.speed.append((at, (at.words - before.words) / (at.seconds - before.seconds)))
            before = at


def _add_epochs(run: RunLog, settings: dict[str, Any], epochs: Sequence[Any], where: str) -> None:
    """Add what is known of each epoch: a mean loss, a mean speed, the learning rate at its end, and a perplexity."""
    words = elapsed = before = 0.0
    planned, alpha, last = (_known(settings, name, where) for name in ("epochs", "alpha", "min_alpha"))
    falls_evenly = None not in (planned, alpha, last) and settings.get("seconds") is None
    if falls_evenly and epochs:
        run.rate.append((Moment(0, 0, 0), float(alpha or 0)))
    for entry in epochs:
        if not isinstance(entry, dict):
            raise DataError(f"{where}: an epoch is {entry!r:.40}, not an object")
        number, learned, seconds = (_number(entry, name, where) for name in ("epoch", "words", "seconds"))
        words = (number - 1) * learned if number != before + 1 else words  # a log may begin late, a record have gaps
        words, before = words + learned, number
        elapsed = _known(entry, "elapsed", where) or elapsed + seconds
        at = Moment(number, words, elapsed)
        if (loss := _known(entry, "loss", where)) is not None:
            run.loss.append((at, loss))
        if seconds > 0 and learned > 0:
            run.speed.append((at, learned / seconds))
        if falls_evenly:
            done = min(1.0, number / max(planned or 1, 1))
            run.rate.append((at, float(alpha or 0) + (float(last or 0) - float(alpha or 0)) * done))
        if entry.get("heldout") is not None:
            perplexity = _known(_object(entry, "heldout", where), "perplexity", where)
            if perplexity is not None and perplexity > 0:
                run.perplexity.append((at, perplexity))


def _object(values: dict[str, Any], name: str, where: str) -> dict[str, Any]:
    value = values.get(name)
    if not isinstance(value, dict):
        raise DataError(
            f"{where}: expected an object `{name}`: name the JSON log that `w2vtrain fit` wrote, or FILE.json"
        )
    return value


def _list(values: dict[str, Any], name: str, where: str) -> list[Any]:
    value = values.get(name)
    if not isinstance(value, list):
        raise DataError(f"{where}: expected a list `{name}`")
    return value


def _number(values: dict[str, Any], name: str, where: str) -> float:
    value = _known(values, name, where)
    if value is None or value < 0:
        raise DataError(f"{where}: expected a number `{name}`, got {values.get(name)!r:.40}")
    return value


def _known(values: dict[str, Any], name: str, where: str) -> float | None:
    """Return a number, or None if it is null or missing: NaN is null in JSON."""
    value = values.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e300:
        raise DataError(f"{where}: expected a number `{name}`, got {value!r:.40}")
    return float(value) if math.isfinite(value) else None
