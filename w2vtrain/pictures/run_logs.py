"""Read what a run did from its JSON log, its record, its model or its run folder, as curves.

All of these are foreign data: what does not have the types of this package's own files is an error that names the line.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, NotRequired, TypedDict

from msgspec import Meta

from w2vtrain.errors import DataError
from w2vtrain.formats.model_file import MODEL, settings_and_record
from w2vtrain.formats.safetensors import open_safetensors
from w2vtrain.formats.sniff import sniff
from w2vtrain.system.json_text import json_object, typed
from w2vtrain.system.reading import open_input, read_lines
from w2vtrain.training import checkpoint
from w2vtrain.training.folder import stored
from w2vtrain.training.journal import MAX_CONFIG_BYTES
from w2vtrain.training.status import is_run_folder

MAX_LINE_BYTES, MAX_LOG_BYTES = 1 << 20, 256 << 20
"""Longest line of a log, which has the record of 1,000 epochs, and largest log that is read, in bytes."""
REMEDY = ": name the JSON log that `w2vtrain fit` wrote, or FILE.json"
MAX_REPORTS = 1000
"""Reports of progress that are drawn; more are averaged, because a picture is 400 pixels wide."""


Size = Annotated[float, Meta(ge=0.0, le=1e300)]
Value = Annotated[float, Meta(ge=-1e300, le=1e300)] | None
"""A number, or None if it is not known: NaN is null in JSON. Larger ones could not be drawn."""


class RunSettings(TypedDict):
    """The settings of a run that its curves need."""

    epochs: NotRequired[Size | None]
    alpha: NotRequired[Value]
    min_alpha: NotRequired[Value]
    seconds: NotRequired[Value]


class Scored(TypedDict):
    """What is known of the held-out text after an epoch."""

    perplexity: NotRequired[Value]


class EpochFacts(TypedDict):
    """An epoch in a record or a log. elapsed: seconds of training since the run began."""

    epoch: Size
    seconds: Size
    words: Size
    elapsed: NotRequired[Size | None]
    loss: NotRequired[Value]
    heldout: NotRequired[Scored | None]


class Epochs(TypedDict):
    """The part of a run's record, or of the facts of a checkpoint, that the curves need."""

    epochs: list[EpochFacts]


class RunRecord(TypedDict):
    """The record of a run, FILE.json."""

    settings: RunSettings
    record: Epochs


class Start(TypedDict):
    """The first event of a log."""

    settings: RunSettings


class Done(TypedDict):
    """The record in the last event of a log, whose epochs are checked with those of other events."""

    epochs: list[dict[str, Any]]


class ProgressFacts(TypedDict):
    """A report of progress in a log."""

    words: Size
    total_words: Size
    words_per_second: Size
    loss: NotRequired[Value]
    alpha: NotRequired[Value]


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
        folder = Path(path)
        settings, newest = stored(folder).description["settings"], checkpoint.newest_facts(folder)
        if newest is None:
            raise DataError(f"{folder}: has no checkpoint yet: wait, or name the run's log")
        _add_record(run, {"settings": settings, "record": newest[1]}, str(folder))
    elif Path(path).is_dir():
        raise DataError(f"{path}: this folder is not a run folder: it has no config.json")
    elif sniff(path).kind == MODEL.name:
        with open_safetensors(path) as box:
            settings, facts = settings_and_record(box)
        _add_record(run, {"settings": settings, "record": facts}, str(path))
    else:
        _add_json(run, path)
    if not (run.loss or run.speed or run.perplexity):
        raise DataError(f"{path}: the run has not finished an epoch or logged any progress yet: wait, or name another")
    return run


def _add_json(run: RunLog, path: str | Path) -> None:
    """Add a record, which is one JSON object on many lines, or a log, which has one on each line."""
    with open_input(path) as (file, _):
        head = file.read(2)
        if head[:1] != b"{":
            raise DataError(f"{path}: is no log, record, model or run folder{REMEDY}")
        if head.strip() == b"{":
            _add_record(run, json_object(head + file.read(MAX_CONFIG_BYTES), f"{path} is"), str(path))
            return
    _add_log(run, log_events(path))


def _add_record(run: RunLog, values: dict[str, Any], where: str) -> None:
    """Add the epochs of a record, parsed from JSON."""
    known = typed(values, RunRecord, where, REMEDY)
    _add_epochs(run, known["settings"], known["record"]["epochs"])


def log_events(path: str | Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the object of each line of a log; an incomplete last line is left out.

    Raise DataError, naming the line, if the file is no log of `fit`, and InputMissing if it cannot be opened.
    """
    for number, line in read_lines(path, MAX_LINE_BYTES, MAX_LOG_BYTES):
        if line.endswith(b"\n") and line.strip():
            where = f"{path}:{number}"
            facts = json_object(line, f"{where}:")
            if not isinstance(facts.get("event"), str):
                raise DataError(f"{where}: has no event{REMEDY}")
            yield where, facts


def _add_log(run: RunLog, events: Iterable[tuple[str, dict[str, Any]]]) -> None:
    """Add the events of a log: of progress and of epochs. A run that was resumed continues its curves."""
    settings: RunSettings = {}
    finished: list[tuple[str, dict[str, Any]]] = []
    per_epoch = 0.0
    progress: list[tuple[Moment, float | None, float | None]] = []
    for where, facts in events:
        kind = facts.get("event")
        if kind == "start":
            settings = typed(facts, Start, where, REMEDY)["settings"]
        elif kind == "progress":
            report = typed(facts, ProgressFacts, where)
            words, planned = report["words"], settings.get("epochs")
            if planned is None:
                raise DataError(f"{where}: no event `start` before it has the number of epochs{REMEDY}")
            per_epoch = per_epoch or max(1.0, report["total_words"] / max(1.0, planned))
            moment = Moment(words / per_epoch, words, words / max(report["words_per_second"], 1e-9))
            while progress and progress[-1][0].words >= words:  # after the checkpoint that was resumed
                progress.pop()
            progress.append((moment, report.get("loss"), report.get("alpha")))
        elif kind == "epoch":
            finished = [entry for entry in finished if entry[1].get("epoch") != facts.get("epoch")]
            finished.append((where, facts))
        elif kind == "done" and isinstance(facts.get("record"), dict):
            finished = [(where, entry) for entry in typed(facts["record"], Done, where)["epochs"]]
    _add_epochs(run, settings, [typed({"words": per_epoch, **facts}, EpochFacts, where) for where, facts in finished])
    _add_progress(run, settings, progress if len(progress) <= MAX_REPORTS else _averaged(progress))


def _averaged(progress: Sequence[tuple[Moment, Any, Any]]) -> list[tuple[Moment, float | None, Any]]:
    """Return at most MAX_REPORTS reports: each is the last of several, with their mean loss."""
    size, averaged = -(-len(progress) // MAX_REPORTS), []
    for first in range(0, len(progress), size):
        group = progress[first : first + size]
        losses = [loss for _, loss, _ in group if loss is not None]
        averaged.append((group[-1][0], fmean(losses) if losses else None, group[-1][2]))
    return averaged


def _add_progress(run: RunLog, settings: RunSettings, progress: Sequence[tuple[Moment, Any, Any]]) -> None:
    """Take the curves from reports of progress instead, if there are more of them than epochs."""
    rates = [(Moment(0, 0, 0), settings.get("alpha")), *((at, rate) for at, _, rate in progress)]
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


def _add_epochs(run: RunLog, settings: RunSettings, epochs: Sequence[EpochFacts]) -> None:
    """Add what is known of each epoch: a mean loss, a mean speed, the learning rate at its end, and a perplexity."""
    words = elapsed = before = 0.0
    moments = [Moment(0, 0, 0)]
    for entry in epochs:
        number, learned, seconds = entry["epoch"], entry["words"], entry["seconds"]
        words = (number - 1) * learned if number != before + 1 else words  # a log may begin late, a record have gaps
        words, before = words + learned, number
        elapsed = entry.get("elapsed") or elapsed + seconds
        at = Moment(number, words, elapsed)
        moments.append(at)
        if (loss := entry.get("loss")) is not None:
            run.loss.append((at, loss))
        if seconds > 0 and learned > 0:
            run.speed.append((at, learned / seconds))
        perplexity = (entry.get("heldout") or {}).get("perplexity")
        if perplexity is not None and perplexity > 0:
            run.perplexity.append((at, perplexity))
    first, last, planned = settings.get("alpha"), settings.get("min_alpha"), settings.get("epochs")
    falls_evenly = settings.get("seconds") is None
    if falls_evenly and epochs and planned and first is not None and last is not None:
        run.rate += [(at, first + (last - first) * min(1.0, at.epochs / planned)) for at in moments]
