"""Find the objectives, which score hidden vectors against words, and check their options.

Every module of this folder except contract.py is one objective; none is named here, and none knows an engine. A module
has two attributes. `OBJECTIVE` is the class, which contract.py describes. `DEFAULTS` maps each architecture to the
settings that measured best: learning rate, shuffling and examples per block. The keyword arguments of `build` are the
options that the command line offers. Lists of objectives show the first sentence of the module's docstring, under the
heading that the optional attribute `GROUP` selects.
"""

import difflib
import inspect
import re
from functools import cache
from typing import Any

import numpy as np

from w2vtrain.config import Settings
from w2vtrain.errors import shown
from w2vtrain.objectives.contract import verify, verify_built
from w2vtrain.parsers import Truth, ascii_number
from w2vtrain.probability.problem import InvalidOption, Options, Problem, bad_option
from w2vtrain.registry import CodeNotAllowed, Registry, built

__all__ = ["CodeNotAllowed"]

GROUPS = {
    "structure": "The full softmax, and other structures for it",
    "sampling": "Sampling the negative part of the gradient",
    "discrimination": "Discrimination instead of normalization",
    "self-normalization": "Keeping Z near 1",
    "": "Others",
}
"""The headings of lists of objectives, in order, by the `GROUP` of a module; "" is for modules that have none."""

REGISTRY = Registry(__name__, "objective", ("OBJECTIVE", "DEFAULTS"), verify)
allow_code, require_allowed, sources = REGISTRY.allow_code, REGISTRY.require_allowed, REGISTRY.sources


def objectives() -> dict[str, Any]:
    """Import all objectives; return the classes by name."""
    return {name: module.OBJECTIVE for name, module in REGISTRY.modules().items()}


def objective_class(name: str) -> Any:
    """Return the class of an objective. Raise ConfigError if no objective has that name."""
    return REGISTRY.module(name).OBJECTIVE


def summary(name: str) -> str:
    """Return the first sentence of the docstring of an objective's module or, without one, of its class."""
    module = REGISTRY.module(name)
    text = " ".join((inspect.getdoc(module) or inspect.getdoc(module.OBJECTIVE) or "").split())
    return re.split(r"(?<!et al)\.(?= |$)", text, maxsplit=1)[0]


def group_of(name: str) -> str:
    """Return the key in GROUPS of an objective: its module's GROUP, or "" if it has none or an unknown one."""
    group = getattr(REGISTRY.module(name), "GROUP", "")
    return group if isinstance(group, str) and group in GROUPS else ""


def engine_of(name: str) -> str:
    """Return the engine that an objective needs: "windows" or "blocks"."""
    return str(objective_class(name).engine)


def build(name: str, problem: Problem, options: Options) -> Any:
    """Build an objective for a problem.

    Raise ConfigError if an option is invalid, or if the class's `build` fails or returns an invalid instance.
    """
    cls, subject = objective_class(name), f"objective {name}"
    if cls.check is not None:
        cls.check({**option_defaults(name), **options})
    objective = built(cls, subject, problem, **options)
    verify_built(objective, cls.engine, subject)
    return objective


def objective_defaults(name: str) -> dict[str, dict[str, Any]]:
    """Return the settings that measured best, by architecture: alpha, shuffle and optionally block."""
    return dict(REGISTRY.module(name).DEFAULTS)


def option_defaults(name: str) -> Options:
    """Return the options of an objective with their defaults: the keyword arguments of its `build`."""
    return dict(_option_defaults(objective_class(name)))


@cache
def _option_defaults(cls: Any) -> Options:
    parameters = inspect.signature(cls.build).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def stated_options(name: str, options: Options) -> Options:
    """Return the options to show: all but those that have their default and are automatic or off.

    A default of -1 lets the objective choose; 0, false and an empty text turn something off.
    """
    defaults = option_defaults(name)
    return {key: value for key, value in options.items() if value != defaults[key] or value not in (-1, 0, False, "")}


def checked_options(name: str, given: Options) -> Options:
    """Return all options of an objective: the given values, converted to the types of the defaults, or the defaults.

    Raise ConfigError for an unknown option, or for a value that cannot be converted.
    """
    options = option_defaults(name)
    for key, value in given.items():
        if key not in options:
            has = ", ".join(options) or "none"
            close = difflib.get_close_matches(key, options, 1, 0.5)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise InvalidOption(f"objective {name} has no option {shown(key)} (it has: {has}){hint}", key)
        options[key] = _like(options[key], value, name, key)
    return options


def _like(default: Any, value: Any, objective: str, option: str) -> Any:
    try:
        if isinstance(default, bool):
            return Truth().parse(value)
        if isinstance(default, int | float):
            value = ascii_number(value)
        if isinstance(default, int) and float(value) != int(float(value)):
            raise ValueError
        return type(default)(float(value) if isinstance(default, int) else value)
    except (TypeError, ValueError, OverflowError):
        kind = {bool: "true or false", int: "a whole number", float: "a number"}.get(type(default), "text")
        raise bad_option(objective, option, f"expected {kind}, got {shown(value)}") from None


def check_options(settings: Settings, files: bool = True) -> bool:
    """Check the options of the objective in `settings`. Return True if the objective has output rows.

    files: if True, also check the files that options name. If False, open no file, as for the options of a model.

    Raise ConfigError for an option that is out of range or contradicts another; with `files`, also InputMissing and
    DataError.
    """
    cls = objective_class(settings.objective)
    if cls.check is None:
        two = Problem(["a", "b"], np.array([2, 1]), settings.vector_size, settings.bias)
        build(settings.objective, two, settings.options)
    else:
        cls.check(settings.options)
        if files and cls.check_files is not None:
            cls.check_files(settings.options)
    return not cls.rowless
