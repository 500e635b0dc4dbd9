"""The code of docs/adding-*.md runs exactly as shown: as a user's own modules, and in a copy of the package."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import forked
import pytest
from pages import ARCHITECTURES, OBJECTIVES, PAGES, SIDED, SMOOTHED, blocks, changed

from w2vtrain.leaves.compare import architecture_checks
from w2vtrain.leaves.compare.objective_steps import Finding

ROOT = Path(__file__).parent.parent
ADDED = "ranking or smoothed or sided"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the modules of both guides, the examples and the beginning of the demo corpus."""
    folder = tmp_path_factory.mktemp("docs")
    for name, code in (OBJECTIVES | ARCHITECTURES).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(code, encoding="utf-8")
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / "data").mkdir()
    text = (ROOT / "data/simplewiki.txt").read_text(encoding="utf-8")
    (folder / "data/simplewiki.txt").write_text(text[:150_000], encoding="utf-8")
    return folder


def run(words, folder):
    return forked.run([sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("page", "number"),
    [
        pytest.param(page, k, marks=pytest.mark.slow if k == 0 else ())
        for page in PAGES
        for k in range(len(blocks(page, "sh")))
    ],
)
def test_the_commands_of_the_guides_succeed(folder, page, number):
    """They include `objectives check` and `architectures check`, whose checks must all pass."""
    commands = blocks(page, "sh")[number].splitlines()
    assert commands
    for line in commands:
        done = run(shlex.split(line), folder)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        assert "FAIL" not in done.stdout
        if " check " in line:
            assert done.stdout.count("  ok  ") >= 10
        elif " fit " in line:
            out = re.search(r"-o (\S+)", line)[1]
            first, rest = (folder / out).read_text(encoding="utf-8").split("\n", 1)
            assert int(first.split()[0]) == rest.count("\n") > 500


def test_objectives_check_finds_a_wrong_step_of_a_block_objective(folder, w2vtrain_here):
    wrong = changed(SMOOTHED, ("add_product(self.output, g, H, lr)", "add_product(self.output, g, H, 2 * lr)"))
    (folder / "wrong_step.py").write_text(wrong, encoding="utf-8")
    code, out, said = w2vtrain_here(["objectives", "check", "./wrong_step.py"], folder)
    assert code == 1
    assert "FAIL  the update of output is the negative gradient of the loss" in out
    assert re.fullmatch(r"w2vtrain: error: [2-9] checks of \./wrong_step\.py failed", said.strip())


def test_architectures_check_finds_a_wrong_gradient(folder, w2vtrain_here, monkeypatch):
    monkeypatch.setattr(architecture_checks, "compiles", lambda *_: Finding("compiles", True, "0 s"))
    wrong = changed(SIDED, ("row[c] += change * side[c]", "row[c] += change"))
    (folder / "wrong_sided.py").write_text(wrong, encoding="utf-8")
    code, out, _ = w2vtrain_here(["architectures", "check", "./wrong_sided.py"], folder)
    assert code == 1
    assert "FAIL  the update of rows follows the negative gradient" in out


@pytest.fixture(scope="module")
def inside(tmp_path_factory):
    """Return a copy of the repository with the modules and references of both guides added, as the guides say."""
    copy = tmp_path_factory.mktemp("inside")
    for name in ("w2vtrain", "tests", "docs", "configs", "data", "examples", "benchmarks"):
        if (ROOT / name).exists():
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", ".*", "corpora"))
    for path in ROOT.glob("*"):
        if path.is_file():
            shutil.copy(path, copy)
    for package, modules in (("objectives", OBJECTIVES), ("architectures", ARCHITECTURES)):
        for name, code in modules.items():
            (copy / (name if "/" in name else f"w2vtrain/{package}/{name}")).write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "docs/generate.py"], cwd=copy, env={**os.environ, "PYTHONPATH": str(copy)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return copy


def passes(words, copy, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(copy))
    done = run(words, copy)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow
def test_the_guides_modules_pass_the_linter_in_the_package(inside, monkeypatch):
    passes(["ruff", "check", "--no-cache", "."], inside, monkeypatch)
    passes(["ruff", "format", "--no-cache", "--check", "."], inside, monkeypatch)
    assert not any("noqa" in code for code in (OBJECTIVES | ARCHITECTURES).values())


@pytest.mark.slow
def test_the_guides_modules_are_listed_and_documented_in_the_package(inside, monkeypatch):
    listed = passes(["w2vtrain", "objectives"], inside, monkeypatch)
    assert {"ranking", "smoothed"} < {line.split()[0] for line in listed.splitlines() if line}
    known = "from w2vtrain.architectures import architectures; print(*architectures())"
    done = subprocess.run([sys.executable, "-c", known], cwd=inside, capture_output=True, text=True, check=True)
    assert "sided" in done.stdout.split()
    pages = inside / "docs/reference"
    for name, page in {"ranking": "objectives", "smoothed": "objectives", "sided": "architectures"}.items():
        assert f"\n## {name}\n" in (pages / f"{page}.md").read_text(encoding="utf-8")
    passes(
        ["pytest", "-q", "-p", "no:cacheprovider", "tests/test_layers.py", "-k", "imports_only"], inside, monkeypatch
    )


@pytest.mark.slow
def test_the_guides_modules_pass_all_tests_of_the_package(inside, monkeypatch):
    """These are the tests of the new modules, and the tests that look at all objectives or architectures at once."""
    passes(["mypy", "--no-incremental"], inside, monkeypatch)
    tests = ["tests/objectives", "tests/architectures", "tests/engines", "tests/training", "tests/commands"]
    words = ["pytest", "-q", "-p", "no:cacheprovider", *tests]
    out = passes([*words, "-k", ADDED], inside, monkeypatch)
    assert int(re.search(r"(\d+) passed", out)[1]) > 100
    passes([*words[:4], "tests/test_reference.py"], inside, monkeypatch)
    passes([*words[:4], "tests/commands/test_cli.py", "-k", "bad_settings or complet"], inside, monkeypatch)
