"""Properties of compiled code that engines rely on: no reference counting, vector code, a cache that is never stale."""

import errno
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
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
sys.path.insert(0, sys.argv[1])
import numpy as np
from w2vtrain.probability.noise import alias_table
print(alias_table(np.array([0.5, 0.25, 0.25]))[1].tolist())
"""


WINDOWS = sorted(name for name in objectives() if engine_of(name) == "windows")
BUILT = {"skipgram": lambda: SkipGram(2), "cbow": lambda: Cbow(2), "vlbl": lambda: Vlbl(2, padded_rows(4, 16))}
QUICK = {("neg", ("skipgram", "cbow", "vlbl")), ("hs", ("skipgram",)), ("nce", ("cbow",))}
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


def run_small(package, cache, code=SMALL, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code, str(package)],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache), **environment}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


def test_cache_is_reused_until_a_source_of_kernels_is_edited(tmp_path):
    cache, copy = tmp_path / "cache", tmp_path / "copy"
    shutil.copytree(PACKAGE, copy / "w2vtrain", ignore=shutil.ignore_patterns("__pycache__"))
    printed = run_small(copy, cache)
    first = {f.name: f.stat().st_ino for f in cache.glob("*.machine")}
    assert len(first) == 1
    assert run_small(copy, cache) == printed
    assert {f.name: f.stat().st_ino for f in cache.glob("*.machine")} == first, "compiled again unnecessarily"
    with (copy / "w2vtrain/errors.py").open("a") as f:
        f.write("# a file that no kernel depends on\n")
    run_small(copy, cache)
    assert len(list(cache.glob("*.machine"))) == 1, "compiled again unnecessarily"
    with (copy / "w2vtrain/probability/trees.py").open("a") as f:
        f.write("# another file that kernels depend on\n")
    run_small(copy, cache)
    assert len(list(cache.glob("*.machine"))) == 2, "stale code ran after an edit to another file"
    run_small(copy, cache, NUMBA_CPU_NAME="x86-64" if os.environ.get("NUMBA_CPU_NAME") == "generic" else "generic")
    assert len(list(cache.glob("*.machine"))) == 3, "code for this processor ran on another one"
    run_small(copy, cache, NUMBA_BOUNDSCHECK="1")
    assert len(list(cache.glob("*.machine"))) == 4, "kernels without bounds checks ran although they were requested"


def test_a_cached_kernel_is_loaded_without_the_tables_of_the_compiler(tmp_path):
    """They take a third of the CPU time of a small run. A file of the cache that is damaged is compiled again."""
    small = f"{SMALL}\nprint('numba.np.arraymath' in sys.modules)"
    found = []
    for _ in range(2):
        found.append(run_small(PACKAGE.parent, tmp_path, small).splitlines())
    (file,) = tmp_path.glob("*.machine")
    file.write_bytes(file.read_bytes()[:-1])
    found.append(run_small(PACKAGE.parent, tmp_path, small).splitlines())
    assert [lines[-1] for lines in found] == ["True", "False", "True"]
    assert found[0][:-1] == found[1][:-1] == found[2][:-1]


@pytest.mark.slow
def test_machine_code_unused_for_a_month_is_deleted(tmp_path):
    run_small(PACKAGE.parent, tmp_path)
    (mine,) = tmp_path.glob("*.machine")
    old, young = tmp_path / f"old-{'0' * 32}.machine", tmp_path / f"young-{'1' * 32}.machine"
    other = tmp_path / "somebody's.machine"
    for path, days in ((mine, 40), (old, 31), (young, 29), (other, 90)):
        path.touch()
        os.utime(path, (mine.stat().st_atime, path.stat().st_mtime - days * 24 * 3600))
    run_small(PACKAGE.parent, tmp_path)  # loading resets the age of `mine`
    assert old.exists(), "loading deleted a file"
    run_small(PACKAGE.parent, tmp_path, NUMBA_BOUNDSCHECK="1")
    assert not old.exists()
    assert young.exists()
    assert mine.exists()
    assert other.exists(), "a file without a cache file's name was deleted"


def test_damaged_cache_file_is_ignored_and_the_kernel_compiled_again(tmp_path):
    expected = run_small(PACKAGE.parent, tmp_path)
    (file,) = tmp_path.glob("*.machine")
    file.write_bytes(file.read_bytes()[:100])
    assert run_small(PACKAGE.parent, tmp_path) == expected


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


def said_by(cache, *words):
    """Return the stderr of a command that compiles kernels with this cache folder."""
    about = {"env": {**os.environ, "NUMBA_CACHE_DIR": str(cache)}, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, "-m", "w2vtrain", *words], check=True, timeout=300, **about)
    return done.stderr


ANY_POSIX = pytest.mark.skipif(os.name != "posix", reason="Windows has access lists, not modes")
ROOT = pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can change the owner of a file")
SPOIL = {
    "owner": pytest.param(lambda path: os.chown(path, 12345, -1), "user 12345 owns it", marks=ROOT),
    "mode": pytest.param(lambda path: path.chmod(0o776), "everyone can write to it", marks=ANY_POSIX),
}


@pytest.mark.parametrize(("spoil", "why"), SPOIL.values(), ids=SPOIL)
def test_cache_folder_that_others_can_write_is_ignored_with_one_warning(tmp_path, spoil, why):
    """Anyone who can put a file there could make this user run it."""
    text, cache = tmp_path / "text.txt", tmp_path / "cache"
    text.write_text("a b c d\n" * 50)
    cache.mkdir(0o755)
    spoil(cache)
    said = said_by(cache, "vocab", str(text), "-q")
    assert said.count(f"{cache}: ignoring this cache of compiled code: {why}") == 1
    assert not list(cache.iterdir())


@pytest.mark.parametrize(("spoil", "why"), SPOIL.values(), ids=SPOIL)
def test_cache_file_that_others_can_write_is_compiled_again(tmp_path, spoil, why):
    expected = run_small(PACKAGE.parent, tmp_path)
    (file,) = tmp_path.glob("*.machine")
    spoil(file)
    before = file.stat().st_ino
    assert run_small(PACKAGE.parent, tmp_path) == expected
    assert file.stat().st_ino != before, "the file was used"


@pytest.mark.skipif(os.name != "posix", reason="creating a link needs special rights on Windows")
def test_cache_file_that_is_a_symbolic_link_is_compiled_again(tmp_path):
    expected = run_small(PACKAGE.parent, tmp_path)
    (file,) = tmp_path.glob("*.machine")
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert run_small(PACKAGE.parent, tmp_path) == expected
    assert not file.is_symlink()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="Windows has access lists, not modes")
def test_cache_folder_may_be_group_writable_but_its_files_may_not(tmp_path):
    """A member of the group could put a link there to one of this user's files that the group can write."""
    tmp_path.chmod(0o775)
    run_small(PACKAGE.parent, tmp_path)
    (file,) = tmp_path.glob("*.machine")
    file.chmod(0o664)
    before = file.stat().st_ino
    run_small(PACKAGE.parent, tmp_path)
    assert file.stat().st_ino != before
