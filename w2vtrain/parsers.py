"""The rows of the settings table, and the parsers that convert a text or a Python value to a setting's type.

This module knows no setting by name: the table in config.py gives each row its parser.
"""

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

TRUTH = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
"""The words accepted for true and false, in lower case."""
MAX_SECONDS = 1e9
"""Longest time that an option accepts, in seconds: 32 years. Systems cannot wait much longer."""
MAX_LEARNING_RATE = 1e6
"""Largest learning rate that an option accepts. Training diverges long before."""
MAX_WORDS = 10**9
"""Largest number of words that an option accepts; word ids have 31 bits."""

NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
"""A number as text. Python would also read `1_000`, spaces around a number, and the digits of other scripts."""


class Parser:
    """The parser of a row of the settings table.

    metavar: placeholder of the value in the help; words: those that the shell completes; others may also be valid.
    """

    metavar: ClassVar[str] = ""
    words: tuple[str, ...] = ()

    def parse(self, value: Any) -> Any:
        """Return the value converted to its type; ValueError says what was expected."""
        raise NotImplementedError


@dataclass(frozen=True)
class Row:
    """A row of the settings table: the section of the help, the parser, the help text, and other names."""

    section: str
    parser: Parser
    text: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Number(Parser):
    """A finite number from `low` to `high` inclusive, or one of `words`."""

    low: float
    high: float
    words: tuple[str, ...] = ()
    kind: ClassVar[type]
    name: ClassVar[str]

    def parse(self, value: Any) -> Any:
        """Return an int or a float; ValueError if it is out of range or the conversion would lose digits."""
        if isinstance(value, str) and value in self.words:
            return value
        try:
            number = self.kind(ascii_number(value))
            is_exact = self.kind is float or isinstance(value, str) or value == number
            if not isinstance(value, bool) and is_exact and self.low <= number <= self.high:  # NaN fails comparisons
                return number + 0  # turns -0.0 into 0.0
        except (TypeError, ValueError, OverflowError):
            pass
        bounds = f"from {self.low:,} to {self.high:,}"
        raise ValueError(" or ".join((f"expected {self.name} {bounds}", *self.words)))


def ascii_number(value: Any) -> Any:
    """Return a value that may be a number; ValueError for a text that is not one."""
    if isinstance(value, str) and not NUMBER.fullmatch(value):
        raise ValueError("expected a number")
    return value


def file_number(text: str) -> float | None:
    """Return the finite number that a text in a file is, or None for anything else."""
    number = float(text) if NUMBER.fullmatch(text) else math.inf
    return number if math.isfinite(number) else None


class Whole(Number):
    """An integer."""

    metavar, kind, name = "N", int, "a whole number"


class Real(Number):
    """A floating-point number."""

    metavar, kind, name = "X", float, "a number"


@dataclass(frozen=True)
class Choice(Parser):
    """One of a fixed set of words."""

    words: tuple[str, ...]

    @property
    def metavar(self) -> str:  # type: ignore[override]
        """All words, separated by bars."""
        return "|".join(self.words)

    def parse(self, value: Any) -> str:
        """Return the word; ValueError if it is not in the set."""
        if not isinstance(value, str) or value not in self.words:
            raise ValueError(f"expected {' or '.join(self.words)}")
        return value


@dataclass(frozen=True)
class Text(Parser):
    """Any text; if it is a name, it is looked up later."""

    metavar = "NAME"
    words: tuple[str, ...] = ()

    def parse(self, value: Any) -> str:
        """Return the text; ValueError if the value is not a str."""
        if not isinstance(value, str):
            raise ValueError("expected text")
        return value


class FileName(Parser):
    """The name of a file, or a path; the file is opened later."""

    metavar = "FILE"

    def parse(self, value: Any) -> str:
        """Return the name; ValueError if the value is neither a str nor a path, or is empty."""
        name = os.fspath(value) if isinstance(value, os.PathLike) else value
        if not isinstance(name, str) or not name or "\0" in name:
            raise ValueError("expected the name of a file")
        return name


class Truth(Parser):
    """A bool, or one of the words in TRUTH."""

    def parse(self, value: Any) -> bool:
        """Return the bool; ValueError for any other word or value."""
        if str(value).lower() not in TRUTH:
            raise ValueError("expected true or false")
        return TRUTH[str(value).lower()]


class Table(Parser):
    """A dictionary with values of any type."""

    metavar = "KEY=VALUE"

    def parse(self, value: Any) -> dict[str, Any]:
        """Return a copy; ValueError if the value is not a mapping."""
        if not isinstance(value, Mapping):
            raise ValueError("expected a table")
        return dict(value)
