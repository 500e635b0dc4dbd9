"""The generated pages of docs/reference are what `make reference` would write now."""

import importlib.util
from pathlib import Path

import pytest

from w2vtrain import errors
from w2vtrain.architectures import architectures
from w2vtrain.config import ROWS
from w2vtrain.formats.vector_formats import formats
from w2vtrain.objectives import objectives

ROOT = Path(__file__).parent.parent


def generator():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATOR = generator()
PAGES = GENERATOR.pages()


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_up_to_date(name):
    written = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert written == PAGES[name], "run `make reference`"


def test_every_generated_page_has_a_template():
    found = [
        path for path in (ROOT / "docs").rglob("[!_]*.md") if path.read_text("utf-8").startswith("<!-- Written by")
    ]
    assert {path.relative_to(ROOT / "docs").as_posix() for path in found} == set(PAGES)


def test_the_reference_lists_every_setting_objective_and_format():
    for name in set(ROWS) - {"options"}:
        assert f"`--{name.replace('_', '-')}`" in PAGES["reference/settings.md"], name
    for name in objectives():
        assert f"\n## {name}\n" in PAGES["reference/objectives.md"], name
    for name in architectures():
        assert f"\n## {name}\n" in PAGES["reference/architectures.md"], name
    for name, found in formats().items():
        assert f"| `{name}` |" in PAGES["reference/formats.md"]
        assert all(f"`{suffix}`" in PAGES["reference/formats.md"] for suffix in found.suffixes)


def test_every_exit_code_of_an_error_has_a_meaning():
    classes = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.W2VError)]
    assert {c.exit_code for c in classes} | {0, 130} == set(errors.EXIT_CODES)
