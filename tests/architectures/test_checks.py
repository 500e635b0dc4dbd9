"""The checks of architectures find the errors in broken ones, and none in the shipped ones."""

import pytest
from pages import SIDED, allowed, changed

import w2vtrain
from w2vtrain import architectures
from w2vtrain.errors import BelowThreshold
from w2vtrain.leaves.compare import architecture_checks
from w2vtrain.leaves.compare.architecture_checks import findings
from w2vtrain.leaves.compare.objective_steps import Finding

IN_PLACE = """    @staticmethod
    def in_place() -> bool:
        return True

"""


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    """Skip the check that an architecture compiles: it takes a minute, and tests/test_docs.py runs it."""
    monkeypatch.setattr(architecture_checks, "compiles", lambda *_: Finding("compiles", True, "0 s"))


def failures(folder, code, bias=False):
    return [finding.claim for finding in findings(allowed(folder, code, architectures), bias) if not finding.holds]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("name", architectures.architectures())
def test_shipped_architectures_pass_all_checks(name, bias):
    found = list(findings(name, bias))
    assert len(found) >= 4
    assert not [finding for finding in found if not finding.holds]


def test_the_example_architecture_of_the_guide_passes_all_checks(tmp_path):
    assert failures(tmp_path, SIDED) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("row[c] += change * side[c]", "row[c] -= change * side[c]", "of rows follows the negative gradient"),
        ("row[c] += change * side[c]", "row[c] += change", "of rows follows the negative gradient"),
        ("row[c] += change * side[c]", "pass", "of rows follows the negative gradient"),
        ("slope = change * row[c]", "slope = change", "of sides follows the negative gradient"),
        ("float32(SIDE_RATE) * slope", "float32(SIDE_RATE) * slope + step * (c == 7)", "padding of sides stays zero"),
        ("side[c] += float32(SIDE_RATE) * slope", "side[c] += float32(SIDE_RATE) * change * row[c]", "of all arrays"),
        ("hidden[0, c] = side[c] * row[c]", "hidden[0, c] = np.nan", "the hidden vector is finite"),
    ],
)
def test_errors_in_an_architecture_are_found(tmp_path, old, new, expected):
    assert any(what.endswith(expected) for what in failures(tmp_path, changed(SIDED, (old, new))))


def test_check_architecture_raises_an_error_that_names_the_checks_that_fail(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(SIDED)
    assert all(finding.holds for finding in w2vtrain.check_architecture(str(path)))
    path = tmp_path / "wrong.py"
    path.write_text(changed(SIDED, ("hidden[0, c] = side[c] * row[c]", "hidden[0, c] = np.nan")))
    with pytest.raises(
        BelowThreshold, match=r"wrong\.py fails .* checks: .*the hidden vector is finite, with biases: 6 "
    ):
        w2vtrain.check_architecture(str(path))


def test_in_place_fails_the_check_if_the_hidden_vector_is_not_the_row(tmp_path):
    both = changed(SIDED, ("    @staticmethod\n    def like", IN_PLACE + "    @staticmethod\n    def like"))
    found = failures(tmp_path, both)
    assert any(what.endswith("the hidden vector is the row of its context word") for what in found)
