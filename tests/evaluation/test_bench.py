"""Benchmarks: the tables, lines, JSON and pictures of the command, and the systems that it measures."""

import contextlib
import io
import json
import re
import subprocess
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
from click.testing import CliRunner
from snippets import fake_word2vec

from w2vtrain.cli import cli
from w2vtrain.errors import ConfigError, UsageError
from w2vtrain.evaluation import sweep
from w2vtrain.evaluation.bench import side_by_side
from w2vtrain.evaluation.limits import Limits
from w2vtrain.evaluation.measure import Measurement
from w2vtrain.evaluation.systems import SYSTEMS, Job, arguments


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
    assert theirs[columns.index("GFLOP/CPU s")] == "-"
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["machine"]["limits"]["flops"] == 1e11
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
    assert mine["operations"] > 1e5
    assert mine["row_bytes"] == 0, "all rows of 50 words are in the cache"
    assert mine["round_trips"] == [None, None], "one thread waits for no other"
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


def test_systems_and_numbers_of_threads_take_turns(corpus, tmp_path, monkeypatch):
    """With made-up measurements: two far cores do 1.3 times the work of one."""

    def made_up(job, questions, pairs):
        wall, trips = (10 / 1.3, (2e-7, 1.2e-7)) if job.threads == 2 else (10.0, (None, None))
        cpu = wall * job.threads
        more = {"operations": 2e11, "row_bytes": 4e10, "round_trips": trips}
        return Measurement(job, 1000, cpu, wall, cpu, wall, 1 << 20, {"analogies": 0.1}, **more)

    monkeypatch.setattr("w2vtrain.evaluation.bench.measure", made_up)
    monkeypatch.setattr("w2vtrain.evaluation.bench.warm_up", lambda job, folder: None)
    done = run(
        corpus, "--systems", "w2vtrain", "--program", f"pword2vec={sys.executable}", "--models", "skipgram",
        "--objectives", "neg", "--threads", "1,2,1", "--seeds", 2, "--questions", corpus,
        "--json", tmp_path / "found.json", "--plot", tmp_path / "plot.png", "--within", "8,30.5",
    )  # fmt: skip
    written = json.loads((tmp_path / "found.json").read_text())
    best = [(b["within"], b["job"]["system"], b["job"]["threads"], b["seconds"], b["mean"]) for b in written["best"]]
    assert best == [(limit, name, 2, 10 / 1.3, 0.1) for limit in (8, 30.5) for name in ("w2vtrain", "pword2vec")], (
        "of equal scores, the faster one"
    )
    assert "\n| 30.5     | skipgram" in done.stdout
    found = written["measurements"]
    order = [(m["job"]["seed"], m["job"]["threads"], m["job"]["system"]) for m in found]
    assert order == [(s, t, name) for s in (1, 2) for t in (1, 2) for name in ("w2vtrain", "pword2vec")]
    assert [(m["cores"], m["round_trips"], m["wall_speed"]) for m in found[1:3]] == [
        (None, [None, None], 100), ("far", [2e-7, 1.2e-7], 130),
    ]  # fmt: skip
    rows = [[cell.strip() for cell in line.split("|")[4:11]] for line in done.stdout.splitlines() if "|" in line]
    assert rows[0] == ["system", "alpha", "threads", "epochs", "words/CPU s", "words/s", "round trip ns"]
    assert rows[4] == ["w2vtrain", "default", "2", "1", "65", "130", "160"]
    task = "skipgram neg, 5 noise words"
    assert done.stdout.splitlines()[-5:] == [
        f"{task}, 1 epoch, 1 thread, compared with pword2vec: words per CPU second 1.0x, whole job 1.0x",
        f"{task}, 1 epoch, 2 threads, compared with pword2vec: words per CPU second 1.0x, whole job 1.0x",
        f"{task}: 2 threads 1.30x of one by wall time (far cores, 160 ns)",
        f"{task}, 1 thread: arithmetic 20%, rows 40% of this machine's limits: limited by none of these alone;"
        " the rest is drawing, finding windows and waiting",
        f"{task}, 2 threads (far cores, 160 ns): arithmetic 13%, rows 26% of this machine's limits, 35% lost with"
        " 2 threads: limited by coherence",
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

    monkeypatch.setattr("w2vtrain.evaluation.bench.measure", made_up)
    monkeypatch.setattr("w2vtrain.evaluation.bench.warm_up", lambda job, folder: warmed.append(job))
    done = run(
        corpus, "--systems", "w2vtrain", "--program", f"word2vec.c={sys.executable}", "--models", "cbow",
        "--objectives", "neg,hs", "--epochs", "1,4,1", "--epochs", "word2vec.c=1", "--negative", "5,15",
        "--negative", "word2vec.c=5",
    )  # fmt: skip
    assert combinations(measured) == [
        ("w2vtrain", "neg", 5, 1), ("word2vec.c", "neg", 5, 1), ("w2vtrain", "neg", 5, 4), ("w2vtrain", "neg", 15, 1),
        ("w2vtrain", "neg", 15, 4), ("w2vtrain", "hs", 0, 1), ("word2vec.c", "hs", 0, 1), ("w2vtrain", "hs", 0, 4),
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
        (["--negative", "5,"], "negative: expected a whole number from 1 to 1,000,000,000, or several"),
        (["--negative", "genism=5"], "systems: 'genism' is not one of w2vtrain, gensim"),
        (["--within", "30,nan"], "within: expected a number from 0.0 to 1,000,000,000.0, or several"),
    ],
)
def test_invalid_numbers_are_refused_by_name(corpus, words, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        run(corpus, "--systems", "w2vtrain", *words)


@pytest.mark.parametrize("text", ["", "0", "1,,2", "two", "1,-2", "1.5"])
def test_threads_that_are_no_numbers_are_refused(corpus, text, w2vtrain_here, tmp_path):
    code, said, error = w2vtrain_here(["bench", corpus, "--systems", "w2vtrain", "--threads", text], tmp_path)
    assert (code, said) == (ConfigError.exit_code, "")
    message = f"threads: expected a whole number from 1 to 1,024, or several separated by commas, got {text!r}"
    assert error == f"w2vtrain: error: {message}\n"


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
    assert "cbow neg, 5 noise words, 2 epochs, 1 thread, compared with word2vec.c: " in done.stdout
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
    assert f"{tmp_path / 'word2vec'}: ended with exit code 3" in said
    assert "Traceback" not in said


@pytest.mark.skipif(sys.platform == "win32", reason="needs executable scripts and signals")
def test_no_job_outlives_the_command(corpus, tmp_path):
    """The job is a program that waits, which a process of the benchmark has started."""
    program = tmp_path / "word2vec"
    program.write_text(f"#!{sys.executable}\nimport os, time\nprint(os.getpid(), flush=True)\ntime.sleep(600)\n")
    program.chmod(0o755)
    code = "from w2vtrain.evaluation.measure import measure; from w2vtrain.evaluation.systems import Job; measure("
    code += f"Job('word2vec.c', 'skipgram', 'neg', {str(corpus)!r}, threads=1, program={str(program)!r}))"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL) as parent:
        above = psutil.Process(parent.pid)
        while len(jobs := above.children(recursive=True)) < 2:
            assert parent.poll() is None
            time.sleep(0.05)
        parent.kill()
    assert psutil.wait_procs(jobs, 60)[1] == [], "jobs go on"


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


def test_a_plot_without_scores_is_refused(corpus, tmp_path):
    with pytest.raises(UsageError, match="add --questions or --pairs"):
        run(corpus, "--plot", tmp_path / "plot.png")


def test_a_sweep_refuses_options_that_it_would_ignore(corpus, tmp_path):
    ignored = (["--questions", corpus], ["--pairs", corpus], ["--alpha", "gensim=0.1"], ["--plot", "plot.png"])
    several = (["--threads", "1,2"], ["--epochs", "1,2"], ["--negative", "5,15"], ["--epochs", "w2vtrain=2"])
    for words, message in (
        *((more, "measures only speed") for more in ignored),
        *((more, "varies one setting at a time") for more in several),
    ):
        command = ["bench", str(corpus), "--sweep", str(tmp_path / "sweep.png"), *map(str, words)]
        with pytest.raises(UsageError, match=message):
            CliRunner().invoke(cli, command, catch_exceptions=False)
    assert not (tmp_path / "sweep.png").exists()


@pytest.mark.parametrize("option", ["--plot", "--sweep"])
def test_a_picture_without_matplotlib_is_refused_before_anything_is_measured(
    corpus, tmp_path, monkeypatch, w2vtrain_here, option
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    questions = ["--questions", corpus] if option == "--plot" else []
    code, out, said = w2vtrain_here(["bench", corpus, option, "plot.png", *questions], tmp_path)
    assert code == 78
    assert out == ""
    message = "pictures need the package matplotlib: pip install 'w2vtrain[plot]'"
    assert said == f"w2vtrain: error: {option[2:]}: {message}\n"


def test_a_picture_with_an_unknown_suffix_is_refused_before_anything_is_measured(corpus, tmp_path, w2vtrain_here):
    code, out, said = w2vtrain_here(["bench", corpus, "--sweep", "sweep.table"], tmp_path)
    assert (code, out) == (78, "")
    assert said.startswith("w2vtrain: error: sweep: sweep.table has none of the suffixes of pictures: .")
    assert ".png" in said


def in_this_process(function, task, folder):
    """Run a job in this process; another test covers separate processes."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        function(task)
    return 0, printed.getvalue().encode()


def test_a_sweep_prints_a_table_and_draws_a_picture(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("w2vtrain.evaluation.measure.run_child", in_this_process)
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
