"""docs/architecture.md and the figure of the data flow name only modules and functions that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")


def test_names_on_the_architecture_page_exist():
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
