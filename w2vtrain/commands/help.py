"""The commands `help` and `completion`: print the help of a command, or the script that lets a shell complete them."""

import click
from click.shell_completion import get_completion_class

from w2vtrain.commands.options import command
from w2vtrain.commands.shell import COMPLETE
from w2vtrain.system.stopping import NAME
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


@command()
@click.argument("name", type=click.Choice(["bash", "zsh", "fish"]), metavar="bash|zsh|fish")
@click.pass_context
def completion(ctx: click.Context, name: str) -> None:
    """Print a script with which bash, zsh or fish completes commands, options, their values and names of files.

    \b
    bash, in ~/.bashrc:  eval "$(w2vtrain completion bash)"
    zsh, in ~/.zshrc:    eval "$(w2vtrain completion zsh)"
    fish, once:          w2vtrain completion fish > ~/.config/fish/completions/w2vtrain.fish
    """
    kind = get_completion_class(name)
    assert kind
    script = kind(ctx.find_root().command, {}, NAME, COMPLETE)
    echo(script.source_template % script.source_vars())
