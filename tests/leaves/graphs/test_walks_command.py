"""The command `walks`: what it prints, and how it ends."""

import gzip
import os
import subprocess
import sys
from itertools import pairwise

import pytest

PROGRAM = [sys.executable, "-m", "w2vtrain"]


@pytest.fixture
def edges(tmp_path):
    (tmp_path / "edges.tsv").write_text("a\tb\t2\nb\tc\t1\nNew York\ta\t1\n")
    return tmp_path


def test_walks_are_printed_one_per_line(edges, w2vtrain_here):
    words = ["walks", "edges.tsv", "--walk-length", 6, "--walks", 3, "-o", "walks.txt"]
    code, said, reported = w2vtrain_here(words, edges)
    assert (code, said) == (0, "")
    assert reported.startswith("4 nodes, 6 arcs, 12 walks, 72 nodes in them")
    walks = [line.split(" ") for line in (edges / "walks.txt").read_text().splitlines()]
    assert sorted(walk[0] for walk in walks) == sorted(["a", "b", "c", "New_York"] * 3)
    linked = {("a", "b"), ("b", "c"), ("New_York", "a")}
    for walk in walks:
        assert len(walk) == 6
        assert all({pair, pair[::-1]} & linked for pair in pairwise(walk))


def test_a_walk_ends_at_a_sink_with_directed(edges, w2vtrain_here):
    code, _, _ = w2vtrain_here(["walks", "edges.tsv", "--directed", "--walks", 1, "-q", "-o", "walks.txt"], edges)
    assert code == 0
    assert sorted((edges / "walks.txt").read_text().splitlines()) == ["New_York a b c", "a b c", "b c", "c"]


def test_tables_have_the_same_walks(edges, w2vtrain_here):
    (edges / "plain").write_text("a b 2\nb c 1\n")
    (edges / "table.csv").write_text("source,target,weight\na,b,2\nb,c,1\n")
    (edges / "table.jsonl").write_text(
        '{"weight": 2, "target": "b", "source": "a"}\n{"weight": 1.0, "target": "c", "source": "b"}\n'
    )
    for name in ("plain", "table.csv", "table.jsonl"):
        assert w2vtrain_here(["walks", name, "-q", "-o", f"{name}.txt"], edges)[0] == 0
    assert len({(edges / f"{name}.txt").read_text() for name in ("plain", "table.csv", "table.jsonl")}) == 1


def test_the_seed_decides_and_threads_do_not(edges, w2vtrain_here):
    def walks(*more):
        assert w2vtrain_here(["walks", "edges.tsv", "-q", "-o", "w.gz", "--force", *more], edges)[0] == 0
        return gzip.decompress((edges / "w.gz").read_bytes())

    assert walks() == walks("--threads", 1) == walks("--threads", 3, "--seed", 1)
    assert len({walks(), walks("--seed", 2), walks("--p", 0.1), walks("--q", 9)}) == 4


def test_outputs_and_mistakes_are_handled_as_by_other_commands(edges, w2vtrain_here):
    (edges / "bad.tsv").write_text("a\tb\t1\na\tc\t-3\n")
    code, _, said = w2vtrain_here(["walks", "bad.tsv", "-o", "walks.txt"], edges)
    assert code == 65
    assert said.startswith("w2vtrain: error: bad.tsv:2: the weight is -3: weights must be from 1e-30 to 1e+30")
    assert not (edges / "walks.txt").exists()
    (edges / "walks.txt").touch()
    assert w2vtrain_here(["walks", "edges.tsv", "-o", "walks.txt"], edges)[0] == 73
    assert w2vtrain_here(["walks", "edges.tsv", "-o", "edges.tsv"], edges)[0] == 2
    assert w2vtrain_here(["walks", "none.tsv"], edges)[0] == 66
    for mistake in (["--p", "0"], ["--q", "nan"], ["--walks", "0"], ["--walk-length", "x"]):
        assert w2vtrain_here(["walks", "edges.tsv", *mistake], edges)[0] == 2


def test_walks_pipe_into_fit(edges):
    words = [*PROGRAM, "fit", "-", "-o", "nodes.txt", "--vector-size", "8", "--sample", "0", "--threads", "1", "-q"]
    with subprocess.Popen([*PROGRAM, "walks", "edges.tsv", "-q"], cwd=edges, stdout=subprocess.PIPE) as first:
        done = subprocess.run(words, cwd=edges, stdin=first.stdout, capture_output=True, text=True, check=False)
    assert (first.returncode, done.returncode, done.stderr) == (0, 0, "")
    assert sorted(line.split()[0] for line in (edges / "nodes.txt").read_text().splitlines()[1:]) == [
        "New_York", "a", "b", "c",
    ]  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_with_a_node_that_is_not_utf_8_is_read_once(edges):
    os.mkfifo(edges / "pipe")
    with subprocess.Popen([*PROGRAM, "walks", "pipe"], cwd=edges, stderr=subprocess.PIPE) as process:
        (edges / "pipe").write_bytes(b"a b\nc \xff\n")
        try:
            said = process.communicate(timeout=60)[1]
        finally:
            process.kill()
    assert (process.returncode, b"pipe: the node b'\\xff' is not UTF-8" in said) == (65, True)


def test_walks_end_quietly_with_their_reader(edges):
    words = [*PROGRAM, "walks", "edges.tsv", "--walks", "9999", "-q"]
    with subprocess.Popen(words, cwd=edges, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
