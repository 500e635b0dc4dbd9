"""A chart: axes with ticks at round numbers, curves, and a legend, laid out as a drawing.

It knows nothing about runs or words.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from w2vtrain.pictures.drawing import Dot, Drawing, Label, Line, Point
from w2vtrain.pictures.labels import text_width

LEFT, RIGHT, TOP, BOTTOM = 62.0, 16.0, 40.0, 46.0
"""Margins around the area of the curves, in pixels."""
COLORS, DASHES = ("c1", "c2", "c3", "c4"), ((), (7.0, 4.0), (2.0, 3.0), (9.0, 3.0, 2.0, 3.0))
"""What distinguishes curves: a color and, after four of them, the next dash."""


class Axis(NamedTuple):
    """An axis from `low` to `high`, logarithmic if `log`, with its label, which names the unit."""

    label: str
    low: float
    high: float
    log: bool = False

    def fraction(self, value: float) -> float:
        """Return where a value is, from 0 at `low` to 1 at `high`."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self, most: int = 6) -> list[tuple[float, str]]:
        """Return at most about `most` round values on the axis, and their texts."""
        values = _log_ticks(self.low, self.high, most) if self.log else _ticks(self.low, self.high, most)
        return [(value, number(value)) for value in values]


def axis_of(label: str, values: Iterable[float], log: bool = False, zero: bool = False) -> Axis:
    """Return an axis that contains values, with some room; from zero if `zero`. Without any value, it is 0 to 1."""
    known = list(values)
    low, high = min(known, default=0.0), max(known, default=1.0)
    if log:
        low, high = (low, high) if high > low * 1.01 else (low / 1.5, high * 1.5)
        room = (high / low) ** 0.05
        return Axis(label, low / room, high * room, True)
    low = min(low, 0.0) if zero else low
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        low, high = low - (abs(low) or 1.0) * 0.1 * (not zero), high + (abs(high) or 1.0) * 0.1
    room = (high - low) * 0.06
    return Axis(label, low - room * (not zero or low < 0), high + room)


def number(value: float) -> str:
    """Return a number as the label of a tick: 0.025, 1,500, 20k, 3M, 1e-05."""
    for limit, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            scale = 1e3 if unit == "k" else limit
            return f"{value / scale:,.6g}{unit}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.6g}"


def _ticks(low: float, high: float, most: int) -> list[float]:
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(k * step, 12 - math.floor(math.log10(step))) for k in range(first, last + 1)]


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    decades = math.log10(high / low)
    if decades < 0.7:
        return [value for value in _ticks(low, high, most) if value > 0]
    factors = (1.0, 2.0, 5.0) if decades < 2.2 else (1.0,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = max(1, math.ceil(decades / most))
    values = [factor * 10.0**power for power in powers if power % every == 0 for factor in factors]
    return [value for value in values if low * 0.999 <= value <= high * 1.001]


class Chart:
    """A drawing with axes, to which curves are added. title: above the axes, with the unit of y."""

    def __init__(self, title: str, x: Axis, y: Axis, width: float, height: float) -> None:
        self.x, self.y = x, y
        self.drawing = Drawing(width, height, title)
        self.left, self.right, self.top, self.bottom = LEFT, width - RIGHT, TOP, height - BOTTOM
        self._axes(title)

    def at(self, x: float, y: float) -> Point:
        """Return the pixels of a point."""
        return (
            self.left + (self.right - self.left) * self.x.fraction(x),
            self.bottom - (self.bottom - self.top) * self.y.fraction(y),
        )

    def _axes(self, title: str) -> None:
        put = self.drawing.add
        put(Label(self.left, 20, shortened(title, (self.right - self.left) / 1.1, 14), 14, bold=True))
        room = int((self.right - self.left) // 75)
        for value, text in self.x.ticks(room):
            x = self.at(value, self.y.low)[0]
            put(
                Line([(x, self.top), (x, self.bottom)], "line"), Label(x, self.bottom + 17, text, 12, "muted", "middle")
            )
        for value, text in self.y.ticks(8 if self.y.log else 5):
            y = self.at(self.x.low, value)[1]
            put(Line([(self.left, y), (self.right, y)], "line"), Label(self.left - 7, y + 4, text, 12, "muted", "end"))
        put(Line([(self.left, self.top), (self.left, self.bottom), (self.right, self.bottom)], "muted"))
        middle = (self.left + self.right) / 2
        put(Label(middle, self.bottom + 37, self.x.label, 12, "muted", "middle"))

    def curve(self, points: Sequence[Point], color: str, dash: tuple[float, ...] = (), width: float = 2.0) -> None:
        """Add a curve through points (x, y)."""
        if len(points) > 1:
            self.drawing.add(Line([self.at(x, y) for x, y in points], color, width, dash))

    def dots(self, points: Sequence[Point], color: str, radius: float = 3.0) -> None:
        """Add a dot at each point (x, y)."""
        self.drawing.add(*(Dot(*self.at(x, y), radius, color) for x, y in points))


def look(index: int) -> tuple[str, tuple[float, ...]]:
    """Return the color and the dash of a curve by its number, from 0."""
    return COLORS[index % len(COLORS)], DASHES[index // len(COLORS) % len(DASHES)]


def legend(entries: Sequence[tuple[str, str, tuple[float, ...]]], width: float) -> Drawing:
    """Return a legend of (name, color, dash), in as many lines as they need in `width` pixels."""
    x, y, items = 0.0, 16.0, Drawing(width, 26, "legend")
    for name, color, dash in entries:
        short = shortened(name, width - 40, 12.5)
        needed = 34 + text_width(short, 12.5) + 22
        if x and x + needed - 22 > width:
            x, y = 0.0, y + 20
        items.add(Line([(x, y - 4), (x + 28, y - 4)], color, 2.5, dash), Label(x + 34, y, short, 12.5))
        x += needed
    items.height = y + 10
    return items


def shortened(text: str, width: float, size: float) -> str:
    """Return a text that is at most `width` pixels wide, if necessary without its middle."""
    if text_width(text, size) <= width:
        return text
    kept = len(text)
    while kept > 2 and text_width(text[: kept // 2] + "…" + text[-(kept // 2) :], size) > width:
        kept -= 1
    return text[: kept // 2] + "…" + text[-(kept // 2) :]
