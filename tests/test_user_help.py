"""What users read names no source file: the help of commands, objectives, architectures and Python, and their pages."""

import inspect
import pydoc
import re
from pathlib import Path

import click
import pytest

import w2vtrain
from w2vtrain.architectures import architecture_class, architectures
from w2vtrain.cli import cli
from w2vtrain.objectives import objective_class, objectives

ROOT = Path(__file__).parent.parent
MODULES = {path.name for path in (ROOT / "w2vtrain").rglob("*.py")} - {"__init__.py", "__main__.py"}
PAGES = [
    "index.md", "start.md", "gensim.md", "how-word2vec-learns.md",
    *(path.relative_to(ROOT / "docs").as_posix() for path in sorted((ROOT / "docs").glob("[gr]*/[!_]*.md"))),
]  # fmt: skip
"""The pages for users, in docs: those that one starts with, the guides and the reference."""


def source_files(text: str) -> list[str]:
    """Return the names in a text that are those of modules of the package. Users' own modules have other names."""
    return [name for name in re.findall(r"[\w./-]+\.py\b", text) if name.rpartition("/")[2] in MODULES]


def commands(command: click.Command, name: str = "w2vtrain") -> dict[str, click.Command]:
    """Return a command and all commands below it, by name."""
    found = {name: command}
    for below, one in getattr(command, "commands", {}).items():
        found |= commands(one, f"{name} {below}")
    return found


@pytest.mark.parametrize("name", commands(cli))
def test_the_help_of_a_command_names_no_source_file(name):
    command = commands(cli)[name]
    text = command.get_help(click.Context(command, info_name=name))
    assert "Usage: " in text
    assert not source_files(text)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_for_users_names_no_source_file(page):
    assert not source_files((ROOT / "docs" / page).read_text(encoding="utf-8"))


def test_the_pages_for_users_include_the_guides_and_the_reference():
    assert {"guides/evaluation.md", "reference/settings.md", "reference/python.md"} <= set(PAGES)


@pytest.mark.parametrize("name", w2vtrain.__all__)
def test_the_help_of_a_public_name_names_no_source_file(name):
    text = pydoc.plain(pydoc.render_doc(getattr(w2vtrain, name)))
    assert not source_files(text)


@pytest.mark.parametrize("name", [*objectives(), *architectures()])
def test_the_explanation_of_an_objective_or_architecture_names_no_source_file(name):
    cls = objective_class(name) if name in objectives() else architecture_class(name)
    assert not source_files(f"{inspect.getdoc(cls)}\n{inspect.getdoc(cls.build)}")


def test_names_of_modules_are_found_and_those_of_users_modules_are_not():
    assert source_files("see probability/sampling.py, or w2vtrain/config.py") == [
        "probability/sampling.py",
        "w2vtrain/config.py",
    ]
    assert source_files("a file, my_objective.py, and python tests/gensim_queries.py") == []
