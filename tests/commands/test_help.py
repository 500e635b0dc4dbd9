"""The help of commands: `help`, sections of options, and examples."""

import re

import click
import pytest
from click.testing import CliRunner

from w2vtrain.cli import COMMANDS, cli
from w2vtrain.commands.click_classes import SECTIONS, sections
from w2vtrain.config import FIELDS, SHORT


def run(*words):
    result = CliRunner().invoke(cli, words, prog_name="w2vtrain")
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("words", [(), ("fit",), ("eval",), ("eval", "analogies"), ("help",)], ids=" ".join)
def test_help_prints_what_the_option_prints(words):
    assert run("help", *words) == run(*words, "--help")


@pytest.mark.parametrize(
    "words, message",
    [
        (("nn",), "No such command 'nn': use w2vtrain neighbors"),
        (("fit", "x"), "w2vtrain fit has no commands"),
        (("eval", "x"), "No such command 'x'"),
    ],
    ids=["other program", "too deep", "unknown"],
)
def test_help_of_what_is_no_command_is_refused(words, message):
    with pytest.raises(click.UsageError, match=re.escape(message)):
        cli.main(["help", *words], prog_name="w2vtrain", standalone_mode=False)


def test_the_version_has_a_short_option():
    assert run("-V") == run("--version")


def test_every_option_of_fit_is_in_a_section():
    fit = cli.commands["fit"]
    listed = dict(sections(fit.get_params(click.Context(fit))))
    assert all(title in SECTIONS or "(with --" in title for title in listed)
    assert len(listed) > 5


def test_the_list_of_commands_has_each_once_in_a_section():
    assert sum(map(len, COMMANDS.values())) == len(cli.commands)
    lines = run("--help").splitlines()
    for title, names in COMMANDS.items():
        first = lines.index(f"{title}:") + 1
        assert [line.split()[0] for line in lines[first : first + len(names)]] == list(names)


def test_sections_of_settings_have_all_settings_and_nothing_else():
    fit = cli.commands["fit"]
    listed = sections(fit.get_params(click.Context(fit)))
    assert {option.name for title, options in listed if "settings" in title for option in options} == {*FIELDS, *SHORT}


def test_the_options_of_compare_alone_come_first_in_its_help():
    text = run("compare", "--help")
    assert text.index("Options:") < text.index("--objectives LIST") < text.index("Model (settings):")


def test_the_examples_of_fit_can_be_parsed():
    fit = cli.commands["fit"]
    lines = re.findall(r"^ *w2vtrain fit (.*)$", run("fit", "--help"), re.M)
    assert len(lines) == 5
    for line in lines:
        assert fit.make_context("fit", line.split()).params["output"]
