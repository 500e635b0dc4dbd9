"""The command `objectives`: the list, the advice below it, and the page of one objective."""

import importlib.util
import itertools
import math
import re
import shlex
from functools import partial
from pathlib import Path

import pytest
from reference import first_lines

from w2vtrain import objectives
from w2vtrain.evaluation import measured_runs


def test_objectives_lists_all_by_group_and_gives_advice(w2vtrain_here, tmp_path):
    code, out, _ = w2vtrain_here(["objectives"], tmp_path)
    assert code == 0
    headings = [heading for key, heading in objectives.GROUPS.items() if key]
    lines = out.splitlines()
    assert [line for line in lines if line in headings] == headings
    listed, answers = out.split("\nWhich one to use")
    for name in objectives.objectives():
        assert f"\n  {name} " in listed, name
    assert (
        " ".join(listed.split()).count("hs Hierarchical softmax over a binary tree of the words (Morin & Bengio") == 1
    )
    assert "word vectors\n   67,790   17M English   40 s neg " in answers
    assert max(map(len, lines)) <= 80
    assert "Others" not in out
    assert "σ" not in out
    _, formulas, _ = w2vtrain_here(["objectives", "--formulas"], tmp_path)
    assert "L = -Σ_n log σ((1-2c_n)·o_n·h)" in formulas
    assert set(lines) < set(formulas.splitlines())


def test_objectives_explains_one(w2vtrain_here, tmp_path):
    _, out, _ = w2vtrain_here(["objectives", "nce"], tmp_path)
    assert out.startswith("nce: Noise-contrastive estimation (Gutmann & Hyvärinen 2010)\n")
    assert "-O learn_z=false" in out
    _, out, _ = w2vtrain_here(["objectives", Path(objectives.__file__).parent / "hs.py"], tmp_path)
    assert "hs.py: Hierarchical softmax over a binary tree" in out.splitlines()[0]


def test_objectives_of_other_packages_are_listed_even_if_they_cannot_be_loaded(w2vtrain_here, tmp_path, monkeypatch):
    modules = {"bare": "w2vtrain.objectives.softmax", "broken": "no.such.module"}
    added = {name: partial(importlib.import_module, module) for name, module in modules.items()}
    monkeypatch.setitem(vars(objectives.REGISTRY), "loaders", {**objectives.REGISTRY.loaders, **added})
    code, out, _ = w2vtrain_here(["objectives"], tmp_path)
    others = " ".join(out.split("\nOthers\n")[1].split())
    assert code == 0
    assert others.startswith("broken objective broken: cannot be imported: ModuleNotFoundError: No module named 'no'")
    assert "\n  bare " in out


def test_a_module_without_docstring_or_group_is_listed_by_its_formula(tmp_path, monkeypatch, w2vtrain_here):
    path = tmp_path / "plain.py"
    path.write_text("from w2vtrain.objectives.neg import DEFAULTS, OBJECTIVE\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location("plain_objective", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(vars(objectives.REGISTRY), "loaders", {**objectives.REGISTRY.loaders, "plain": lambda: module})
    _, out, _ = w2vtrain_here(["objectives"], tmp_path)
    assert "\nOthers\n  plain             L = -log σ(o_w·h)" in out


def test_measured_runs_name_existing_objectives_and_options():
    for study in measured_runs.studies():
        for run in study.runs:
            name, *pairs = run.use.split(" -O ")
            objectives.checked_options(name, dict(pair.split("=") for pair in pairs))
            low, high = run.quality[1:]
            assert low <= run.quality[0] <= high


def run_of(use, cpu, quality, **more):
    """Return a run with a range of one point on each side."""
    facts = {"alpha": 0.1, "epochs": 2.0, "speed": 1000.0, "scoring": 1.0, "variance": 1.0, "size": 1.0, **more}
    return measured_runs.MeasuredRun(use, cpu=cpu, quality=(quality, quality - 1, quality + 1), **facts)


def test_the_quickest_run_that_is_level_with_the_best_is_advised():
    runs = [run_of("softmax", 90.0, 100.0), run_of("nce", 5.0, 101.5), run_of("hs", 1.0, 103.5)]
    study = measured_runs.Study("small", "Texts", 50, 1000, {}, runs)
    assert [run.use for run in measured_runs.ranking(study, "probabilities")] == ["nce", "softmax", "hs"]
    assert [run.use for run in measured_runs.ranking(study, "probabilities", 2.0)] == ["hs"]
    assert measured_runs.ranking(study, "probabilities", 0.5) == []
    assert measured_runs.shortest(study, "probabilities") == 1.0


def test_single_runs_within_a_percent_are_level_and_the_best_of_those_as_quick_is_advised():
    single = [run_of(name, cpu, 100.0)._replace(quality=(mean, mean, mean)) for name, cpu, mean in (
        ("softmax", 90.0, 100.0), ("nce", 5.0, 100.9), ("is", 4.8, 100.95), ("hs", 1.0, 101.1),
    )]  # fmt: skip
    study = measured_runs.Study("small", "Texts", 50, 1000, {}, single)
    assert [run.use for run in measured_runs.ranking(study, "probabilities")] == ["nce", "softmax", "is", "hs"]


def test_validation_text_ranks_runs_where_it_was_scored():
    runs = [run_of("softmax", 9.0, 100.0, validation=(120.0,) * 3), run_of("hs", 9.0, 104.0, validation=(110.0,) * 3)]
    study = measured_runs.Study("small", "Texts", 50, 1000, {}, runs)
    assert [run.use for run in measured_runs.ranking(study, "probabilities")] == ["hs", "softmax"]


def test_needs_leave_out_runs_that_do_not_serve_them():
    runs = [
        run_of("hs", 1.0, 104.0, scoring=70.0, variance=0.0), run_of("dsoftmax", 1.0, 108.0, size=0.2, scoring=2.0),
        run_of("nce", 1.0, 102.0, scoring=500.0, variance=0.04), run_of("softmax", 1.0, 100.0),
    ]  # fmt: skip
    study = measured_runs.Study("small", "Texts", 50, 1000, {}, runs)
    served = {need: [run.use for run in measured_runs.ranking(study, need)] for need in measured_runs.NEEDS}
    assert served["probabilities"][0] == "softmax"
    assert served["fast-scores"] == ["nce", "hs"]
    assert served["fast-probabilities"] == ["hs"]
    assert served["small"] == ["dsoftmax"]


def test_vectors_are_ranked_by_their_scores_and_models_by_perplexity():
    vectors = measured_runs.study_for("vectors", 10)
    scores = [run.quality[0] for run in measured_runs.ranking(vectors, "vectors")]
    assert vectors.name == "vectors"
    assert scores[0] == max(scores)
    model = measured_runs.study_for("probabilities", 12_000)
    assert model.vocabulary == 10_000
    assert measured_runs.study_for("probabilities", 100_000).vocabulary == 67_791
    assert measured_runs.study_for("probabilities", 60_000, 2_000_000).words == pytest.approx(3e6, rel=0.1)
    assert measured_runs.study_for("probabilities", 60_000, 30_000_000).words == pytest.approx(17e6, rel=0.1)


@pytest.mark.parametrize(("words", "seconds", "epochs"), [(1000, 3.5, 3), (1000, 0.1, 1), (1000, 60, 8), (10, 60, 8)])
def test_epochs_fit_into_the_time_and_are_no_more_than_were_measured(words, seconds, epochs):
    run = run_of("nce", 8.0, 100.0, epochs=8.0)
    assert measured_runs.epochs_within(run, words, seconds) == epochs
    assert measured_runs.epochs_within(run, words, math.inf) == 8
    assert measured_runs.epochs_within(run._replace(epochs=0.02), words, math.inf) == 1


def test_advice_for_a_text_counts_its_words_and_gives_a_command_that_runs(w2vtrain_here, tmp_path):
    first_lines(400, tmp_path / "text.txt")
    code, out, _ = w2vtrain_here(
        ["objectives", "--advise", "text.txt", "--need", "fast-probabilities", "--seconds", "2", "--min-count", "2"],
        tmp_path,
    )
    assert code == 0
    shown, command = out.split("\nw2vtrain ")
    assert "\n  hs " in shown
    assert "measured   with 10,000 words (Penn Treebank, 0.89M per epoch);" in shown
    assert "table      docs/objectives.md#penn-treebank\n" in shown
    assert max(map(len, out.splitlines())) <= 80
    words = shlex.split(command.replace("\\\n", " "))
    settings = dict(itertools.pairwise(words))
    assert (words[:2], settings["--objective"], settings["--min-count"]) == (["fit", "text.txt"], "hs", "2")
    assert settings["--weight-decay"] == "1.5e-05"
    code, _, said = w2vtrain_here([*words, "--epochs", "1", "--vector-size", "8", "--quiet"], tmp_path)
    assert code == 0, said
    assert (tmp_path / "model.safetensors").exists()


def test_advice_says_what_was_not_measured(w2vtrain_here, tmp_path):
    _, out, _ = w2vtrain_here(["objectives", "--advise", "--vocabulary", "70000", "--seconds", "1"], tmp_path)
    assert "No run that meets the need was shorter than" in " ".join(out.split())
    assert "--seconds 1 --threads 1" in " ".join(out.split())
    words = ["objectives", "--advise", "--vocabulary", "500000", "--seconds", "999", "--need", "probabilities"]
    _, out, _ = w2vtrain_here(words, tmp_path)
    assert re.search(r"None of these runs was longer than 3\d s", " ".join(out.split()))
    _, out, _ = w2vtrain_here(["objectives", "--advise", "--vocabulary", "9999", "--need", "probabilities"], tmp_path)
    assert out.partition("\n\nEach line")[0].splitlines()[-1].split()[0] == "softmax", "it ranks before others"
    _, out, _ = w2vtrain_here([*words[:4], "--need", "small"], tmp_path)
    assert "--epochs 1 --seconds 30 --threads 1" in " ".join(out.split()), "longer than the run would be"
    assert "--weight-decay 0.0 " in " ".join(out.split()), "that of the runs is for a shorter text"


@pytest.mark.parametrize("need", measured_runs.NEEDS)
def test_advice_answers_for_every_need_and_vocabulary(w2vtrain_here, tmp_path, need):
    for size in {study.vocabulary for study in measured_runs.studies()}:
        code, out, said = w2vtrain_here(["objectives", "--advise", "--vocabulary", str(size), "--need", need], tmp_path)
        assert code == 0, said
        study = measured_runs.study_for(need, size)
        assert out.splitlines()[3].startswith(f"measured   with {study.vocabulary:,} words")


@pytest.mark.parametrize(
    "words",
    [
        ["--advise"],
        ["--advise", "a", "--vocabulary", "9"],
        ["--need", "small"],
        ["--seconds", "3"],
        ["--max-vocab", "9"],
        ["a", "--advise", "--formulas"],
    ],
)
def test_advice_needs_one_text_or_vocabulary(w2vtrain_here, tmp_path, words):
    code, _, said = w2vtrain_here(["objectives", *words], tmp_path)
    assert code == 2
    assert "--advise" in said
