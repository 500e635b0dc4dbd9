"""The layers of the package: data flows one way, so a folder imports only folders below it."""

import ast
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import w2vtrain
from w2vtrain.kernels import jit

PACKAGE = Path(w2vtrain.__file__).parent
# Folders and top-level modules, from the bottom layer to the top layer.
ORDER = [
    "errors",
    "doors",
    "gensim_names",
    "other_programs",
    "system",
    "registry",
    "parsers",
    "config",
    "keywords",
    "kernels",
    "formats",
    "embeddings",
    "text",
    "probability",
    "objectives",
    "architectures",
    "user_code",
    "engines",
    "training",
    "progress_bar",
    "api",
    "commands",
    "leaves.__init__",
    "leaves.figures",
    "leaves.tables",
    "leaves.export",
    "leaves.mpi",
    "leaves.compare",
    "leaves.pictures",
    "leaves.graphs",
    "leaves.documents",
    "leaves.gensim",
    "cli",
    "__main__",
    "__init__",
]
SHARED = {"leaves.__init__", "leaves.figures"}
"""Modules that leaves may import besides the core."""
LEAVES = {name for name in ORDER if name.startswith("leaves.")} - SHARED
"""Folders that import the core, and without which it works."""
BUILT_ON = {"leaves.gensim": "leaves.documents"}
"""The one leaf on another: gensim's Doc2Vec is an interface to vectors of documents."""
DOORS = {"doors", "cli", "__init__"}
"""Modules of the core that name leaves: tables of what is imported on use."""
RANK = {name: rank for rank, name in enumerate(ORDER)}
TOOLS = {"errors", "kernels", "probability", "formats"}  # all that objectives and architectures may import
CONTRACTS = ("contract", "__init__")
COMPUTED = {
    "__init__": "public names, which are listed there", "doors": "leaves, which are listed there",
    "registry": "modules of users, and of the folder that asks",
    "system.children": "the function that the parent names", "leaves.compare.speed": "other packages",
    "leaves.compare.systems": "other packages", "formats.vector_formats.__init__": "its own modules",
    "commands.click_classes": "modules of commands",
}  # fmt: skip
"""Modules that import by a name that is no constant, and what they import."""


def folder_of(path):
    """Return the folder of a module, which may be a leaf, or the name of a module that is in no folder."""
    return folder_named(module_of(path))


def folder_named(module):
    return ".".join(module.split(".")[: 2 if module.startswith("leaves.") else 1])


@cache
def nodes(path):
    """Return the nodes of a module's syntax tree, the module itself first."""
    return list(ast.walk(ast.parse(path.read_text())))


@pytest.fixture(autouse=True, scope="module")
def _forget_nodes():
    yield
    nodes.cache_clear()


def module_of(path):
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def imports(path, top_level=False):
    """Yield (module of this package, None) or (None, first part of another package's name) for every import.

    A string that is the name of a module of this package counts as an import of it: a module may be imported by name.
    Those in doors.py do not count, since nothing needs them.
    """
    for node in nodes(path)[0].body if top_level else nodes(path):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module_of(path)}, line {node.lineno}: use absolute imports"
            first, _, rest = (node.module or "").partition(".")
            if first != "w2vtrain":
                yield None, first
            elif rest in ("", "objectives"):
                yield from ((f"{rest}.{alias.name}".strip("."), None) for alias in node.names)
            else:
                yield rest, None
        elif isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                assert top != "w2vtrain", f"{path}, line {node.lineno}: import what is used, by `from`"
                yield None, top
        elif not top_level and isinstance(node, ast.Constant) and (named := module_named(node.value)):
            if path != PACKAGE / "doors.py":
                yield named, None
        elif not top_level and isinstance(node, ast.Call) and imported_by_name(node):
            yield None, imported_by_name(node)


def module_named(text):
    """Return the module of this package whose full name is `text`, or None."""
    if not isinstance(text, str) or not re.fullmatch(r"w2vtrain(\.\w+)+", text):
        return None
    place = PACKAGE.joinpath(*text.split(".")[1:])
    return text.partition(".")[2] if place.with_suffix(".py").exists() or (place / "__init__.py").exists() else None


def imported_by_name(call):
    """Return the first part of the name of another package that import_module or __import__ is called with, or None."""
    function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    name = getattr(call.args[0], "value", None) if call.args else None
    if function in ("import_module", "__import__") and isinstance(name, str) and not name.startswith((".", "w2vtrain")):
        return name.split(".")[0]
    return None


def imports_by_a_computed_name(path):
    """Return whether a module calls a function that imports with a name that is no constant."""
    for node in nodes(path):
        function = getattr(node, "func", None)
        called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if called in ("import_module", "__import__", "resolve_name") and not isinstance(node.args[0], ast.Constant):
            return True
    return False


def modules():
    return sorted(PACKAGE.rglob("*.py"))


def test_a_folder_imports_only_folders_below_it():
    wrong = {
        f"{module_of(path)} imports {ours}"
        for path in modules()
        for ours, _ in imports(path)
        if ours
        and ours != "__version__"
        and folder_of(path) not in ("__init__", folder_named(ours))
        and RANK[folder_named(ours)] > RANK[folder_of(path)]
    }
    assert not wrong


def test_the_core_names_no_leaf():
    """Leaves are reached through tables, which import on use: of commands, of doors, and of public names."""
    for path in modules():
        if folder_of(path) not in LEAVES | SHARED | DOORS:
            named = [ours for ours, _ in imports(path) if folder_named(ours or "") in LEAVES | SHARED]
            assert not named, f"{module_of(path)} names {named}"


def test_a_leaf_imports_no_other_leaf():
    """What they share is in the core or beside them, and what one needs of another, it asks of doors.py."""
    for path in modules():
        mine = folder_of(path)
        if mine in LEAVES | SHARED:
            named = {folder_named(ours or "") for ours, _ in imports(path)} & LEAVES - {mine, BUILT_ON.get(mine)}
            assert not named, f"{module_of(path)} imports {named}"


def test_imports_by_a_computed_name_are_listed():
    """No other test sees what they import, so each needs a reason."""
    assert {module_of(path) for path in modules() if imports_by_a_computed_name(path)} == set(COMPUTED)


def test_imports_between_modules_have_no_cycle():
    """Modules of the same folder must not import each other in a cycle, either."""
    known = {module_of(path).removesuffix(".__init__"): path for path in modules()}
    graph = {name: {ours for ours, _ in imports(path) if ours in known} - {name} for name, path in known.items()}
    while leaves := [name for name, others in graph.items() if not others & graph.keys()]:
        for name in leaves:
            del graph[name]
    assert not graph


def test_every_folder_has_a_rank_and_a_docstring():
    assert set(RANK) == {folder_of(path) for path in modules()}
    for folder in (path for path in PACKAGE.iterdir() if (path / "__init__.py").exists()):
        assert ast.get_docstring(nodes(folder / "__init__.py")[0]), folder.name


@pytest.mark.parametrize("folder", ["objectives", "architectures"])
def test_objectives_and_architectures_import_only_their_tools(folder):
    for path in (PACKAGE / folder).glob("*.py"):
        for ours, _ in imports(path):
            first = (ours or "errors").split(".")[0]
            assert first in TOOLS | {folder} or path.stem in CONTRACTS, f"{path.name} imports {ours}"


def test_only_the_benchmark_and_the_conversion_to_gensim_use_gensim():
    """gensim is not available for every Python version."""
    users = {path for path in modules() if "gensim" in {top for _, top in imports(path)}}
    assert set(map(module_of, users)) == {"leaves.compare.systems", "leaves.gensim.conversion"}
    for path in users:
        assert "gensim" not in {top for _, top in imports(path, top_level=True)}


def test_only_the_jit_module_calls_numbas_compilers():
    for path in modules():
        if path.stem != "jit":
            names = {n.id for n in nodes(path) if isinstance(n, ast.Name)}
            assert not names & {"njit", "jit", "vectorize", "prange"}, path.name


def test_kernels_import_only_folders_that_the_kernel_cache_hashes():
    """If a helper elsewhere changed, KernelCache would not notice, and stale machine code would run."""
    for path in modules():
        if folder_of(path) not in jit.COMPILED:
            names = {n.id for n in nodes(path) if isinstance(n, ast.Name)}
            assert not names & {"inline", "overload", "register_jitable"}, path.name
            assert "kernel" not in names or all(
                (ours or "kernels").split(".")[0] in (*jit.COMPILED, "errors") for ours, _ in imports(path)
            ), f"{path.name} has a kernel and imports a folder that the cache does not hash"


def test_only_the_kernel_cache_uses_pickle():
    """Numba pickles its machine code, in a folder whose owner is checked. No user's file is ever unpickled."""
    for path in modules():
        found = {top for _, top in imports(path)} & {"pickle", "cloudpickle", "shelve", "marshal", "dill", "joblib"}
        assert not found or path.stem == "jit", path.name


def test_only_the_command_line_prints_and_all_of_it_through_one_function():
    """That function, `system.terminal.echo`, escapes what would control a terminal."""
    for path in modules():
        called = [n.func for n in nodes(path) if isinstance(n, ast.Call)]
        names = {function.id for function in called if isinstance(function, ast.Name)}
        names |= {f"{getattr(f.value, 'id', '')}.{f.attr}" for f in called if isinstance(f, ast.Attribute)}
        assert not names & {"print", "click.echo", "click.secho"}, path.name
        if folder_of(path) not in ("cli", "commands") and not path.stem.endswith("_command"):
            assert folder_of(path) in ("system", "__main__") or not {
                ours for ours, _ in imports(path) if ours == "system.terminal"
            }, path.name
            streams = {n.attr for n in nodes(path) if isinstance(n, ast.Attribute)} & {"stdout", "stderr"}
            assert not streams or folder_of(path) in ("system", "__main__", "progress_bar"), path.name


CORE_TESTS = (
    "tests/text", "tests/training/test_checkpoint_file.py", "tests/commands/test_convert.py",
    "tests/commands/test_init_from.py", "tests/commands/test_lookups.py",
    "tests/embeddings/test_similarity.py", "tests/formats/test_vectors.py", "tests/test_config.py",
)  # fmt: skip


NO_TABLES = "not (archives and (table or CSV))"


@pytest.mark.slow
@pytest.mark.parametrize("leaf", sorted(LEAVES))
def test_the_core_passes_its_tests_without_a_leaf(leaf, tmp_path):
    root = PACKAGE.parent
    for name in ("w2vtrain", "tests", "data", "configs", "benchmarks"):
        shutil.copytree(root / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(root / "pyproject.toml", tmp_path)
    shutil.rmtree(tmp_path.joinpath("w2vtrain", *leaf.split(".")))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", NO_TABLES, *CORE_TESTS]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
