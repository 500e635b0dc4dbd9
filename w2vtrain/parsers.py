"""Rows of the settings table and their parsers: each takes a text or a Python value and returns it in its type.

They know no setting by name: the table in config.py gives each row its parser.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

TRUTH = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
"""The words for truth values, in lower case."""


class Parser(Protocol):
    """What a row of the settings table needs."""

    @property
    def metavar(self) -> str:
        """What stands for the value in the help."""

    @property
    def words(self) -> tuple[str, ...]:
        """The words that a shell completes; other values may be valid, too."""

    def parse(self, value: Any) -> Any:
        """Return the value in its type; ValueError says what was expected."""


@dataclass(frozen=True)
class Row:
    """A row of the settings table: what parses a value, the help, further names of the option."""

    parser: Parser
    text: str
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Number:
    """A finite number from `low` to `high`, both included, or one of `words`."""

    low: float
    high: float | None = None
    words: tuple[str, ...] = ()
    metavar: ClassVar[str]
    kind: ClassVar[type]
    name: ClassVar[str]

    def parse(self, value: Any) -> Any:
        """Return an int or a float; numbers that would lose digits are refused."""
        if isinstance(value, str) and value in self.words:
            return value
        try:
            number = self.kind(value)
            is_exact = self.kind is float or float(value) == number
            if not isinstance(value, bool) and is_exact and math.isfinite(number) and self._is_within(number):
                return number
        except (TypeError, ValueError, OverflowError):
            pass
        bounds = f"of {self.low:,} or more" if self.high is None else f"from {self.low:,} to {self.high:,}"
        raise ValueError(f"expected {self.name} {bounds}")

    def _is_within(self, number: float) -> bool:
        return number >= self.low and (self.high is None or number <= self.high)


class Whole(Number):
    """An int."""

    metavar, kind, name = "N", int, "a whole number"


class Real(Number):
    """A float."""

    metavar, kind, name = "X", float, "a number"


@dataclass(frozen=True)
class Choice:
    """One of a few words."""

    words: tuple[str, ...]

    @property
    def metavar(self) -> str:
        """All words."""
        return "|".join(self.words)

    def parse(self, value: Any) -> str:
        """Return the word."""
        if not isinstance(value, str) or value not in self.words:
            raise ValueError(f"expected {' or '.join(self.words)}")
        return value


@dataclass(frozen=True)
class Text:
    """Any text: what it names is looked up later."""

    metavar: str = "NAME"
    words: tuple[str, ...] = ()

    def parse(self, value: Any) -> str:
        """Return the text."""
        if not isinstance(value, str):
            raise ValueError("expected text")
        return value


@dataclass(frozen=True)
class Truth:
    """A bool, or one of the words in TRUTH."""

    metavar: ClassVar[str] = ""
    words: ClassVar[tuple[str, ...]] = ()

    def parse(self, value: Any) -> bool:
        """Return the truth value."""
        if str(value).lower() not in TRUTH:
            raise ValueError("expected true or false")
        return TRUTH[str(value).lower()]


@dataclass(frozen=True)
class Table:
    """Names with values of any kind."""

    metavar: ClassVar[str] = "KEY=VALUE"
    words: ClassVar[tuple[str, ...]] = ()

    def parse(self, value: Any) -> dict[str, Any]:
        """Return a copy."""
        if not isinstance(value, Mapping):
            raise ValueError("expected a table")
        return dict(value)
