"""README.md: its length, its links, its picture, and the flags and files that it names."""

import re
import subprocess
import sys
from pathlib import Path

from w2vtrain.config import FIELDS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_has_at_most_110_lines_and_one_picture():
    assert len(README.splitlines()) <= 110
    assert len(re.findall(r"^!\[", README, re.M)) == 1


def test_links_and_pictures_exist():
    targets = re.findall(r"\]\(([^)#]+)", README)
    assert len(targets) > 15
    for target in targets:
        if target.startswith("http"):
            continue
        assert (ROOT / target).is_file(), target


def test_flags_and_configurations_exist():
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
    for name in re.findall(r"configs/([\w-]+\.toml)", README):
        assert (ROOT / "configs" / name).exists(), name
