"""The commands `objectives` and `objectives check`: list the output objectives, or explain or check one.

The checks themselves are in evaluation/objective_checks.py.
"""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from w2vtrain.errors import BelowThreshold
from w2vtrain.objectives import (
    allow_code,
    checked_options,
    objective_class,
    objective_defaults,
    objectives,
    option_defaults,
)
from w2vtrain.system.json_text import json_text
from w2vtrain.system.terminal import echo


def print_objectives(name: str | None = None) -> None:
    """Print every objective with its formula, or the formula, paper, options and default settings of one."""
    if name is None:
        for known, cls in objectives().items():
            echo(f"{known:<18} {(inspect.getdoc(cls) or '').splitlines()[0]}")
        return
    allow_code(name)
    cls = objective_class(name)
    echo(f"{name}\n\n{inspect.getdoc(cls)}\n\noptions and their defaults")
    for key, value in option_defaults(name).items():
        echo(f"  -O {key}={json_text(value)}")
    if not option_defaults(name):
        echo("  none")
    echo(f"\n{inspect.getdoc(cls.build)}\n\ndefaults")
    for architecture, settings in objective_defaults(name).items():
        echo(f"  {architecture:<16} " + ", ".join(f"{key} {value}" for key, value in settings.items()))


def check_objective(name: str, options: dict[str, Any]) -> None:
    """Check gradients and probabilities, with and without biases. Raise BelowThreshold if a check fails."""
    from w2vtrain.evaluation.objective_checks import check

    allow_code(name)
    given = checked_options(name, options)
    report(name, lambda bias: check(name, given, bias))


def report(name: str, checks: Callable[[bool], Iterator[Any]]) -> None:
    """Print the result of each check, with and without biases. Raise BelowThreshold if one failed."""
    failed = 0
    for bias in (False, True):
        echo(f"{name}, {'with' if bias else 'without'} biases")
        for finding in checks(bias):
            echo(f"  {'ok  ' if finding.holds else 'FAIL'}  {finding.what}: {finding.figure}")
            failed += not finding.holds
    if failed:
        raise BelowThreshold(f"{failed} {'check' if failed == 1 else 'checks'} of {name} failed")
