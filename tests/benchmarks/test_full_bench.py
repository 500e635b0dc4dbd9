"""benchmarks/bench.py: programs, what limits each job, and all that `w2vtrain bench` shows."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import bench
import pytest
from click.testing import CliRunner
from limits import Limits
from observed import Observed
from programs import ProgramJob, arguments
from snippets import fake_word2vec

from w2vtrain.errors import ConfigError, Relayed
from w2vtrain.leaves.compare.systems import Job

FOLDER = str(Path(bench.__file__).parent)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Skip measuring the machine's limits, which takes seconds and has its own test; let children find the scripts."""
    monkeypatch.setattr(bench, "measure_limits", lambda: Limits(1e11, 1e10, 1e10))
    monkeypatch.setenv("PYTHONPATH", FOLDER)


def run(*words):
    done = CliRunner().invoke(bench.command, [*map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


@pytest.mark.slow
def test_operations_and_rows_are_known_of_our_jobs_only(corpus, tmp_path):
    pytest.importorskip("gensim")
    done = run(
        corpus, "--systems", "w2vtrain,gensim", "--models", "cbow", "--objectives", "hs", "--vector-size", 16,
        "--json", tmp_path / "found.json",
    )  # fmt: skip
    head, _, ours, theirs = (
        [cell.strip() for cell in line.split("|")] for line in done.stdout.splitlines() if line.startswith("|")
    )
    assert theirs[head.index("GFLOP/CPU s")] == "-" != ours[head.index("GFLOP/CPU s")]
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["machine"]["limits"]["flops"] == 1e11
    mine, gensim = found["measurements"]
    assert mine["operations"] > 1e5
    assert mine["row_bytes"] == 0, "all rows of 50 words are in the cache"
    assert gensim["operations"] is None


def test_programs_are_measured_only_on_what_they_support():
    job = Job("pword2vec", "skipgram", "neg", "corpus")
    others = [replace(job, architecture="cbow"), replace(job, objective="hs"), replace(job, system="word2vec.c")]
    supports = bench.FullBench([]).supports
    assert [supports(each) for each in (job, *others)] == [True, False, False, True]
    assert not supports(Job("word2vec.c", "skipgram", "nce", "corpus"))


def test_programs_take_turns_and_what_limits_each_job_is_shown(corpus, tmp_path, monkeypatch):
    """With made-up measurements: two threads do 1.3 times the work of one."""

    def made_up(job, questions, pairs):
        wall = 10 / 1.3 if job.threads == 2 else 10.0
        cpu = wall * job.threads
        more = {"operations": 2e11, "row_bytes": 4e10}
        return Observed(job, 1000, cpu, wall, cpu, wall, 1 << 20, {"analogies": 0.1}, **more)

    monkeypatch.setattr(bench, "observe", made_up)
    monkeypatch.setattr("w2vtrain.leaves.compare.speed.warm_up", lambda job: None)
    questions = tmp_path / "questions.txt"
    questions.write_text(": family\nhe she king queen\n")
    done = run(
        corpus, "--systems", "w2vtrain", "--program", f"pword2vec={sys.executable}", "--models", "skipgram",
        "--objectives", "neg", "--threads", "1,2,1", "--seeds", 2, "--questions", questions,
        "--json", tmp_path / "found.json",
    )  # fmt: skip
    found = json.loads((tmp_path / "found.json").read_text())["measurements"]
    order = [(m["job"]["seed"], m["job"]["threads"], m["job"]["system"]) for m in found]
    assert order == [(s, t, name) for s in (1, 2) for t in (1, 2) for name in ("w2vtrain", "pword2vec")]
    task = "skipgram neg, 5 noise words"
    assert done.stdout.splitlines()[-5:] == [
        f"{task}, 1 epoch, 1 thread, compared with pword2vec: words per CPU second 1.0x, whole job 1.0x",
        f"{task}, 1 epoch, 2 threads, compared with pword2vec: words per CPU second 1.0x, whole job 1.0x",
        f"{task}: 2 threads 1.30x of one by wall time",
        f"{task}, 1 thread: arithmetic 20%, rows 40% of this machine's limits: limited by none of these alone;"
        " the rest is drawing, finding windows and waiting",
        f"{task}, 2 threads: arithmetic 13%, rows 26% of this machine's limits, 35% lost with 2 threads:"
        " limited by coherence",
    ]


@pytest.mark.slow
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
    job = ProgramJob("word2vec.c", "cbow", "hs", "corpus.txt", alpha=0.1, program="./word2vec")
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
    program = tmp_path / "word2vec"
    failed = f"word2vec.c could not train skipgram with neg: {program}: ended with exit code 3"
    with pytest.raises(Relayed, match=re.escape(failed)):
        run(
            corpus, "--systems", "w2vtrain", "--models", "skipgram",
            "--program", f"word2vec.c={fake_word2vec(program, 3)}",
            "--objectives", "neg", "--vector-size", 16, "--json", tmp_path / "found.json",
        )  # fmt: skip
    kept = json.loads((tmp_path / "found.json").read_text())["measurements"]
    assert [m["job"]["system"] for m in kept] == ["w2vtrain"], "what was measured before is not lost"
    assert "Traceback" not in capfd.readouterr().err
