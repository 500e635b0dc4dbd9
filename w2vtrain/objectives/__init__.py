"""Find the output objectives, which score hidden vectors against words: every module of this folder is one.

No objective is named here, and none knows an engine. contract.py states what each must have. A module has `OBJECTIVE`,
the class, and `DEFAULTS`: by architecture the rate, the shuffling and the examples per block that were measured best.
The keyword arguments of `build` are the options that the command line offers.
"""

import inspect
from typing import Any

import numpy as np

from w2vtrain.config import Settings
from w2vtrain.errors import ConfigError, shown
from w2vtrain.objectives.contract import verify, verify_built
from w2vtrain.parsers import Truth
from w2vtrain.probability.problem import Problem
from w2vtrain.registry import CodeNotAllowed, Registry, built

__all__ = ["CodeNotAllowed"]

REGISTRY = Registry(__name__, "objective", ("OBJECTIVE", "DEFAULTS"), verify)
allow_code, require_allowed = REGISTRY.allow_code, REGISTRY.require_allowed


def objectives() -> dict[str, Any]:
    """Name -> class, of every objective there is: all are imported."""
    return {name: module.OBJECTIVE for name, module in REGISTRY.modules().items()}


def objective_class(name: str) -> Any:
    """Return the class of an objective; ConfigError if there is none of that name."""
    return REGISTRY.module(name).OBJECTIVE


def engine_of(name: str) -> str:
    """Which engine an objective is made for, "windows" or "blocks"."""
    return str(objective_class(name).engine)


def build(name: str, problem: Problem, options: dict[str, Any]) -> Any:
    """Return an objective for a problem. ConfigError if `build` returns something that does not keep the contract."""
    cls, what = objective_class(name), f"objective {name}"
    made = built(cls, what, problem, **options)
    verify_built(made, cls.engine, what)
    return made


def objective_defaults(name: str) -> dict[str, dict[str, Any]]:
    """By architecture the settings that were measured best: alpha, shuffle, and perhaps block."""
    return dict(REGISTRY.module(name).DEFAULTS)


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
            return Truth().parse(value)
        if isinstance(default, int) and float(value) != int(float(value)):
            raise ValueError
        return type(default)(float(value) if isinstance(default, int) else value)
    except (TypeError, ValueError, OverflowError):
        kind = {bool: "true or false", int: "a whole number", float: "a number"}.get(type(default), "text")
        raise ConfigError(f"{what}: expected {kind}, got {shown(value)}") from None


def check_options(settings: Settings, files: bool = True) -> bool:
    """Return whether the objective has output rows, once it has checked all its options.

    Raises ConfigError for an option that is out of its range or contradicts another; if `files`, also InputMissing and
    DataError for files that options name. Without `files` nothing is opened: so a model's options are checked.
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
