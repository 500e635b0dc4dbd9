"""The order of the folders: data flows one way, so a folder imports only folders that come before it."""

import ast
from pathlib import Path

import pytest

import w2vtrain
from w2vtrain.kernels import jit

PACKAGE = Path(w2vtrain.__file__).parent
# Folders, and the modules beside them, from the bottom to the top.
ORDER = [
    "errors",
    "registry",
    "system",
    "parsers",
    "aliases",
    "config",
    "kernels",
    "formats",
    "text",
    "probability",
    "objectives",
    "architectures",
    "permission",
    "engines",
    "training",
    "api",
    "evaluation",
    "commands",
    "cli",
    "__main__",
    "__init__",
]
RANK = {name: rank for rank, name in enumerate(ORDER)}
TOOLS = {"errors", "kernels", "probability", "formats"}  # what objectives and architectures are made of
CONTRACTS = ("contract", "__init__")
HEAVY = {"numba", "numpy", "gensim", "scipy", "tqdm", "orjson", "safetensors", "zstandard", "psutil"}


def room_of(path):
    """The folder of a module, or the name of a module that is in none."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def module_of(path):
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def imports(path, top_level=False):
    """(module of ours, or None; first part of an absolute name) of every import in a file."""
    tree = ast.parse(path.read_text())
    for node in tree.body if top_level else ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module_of(path)}, line {node.lineno}: write imports in full"
            first, _, rest = (node.module or "").partition(".")
            if first != "w2vtrain":
                yield None, first
            elif rest in ("", "objectives"):
                yield from ((f"{rest}.{alias.name}".strip("."), None) for alias in node.names)
            else:
                yield rest, None
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield None, alias.name.split(".")[0]


def modules():
    return sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", modules(), ids=module_of)
def test_imports_go_one_way(path):
    mine = room_of(path)
    for ours, _ in imports(path):
        room = (ours or mine).split(".")[0]
        if room not in ("__version__", mine) and mine != "__init__":
            assert RANK[room] < RANK[mine], f"{module_of(path)} imports {ours}"


def test_no_module_imports_itself_by_way_of_others():
    """Within a folder, too: the graph of the modules has no cycle."""
    known = {module_of(path).removesuffix(".__init__"): path for path in modules()}
    graph = {name: {ours for ours, _ in imports(path) if ours in known} - {name} for name, path in known.items()}
    while leaves := [name for name, others in graph.items() if not others & graph.keys()]:
        for name in leaves:
            del graph[name]
    assert not graph


def test_every_folder_has_a_rank_and_says_what_it_is():
    assert set(RANK) == {room_of(path) for path in modules()}
    for folder in (path for path in PACKAGE.iterdir() if (path / "__init__.py").exists()):
        assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text())), folder.name


@pytest.mark.parametrize("room", ["objectives", "architectures"])
def test_objectives_and_architectures_know_only_their_tools(room):
    for path in (PACKAGE / room).glob("*.py"):
        for ours, _ in imports(path):
            first = (ours or "errors").split(".")[0]
            assert first in TOOLS | {room} or path.stem in CONTRACTS, f"{path.name} imports {ours}"


@pytest.mark.parametrize(
    "name",
    [
        "cli",
        "config",
        "aliases",
        "parsers",
        "registry",
        "errors",
        "commands/options",
        "commands/shell",
        "formats/vector_formats/__init__",
        "__init__",
    ],
)
def test_help_needs_nothing_heavy(name):
    assert not {top for _, top in imports(PACKAGE / f"{name}.py", top_level=True)} & HEAVY


def test_only_the_benchmark_uses_gensim():
    """It is not installed for every Python."""
    users = {module_of(path) for path in modules() if "gensim" in {top for _, top in imports(path)}}
    assert users == {"evaluation.measure"}
    assert "gensim" not in {top for _, top in imports(PACKAGE / "evaluation/measure.py", top_level=True)}


def test_only_jit_compiles():
    for path in modules():
        if path.stem != "jit":
            names = {n.id for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Name)}
            assert not names & {"njit", "jit", "vectorize", "prange"}, path.name


def test_kernels_are_made_of_the_folders_that_name_their_code():
    """KernelCache hashes these folders: a helper anywhere else could change and stale code would run."""
    for path in modules():
        if room_of(path) not in jit.COMPILED:
            names = {n.id for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Name)}
            assert not names & {"inline", "overload", "register_jitable"}, path.name
            assert "kernel" not in names or all(
                (ours or "kernels").split(".")[0] in (*jit.COMPILED, "errors") for ours, _ in imports(path)
            ), f"{path.name} has a kernel and imports more than what its code's name is made of"


def test_nothing_is_unpickled():
    """Numba keeps its own machine code that way, checked, in its own folder; no file of a user's."""
    for path in modules():
        found = {top for _, top in imports(path)} & {"pickle", "cloudpickle", "shelve", "marshal", "dill", "joblib"}
        assert not found or path.stem == "jit", path.name


def test_core_never_prints():
    for path in modules():
        if room_of(path) not in ("cli", "commands"):
            assert room_of(path) in ("system", "__main__") or not {
                ours for ours, _ in imports(path) if ours == "system.terminal"
            }, path.name
            calls = {
                n.func.id
                for n in ast.walk(ast.parse(path.read_text()))
                if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
            }
            assert "print" not in calls, path.name
