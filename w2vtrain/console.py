"""What a run says on standard error: a bar on a terminal, plain lines elsewhere, a summary at the end; and its log.

It measures and decides nothing: events come in, text goes out.
"""

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from .errors import OutputError, WriteError
from .files import STDOUT, disk_is_full
from .ids import Ids
from .model import Model
from .pipeline import Events
from .plan import Epoch, Progress, State
from .scoring import Score

LINE_EVERY = 30.0
"""Seconds between plain lines."""
LONG_EPOCH = 5.0
"""Seconds from which on the end of an epoch is a line of its own, and not only in the log and the record."""
BAR_EVERY = 0.1
"""Seconds between two states of the bar."""
BAR = "{desc} {percentage:3.0f}%|{bar}| {rate_fmt}, ETA {remaining}"

Log = Callable[[dict[str, Any]], None]


def duration(seconds: float) -> str:
    """3 s, 2:05 min or 1:02:03 h."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d} min" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02d}:{rest:02d} h"


def warn(text: str) -> None:
    """A line on stderr, also to who asked for quiet."""
    with suppress(OSError):  # no reader, or no room where stderr goes, is no reason to lose the training
        click.echo(text, err=True)


@contextmanager
def json_lines(path: str | None, patient: bool = False) -> Iterator[Log]:
    """Give what writes an object a line to a new file, seen at once by who follows it; `-` is standard output.

    Raises OutputError where the file cannot be created, WriteError where it cannot be written; patient: lines for which
    the disk has no room are lost, and that is said once.
    """
    if path is None:
        yield lambda _: None
        return
    try:
        file = sys.stdout if path == STDOUT else Path(path).open("w", encoding="utf-8")  # noqa: SIM115
    except OSError as error:
        raise OutputError(f"{path} cannot be created: {error.strerror}") from error

    def write(facts: dict[str, Any]) -> None:
        try:
            file.write(json.dumps(facts) + "\n")
            file.flush()
        except BrokenPipeError:  # no reader is no reason to lose the training
            pass
        except OSError as error:
            if not patient or not disk_is_full(error):
                raise WriteError(f"{path} cannot be written: {error.strerror}") from error
            if not lost:
                warn(f"warning     {path} cannot be written: {error.strerror}; lines are lost until there is room")
            lost.append(True)

    lost: list[bool] = []
    try:
        yield write
    finally:
        if file is not sys.stdout:
            with suppress(OSError):  # told already
                file.close()


class Interval:
    """What was learned since the last report, and whether the next is due after `every` seconds."""

    def __init__(self, every: float) -> None:
        self.every, self.last = every, time.monotonic()
        self.loss, self.examples = 0.0, 0

    def due(self) -> bool:
        """True once an interval."""
        now = time.monotonic()
        if now - self.last < self.every:
            return False
        self.last = now
        return True

    def add(self, at: Progress) -> None:
        """Take in an event."""
        self.loss, self.examples = self.loss + at.loss, self.examples + at.examples

    def mean(self) -> float:
        """Mean loss an example since the last call."""
        mean = self.loss / max(1, self.examples)
        self.loss, self.examples = 0.0, 0
        return mean


class Console:
    """Draws the events of one run; `quiet` leaves only errors. A log takes lines of JSON as often as text is due."""

    def __init__(self, quiet: bool = False, every: float = LINE_EVERY, log: Log | None = None) -> None:
        self.quiet, self.log = quiet, log
        self.terminal = sys.stderr.isatty()
        self.started = time.monotonic()
        self.shown = Interval(BAR_EVERY if self.terminal else every)
        self.logged = Interval(every)
        self.bar: Any = None
        self.patience: threading.Timer | None = None

    def say(self, text: str) -> None:
        """One line."""
        if not self.quiet:
            self._close_bar()
            warn(text)

    def events(self) -> Events:
        """The callbacks for `fit`."""
        return Events(self._reading, self._read, self._ready, self._training, self._epoch, self._scoring, self._resumed)

    def close(self) -> None:
        """Leave the terminal tidy, also after an error."""
        if self.patience:
            self.patience.cancel()
        self._close_bar()

    def _close_bar(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None

    def _draw(self, done: int, total: int | None, unit: str, text: str) -> None:
        if self.bar is None:
            from tqdm import tqdm

            bar = BAR if total else None
            self.bar = tqdm(total=total, unit=unit, unit_scale=True, leave=False, dynamic_ncols=True, bar_format=bar)
        self.bar.total = total
        self.bar.set_description_str(text, refresh=False)
        self.bar.update(done - self.bar.n)

    def _reading(self, done: int, total: int | None, tokens: int) -> None:
        if self.quiet or not self.shown.due():
            return
        if self.terminal:
            self._draw(done, total, "B", f"reading, {tokens:,} words")
        else:
            share = f" {done / total:.0%}" if total else ""
            self.say(f"reading{share}: {done:,} bytes, {tokens:,} words")

    def _read(self, ids: Ids, seconds: float) -> None:
        stats, size = ids.stats, len(ids.vocabulary)
        self.say(
            f"corpus      {stats.tokens:,} words in {stats.lines:,} lines, {stats.bytes_read:,} bytes,"
            f" read in {duration(seconds)}"
        )
        odd = {"tokens over 1,000 bytes skipped": stats.overlong, "tokens of invalid UTF-8 mended": stats.invalid}
        odd["NUL bytes taken for white space"] = stats.nul
        odd["sentences cut at --max-sentence"] = stats.cut
        odd["files grew meanwhile: read as far as they were at the start"] = stats.grown
        for what, count in odd.items():
            if count:
                self.say(f"            {count:,} {what}")
        share = ids.words / max(1, stats.tokens)
        self.say(f"vocabulary  {size:,} words, {share:.1%} of the text; it has {stats.types:,} different ones")
        self.patience = threading.Timer(1.0, self.say, ["kernel      compiling, once for this model and objective ..."])
        self.patience.daemon = True
        self.patience.start()

    def _ready(self, seconds: float) -> None:
        if self.patience:
            self.patience.cancel()
        if seconds > 1:
            self.say(f"kernel      ready after {duration(seconds)}")
        self.started = time.monotonic()

    def _training(self, at: Progress) -> None:
        speed = at.words / max(1e-9, time.monotonic() - self.started)
        left = (at.total_words - at.words) / max(1e-9, speed)
        end = at.words >= at.total_words
        self.shown.add(at)
        self.logged.add(at)
        if self.log and (self.logged.due() or end):
            self.log(
                {
                    "event": "progress",
                    "time": round(time.time(), 3),
                    "epoch": at.epoch + 1,
                    "words": at.words,
                    "total_words": at.total_words,
                    "words_per_second": round(speed),
                    "alpha": at.alpha,
                    "loss": self.logged.mean(),
                    "eta": round(left, 1),
                }
            )
        if self.quiet or not (self.shown.due() or (end and not self.terminal)):
            return
        loss = self.shown.mean()
        if self.terminal:
            text = f"epoch {at.epoch + 1}, alpha {at.alpha:.5f}, loss {loss:.4f}"
            self._draw(at.words, at.total_words, " words", text)
        else:
            self.say(
                f"epoch {at.epoch + 1} {at.words / at.total_words:6.1%}  {speed:,.0f} words/s  alpha {at.alpha:.5f}"
                f"  loss {loss:.4f}  ETA {duration(left)}"
            )

    def _epoch(self, epoch: Epoch, heldout: Score | None) -> None:
        score = f"; held-out perplexity {heldout.perplexity:,.2f}" if heldout else ""
        if self.log:
            about = {"epoch": epoch.epoch + 1, "loss": epoch.loss, "seconds": epoch.seconds}
            found = {"heldout": asdict(heldout)} if heldout else {}
            self.log({"event": "epoch", "time": round(time.time(), 3), **about, **found})
        if heldout or epoch.seconds >= LONG_EPOCH:
            self.say(f"epoch {epoch.epoch + 1} done, {duration(epoch.seconds)}: loss {epoch.loss:.4f}{score}")

    def _resumed(self, state: State) -> None:
        self.say(f"resumed     from a checkpoint, in epoch {state.epoch + 1} after {state.chunks:,} of its chunks")

    def _scoring(self, done: int, total: int) -> None:
        if self.quiet or not self.shown.due():
            return
        if self.terminal:
            self._draw(done, total, " chunks", "scoring")
        else:
            self.say(f"scoring {done / total:.0%}")

    def summary(self, model: Model, outputs: list[str], writing: float) -> None:
        """What was done, how long each phase took and where the result is."""
        record, settings = model.record, model.settings
        if self.log:
            about = {"settings": settings, "record": record, "outputs": outputs}
            self.log({"event": "done", "time": round(time.time(), 3), **about})
        unit = "pair" if settings["model"] == "skipgram" else "window"
        losses = " -> ".join(f"{epoch['loss']:.4f}" for epoch in _ends(record["epochs"]))
        seconds = {**record["seconds"], "writing": writing}
        total = sum(seconds.values())
        self.say(f"training    {record['words_per_second']:,.0f} words/s; loss {losses} (mean a {unit}, by epoch)")
        phases = ", ".join(f"{name} {duration(value)}" for name, value in seconds.items())
        self.say(f"time        {duration(total)}: {phases}; peak memory {record['peak_memory_bytes'] / 2**20:,.0f} MiB")
        for output in outputs:
            self.say(f"output      {output}")


def _ends(epochs: list[Any]) -> list[Any]:
    return epochs if len(epochs) < 2 else [epochs[0], epochs[-1]]
