"""The `compare` command: contenders, reuse of results, learning rates, and the tables that it writes."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from w2vtrain.config import Settings
from w2vtrain.errors import ConfigError, DataError
from w2vtrain.evaluation import compare, report
from w2vtrain.evaluation.compare import contenders
from w2vtrain.objectives import objectives

ROOT = Path(__file__).parents[2]


def test_each_contender_has_its_own_options_and_settings():
    found = contenders("softmax, nce(negative=25, alpha=0.1),hs( tree = balanced )")
    assert [c.name for c in found] == ["softmax", "nce(negative=25, alpha=0.1)", "hs(tree = balanced)"]
    assert found[0].settings == {"objective": "softmax"}
    assert found[1].settings == {"objective": "nce", "alpha": "0.1", "options": {"negative": "25"}}
    assert found[2].settings == {"objective": "hs", "options": {"tree": "balanced"}}
    assert [c.name for c in contenders("all")] == list(objectives())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the list is empty"),
        ("softmacks", "choose one of"),
        ("nce(negative)", "'negative' is not KEY=VALUE, where KEY is an option of nce or a setting"),
        ("nce(color=3)", "'color=3' is not KEY=VALUE"),
        ("nce(options=3)", "'options=3' is not KEY=VALUE"),
        ("nce(negative=x)", "whole number"),
        ("neg, neg", "neg is listed twice"),
        ("n eg", "is not NAME"),
    ],
)
def test_invalid_contenders_are_refused(text, message):
    with pytest.raises(ConfigError, match=message):
        contenders(text)


def comparison(tmp_path, **more):
    settings = Settings(vector_size=8, epochs=1, threads=1)
    about = {"settings": settings, "contenders": contenders("neg, softmax(alpha=0.2)"), "seeds": 2, **more}
    return compare.Comparison(["corpus"], "heldout", tmp_path, **about)


def found(job, perplexity=100.0):
    return {
        "epochs": [
            {"seconds": 2.0, "heldout": {"perplexity": perplexity * 2}},
            {"seconds": 3.0, "heldout": {"perplexity": perplexity}},
        ],
        "seconds": {"training": 5.0},
        "words_per_second": 1000.0 if job.settings["objective"] == "softmax" else 30_000.0,
        "output_parameters": 400,
        "peak_memory_bytes": 2**20,
        "vocabulary": 100,
        "width": 8,
        "test": {
            "perplexity": perplexity, "unnormalized": 90.0, "bits": 6.6, "log_z_mean": 0.1, "log_z_variance": 0.2,
            "examples": 10, "seconds": 1.0, "coverage": 0.9,
        },
        "scored_per_second": 500.0,
        "scores": {"analogies": 0.25},
    }  # fmt: skip


def test_an_interrupted_comparison_resumes_where_it_stopped(tmp_path, monkeypatch):
    trained, said = [], []

    def train(job):
        trained.append(job.name)
        if len(trained) == 3:
            raise KeyboardInterrupt
        return found(job, 100.0 + job.settings["seed"])

    monkeypatch.setattr(compare, "_train_apart", train)
    with pytest.raises(KeyboardInterrupt):
        compare.train_all(comparison(tmp_path), said.append)
    results = compare.train_all(comparison(tmp_path), said.append)
    names = ["neg seed 1", "softmax(alpha=0.2) seed 1", "neg seed 2", "softmax(alpha=0.2) seed 2"]
    assert trained == [*names[:3], *names[2:]]
    assert [r["job"]["name"] for r in results] == names
    assert [r["job"]["settings"]["alpha"] for r in results] == [0.05, 0.2, 0.05, 0.2]
    assert compare.train_all(comparison(tmp_path), said.append) == json.loads(json.dumps(results))
    with pytest.raises(ConfigError, match="belongs to another comparison"):
        compare.train_all(comparison(tmp_path, test="other"), said.append)
    (tmp_path / "runs/neg-seed-1.json").write_text("{")
    with pytest.raises(DataError, match="not JSON"):
        compare.train_all(comparison(tmp_path), said.append)


def test_results_of_an_older_version_are_reused(tmp_path, monkeypatch):
    monkeypatch.setattr(compare, "_train_apart", found)
    before = compare.train_all(comparison(tmp_path), lambda _: None)
    for path in (tmp_path / "runs").iterdir():
        result = json.loads(path.read_text())
        del result["job"]["settings"]["architecture"]
        result["job"]["settings"] |= {"model": "skipgram", "cbow_gradient": "word2vec", "context_weights": False}
        path.write_text(json.dumps(result))
    monkeypatch.delattr(compare, "_train_apart")
    again = compare.train_all(comparison(tmp_path), lambda _: None)
    assert [r["test"] for r in again] == [r["test"] for r in before]
    with pytest.raises(ConfigError, match="belongs to another comparison"):
        compare.train_all(comparison(tmp_path, settings=Settings(architecture="cbow")), lambda _: None)


def test_a_contender_may_have_its_own_architecture(tmp_path):
    named = contenders("neg, neg(model=cbow), hs(architecture=vlbl), nce(cbow-gradient=corrected)")
    asked = comparison(tmp_path, contenders=named, seeds=1)
    found = [job.settings["architecture"] for job in compare.jobs(asked, {})]
    assert found == ["skipgram", "cbow", "vlbl", "skipgram"]
    asked = comparison(tmp_path, contenders=named, seeds=1, settings=Settings(architecture="cbow"))
    assert [job.settings["architecture"] for job in compare.jobs(asked, {})] == [
        "cbow",
        "cbow",
        "vlbl",
        "cbow-corrected",
    ]


def test_rates_are_tried_for_contenders_without_a_rate(tmp_path, monkeypatch):
    trained = []

    def train(job):
        trained.append((job.name, job.settings["seconds"]))
        return found(job, 100.0 + abs(job.settings["alpha"] - 0.1))

    monkeypatch.setattr(compare, "_train_apart", train)
    results = compare.train_all(comparison(tmp_path, seeds=1, rates=[0.05, 0.1, 0.3], tune_seconds=4.0), lambda _: None)
    assert trained[:3] == [("neg alpha 0.05", 4.0), ("neg alpha 0.1", 4.0), ("neg alpha 0.3", 4.0)]
    assert [r["job"]["settings"]["alpha"] for r in results] == [0.1, 0.2]


def test_a_diverged_run_is_a_row_of_the_table(tmp_path, monkeypatch):
    def train(job):
        if job.settings["objective"] == "neg":
            return {"failed": "training diverged", "exit_code": 76}
        return found(job)

    monkeypatch.setattr(compare, "_train_apart", train)
    results = compare.train_all(comparison(tmp_path), lambda _: None)
    head, first, second = report.table(results)
    assert first[:2] == ["neg", "training diverged"]
    assert len(head) == len(first) == len(second)
    rows = list(csv.DictReader(report.comma_separated(results).splitlines()))
    assert [row["failed"] for row in rows] == ["training diverged", "", "training diverged", ""]
    assert report.curves(results) == [("softmax(alpha=0.2)", [2.0, 5.0], [200.0, 100.0])]


def test_the_table_shows_ratios_means_and_ranges(tmp_path, monkeypatch):
    monkeypatch.setattr(compare, "_train_apart", lambda job: found(job, 100.0 * job.settings["seed"]))
    results = compare.train_all(comparison(tmp_path, contenders=contenders("softmax, neg")), lambda _: None)
    head, softmax, neg = report.table(results)
    line = dict(zip(head, neg, strict=True))
    assert line["training"] == "30x"
    assert line["scoring"] == "1x"
    assert line["perplexity"] == "150.0 (100.0-200.0)"
    assert line["output parameters"] == "50.0%"
    assert line["analogies"] == "0.250 (0.250-0.250)"
    assert dict(zip(head, softmax, strict=True))["training"] == "1x"
    assert report.markdown([head, softmax, neg]).count("\n") == 4


def test_the_command_trains_writes_reports_and_reuses_results(tmp_path, w2vtrain_here):
    """Run the command with real training runs; the second time, it does not train again."""
    text = (ROOT / "data/simplewiki.txt").read_text(encoding="utf-8").splitlines()
    (tmp_path / "train.txt").write_text("\n".join(text[:600]), encoding="utf-8")
    (tmp_path / "heldout.txt").write_text("\n".join(text[600:700]), encoding="utf-8")
    command = [
        sys.executable, "-m", "w2vtrain", "compare", "train.txt", "--heldout", "heldout.txt", "-o", "out",
        "--objectives", "softmax, nce(negative=10), hs", "--architecture", "vlbl", "--context", "left",
        "--bias", "--sentence-end", "--window", "2", "--vector-size", "10", "--epochs", "2", "--threads", "1",
        "--pairs", str(ROOT / "data/eval/wordsim353.tsv"),
    ]  # fmt: skip
    first = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert first.returncode == 0, first.stderr
    assert first.stdout.splitlines()[0].startswith("| objective ")
    assert first.stdout == (tmp_path / "out/table.md").read_text()
    results = json.loads((tmp_path / "out/compare.json").read_text())
    assert [r["job"]["name"] for r in results] == ["softmax seed 1", "nce(negative=10) seed 1", "hs seed 1"]
    assert all(1 < r["test"]["perplexity"] < r["vocabulary"] for r in results)
    assert results[2]["test"]["log_z_variance"] < 1e-6
    assert "wordsim353" in results[0]["scores"]
    assert (tmp_path / "out/curves.png").read_bytes().startswith(b"\x89PNG")
    assert len((tmp_path / "out/table.csv").read_text().splitlines()) == 4
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out/runs").iterdir()}
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.stdout == first.stdout
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out/runs").iterdir()} == before
    for wrong, code in ((["--objectives", "softmacks"], 78), (["--heldout", "none.txt"], 66), (["--rates", "x"], 78)):
        found, _, said = w2vtrain_here([*command[3:], *wrong], tmp_path)
        assert found == code
        assert len(said.splitlines()) == 1
