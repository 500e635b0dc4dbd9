"""The command `help`: print the help of a command, as its option --help does."""

import click

from w2vtrain.commands.options import command
from w2vtrain.system.terminal import echo


@command(name="help")
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def help_(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Print the help of COMMAND, such as `fit` or `eval analogies`, or a list of all commands."""
    assert ctx.parent
    context = ctx.parent
    for word in words:
        if not isinstance(context.command, click.Group):
            raise click.UsageError(f"{context.command_path} has no commands", context)
        name, below, _ = context.command.resolve_command(context, [word])
        assert below
        context = click.Context(below, info_name=name, parent=context, **below.context_settings)
    echo(context.get_help())
