"""The commands `objectives` and `objectives check`: list the output objectives, or explain or check one.

The checks are in evaluation/objective_checks.py, and the advice is in evaluation/advice.py.
"""

import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from w2vtrain.errors import BelowThreshold, ConfigError
from w2vtrain.evaluation.advice import ADVICE, COLUMNS, HEAD
from w2vtrain.objectives import (
    GROUPS,
    REGISTRY,
    allow_code,
    checked_options,
    group_of,
    objective_class,
    objective_defaults,
    option_defaults,
    summary,
)
from w2vtrain.system.json_text import json_text
from w2vtrain.system.terminal import echo

WIDTH = 80
CHECKED = """\
Gradients were compared with the objective's own loss. Only what it learned from a text whose probabilities are known \
(16 words in 8 contexts, one thread) shows whether the loss itself is right. Not checked: other options, larger \
vocabularies, speed, and the quality of word vectors."""


def print_objectives(name: str | None = None, formulas: bool = False) -> None:
    """Print all objectives and which one to use, or the formula, paper, options and default settings of one.

    formulas: add the formula to each line of the list.
    """
    if name is None:
        _print_list(formulas)
        _print_advice()
        echo("\nw2vtrain objectives NAME        the formula, paper and options of one")
        echo("w2vtrain objectives --formulas  this list, with formulas")
        return
    allow_code(name)
    cls = objective_class(name)
    echo(f"{name}: {summary(name)}\n\n{inspect.getdoc(cls)}\n\noptions and their defaults")
    for key, value in option_defaults(name).items():
        echo(f"  -O {key}={json_text(value)}")
    if not option_defaults(name):
        echo("  none")
    echo(f"\n{inspect.getdoc(cls.build)}\n\ndefaults")
    for architecture, settings in objective_defaults(name).items():
        echo(f"  {architecture:<16} " + ", ".join(f"{key} {value}" for key, value in settings.items()))


def _print_list(formulas: bool) -> None:
    """Print the name and summary of each objective by group. One that cannot be loaded is listed with the reason."""
    lines: dict[str, list[str]] = {group: [] for group in GROUPS}
    for name in sorted(REGISTRY.loaders):
        try:
            group, text = group_of(name), summary(name)
            formula = (inspect.getdoc(objective_class(name)) or "").split("\n")[0] if formulas else ""
        except ConfigError as error:
            group, text, formula = "", str(error), ""
        lines[group] += _wrapped(f"  {name:<17} {text}", 20) + _wrapped(f"{'':20}{formula}", 20)
    echo("\n\n".join("\n".join([GROUPS[group], *found]) for group, found in lines.items() if found))


def _print_advice() -> None:
    """Print the decision table, with the reason below each row."""
    form = "  {:<17} {:<18} {:<19} {:<11} {}".format
    echo("\n" + textwrap.fill(f"Which one to use. {COLUMNS}", WIDTH) + f"\n\n{form(*HEAD)}")
    for row in ADVICE:
        echo(form(*row[: len(HEAD)]))
        echo("\n".join(_wrapped(f"      {' or '.join(row.use)}: {row.why}", 8)))


def _wrapped(text: str, indent: int) -> list[str]:
    """Return the lines of a text, at most WIDTH wide if its words allow, with an indent from the second line on."""
    first = len(text) - len(text.lstrip())
    return textwrap.wrap(text, WIDTH, subsequent_indent=" " * indent, break_long_words=False) if text[first:] else []


def check_objective(name: str, options: dict[str, Any]) -> None:
    """Check gradients, probabilities and learning, with and without biases. Raise BelowThreshold if a check fails."""
    from w2vtrain.evaluation.objective_checks import check

    allow_code(name)
    given = checked_options(name, options)
    said = " ".join(f"-O {key}={json_text(value)}" for key, value in given.items())
    report(name, lambda bias: check(name, given, bias), f"Checked with {said or 'no options'}. {CHECKED}")


def report(name: str, checks: Callable[[bool], Iterator[Any]], note: str = "") -> None:
    """Print the result of each check, with and without biases, and a note. Raise BelowThreshold if one failed."""
    failed = 0
    for bias in (False, True):
        echo(f"{name}, {'with' if bias else 'without'} biases")
        for finding in checks(bias):
            result = {True: "ok  ", False: "FAIL", None: "--  "}[finding.holds]
            echo(f"  {result}  {finding.what}: {finding.figure}")
            failed += finding.holds is False
    if note:
        echo("\n" + textwrap.fill(note, WIDTH))
    if failed:
        raise BelowThreshold(f"{failed} {'check' if failed == 1 else 'checks'} of {name} failed")
