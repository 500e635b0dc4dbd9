"""The survey of the package structure: a small package whose figures are counted by hand, and this checkout."""

import re
import subprocess
import sys
from pathlib import Path

import house
import pytest

ROOT = Path(__file__).parent.parent
SOURCES = {
    "w2vtrain/__init__.py": '"""A package."""\n\n__version__ = "1"\n',
    "w2vtrain/errors.py": '"""Errors."""\n\n\nclass Bad(Exception):\n    """Bad."""\n',
    "w2vtrain/text/__init__.py": '"""Text."""\n',
    "w2vtrain/text/words.py": (
        '"""Words.\n\nNo sentences.\n"""\n\nfrom w2vtrain import __version__, errors\n\n# why\n\n\n'
        "class Words:\n    def count(self, a, /, b, *rest, c=1, **more):\n        def inner(x): return x\n"
        "        return inner(a)  # code\n\n    def none(self): ...\n"
    ),
    "w2vtrain/text/vocab.py": (
        "import numpy\nimport w2vtrain.text.words\nfrom ..errors import Bad\n\n\ndef load(cls_, self):\n    return 1\n"
    ),
    "w2vtrain/top.py": "from .text.words import Words\nfrom .text import vocab\nfrom . import errors\nX = '''a\nb'''\n",
    "tests/test_layers.py": 'ORDER = ["errors", ["text"], ["top", "__init__"]]\n',
}


@pytest.fixture
def checkout(tmp_path):
    """Return a function that writes the small package, with some files changed, and surveys it."""

    def write(**changed):
        for name, text in (SOURCES | changed).items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return house.survey(tmp_path)

    return write


def test_modules_and_imports_of_a_small_package(checkout):
    found = checkout()
    assert found.folders() == {"__init__": 1, "errors": 1, "text": 3, "top": 1}
    assert found.arrows == {
        ("text.words", "errors"), ("text.vocab", "text.words"), ("text.vocab", "errors"), ("top", "text.words"),
        ("top", "text.vocab"), ("top", "errors"),
    }  # fmt: skip
    assert found.folder_arrows() == {("text", "errors"), ("top", "text"), ("top", "errors")}
    assert not found.upward()
    assert found.ranks == {"errors": 0, "text": 1, "top": 2, "__init__": 2}


def test_an_import_from_a_higher_folder_is_reported_as_upward(checkout):
    changed = 'def late():\n    """Import what is above."""\n    from w2vtrain.top import X\n    return X\n'
    found = checkout(**{"w2vtrain/errors.py": changed})
    assert found.upward() == {("errors", "top")}
    assert "upward: errors -> top" in house.details("small", found)


def test_functions_and_lines_of_a_small_package(checkout):
    found = checkout()
    assert {(f.name, f.lines, f.parameters) for f in found.functions} == {
        ("count", 3, 5), ("inner", 1, 1), ("none", 1, 0), ("load", 2, 2),
    }  # fmt: skip
    assert found.modules["text.words"] == 16
    assert (found.lines.code, found.lines.docstrings, found.lines.comments) == (18, 8, 1)
    shown = house.figures(found)
    assert shown["functions of more than 40 lines"] == "0 (0.0%)"
    assert shown["parameters: median, 95th percentile, maximum"] == "1.5, 5, 5"


def test_percentile_uses_the_nearest_rank():
    assert [house.percentile(list(range(1, 101)), share) for share in (50, 95, 100)] == [50, 95, 100]
    assert house.percentile([3], 95) == 3


@pytest.mark.slow
def test_two_checkouts_are_shown_side_by_side(checkout, tmp_path):
    checkout()
    command = [sys.executable, str(ROOT / "tests/house.py"), str(tmp_path), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"|  | {tmp_path} | {ROOT} |" in done.stdout
    assert f"{ROOT}: modules per folder: architectures" in done.stdout
    assert "upward" not in done.stdout


PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")


def folders():
    """Return the folders of the package in their order."""
    ranks = house.read_ranks(ROOT / "tests/test_layers.py")
    return [name for name in ranks if (ROOT / "w2vtrain" / name).is_dir()]


def test_docs_and_contributing_list_the_folders_in_their_order():
    assert re.findall(r"^\*\*`(\w+)/`\*\*", PAGE, re.M) == folders()
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)/` \|", contributing, re.M) == folders()


def test_links_and_names_on_the_architecture_page_exist():
    links = re.findall(r"\]\((\.\./[^)#]+|[\w-]+\.md)\)", PAGE)
    assert len(links) > 20
    assert not [link for link in links if not (ROOT / "docs" / link).exists()]
    places = re.findall(r"\b(\w+/\w+)\.py, `([\w.]+)`", PAGE)
    assert len(places) > 8
    for module, name in places:
        text = (ROOT / f"w2vtrain/{module}.py").read_text(encoding="utf-8")
        for part in name.split("."):
            assert re.search(rf"\b(def|class) {part}\b", text), f"{module}.py has no {name}"


def test_modules_in_the_figure_of_the_data_flow_exist():
    figure = (ROOT / "docs/data-flow.svg").read_text(encoding="utf-8")
    named = re.findall(r'<text class="module"[^>]*>([\w/.]+)</text>', figure)
    assert len(named) > 8
    assert not [name for name in named if not (ROOT / "w2vtrain" / name).exists()]


def numbers(cell):
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", re.sub(r"(?<=\d),(?=\d)", "", cell))]


def test_the_architecture_page_has_the_figures_of_the_survey():
    """Each figure may be 3% off, so that a small change need not correct the page; those that are 0 may not."""
    rows = re.findall(r"^\| ([^|]+) \| [\d,]+(?: \([\d.]+%\))?(?:, \d+)* \| ([^|]+) \|$", PAGE, re.M)
    figures = house.figures(house.survey(ROOT))
    assert [name for name, _ in rows] == list(figures)
    for name, shown in rows:
        near = [pytest.approx(figure, rel=0.03, abs=3 if figure else 0) for figure in numbers(figures[name])]
        assert numbers(shown) == near, (name, figures[name])
