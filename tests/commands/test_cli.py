"""The command line from outside: the output, exit codes and files of each command."""

import json
import os
import signal
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import forked
import numpy as np
import pytest

from w2vtrain import load_model, read_vectors, write_vectors
from w2vtrain.architectures import architectures
from w2vtrain.embeddings.model import Model, save_model
from w2vtrain.system.machine import automatic_threads
from w2vtrain.system.terminal import one_line
from w2vtrain.text.vocabulary import Vocabulary

DATA = Path(__file__).parents[2] / "data"
COMMAND = [sys.executable, "-m", "w2vtrain"]
SMALL = ["--vector-size", "16", "--epochs", "2", "--threads", "1", "--seed", "3"]


def w2vtrain(*arguments, code=0, stdin="", cwd=None, **options):
    """Run a command in its own process and return (stdout, stderr). A failure must print exactly one error line."""
    about = {"capture_output": True, "text": True, "check": False, **options}
    run = forked.run([*COMMAND, *arguments], input=stdin, cwd=cwd, **about)
    assert run.returncode == code, run.stderr
    if code:
        assert error_line(run.stderr)
    return run.stdout, run.stderr


def error_line(stderr):
    """Return the last line, which must be the only error line, without a traceback."""
    *before, last = stderr.splitlines()
    assert last.startswith("w2vtrain: error: ")
    assert not any("error" in line or "Traceback" in line for line in before), stderr
    return last


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    text = (DATA / "simplewiki.txt").read_bytes()[:400_000]
    path.write_bytes(text[: text.rindex(b"\n") + 1])
    return path


@pytest.fixture(scope="session")
def trained(corpus, tmp_path_factory):
    """Return a folder with everything that one run writes, including its stdout and stderr."""
    folder = tmp_path_factory.mktemp("trained")
    said = w2vtrain(
        "fit", corpus, "-o", "vectors.txt", "--save-model", "model.safetensors", "--save-vocab", "vocab.txt",
        "--save-output-vectors", "output.bin", "--log-json", "log.jsonl", "--progress-every", "0", *SMALL, cwd=folder,
    )  # fmt: skip
    (folder / "stdout").write_text(said[0])
    (folder / "stderr").write_text(said[1])
    return folder


@pytest.fixture
def fails(w2vtrain_here):
    """Return a function that runs a command in this process, requires this exit code, and returns the error line."""

    def run(code, *arguments):
        ended, out, said = w2vtrain_here(arguments, Path.cwd())
        assert (ended, out) == (code, ""), said
        return error_line(said)

    return run


# fit


def test_fit_prints_nothing_on_stdout_and_reports_on_stderr(trained):
    assert (trained / "stdout").read_text() == ""
    said = (trained / "stderr").read_text()
    for part in (
        "settings    skipgram, neg (negative 5",
        "vocabulary  1,",
        "epoch 2 100.0%",
        "words/s",
        "ETA",
        "output",
    ):
        assert part in said
    for line in said.splitlines():
        assert (
            not line.startswith("epoch")
            or "done" in line
            or all(word in line for word in ("%", "words/s", "alpha", "loss", "ETA"))
        )


def test_fit_writes_only_the_requested_files(trained):
    names = {"vectors.txt", "vectors.txt.json", "model.safetensors", "vocab.txt", "output.bin", "log.jsonl"}
    assert {path.name for path in trained.iterdir()} == names | {"stdout", "stderr"}


def test_all_files_of_a_run_agree(trained):
    text = read_vectors(trained / "vectors.txt")
    model = load_model(trained / "model.safetensors")
    vocabulary = Vocabulary.load(trained / "vocab.txt")
    assert text.words == model.words == vocabulary.words
    assert model.input.shape == (len(text.words), 16)
    np.testing.assert_array_equal(text.matrix, model.vectors()[:])
    np.testing.assert_array_equal(model.counts, vocabulary.counts)
    np.testing.assert_array_equal(read_vectors(trained / "output.bin").matrix, model.output)
    about = json.loads((trained / "vectors.txt.json").read_text())
    assert about["settings"] == model.settings
    assert about["settings"]["vector_size"] == 16
    assert about["record"]["vocabulary"]["size"] == len(text.words)


def test_the_log_has_progress_and_the_summary(trained):
    *lines, done = [json.loads(line) for line in (trained / "log.jsonl").read_text().splitlines()]
    progress = [line for line in lines if line["event"] == "progress"]
    assert [line["epoch"] for line in lines if line["event"] == "epoch"] == [1, 2]
    assert len(progress) > 2
    for line in progress:
        assert line.keys() >= {"time", "epoch", "words", "words_per_second", "alpha", "loss", "eta"}
    assert [line["words"] for line in progress] == sorted(line["words"] for line in progress)
    assert progress[-1]["words"] == progress[-1]["total_words"]
    assert progress[-1]["epochs"] == 2
    assert progress[-1]["eta"] == 0
    assert 0 < progress[-1]["loss"] < progress[0]["loss"]
    assert done["event"] == "done"
    assert done["record"]["vocabulary"]["words"] * 2 == progress[-1]["total_words"]
    assert done["outputs"] == ["vectors.txt", "output.bin", "model.safetensors", "vocab.txt", "vectors.txt.json"]


def test_one_thread_and_the_same_seed_give_the_same_bytes(trained, corpus, tmp_path):
    w2vtrain("fit", corpus, "-o", "again.txt", "--save-output-vectors", "output.bin", "-q", *SMALL, cwd=tmp_path)
    assert (tmp_path / "again.txt").read_bytes() == (trained / "vectors.txt").read_bytes()
    assert (tmp_path / "output.bin").read_bytes() == (trained / "output.bin").read_bytes()


def test_fit_from_stdin_to_stdout_gives_the_same_vectors(trained, corpus):
    """The vectors on stdout equal those that a file gets if the corpus is a file."""
    out, err = w2vtrain("fit", "-", "-o", "-", "-q", *SMALL, stdin=corpus.read_text())
    assert out == (trained / "vectors.txt").read_text()
    assert err == ""


def test_read_vocab_is_reduced_only_by_min_count_or_max_vocab(trained, corpus, tmp_path):
    rare = tmp_path / "rare.txt"
    rare.write_text((trained / "vocab.txt").read_text() + "rareword 1\n")
    w2vtrain("fit", corpus, "-o", "all.txt", "--read-vocab", rare, "--save-vocab", "saved", "-q", *SMALL, cwd=tmp_path)
    assert (tmp_path / "saved").read_text() == rare.read_text()
    assert json.loads((tmp_path / "all.txt.json").read_text())["settings"]["min_count"] == 1
    w2vtrain(
        "fit", corpus, "-o", "cut.bin", "--read-vocab", rare, "--min-count", 100, "--max-vocab", 20,
        "-q", *SMALL, cwd=tmp_path,
    )  # fmt: skip
    words = [line.split() for line in rare.read_text().splitlines()]
    assert read_vectors(tmp_path / "cut.bin").words == [word for word, count in words if int(count) >= 100][:20]


def test_outputs_are_overwritten_only_with_force(trained, corpus, tmp_path, fails):
    output = tmp_path / "vectors.txt"
    output.write_text("precious")
    assert "--force" in fails(73, "fit", corpus, "-o", output)
    assert "--force" in fails(73, "fit", corpus, "-o", tmp_path / "other.txt", "--log-json", output)
    assert "--force" in fails(73, "vocab", corpus, "-o", output)
    assert output.read_text() == "precious"
    w2vtrain("fit", corpus, "-o", output, "--force", "-q", *SMALL)
    assert output.read_bytes() == (trained / "vectors.txt").read_bytes()


def test_a_closed_pipe_for_the_vectors_is_an_error_that_does_not_lose_the_other_outputs(corpus, tmp_path):
    model, log = tmp_path / "model.safetensors", tmp_path / "log.jsonl"
    fit = subprocess.Popen(
        [*COMMAND, "fit", corpus, "-o", "-", "--save-model", model, "--log-json", log, "-q", *SMALL],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    fit.stdout.close()
    assert fit.stderr.read() == "w2vtrain: error: standard output cannot be written: its reader has closed it\n"
    fit.stderr.close()
    assert fit.wait(300) == 74
    last = json.loads(log.read_text().splitlines()[-1])
    assert (last["event"], last["exit_code"]) == ("error", 74)
    assert load_model(model).settings["vector_size"] == 16


def test_ctrl_c_prints_one_line_and_leaves_a_run_to_resume(corpus, tmp_path):
    fit = subprocess.Popen(
        [*COMMAND, "fit", corpus, "-o", tmp_path / "v.txt", *SMALL, "--epochs", "1000000", "--progress-every", "0.1"],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    said = []
    for line in fit.stderr:
        said.append(line)
        if line.startswith("epoch") and len(said) < 100:
            fit.send_signal(signal.SIGINT)
            break
    said.append(fit.stderr.read())
    fit.stderr.close()
    assert fit.wait(300) == 75
    assert "".join(said).splitlines()[-1].startswith(f"w2vtrain: stopped and saved in {tmp_path / 'v.txt.run'}: ")
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".lock"] == ["v.txt.run"]


def test_print_config_output_is_a_config_file_with_the_same_settings(tmp_path):
    options = ["--objective", "nce", "--learn-z", "--model", "cbow", "--epochs", "3"]
    variables = {"W2VTRAIN_WINDOW": "7", "W2VTRAIN_NEGATIVE": "9"}
    first, err = w2vtrain("fit", "--print-config", *options, env={**os.environ, **variables})
    assert err == ""
    values = tomllib.loads(first)
    assert (values["epochs"], values["window"], values["architecture"]) == (3, 7, "cbow")
    assert values["options"]["learn_z"] is True
    assert "epochs = 3  # command line" in first
    assert 'architecture = "cbow"  # command line' in first
    assert "learn_z = true  # command line" in first
    assert "negative = 9  # W2VTRAIN_NEGATIVE" in first
    assert "window = 7  # W2VTRAIN_WINDOW" in first
    assert "seed = 1  # default" in first
    config = tmp_path / "config.toml"
    config.write_text(first)
    second, _ = w2vtrain("fit", "--print-config", "--config", config)
    assert tomllib.loads(second) == values


# vocab, eval, neighbors, analogy, info, objectives


def test_vocab_prints_the_vocabulary_that_fit_saves(trained, corpus):
    out, err = w2vtrain("vocab", corpus)
    assert out == (trained / "vocab.txt").read_text()
    assert "distinct" in err
    out, err = w2vtrain("vocab", "-", "--min-count", 1, "--max-vocab", 2, "-q", stdin="b a b a a c")
    assert (out, err) == ("a 3\nb 2\n", "")


def test_eval_analogies_reports_coverage_as_text_and_json(trained, tmp_path):
    questions = tmp_path / "questions.txt"
    questions.write_text(": one\nthe of and in\n: gram2\nthe of and nosuchword\n")
    out, err = w2vtrain("eval", "analogies", trained / "vectors.txt", questions)
    assert err == ""
    assert "coverage 50.0%" in out
    out, _ = w2vtrain("eval", "analogies", trained / "vectors.txt", "-", "--json", stdin=questions.read_text())
    report = json.loads(out)
    assert (report["file"], report["total"]["answered"], report["total"]["asked"]) == ("-", 1, 2)


def test_eval_similarity_uses_wordsim353_by_default_and_fails_below_fail_under(trained):
    arguments = ["eval", "similarity", trained / "vectors.txt", DATA / "eval/wordsim353.tsv"]
    out, _ = w2vtrain(*arguments, "--json", "--fail-under", "-1")
    report = json.loads(out)
    assert report["asked"] == 353
    assert json.loads(w2vtrain(*arguments[:3], "--json")[0])["spearman"] == report["spearman"]
    out, err = w2vtrain(*arguments, "--fail-under", "0.99", code=1)
    assert f"Spearman {report['spearman']:.4f}" in out
    assert "is below --fail-under 0.99" in err


def test_neighbors_are_the_same_for_arguments_and_lines_of_stdin(trained):
    out, err = w2vtrain("neighbors", trained / "vectors.txt", "the", "city", "-n", 3)
    assert err == ""
    (word, answers), second = (line.split("\t") for line in out.splitlines())
    assert (word, len(answers.split()), second[0]) == ("the", 6, "city")
    assert w2vtrain("neighbors", trained / "vectors.txt", "-n", 3, stdin="the\n city\r\n")[0] == out
    text = (trained / "vectors.txt").read_text()
    assert w2vtrain("neighbors", "-", "the", "city", "-n", 3, stdin=text)[0] == out
    out, _ = w2vtrain("neighbors", trained / "model.safetensors", "the", "--json", "-n", 3)
    found = json.loads(out)
    assert found["query"] == ["the"]
    assert [name for name, _ in found["answers"]] == answers.split()[::2]


def test_an_unknown_word_does_not_prevent_the_other_answers(trained):
    out, err = w2vtrain("neighbors", trained / "vectors.txt", "the", "nosuchword", "of", "-n", 1, code=65)
    assert [line.split("\t")[0] for line in out.splitlines()] == ["the", "nosuchword", "of"]
    assert out.splitlines()[1] == "nosuchword\t"
    assert err.startswith("w2vtrain: warning: 'nosuchword' is not in the vocabulary")
    assert "1 of 3 lookups" in err
    out, err = w2vtrain("neighbors", trained / "vectors.txt", "nosuchword", code=65)
    assert out == ""
    assert len(err.splitlines()) == 1
    out, err = w2vtrain("neighbors", trained / "vectors.txt", "the", "nosuchword", "of", "--strict", code=65)
    assert out.startswith("the\t")
    assert len(out.splitlines()) == len(err.splitlines()) == 1


def test_each_line_of_stdin_gives_one_line_of_output(trained):
    """Programs that read the answers rely on this for any words. test_lookups.py has the same for text."""
    vectors = trained / "vectors.txt"
    out, _ = w2vtrain("neighbors", vectors, "--json", stdin="the\n\nnosuchword\nthe of\nof\n")
    found = [json.loads(line) for line in out.splitlines()]
    assert [query["query"] for query in found] == [["the"], [], ["nosuchword"], ["the", "of"], ["of"]]
    assert [len(query["answers"]) for query in found] == [10, 0, 0, 0, 10]
    out, err = w2vtrain("analogy", vectors, "-n", 1, stdin="the of and\nthe of\n")
    assert out.splitlines()[1] == "the of\t"
    assert "line 2: expected 3 words, got 2" in err


def test_strict_stops_at_the_first_bad_line_of_stdin(trained):
    vectors = trained / "vectors.txt"
    for code, lines, part in [
        (65, "the\nnosuchword\nof\n", "line 2: 'nosuchword' is not in the vocabulary"),
        (65, "the\nthe of\nof\n", "line 2: expected 1 word, got 2"),
        (65, "the\n\nof\n", "line 2: expected 1 word, got 0"),
    ]:
        out, err = w2vtrain("neighbors", vectors, "--strict", code=code, stdin=lines)
        assert len(out.splitlines()) == len(err.splitlines()) == 1
        assert part in err


def test_each_answer_is_printed_before_the_next_query_is_read(trained):
    with subprocess.Popen(
        [*COMMAND, "neighbors", trained / "vectors.txt"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as run:  # fmt: skip
        patience = threading.Timer(120, run.kill)
        patience.start()
        for word in ("the", "nosuchword", "", "of"):
            run.stdin.write(f"{word}\n")
            run.stdin.flush()
            assert run.stdout.readline().startswith(f"{word}\t")
        run.stdin.close()
        assert run.stdout.read() == ""
        patience.cancel()
    assert run.returncode == 0


def test_words_on_stdin_are_split_as_in_vector_files(tmp_path):
    """A no-break space and the line separators of Unicode are part of a word."""
    (tmp_path / "v.txt").write_text("3 2\na\u00a0b 1 0\nc\u2028d 1 0.1\ne\x85f 0 1\n", encoding="utf-8")
    lines = "a\u00a0b\nc\u2028d\ne\x85f\n"
    out, err = w2vtrain("neighbors", "v.txt", "-n", 1, cwd=tmp_path, stdin=lines, encoding="utf-8")
    assert [line.split("\t")[0] for line in out.split("\n")] == [*lines.split("\n")]
    assert err == ""


def test_analogy_answers_arguments_and_lines_of_stdin_alike(trained):
    out, _ = w2vtrain("analogy", trained / "vectors.txt", "the", "of", "and", "-n", 2)
    assert out.startswith("the of and\t")
    out_lines, _ = w2vtrain("analogy", trained / "vectors.txt", "-n", 2, "--json", stdin="the of and\nin on at\n")
    first, second = map(json.loads, out_lines.splitlines())
    assert [word for word, _ in first["answers"]] == out.split("\t")[1].split()[::2]
    assert second["query"] == ["in", "on", "at"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("vectors.txt", "text vectors"),
        ("output.bin", "binary vectors"),
        ("model.safetensors", "model"),
        ("vocab.txt", "vocabulary"),
        ("stderr", "unknown"),
    ],
)
def test_info_identifies_each_kind_of_file(trained, name, kind, w2vtrain_here):
    code, facts, _ = w2vtrain_here(["info", name], trained)
    assert code == 0
    about = json.loads(w2vtrain_here(["info", name, "--json"], trained)[1])
    assert about["kind"] == kind
    assert f"kind                 {kind}\n" in facts
    if kind != "unknown":
        assert about["words"] == len(Vocabulary.load(trained / "vocab.txt"))
        assert f"words                {about['words']:,}" in facts


def test_results_are_printed_as_utf8_in_any_locale():
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    vectors = "3 2\né 1 0\nü 1 0.1\nß 0 1\n"
    out, _ = w2vtrain("neighbors", "-", "é", "-n", "1", stdin=vectors, env=env, encoding="utf-8")
    assert out == "é\tü 0.995\n"


# language models


LANGUAGE_MODEL = [
    "--architecture", "vlbl", "--context", "left", "--bias", "--sentence-end", "--objective", "nce",
    "--window", "2", "--init", "0.1", "--alpha", "0.1", "--sample", "0", *SMALL,
]  # fmt: skip


@pytest.fixture(scope="session")
def heldout(tmp_path_factory):
    path = tmp_path_factory.mktemp("heldout") / "heldout.txt"
    text = (DATA / "simplewiki.txt").read_bytes()[500_000:540_000]
    path.write_bytes(text[text.index(b"\n") + 1 : text.rindex(b"\n") + 1])
    return path


@pytest.fixture(scope="session")
def language_model(corpus, heldout, tmp_path_factory):
    """Return a folder with a model, the record of its run, and its stderr."""
    folder = tmp_path_factory.mktemp("language_model")
    said = w2vtrain(
        "fit", corpus, "-o", "v.txt", "--save-model", "model", "--heldout", heldout, "--log-json", "log.jsonl",
        *LANGUAGE_MODEL, "--epochs", "4", "--patience", "2", cwd=folder,
    )  # fmt: skip
    (folder / "stderr").write_text(said[1])
    return folder


def test_fit_scores_held_out_text_after_each_epoch(language_model):
    record = json.loads((language_model / "v.txt.json").read_text())["record"]
    curve = [epoch["heldout"]["perplexity"] for epoch in record["epochs"]]
    assert record["best_epoch"] == curve.index(min(curve)) + 1
    said = [line for line in (language_model / "stderr").read_text().splitlines() if "held-out perplexity" in line]
    assert [line.rsplit(" ", 1)[1] for line in said] == [f"{value:,.2f}" for value in curve]
    assert "scoring" in (language_model / "stderr").read_text().splitlines()[-4]
    log = [json.loads(line) for line in (language_model / "log.jsonl").read_text().splitlines()]
    assert [line["heldout"]["perplexity"] for line in log if line["event"] == "epoch"] == curve
    assert curve[-1] < curve[0]


def test_perplexity_of_a_saved_model_equals_that_of_its_best_epoch(language_model, heldout):
    record = json.loads((language_model / "v.txt.json").read_text())["record"]
    best = record["epochs"][record["best_epoch"] - 1]["heldout"]
    out, err = w2vtrain("perplexity", language_model / "model", heldout, "--json", "-q")
    found = json.loads(out)
    assert err == ""
    assert found["perplexity"] == pytest.approx(best["perplexity"], rel=1e-6)
    assert found["examples"] == best["examples"]
    assert 0.5 < found["coverage"] < 1
    assert found["bits"] == pytest.approx(np.log2(found["perplexity"]))
    text, _ = w2vtrain("perplexity", language_model / "model", "-", "--workers", 2, stdin=heldout.read_text())
    lines = dict(
        line.split(maxsplit=1) for line in text.replace("log Z", "log-Z").replace("bits per word", "bits").splitlines()
    )
    assert lines["perplexity"].startswith(f"{found['perplexity']:,.2f} exact, {found['unnormalized']:,.2f} unnorm")
    assert lines["bits"] == f"{found['bits']:.4f}"
    assert lines["log-Z"] == f"mean {found['log_z_mean']:.4f}, variance {found['log_z_variance']:.4f}"
    assert lines["predictions"].startswith(f"{found['examples']:,}; {found['coverage']:.2%} of")


def test_info_shows_the_arrays_of_a_language_model(language_model):
    out, _ = w2vtrain("info", language_model / "model")
    assert "heldout (perplexity " in out
    assert "context_weights" in out
    assert "bias" in out
    about = json.loads(w2vtrain("info", language_model / "model", "--json")[0])
    assert about["arrays"]["context_weights"] == [4, 16]
    assert about["arrays"]["bias"] == [about["words"]]
    out, _ = w2vtrain("neighbors", language_model / "model", "the", "-n", "2")
    assert out.startswith("the\t")


def test_seconds_limit_the_training_time(corpus, tmp_path):
    arguments = [*SMALL, "--epochs", "1000000", "--seconds", "0.5", "--progress-every", "0.1"]
    _, err = w2vtrain("fit", corpus, "-o", "v.txt", *arguments, cwd=tmp_path)
    record = json.loads((tmp_path / "v.txt.json").read_text())["record"]
    assert record["seconds"]["training"] >= 0.5
    shares = [float(line.split("%")[0].split()[-1]) for line in err.splitlines() if "ETA" in line]
    assert shares
    assert shares[-1] > 50, "progress is the share of the time limit, not of a million epochs"


def test_invalid_held_out_text_and_language_model_settings_are_refused(
    fails, corpus, heldout, language_model, tmp_path
):
    nul, output, unknown = tmp_path / "nul", tmp_path / "v.txt", tmp_path / "unknown"
    nul.write_bytes(b"reading this would be an error\0")
    unknown.write_text("qqq qqqq\n")
    lm = [*LANGUAGE_MODEL, "-o", output]
    nowhere = tmp_path / "nowhere"
    for code, arguments, part in [
        (66, ["fit", nul, *lm, "--heldout", nowhere], "nowhere"),
        (65, ["fit", corpus, *lm, "--heldout", unknown, "-q"], "in the vocabulary"),
        (78, ["fit", nul, *lm, "--patience", "2"], "--heldout"),
        (78, ["fit", nul, *lm, "--seconds", "0"], "would learn nothing"),
        (78, ["fit", nul, *lm, "--patience", "0", "--heldout", corpus], "patience"),
        (2, ["fit", corpus, *SMALL, "-o", output, "--force", "--log-json", corpus], "input and output"),
        (2, ["fit", "-", *lm, "--heldout", "-"], "stdin"),
        (65, ["perplexity", language_model / "v.txt", heldout], "v.txt"),
        (65, ["perplexity", language_model / "model", unknown, "-q"], "in the vocabulary"),
        (66, ["perplexity", nowhere, heldout], "nowhere"),
        (66, ["perplexity", language_model / "model", nowhere], "nowhere"),
        (2, ["perplexity", language_model / "model"], "HELDOUT"),
        (78, ["perplexity", language_model / "model", heldout, "--threads", "0"], "threads"),
    ]:
        assert part in fails(code, *arguments), arguments
    assert not output.exists()
    assert corpus.stat().st_size > 300_000


@pytest.mark.parametrize("objective", ["adaptive-softmax", "char-softmax", "dsoftmax"])
def test_save_output_vectors_is_refused_if_the_objective_has_none(fails, corpus, tmp_path, objective):
    arguments = ["fit", corpus, "-o", tmp_path / "v.txt", "--objective", objective, *SMALL]
    line = fails(78, *arguments, "--save-output-vectors", tmp_path / "o.txt")
    assert "save-output-vectors" in line
    assert objective in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("objective", ["hs", "adaptive-softmax", "char-softmax", "dsoftmax"])
@pytest.mark.parametrize("which", ["out", "in+out"])
def test_export_is_refused_before_training_if_words_have_no_output_vectors(fails, corpus, tmp_path, objective, which):
    arguments = ["fit", corpus, "-o", tmp_path / "v.txt", "--objective", objective, *SMALL]
    line = fails(78, *arguments, "--export", which)
    assert line.endswith(f"export: objective {objective} has no output vector per word; use --export in")
    assert list(tmp_path.iterdir()) == []


def test_fit_exports_output_vectors_or_sums(trained, corpus, tmp_path):
    model = load_model(trained / "model.safetensors")
    for which, expected in (("in", model.input), ("out", model.output), ("in+out", model.input + model.output)):
        more = ["--save-model", "m.safetensors", "--save-output-vectors", "o.bin"] if which == "in+out" else []
        w2vtrain("fit", corpus, "-o", f"{which}.txt", "--export", which, *more, "-q", *SMALL, cwd=tmp_path)
        found = read_vectors(tmp_path / f"{which}.txt")
        assert found.words == model.words
        np.testing.assert_array_equal(found.matrix, expected)
        assert json.loads((tmp_path / f"{which}.txt.json").read_text())["record"]["vectors"] == which
    np.testing.assert_array_equal(read_vectors(tmp_path / "o.bin").matrix, model.output)
    np.testing.assert_array_equal(load_model(tmp_path / "m.safetensors").input, model.input)
    summed = read_vectors(tmp_path / "m.safetensors").matrix
    np.testing.assert_array_equal(summed, expected, err_msg="a model is read as the vectors that fit wrote")
    assert json.loads((trained / "vectors.txt.json").read_text())["record"]["vectors"] == "in"


# errors


def test_invalid_command_lines_exit_with_2(fails, trained, corpus, tmp_path):
    vectors = trained / "vectors.txt"
    for arguments, part in [
        (["fit"], "Missing argument 'CORPUS"),
        (["fit", corpus], "Missing option '-o'"),
        (["fit", corpus, "-o", "v.xyz"], "--format"),
        (["fit", corpus, "-o", "v.txt", "-O", "negative"], "KEY=VALUE"),
        (["fit", corpus, "-o", "v.txt", "-O", "negative=3", "--negative", "4"], "given twice"),
        (["fit", corpus, "-o", tmp_path / "v.txt", "--save-vocab", tmp_path / "." / "v.txt"], "two outputs"),
        (["fit", corpus, "-o", tmp_path / "v.txt", "--log-json", tmp_path / "v.txt"], "two outputs"),
        (["fit", corpus, "-o", "-", "--save-vocab", "-"], "two outputs"),
        (["fit", corpus, "-o", corpus, "--force"], "input and output"),
        (["vocab", corpus, "-o", corpus, "--force"], "input and output"),
        (["analogy", vectors, "king", "man"], "three words"),
        (["neighbors", vectors, "the", "-n", "0"], "--topn"),
        (["eval", "analogies", "-", "-"], "stdin"),
        (["neighbors", "-"], "stdin"),
        (["nosuchcommand"], "w2vtrain --help"),
        (["info"], "FILE"),
    ]:
        assert part in fails(2, *arguments), arguments
    assert list(tmp_path.iterdir()) == []
    assert corpus.stat().st_size > 300_000


def test_bad_settings_exit_with_78(fails, corpus, tmp_path):
    output = tmp_path / "v.txt"
    for arguments, part in [
        (
            ["--vector-size", "0", "--epochs", "x"],
            "vector-size: expected a whole number from 1 to 100,000, got '0'; epochs",
        ),
        (["--objective", "nosuch"], "choose one of"),
        (["--objective", "../../../etc/passwd"], "choose one of"),
        (["-O", "foo=3"], "it has: negative, ns_exponent"),
        (["--negative", "-3"], "-3"),
        (["--objective", "hs", "--negative", "3"], "negative"),
        (["--learn-z"], "learn_z"),
        (["--architecture", "nosuch"], f"architecture 'nosuch': choose one of {', '.join(sorted(architectures()))}"),
        (["--tokenizer", "moses", "--alpha", "x"], "tokenizer: expected"),
        (["--block", "64"], "objective neg trains window by window"),
        (["--alpha", "0.01", "--min-alpha", "0.02"], "min-alpha"),
    ]:
        assert part in fails(78, "fit", corpus, "-o", output, *arguments), arguments
    config = tmp_path / "config.toml"
    config.write_text("epocs = 3")
    assert "did you mean 'epochs'" in fails(78, "fit", corpus, "-o", output, "--config", config)
    for text, part in (
        ("[options]\nnegative = -3", "option negative of objective neg: -3"),
        ("[options]\nfoo = 3", "it has: negative, ns_exponent"),
        ('objective = "nosuch"', "choose one of"),
        ('architecture = "nosuch"', "choose one of"),
    ):
        config.write_text(text)
        fit = ["fit", corpus, "-o", output, "-O", "pool=0"]  # another option, which is right
        for command in (fit, ["compare", corpus, "-o", tmp_path / "c", "--heldout", corpus]):
            if command[0] == "fit" or "objective = " not in text:  # compare has --objectives
                said = fails(78, *command, "--config", config)
                assert f"{config}: " in said
                assert part in said
    assert "min-count" in fails(78, "vocab", corpus, "--min-count", "0")


def test_more_threads_than_cores_give_a_warning(corpus, tmp_path):
    more = automatic_threads()[0] + 1
    _, said = w2vtrain("fit", corpus, "-o", tmp_path / "v.txt", *SMALL, "--epochs", "1", "--threads", more)
    assert f"warning     {more} threads on {more - 1} core" in said
    _, said = w2vtrain("fit", corpus, "-o", tmp_path / "w.txt", *SMALL, "--epochs", "1", "--threads", 1)
    assert "slow each other down" not in said


def test_a_warning_says_that_n_grams_are_not_written_or_what_perplexity_does_not_say(corpus, heldout, tmp_path):
    brief = [*SMALL, "--epochs", "1"]
    ngrams = [*brief, "--subwords", "--bucket", "1000"]
    _, said = w2vtrain("fit", corpus, "-o", tmp_path / "v.bin", *ngrams)
    assert "v.bin has no vectors of n-grams, for words that are not in it: add --save-model FILE" in said
    _, said = w2vtrain("fit", corpus, "-o", tmp_path / "w.bin", *ngrams, "--save-model", tmp_path / "m.safetensors")
    assert "n-grams, for words" not in said
    _, said = w2vtrain("fit", corpus, "-o", tmp_path / "x.txt", *brief, "--heldout", heldout)
    assert "warning     neg learns no probabilities" in said
    _, said = w2vtrain("fit", corpus, "-o", tmp_path / "y.txt", *brief, "--heldout", heldout, "--objective", "nce")
    assert "no probabilities" not in said


def test_a_run_says_that_it_has_written_blends(corpus, tmp_path):
    _, said = w2vtrain("fit", corpus, "-o", tmp_path / "v.txt", *SMALL, "--epochs", "1", "--export", "blend")
    assert "vectors     blends of input and output vectors" in said
    _, said = w2vtrain("fit", corpus, "-o", tmp_path / "w.txt", *SMALL, "--epochs", "1")
    assert "blends" not in said


def test_bad_or_missing_input_exits_with_65_or_66(fails, trained, corpus, tmp_path):
    output, empty, nul = tmp_path / "v.txt", tmp_path / "empty", tmp_path / "nul"
    empty.touch()
    nul.write_bytes(b"a\0b")
    for arguments, part in [
        (["fit", empty, "-o", output], "no tokens"),
        (["fit", nul, "-o", output], "NUL at byte 1"),
        (["fit", corpus, "-o", output, "--min-count", "100000", "-q"], "would keep"),
        (
            ["fit", corpus, "-o", output, "--read-vocab", trained / "vocab.txt", "--min-count", "100000"],
            "highest count",
        ),
        (["vocab", empty], "no tokens"),
        (["neighbors", trained / "vocab.txt", "the"], "vocabulary"),
        (["eval", "analogies", trained / "vectors.txt", empty], "questions"),
    ]:
        assert part in fails(65, *arguments), arguments
    nowhere = tmp_path / "nowhere"
    for arguments in (
        ["fit", nowhere, "-o", output],
        ["fit", corpus, "-o", output, "--config", nowhere],
        ["fit", corpus, "-o", output, "--read-vocab", nowhere],
        ["vocab", nowhere],
        ["info", nowhere],
        ["neighbors", nowhere, "the"],
        ["eval", "analogies", trained / "vectors.txt", nowhere],
        ["eval", "similarity", trained / "vectors.txt", nowhere],
    ):
        assert "nowhere" in fails(66, *arguments), arguments
    assert not output.exists()
    (tmp_path / "v.vocab").write_text("no count\n")
    for vocabulary in (nowhere, tmp_path / "v.vocab"):
        fails(66 if vocabulary == nowhere else 65, "fit", corpus, "-o", tmp_path / "w.txt", "--read-vocab", vocabulary)
        assert not (tmp_path / "w.txt.run").exists(), "refused before the run folder is locked"


def test_an_output_in_a_missing_folder_exits_with_73(fails, corpus, tmp_path):
    path = tmp_path / "nowhere" / "v.txt"
    for option in ("-o", "--save-model", "--save-vocab", "--log-json"):
        others = [] if option == "-o" else ["-o", tmp_path / "v.txt"]
        said = fails(73, "fit", corpus, *others, option, path)
        assert said == f"w2vtrain: error: {path} cannot be created: there is no folder {path.parent}"
    said = fails(73, "fit", corpus, "-o", tmp_path / "v.txt", "--run", path)
    assert said == f"w2vtrain: error: {path}: the run folder cannot be created: there is no folder {path.parent}"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_a_folder_that_takes_no_files_is_not_called_missing(fails, corpus):
    said = fails(73, "fit", corpus, "-o", "/proc/v.txt")
    assert said == "w2vtrain: error: /proc/v.txt.run: the run folder cannot be created: No such file or directory"


def test_an_output_that_links_to_a_missing_folder_names_that_folder(fails, corpus, tmp_path):
    path = tmp_path / "link.txt"
    path.symlink_to("nowhere/v.txt")
    said = fails(73, "fit", corpus, "-o", path)
    assert said == f"w2vtrain: error: {path} cannot be created: there is no folder {tmp_path.resolve() / 'nowhere'}"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("v.txt.json", "{} is a symbolic link to {}, which does not exist: use --force to create it"),
        ("v.txt.run", "{}: the run folder is a symbolic link: use --run {}"),
    ],
)
def test_links_that_others_planted_beside_an_output_are_not_followed(fails, corpus, tmp_path, name, said):
    planted, elsewhere = tmp_path / name, tmp_path.resolve() / "elsewhere"
    planted.symlink_to(elsewhere)
    assert fails(73, "fit", corpus, "-o", tmp_path / "v.txt") == f"w2vtrain: error: {said.format(planted, elsewhere)}"
    assert not elsewhere.exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_exits_with_74(corpus):
    _, err = w2vtrain("fit", corpus, "-o", "/dev/full", "--format", "text", "-q", *SMALL, code=74)
    assert "No space left" in err
    assert not Path("/dev/full.json").exists()


def test_divergence_exits_with_76_and_suggests_a_lower_rate(fails, corpus, tmp_path):
    assert "try --alpha" in fails(76, "fit", corpus, "-o", tmp_path / "v.txt", "--alpha", "1e6", *SMALL)
    assert list(tmp_path.iterdir()) == []


def test_too_little_memory_exits_with_71(corpus, tmp_path):
    pytest.importorskip("resource")
    limited = (
        "import resource as r; r.setrlimit(r.RLIMIT_AS, (3 << 29, 3 << 29)); from w2vtrain.cli import main; main()"
    )
    arguments = ["fit", corpus, "-o", tmp_path / "v.txt", "-q", *SMALL, "--vector-size", "100000"]
    run = subprocess.run([sys.executable, "-c", limited, *arguments], stderr=subprocess.PIPE, text=True, timeout=300)
    assert run.returncode == 71, run.stderr
    line = error_line(run.stderr)
    assert "MiB of memory" in line
    assert "--vector-size" in line
    assert list(tmp_path.iterdir()) == []


def test_an_internal_error_suggests_debug_which_is_accepted_anywhere(fails, monkeypatch, w2vtrain_here, tmp_path):
    def broken(*_, **__):
        raise ZeroDivisionError("two\nlines")

    for name in ("print_objective", "print_objectives"):
        monkeypatch.setattr(f"w2vtrain.commands.objectives.{name}", broken)
    line = fails(70, "objectives")
    assert (
        line == "w2vtrain: error: internal error: ZeroDivisionError: two lines; run again with --debug for a traceback"
    )
    for arguments in (["--debug", "objectives"], ["objectives", "--debug"], ["objectives", "--debug", "neg"]):
        code, _, said = w2vtrain_here(arguments, tmp_path)
        assert (code, "in broken" in said) == (70, True)
    fails(70, "objectives", "--", "--debug")


def test_a_reader_that_closes_the_pipe_is_not_an_error(trained):
    words = subprocess.Popen(["yes", "the"], stdout=subprocess.PIPE)
    run = subprocess.Popen(
        [*COMMAND, "neighbors", trained / "vectors.txt"],
        stdin=words.stdout,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    words.stdout.close()
    assert run.stdout.readline().startswith(b"the\t")
    run.stdout.close()
    assert run.stderr.read() == b""
    run.stderr.close()
    assert run.wait(300) == 0
    words.wait(300)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc/self/fd")
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_may_have_the_name_of_a_file_and_gets_none_beside_it(trained, corpus, tmp_path, name):
    words = ["convert", trained / "vectors.txt", "-o", name]
    run = subprocess.run([*COMMAND, *words], capture_output=True, check=False)
    assert (run.returncode, run.stdout) == (0, (trained / "vectors.txt").read_bytes())
    run = subprocess.run([*COMMAND, *words, "--format", "npy"], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (2, "")
    assert f"{name}: npy writes more than one file, which a stream cannot hold" in run.stderr
    with (tmp_path / "vectors.txt").open("wb") as file:
        words = ["fit", corpus, "-o", name, "--force", "-q", *SMALL]
        assert subprocess.run([*COMMAND, *words], stdout=file, check=False).returncode == 0
    assert len(read_vectors(tmp_path / "vectors.txt").words) > 1
    assert [path.name for path in tmp_path.iterdir()] == ["vectors.txt"]
    assert not list(Path(name).parent.glob("*.json"))


# help


def test_help_imports_nothing_heavy():
    """Importing Numba takes most of a second, so only commands that compute may import it."""
    program = (
        "import sys; from w2vtrain.cli import cli; from w2vtrain.commands.shell import invoke\n"
        "for words in ('', 'fit', 'vocab', 'eval', 'eval analogies', 'neighbors', 'analogy', 'info', 'objectives'):\n"
        "    assert invoke(cli, [*words.split(), '--help']) == 0\n"
        "heavy = {'numba', 'numpy', 'gensim', 'scipy', 'tqdm', 'safetensors', 'psutil', 'importlib.metadata'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "[]"
    assert "130 interrupted" in " ".join(run.stdout.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ("neighbors", "v.bin", "king"),
        ("analogy", "v.bin", "king", "man", "woman"),
        ("eval", "analogies", "v.bin", "questions"),
        ("eval", "similarity", "v.bin", "pairs"),
        ("info", "v.bin"),
        ("info", "model.safetensors"),
    ],
    ids=" ".join,
)
def test_queries_import_only_what_they_need(tmp_path, arguments):
    """A query takes milliseconds, so the user waits mainly for its imports."""
    words, matrix = ["king", "man", "woman", "queen"], np.eye(4, dtype=np.float32)
    write_vectors(tmp_path / "v.bin", words, matrix)
    save_model(tmp_path / "model.safetensors", Model(words, np.array([4, 3, 2, 1]), matrix, matrix))
    (tmp_path / "questions").write_text(": family\nking man queen woman\n")
    (tmp_path / "pairs").write_text("king man 1\nking king 3\n")
    program = (
        "import sys; before = set(sys.modules)\n"
        "from w2vtrain.cli import cli\n"
        "cli.main(sys.argv[1:], standalone_mode=False)\n"
        "names = [name.split('.') for name in set(sys.modules) - before]\n"
        "foreign = {parts[0] for parts in names} - sys.stdlib_module_names - {'w2vtrain'}\n"
        "packages = {parts[1] for parts in names if parts[0] == 'w2vtrain' and len(parts) > 1}\n"
        "print(*sorted(foreign), '|', *sorted(packages))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    foreign, packages = (set(part.split()) for part in run.stdout.splitlines()[-1].split("|"))
    assert foreign <= {"click", "numpy", "orjson", *(["safetensors"] if "model.safetensors" in arguments else [])}
    assert not packages & {
        "kernels",
        "text",
        "probability",
        "objectives",
        "architectures",
        "engines",
        "training",
        "api",
    }


def test_every_entry_point_prints_the_same_help():
    first = w2vtrain("fit", "--help")[0]
    script = Path(__file__).parents[2] / "cli.py"
    assert subprocess.run([sys.executable, script, "fit", "--help"], capture_output=True, text=True).stdout == first
    run = subprocess.run(COMMAND, capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("Usage: w2vtrain")


def test_a_message_has_a_bounded_length():
    assert len(one_line("x" * 100_000)) < 2100


def test_a_model_runs_no_code_that_the_command_line_does_not_name(tmp_path):
    """A model file names its objective and may come from anyone."""
    (tmp_path / "evil.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    (tmp_path / "text").write_text("a b\n")
    ones = np.ones((2, 2), np.float32)
    model = Model(["a", "b"], np.array([2, 1]), ones, ones, settings={"objective": "./evil.py", "vector_size": 2})
    save_model(tmp_path / "model", model)
    _, said = w2vtrain("perplexity", "model", "text", code=78, cwd=tmp_path)
    assert "--objective ./evil.py" in said
    assert not (tmp_path / "ran").exists()
    _, said = w2vtrain("perplexity", "model", "text", "--objective", "./evil.py", code=65, cwd=tmp_path)
    assert "the module has no OBJECTIVE" in said
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("words", "code", "reasons"),
    [
        ("gone.txt -o out/v.zip --block 3 -O nosuch=1", 78, ["block: objective neg trains", "has no option 'nosuch'"]),
        (
            "gone.txt -o out/v.zip --block 3 --patience 2 -O negative=-5", 78,
            ["block: objective neg trains", "patience: needs --h", "-5 is not between"],
        ),
        (
            "gone.txt -o out/v.zip --save-vocab w.zip --export out --objective hs", 78,
            ["export: objective hs has no", "out/v.zip: unknown suffix", "w.zip: "],
        ),
        (
            "gone.txt --heldout none.txt -o out/v.txt", 66,
            ["gone.txt: No such file or", "none.txt: No such file or", "there is no folder out"],
        ),
    ],
    ids=["an option", "settings", "results", "files"],
)  # fmt: skip
def test_several_mistakes_are_reported_at_once(tmp_path, words, code, reasons):
    """The exit code is that of the first. Files are not looked at before the settings are right."""
    said = error_line(w2vtrain("fit", *words.split(), code=code, cwd=tmp_path)[1])
    assert [said.count(reason) for reason in reasons] == [1] * len(reasons)
    assert sorted(reasons, key=said.index) == reasons
    assert not [*tmp_path.iterdir()]
