"""Messages name a setting as the reader writes it: an option in the shell, a parameter in Python."""

import ast
import inspect
from pathlib import Path

import numpy as np
import pytest

import w2vtrain
from w2vtrain.cli import cli
from w2vtrain.config import NAMES
from w2vtrain.embeddings.model import Model
from w2vtrain.errors import IN_PYTHON, W2VError, label, shell_spelling, spelled
from w2vtrain.formats.transforms import transform

PACKAGE = Path(w2vtrain.__file__).parent
ONLY_SHELL = {
    "allow_changed",
    "jobs",
    "run",
    "distributed",
    "export",
    "remove_top",
    "pairs",
    "columns",
    "restrict_vocab",
}
"""Options for which no function has a parameter of this name, or none that a message is about."""
FUNCTIONS = (w2vtrain.train, w2vtrain.continue_training, w2vtrain.write_vectors, Model.vectors, transform)


def trees():
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text())


def test_every_setting_that_a_message_names_is_an_option_and_a_parameter_or_a_function():
    options = {name for command in commands(cli) for parameter in command.params for name in parameter.opts}
    parameters = {*NAMES, *ONLY_SHELL, *IN_PYTHON, *w2vtrain.__all__} | {
        p for f in FUNCTIONS for p in inspect.signature(f).parameters
    }
    named = {
        node.args[0].value
        for _, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("spelled", "label")
        if isinstance(node.args[0], ast.Constant)
    }
    assert len(named) > 20
    assert {f"--{name.replace('_', '-')}" for name in named} <= options
    assert named <= parameters


def commands(group):
    for command in group.commands.values():
        yield from commands(command) if hasattr(command, "commands") else [command]


def test_a_setting_is_spelled_as_its_reader_writes_it():
    cases = [(("min_count", 3), "--min-count 3"), (("force", True), "--force"), (("shuffle", False), "--no-shuffle")]
    with shell_spelling():
        assert [spelled(*case) for case, _ in cases] == [shell for _, shell in cases]
        assert spelled("encoding_errors", "replace", "ignore") == "--encoding-errors replace or ignore"
        assert (spelled("read_vocab"), label("min_count")) == ("--read-vocab", "min-count")
    assert [spelled(*case) for case, _ in cases] == ["min_count=3", "force=True", "shuffle=False"]
    assert spelled("encoding_errors", "replace", "ignore") == "encoding_errors='replace' or 'ignore'"
    assert (spelled("read_vocab"), label("min_count")) == ("vocabulary", "min_count")


TEXT = [["red", "green"], ["blue", "cow"]]


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (lambda: w2vtrain.train(TEXT), "min_count=1 would keep 4"),
        (lambda: w2vtrain.train(TEXT, vector_size=0), "vector_size: expected"),
        (lambda: w2vtrain.train(TEXT, window="sentence", shrink_windows=True), "window='sentence' has no size"),
        (lambda: w2vtrain.train(TEXT, min_count=1, patience=2), "needs heldout"),
        (lambda: w2vtrain.train([]), "the corpus is an empty list"),
        (lambda: w2vtrain.train(w2vtrain.Documents([])), "the corpus is an empty list"),
        (lambda: w2vtrain.find_phrases([]), "the corpus is an empty list"),
        (lambda: w2vtrain.write_vectors("v.txt", ["a"], np.ones((1, 2))), "use force=True to overwrite"),
        (lambda: w2vtrain.write_vectors("v.odd", ["a"], np.ones((1, 2))), "format='text' or 'arrow' or"),
    ],
    ids=["count", "size", "window", "heldout", "empty", "no-documents", "no-phrases", "exists", "suffix"],
)
def test_a_message_in_python_names_the_parameter(call, answer, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("v.txt").touch()
    with pytest.raises(W2VError) as caught:
        call()
    assert answer in str(caught.value)
    assert "--" not in str(caught.value)
