"""`w2vtrain warmup` compiles what training needs, and nothing twice."""

import os
import subprocess
import sys

import pytest
from pages import RANKING

import w2vtrain
from w2vtrain.commands import warmup as command


def test_a_pair_is_compiled_once_in_one_process_or_in_several(tmp_path, w2vtrain_here):
    w2vtrain_here(["warmup"], tmp_path)
    code, out, said = w2vtrain_here(
        ["warmup", "--architecture", "skipgram", "--objective", "neg", "--objective", "ns"], tmp_path
    )
    assert (code, said, out.count("\n")) == (0, "", 2)
    assert out.startswith("skipgram with neg ")
    assert "loaded from the cache in " in out
    code, out, said = w2vtrain_here(["warmup", "--objective", "softmax", "--objective", "block-neg"], tmp_path)
    assert (code, said) == (0, "")
    *pairs, summary = out.splitlines()
    assert sorted(pair.split()[2] for pair in pairs) == ["block-neg", "softmax"]
    assert "kernels compiled into " in summary


def test_all_includes_architectures_of_documents(tmp_path, w2vtrain_here, monkeypatch):
    monkeypatch.setattr("w2vtrain.architectures.architectures", lambda: ["skipgram", "pv-dbow", "pv-dm"])
    monkeypatch.setattr("w2vtrain.objectives.objectives", lambda: ["neg"])
    code, out, said = w2vtrain_here(["warmup", "--all"], tmp_path)
    assert (code, said) == (0, "")
    assert [line.split(" with ")[0] for line in out.splitlines()[:-1]] == ["skipgram", "pv-dbow", "pv-dm"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--objective", "nosuch"], 78, "nosuch"),
        (["--architecture", "nosuch", "--objective", "neg", "--objective", "hs"], 78, "nosuch"),
        (["--all", "--objective", "neg"], 2, "--all includes all objectives and architectures: name none"),
    ],
)
def test_wrong_names_are_refused_before_anything_is_compiled(tmp_path, w2vtrain_here, words, code, message):
    found, out, said = w2vtrain_here(["warmup", *words], tmp_path)
    assert (found, out, len(said.splitlines())) == (code, "", 1)
    assert message in said


def test_a_pair_that_may_diverge_on_a_small_text_is_compiled_all_the_same():
    assert w2vtrain.warmup("vlbl", "block-nce").objective == "block-nce"


def test_code_that_is_named_is_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("raise ValueError('it ran')\n")
    with pytest.raises(w2vtrain.W2VError, match="it ran"):
        w2vtrain.warmup(objective="./mine.py")


def test_an_error_in_one_of_several_processes_is_one_line_with_its_exit_code(tmp_path, w2vtrain_here, monkeypatch):
    apart(tmp_path / "mine.py", "raise ValueError('it ran apart')")
    monkeypatch.setattr(command, "automatic_threads", lambda: (2, ""))
    code, _, said = w2vtrain_here(["warmup", "--objective", "./mine.py", "--objective", "neg"], tmp_path)
    assert (code, len(said.splitlines())) == (78, 1)
    assert "it ran apart" in said


def apart(path, statement):
    """Write a module with an objective, which executes a statement if it is not the process of the command."""
    path.write_text(f"import os, sys, time\nif sys.argv[0] == '-c' and len(sys.argv) > 1:\n    {statement}\n{RANKING}")


@pytest.mark.slow
@pytest.mark.parametrize("pair", [("skipgram", "neg"), ("cbow", "hs"), ("vlbl", "nce"), ("skipgram", "softmax")])
def test_after_warmup_a_run_compiles_nothing(tmp_path, pair):
    text, cache = tmp_path / "text.txt", tmp_path / "cache"
    text.write_text("a b c d e f g h\n" * 20_000)
    kind = ["--architecture", pair[0], "--objective", pair[1]]

    def run(*words):
        environment, command = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}, [sys.executable, "-m", "w2vtrain", *words]
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)

    assert "compiled into" in run("warmup", *kind).stdout
    warm = {path.name for path in cache.glob("*.machine")}
    for threads in ("1", "2"):
        more = ["--epochs", "1", "--threads", threads, "--heldout", text, "--sample", "0"]
        said = run("fit", text, "-o", f"{threads}.txt", *kind, *more).stderr
        assert "compiling" not in said
    assert {path.name for path in cache.glob("*.machine")} == warm
