"""The command `objectives`: the list, the choices below it, and the page of one objective."""

import importlib.util
from functools import partial
from pathlib import Path

from w2vtrain import objectives
from w2vtrain.commands.objectives import USES


def test_objectives_lists_all_by_group_and_says_which_to_use(w2vtrain_here, tmp_path):
    code, out, _ = w2vtrain_here(["objectives"], tmp_path)
    assert code == 0
    headings = [heading for key, heading in objectives.GROUPS.items() if key]
    lines = out.splitlines()
    assert [line for line in lines if line in headings] == headings
    listed, answers = out.split("\nWhich one to use")
    for name in objectives.objectives():
        assert f"\n  {name} " in listed, name
    assert (
        " ".join(listed.split()).count("hs Hierarchical softmax over a binary tree of the words (Morin & Bengio") == 1
    )
    assert "\n  word vectors                            neg\n" in answers
    assert max(map(len, lines)) <= 80
    assert "Others" not in out
    assert "σ" not in out


def test_objectives_explains_one(w2vtrain_here, tmp_path):
    _, out, _ = w2vtrain_here(["objectives", "nce"], tmp_path)
    assert out.startswith("nce: Noise-contrastive estimation (Gutmann & Hyvärinen 2010)\n")
    assert "-O learn_z=false" in out
    _, out, _ = w2vtrain_here(["objectives", Path(objectives.__file__).parent / "hs.py"], tmp_path)
    assert "hs.py: Hierarchical softmax over a binary tree" in out.splitlines()[0]
    for words in ([], ["nce"]):
        code, _, said = w2vtrain_here(["objectives", *words, "-O", "negativ=3"], tmp_path)
        assert (code, "-O: has an effect only on `objectives check NAME`" in said) == (2, True)


def test_objectives_of_other_packages_are_listed_even_if_they_cannot_be_loaded(w2vtrain_here, tmp_path, monkeypatch):
    modules = {"bare": "w2vtrain.objectives.softmax", "broken": "no.such.module"}
    added = {name: partial(importlib.import_module, module) for name, module in modules.items()}
    monkeypatch.setitem(vars(objectives.REGISTRY), "loaders", {**objectives.REGISTRY.loaders, **added})
    code, out, _ = w2vtrain_here(["objectives"], tmp_path)
    others = " ".join(out.split("\nOthers\n")[1].split())
    assert code == 0
    assert others.startswith("broken objective broken: cannot be imported: ModuleNotFoundError: No module named 'no'")
    assert "\n  bare " in out


def test_a_module_without_docstring_or_group_is_listed_by_its_formula(tmp_path, monkeypatch, w2vtrain_here):
    path = tmp_path / "plain.py"
    path.write_text("from w2vtrain.objectives.neg import DEFAULTS, OBJECTIVE\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location("plain_objective", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(vars(objectives.REGISTRY), "loaders", {**objectives.REGISTRY.loaders, "plain": lambda: module})
    _, out, _ = w2vtrain_here(["objectives"], tmp_path)
    assert "\nOthers\n  plain             L = -log σ(o_w·h)" in out


def test_the_choices_name_objectives_and_options_that_exist():
    for use in USES.values():
        name, *options = use.split(" -O ")
        given = dict(option.split("=") for option in options)
        assert set(given) <= set(objectives.option_defaults(name))
