"""The package's metadata: dependencies and the page about them, classifiers, and the description for an index."""

import ast
import re
import shlex
import subprocess
import sys
import tomllib
import zipfile
from functools import cache
from pathlib import Path

import click
from markdown_it import MarkdownIt
from packaging.requirements import Requirement
from trove_classifiers import classifiers

import w2vtrain
from w2vtrain.cli import cli
from w2vtrain.embeddings.bundled import bundled_sets

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DEPENDENCIES = {found.name: found for found in map(Requirement, PROJECT["dependencies"])}
EXTRAS = {
    name: {found.name: found for found in map(Requirement, lines)}
    for name, lines in PROJECT["optional-dependencies"].items()
    if name != "dev"
}
DISTRIBUTIONS = {"ot": "POT", "umap": "umap-learn"}
"""Names of distributions whose modules have another name."""
COMPARED = {"fasttext"}
"""Packages that `bench` measures if the user has installed them."""
PAGE = (ROOT / "docs/reference/dependencies.md").read_text(encoding="utf-8")


def imported(tree: ast.AST) -> set[str]:
    """Return the distributions of the packages that the code in a tree imports, without the standard library's."""
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    tops = {name.partition(".")[0] for name in names} - {"w2vtrain", *sys.stdlib_module_names}
    return {DISTRIBUTIONS.get(top, top) for top in tops}


@cache
def trees() -> list[ast.Module]:
    return [ast.parse(path.read_text(encoding="utf-8")) for path in Path(w2vtrain.__file__).parent.rglob("*.py")]


def test_every_imported_package_is_a_dependency_or_an_extra_and_every_dependency_is_imported():
    extra = {name for found in EXTRAS.values() for name in found}
    used = set().union(*map(imported, trees())) - COMPARED
    assert set(DEPENDENCIES) <= used
    assert used - {"llvmlite"} <= set(DEPENDENCIES) | extra  # llvmlite is a part of Numba


def test_extras_are_imported_only_by_the_functions_that_need_them():
    extra = {name for found in EXTRAS.values() for name in found}
    for tree in trees():
        outside = [node for node in tree.body if not isinstance(node, ast.FunctionDef | ast.ClassDef)]
        assert not imported(ast.Module(outside, [])) & extra


def rows(extra: bool) -> list[list[str]]:
    """Return the cells of the table of the extras, whose first column is the extra, or of the other table."""
    found = [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in PAGE.splitlines() if line[:3] == "| `"]
    return [row for row in found if (row[0] in EXTRAS) == extra]


def same_versions(text: str, requirement: Requirement) -> bool:
    return set(text.split(",")) == {str(one) for one in requirement.specifier}


def test_the_page_lists_every_dependency_with_its_versions():
    listed = {row[0]: row for row in rows(extra=False)}
    assert set(listed) == set(DEPENDENCIES)
    assert all(same_versions(row[1], DEPENDENCIES[name]) for name, row in listed.items())


def test_the_page_lists_every_extra_with_its_versions():
    listed = {row[0]: row for row in rows(extra=True)}
    assert set(listed) == set(EXTRAS)
    assert all(same_versions(row[2], EXTRAS[name][row[1]]) for name, row in listed.items())


def test_classifiers_exist_and_name_the_supported_versions_of_python():
    assert set(PROJECT["classifiers"]) <= classifiers
    minors = [int(m[1]) for line in PROJECT["classifiers"] if (m := re.search(r":: Python :: 3\.(\d+)$", line))]
    assert minors == list(range(minors[0], minors[-1] + 1))
    assert PROJECT["requires-python"] == f">=3.{minors[0]}"


def test_the_citation_has_the_version_of_the_package():
    assert f"\nversion: {PROJECT['version']}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_description_of_the_package_needs_no_other_file():
    """A package index shows it without the repository, so it has neither links nor pictures."""
    assert PROJECT["readme"]["content-type"] == "text/markdown"
    inline = [child for token in MarkdownIt().parse(PROJECT["readme"]["text"]) for child in token.children or []]
    assert inline
    assert not {"link_open", "image", "html_inline"} & {token.type for token in inline}


def test_the_description_shows_commands_and_extras_that_exist():
    text = PROJECT["readme"]["text"]
    (shell,) = (token.content for token in MarkdownIt().parse(text) if token.info == "sh")
    for line in shell.splitlines():
        program, name, *words = shlex.split(line)
        assert program == "w2vtrain"
        command = cli.commands[name]
        assert isinstance(command, click.Command)
        command.make_context(name, words).close()
    (code,) = (token.content for token in MarkdownIt().parse(text) if token.info == "python")
    for name in re.findall(r"w2vtrain\.(\w+)", code):
        assert hasattr(w2vtrain, name)
    extras = text.partition("Extras: ")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", extras)) - (set(cli.commands) - set(EXTRAS)) == set(EXTRAS)


def test_a_wheel_has_the_evaluation_sets_with_their_licenses_and_finds_them(tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    show = (
        "from w2vtrain.embeddings.bundled import bundled_sets; print(*[one.path for one in bundled_sets()], sep='\\n')"
    )
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, 'installed'); {show}"]
    shown = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True, encoding="utf-8").stdout
    found = [tmp_path / path for path in shown.splitlines()]
    assert all(path.is_relative_to(tmp_path / "installed/w2vtrain/data/eval") for path in found)
    here = [one.path for one in bundled_sets()]
    assert [path.read_bytes() for path in found] == [path.read_bytes() for path in here]
    assert {path.name for path in here} == {path.name for path in (ROOT / "data/eval").iterdir()} - {"README.md"}
    assert (found[0].parent / "README.md").is_file()
