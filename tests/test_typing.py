"""A user's script that is checked by mypy --strict gets the types of w2vtrain."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPT = """
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import w2vtrain
from w2vtrain import Events, KeyedVectors, Model


def report(loss: str) -> None:
    pass


events = Events(warning=report, epoch=lambda epoch, score: report(f"{epoch.loss:.3f}"))
model: Model = w2vtrain.train(Path("a.txt"), vector_size=50, workers=2, events=events, progress=True)
more = w2vtrain.continue_training(model, ["b.txt"], epochs=2, grow_vocabulary=True, alpha=0.01)
lists = w2vtrain.train([["a", "word"], ["b"]])
vector: NDArray[np.float32] = more["word"]
answers: list[tuple[str, float]] = more.most_similar("word", topn=3)
keyed: KeyedVectors = more.to_keyed_vectors("in")
count: int = len(more) + len(keyed)
more.save("m.safetensors", force=True)
loaded: Model = w2vtrain.load_model("m.safetensors")
words: list[str] = w2vtrain.read_vectors("v.txt").words
claims: list[str] = [finding.claim for finding in w2vtrain.check_objective("neg", {"negative": 3})]
reveal_type(w2vtrain.train)
"""
WRONG = """
import w2vtrain

w2vtrain.train("a.txt").most_similar("word", topn="3")
w2vtrain.Events(warning=3)
"""


def checked(folder, text):
    (folder / "script.py").write_text(text)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--config-file", "", "script.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder for scripts; the second check uses the cache of the first."""
    return tmp_path_factory.mktemp("typing")


def test_a_script_passes_the_strict_checks(folder):
    code, said = checked(folder, SCRIPT)
    assert code == 0, said
    assert "Any, Any" not in said
    assert re.search(r'Revealed type is "def .*progress: .*bool.* -> .*Model"', said), said


def test_mistakes_are_found(folder):
    code, said = checked(folder, WRONG)
    assert code == 1
    assert [line.split(":")[1] for line in said.splitlines() if ": error:" in line] == ["4", "5"]


def test_the_wheel_contains_the_marker_of_types():
    wheel = pytest.importorskip("hatchling.builders.wheel")
    files = {file.distribution_path for file in wheel.WheelBuilder(str(ROOT)).recurse_included_files()}
    assert "w2vtrain/py.typed" in files
