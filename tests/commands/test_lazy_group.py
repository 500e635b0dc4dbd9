"""The list of commands: a command is imported, and gets its short help, when it is used."""

import subprocess
import sys

from w2vtrain.cli import cli


def test_a_command_has_the_short_help_of_the_list():
    assert cli.commands["vocab"].get_short_help_str(limit=80) == "Count the words of a text."


def test_the_list_imports_no_command_and_a_command_no_other():
    program = (
        "import sys; from w2vtrain.cli import cli; from w2vtrain.commands.shell import invoke\n"
        "places = {f'w2vtrain.commands.{name}' for name in ('prepare', 'query', 'bench')}\n"
        "assert invoke(cli, ['--help']) == 0; assert not places & set(sys.modules)\n"
        "assert invoke(cli, ['vocab', '--help']) == 0\n"
        "assert places & set(sys.modules) == {'w2vtrain.commands.prepare'}"
    )
    subprocess.run([sys.executable, "-c", program], stdout=subprocess.DEVNULL, check=True)
