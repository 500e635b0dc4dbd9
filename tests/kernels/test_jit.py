"""Properties of compiled code that engines rely on: no reference counting, vector code, a cache that is never stale."""

import errno
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numba.core.codegen import JITCPUCodegen
from reference import problem_of

import w2vtrain
from w2vtrain.architectures.cbow import Cbow
from w2vtrain.architectures.skipgram import SkipGram
from w2vtrain.architectures.vlbl import Vlbl
from w2vtrain.engines.chunks import read_only
from w2vtrain.engines.window_engine import Extent, make_scratch
from w2vtrain.engines.window_kernel import Matrices, Windows, train_chunks
from w2vtrain.kernels import jit
from w2vtrain.kernels.llvm import LANES
from w2vtrain.kernels.rows import padded_rows
from w2vtrain.objectives import engine_of, objective_class, objectives

PACKAGE = Path(w2vtrain.__file__).parent
SMALL = """
import sys
import numpy as np
from w2vtrain.probability.noise import alias_table
print(alias_table(np.array([0.5, 0.25, 0.25]))[1].tolist())
print('numba.np.arraymath' in sys.modules)
"""

BASE = """
from typing import NamedTuple

class Base(NamedTuple):
    size: int

    def in_turn(self):
        return said
"""
MINE = BASE.replace("Base", "Mine").replace("said", "SAID")
INHERITED = """
import w2vtrain.objectives.contract
from mine import Mine
from w2vtrain.kernels import jit

@jit.kernel()
def asked(mine):
    return mine.in_turn()

print(asked(Mine(1)))
"""


WINDOWS = sorted(name for name in objectives() if engine_of(name) == "windows")
BUILT = {"skipgram": lambda: SkipGram(2), "cbow": lambda: Cbow(2), "vlbl": lambda: Vlbl(2, padded_rows(4, 16))}
QUICK = {("neg", ("skipgram", "cbow", "vlbl")), ("hs", ("skipgram",))}
"""The kernels that quick tests look at; others compile them, too."""


@pytest.fixture(
    scope="module",
    params=[*sorted(QUICK), *(pytest.param((name, tuple(BUILT)), marks=pytest.mark.slow) for name in WINDOWS)],
)
def llvm(request):
    """Return the LLVM code of the window kernel for one objective, once per architecture."""
    codes = []
    name, architectures = request.param
    for architecture in (BUILT[kind]() for kind in architectures):
        counts, one = np.array([5, 4, 3]), np.zeros(1, np.int64)
        objective = objective_class(name).build(problem_of(counts))
        w_in, w_out = padded_rows(4, 16), padded_rows(4, 16)
        scratch = make_scratch(w_in, w_out, 0, 1, Extent(2, objective.candidate_limit, 10))
        tokens, keep = read_only(np.array([0, 1, 2, -1], np.int32)), np.full(3, 2**32 - 1, np.uint32)
        arguments = (
            architecture, objective, Windows(2), tokens, np.array([0, 4]), one, one.astype(float),
            Matrices(w_in, w_out), 16, keep, 0.0, 1, 0, scratch,
        )  # fmt: skip
        signature = tuple(jit.numba.typeof(a) for a in arguments)
        train_chunks.compile(signature)  # or load it: Numba shows the code only of what it has compiled itself
        codes.append(str(train_chunks.overloads[signature].library._get_module_for_linking()))
    return codes


def test_window_kernel_neither_counts_references_nor_allocates(llvm):
    for code in llvm:
        assert "train_chunks" in code
        for forbidden in ("NRT_incref", "NRT_decref", "NRT_MemInfo_alloc", "NRT_Allocate"):
            assert f"call {forbidden}" not in code
            assert not re.search(rf"call [^\n]*@{forbidden}", code)


def test_window_kernel_multiplies_and_adds_whole_vectors(llvm):
    for code in llvm:
        assert len(re.findall(rf"@llvm\.fmuladd\.v{LANES}f32", code)) > 24


def test_window_kernel_is_a_single_function(llvm):
    """Forced inlining made the kernel 40% faster: a call passes each array as seven machine words."""
    for code in llvm:
        body = re.search(r"define [^\n]*train_chunks(?:(?!^}).)*", code, re.S | re.M)
        assert body
        calls = set(re.findall(r"call [^\n]*?@(\S*?w2vtrain\S*?)\(", body.group(0)))
        assert not calls, calls


def one():
    return 1


def is_compiled(folder, function=one):
    """Call a kernel as a new process does, and return whether it was compiled instead of loaded from a cache folder."""
    said = []
    with pytest.MonkeyPatch.context() as patch, jit.on_compilation(lambda: said.append("compiled")):
        patch.setattr(jit, "cache_folder", lambda: folder)
        assert jit.kernel()(function)() == 1
    return bool(said)


def test_cache_is_reused_until_a_source_of_kernels_is_edited(tmp_path, monkeypatch):
    copy, cache = tmp_path / "w2vtrain", tmp_path / "cache"
    cache.mkdir()
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    uncached = jit.source_hash.__wrapped__
    monkeypatch.setattr(jit, "source_hash", lambda: uncached(copy))
    assert [is_compiled(cache), is_compiled(cache)] == [True, False]
    for name, edited in (("errors.py", False), ("probability/trees.py", True)):
        with (copy / name).open("a") as file:
            file.write("# another line\n")
        assert [is_compiled(cache), is_compiled(cache)] == [edited, False], name
    with monkeypatch.context() as patch:
        patch.setattr(jit.numba.config, "BOUNDSCHECK", 1)
        assert is_compiled(cache), "kernels without bounds checks ran although they were requested"
    monkeypatch.setattr(JITCPUCodegen, "magic_tuple", lambda _: ("another processor",))
    assert is_compiled(cache), "code for this processor ran on another one"


@pytest.mark.parametrize(
    ("lab", "edited"),
    [
        ({"mine.py": "from base import Base\n\nclass Mine(Base):\n    pass\n", "base.py": BASE}, "base.py"),
        (
            {
                "lab/__init__.py": "",
                "lab/constants.py": "SAID = said\n",
                "lab/base.py": "from lab.constants import SAID\n" + BASE.replace("said", "SAID"),
                "mine.py": "from lab.base import Base as Mine\n",
            },
            "lab/constants.py",
        ),
        ({"mine.py": "from said import SAID\n" + MINE, "said.py": "SAID = said\n"}, "said.py"),
        (
            {
                "lab/__init__.py": "SAID = said\n",
                "lab/base.py": "",
                "mine.py": "import lab.base\n" + MINE.replace("SAID", "lab.SAID"),
            },
            "lab/__init__.py",
        ),
    ],
    ids=["base-class", "constant", "sibling", "package"],
)
def test_code_of_users_is_compiled_again_after_an_edit_of_another_of_its_files(tmp_path, lab, edited):
    (tmp_path / "lab").mkdir()
    for name, text in lab.items():
        (tmp_path / name).write_text(text)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    for said in ("1", "2"):
        (tmp_path / edited).write_text(lab[edited].replace(" said", f" {said}"))
        command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{INHERITED}"]
        assert subprocess.check_output(command, env=environment, text=True).strip() == said


def test_code_of_users_may_be_in_an_archive(tmp_path):
    archive = tmp_path / "mine.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("mine.py", BASE.replace("Base", "Mine").replace("said", "1"))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(archive)!r})\n{INHERITED}"]
    assert subprocess.check_output(command, env=environment, text=True).strip() == "1"


def test_a_cached_kernel_is_loaded_without_the_tables_of_the_compiler(tmp_path):
    """They take a third of the CPU time of a small run."""
    environment, found = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}, []
    for _ in range(2):
        found.append(subprocess.check_output([sys.executable, "-c", SMALL], env=environment, text=True).splitlines())
    assert [lines[1] for lines in found] == ["True", "False"]
    assert found[0][0] == found[1][0]


def test_machine_code_unused_for_a_month_is_deleted(tmp_path):
    assert is_compiled(tmp_path)
    (mine,) = tmp_path.glob("*.machine")
    old, young = tmp_path / f"old-{'0' * 32}.machine", tmp_path / f"young-{'1' * 32}.machine"
    other = tmp_path / "somebody's.machine"
    for path, days in ((mine, 40), (old, 31), (young, 29), (other, 90)):
        path.touch()
        os.utime(path, (mine.stat().st_atime, path.stat().st_mtime - days * 24 * 3600))
    assert not is_compiled(tmp_path)  # loading resets the age of `mine`
    assert old.exists(), "loading deleted a file"
    assert is_compiled(tmp_path, lambda: 1)
    assert not old.exists()
    assert young.exists()
    assert mine.exists()
    assert other.exists(), "a file without a cache file's name was deleted"


def test_functions_that_close_over_different_values_do_not_share_code():
    def make(n):
        @jit.kernel()
        def value():
            return n

        return value

    assert (make(1)(), make(2)()) == (1, 2)


def test_kernels_run_without_a_cache_if_no_folder_is_writable(monkeypatch):
    def refuse(*_, **__):
        raise PermissionError

    jit.cache_folder.cache_clear()
    monkeypatch.setattr(jit.tempfile, "TemporaryFile", refuse)
    try:
        assert jit.cache_folder() is None

        @jit.kernel()
        def one():
            return 1

        assert one() == 1
    finally:
        jit.cache_folder.cache_clear()


@pytest.mark.parametrize("call", ["mkstemp", "replace"])
def test_a_kernel_runs_if_its_machine_code_cannot_be_stored(tmp_path, monkeypatch, caplog, call):
    def fail(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(jit.tempfile if call == "mkstemp" else Path, call, fail)
    monkeypatch.setattr(jit, "cache_folder", lambda: tmp_path)

    @jit.kernel()
    def one(number):
        return number + 1

    assert (one(1), one(2.5)) == (2, 3.5)
    assert [record.getMessage() for record in caplog.records] == [
        f"{tmp_path}: ignoring this cache of compiled code: {os.strerror(errno.ENOSPC)}"
    ]
    assert not list(tmp_path.iterdir())


posix = pytest.mark.skipif(os.name != "posix", reason="Windows has access lists, not modes")
root = pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can change the owner of a file")
OWNED = pytest.param(lambda path: os.chown(path, 12345, -1), "user 12345 owns it", marks=root, id="owner")
OPEN = pytest.param(lambda path: path.chmod(0o776), "everyone can write to it", marks=posix, id="mode")


@pytest.mark.parametrize(("spoil", "why"), [OWNED, OPEN])
def test_cache_folder_that_others_can_write_is_ignored_with_one_warning(tmp_path, monkeypatch, caplog, spoil, why):
    """Anyone who can put a file there could make this user run it."""
    spoil(tmp_path)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    for _ in range(2):
        jit.cache_folder.cache_clear()
        assert jit.cache_folder() != tmp_path
    jit.cache_folder.cache_clear()
    assert caplog.text.count(f"{tmp_path}: ignoring this cache of compiled code: {why}") == 1


def link(file):
    file.rename(file.with_name("elsewhere"))
    file.symlink_to(file.with_name("elsewhere"))


@pytest.mark.parametrize(
    "spoil",
    [
        *(pytest.param(case.values[0], marks=case.marks, id=case.id) for case in (OWNED, OPEN)),
        pytest.param(lambda file: file.chmod(0o664), marks=posix, id="mode of a group"),
        pytest.param(link, marks=posix, id="link"),  # a group could make one to a file of this user that it can write
        pytest.param(lambda file: file.write_bytes(file.read_bytes()[:-1]), id="damage"),
    ],
)
def test_cache_file_that_is_damaged_or_that_others_can_write_is_compiled_again(tmp_path, spoil):
    """The folder may be group-writable, but its files may not."""
    tmp_path.chmod(0o775)
    assert [is_compiled(tmp_path), is_compiled(tmp_path)] == [True, False]
    (file,) = tmp_path.glob("*.machine")
    spoil(file)
    assert [is_compiled(tmp_path), is_compiled(tmp_path)] == [True, False]
    assert not file.is_symlink()
