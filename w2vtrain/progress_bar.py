"""Progress bars: those of the command line on a terminal, and those of Python, which are widgets in notebooks.

commands/console.py decides what the command line shows.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from w2vtrain.system.amounts import duration, size_text
from w2vtrain.system.machine import memory_in_use
from w2vtrain.system.spinner import SPINNER, columns, is_terminal, width_set
from w2vtrain.training.events import Events
from w2vtrain.training.state import Progress

BAR_CHARACTERS = 10
"""The least width of a bar; facts that leave less are not shown."""


def loss_text(loss: float | None) -> str:
    """Return a mean loss as text; None means that there was no example."""
    return "no example" if loss is None else f"loss {loss:.4f}"


def reading_facts(tokens: int) -> list[str]:
    """Return what a bar says about reading: nothing until the words of the first block are counted."""
    return [f"{tokens:,} words"] if tokens else []


def training_facts(at: Progress, loss: float | None) -> list[str]:
    """Return what a bar says about training, the most important first. loss: the mean since it was drawn last."""
    from tqdm import tqdm

    speed = at.words / max(1e-9, at.seconds)
    left = duration((at.total_words - at.words) / max(1e-9, speed))
    rates = f"{tqdm.format_sizeof(speed)} words/s", loss_text(loss), f"alpha {at.alpha:.5f}"
    return [f"ETA {left}", *rates, size_text(memory_in_use())]


class Bars:
    """The bar of the stage that a run is in. kind: its class, such as `tqdm.tqdm`; keep: the stages whose bars stay."""

    def __init__(self, kind: Any, keep: Sequence[str] = ()) -> None:
        self.kind, self.keep = kind, keep
        self._bar: Any = None
        self._stage = ""

    def draw(self, stage: str, text: str, done: int, total: int | None, facts: Sequence[str]) -> None:
        """Draw the bar of a stage, unless the spinner has its place, with the facts that fit beside it.

        total: None if it is unknown, which leaves out the bar itself.
        """
        if is_terminal() and SPINNER.busy():
            return
        if self._bar is None or self._stage != stage:
            self.close()
            # In a terminal of 0 columns, such as `ssh -tt` makes for a script, tqdm would show nothing.
            width = {"ncols": columns(), "nrows": 24} if is_terminal() and not width_set() else {"dynamic_ncols": True}
            self._bar = self.kind(total=total, leave=stage in self.keep, bar_format=text, **width)
            self._stage = stage
        head = f"{text} {{percentage:3.0f}}%|{{bar}}| " if total else f"{text}: "
        room = (self._bar.format_dict["ncols"] or sys.maxsize) - len(f"{text} 100%|| ") - BAR_CHARACTERS
        shown = list(facts)
        while len(", ".join(shown)) > room and len(shown) > 1:
            shown.pop()
        self._bar.bar_format = head + ", ".join(shown)
        self._bar.total, self._bar.n = total, done
        self._bar.refresh()

    def close(self) -> None:
        """Remove the bar, if there is one, or leave it if it stays."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


@contextmanager
def progress_bar(events: Events) -> Iterator[Events]:
    """Yield events that also draw bars for reading the corpus and for training, and say what is compiled.

    On a terminal, the spinner shows what is compiled.
    """
    from tqdm.auto import tqdm

    if sys.stderr is None or getattr(sys.stderr, "closed", False):  # as of programs without a terminal
        yield events
        return
    bars = Bars(tqdm, keep=["training"])

    def compiling(sentence: str) -> None:
        if not is_terminal():
            bars.draw(sentence, sentence, 0, None, [])

    def reading(done: int, total: int | None, tokens: int) -> None:
        if tokens or is_terminal():  # elsewhere, the place may be that of what is compiled
            bars.draw("reading", "reading", done, total, reading_facts(tokens))

    def training(at: Progress) -> None:
        loss = at.loss / at.examples if at.examples else None
        bars.draw("training", "training", at.words, at.total_words, [f"epoch {at.epoch}", *training_facts(at, loss)])

    try:
        yield events.followed_by(Events(compiling=compiling, reading=reading, training=training))
    finally:
        bars.close()
