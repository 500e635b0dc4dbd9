"""`fit --graph`: the command line's way to walks, its run folder, ranks and mistakes."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import forked
import numpy as np
import pytest
from signaled import signaled

import w2vtrain

SMALL = ["--vector-size", 8, "--sample", 0, "--threads", 1, "--epochs", 4]


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(1)
    lines = [
        f"{a}\t{a // 20 * 20 + b}\t{w}\n"
        for a, b, w in zip(*rng.integers(0, [[200], [20], [9]], (3, 900)), strict=True)
    ]
    (tmp_path / "edges.tsv").write_text("".join(line for line in lines if not line.endswith("\t0\n")))
    return tmp_path


def test_a_graph_is_trained_on_as_in_python(folder, w2vtrain_here):
    words = ["fit", "--graph", "edges.tsv", "-o", "nodes.txt", *SMALL, "--export", "in"]
    code, _, said = w2vtrain_here([*words, "--walk-length", 30, "--walks", 5, "--p", 0.5, "--q", 2], folder)
    assert code == 0, said
    walks = w2vtrain.Walks(folder / "edges.tsv", walk_length=30, walks=5, p=0.5, q=2)
    model = w2vtrain.train(walks, vector_size=8, sample=0, threads=1, epochs=4)
    found = w2vtrain.read_vectors(folder / "nodes.txt")
    assert found.words == model.words
    np.testing.assert_allclose(found.matrix, model.input, atol=1e-6)
    assert f"corpus      {200 * 5 * 30:,} words in {200 * 5:,} lines" in said
    assert not (folder / "nodes.txt.run").exists()


def test_a_stopped_run_resumes_to_the_same_bytes(folder):
    command = [sys.executable, "-m", "w2vtrain"]
    words = ["fit", "--graph", "edges.tsv", "--q", "2", "--directed", "-o", "a.bin", *map(str, SMALL)]

    def run(words):
        return forked.run(words, cwd=folder, capture_output=True, text=True, check=False)

    assert run([*command, *words]).returncode == 0
    whole = (folder / "a.bin").read_bytes()
    (folder / "a.bin").unlink()
    (folder / "a.bin.json").unlink()
    stopped = run(signaled([*command, *words], "3:SIGTERM"))
    assert stopped.returncode == 75, stopped.stderr
    other = run([*command, *words[:3], "--q", "3", *words[5:]])
    assert other.returncode == 78, other.stderr
    assert "belongs to another run (q 2.0, not 3.0)" in other.stderr
    done = run([*command, "resume", "a.bin.run"])
    assert done.returncode == 0, done.stderr
    assert (folder / "a.bin").read_bytes() == whole


def test_a_model_of_another_graph_keeps_the_vectors_of_common_nodes_and_loses_other_nodes(folder, w2vtrain_here):
    (folder / "more.tsv").write_text("".join(f"{a}\t{a + 1}\n" for a in range(20, 210)))
    words = ["fit", "--graph", "edges.tsv", "-o", "nodes.txt", "--save-model", "nodes.model", *SMALL]
    assert w2vtrain_here(words, folder)[0] == 0
    words = ["fit", "--graph", "more.tsv", "-o", "more.txt", "--init-from", "nodes.model", "--freeze", *SMALL[-4:]]
    code, _, said = w2vtrain_here(words, folder)
    assert code == 0, said
    assert "started     from nodes.model: 180 words known, 11 new; took input, output\n" in said
    assert "warning     20 words of nodes.model are left out: the corpus does not have them\n" in said
    model, found = w2vtrain.load_model(folder / "nodes.model"), w2vtrain.read_vectors(folder / "more.txt")
    assert len(found.words) == 191
    np.testing.assert_allclose(found.matrix[found.words.index("20")], model["20"], atol=1e-5)
    code, _, said = w2vtrain_here([*words[:2], "edges.tsv", "-o", "same.txt", *words[5:]], folder)
    assert (code, said.endswith("so none would change: leave out --freeze\n")) == (78, True), said


def test_two_ranks_train_on_a_graph(folder):
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if not mpiexec:
        pytest.skip("needs mpiexec")
    words = [mpiexec, "-n", "2", sys.executable, "-m", "w2vtrain", "fit", "--graph", "edges.tsv", "-o", "nodes.txt"]
    more = [*map(str, SMALL), "--distributed", "mpi"]
    environment = {**os.environ, "PYTHONPATH": str(Path(w2vtrain.__file__).parents[1])}
    done = subprocess.run(
        [*words, *more], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert len(w2vtrain.read_vectors(folder / "nodes.txt").words) == 200


def test_a_dry_run_prints_what_an_epoch_has_and_writes_nothing(folder, w2vtrain_here):
    words = ["fit", "--graph", "edges.tsv", "-o", "nodes.txt", "--walk-length", 30, "--walks", 5, *SMALL, "--dry-run"]
    code, said, error = w2vtrain_here(words, folder)
    assert code == 0, error
    arcs = len(w2vtrain.Walks(folder / "edges.tsv").graph.arcs.targets)
    assert f"200 nodes, {arcs:,} arcs; 1,000 walks and about 30,000 words per epoch" in said
    assert "memory      weights" in said
    assert "warning" not in said
    assert "encoded text" not in said
    assert [path.name for path in folder.iterdir()] == ["edges.tsv"]
    code, said, error = w2vtrain_here([*words, "--json"], folder)
    assert (json.loads(said)["words"], json.loads(said)["tokens"]) == (200, 30_000)
    (folder / "bad.tsv").write_text("a b -1\n")
    assert w2vtrain_here([*words[:2], "bad.tsv", *words[3:]], folder)[0] == 65


@pytest.mark.parametrize(("architecture", "alpha"), [("skipgram", 0.0125), ("cbow", 0.01875)])
def test_the_default_learning_rate_is_a_quarter_of_that_for_text(folder, w2vtrain_here, architecture, alpha):
    words = ["fit", "edges.tsv", "-o", "nodes.txt", "--architecture", architecture, "--print-config"]
    for more, rate in ((["--graph"], alpha), ([], 4 * alpha), (["--graph", "--alpha", 0.03], 0.03)):
        code, said, error = w2vtrain_here([*words, *more], folder)
        assert code == 0, error
        assert re.search(r"^alpha = (\S+)", said, re.M)[1] == str(rate)
    model = w2vtrain.train(w2vtrain.Walks(folder / "edges.tsv"), architecture=architecture, vector_size=8, epochs=1)
    assert model.settings["alpha"] == alpha


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["edges.tsv", "--q", 2], 2, "q: has no effect without --graph"),
        (["edges.tsv", "--directed"], 2, "directed: has no effect without --graph"),
        (["edges.tsv", "--graph", "--p", 0], 2, "Invalid value for '--p'"),
        (["edges.tsv", "--graph", "--max-vocab", 5], 78, "max-vocab: has no effect on walks over a graph"),
        (["edges.tsv", "--graph", "--read-vocab", "words.txt"], 78, "this corpus has words of its own"),
        (["edges.tsv", "--graph", "--tokenizer", "simple"], 78, "tokenizer: has no effect on walks over a graph"),
        (["edges.tsv", "--graph", "--min-count", 3], 78, "min-count: has no effect on walks over a graph"),
        (["edges.tsv", "--graph", "--allow-nul"], 78, "allow-nul: has no effect on walks over a graph"),
        (["edges.tsv", "--graph", "--objective", "target", "--dry-run"], 78, "target needs a stored text, and walks"),
        (["none.tsv", "--graph"], 66, "none.tsv"),
        (["bad.csv", "--graph"], 65, "bad.csv: an edge has the columns source and target, and perhaps weight;"),
        (["bad.tsv", "--graph"], 65, "bad.tsv:2: the weight is -1: weights must be from"),
    ],
)
def test_mistakes_are_refused_with_what_to_do(folder, w2vtrain_here, words, code, said):
    (folder / "bad.tsv").write_text("a\tb\na\tc\t-1\n")
    (folder / "bad.csv").write_text("user,item,rating\na,b,1\n")
    (folder / "words.txt").write_text("a 2\nb 1\n")
    found, _, error = w2vtrain_here(["fit", *words, "-o", "nodes.txt", *SMALL], folder)
    assert found == code, error
    assert said in error
    assert not (folder / "nodes.txt").exists()
