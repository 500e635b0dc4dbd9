"""Describe a model in one line and, for notebooks, as a table in HTML.

The facts are those of the model's settings and record, which may come from any file: nothing is trusted, and a fact
that is missing or odd is left out. Nothing is computed from the weights.
"""

import math
from collections.abc import Mapping
from html import escape
from typing import Any

MAX_VALUE_CHARACTERS = 60
"""Characters of a name or an option that are shown."""


def summary(words: int, size: int, settings: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    """Return one line such as ``Model(253,854 words x 200, skipgram neg, 3 epochs)``."""
    names = " ".join(shown(settings[name]) for name in ("architecture", "objective") if settings.get(name))
    epochs = len(losses(record)) or settings.get("epochs")
    trained = f"{epochs:,} epoch{'s' * (epochs != 1)}" if isinstance(epochs, int) else ""
    return f"Model({', '.join(filter(None, [f'{words:,} words x {size:,}', names, trained]))})"


def html(title: str, settings: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    """Return a table of the main facts."""
    rows = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(text)}</td></tr>'
        for name, text in facts(settings, record)
    )
    return f"<div><strong>{escape(title)}</strong><table>{rows}</table></div>"


def facts(settings: Mapping[str, Any], record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the main facts as pairs of a name and a text."""
    by_epoch, options, values = losses(record), settings.get("options"), []
    if isinstance(options, Mapping):
        stated = [(name, value) for name, value in options.items() if value not in (-1, "")]  # -1: chosen automatically
        values = [f"{shown(name)} {shown(value)}" for name, value in stated[:10]]
    corpus, start = record.get("corpus"), record.get("init_from")
    rows = [
        ("architecture", settings.get("architecture")),
        ("objective", " ".join(filter(None, [shown(settings.get("objective") or ""), ", ".join(values)]))),
        ("window", settings.get("window")),
        ("learning rate", settings.get("alpha")),
        ("corpus", corpus.get("tokens") if isinstance(corpus, Mapping) else None),
        ("started from", start.get("name") if isinstance(start, Mapping) else None),
        ("best epoch", record.get("best_epoch")),
        ("loss", f"{by_epoch[0]:.4f} to {by_epoch[-1]:.4f} in {len(by_epoch):,} epochs" if by_epoch else None),
    ]
    units = {"corpus": " words"}
    return [(name, shown(value) + units.get(name, "")) for name, value in rows if value not in (None, "")]


def shown(value: Any) -> str:
    """Return a value as one line of at most MAX_VALUE_CHARACTERS; whole numbers have thousands separators."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        text = "".join(c if c.isprintable() else "?" for c in str(value)[: MAX_VALUE_CHARACTERS + 1])
        return text if len(text) <= MAX_VALUE_CHARACTERS else text[:MAX_VALUE_CHARACTERS] + "..."
    return f"{value:,}" if isinstance(value, int) and abs(value) < 10**18 else f"{float(value):g}"


def losses(record: Mapping[str, Any]) -> list[float]:
    """Return the mean loss of each epoch in a record, if all are numbers; otherwise none."""
    epochs = record.get("epochs")
    by_epoch = [epoch.get("loss") for epoch in epochs if isinstance(epoch, Mapping)] if isinstance(epochs, list) else []
    numbers = [float(loss) for loss in by_epoch if isinstance(loss, int | float) and math.isfinite(loss)]
    return numbers if len(numbers) == len(by_epoch) else []
