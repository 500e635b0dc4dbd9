"""A user's script that is checked by mypy --strict gets the types of w2vtrain."""

import inspect
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import w2vtrain
from w2vtrain.config import FIELDS, NAMES, ROWS, Settings
from w2vtrain.keywords import TrainingSettings
from w2vtrain.parsers import Choice, FileName, Real, Table, Text, Truth, Whole

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
context: list[tuple[str, float]] = model.wv.most_similar("word")
either: Model | KeyedVectors = w2vtrain.load("m.safetensors")
again = w2vtrain.train("a.txt", objective="hs", negative=3, lr=0.1, window="sentence", options={"tree": "balanced"})
table = w2vtrain.find_phrases("a.txt", tokenizer="simple", threads=2)
reveal_type(w2vtrain.train)
"""
WRONG = """
import w2vtrain

w2vtrain.train("a.txt").most_similar("word", topn="3")
w2vtrain.Events(warning=3)
w2vtrain.train("a.txt", vektor_size=3)
w2vtrain.train("a.txt", tokenizer="words")
w2vtrain.continue_training(w2vtrain.load_model("m"), "a.txt", epochs="3")
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
    assert [line.split(":")[1] for line in said.splitlines() if ": error:" in line] == ["4", "5", "6", "7", "8"]


def test_the_types_of_settings_are_those_of_the_table():
    hints = get_type_hints(TrainingSettings)
    assert set(hints) == set(NAMES)
    for name, row in ROWS.items():
        kinds = {Whole: int, Real: float, Truth: bool, Text: str, FileName: str, Table: Mapping[str, Any]}
        words = [word for part in get_args(hints[name]) for word in get_args(part)] or get_args(hints[name])
        assert {hints[other] for other in row.names} <= {hints[name]}
        if isinstance(row.parser, Choice):
            assert tuple(words) == row.parser.words, name
        else:
            assert kinds[type(row.parser)] in (hints[name], *get_args(hints[name])), name
            assert isinstance(row.parser, Text) or set(row.parser.words) <= set(words), name
        assert (type(None) in get_args(hints[name])) == (FIELDS[name].default is None), name


def test_help_and_notebooks_see_the_settings_and_their_defaults():
    parameters = inspect.signature(w2vtrain.train).parameters
    assert {name: parameters[name].default for name in ROWS} == vars(Settings())
    assert list(parameters)[:2] == ["corpus", "vocabulary"]


def test_the_wheel_contains_the_marker_of_types():
    wheel = pytest.importorskip("hatchling.builders.wheel")
    files = {file.distribution_path for file in wheel.WheelBuilder(str(ROOT)).recurse_included_files()}
    assert "w2vtrain/py.typed" in files
