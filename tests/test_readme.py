"""README.md: its length, its picture, and the flags and files that it names; and the links of all pages."""

import re
import subprocess
import sys
from pathlib import Path

from w2vtrain.config import FIELDS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def prose(path):
    """Return the text of a page without its code blocks."""
    return re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)


def anchors(path):
    return {
        re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.*)", prose(path), re.M)
    }


def test_links_and_pictures_of_all_pages_exist():
    """tests/test_site.py, which is slow, follows the links of the pages that Sphinx builds."""
    found = 0
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target, anchor in re.findall(r"\]\((?!https?:|mailto:)([^)#\s]*)#?([^)\s]*)\)", prose(page)):
            path, found = (page.parent / target if target else page), found + 1
            assert path.exists(), f"{page.name}: {target}"
            assert not anchor or path.suffix != ".md" or anchor in anchors(path), f"{page.name}: {target}#{anchor}"
    assert found > 250


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
