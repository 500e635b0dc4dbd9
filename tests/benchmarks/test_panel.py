"""benchmarks/panel.py scores what `fit` could write as `eval` does, and takes differences model by model."""

import json

import numpy as np
import panel
import pytest

import w2vtrain
from w2vtrain.embeddings.analogies import evaluate_analogies
from w2vtrain.embeddings.similarity import evaluate_similarity
from w2vtrain.formats.transforms import blend
from w2vtrain.formats.vectors import Vectors

WORDS = [f"w{i}" for i in range(40)]
SETTINGS = {"architecture": "cbow", "objective": "neg"}


@pytest.fixture
def sets(tmp_path, rng):
    """Return a folder of small sets: 40 questions in two sections, 2 categories of BATS, and 9 pairs in each set."""
    asked = [" ".join(rng.choice([*WORDS, "unknown"], 4, replace=False)) for _ in range(40)]
    lines = [": family", *asked[:20], ": gram1", *asked[20:]]
    (tmp_path / "questions-words.txt").write_text("\n".join(lines) + "\n")
    for group in ("1_inflectional_morphology", "2_derivational_morphology"):
        (tmp_path / "bats" / group).mkdir(parents=True)
        (tmp_path / "bats" / group / "a.txt").write_text("w1\tw2/w9\nw3\tw4\nw5\tw6\n")
    for name in ("wordsim353", "simlex999", "mturk287", "rg65", "yp130", "verb143"):
        (tmp_path / f"{name}.tsv").write_text("".join(f"w{i}\tw{i + 9}\t{rng.random():.3f}\n" for i in range(9)))
    return tmp_path


def model(rng):
    """Return a model of few dimensions, in which some questions are answered correctly."""
    inputs, outputs = (rng.normal(size=(40, 2)).astype(np.float32) for _ in range(2))
    return w2vtrain.Model(WORDS, np.full(40, 25), inputs, outputs, settings=SETTINGS)


def test_scores_are_those_of_eval(sets, rng):
    made = model(rng)
    found = dict(panel.scores(made, sets))
    assert list(found) == ["input", "centered", "0.1", "0.15", "0.2", "0.3", "0.4"]
    for which, matrix in (("input", made.input), ("0.2", blend(made.input, made.output, 0.2)[:])):
        vectors = Vectors(WORDS, matrix)
        report = evaluate_analogies(vectors, sets / "questions-words.txt")
        expected = {"Google": report.total, "semantic": report.semantic, "syntactic": report.syntactic}
        assert {name: found[which][name] for name in expected} == {k: v.accuracy for k, v in expected.items()}
        assert found[which]["rg65"] == evaluate_similarity(vectors, sets / "rg65.tsv").spearman
    assert 0 < sum(own["Google"] for own in found.values()) < len(found)


def test_bats_asks_all_combinations_of_two_pairs_with_the_first_answers(sets):
    (name, questions), _ = panel.bats(sets / "bats")
    assert name == "BATS inflectional"
    assert len(questions) == 6
    assert questions[0] == ["w1", "w2", "w3", "w4"]


def test_tables_have_paired_differences_and_the_lowest_of_a_set(capsys):
    results = []
    for base, more in ((0.2, 0.01), (0.4, 0.03)):
        own = {"input": {"semantic": base, "x": base, "y": base}}
        own["0.1"] = {"semantic": base - 0.1, "x": base + more, "y": base - 0.01}
        results.append({"architecture": "cbow", "objective": "neg", "words": 1000, "scores": own})
    panel.tables(json.loads(json.dumps(results)), 1000)
    said = capsys.readouterr().out.splitlines()
    assert "| x | 0.300 | +2.0 ± 1.0 |" in said
    assert "| mean | 0.300 | +0.5 ± 0.5 |" in said
    assert "| 1,000 | 2 | +0.5 / -10.0 |" in said
