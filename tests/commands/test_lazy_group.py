"""The list of commands: its short helps are those of the commands, and a command is imported when it is used."""

import subprocess
import sys

import click
import pytest

from w2vtrain.cli import COMMANDS, cli
from w2vtrain.commands.lazy_group import LazyCommands


@pytest.mark.parametrize(
    ("name", "short_help"), [(name, about[1]) for listed in COMMANDS.values() for name, about in listed.items()]
)
def test_the_list_shows_the_name_and_the_short_help_of_each_command(name, short_help):
    command = cli.commands[name]
    assert command.name == name
    assert command.get_short_help_str(limit=80) == short_help


def test_the_list_imports_no_command_and_a_command_no_other():
    program = (
        "import sys; from w2vtrain.cli import cli; from w2vtrain.commands.shell import invoke\n"
        "places = {f'w2vtrain.commands.{name}' for name in ('vocab', 'query', 'bench')}\n"
        "assert invoke(cli, ['--help']) == 0; assert not places & set(sys.modules)\n"
        "assert invoke(cli, ['vocab', '--help']) == 0; assert places & set(sys.modules) == {'w2vtrain.commands.vocab'}"
    )
    subprocess.run([sys.executable, "-c", program], stdout=subprocess.DEVNULL, check=True)


def test_commands_can_be_added_and_removed():
    commands = LazyCommands({"vocab": "vocab:vocab"})
    commands["mine"] = click.Command("mine")
    assert (list(commands), len(commands), "mine" in commands) == (["vocab", "mine"], 2, True)
    del commands["vocab"]
    assert list(commands.values()) == [commands["mine"]]
