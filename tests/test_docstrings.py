"""The examples in the docstrings of all public names run; methods of a contract are documented there."""

import doctest
import inspect

import pytest
from snippets import checkout

import w2vtrain


def documented():
    """Return each public name, and each public method of a public class, that has a docstring with examples."""
    found = {}
    for name in w2vtrain.__all__:
        thing = getattr(w2vtrain, name)
        found[name] = thing
        if inspect.isclass(thing):
            theirs = set(dir(w2vtrain.KeyedVectors)) if issubclass(thing, w2vtrain.KeyedVectors) else set()
            for member, value in inspect.getmembers(thing):
                if member in theirs:  # which have a test in embeddings/
                    continue
                if not member.startswith("_") and inspect.getdoc(value) and callable(value):
                    found[f"{name}.{member}"] = value
    return {name: thing for name, thing in found.items() if ">>>" in (inspect.getdoc(thing) or "")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the demo corpus, and the files that the examples read."""
    folder = tmp_path_factory.mktemp("examples")
    checkout(folder)
    model = w2vtrain.train(folder / "data/simplewiki.txt", vector_size=20, epochs=1)
    w2vtrain.save_model(folder / "model.safetensors", model)
    w2vtrain.write_vectors(folder / "vectors.txt", model.words, model.vectors())
    return folder


@pytest.mark.parametrize("name", documented())
def test_the_examples_run(name, folder, monkeypatch):
    """Those of a method begin with what those of its class define."""
    monkeypatch.chdir(folder)
    names = {}
    for part in dict.fromkeys([name.split(".")[0], name]):
        text = inspect.getdoc(documented()[part]) if part in documented() else ""
        test = doctest.DocTestParser().get_doctest(text, names, part, None, None)
        said, runner = [], doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        runner.run(test, out=said.append, clear_globs=False)
        assert not runner.failures, "".join(said)
        names = test.globs
