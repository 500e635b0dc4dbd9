"""The classes of commands and groups: the sections of their help, and commands that are imported when they are used.

Commands, and their options, are declared in the modules beside this.
"""

import os
import pkgutil
from collections import UserDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click
from click.types import StringParamType

from w2vtrain.commands.spelling import answer, missing_output, no_such_option, options_of
from w2vtrain.config import MODEL, TRAINING, WORDS
from w2vtrain.other_programs import COMMANDS
from w2vtrain.system.spinner import SPINNER
from w2vtrain.system.stopping import signals_end_imports

INPUT, OUTPUTS, RUN, RANKS, MESSAGES = "Input", "Output", "Run", "Several machines", "Configuration and messages"
OWN = "Options"
"""The section of options that are declared without one, those of a single command."""
LEAVES = ""
"""Where the sections are that leaves declare."""
SECTIONS = (OWN, INPUT, LEAVES, OUTPUTS, MODEL, WORDS, TRAINING, RUN, RANKS, MESSAGES)
"""The sections of a help in their order."""
FOR_FILES = ("info", "all", "map", "curves")
"""Commands of groups, to which a message refers if a file is named in place of a command."""
MIN_OPTIONS_FOR_SECTIONS = 20
"""Fewest options with which a help has sections."""
FILES = ("FILE", "DIR", "FILE|DIR")
"""Values of `metavar` of options that take a file or a folder."""
NOT_FILES = ("words", "command", "name", "commands")
"""Arguments that are no files."""


class Option(click.Option):
    """An option that the help lists in a section."""

    def __init__(self, *args: Any, section: str, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.section = section


def sections(parameters: Sequence[click.Parameter]) -> Iterator[tuple[str, list[click.Option]]]:
    """Yield the title of each section that has options, and these, in the order of SECTIONS."""
    options = [parameter for parameter in parameters if isinstance(parameter, click.Option)]
    if len(options) < MIN_OPTIONS_FOR_SECTIONS:
        yield OWN, options
        return
    listed: dict[str, list[click.Option]] = {}
    for option in options:  # --help, which click declares, is eager
        listed.setdefault(getattr(option, "section", MESSAGES if option.is_eager else OWN), []).append(option)
    yield from sorted(listed.items(), key=lambda listed: SECTIONS.index(listed[0] if listed[0] in SECTIONS else LEAVES))


class Name(click.Path):
    """The name of a file or folder, which the shell completes; it need not exist."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name. UsageError for an empty one, as scripts pass for a variable that is not set."""
        if value == "" != getattr(param, "default", None):
            self.fail("the name is empty", param, ctx)
        return value


def complete_files(parameters: Sequence[click.Parameter]) -> None:
    """Give the parameters that are files the type of names."""
    for parameter in parameters:
        if isinstance(parameter.type, StringParamType):
            is_argument = isinstance(parameter, click.Argument)
            if parameter.name not in NOT_FILES if is_argument else parameter.metavar in FILES:
                parameter.type = Name()


class WithDebug(click.Command):
    """A command or group with --debug, which is accepted anywhere on the command line: `shell.debugging` finds it."""

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        text = "Print a traceback with an error."
        self.params.append(Option(["--debug"], is_flag=True, expose_value=False, help=text, section=MESSAGES))
        complete_files(self.params)


class Command(WithDebug):
    """A command whose options have two hyphens; it says so for one, and knows those of other programs."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, in sections if there are many."""
        for title, options in sections(self.get_params(ctx)):
            if records := [record for option in options if (record := option.get_help_record(ctx))]:
                with formatter.section(title):
                    formatter.write_dl(records)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. Raise UsageError for an option of another program, or one with a single hyphen."""
        known = options_of(self)
        arguments = [str(part.name).upper() for part in self.params if isinstance(part, click.Argument)]
        plain = " ".join([ctx.command_path, *arguments, *["-o FILE"] * ("--output" in known)]) if arguments else ""
        words = args[: args.index("--")] if "--" in args else args[:]
        for word in words:
            name = word.partition("=")[0]
            if name not in known and (hint := answer(name, known, plain)):
                raise click.UsageError(f"No such option {name!r}: {hint}", ctx)
        # The first argument is an input, and the value of an option is none.
        last = args[-1] if len(args) > 1 and not args[-2].startswith("-") else ""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise no_such_option(error, words, known) from None
        except click.MissingParameter as error:
            if error.param and error.param.name == "output":
                raise missing_output(last, ctx) from None
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; until it prints anything, a terminal shows that it works, unless --quiet is given."""
        SPINNER.is_shown = not ctx.params.get("quiet")
        SPINNER.begin("working")
        return super().invoke(ctx)


class Catalogue(WithDebug, click.Group):
    """A group that lists commands in the order of their definition, and knows those of other programs."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command. Raise UsageError, with ours, for one of another program."""
        if args and args[0] not in self.commands:
            hint = COMMANDS.get(args[0].replace("_", "-"))
            if os.path.exists(args[0]):  # noqa: PTH110 - unlike Path.exists, it accepts names that are too long
                lines = [f"{ctx.command_path} {name} {args[0]}" for name in FOR_FILES if name in self.commands]
                hint = f"write a command before the file, such as {' or '.join(lines)}"
            if hint:
                raise click.UsageError(f"No such command {args[0]!r}: {hint}", ctx)
        return super().resolve_command(ctx, args)


class LazyGroup(Catalogue):
    """A group whose help lists its commands without importing them.

    sections: by title, the commands of each: by name, "MODULE:FUNCTION" below w2vtrain, and the short help.
    """

    def __init__(
        self, *args: Any, sections: Mapping[str, Mapping[str, tuple[str, str]]], **attributes: Any
    ) -> None:  # fmt: skip
        entries = {name: entry for listed in sections.values() for name, entry in listed.items()}
        super().__init__(*args, commands=LazyCommands(entries), **attributes)
        self.sections = sections

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. Raise UsageError, with a command, for options without one, as word2vec.c has them."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            line = f"{ctx.command_path} fit CORPUS -o FILE"
            raise click.UsageError(
                f"No such option {error.option_name!r}: a command comes first, such as {line}", ctx
            ) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names and short helps of the commands, in sections with one width of names."""
        width = max(map(len, self.commands))
        for title, listed in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), short_help) for name, (_, short_help) in listed.items()])


class LazyCommands(UserDict[str, Any]):
    """The commands of a group by name; looking one up imports it, and gives it its short help.

    It is made of entries: by name, "MODULE:FUNCTION" below w2vtrain, and the short help.
    """

    def __getitem__(self, name: str) -> Any:
        command = self.data[name]
        if isinstance(command, tuple):
            place, short_help = command
            with signals_end_imports():
                command = self.data[name] = pkgutil.resolve_name("w2vtrain." + place)
            command.short_help = short_help
        return command
