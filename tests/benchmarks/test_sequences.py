"""benchmarks/sequences.py: vectors of items, nodes, codons and events mean something; and examples/walks.py."""

import argparse
import subprocess
import sys
from collections import Counter
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import sequence_data as data
import sequences
from sequences import walks

WALKS = Path(walks.__file__)
PLAIN = argparse.Namespace(
    edges=None, labels=None, links=False, p=1.0, q=1.0, k=3, step=3, proteins=False, data=sequences.REPORTED
)
MARGINS = {
    "sessions": {"hit rate at 10": 0.3, "MRR": 0.1},
    "graphs": {"link AUC": 0.3, "label F1": 0.6},
    "kmers": {"synonyms": 0.4},
    "logs": {"fault AUC": 0.2},
}
"""How far the scores must be above those without vectors: less than half of what was measured."""


@pytest.mark.slow
@pytest.mark.parametrize("name", sequences.TASKS)
def test_vectors_beat_popularity_chance_and_counts_by_a_wide_margin(name):
    task = sequences.TASKS[name](PLAIN)
    scores = task.judge(sequences.of_w2vtrain(task.sentences(1), task.suggested, 1))
    for score, margin in MARGINS[name].items():
        assert scores[score] > task.without[score] + margin, (score, scores, task.without)


def test_ranks_leave_out_what_was_seen_and_count_ties_as_worse():
    scores = np.array([[9.0, 2.0, 3.0, 2.0], [1.0, 2.0, 3.0, 4.0]])
    assert sequences.ranks_of(scores, [1, 3], [[0], [2]]).tolist() == [3, 1]


def test_auc_is_the_probability_of_the_larger_score():
    assert sequences.auc(np.array([3.0, 1.0]), np.array([2.0, 1.0, 0.0])) == pytest.approx((3 + 1.5) / 6)


def test_held_out_links_leave_every_node_a_link():
    links = [("a", "b"), ("a", "c"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f"), ("d", "f")]
    kept, held, unlinked = sequences.split_links(links)
    assert sorted(kept + held) == sorted(links)
    assert {node for link in kept for node in link} == set("abcdef")
    assert len(held) == len(unlinked) == 2
    assert not set(unlinked) & set(links)


def test_all_scores_of_links_know_two_cliques_apart():
    rng = np.random.default_rng(1)
    centers = np.repeat(np.eye(4)[:2], 10, 0)
    inputs, outputs = (2 * centers + rng.normal(0, 0.1, (20, 4)) for _ in range(2))
    vectors = sequences.vectors_of([str(node) for node in range(20)], inputs, outputs, 0.0)
    pairs = [(str(a), str(b)) for a in range(20) for b in range(a)]
    linked = [pair for pair in pairs if (int(pair[0]) < 10) == (int(pair[1]) < 10)]
    scores = sequences.link_scores(vectors, linked, sorted(set(pairs) - set(linked)))
    assert min(scores.values()) == 1, scores
    vectors = vectors._replace(outputs=rng.normal(0, 1, (20, 4)))
    assert sequences.link_scores(vectors, linked, sorted(set(pairs) - set(linked)))["input by output, product"] < 0.9


def test_the_genetic_code_is_the_standard_one():
    assert (data.CODE["ATG"], data.CODE["TGG"], data.CODE["TAA"], data.CODE["CTG"]) == ("M", "W", "*", "L")
    assert Counter(data.CODE.values())["L"] == 6


def test_kmers_overlap_unless_the_step_is_their_length():
    assert data.kmers("ACGTAC", 3) == ["ACG", "CGT", "GTA", "TAC"]
    assert data.kmers("ACGTACG", 3, 3) == ["ACG", "TAC"]


def test_proteins_are_translated_by_codons():
    assert data.translated("ATGCTGTAA") == "ML*"
    written = sequences.TASKS["kmers"](PLAIN).files
    assert data.translated(written["genes.fasta"][1]) == written["proteins.fasta"][1]


def test_settings_are_chosen_by_data_that_the_tables_do_not_report(monkeypatch):
    ring = [(str(node), str((node + step) % 60)) for node in range(60) for step in (1, 2)]
    monkeypatch.setattr(data, "digits", lambda: ([(min(link), max(link)) for link in ring], {}))
    validation = argparse.Namespace(**{**vars(PLAIN), "data": sequences.VALIDATION})
    for name in ("sessions", "logs"):
        reported, other = (sequences.TASKS[name](options).sentences(1) for options in (PLAIN, validation))
        assert reported != other
    kept, held, _ = sequences.split_links(data.digits()[0])
    found = sequences.TASKS["graphs"](validation).sentences(1)
    walked = {frozenset(pair) for walk in found for pair in pairwise(walk)}
    assert walked <= {frozenset(link) for link in kept}
    assert not walked & {frozenset(link) for link in held}


def test_each_system_has_its_own_best_settings():
    best = {"w2vtrain": {"alpha": 0.1}, "gensim": {"alpha": 0.2}}
    label, change = sequences.rows_of(sequences.TASKS["logs"](PLAIN)._replace(best=best))[-1]
    assert label == "at its best: `--alpha 0.1` / `--alpha 0.2`"
    assert change == best


def test_the_error_of_a_difference_is_paired_by_seed():
    scores = {"w2vtrain": {"AUC": np.array([0.5, 0.7, 0.9])}, "gensim": {"AUC": np.array([0.4, 0.6, 0.8])}}
    assert sequences.Measured(scores, {}).error("AUC") == pytest.approx(0)
    scores["gensim"]["AUC"] = np.array([0.5, 0.7, 0.6])
    assert sequences.Measured(scores, {}).error("AUC") == pytest.approx(0.1)


def test_masked_lines_of_a_request_are_its_events():
    lines = ["t0 r1 disk: read 12 bytes", "t1 r2 cache: missed key 7", "t2 r1 http: sent 12 bytes"]
    assert data.event_sessions(lines) == {
        "r1": ["disk:_read_#_bytes", "http:_sent_#_bytes"], "r2": ["cache:_missed_key_#"]
    }  # fmt: skip


def test_a_table_has_both_systems_beside_the_scores_without_vectors(monkeypatch, capsys):
    monkeypatch.setitem(sequences.SYSTEMS, "gensim", sequences.of_w2vtrain)  # gensim has no wheels for Python 3.14
    monkeypatch.setattr(data, "logs", partial(data.logs, 300))
    sequences.main(["logs", "--seeds", "2", "--rows", "2"])
    suggested, _, head, _, without, first, second, _, errors = capsys.readouterr().out.splitlines()
    assert "`--sample 0`" in suggested
    assert head.count("w2vtrain | gensim") == 3
    assert len({line.count("|") for line in (head, without, first, second)}) == 1
    assert first.split("|")[2] == first.split("|")[3], "the same seed gives the same vectors"
    assert errors.startswith("Largest standard error of a difference, 2 seeds: 0.000 (fault AUC)")


def test_settings_mean_the_same_to_gensim():
    pytest.importorskip("gensim")
    sentences = [["a", "b", "c"], ["a", "c", "b"]] * 50
    settings = {"window": "sentence", "architecture": "cbow", "vector_size": 8, "min_count": 1, "epochs": 1}
    vectors = sequences.of_gensim(sentences, settings, 1)
    assert vectors.rows.shape == (3, 8)
    np.testing.assert_allclose(np.linalg.norm(vectors.rows, axis=1), 1, rtol=1e-5)


def graph(*edges, directed=False):
    return walks.Graph(iter(edges), directed)


def test_walks_follow_edges_in_proportion_to_their_weights():
    drawn = graph(("a", "b", 1.0), ("a", "c", 3.0)).walks(2500, 2, 1, 1, seed=1)
    ends = Counter(second for first, second in drawn if first == "a")
    assert ends["c"] / sum(ends.values()) == pytest.approx(0.75, abs=0.04)


def test_walks_return_and_leave_as_often_as_node2vec_says():
    """From t to v in t-v, t-x, v-x, v-y: back to t has bias 1/p, to x, a neighbor of t, 1, and to y 1/q."""
    p, q = 4, 0.5
    square = graph(("t", "v", 1.0), ("t", "x", 1.0), ("v", "x", 1.0), ("v", "y", 1.0))
    ends = Counter(walk[2] for walk in square.walks(2500, 3, p, q, seed=1) if walk[:2] == ["t", "v"])
    total = sum(ends.values())
    expected = {"t": 1 / p, "x": 1, "y": 1 / q}
    for node, bias in expected.items():
        assert ends[node] / total == pytest.approx(bias / sum(expected.values()), abs=0.04)


def test_a_directed_walk_ends_where_no_edge_leads_on():
    line = graph(("a", "b", 1.0), ("b", "c", 1.0), directed=True)
    assert sorted(line.walks(1, 5, 1, 1, seed=1)) == [["a", "b", "c"], ["b", "c"], ["c"]]


@pytest.mark.parametrize("text", ["New York\tRome\t2\n", "New York,Rome,2\n", "# from to\nNew_York Rome 2\n\n"])
def test_edges_are_read_with_any_separator(text):
    assert list(walks.read_edges(iter(text.splitlines()))) == [("New_York", "Rome", 2.0)]


@pytest.mark.parametrize("line", ["a", "a b c", "a b 0", "a b -1", "a b nan", "a\t\tb", "a b 1 2"])
def test_an_edge_that_is_none_is_refused_with_its_line(line):
    with pytest.raises(SystemExit, match="line 2: expected two nodes"):
        list(walks.read_edges(iter(["a b", line])))


def test_walks_are_the_same_again_and_end_quietly_with_their_reader(tmp_path):
    edges = tmp_path / "edges.txt"
    edges.write_text("".join(f"n{i} n{i + 1}\n" for i in range(500)), encoding="utf-8")
    first, again = (subprocess.run([sys.executable, WALKS, edges, "-p", "2"], capture_output=True) for _ in range(2))
    assert first.returncode == 0, first.stderr
    assert first.stdout == again.stdout
    assert len(first.stdout.splitlines()) == 5010
    with subprocess.Popen([sys.executable, WALKS, edges], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
