"""What a run says on standard error: a bar on a terminal, plain lines elsewhere, a summary at the end.

It measures and decides nothing: events come in, text goes out.
"""

import sys
import threading
import time
from typing import Any

import click

from .ids import Ids
from .model import Model
from .pipeline import Events
from .trainer import Progress

LINE_EVERY = 30.0
"""Seconds between plain lines."""


def duration(seconds: float) -> str:
    """3 s, 2:05 min or 1:02:03 h."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d} min" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02d}:{rest:02d} h"


class Console:
    """Draws the events of one run; `quiet` leaves only errors."""

    def __init__(self, quiet: bool = False, every: float = LINE_EVERY) -> None:
        self.quiet, self.every = quiet, every
        self.terminal = sys.stderr.isatty()
        self.started = self.last = time.monotonic()
        self.loss, self.examples = 0.0, 0
        self.bar: Any = None
        self.patience: threading.Timer | None = None

    def say(self, text: str) -> None:
        """One line."""
        if not self.quiet:
            self._close_bar()
            click.echo(text, err=True)

    def events(self) -> Events:
        """The callbacks for `fit`."""
        return Events(self._reading, self._read, self._ready, self._training)

    def close(self) -> None:
        """Leave the terminal tidy, also after an error."""
        if self.patience:
            self.patience.cancel()
        self._close_bar()

    def _close_bar(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None

    def _due(self) -> bool:
        now = time.monotonic()
        if self.quiet or now - self.last < (0.1 if self.terminal else self.every):
            return False
        self.last = now
        return True

    def _draw(self, done: int, total: int | None, unit: str, text: str) -> None:
        if self.bar is None:
            from tqdm import tqdm

            self.bar = tqdm(total=total, unit=unit, unit_scale=True, leave=False, dynamic_ncols=True)
        self.bar.set_description_str(text, refresh=False)
        self.bar.update(done - self.bar.n)

    def _reading(self, done: int, total: int | None, tokens: int) -> None:
        if not self._due():
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
        odd["sentences cut at --max-sentence"] = stats.cut
        for what, count in odd.items():
            if count:
                self.say(f"            {count:,} {what}")
        rare = f", {stats.types:,} before --min-count" if stats.types != size else ""
        share = ids.words / max(1, stats.tokens)
        self.say(f"vocabulary  {size:,} words{rare}; {share:.1%} of the text")
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
        self.loss, self.examples = self.loss + at.loss, self.examples + at.examples
        last = at.words >= at.total_words
        if not self._due() and not (last and not self.terminal and not self.quiet):
            return
        elapsed = max(1e-9, time.monotonic() - self.started)
        speed, loss = at.words / elapsed, self.loss / max(1, self.examples)
        self.loss, self.examples = 0.0, 0
        if self.terminal:
            text = f"epoch {at.epoch + 1}, alpha {at.alpha:.5f}, loss {loss:.4f}"
            self._draw(at.words, at.total_words, " words", text)
        else:
            left = duration((at.total_words - at.words) / speed)
            self.say(
                f"epoch {at.epoch + 1} {at.words / at.total_words:6.1%}  {speed:,.0f} words/s  alpha {at.alpha:.5f}"
                f"  loss {loss:.4f}  ETA {left}"
            )

    def summary(self, model: Model, outputs: list[str], writing: float) -> None:
        """What was done, how long each phase took and where the result is."""
        record, settings = model.record, model.settings
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
