"""Tests that programs written for gensim run with the import changed, and that gensim runs them unchanged."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPTS = sorted(path.stem for path in (Path(__file__).parent / "scripts").glob("*.py"))
QUICK = ("tutorial",)
IMPORT = re.compile(
    r"^( *from )gensim\.models(?:\.word2vec|\.callbacks|\.fasttext|\.doc2vec)?(?= import)", re.MULTILINE
)
NEEDS = {"phrases": "gensim", "rules": "gensim", "tsne": "sklearn"}


def run(name, folder, changed):
    """Run a script in a folder that has the corpus; `changed` replaces the imports of gensim's classes."""
    text = (Path(__file__).parent / "scripts" / f"{name}.py").read_text()
    if changed:
        text, found = IMPORT.subn(r"\1w2vtrain", text)
        assert found
    (folder / "script.py").write_text(text)
    (folder / "data").symlink_to(ROOT / "data")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MPLCONFIGDIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


def require(name):
    if not find_spec(name):
        pytest.skip(f"{name} is not installed")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in SCRIPTS]
)
def test_a_script_runs_with_the_import_changed(name, tmp_path):
    if name in NEEDS:
        require(NEEDS[name])
    run(name, tmp_path, changed=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_gensim_runs_the_script_unchanged(name, tmp_path):
    require("gensim")
    if name in NEEDS:
        require(NEEDS[name])
    run(name, tmp_path, changed=False)
