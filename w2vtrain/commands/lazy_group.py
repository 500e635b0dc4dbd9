"""A group of commands that imports a command when it is used, so that `--help` loads no command.

It needs the name, the place and the short help of each command. The commands are declared in the modules beside this,
without a short help: each gets the one in the list when it is imported.
"""

import importlib
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

import click

from w2vtrain.commands.spelling import Catalogue
from w2vtrain.system.stopping import signals_end_imports


class LazyGroup(Catalogue):
    """A group whose help lists its commands without importing them.

    sections: by title, the commands of each: by name, "MODULE:FUNCTION" in this package, and the short help.
    """

    def __init__(
        self, *args: Any, sections: Mapping[str, Mapping[str, tuple[str, str]]], **attributes: Any
    ) -> None:  # fmt: skip
        entries = {name: entry for listed in sections.values() for name, entry in listed.items()}
        super().__init__(*args, commands=LazyCommands(entries), **attributes)
        self.sections = sections

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names and short helps of the commands, in sections with one width of names."""
        width = max(map(len, self.commands))
        for title, listed in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), short_help) for name, (_, short_help) in listed.items()])


class LazyCommands(MutableMapping[str, click.Command]):
    """The commands of a group by name; looking one up imports it, and gives it its short help.

    entries: by name, "MODULE:FUNCTION" in this package, and the short help.
    """

    def __init__(self, entries: Mapping[str, tuple[str, str]]) -> None:
        self.entries: dict[str, click.Command | tuple[str, str]] = dict(entries)

    def __getitem__(self, name: str) -> click.Command:
        command = self.entries[name]
        if isinstance(command, tuple):
            (module, _, function), short_help = command[0].partition(":"), command[1]
            with signals_end_imports():
                command = getattr(importlib.import_module(f"{__package__}.{module}"), function)
            command.short_help = short_help
            self.entries[name] = command
        return command

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def __setitem__(self, name: str, command: click.Command) -> None:
        self.entries[name] = command

    def __delitem__(self, name: str) -> None:
        del self.entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)
