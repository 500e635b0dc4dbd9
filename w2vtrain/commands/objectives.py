"""The commands `objectives` and `architectures`: list them, or explain or check one.

The checks are in leaves/compare/objective_checks.py and architecture_checks.py.
"""

import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import click

from w2vtrain.commands.options import command, objective_options
from w2vtrain.commands.shell import imports
from w2vtrain.doors import leaf
from w2vtrain.errors import BelowThreshold, ConfigError
from w2vtrain.registry import our_name
from w2vtrain.system.terminal import echo

WIDTH = 80


USES = {
    "word vectors": "neg",
    "probabilities": "nce -O negative=25",
    "probabilities, with ten times the time": "bigram-nce -O negative=25",
    "exact word probabilities": "hs",
    "few output parameters": "adaptive-softmax",
}
"""Which objective to use for what, as measured: see docs/objectives.md."""
CHECKED = """\
Gradients were compared with the objective's own loss. Whether the loss itself is right shows only in what was learned \
from a text whose probabilities are known (16 words in 8 contexts, one thread). Not checked: other options, larger \
vocabularies, speed, and the quality of word vectors."""


@command()
@click.argument("words", nargs=-1, metavar="[[check] NAME]")
@click.option("-O", "--option", "options", multiple=True, metavar="KEY=VALUE", help="Option to check with; repeatable.")
def objectives(words: tuple[str, ...], options: tuple[str, ...]) -> None:
    """List the output objectives and say which one to use, or print the formula, paper and options of one.

    `objectives check NAME` checks that an objective compiles, that its gradients and probabilities are correct, and
    that it learns a small text whose probabilities are known.
    NAME may also be a file, my_objective.py, or a module, package.my_objective.
    """
    is_check = is_check_of_one(words)
    if options and not is_check:
        raise click.UsageError("-O: has an effect only on `objectives check NAME`")
    chosen = objective_options({}, options)
    with imports():
        from w2vtrain.objectives import allow_code
    if not words:
        print_objectives()
        return
    name = our_name("objective", words[-1])
    allow_code(name)
    if is_check:
        print_findings(name, chosen)
    else:
        print_objective(name)


def is_check_of_one(words: tuple[str, ...]) -> bool:
    """Return whether the arguments are `check NAME`, rather than NAME or none; UsageError for anything else."""
    if (len(words) > 1 and words[0] != "check") or len(words) > 2 or words == ("check",):
        raise click.UsageError("expected NAME or check NAME")
    return len(words) == 2


def print_objective(name: str) -> None:
    """Print the formula, paper, options and default settings of an objective."""
    from w2vtrain.objectives import objective_class, objective_defaults, option_defaults, summary
    from w2vtrain.system.json_text import json_text

    cls, options = objective_class(name), option_defaults(name)
    echo(f"{name}: {summary(name)}\n\n{inspect.getdoc(cls)}\n\noptions and their defaults")
    for key, value in options.items():
        echo(f"  -O {key}={json_text(value)}")
    if not options:
        echo("  none")
    echo(f"\n{inspect.getdoc(cls.build)}\n\ndefaults")
    for architecture, settings in objective_defaults(name).items():
        echo(f"  {architecture:<16} " + ", ".join(f"{key} {value}" for key, value in settings.items()))


def print_objectives() -> None:
    """Print the name and summary of each objective by group, and which one to use.

    An objective that cannot be loaded is listed with the reason.
    """
    from w2vtrain.objectives import GROUPS, REGISTRY, group_of, summary

    lines: dict[str, list[str]] = {group: [] for group in GROUPS}
    for name in sorted(REGISTRY.loaders):
        try:
            group, text = group_of(name), summary(name)
        except ConfigError as error:
            group, text = "", str(error)
        # An indent of 20 from the second line on; a line is longer than WIDTH if its words do not allow less.
        lines[group] += textwrap.wrap(f"  {name:<17} {text}", WIDTH, subsequent_indent=" " * 20, break_long_words=False)
    echo("\n\n".join("\n".join([GROUPS[group], *listed]) for group, listed in lines.items() if listed))
    echo("\nWhich one to use, as measured: see docs/objectives.md")
    for want, use in USES.items():
        echo(f"  {want:<38}  {use}")
    echo("\nw2vtrain objectives NAME prints the formula, paper and options of one")


def print_findings(name: str, options: dict[str, Any]) -> None:
    """Check an objective with and without biases, and print each finding. Raise BelowThreshold if one fails."""
    from w2vtrain.objectives import checked_options
    from w2vtrain.system.json_text import json_text

    findings, given = leaf("objective checks").findings, checked_options(name, options)
    said = " ".join(f"-O {key}={json_text(value)}" for key, value in given.items())
    report(name, lambda bias: findings(name, given, bias), f"Checked with {said or 'no options'}. {CHECKED}")


def report(name: str, checks: Callable[[bool], Iterator[Any]], note: str = "") -> None:
    """Print the result of each check, with and without biases, and a note. Raise BelowThreshold if one failed."""
    failed = 0
    for bias in (False, True):
        echo(f"{name}, {'with' if bias else 'without'} biases")
        for finding in checks(bias):
            result = {True: "ok  ", False: "FAIL", None: "--  "}[finding.holds]
            echo(f"  {result}  {finding.claim}: {finding.figure}")
            failed += finding.holds is False
    if note:
        echo("\n" + textwrap.fill(note, WIDTH))
    if failed:
        raise BelowThreshold(f"{failed} {'check' if failed == 1 else 'checks'} of {name} failed")


@command()
@click.argument("words", nargs=-1, metavar="[[check] NAME]")
def architectures(words: tuple[str, ...]) -> None:
    """List the architectures, or print the formula and paper of one.

    `architectures check NAME` checks that an architecture compiles and that its gradients are correct. NAME may also
    be a file, my_architecture.py, or a module, package.my_architecture.
    """
    is_check = is_check_of_one(words)
    with imports():
        from w2vtrain.architectures import allow_code, architecture_class
        from w2vtrain.architectures import architectures as installed
    if not words:
        for known, cls in installed().items():
            echo(f"{known:<18} {(inspect.getdoc(cls) or '').splitlines()[0]}")
        return
    name = our_name("architecture", words[-1])
    allow_code(name)
    if is_check:
        findings = leaf("architecture checks").findings
        report(name, lambda bias: findings(name, bias))
        return
    cls = architecture_class(name)
    echo(f"{name}\n\n{inspect.getdoc(cls)}\n\nlearning rates: as for {cls.like()}, unless the objective has others")
