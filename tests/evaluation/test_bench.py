"""Benchmarks: operation counts against a count by hand, and the tables, JSON and picture of the command."""

import contextlib
import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from reference import huffman_lengths
from snippets import fake_word2vec

from w2vtrain.cli import cli
from w2vtrain.errors import ConfigError, UsageError
from w2vtrain.evaluation import sweep
from w2vtrain.evaluation.bench import side_by_side
from w2vtrain.evaluation.limits import (
    CHAINS,
    Limits,
    change_rows,
    measure_limits,
    multiply_adds,
    operations,
    path_length,
    triad,
)
from w2vtrain.evaluation.systems import SYSTEMS, Job, arguments, child
from w2vtrain.kernels.llvm import LANES
from w2vtrain.kernels.rows import padded_rows


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    rng = np.random.default_rng(1)
    path = tmp_path_factory.mktemp("bench") / "corpus.txt"
    lines = [" ".join(f"w{int(k)}" for k in rng.zipf(1.5, 12) % 50) for _ in range(300)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Skip measuring the machine's limits, which takes seconds and has its own test."""
    monkeypatch.setattr("w2vtrain.evaluation.bench.measure_limits", lambda: Limits(1e11, 1e10, 1e10))


def run(*words):
    done = CliRunner().invoke(cli, ["bench", *map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def test_measured_limits_count_the_work_that_is_done(monkeypatch):
    assert multiply_adds(3, 0.5) == pytest.approx(multiply_adds(0, 0.5)), "1 = 0.5 * 1 + 0.5"
    assert multiply_adds(2, 2.0) == pytest.approx(10 * multiply_adds(0, 2.0)), "1 -> 4 -> 10"
    a, b, c = (np.full(9, x, np.float32) for x in (0, 1, 2))
    triad(a, b, c, 3.0)
    np.testing.assert_array_equal(a, 7)
    matrix = padded_rows(20, 16)
    change_rows(matrix, np.array([3, 19, 3]), np.ones((1, 16), np.float32))
    assert matrix.sum(axis=1).tolist() == [16.0 * k for k in [0, 0, 0, 1, *[0] * 15, 0.5]]
    monkeypatch.setattr("w2vtrain.evaluation.limits.fastest", lambda act: (act(), 0.5)[1])
    found = measure_limits(1000, 32)
    assert found.flops == 2 * (2 * LANES * CHAINS << 22), "operations per second"
    assert (found.triad, found.rows) == (2 * (3 * 4 << 24), 2 * (2 * 1000 * 32 * 4)), "bytes per second"


def test_operations_match_a_count_by_hand():
    """A multiply-add counts as two operations; each candidate needs a product and an update of each of two rows."""
    assert operations(32, 6, 0) == 6 * 3 * 32 * 2
    assert operations(25, 6, 0) == operations(32, 6, 0), "rows are padded"
    assert operations(32, 6, 4) == (6 * 3 + 4 * 2) * 32 * 2, "CBOW also sums and updates its context rows"


def test_path_length_is_weighted_by_the_words_left_by_subsampling():
    counts = np.array([900, 50, 30, 20])
    lengths = np.array(huffman_lengths(counts))
    assert path_length(counts, 0.0) == pytest.approx((lengths * counts).sum() / 1000)
    assert path_length(counts, 0.001) > path_length(counts, 0.0)


def test_bench_compares_w2vtrain_with_gensim(corpus, tmp_path):
    pytest.importorskip("gensim")
    done = run(
        corpus, "--systems", "w2vtrain,gensim", "--models", "cbow", "--objectives", "hs", "--vector-size", 16,
        "--json", tmp_path / "found.json",
    )  # fmt: skip
    head, _, ours, theirs = [line for line in done.stdout.splitlines() if line.startswith("|")]
    columns = [cell.strip() for cell in head.split("|")]
    ours, theirs = ([cell.strip() for cell in line.split("|")] for line in (ours, theirs))
    assert (ours[columns.index("system")], theirs[columns.index("system")]) == ("w2vtrain", "gensim")
    assert theirs[columns.index("GFLOP/CPU s")] == "-"
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["machine"]["limits"]["flops"] == 1e11
    mine, gensim = found["measurements"]
    assert mine["tokens"] == gensim["tokens"] == 300 * 12
    assert 0 < mine["reading"] + mine["preparing"] < mine["whole_wall"]
    assert (theirs[columns.index("ready s")], gensim["preparing"]) == ("-", None)
    whole = gensim["whole_wall"] / mine["whole_wall"]
    assert re.search(
        rf"cbow hs compared with gensim: words .*, whole job {whole:.1f}x, reading \d+\.\dx$", done.stdout.strip()
    )
    assert mine["operations"] > 1e5
    assert gensim["operations"] is None
    assert mine["words"] == gensim["words"]


def test_other_systems_are_measured_only_on_what_they_support(monkeypatch):
    monkeypatch.setattr("w2vtrain.evaluation.bench.measure", lambda job, questions, pairs: job)
    monkeypatch.setattr("w2vtrain.evaluation.bench.warm_up", lambda job, folder: None)
    ours = Job("w2vtrain", "skipgram", "neg", "corpus")
    systems = [ours, replace(ours, system="gensim", alpha=0.1), replace(ours, system="pword2vec")]
    jobs = side_by_side(systems, ["cbow", "vlbl"], ["hs", "nce"], 1, None, ())
    assert [(job.system, job.architecture, job.objective, job.alpha) for job in jobs] == [
        ("w2vtrain", "cbow", "hs", None), ("gensim", "cbow", "hs", 0.1), ("w2vtrain", "cbow", "nce", None),
        ("w2vtrain", "vlbl", "hs", None), ("w2vtrain", "vlbl", "nce", None),
    ]  # fmt: skip


def test_an_error_names_the_systems_if_none_is_installed(corpus, monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim", None)  # as if it were not installed
    with pytest.raises(ConfigError, match="none of gensim is installed"):
        run(corpus, "--systems", "gensim")


@pytest.mark.skipif(sys.platform == "win32", reason="needs executable scripts")
def test_programs_are_measured_by_their_progress_output(corpus, tmp_path):
    questions = tmp_path / "questions.txt"
    questions.write_text(": section\nw1 w2 w3 w4\n")
    done = run(
        corpus, "--systems", "w2vtrain", "--models", "cbow",
        "--program", f"word2vec.c={fake_word2vec(tmp_path / 'word2vec')}", "--objectives", "neg,nce",
        "--epochs", 2, "--vector-size", 16, "--questions", questions,
        "--json", tmp_path / "found.json", "--plot", tmp_path / "plot.png",
    )  # fmt: skip
    found = json.loads((tmp_path / "found.json").read_text())["measurements"]
    assert [(m["job"]["system"], m["job"]["objective"]) for m in found] == [
        ("w2vtrain", "neg"), ("word2vec.c", "neg"), ("w2vtrain", "nce"),
    ]  # fmt: skip
    theirs = found[1]
    assert theirs["words"] == 2 * 3600, "line ends are not words"
    assert 0 < theirs["training_wall"] < theirs["whole_wall"]
    assert theirs["training_cpu"] > 0
    assert 1 << 20 < theirs["peak_memory"] < 60 << 20, "of the program, not of this process"
    assert "cbow neg compared with word2vec.c: " in done.stdout
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_arguments_of_programs_are_those_of_word2vec_c():
    job = Job("word2vec.c", "cbow", "hs", "corpus.txt", alpha=0.1, program="./word2vec")
    words = arguments(job, "out.txt")
    options = dict(zip(words[::2], words[1::2], strict=True))
    assert options == {
        "-train": "corpus.txt", "-output": "out.txt", "-size": "200", "-window": "5", "-sample": "0.001",
        "-negative": "0", "-threads": "2", "-iter": "3", "-min-count": "5", "-binary": "0", "-cbow": "1", "-hs": "1",
        "-alpha": "0.1",
    }  # fmt: skip
    assert words.index("-cbow") < words.index("-alpha"), "-cbow sets a default for -alpha"
    assert not {"-cbow", "-hs"} & set(arguments(replace(job, system="pword2vec"), "out.txt"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--program", "word2vec.c"], "program: expected SYSTEM=PATH, got 'word2vec.c'"),
        (["--alpha", "w2vtrain=nan"], "alpha: expected SYSTEM=NUMBER, with a positive number"),
        (["--program", "gensim=/bin/sh"], "program: 'gensim' is not one of word2vec.c, pword2vec"),
        (["--program", "word2vec.c=missing"], "program: missing is not an executable file"),
        (["--systems", "word2vec.c"], "none of word2vec.c is installed"),
    ],
)
def test_invalid_programs_are_refused_by_name(corpus, words, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        run(corpus, *words)


@pytest.mark.skipif(sys.platform == "win32", reason="needs executable scripts")
def test_a_program_that_fails_ends_the_benchmark_in_one_line(corpus, tmp_path, capfd):
    with pytest.raises(ConfigError, match=r"word2vec\.c could not train skipgram with neg"):
        run(
            corpus, "--systems", "w2vtrain", "--models", "skipgram",
            "--program", f"word2vec.c={fake_word2vec(tmp_path / 'word2vec', 3)}",
            "--objectives", "neg", "--vector-size", 16, "--json", tmp_path / "found.json",
        )  # fmt: skip
    kept = json.loads((tmp_path / "found.json").read_text())["measurements"]
    assert [m["job"]["system"] for m in kept] == ["w2vtrain"], "what was measured before is not lost"
    said = capfd.readouterr().err
    assert f"{tmp_path / 'word2vec'}: exit code 3" in said
    assert "Traceback" not in said


def test_a_job_of_another_system_does_not_load_our_kernels():
    """Their memory would count as that system's."""
    code = "import sys, w2vtrain.evaluation.systems; print(sorted({'numba', 'llvmlite', 'scipy'} & set(sys.modules)))"
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


def test_a_plot_without_questions_is_refused(corpus, tmp_path):
    with pytest.raises(UsageError, match="add that option"):
        run(corpus, "--plot", tmp_path / "plot.png")


def test_a_sweep_refuses_options_that_it_would_ignore(corpus, tmp_path):
    for words in (["--questions", corpus], ["--pairs", corpus], ["--alpha", "gensim=0.1"], ["--plot", "plot.png"]):
        command = ["bench", str(corpus), "--sweep", str(tmp_path / "sweep.png"), *map(str, words)]
        with pytest.raises(UsageError, match="measures only speed"):
            CliRunner().invoke(cli, command, catch_exceptions=False)
    assert not (tmp_path / "sweep.png").exists()


def in_this_process(command, **_):
    """Run a job in this process; another test covers separate processes."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        child(*command[3:])
    return subprocess.CompletedProcess(command, 0, printed.getvalue())


def test_a_sweep_prints_a_table_and_draws_a_picture(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "w2vtrain.evaluation.measure.subprocess", SimpleNamespace(run=in_this_process, PIPE=subprocess.PIPE)
    )
    monkeypatch.setattr(sweep, "AXES", {"vector_size": (16, 48), "max_vocab": (5, 20), "threads": (1,)})
    done = run(
        corpus,
        "--sweep",
        tmp_path / "sweep.png",
        "--json",
        tmp_path / "found.json",
        "--seeds",
        2,
        "--architectures",
        "vlbl",
    )
    rows = [line.split("|")[1:3] for line in done.stdout.splitlines()[-5:]]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["dimensions", "16"], ["dimensions", "48"], ["vocabulary size", "5"], ["vocabulary size", "20"],
        ["threads", "1"],
    ]  # fmt: skip
    assert (tmp_path / "sweep.png").read_bytes().startswith(b"\x89PNG")
    jobs = [m["job"] for m in json.loads((tmp_path / "found.json").read_text())["measurements"]]
    assert {j["architecture"] for j in jobs} == {"vlbl"}
    assert [(j["vector_size"], j["max_vocab"], j["seed"]) for j in jobs[:6]] == [
        (16, None, 1), (16, None, 2), (48, None, 1), (48, None, 2), (200, 5, 1), (200, 5, 2),
    ]  # fmt: skip
