"""Contracts and registries, tested with a small contract of their own."""

import sys
from importlib.metadata import EntryPoint
from typing import NamedTuple, Protocol

import numpy as np
import pages
import pytest
import reference

from w2vtrain import architectures, objectives, registry
from w2vtrain.errors import ConfigError
from w2vtrain.kernels.jit import kernel
from w2vtrain.objectives.contract import Candidates, Window
from w2vtrain.registry import CodeNotAllowed, Contract, Registry


class Shape(Protocol):
    color: str = "red"
    check = None

    @property
    def area(self):
        raise NotImplementedError

    @classmethod
    def build(cls, size, **options):
        raise NotImplementedError

    @staticmethod
    def corners():
        return 4

    def scale(self, factor):
        raise NotImplementedError

    def moved(self, x, y):
        return x + y


class Square(NamedTuple):
    area: int

    @classmethod
    def build(cls, size, *, color="blue"):
        return cls(size)

    def scale(self, factor):
        return self._replace(area=factor)


SHAPES = Contract(Shape, ("area", "build", "scale"), compiled=("scale",), named_tuple=True)


def changed(**members):
    """Return Square with other members; None removes one."""
    kept = {name: member for name, member in vars(Square).items() if name not in ("__dict__", "__weakref__")}
    base = NamedTuple("Base", [("area", int)]) if "area" not in members else NamedTuple("Base", [("other", int)])
    own = {name: kept[name] for name in ("build", "scale")} | members
    return type("Square", (base,), {name: member for name, member in own.items() if member is not None})


def test_a_class_that_fulfills_the_contract_gets_the_defaults():
    SHAPES.verify(Square, "shape")
    assert Square.corners() == 4
    assert Square(3).moved(1, 2) == 3
    assert Square.color == "red"
    assert Square.check is None
    SHAPES.verify_built(Square.build(3), "shape")


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (changed(scale=None), "has no scale(self, factor)"),
        (changed(build=None), "has no class method build(cls, size, **options)"),
        (changed(area=None), "has no area"),
        (changed(area=lambda self: 1), "has a method area, which must be a property"),
        (changed(scale=7), "has scale = 7, which is not a method"),
        (changed(check=7), "has check = 7, which is not a method"),
        (changed(moved=lambda self, x: x), "needs moved(self, x, y), but has moved(self, x)"),
        (changed(scale=lambda self, by: by), "needs scale(self, factor), but has scale(self, by)"),
        (
            changed(scale=lambda self, factor, more=1: factor),
            "needs scale(self, factor), but has scale(self, factor, m",
        ),
        (changed(scale=classmethod(lambda cls, factor: 1)), "but has class method scale(cls, factor)"),
        (changed(moved=lambda self, *more: more), None),
        (changed(build=lambda cls, size: size), "needs class method build(cls, size, **options), but has build(cls, s"),
        (changed(build=staticmethod(lambda size: 1)), "but has static method build(size)"),
        (changed(build=classmethod(lambda cls: 1)), "**options), but has class method build(cls)"),
        (changed(corners=lambda self: 4), "needs static method corners(), but has corners(self)"),
        (changed(corners=4), "has corners = 4, which is not a method"),
        (type("Square", (), {}), "is not a typing.NamedTuple"),
        (Square(3), "shape: expected a class, got Square(area=3)"),
    ],
)
def test_a_broken_contract_is_described(cls, message):
    if message is None:
        SHAPES.verify(cls, "shape")
        return
    with pytest.raises(ConfigError) as caught:
        SHAPES.verify(cls, "shape")
    assert message in str(caught.value)
    assert "expected" in message or str(caught.value).startswith("shape: class Square (test_registry")


def test_all_problems_of_a_class_are_reported_at_once():
    with pytest.raises(ConfigError) as caught:
        SHAPES.verify(changed(scale=None, corners=4), "shape")
    assert str(caught.value).endswith(" has corners = 4, which is not a method; has no scale(self, factor)")


def test_the_result_of_build_is_verified():
    with pytest.raises(ConfigError, match=r"shape: class NoneType \(builtins\), which build returns, has no color"):
        SHAPES.verify_built(None, "shape")


@pytest.fixture
def words(tmp_path, monkeypatch):
    """Yield a registry over a package of two members, which are modules that define WORD."""
    package = tmp_path / "words"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "contract.py").write_text("1 / 0")
    for name in ("one", "one_two"):
        (package / f"{name}.py").write_text(f"class WORD:\n    text = {name!r}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry, "__file__", str(tmp_path / "registry.py"))  # members' folders are looked up beside it
    __import__("words")
    yield Registry("words", "word", ("WORD",), lambda module, what: None)
    for name in [name for name in sys.modules if name.split(".")[0] == "words"]:
        del sys.modules[name]


def test_members_are_the_modules_of_a_folder(words):
    assert sorted(words.modules()) == ["one", "one-two"]
    assert words.module("one-two").WORD.text == "one_two"
    with pytest.raises(ConfigError, match="word 'three': choose one of one, one-two"):
        words.module("three")


def test_entry_points_of_other_packages_are_members(words, monkeypatch):
    entry = EntryPoint("far", "w2vtrain.errors", "words")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [entry] if group == "words" else [])
    with pytest.raises(ConfigError, match="word far: the module has no WORD"):
        words.module("far")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("", "the module has no WORD"),
        ("def", "cannot be imported: SyntaxError: "),
        ("1 / 0", "cannot be imported: ZeroDivisionError: division by zero"),
        ("import nosuch", "cannot be imported: ModuleNotFoundError: No module named 'nosuch'"),
        ("raise SystemExit(3)", "cannot be imported: SystemExit: 3"),
        (None, "cannot be imported: FileNotFoundError: "),
    ],
)
def test_an_unusable_file_is_refused_by_name(words, tmp_path, code, message):
    path = tmp_path / "mine.py"
    if code is not None:
        path.write_text(code)
    words.allow_code(str(path))
    with pytest.raises(ConfigError) as caught:
        words.module(str(path))
    assert str(caught.value).startswith(f"word {path}: {message}")


def test_code_runs_only_if_the_user_named_it(words, tmp_path, monkeypatch):
    path = tmp_path / "mine.py"
    path.write_text("from pathlib import Path\nPath('ran').touch()\nclass WORD: pass\n")
    monkeypatch.chdir(tmp_path)
    for name in (str(path), "./mine.py", "mine.py", "some.module"):
        with pytest.raises(CodeNotAllowed, match="is code that the command line does not name: to run it, add word="):
            words.module(name)
        with pytest.raises(CodeNotAllowed):
            words.require_allowed(name)
    assert not (tmp_path / "ran").exists()
    words.allow_code("mine.py")
    assert words.module(str(path)) is words.module("./mine.py")
    words.require_allowed("mine.py", tmp_path)
    with pytest.raises(CodeNotAllowed):
        words.require_allowed("mine.py", tmp_path / "words")
    assert (tmp_path / "ran").exists()


@kernel()
def _errors(objective, logits, window, candidates, lr):
    return objective.errors(logits, window, candidates, lr)


def test_two_classes_of_the_same_name_keep_their_own_losses(tmp_path):
    """Numba treats NamedTuple classes with the same name and fields as one type."""
    other = pages.changed(pages.RANKING, ("return loss", "return loss + 100"), ("-lr * p", "lr"))
    losses, learned = [], []
    for name, code in (("first.py", pages.RANKING), ("second.py", other), ("third.py", pages.RANKING)):
        (tmp_path / name).write_text(code)
        objectives.allow_code(str(tmp_path / name))
        built = objectives.build(str(tmp_path / name), reference.problem_of(np.arange(9, 0, -1)), {})
        assert type(built).__qualname__ == "Ranking"
        logits, rows = np.linspace(-1, 1, 20, dtype=np.float32).reshape(1, 20), np.zeros(20, np.int32)
        zeros = np.zeros(20, np.float32)
        window, found = Window(rows, 1, 0), Candidates(rows, zeros, zeros.copy(), 6)
        plain = logits.copy()
        assert _errors(built, logits, window, found, np.float32(0.5)) == pytest.approx(
            built.errors(plain, window, found, np.float32(0.5)), rel=1e-5
        )
        losses.append(_errors(built, plain.copy(), window, found, np.float32(0.5)))
        learned.append(logits.copy())
    assert learned[1][0, 1] == 0.5
    assert learned[0][0, 1] == learned[2][0, 1] < 0


@pytest.mark.parametrize(("of", "kind"), [(objectives, "objective"), (architectures, "architecture")])
def test_every_member_is_found_under_its_name(of, kind):
    known = getattr(of, f"{kind}s")()
    assert set(known) == set(of.REGISTRY.loaders)
    assert all(getattr(of, f"{kind}_class")(name) is cls for name, cls in known.items())
