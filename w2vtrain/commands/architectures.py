"""The commands `architectures` and `architectures check`: list the architectures, or explain or check one.

The checks themselves are in evaluation/architecture_checks.py.
"""

import inspect

import click

from w2vtrain.commands.objectives import is_check_of_one, report
from w2vtrain.commands.options import command
from w2vtrain.commands.shell import imports
from w2vtrain.system.terminal import echo


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
    name = words[-1]
    allow_code(name)
    if is_check:
        from w2vtrain.evaluation.architecture_checks import findings

        report(name, lambda bias: findings(name, bias))
        return
    cls = architecture_class(name)
    echo(f"{name}\n\n{inspect.getdoc(cls)}\n\nlearning rates: as for {cls.like()}, unless the objective has others")
