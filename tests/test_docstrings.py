"""The examples in the docstrings of all public names run; methods of a contract are documented there."""

import doctest
import inspect
import types

import pytest
from snippets import checkout

import w2vtrain
from w2vtrain import architectures, objectives
from w2vtrain.architectures.contract import Architecture
from w2vtrain.objectives import contract


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


@pytest.mark.parametrize("name", w2vtrain.__all__)
def test_every_public_name_has_an_example(name):
    assert ">>>" in inspect.getdoc(getattr(w2vtrain, name))


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


REGISTRIES = {"objectives": objectives.REGISTRY, "architectures": architectures.REGISTRY}
CONTRACTS = {
    "objectives": (contract.WindowObjective, contract.BlockObjective, contract.Scorer),
    "architectures": (Architecture,),
}


def functions(cls):
    """Return the functions and properties that a class defines itself, by name, except for its private ones."""
    kinds = (types.FunctionType, staticmethod, classmethod, property)
    return {name: value for name, value in vars(cls).items() if isinstance(value, kinds) and not name.startswith("_")}


@pytest.mark.parametrize("folder", CONTRACTS)
def test_a_method_is_documented_in_the_contract_or_where_it_is_defined(folder):
    """The methods of objectives and architectures need no docstring: their contract has it, once for all of them."""
    shared = {}
    for protocol in CONTRACTS[folder]:
        shared |= {name: value for base in protocol.__mro__ for name, value in functions(base).items()}
        assert not [name for name, value in functions(protocol).items() if not inspect.getdoc(value)]
    modules = REGISTRIES[folder].modules().values()
    classes = {value for module in modules for value in vars(module).values() if inspect.isclass(value)}
    own = [cls for cls in classes if cls.__module__.startswith(f"w2vtrain.{folder}.") and cls not in CONTRACTS[folder]]
    named = {f"{cls.__name__}.{name}": value for cls in own for name, value in functions(cls).items()}
    documented = {*shared, "state", "gradients", "raw", "affordable", "given", "check", "check_files"}
    without = {name for name, value in named.items() if not inspect.getdoc(value)}
    assert not {name for name in without if name.split(".")[1] not in documented}
