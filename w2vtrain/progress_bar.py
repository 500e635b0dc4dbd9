"""A progress bar for Python: a widget in notebooks, a line on standard error elsewhere.

The bar of the command line is in commands/console.py.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from w2vtrain.system.amounts import size_text
from w2vtrain.system.machine import memory_in_use
from w2vtrain.training.events import Events
from w2vtrain.training.state import Progress


def loss_text(loss: float | None) -> str:
    """Return a mean loss as text; None means that there was no example."""
    return "no example" if loss is None else f"loss {loss:.4f}"


@contextmanager
def progress_bar(events: Events) -> Iterator[Events]:
    """Yield events that also draw bars for reading the corpus and for training, and say what is compiled."""
    bars: dict[str, Any] = {}

    def shown(name: str, **style: Any) -> Any:
        if name not in bars:
            from tqdm.auto import tqdm

            close()
            bars[name] = tqdm(desc=name, **style)
        return bars[name]

    def draw(name: str, done: int, total: int | None, unit: str, facts: str) -> None:
        bar = shown(name, total=total, unit=unit, unit_scale=True, leave=name == "training")
        bar.total = total
        bar.set_postfix_str(facts, refresh=False)
        bar.update(done - bar.n)

    def compiling(sentence: str) -> None:
        shown(sentence, bar_format="{desc}", leave=False)

    def close() -> None:
        while bars:
            bars.popitem()[1].close()

    def reading(done: int, total: int | None, tokens: int) -> None:
        draw("reading", done, total, "B", f"{tokens:,} words")

    def training(at: Progress) -> None:
        loss = loss_text(at.loss / at.examples if at.examples else None)
        memory = size_text(memory_in_use())
        draw(
            "training", at.words, at.total_words, " words", f"epoch {at.epoch}, alpha {at.alpha:.5f}, {loss}, {memory}"
        )

    try:
        yield events.followed_by(Events(compiling=compiling, reading=reading, training=training))
    finally:
        close()
