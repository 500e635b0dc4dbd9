"""Read what a run did from its JSON log, its record, its model or its run folder, as curves.

All of these are foreign data: what does not have the types of this package's own files is an error that names the line.
"""

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from w2vtrain.errors import DataError
from w2vtrain.formats.model_file import MODEL, settings_and_record
from w2vtrain.formats.safetensors import open_safetensors
from w2vtrain.formats.sniff import sniff
from w2vtrain.system.json_text import json_object, typed
from w2vtrain.system.reading import open_input, read_lines
from w2vtrain.training import checkpoint_file
from w2vtrain.training.run_files import MAX_CONFIG_BYTES, run_config
from w2vtrain.training.run_status import is_run_folder

MAX_LINE_BYTES, MAX_LOG_BYTES = 1 << 20, 256 << 20
"""Longest line of a log, which has the record of 1,000 epochs, and largest log that is read, in bytes."""
REMEDY = ": name the JSON log that `w2vtrain fit` wrote, or FILE.json"

Size = Annotated[float, Meta(ge=0.0, le=1e100)]
Value = Annotated[float, Meta(ge=-1e100, le=1e100)] | None
"""A number, or None if it is not known: NaN is null in JSON. Larger ones could not be drawn."""


class RunSettings(Struct):
    """The settings of a run that its curves need."""

    epochs: Size | None = None
    alpha: Value = None
    min_alpha: Value = None
    seconds: Value = None
    objective: str = ""
    options: dict[str, Any] | None = None


class Scored(Struct):
    """What is known of the held-out text after an epoch."""

    perplexity: Value = None


class EpochFacts(Struct):
    """An epoch in a record or a log. elapsed: seconds of training since the run began, not in a log."""

    epoch: Size
    seconds: Size
    words: Size
    elapsed: Size | None = None
    loss: Value = None
    heldout: Scored | None = None


class Epochs(Struct):
    """The part of a run's record, or of the facts of a checkpoint, that the curves need."""

    epochs: list[EpochFacts]


class RunRecord(Struct):
    """The record of a run, FILE.json."""

    settings: RunSettings
    record: Epochs


class Start(Struct):
    """The first event of a log."""

    settings: RunSettings


class ProgressFacts(Struct):
    """A report of progress in a log."""

    epochs: Size
    words: Size
    words_per_second: Size
    loss: Value = None
    alpha: Value = None


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
    since the moment before; perplexity: of the held-out text; objective: what the loss is of, such as
    "neg, negative 5": its name and number of noise words, or "".
    """

    name: str
    loss: list[tuple[Moment, float]] = field(default_factory=list)
    rate: list[tuple[Moment, float]] = field(default_factory=list)
    speed: list[tuple[Moment, float]] = field(default_factory=list)
    perplexity: list[tuple[Moment, float]] = field(default_factory=list)
    objective: str = ""


def read_run(path: str | Path, name: str | None = None) -> RunLog:
    """Read a run from a log (`--log-json`), a record (FILE.json), a model or a run folder.

    name: of the run in pictures, by default the path. Raise InputMissing if the file cannot be opened, and DataError if
    it is none of these, or if nothing was learned yet.
    """
    run = RunLog(str(path) if name is None else name)
    if (values := _record_of(path)) is None:
        _add_log(run, log_events(path))
    else:
        known = typed(values, RunRecord, str(path), REMEDY)
        _add_epochs(run, known.settings, known.record.epochs)
    if not (run.loss or run.speed or run.perplexity):
        raise DataError(f"{path}: the run has not finished an epoch or logged any progress: wait if it is not over")
    return run


def _record_of(path: str | Path) -> dict[str, Any] | None:
    """Return settings and record from a run folder, a model or a record, as parsed from JSON; None for a log."""
    if is_run_folder(path):
        folder = Path(path)
        config = run_config(folder)
        newest = checkpoint_file.newest_saved(folder, config.run)
        if newest is None:
            raise DataError(f"{folder}: has no checkpoint yet: wait, or name the run's log")
        return {"settings": config.settings, "record": {"epochs": newest[1].epochs}}
    if Path(path).is_dir():
        raise DataError(f"{path}: this folder is not a run folder: it has no config.json")
    if sniff(path).kind == MODEL.name:
        with open_safetensors(path) as box:
            settings, record = settings_and_record(box)
        return {"settings": settings, "record": record}
    with open_input(path) as (file, _):
        head = file.read(5).removeprefix(BOM_UTF8)
        if head[:1] != b"{":
            raise DataError(f"{path}: is no log, record, model or run folder{REMEDY}")
        is_record = head[:2].strip() == b"{"  # one JSON object on many lines; a log has one on each line
        return json_object(head + file.read(MAX_CONFIG_BYTES), f"{path} is") if is_record else None


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
    settings = RunSettings()
    finished: list[EpochFacts] = []
    progress: list[tuple[Moment, float | None, float | None]] = []
    for where, facts in events:
        kind = facts["event"]
        if kind == "start":
            settings = typed(facts, Start, where, REMEDY).settings
        elif kind == "progress":
            report = typed(facts, ProgressFacts, where, REMEDY)
            words = report.words
            moment = Moment(report.epochs, words, words / max(report.words_per_second, 1e-9))
            while progress and progress[-1][0].words >= words:  # after the checkpoint that was resumed
                progress.pop()
            progress.append((moment, report.loss, report.alpha))
        elif kind == "epoch":
            last = typed(facts, EpochFacts, where)
            finished = [*(entry for entry in finished if entry.epoch < last.epoch), last]
        elif kind == "done" and facts.get("record") is not None:
            finished = typed(facts["record"], Epochs, where).epochs
    _add_epochs(run, settings, finished)
    _add_progress(run, settings, progress)


def _add_progress(run: RunLog, settings: RunSettings, progress: Sequence[tuple[Moment, Any, Any]]) -> None:
    """Take the curves from reports of progress instead, if there are more of them than epochs."""
    rates = [(Moment(0, 0, 0), settings.alpha), *((at, rate) for at, _, rate in progress)]
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
    noise = {name: count for name in ("negative", "samples") if (count := (settings.options or {}).get(name))}
    run.objective = ", ".join([settings.objective, *(f"{name} {count}" for name, count in noise.items())])
    words = elapsed = before = whole = 0.0
    moments = [Moment(0, 0, 0)]
    for entry in epochs:
        number, learned = entry.epoch, entry.words
        whole = max(whole, learned)  # the last epoch may be a part of one
        words = (number - 1) * whole if number != before + 1 else words  # a log may begin late, a record have gaps
        words, before = words + learned, number
        elapsed = entry.elapsed or elapsed + entry.seconds
        at = Moment(number, words, elapsed)
        moments.append(at)
        if entry.loss is not None:
            run.loss.append((at, entry.loss))
        if entry.seconds > 0 and learned > 0:
            run.speed.append((at, learned / entry.seconds))
        perplexity = entry.heldout.perplexity if entry.heldout else None
        if perplexity is not None and perplexity >= 1:
            run.perplexity.append((at, perplexity))
    first, last, planned = settings.alpha, settings.min_alpha, settings.epochs
    falls_evenly = settings.seconds is None
    if falls_evenly and epochs and planned and first is not None and last is not None:
        run.rate += [(at, first + (last - first) * min(1.0, at.epochs / planned)) for at in moments]
