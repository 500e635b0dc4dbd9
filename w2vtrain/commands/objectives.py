"""List the output objectives, explain one, or check one: `objectives` and `objectives check`.

What is checked, and how, is in evaluation/objective_checks.py.
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
    """Print all objectives with their formulas, or one with its paper, options and default rates."""
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
    """Check gradients and probabilities, with and without biases; BelowThreshold if one does not hold."""
    from w2vtrain.evaluation.objective_checks import check

    allow_code(name)
    given = checked_options(name, options)
    report(name, lambda bias: check(name, given, bias))


def report(name: str, checks: Callable[[bool], Iterator[Any]]) -> None:
    """Print what was checked with and without biases; BelowThreshold if a check fails."""
    failed = 0
    for bias in (False, True):
        echo(f"{name}, {'with' if bias else 'without'} biases")
        for finding in checks(bias):
            echo(f"  {'ok  ' if finding.holds else 'FAIL'}  {finding.what}: {finding.figure}")
            failed += not finding.holds
    if failed:
        raise BelowThreshold(f"{failed} checks of {name} do not hold")
