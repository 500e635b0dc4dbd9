"""The order of the modules: data flows one way, so a module imports only what stands before it."""

import ast
from pathlib import Path

import pytest

import w2vtrain

PACKAGE = Path(w2vtrain.__file__).parent
# Those in one line know nothing of each other.
ORDER = [
    ["errors", "cgroup", "terminal"],
    ["trust", "machine"],
    ["blas", "jit", "compression", "scores", "problem", "plan", "writer", "locks", "shell"],
    ["files", "llvm", "corpus"],
    ["tiles", "rows", "simd", "scan", "config"],
    ["cells"],
    ["normalise", "room", "copies"],
    ["container", "dense", "logistic", "sampling", "spelling", "trees", "vocab", "tokens"],
    ["counting", "vectorparse", "ngrams", "subset", "journal"],
    ["vectors"],
    ["ids", "objectives", "model", "checkpoint", "suspicions"],
    ["fingerprint"],
    ["runs"],
    ["architectures", "limits"],
    ["weights"],
    ["windows"],
    ["hidden", "units"],
    ["blocks", "checks", "scoring"],
    ["language", "trainer"],
    ["pipeline", "evaluation"],
    ["api", "console", "report"],
    ["measure"],
    ["compare", "sweep"],
    ["bench"],
    ["outputs"],
    ["run", "queries", "texts"],
    ["export"],
    ["cli"],
    ["__main__", "__init__"],
]
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}
HEAVY = {"numba", "numpy", "gensim", "scipy", "tqdm", "orjson", "safetensors", "zstandard", "psutil"}


def imports(path, top_level=False):
    """(module of ours, or None; first part of an absolute name) of every import in a file."""
    tree = ast.parse(path.read_text())
    nodes = tree.body if top_level else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            parts = (node.module or "").split(".")
            ours = node.level > 0 or parts[0] == "w2vtrain"
            if ours:
                parts = parts[1:] if parts[0] == "w2vtrain" else parts
                yield from [(parts[0], None)] if parts and parts[0] else [(a.name, None) for a in node.names]
            else:
                yield None, parts[0]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield None, alias.name.split(".")[0]


def modules():
    ours = [p for p in PACKAGE.rglob("*.py") if p.parent.name != "objectives"]
    return [*sorted(ours), PACKAGE / "objectives/__init__.py"]


def name_of(path):
    return "objectives" if path.parent.name == "objectives" else path.stem


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_imports_go_one_way(path):
    mine = name_of(path)
    assert mine in RANK, f"{mine} has no place in the order"
    for ours, _ in imports(path):
        if ours and ours not in ("__version__", mine) and mine != "__init__":
            assert RANK[ours] < RANK[mine], f"{mine} imports {ours}"


def test_no_module_is_missing_from_the_order():
    assert set(RANK) == {name_of(p) for p in modules()}


def test_objectives_know_only_their_tools():
    for path in (PACKAGE / "objectives").glob("[!_]*.py"):
        for ours, _ in imports(path):
            assert ours in (
                None,
                "cells",
                "copies",
                "dense",
                "errors",
                "jit",
                "logistic",
                "ngrams",
                "problem",
                "ragged",
                "rows",
                "sampling",
                "spelling",
                "subset",
                "trees",
                "vectors",
            ), f"{path.name} imports {ours}"


@pytest.mark.parametrize("name", ["cli", "config", "errors", "shell", "__init__"])
def test_help_needs_nothing_heavy(name):
    assert not {top for _, top in imports(PACKAGE / f"{name}.py", top_level=True)} & HEAVY


def test_only_jit_compiles():
    for path in PACKAGE.rglob("*.py"):
        if path.stem != "jit":
            names = {n.id for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Name)}
            assert not names & {"njit", "jit", "vectorize", "prange"}, path.name


def test_nothing_is_unpickled():
    """Numba keeps its own machine code that way, checked, in its own folder; no file of a user's."""
    for path in PACKAGE.rglob("*.py"):
        found = {top for _, top in imports(path)} & {"pickle", "cloudpickle", "shelve", "marshal", "dill", "joblib"}
        assert not found or path.stem == "jit", path.name


def test_core_never_prints():
    for path in modules():
        if name_of(path) not in (
            "bench",
            "cli",
            "compare",
            "console",
            "measure",
            "outputs",
            "queries",
            "run",
            "shell",
            "texts",
        ):
            calls = {
                n.func.id
                for n in ast.walk(ast.parse(path.read_text()))
                if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
            }
            assert "print" not in calls, path.name
