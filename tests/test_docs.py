"""What the docs show is run as it stands there."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/adding-an-objective.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.S | re.M)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs")
    (code,) = blocks("python")
    (folder / "ranking.py").write_text(code)
    (folder / "data").mkdir()
    text = (ROOT / "data/simplewiki.txt").read_text(encoding="utf-8")
    (folder / "data/simplewiki.txt").write_text(text[:300_000], encoding="utf-8")
    return folder


def test_the_objective_of_the_docs_passes_its_checks_and_trains(folder):
    (commands,) = blocks("sh")
    for line in commands.splitlines():
        words = [sys.executable, "-m", *shlex.split(line)]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "FAIL" not in done.stdout
    first, rest = (folder / "vectors.txt").read_text(encoding="utf-8").split("\n", 1)
    assert int(first.split()[0]) == rest.count("\n") > 500


def test_a_wrong_gradient_is_found(folder):
    wrong = (folder / "ranking.py").read_text().replace("logits[i, 0] = lr * total", "logits[i, 0] = 2 * lr * total")
    (folder / "wrong.py").write_text(wrong)
    command = [sys.executable, "-m", "w2vtrain", "objectives", "check", "./wrong.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "FAIL  coefficients are minus the slopes" in done.stdout
    assert done.stderr.strip() == "w2vtrain: error: 2 checks of ./wrong.py do not hold"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.py", None, "cannot be imported"),
        ("syntax.py", "def", "cannot be imported"),
        ("empty.py", "", "the module has no OBJECTIVE"),
        ("no.such.module", None, "cannot be imported"),
        (".", None, "cannot be imported"),
        ("broken.py", "1 / 0", "cannot be imported: ZeroDivisionError"),
    ],
)
def test_what_is_no_objective_is_told(w2vtrain_here, folder, name, content, message):
    if content is not None:
        (folder / name).write_text(content)
    code, _, said = w2vtrain_here(["objectives", "check", name], folder)
    assert code == 78
    assert message in said
    assert "Traceback" not in said
    assert len(said.splitlines()) == 1
