"""Every number on a command line or in a run folder is finite and in its range; NaN is in none."""

import itertools
import json

import click
import pytest

from w2vtrain.cli import cli
from w2vtrain.commands import fit_request, resume
from w2vtrain.config import FIELDS, ROWS, Settings, validated
from w2vtrain.errors import ConfigError, DataError
from w2vtrain.objectives import check_options, checked_options, objectives, option_defaults
from w2vtrain.parsers import Number
from w2vtrain.training.run_files import Config

HOSTILE = ["nan", "-nan", "inf", "-inf", "1e999", "-1e308", "9" * 400, "x", ""]


def numeric_options(command=cli, path=()):
    """Yield (command, option) for each option of each command whose value click or a parser reads as a number."""
    for param in command.params:
        kind = param.type
        if isinstance(kind, click.types.FloatParamType | click.types.IntParamType) or hasattr(kind, "parser"):
            if isinstance(param, click.Option) and not param.count:
                yield " ".join([*path, param.opts[0]]), param
    for name, inner in getattr(command, "commands", {}).items():
        yield from numeric_options(inner, (*path, name))


OPTIONS = dict(numeric_options())


def test_the_numeric_options_are_found():
    assert {"fit --checkpoint-every", "eval analogies --fail-under", "bench --seeds"} <= set(OPTIONS)


@pytest.mark.parametrize("name", OPTIONS)
def test_no_numeric_option_accepts_what_is_not_finite_or_out_of_reach(name):
    for value in [*HOSTILE, "1e308"]:
        with pytest.raises(click.BadParameter, match=r"expected a .*number .*, got"):
            OPTIONS[name].type_cast_value(click.Context(cli), value)


def test_the_error_names_the_option():
    with pytest.raises(click.UsageError) as error:
        cli.commands["fit"].make_context("fit", ["text", "-o", "v", "--checkpoint-every", "nan"])
    assert "'--checkpoint-every': expected a number from 0.0" in error.value.format_message()


def test_every_numeric_option_accepts_its_default():
    for param in OPTIONS.values():
        if isinstance(param.default, int | float):
            assert param.type_cast_value(click.Context(cli), param.default) == param.default


def test_no_setting_accepts_what_is_not_finite():
    for name in [name for name in FIELDS if isinstance(ROWS[name].parser, Number)]:
        for value in [*HOSTILE, float("nan"), float("inf")] + ["1e308"] * (name == "seconds"):
            with pytest.raises(ConfigError, match=f"{name}: expected a "):
                validated({name: value})


@pytest.mark.parametrize("name", objectives())
def test_no_option_of_an_objective_accepts_what_is_not_finite(name):
    numbers = [key for key, default in option_defaults(name).items() if type(default) in (int, float)]
    for key, value in itertools.product(numbers, ["nan", "-inf", 1e308, -1e308]):
        with pytest.raises(ConfigError, match=key):
            check_options(Settings(objective=name, options=checked_options(name, {key: value})))


def test_a_negative_zero_is_zero():
    assert str(validated({"sample": "-0.0", "min_alpha": "-0"})).count("-0.0") == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [("checkpoint_every", float("nan")), ("checkpoint_every", 1e308), ("progress_every", -1), ("sync_words", 0)],
)
def test_the_numbers_of_a_run_folder_are_checked_like_those_of_the_command_line(tmp_path, name, value):
    asked = {**vars(fit_request.FitRequest(["text"], {}, "vectors.txt")), name: value}
    about = Config.new(**json.loads(json.dumps({"cwd": "/", "request": asked, "settings": vars(Settings())})))
    with pytest.raises(DataError, match=f"config.json is damaged: {name} is"):
        resume.asked_before(tmp_path, about)
