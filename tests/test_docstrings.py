"""The examples in the docstrings of all public names run, with the results that they show."""

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
            for member, value in inspect.getmembers(thing):
                if not member.startswith("_") and inspect.getdoc(value) and callable(value):
                    found[f"{name}.{member}"] = value
    return {name: thing for name, thing in found.items() if ">>>" in (inspect.getdoc(thing) or "")}


@pytest.mark.parametrize("name", w2vtrain.__all__)
def test_every_public_name_has_an_example(name):
    assert ">>>" in inspect.getdoc(getattr(w2vtrain, name))


@pytest.mark.parametrize("name", documented())
def test_the_examples_run(name, tmp_path, monkeypatch):
    """Those of a method begin with what those of its class define."""
    checkout(tmp_path)
    monkeypatch.chdir(tmp_path)
    names = {}
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for part in dict.fromkeys([name.split(".")[0], name]):
        text = inspect.getdoc(documented()[part]) if part in documented() else ""
        test = parser.get_doctest(text, names, part, None, None)
        said = []
        runner.run(test, out=said.append, clear_globs=False)
        names = test.globs
        assert not runner.failures, "".join(said)
