"""The errors that users meet, one class a kind of trouble, each with its exit code.

Nothing here prints or exits: the command line turns an error into one line and a code.
The codes are those of BSD's sysexits.h where one fits, and are part of the interface.
"""

from typing import Any


def shown(value: Any) -> str:
    """A value of unknown size as it may stand in a message."""
    try:
        text = repr(value)
    except ValueError:  # Python prints no whole number of more than 4,300 digits
        return "a huge number"
    return text if len(text) <= 80 else f"{text[:80]}..."


class W2VError(Exception):
    """Base of every error with a message for the user: what, where, what to do."""

    exit_code = 70


class UsageError(W2VError):
    """A command line or an argument that makes no sense."""

    exit_code = 2


class DataError(W2VError):
    """Input that was read and is wrong: the message names the file and the line or byte."""

    exit_code = 65


class CorpusChanged(DataError):
    """Text that is not the one with which a run began."""


class InputMissing(W2VError):
    """Input that is not there or cannot be opened."""

    exit_code = 66


class ResourceError(W2VError):
    """Not enough memory, or another refusal of the operating system."""

    exit_code = 71


class OutputError(W2VError):
    """Output that cannot be created, or that exists already."""

    exit_code = 73


class WriteError(W2VError):
    """Output that could be opened but not written: a full disk, say."""

    exit_code = 74


class Stopped(W2VError):
    """A signal asked for it: the run is saved, and the same command goes on."""

    exit_code = 75


class Diverged(W2VError):
    """Training left the finite numbers."""

    exit_code = 76


class ConfigError(W2VError):
    """Settings that are unknown, out of range or contradict one another."""

    exit_code = 78


class Stalled(W2VError):
    """A thread that says nothing any more; the command line shows where all threads stand."""


class BelowThreshold(W2VError):
    """An evaluation that stayed below --fail-under."""

    exit_code = 1


def reason(error: Exception) -> str:
    """Return what an error says; an OSError's text leaves out its number and its file name."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
