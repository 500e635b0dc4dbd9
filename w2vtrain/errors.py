"""The exceptions that users see: one class per kind of problem, each with its exit code.

Nothing here prints or exits: the command line turns an exception into one line and an exit code. The codes follow
BSD's sysexits.h where one fits, and are part of the interface.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

EXIT_CODES = {
    0: ("success", ""),
    1: ("score below --fail-under, or failed check", ""),
    2: ("invalid command line", ""),
    65: ("invalid input data", "The message names the file and the line or byte."),
    66: ("input missing or unreadable", ""),
    70: ("internal error", "A bug, or an error in user code."),
    71: (
        "out of memory, or another operating system error",
        "Reported before training if possible; limits of `ulimit -v` and cgroups count.",
    ),
    73: ("output exists, cannot be created or is in use", "`--force` overwrites."),
    74: (
        "disk full, write error, or storage that does not answer",
        "The file keeps its previous content; nothing has to be removed, and the same command can be tried again.",
    ),
    75: (
        "stopped by a signal",
        "Run the same command again: a saved run continues, as with `w2vtrain resume`.",
    ),
    76: ("training diverged", "A loss or a weight is NaN or infinite; the message names the learning rate."),
    78: ("invalid setting, or user code not named on the command line", "All invalid settings are named at once."),
    130: ("interrupted", "A second Ctrl-C, one before the run folder is ready, or one outside of `fit` and `resume`."),
}
"""The exit codes of all commands: a summary and a detail of each."""


def shown(value: Any) -> str:
    """Return a value's repr for a message, cut to 80 characters."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print an integer of more than 4,300 digits
        return "a huge number"
    return text if len(text) <= 80 else f"{text[:80]}..."


_in_shell = False
IN_PYTHON = {
    "cache_dir": "the environment variable TMPDIR",
    "debug": "error.__cause__",
    "init_from": "model",
    "read_vocab": "vocabulary",
}
"""What Python has in place of options that have no parameter of the same name."""


@contextmanager
def shell_spelling() -> Iterator[None]:
    """Let messages name settings as options of the command line while a block runs: see `spelled`."""
    global _in_shell
    before, _in_shell = _in_shell, True
    try:
        yield
    finally:
        _in_shell = before


def in_shell() -> bool:
    """Return whether messages name options of the command line."""
    return _in_shell


def spelled(name: str, *values: Any) -> str:
    """Return how the reader of a message writes a setting: `--min-count 3` in the shell, `min_count=3` in Python.

    name: the setting's name, with underscores; values: alternatives, if the message suggests any. A bool is a flag.
    """
    if not _in_shell:
        return IN_PYTHON.get(name, name) + f"={' or '.join(map(repr, values))}" * bool(values)
    flag = name.replace("_", "-")
    if values and isinstance(values[0], bool):
        return f"--{flag}" if values[0] else f"--no-{flag}"
    return f"--{flag} {' or '.join(map(str, values))}".rstrip()


def label(name: str) -> str:
    """Return the name of a setting at the start of a message about its value: `min-count`, or `min_count` in Python."""
    return spelled(name).removeprefix("--")


class W2VError(Exception):
    """Base class of all errors that w2vtrain raises on purpose. Exit code 70, or that of the subclass.

    The message is one line that says what is wrong, where, and what to do.

    Attributes
    ----------
    exit_code : int
        The exit code of the command line for this class of errors.

    Examples
    --------
    >>> import w2vtrain
    >>> try:
    ...     w2vtrain.train("missing.txt")
    ... except w2vtrain.W2VError as error:
    ...     print(error.exit_code)
    66

    """

    exit_code = 70


class UsageError(W2VError):
    """Raised for an invalid command line or function argument. Exit code 2."""

    exit_code = 2


class DataError(W2VError):
    """Raised for input that was read and is invalid; the message names the file and the line or byte. Exit code 65."""

    exit_code = 65


class TokenError(DataError, TypeError):
    """Raised for text from Python of the wrong type, such as sentences that are not lists of words. Exit code 65."""


class NoSentences(DataError, RuntimeError):
    """Raised for an iterable without sentences; also a RuntimeError, which gensim raises."""


class NoKnownWords(DataError):
    """Raised if a text has none of the words of a vocabulary."""


class UndefinedScore(DataError):
    """Raised if an evaluation has no score, for instance because all similarities are equal."""


class NothingLearned(DataError):
    """Raised if training found no example: no word has a context word."""


class CorpusChanged(DataError):
    """Raised when a run resumes and its corpus is not the one it began with. Exit code 65."""


class InputMissing(W2VError):
    """Raised for input that does not exist, or cannot be opened or read. Exit code 66."""

    exit_code = 66


class ResourceError(W2VError):
    """Raised when there is not enough memory. Exit code 71, also used for other errors of the operating system."""

    exit_code = 71


class OutputError(W2VError):
    """Raised for output that exists already, cannot be created, or is in use by another run. Exit code 73."""

    exit_code = 73


class WriteError(W2VError):
    """Raised when writing an output fails, for example because the disk is full. Exit code 74."""

    exit_code = 74


class ReadError(W2VError):
    """Raised when a file of a run exists but cannot be read at the moment, as on a network disk. Exit code 74."""

    exit_code = 74


class Stopped(W2VError):
    """Raised when a signal stops a run, which is saved if training has begun: the same command continues. Code 75."""

    exit_code = 75


class Diverged(W2VError):
    """Raised when training produces NaN or infinite values. Exit code 76."""

    exit_code = 76


class ConfigError(W2VError):
    """Raised for settings that are unknown, out of range, or contradict one another. Exit code 78."""

    exit_code = 78


class Disconnected(Stopped):
    """Raised when another rank of a distributed run has ended or does not answer: the same command resumes. Exit 75."""


class Relayed(W2VError):
    """Raised for an error of another process, with its exit code; the message is empty if it is reported there."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.exit_code = code


class BelowThreshold(W2VError):
    """Raised when a score is below --fail-under, or when a check fails. Exit code 1."""

    exit_code = 1


# The Python interface that follows gensim's raises the classes below, which are also the built-in errors that gensim's
# users catch.


class MissingKey(DataError, KeyError):
    """Raised for a key that has no vector; also a KeyError.

    hint: returns the end of the message. It is called only if the message is shown, because a search for similar words
    takes long, and programs that catch a KeyError for each unknown word do not look at it.
    """

    def __init__(self, message: str, hint: Callable[[], str] | None = None) -> None:
        super().__init__(message)
        self._hint = hint

    def __str__(self) -> str:
        return f"{self.args[0]}{self._hint() if self._hint else ''}"

    def __reduce__(self) -> tuple[type["MissingKey"], tuple[str]]:
        return type(self), (str(self),)


class MissingDocuments(DataError, AttributeError):
    """Raised for the vectors of documents of a model that has none; also an AttributeError, as `hasattr` expects."""


class InvalidValue(UsageError, ValueError):
    """Raised for a function argument of a wrong value; also a ValueError."""


class InvalidType(UsageError, TypeError):
    """Raised for a function argument of a wrong type; also a TypeError."""


class MalformedFile(DataError, ValueError):
    """Raised for the content of a file that is invalid; also a ValueError."""


class TruncatedFile(DataError, EOFError):
    """Raised for a file that ends too early; also an EOFError."""


class MissingFile(InputMissing, FileNotFoundError):
    """Raised for a file that cannot be opened; also a FileNotFoundError."""


def check_all(*checks: Callable[[], Any]) -> list[Any]:
    """Run all checks, and return their results. Raise the first W2VError, with the messages of the others after it."""
    results: list[Any] = []
    errors: list[W2VError] = []
    for check in checks:
        try:
            results.append(check())
        except W2VError as error:
            errors.append(error)
    if len(errors) > 1:
        errors[0].args = ("; ".join(dict.fromkeys(map(str, errors))),)
    if errors:
        raise errors[0]
    return results


def reason(error: Exception) -> str:
    """Return an error's message; for an OSError, without the error number and the file name."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
