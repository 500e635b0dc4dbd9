"""The commands `architectures` and `architectures check`: list the architectures, or explain or check one.

The checks themselves are in evaluation/architecture_checks.py.
"""

import inspect

from w2vtrain.architectures import allow_code, architecture_class, architectures
from w2vtrain.commands.objectives import report
from w2vtrain.system.terminal import echo


def print_architectures(name: str | None = None) -> None:
    """Print every architecture with its formula, or the formula and paper of one."""
    if name is None:
        for known, cls in architectures().items():
            echo(f"{known:<18} {(inspect.getdoc(cls) or '').splitlines()[0]}")
        return
    allow_code(name)
    cls = architecture_class(name)
    echo(f"{name}\n\n{inspect.getdoc(cls)}\n\nlearning rates: as for {cls.like()}, unless the objective has others")


def check_architecture(name: str) -> None:
    """Check hidden vectors and gradients, with and without biases. Raise BelowThreshold if a check fails."""
    from w2vtrain.evaluation.architecture_checks import check

    allow_code(name)
    report(name, lambda bias: check(name, bias))
