"""Every command and snippet of README.md and docs/ runs as it is shown.

The modules that docs/adding-*.md build step by step are tested by test_docs.py.
"""

import re
import shlex
import subprocess
import sys
import tomllib

import click
import pytest
from snippets import LONG, PAGES, ROOT, blocks, checkout, commands

from w2vtrain.cli import cli
from w2vtrain.config import validated

GUIDED = {"docs/adding-an-objective.md", "docs/adding-an-architecture.md"}
"""Pages that test_docs.py runs."""
ELSEWHERE = ("make ", "pip install .")
"""Commands that install: CI runs `make`, which installs as `pip install .` does."""
LANGUAGES = {"sh", "python", "toml", "text", "markdown", "{toctree}", "{eval-rst}", "{include} "}


def pages_with(*languages: str) -> list[str]:
    return [p for p in PAGES if p not in GUIDED and any(b.language in languages for b in blocks(p))]


@pytest.mark.parametrize("page", PAGES)
def test_every_code_block_names_a_language_that_is_tested_or_shows_output(page):
    for block in blocks(page):
        assert block.language in LANGUAGES or block.language.startswith("{include}"), block


@pytest.mark.parametrize("page", pages_with("sh", "python"))
def test_commands_and_python_of_a_page_run_in_order(page, tmp_path):
    """In one folder per page, since later commands use what earlier ones wrote."""
    environment = checkout(tmp_path)
    for block in blocks(page):
        if block.language == "python":
            if "from gensim" in block.text:
                pytest.importorskip("gensim")
            done = subprocess.run(
                [sys.executable, "-c", block.text], cwd=tmp_path, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{block.text}\n{done.stderr}"
        if block.language != "sh" or block.text.startswith(LONG):
            continue
        for command in commands(block):
            if command.startswith(ELSEWHERE):
                continue
            done = subprocess.run(
                ["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
            )
            # `timeout` stops a run to show how it resumes: 124 means that it did.
            assert done.returncode == (124 if command.startswith("timeout ") else 0), f"{command}\n{done.stderr}"


def long_commands() -> list[str]:
    found = [b for p in PAGES for b in blocks(p) if b.language == "sh" and b.text.startswith(LONG)]
    return [line for block in found for line in commands(block)]


@pytest.mark.parametrize("command", long_commands())
def test_long_commands_parse(command):
    """Options, choices and ranges are checked; files are not opened."""
    program, *words = shlex.split(command)
    if program == "make":
        assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
        return
    assert program == "w2vtrain"
    parser: click.Command = cli
    while isinstance(parser, click.Group):
        name, *words = words
        parser = parser.commands[name]
    with parser.make_context(name, words):
        pass


@pytest.mark.parametrize("page", pages_with("toml"))
def test_toml_snippets_are_valid_settings(page):
    for block in blocks(page):
        if block.language == "toml":
            values = tomllib.loads(block.text)
            if isinstance(objective := values.get("objective"), dict):
                values |= {"objective": objective["name"], "options": objective.get("options", {})}
            validated(values)


def test_installing_commands_are_verbs_of_the_makefile():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    shown = {
        w for p in PAGES for b in blocks(p) if b.language == "sh" for w in re.findall(r"^make ([\w-]+)", b.text, re.M)
    }
    assert {"demo", "test"} <= shown
    for verb in shown:
        assert re.search(rf"^{verb}:", makefile, re.M), verb
