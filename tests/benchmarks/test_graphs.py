"""benchmarks/graphs.py: a graph is made, and w2vtrain's row of the table is measured on it."""

import graphs
import pytest


@pytest.mark.slow
def test_classes_of_a_block_model_are_learned(tmp_path, monkeypatch, capfd):
    names = [str(tmp_path / "edges"), str(tmp_path / "labels")]
    for words in (
        ["make", *names, "--nodes", "6000", "--edges", "80000"],
        ["run", *names, "--systems", "w2vtrain", "--threads", "1", "--dim", "32", "--seeds", "2", "--walks-alone"],
    ):
        monkeypatch.setattr("sys.argv", ["graphs.py", *words])
        graphs.main()
    edges = (tmp_path / "edges").read_text().splitlines()
    assert 40_000 < len(set(edges)) == len(edges) <= 80_000
    *_, row = capfd.readouterr().out.splitlines()
    f1, links = (float(row.split("|")[i].split()[0]) for i in (7, 8))
    assert f1 > 0.9
    assert links > 0.8
