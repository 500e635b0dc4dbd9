"""The commands that the README shows, run as they stand; and what it says about the package."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from w2vtrain import errors
from w2vtrain.cli import CODES
from w2vtrain.config import FIELDS
from w2vtrain.objectives import objectives

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(sh|python|toml)\n(.*?)^```", README, re.M | re.S)
# What installs, trains for minutes or is this test itself.
ELSEWHERE = ("make ", "git ", "pip ", "source ")


def shell_blocks():
    return [text for kind, text in BLOCKS if kind == "sh"]


def commands():
    lines = "".join(shell_blocks()).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.startswith(("#", *ELSEWHERE))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder that looks like a checkout, where files may be written."""
    path = tmp_path_factory.mktemp("readme")
    for name in ("data", "configs", "cli.py", "w2vtrain"):
        (path / name).symlink_to(ROOT / name)
    return path


def test_commands_run_as_shown(folder):
    """In order, since later ones use what earlier ones wrote."""
    found = commands()
    assert len(found) >= 8
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for command in found:
        done = subprocess.run(
            command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"


def test_python_blocks_run(folder, monkeypatch):
    monkeypatch.chdir(folder)
    blocks = [text for kind, text in BLOCKS if kind == "python"]
    assert blocks
    for text in blocks:
        exec(compile(text, "README.md", "exec"), {})


def test_two_commands_do_everything():
    makefile = (ROOT / "Makefile").read_text()
    for verb in ("demo", "test"):
        assert re.search(rf"^make {verb}\b", README, re.M)
        assert re.search(rf"^{verb}: install", makefile, re.M)


def test_every_objective_and_exit_code_is_documented():
    for name in objectives():
        assert f"| `{name}` |" in README, name
    codes = {c.exit_code for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.W2VError)}
    page = (ROOT / "docs/reliability.md").read_text(encoding="utf-8")
    for code in codes | {0, 130}:
        assert re.search(rf"^\| {code} \|", README, re.M), code
        assert re.search(rf"^\| {code} \|", page, re.M), code
        assert re.search(rf"\b{code} [a-z]", CODES), code


def test_configurations_and_flags_exist():
    for name in re.findall(r"configs/([\w-]+\.toml)", README):
        assert (ROOT / "configs" / name).exists(), name
    shown = set(re.findall(r"(?<![\w-])--([a-z][\w-]+)", README))
    assert shown, "no flag is shown"
    help_text = subprocess.run(
        [sys.executable, "-c", "from w2vtrain.cli import cli\nimport click\n"
         "def walk(c):\n"
         "    for p in c.params:\n"
         "        print(*p.opts, *p.secondary_opts)\n"
         "    for s in getattr(c, 'commands', {}).values():\n        walk(s)\n"
         "walk(cli)"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    known = {flag[2:] for flag in help_text.split() if flag.startswith("--")} | {"help", "version"}
    assert shown <= known, shown - known
    assert {name.replace("_", "-") for name in FIELDS if name != "options"} <= known
