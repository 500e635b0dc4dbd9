"""`w2vtrain bench`: the tables, lines, JSON and pictures, and the systems that it measures."""

import gzip
import json
import re
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from reference import zipf_text

from w2vtrain.cli import cli
from w2vtrain.errors import ConfigError, UsageError
from w2vtrain.leaves.compare.measure import Measurement
from w2vtrain.leaves.compare.speed import Bench
from w2vtrain.leaves.compare.systems import SYSTEMS, Job


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return zipf_text(tmp_path_factory.mktemp("bench") / "corpus.txt", 1, 1.5, (300, 12), 50)


def run(*words):
    done = CliRunner().invoke(cli, ["bench", *map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def test_bench_compares_w2vtrain_with_gensim(corpus, tmp_path):
    pytest.importorskip("gensim")
    done = run(
        corpus, "--systems", "w2vtrain,gensim", "--models", "cbow", "--objectives", "hs", "--vector-size", 16,
        "--json", tmp_path / "found.json",
    )  # fmt: skip
    head, _, ours, theirs = [line for line in done.stdout.splitlines() if line.startswith("|")][:4]
    columns = [cell.strip() for cell in head.split("|")]
    ours, theirs = ([cell.strip() for cell in line.split("|")] for line in (ours, theirs))
    assert (ours[columns.index("system")], theirs[columns.index("system")]) == ("w2vtrain", "gensim")
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["machine"]["cores"] >= 1
    mine, gensim = found["measurements"]
    assert mine["tokens"] == gensim["tokens"] == 300 * 12
    assert 0 < mine["reading"] + mine["preparing"] < mine["whole_wall"]
    assert (theirs[columns.index("ready s")], gensim["preparing"]) == ("-", None)
    whole = gensim["whole_wall"] / mine["whole_wall"]
    assert re.search(
        rf"^cbow hs, 1 epoch, 1 thread, compared with gensim: words .*, whole job {whole:.1f}x, reading \d+\.\dx$",
        done.stdout,
        re.MULTILINE,
    )
    assert mine["examples"] > 100
    assert gensim["examples"] is None
    assert mine["words"] == gensim["words"]


@pytest.mark.parametrize(
    ("data", "code", "message"),
    [
        (gzip.compress(b"a b\n" * 99), 2, r"text: compressed with gzip, which gensim does not read"),
        ("caf\xe9 b\n".encode("latin-1") * 99, 65, "^w2vtrain: error: gensim could not train .*: 'utf-8' codec can't"),
    ],
    ids=["gzip", "latin-1"],
)
def test_a_text_that_another_system_cannot_read_is_one_line(tmp_path, w2vtrain_here, data, code, message):
    pytest.importorskip("gensim")
    (tmp_path / "text").write_bytes(data)
    found, _, said = w2vtrain_here(["bench", "text", "--systems", "gensim", "--objectives", "hs"], tmp_path)
    assert (found, bool(re.search(message, said, re.MULTILINE))) == (code, True)


def test_other_systems_are_measured_only_on_what_they_support(monkeypatch):
    monkeypatch.setattr("w2vtrain.leaves.compare.speed.measure", lambda job, questions, pairs: job)
    monkeypatch.setattr("w2vtrain.leaves.compare.speed.warm_up", lambda job: None)
    ours = Job("w2vtrain", "skipgram", "neg", "corpus")
    systems = [ours, replace(ours, system="gensim", alpha=0.1)]
    jobs = Bench().side_by_side(systems, ["cbow", "vlbl"], ["hs", "nce"], 1, None, ())
    assert [(job.system, job.architecture, job.objective, job.alpha) for job in jobs] == [
        ("w2vtrain", "cbow", "hs", None), ("gensim", "cbow", "hs", 0.1), ("w2vtrain", "cbow", "nce", None),
        ("w2vtrain", "vlbl", "hs", None), ("w2vtrain", "vlbl", "nce", None),
    ]  # fmt: skip


def test_systems_and_numbers_of_threads_take_turns(corpus, tmp_path, monkeypatch):
    """With made-up measurements: two cores do 1.3 times the work of one."""

    def made_up(job, questions, pairs):
        wall = 10 / 1.3 if job.threads == 2 else 10.0
        cpu = wall * job.threads
        return Measurement(job, 1000, cpu, wall, cpu, wall, 1 << 20, {"analogies": 0.1})

    monkeypatch.setattr("w2vtrain.leaves.compare.speed.measure", made_up)
    monkeypatch.setattr("w2vtrain.leaves.compare.speed.warm_up", lambda job: None)
    questions = tmp_path / "questions.txt"
    questions.write_text(": family\nhe she king queen\n")
    done = run(
        corpus, "--systems", "w2vtrain,gensim", "--models", "skipgram",
        "--objectives", "neg", "--threads", "1,2,1", "--seeds", 2, "--questions", questions,
        "--json", tmp_path / "found.json", "--plot", tmp_path / "plot.png", "--within", "8,30.5",
    )  # fmt: skip
    written = json.loads((tmp_path / "found.json").read_text())
    best = [(b["within"], b["job"]["system"], b["job"]["threads"], b["seconds"], b["mean"]) for b in written["best"]]
    assert best == [(limit, name, 2, 10 / 1.3, 0.1) for limit in (8, 30.5) for name in ("w2vtrain", "gensim")], (
        "of equal scores, the faster one"
    )
    assert "\n| 30.5     | skipgram" in done.stdout
    found = written["measurements"]
    order = [(m["job"]["seed"], m["job"]["threads"], m["job"]["system"]) for m in found]
    assert order == [(s, t, name) for s in (1, 2) for t in (1, 2) for name in ("w2vtrain", "gensim")]
    assert [m["wall_speed"] for m in found[1:3]] == [100, 130]
    rows = [[cell.strip() for cell in line.split("|")[4:10]] for line in done.stdout.splitlines() if "|" in line]
    assert rows[0] == ["system", "alpha", "threads", "epochs", "words/CPU s", "words/s"]
    assert rows[4] == ["w2vtrain", "default", "2", "1", "65", "130"]
    task = "skipgram neg, 5 noise words"
    assert done.stdout.splitlines()[-2:] == [
        f"{task}, 1 epoch, {threads}, compared with gensim: words per CPU second 1.0x, whole job 1.0x"
        for threads in ("1 thread", "2 threads")
    ]
    assert (tmp_path / "plot.png").exists()


def combinations(jobs):
    return [(job.system, job.objective, job.negative, job.epochs) for job in jobs]


def test_numbers_of_epochs_and_noise_words_are_measured_in_turns(corpus, monkeypatch):
    """Each system has its own numbers, and an objective without noise words is measured once per number of epochs."""
    measured, warmed = [], []

    def made_up(job, questions, pairs):
        measured.append(job)
        return Measurement(job, 1000, None, None, 1.0, 1.0, 1 << 20, {})

    monkeypatch.setattr("w2vtrain.leaves.compare.speed.measure", made_up)
    monkeypatch.setattr("w2vtrain.leaves.compare.speed.warm_up", lambda job: warmed.append(job))
    done = run(
        corpus, "--systems", "w2vtrain,gensim", "--models", "cbow",
        "--objectives", "neg,hs", "--epochs", "1,4,1", "--epochs", "gensim=1", "--negative", "5,15",
        "--negative", "gensim=5",
    )  # fmt: skip
    assert combinations(measured) == [
        ("w2vtrain", "neg", 5, 1), ("gensim", "neg", 5, 1), ("w2vtrain", "neg", 5, 4), ("w2vtrain", "neg", 15, 1),
        ("w2vtrain", "neg", 15, 4), ("w2vtrain", "hs", 0, 1), ("gensim", "hs", 0, 1), ("w2vtrain", "hs", 0, 4),
    ]  # fmt: skip
    assert combinations(warmed) == [("w2vtrain", "neg", 5, 1), ("w2vtrain", "neg", 15, 1), ("w2vtrain", "hs", 0, 1)], (
        "kernels do not depend on the epochs"
    )
    rows = [[cell.strip() for cell in line.split("|")[2:8]] for line in done.stdout.splitlines() if "|" in line]
    assert rows[5] == ["neg", "15", "w2vtrain", "default", "1", "1"]
    assert rows[7] == ["hs", "-", "w2vtrain", "default", "1", "1"]
    assert "mean score" not in done.stdout, "nothing was scored"


def test_w2vtrain_trains_with_the_noise_words_of_the_job(corpus, tmp_path, monkeypatch):
    seen = []

    def train(source, options, **settings):
        seen.append((settings["objective"], options))
        raise ConfigError("seen")

    monkeypatch.setattr("w2vtrain.api.train", train)
    for objective in ("neg", "bigram-nce", "hs"):
        with pytest.raises(ConfigError, match="seen"):
            SYSTEMS["w2vtrain"](Job("w2vtrain", "cbow", objective, str(corpus), negative=7), str(tmp_path / "vectors"))
    assert seen == [("neg", {"negative": 7}), ("bigram-nce", {"negative": 7}), ("hs", {})]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--epochs", "0"], "epochs: expected a whole number from 1 to 1,000,000,000, or several"),
        (["--epochs", "gensim=1,x"], "epochs: expected a whole number from 1 to 1,000,000,000, or several"),
        (["--threads", "1,,2"], "threads: expected a whole number from 1 to 1,024, or several separated by commas"),
        (["--negative", "5,"], "negative: expected a whole number from 1 to 1,000,000,000, or several"),
        (["--negative", "genism=5"], "systems: 'genism' is not one of w2vtrain, gensim"),
        (["--alpha", "w2vtrain=nan"], "alpha: expected SYSTEM=NUMBER, with a positive number"),
        (["--alpha", "0.05"], "alpha: expected SYSTEM=NUMBER, with a positive number"),
        (["--alpha", "gensim=0.1", "--alpha", "gensim=0.2"], "alpha: gensim is given twice"),
        (["--epochs", "1", "--epochs", "2"], "epochs: the value for all systems is given twice"),
        (["--negative", "w2vtrain=2", "--negative", "w2vtrain=5"], "negative: w2vtrain is given twice"),
        (["--objectives", "neg, nope"], "objective 'nope': choose one of"),
        (["--systems", "w2vtrain, gensim", "--architectures", "cbow,nope"], "architecture 'nope': choose one of"),
        (["--within", "30,nan"], "within: expected a number from 0.0 to 1,000,000,000.0, or several"),
    ],
)
def test_invalid_values_are_refused_by_name_before_anything_is_measured(corpus, words, message, monkeypatch):
    monkeypatch.setattr(Bench, "measure", None)
    with pytest.raises(ConfigError, match=re.escape(message)):
        run(corpus, "--systems", "w2vtrain", *words)


def test_an_error_names_the_systems_if_none_is_installed(corpus, monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim", None)  # as if it were not installed
    with pytest.raises(ConfigError, match="none of gensim is installed"):
        run(corpus, "--systems", "gensim")


def test_a_job_of_another_system_does_not_load_our_kernels():
    """Their memory would count as that system's."""
    code = (
        "import sys, w2vtrain.leaves.compare.systems; print(sorted({'numba', 'llvmlite', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_fasttext_gets_the_settings_and_line_ends_are_not_words(tmp_path, monkeypatch):
    """With a stand-in for the module, which may not be installed."""
    given = {}
    counts = {"</s>": 300, "a": 20, "b": 10}
    model = SimpleNamespace(
        get_words=lambda include_freq: (list(counts), np.array(list(counts.values()))),
        get_input_matrix=lambda: np.ones((3, 200), np.float32),
    )

    def train(corpus, **settings):
        given.update(settings)
        return model

    monkeypatch.setitem(sys.modules, "fasttext", SimpleNamespace(train_unsupervised=train))
    job = Job("fasttext", "cbow", "hs", "corpus.txt", epochs=4)
    done = SYSTEMS["fasttext"](job, str(tmp_path / "vectors.txt"))
    assert done["words"] == 4 * 30
    assert (given["model"], given["loss"], given["epoch"], given["lr"]) == ("cbow", "hs", 4, 0.05)


@pytest.mark.parametrize("option", ["--json", "--plot"])
def test_existing_files_are_overwritten_only_with_force(corpus, tmp_path, w2vtrain_here, option):
    (tmp_path / "old.png").write_text("old")
    code, _, said = w2vtrain_here(["bench", corpus, "--systems", "w2vtrain", option, "old.png"], tmp_path)
    assert (code, "old.png exists: use --force" in said) == (73, True), said
    assert (tmp_path / "old.png").read_text() == "old"


def test_a_plot_without_scores_is_refused(corpus, tmp_path):
    with pytest.raises(UsageError, match="add --questions or --pairs"):
        run(corpus, "--plot", tmp_path / "plot.png")


def test_a_picture_without_matplotlib_is_refused_before_anything_is_measured(
    corpus, tmp_path, monkeypatch, w2vtrain_here
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, out, said = w2vtrain_here(["bench", corpus, "--plot", "plot.png", "--questions", corpus], tmp_path)
    assert (code, out) == (78, "")
    message = "pictures need the package matplotlib: pip install 'w2vtrain[plot]'"
    assert said == f"w2vtrain: error: plot: {message}\n"


@pytest.mark.parametrize("name", ["plot.table", "plot.pgf"])
def test_a_picture_with_an_unknown_suffix_is_refused_before_anything_is_measured(corpus, tmp_path, w2vtrain_here, name):
    code, out, said = w2vtrain_here(["bench", corpus, "--plot", name, "--pairs", corpus], tmp_path)
    assert (code, out) == (78, "")
    assert said.startswith(f"w2vtrain: error: plot: {name} has none of the suffixes of pictures: .")
    assert ".png" in said
