"""The code of the guides, and helpers to change it."""

import re

import snippets

PAGES = ("adding-an-objective.md", "adding-an-architecture.md")


def blocks(page, language):
    """Return the code blocks of one language on a page, in their order."""
    return [block.text for block in snippets.blocks(f"docs/{page}") if block.language == language]


def modules(page):
    """Return the Python blocks of a page by file name, which is the first line of a block."""
    named = (code.split("\n", 1) for code in blocks(page, "python"))
    return {first.removeprefix("# "): code for first, code in named}


OBJECTIVES, ARCHITECTURES = (modules(page) for page in PAGES)
OBJECTIVES["smoothed.py"] = (snippets.ROOT / "examples/smoothed.py").read_text(encoding="utf-8")
RANKING, SMOOTHED, SIDED = OBJECTIVES["ranking.py"], OBJECTIVES["smoothed.py"], ARCHITECTURES["sided.py"]


def changed(code, *pairs):
    """Return the code with each old text replaced by a new one. Raises AssertionError if an old text is missing."""
    for old, new in pairs:
        assert old in code, old
        code = code.replace(old, new)
    return code


def without(code, method, instead=""):
    """Return the code without a method and its decorator, or with `instead` in its place."""
    found, count = re.subn(rf"(    @\w+\n)?    def {method}\(.*?\n(?=\n    [@d]|\n\n\S)", instead, code, flags=re.S)
    assert count == 1, method
    return found


def allowed(folder, code, kind, name="mine.py"):
    """Save the code of an objective or architecture, allow it to run, and return its name. kind: `objectives`, ..."""
    (folder / name).write_text(code, encoding="utf-8")
    kind.allow_code(str(folder / name))
    return str(folder / name)
