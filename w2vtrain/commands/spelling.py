"""Commands that answer the names of options and commands that other programs have with ours.

The names are in aliases.py.
"""

import click

from w2vtrain.aliases import COMMANDS_ELSEWHERE, ELSEWHERE


class Command(click.Command):
    """A command whose options have two hyphens; it says so for one, and knows the options of other programs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. Raise UsageError for an option of another program, or one with a single hyphen."""
        known = {name for parameter in self.params for name in (*parameter.opts, *parameter.secondary_opts)}
        for word in args[: args.index("--")] if "--" in args else args:
            name = word.partition("=")[0]
            if name not in known and (hint := hint_for(name, known)):
                raise click.UsageError(f"No such option {name!r}: {hint}", ctx)
        return super().parse_args(ctx, args)


def hint_for(name: str, known: set[str]) -> str | None:
    """Return what to write in place of a word of the command line, or None if no other program has such an option.

    known: the command's own options. Only commands with settings answer for settings of other programs.
    """
    bare = name.lstrip("-")
    if not bare or not name.startswith("-") or bare[0].isdigit():
        return None
    if len(bare) > 1 and f"--{bare}" in known:
        return f"write --{bare}, with two hyphens"
    if "--min-count" in known and f"--{bare}" not in known:
        return ELSEWHERE.get(bare) or ELSEWHERE.get(bare.replace("-", "_"))
    return None


class Catalogue(click.Group):
    """A group whose commands are listed in the order of their definition, and which knows other programs' commands."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command. Raise UsageError, with ours, for one of another program."""
        if args and args[0] not in self.commands and (hint := COMMANDS_ELSEWHERE.get(args[0])):
            raise click.UsageError(f"No such command {args[0]!r}: {hint}", ctx)
        return super().resolve_command(ctx, args)
