"""The checks of architectures find what is wrong with one, and nothing wrong with those that are shipped."""

import pytest
from pages import SIDED, changed

from w2vtrain import architectures
from w2vtrain.evaluation import architecture_checks
from w2vtrain.evaluation.architecture_checks import check
from w2vtrain.evaluation.objective_checks import Finding

IN_PLACE = """    @staticmethod
    def in_place() -> bool:
        return True

"""


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    """Compiling is checked by tests/test_docs.py: it takes a minute."""
    monkeypatch.setattr(architecture_checks, "compiles", lambda *_: Finding("compiles", True, "0 s"))


def failures(folder, code, bias=False):
    path = folder / "mine.py"
    path.write_text(code)
    architectures.allow_code(str(path))
    return [finding.what for finding in check(str(path), bias) if not finding.holds]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("name", architectures.architectures())
def test_shipped_architectures_pass(name, bias):
    findings = list(check(name, bias))
    assert len(findings) >= 4
    assert not [finding for finding in findings if not finding.holds]


def test_the_architecture_of_the_guide_passes(tmp_path):
    assert failures(tmp_path, SIDED) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("row[c] += change * side[c]", "row[c] -= change * side[c]", "rows learn by minus the slope"),
        ("row[c] += change * side[c]", "row[c] += change", "rows learn by minus the slope"),
        ("row[c] += change * side[c]", "pass", "rows learn by minus the slope"),
        ("slope = change * row[c]", "slope = change", "sides learn by minus the slope"),
        ("float32(SIDE_RATE) * slope", "float32(SIDE_RATE) * slope + step * (c == 7)", "padding of sides stays zero"),
        ("hidden[0, c] = side[c] * row[c]", "hidden[0, c] = np.nan", "the hidden vector is finite"),
    ],
)
def test_what_is_wrong_is_found(tmp_path, old, new, expected):
    assert any(what.endswith(expected) for what in failures(tmp_path, changed(SIDED, (old, new))))


def test_what_says_in_place_must_be_the_row(tmp_path):
    both = changed(SIDED, ("    @staticmethod\n    def like", IN_PLACE + "    @staticmethod\n    def like"))
    found = failures(tmp_path, both)
    assert any(what.endswith("the hidden vector is the row of its context word") for what in found)
