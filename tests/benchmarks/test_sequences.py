"""benchmarks/sequences.py: vectors of items, nodes, codons and events mean something."""

import argparse
from collections import Counter
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import sequence_data as data
import sequences

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
