"""gensim's own tests pass with w2vtrain's classes, except for those that gensim_suite.py lists with a reason."""

import subprocess
import sys
from pathlib import Path

import gensim_suite
import pytest


@pytest.mark.slow
@pytest.mark.parametrize("module", gensim_suite.REPLACEMENTS)
def test_exactly_the_listed_tests_of_gensim_fail(module):
    pytest.importorskip("gensim", reason="runs gensim's tests, and gensim is not installed")
    done = subprocess.run(
        [sys.executable, gensim_suite.__file__, module], capture_output=True, text=True, check=False, cwd=Path.cwd()
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{module}: " in done.stdout


def test_a_failure_that_is_not_listed_and_a_listed_test_that_passes_are_both_reported(monkeypatch):
    monkeypatch.setattr(gensim_suite, "EXPECTED", {"m.C.listed": "why", "m.C.fixed": "why", "other.C.x": "why"})
    outcomes = {"m.C.listed": "E: x", "m.C.fixed": "", "m.C.new": "E: y", "m.C.skip": "skipped: z", "m.C.good": ""}
    assert list(gensim_suite.surprises(outcomes, "m")) == [
        "m.C.new fails: E: y", "m.C.fixed does not fail: remove it from EXPECTED",
    ]  # fmt: skip
    assert all(reason for reason in gensim_suite.EXPECTED.values())


def test_the_documentation_lists_the_tests_that_fail():
    page = Path(__file__).parents[1].joinpath("docs/reference/gensim.md").read_text(encoding="utf-8")
    listed = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `test_")}
    assert listed == set(gensim_suite.EXPECTED)
