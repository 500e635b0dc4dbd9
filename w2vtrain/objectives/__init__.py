"""The output objectives: one module each, found by looking into this folder.

The registry knows none of them by name. An objective for the window engine is a NamedTuple of arrays; its methods
`candidates` and `errors` are compiled into the kernel by the type of the tuple, so that the hot loop has no branch:

    candidates(self, sentence, position, rng, rows, labels, shifts) -> m
        the output rows (m,) int32 that the target sentence[position] is scored against, their labels (m,) float32 and,
        where the objective subtracts something of each logit, that (m,) float32; it starts as zeros
        (rng[0] is the stream's state; rng[1] is a cell for the objective's own use within a chunk)
    errors(self, logits, n, m, context, width, rows, labels, shifts, lr) -> loss
        in place, logits (n, m) -> lr * coefficient, where the coefficient of row r is -dL/ds_r; the summed loss

`context` (width,) int32 holds the context words: one a line of logits for skip-gram, all of them for CBOW's one line.
Four more may be left out: `prefetch_from(rows, m)`, from which candidate on rows are likely not to be in cache (0);
`distinct()`, whether no row ever stands twice among a target's candidates (False); `in_turn()`, whether skip-gram's
context words are learned one after the other rather than all from the old values (False); `hot_rows(rows)`, called
from Python, a range of output rows, the busiest first, of which each thread shall have a copy (none).

What is used outside the kernel: `build(problem, **options)`, whose keyword defaults are the options that the command
line offers; `output_rows(vocabulary size)`; `candidate_limit`, the most candidates a target can have; `arrays()`, what
the model file keeps; `learned()`, where `errors` changes arrays of its own; `scorer(problem, options, output, arrays)`,
which gives what scores targets with a trained model (see perplexity.py), and `initial_bias(problem)`, where biases do
not start from 0.

An objective for the block engine is a class with engine = "blocks" and these:

    step(H, targets, lr, work) -> (loss, dH)
        learn a block: hidden vectors H (B, width), targets (B,); parameters change by lr times minus the slope of the
        summed loss; dH (B, width) is minus its slope by H. `work` (dense.Workspace) brings chance and memory
    parameters(), state: dicts of arrays, what is learned and what learning adds up beside (accumulators)
    output, arrays(), scorer(): as above; output (rows, width) are the rows for the model file, none if it has none

Beside the class a module has `OBJECTIVE`, the class, and `DEFAULTS`, by model the rate, the shuffling and the examples
a block that were measured best. Options are checked before a corpus is read and when a model is loaded, by `build` for
a vocabulary of two words. A class whose `build` would take memory or read files for them has instead:

    check(options)        raises ConfigError; opens no file and takes no memory: models may come from anywhere
    check_files(options)  reads the files that options name; may be left out
    rowless               True where there are no output rows; may be left out
"""

import importlib
import importlib.util
import inspect
import pkgutil
import sys
import zlib
from collections.abc import Callable
from functools import cache, partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np

from w2vtrain.config import Settings
from w2vtrain.errors import ConfigError, shown
from w2vtrain.probability.problem import Problem

GROUP = "w2vtrain.objectives"
"""The group of entry points by which other packages bring objectives: name = "package.module"."""

WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


@cache
def _loaders() -> dict[str, Callable[[], Any]]:
    """Name -> what imports the module: a run needs one of them."""
    names = [info.name for info in pkgutil.iter_modules(__path__)]
    ours = {name.replace("_", "-"): partial(importlib.import_module, f"{__name__}.{name}") for name in names}
    return {entry.name: entry.load for entry in entry_points(group=GROUP)} | ours


def objectives() -> dict[str, Any]:
    """Name -> class, of every objective there is: all are imported."""
    return {name: load().OBJECTIVE for name, load in _loaders().items()}


def engine_of(name: str) -> str:
    """Which engine an objective is made for, "windows" or "blocks"."""
    return getattr(objective_class(name), "engine", "windows")


def objective_class(name: str) -> Any:
    """The class of an objective; ConfigError where there is none of that name."""
    return _module(name).OBJECTIVE


def objective_defaults(name: str) -> dict[str, dict[str, Any]]:
    """By model ("skipgram", "cbow", "cbow-corrected", "weighted") the settings measured best: alpha, shuffle, block."""
    defaults = _module(name).DEFAULTS
    return {"weighted": defaults["cbow-corrected"], **defaults}


class CodeNotAllowed(ConfigError):
    """An objective that is a file or a module, and that nobody named who may run code."""


_allowed: set[str] = set()


def allow_code(name: str | None) -> None:
    """Let an objective that is a file or a module run.

    Settings, models and run folders may come from anywhere, and naming such an objective runs its code. So only a
    name that the user gave, on the command line or as an argument in Python, comes here.
    """
    if name and name not in _loaders():
        _allowed.add(_place(name))


def require_allowed(name: str, folder: str | Path = ".") -> None:
    """Raise CodeNotAllowed for a file, relative to `folder`, or a module that `allow_code` was not told of."""
    if name not in _loaders() and _is_code(name) and _place(name, folder) not in _allowed:
        raise CodeNotAllowed(f"objective {name} is code: it runs only if the command line says --objective {name}")


def _is_code(name: str) -> bool:
    return name.endswith(".py") or "." in name


def _place(name: str, folder: str | Path = ".") -> str:
    """Return the absolute path of a file; of a module, its name."""
    return str(Path(folder, name).resolve()) if name.endswith(".py") and "\0" not in name else name


def _module(name: str) -> Any:
    """The module of an objective: registered, or a file, or a module that Python finds."""
    if name in _loaders():
        return _imported(name, _loaders()[name])
    if not _is_code(name):
        raise ConfigError(f"objective {name!r}: choose one of {', '.join(sorted(_loaders()))}")
    require_allowed(name)
    return _code(_place(name), name)


@cache
def _code(place: str, name: str) -> Any:
    module = _imported(name, partial(_outside, place))
    if missing := [part for part in ("OBJECTIVE", "DEFAULTS") if not hasattr(module, part)]:
        raise ConfigError(f"objective {name}: the module has no {missing[0]}")
    return module


def _outside(name: str) -> Any:
    if not name.endswith(".py"):
        return importlib.import_module(name)
    path = Path(name)
    own = f"objective_{zlib.crc32(str(path).encode())}"  # a name that no other module has, the same in every process
    spec = importlib.util.spec_from_file_location(own, path)
    if spec is None or spec.loader is None:
        raise ImportError("not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[own] = module  # where kernels look for the source that they are compiled from
    spec.loader.exec_module(module)
    return module


def _imported(name: str, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except Exception as error:  # whatever someone's module does when it is imported
        raise ConfigError(f"objective {name}: cannot be imported: {type(error).__name__}: {error}") from error


def option_defaults(name: str) -> dict[str, Any]:
    """The options of an objective and their defaults: the keywords of its `build`."""
    parameters = inspect.signature(objective_class(name).build).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def checked_options(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """All options of an objective, with those given in the place of defaults and in the defaults' types.

    ConfigError for an option that the objective does not have, or that cannot be what its default is.
    """
    options = option_defaults(name)
    for key, value in given.items():
        if key not in options:
            has = ", ".join(options) or "none"
            raise ConfigError(f"objective {name} has no option {key!r} (it has: {has})")
        options[key] = _like(options[key], value, f"option {key} of objective {name}")
    return options


def _like(default: Any, value: Any, what: str) -> Any:
    try:
        if isinstance(default, bool):
            return WORDS[str(value).lower()]
        if isinstance(default, int) and float(value) != int(float(value)):
            raise ValueError
        return type(default)(float(value) if isinstance(default, int) else value)
    except (KeyError, TypeError, ValueError, OverflowError):
        kind = {bool: "true or false", int: "a whole number", float: "a number"}.get(type(default), "text")
        raise ConfigError(f"{what}: expected {kind}, got {shown(value)}") from None


def check_options(settings: Settings, files: bool = True) -> bool:
    """Return whether the objective has output rows, once it has checked all its options.

    Raises ConfigError for an option that is out of its range or contradicts another; if `files`, also InputMissing and
    DataError for files that options name. Without `files` nothing is opened: so a model's options are checked.
    """
    cls = objective_class(settings.objective)
    if hasattr(cls, "check"):
        cls.check(settings.options)
        if files and hasattr(cls, "check_files"):
            cls.check_files(settings.options)
        return not getattr(cls, "rowless", False)
    two = Problem(["a", "b"], np.array([2, 1]), settings.vector_size, settings.bias)
    built = cls.build(two, **settings.options)
    return not hasattr(built, "output") or len(built.output) > 0
