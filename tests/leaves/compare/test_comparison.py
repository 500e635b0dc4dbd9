"""The `compare` command: contenders, reuse of results, learning rates, and the tables that it writes."""

import csv
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict, replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import forked
import numpy as np
import psutil
import pytest

from w2vtrain.architectures.cbow import Cbow
from w2vtrain.architectures.contract import Blend
from w2vtrain.config import Settings
from w2vtrain.errors import ConfigError, DataError, Diverged, Relayed, W2VError
from w2vtrain.leaves.compare import comparison, comparison_picture, comparison_tables
from w2vtrain.leaves.compare import trial as trial_module
from w2vtrain.leaves.compare.contenders import Contender, contenders
from w2vtrain.leaves.compare.result import check_result
from w2vtrain.objectives import objectives
from w2vtrain.system import children
from w2vtrain.system.json_text import json_text
from w2vtrain.system.spinner import SPINNER
from w2vtrain.training.inputs import Inputs
from w2vtrain.training.plan import Plan
from w2vtrain.training.trainer import trained

ROOT = Path(__file__).parents[3]


def test_each_contender_has_its_own_options_and_settings():
    found = contenders("softmax, nce(negative=25, alpha=0.1),hs( tree = balanced )")
    assert [c.name for c in found] == ["softmax", "nce(negative=25, alpha=0.1)", "hs(tree = balanced)"]
    assert found[0].settings == {"objective": "softmax"}
    assert found[1].settings == {"objective": "nce", "alpha": "0.1", "options": {"negative": "25"}}
    assert found[2].settings == {"objective": "hs", "options": {"tree": "balanced"}}
    (sized,) = contenders("target(size=4096)")  # size is another name of a setting, too
    assert sized.settings == {"objective": "target", "options": {"size": "4096"}}
    (listed,) = contenders("cnn-softmax(widths=1,2, 3, alpha=0.1)")
    assert listed.settings == {"objective": "cnn-softmax", "alpha": "0.1", "options": {"widths": "1,2, 3"}}
    assert [c.name for c in contenders("all")] == list(objectives())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the list is empty"),
        ("softmacks", "choose one of"),
        ("nce(negative)", "'negative' is not KEY=VALUE, where KEY is an option of nce or a setting"),
        ("nce(color=3)", "'color=3' is not KEY=VALUE"),
        ("nce(options=3)", "'options=3' is not KEY=VALUE"),
        ("nce(objective=neg)", "'objective=neg' is not KEY=VALUE"),
        ("neg(seed=5), neg(seed=6)", "'seed=5' is not KEY=VALUE.*; --seeds N trains all with the same seeds"),
        ("nce(negative=x)", "whole number"),
        ("neg, neg", "neg is listed twice"),
        ("n eg", "is not NAME"),
        ("neg, softmax)", r"'neg, softmax\)' is not NAME"),
        ("neg(alpha=1", r"'neg\(alpha=1' is not NAME"),
        ("neg(negative=3,negative=9)", "negative of neg is given twice"),
        ("neg(alpha=0.1, lr=0.2)", "alpha of neg is given twice"),
    ],
)
def test_invalid_contenders_are_refused(text, message):
    with pytest.raises(ConfigError, match=message):
        contenders(text)


def small_comparison(tmp_path, **more):
    settings = Settings(vector_size=8, epochs=1, threads=1)
    about = {"settings": settings, "contenders": contenders("neg, softmax(alpha=0.2)"), "seeds": 2, **more}
    return comparison.Comparison(["corpus"], "heldout", tmp_path, **about)


def found(trial, perplexity=100.0):
    return {
        "curve": [{"seconds": 2.0, "perplexity": perplexity * 2}, {"seconds": 5.0, "perplexity": perplexity}],
        "seconds": {"training": 5.0},
        "corpus_words": 4000,
        "words_per_second": 1000.0,
        "words_per_cpu_second": 1000.0 if trial.settings["objective"] == "softmax" else 30_000.0,
        "output_parameters": 400,
        "peak_memory_bytes": 2**20,
        "vocabulary": 100,
        "width": 8,
        "test": {
            "perplexity": perplexity, "unnormalized": 90.0, "bits": 6.6, "log_z_mean": 0.1, "log_z_variance": 0.2,
            "examples": 10, "seconds": 1.0, "coverage": 0.9,
        },
        "scoring": {"per_second": 500.0, "reference": 250.0, "ratios": [1.8, 2.0, 2.2], "same": False},
        "scores": {"analogies": 0.25},
    }  # fmt: skip


def test_an_interrupted_comparison_resumes_where_it_stopped(tmp_path, monkeypatch):
    trained, said = [], []

    def train(trial, run, say):
        trained.append(trial.name)
        if len(trained) == 3:
            raise KeyboardInterrupt
        return found(trial, 100.0 + trial.settings["seed"])

    monkeypatch.setattr(comparison, "_train_apart", train)
    with pytest.raises(KeyboardInterrupt):
        comparison.train_all(small_comparison(tmp_path), said.append)
    results = comparison.train_all(small_comparison(tmp_path), said.append)
    names = ["neg seed 1", "softmax(alpha=0.2) seed 1", "neg seed 2", "softmax(alpha=0.2) seed 2"]
    assert trained == [*names[:3], *names[2:]]
    assert [r["job"]["name"] for r in results] == names
    assert [r["job"]["settings"]["alpha"] for r in results] == [0.05, 0.2, 0.05, 0.2]
    assert comparison.train_all(small_comparison(tmp_path), said.append) == json.loads(json.dumps(results))
    with pytest.raises(ConfigError, match="belongs to another comparison"):
        comparison.train_all(small_comparison(tmp_path, test="other"), said.append)
    (tmp_path / "runs/neg-seed-1.json").write_text("{")
    with pytest.raises(DataError, match="not JSON"):
        comparison.train_all(small_comparison(tmp_path), said.append)


@pytest.mark.parametrize(
    "damage, fault",
    [
        ({"scoring": {}}, "scoring"),
        ({"test": {"perplexity": "high"}}, "test.perplexity"),
        ({"vocabulary": 0}, "vocabulary"),
        ({"seconds": {}}, "training"),
        ({"curve": [{"seconds": 1.0}]}, "perplexity"),
        ({"failed": "diverged"}, "both `failed` and `test`"),
    ],
)
def test_a_damaged_result_is_refused_with_its_field(tmp_path, damage, fault):
    trial = next(comparison.trials(small_comparison(tmp_path), {}))
    path = tmp_path / "neg-seed-1.json"
    path.write_text(json.dumps({**found(trial), "job": asdict(trial)}))
    assert comparison.result(tmp_path, trial, print)["vocabulary"] == 100
    path.write_text(json.dumps({**found(trial), "job": asdict(trial), **damage}))
    with pytest.raises(DataError, match=f"seed-1.json: damaged: .*{fault}.*; remove it to train again"):
        comparison.result(tmp_path, trial, print)


def test_a_contender_may_have_its_own_architecture(tmp_path):
    named = contenders("neg, neg(model=cbow), hs(architecture=vlbl), nce(model=cbow-corrected)")
    asked = small_comparison(tmp_path, contenders=named, seeds=1)
    found = [trial.settings["architecture"] for trial in comparison.trials(asked, {})]
    assert found == ["skipgram", "cbow", "vlbl", "cbow-corrected"]
    asked = small_comparison(tmp_path, contenders=named, seeds=1, settings=Settings(architecture="cbow"))
    assert [trial.settings["architecture"] for trial in comparison.trials(asked, {})] == [
        "cbow",
        "cbow",
        "vlbl",
        "cbow-corrected",
    ]


def test_rates_are_tried_for_contenders_without_a_rate(tmp_path, monkeypatch):
    trained = []

    def train(trial, run, say):
        trained.append((trial.name, trial.settings["seconds"]))
        return found(trial, 100.0 + abs(trial.settings["alpha"] - 0.1))

    monkeypatch.setattr(comparison, "_train_apart", train)
    results = comparison.train_all(
        small_comparison(tmp_path, seeds=1, rates=["0.05", "2x", "0.3"], tune_seconds=4.0), lambda _: None
    )
    assert trained[:3] == [("neg alpha 0.05", 4.0), ("neg alpha 0.1", 4.0), ("neg alpha 0.3", 4.0)]
    assert [r["job"]["settings"]["alpha"] for r in results] == [0.1, 0.2]


def test_contenders_that_differ_in_their_budget_share_a_rate(tmp_path):
    named = contenders("neg(epochs=1), neg(iter=4), neg(negative=7, epochs=4), neg(epochs=2, alpha=0.3), hs")
    found = list(comparison.tuning(small_comparison(tmp_path, contenders=named, rates=["0.5x", "0.1"])))
    assert [names for names, _ in found] == [["neg(epochs=1)", "neg(iter=4)"], ["neg(negative=7, epochs=4)"], ["hs"]]
    tried = [[(trial.name, trial.settings["alpha"], trial.settings["epochs"]) for trial in tries] for _, tries in found]
    assert tried[1] == [
        ("neg(negative=7) alpha 0.025", 0.025, 1_000_000),
        ("neg(negative=7) alpha 0.1", 0.1, 1_000_000),
    ]
    assert tried[2][0][:2] == ("hs alpha 0.0125", 0.0125)


def test_several_contenders_are_trained_at_a_time(tmp_path, monkeypatch):
    together, said = threading.Barrier(2, timeout=300), []

    def train(trial, run, say):
        together.wait()  # raises BrokenBarrierError unless two trials run at the same time
        return found(trial, 100.0 + trial.settings["seed"])

    monkeypatch.setattr(comparison, "_train_apart", train)
    results = comparison.train_all(small_comparison(tmp_path, at_once=2), said.append)
    names = ["neg seed 1", "softmax(alpha=0.2) seed 1", "neg seed 2", "softmax(alpha=0.2) seed 2"]
    assert [r["job"]["name"] for r in results] == names
    assert sorted(line.partition(",")[0] for line in said) == [f"{number} of 4" for number in range(1, 5)]


@pytest.mark.parametrize("at_once", [1, 2])
def test_no_trial_begins_after_an_error(tmp_path, monkeypatch, at_once):
    begun, noticed = [], threading.Event()

    def train(trial, run, say):
        begun.append(trial.name)
        if trial.name == "neg seed 1":
            raise ConfigError(f"{trial.name}: no")
        assert noticed.wait(300)
        return found(trial)

    monkeypatch.setattr(children, "threading", SimpleNamespace(Event=lambda: noticed))
    monkeypatch.setattr(comparison, "_train_apart", train)
    with pytest.raises(ConfigError, match="neg seed 1: no"):
        comparison.train_all(small_comparison(tmp_path, seeds=20, at_once=at_once), lambda _: None)
    assert len(begun) <= at_once


def test_a_rate_that_is_given_twice_is_tried_once(tmp_path):
    asked = small_comparison(tmp_path, contenders=contenders("neg"), rates=["3x", "0.15", "0.05", "1x"])
    ((_, tries),) = comparison.tuning(asked)
    assert [trial.settings["alpha"] for trial in tries] == [0.15, 0.05]


def test_a_run_that_diverges_is_trained_again_at_the_next_lower_rate(tmp_path, monkeypatch):
    trained = []

    def train(trial, run, say):
        rate = trial.settings["alpha"]
        trained.append((trial.name, rate, trial.settings["min_alpha"]))
        if rate > (1 if trial.brief else 0.06):
            return {"failed": "training diverged", "exit_code": 76}
        return found(trial, 100.0 - rate)

    monkeypatch.setattr(comparison, "_train_apart", train)
    asked = small_comparison(tmp_path, contenders=contenders("neg"), seeds=1, rates=["0.02", "0.1", "0.06", "0.2"])
    for _ in range(2):  # the second time, all results are found in the folder
        (last,) = comparison.train_all(asked, lambda _: None)
        assert last["job"]["settings"]["alpha"] == 0.06
    assert trained[4:] == [
        ("neg seed 1", 0.2, pytest.approx(2e-5)),
        ("neg seed 1 alpha 0.1", 0.1, pytest.approx(1e-5)),
        ("neg seed 1 alpha 0.06", 0.06, pytest.approx(6e-6)),
    ]
    said = []
    comparison.train_all(replace(asked, folder=tmp_path / "high", rates=["9", "8"]), said.append)
    assert "neg: training diverged at every alpha of 9, 8: give lower --rates" in said
    assert comparison_tables.table([last])[1][:2] == ["neg", "0.06"]
    assert comparison_tables.comma_separated([last]).splitlines()[1].startswith("neg,1,0.06,")


def test_a_diverged_run_is_a_row_of_the_table(tmp_path, monkeypatch):
    def train(trial, run, say):
        if trial.settings["objective"] == "neg":
            return {"failed": "training diverged", "exit_code": 76}
        return found(trial)

    monkeypatch.setattr(comparison, "_train_apart", train)
    results = comparison.train_all(small_comparison(tmp_path), lambda _: None)
    head, first, second = comparison_tables.table(results)
    assert first[:2] == ["neg", "training diverged"]
    assert len(head) == len(first) == len(second)
    rows = list(csv.DictReader(comparison_tables.comma_separated(results).splitlines()))
    assert [row["failed"] for row in rows] == ["training diverged", "", "training diverged", ""]
    assert comparison_picture.curves(results) == [("softmax(alpha=0.2)", [2.0, 5.0], [200.0, 100.0])]
    assert comparison_tables.plain(results).splitlines()[-1] == "neg: training diverged"


def test_runs_that_failed_are_named_beside_those_that_did_not(tmp_path, monkeypatch):
    def train(trial, run, say):
        if trial.settings["seed"] == 1:
            return found(trial)
        failed = trial.settings["objective"] == "neg"
        return {"failed": "training diverged", "exit_code": 76} if failed else found(trial, math.inf)

    monkeypatch.setattr(comparison, "_train_apart", train)
    results = comparison.train_all(small_comparison(tmp_path), lambda _: None)
    assert comparison_tables.plain(results).splitlines()[-1] == "neg (1 of 2 runs diverged): training diverged"
    head, neg, softmax = comparison_tables.table(json.loads(json_text(results)))
    assert neg[0] == "neg (1 of 2 runs diverged)"
    place = head.index("perplexity")
    assert (neg[place], softmax[0], softmax[place]) == ("100.0", "softmax(alpha=0.2)", "inf (100.0-inf)")


def test_the_seed_is_the_last_one_in_the_name_of_a_trial():
    names = [f"hs(tree=my seed {tree}.txt)" for tree in "ab"]
    results = [{"failed": "", "job": {"name": f"{name} seed {seed}"}} for name in names for seed in (1, 2)]
    assert [contender.name for contender in comparison_tables.by_contender(results)] == names


def test_options_of_the_settings_apply_to_their_objective(tmp_path):
    settings = Settings(objective="nce", options={"negative": 25, "ns_exponent": 0.5})
    asked = small_comparison(
        tmp_path, settings=settings, seeds=1, contenders=contenders("nce, nce(negative=7), neg, is(samples=9)")
    )
    nce, seven, neg, sampled = [trial.settings["options"] for trial in comparison.trials(asked, {})]
    assert (nce["negative"], nce["ns_exponent"]) == (25, 0.5)
    assert (seven["negative"], seven["ns_exponent"]) == (7, 0.5)
    assert (neg["negative"], neg["ns_exponent"]) == (5, 0.75)
    assert (sampled["samples"], sampled["ns_exponent"]) == (9, 1.0)


@pytest.mark.parametrize("seeds", [1, 3])
def test_the_table_in_the_terminal_fits_80_columns(tmp_path, monkeypatch, seeds):
    monkeypatch.setattr(
        comparison, "_train_apart", lambda trial, run, say: found(trial, 123.4 * trial.settings["seed"])
    )
    long = "softmax, infrequent-norm(likelihood=full, alpha=0.04), nce(negative=25, ns_exponent=0.75, alpha=0.1)"
    results = comparison.train_all(small_comparison(tmp_path, contenders=contenders(long), seeds=seeds), lambda _: None)
    text = comparison_tables.plain(results)
    assert max(map(len, text.splitlines())) <= 80
    assert "likelihood=full" in text
    assert text.splitlines()[1].split()[5:] == (["123.4"] if seeds == 1 else ["246.8", "(123.4-370.2)"])
    assert text.splitlines()[1].split()[:4] == ["softmax", "1.25", "1,000", "1x"]


def scorings(*scoring, width=8):
    found = [dict(zip(("same", "ratios", "reference"), one, strict=True)) for one in scoring]
    return [{"test": {}, "vocabulary": 100, "width": width, "scoring": one} for one in found]


@pytest.mark.parametrize(
    ("results", "busy"),
    [
        (scorings((True, [1.02], 90.0), (False, [3.0], 100.0)), False),
        (scorings((True, [0.5, 1.0, 9.0], 90.0), (True, [0.95], 100.0)), False),  # medians are 1 and 0.95
        (scorings((True, [1.0], 90.0), (True, [1.5], 100.0)), True),
        (scorings((True, [0.8], 90.0)), True),
        (scorings((False, [1.5], 60.0), (False, [1.5], 90.0)), True),
        (scorings((False, [1.5], 60.0)) + scorings((False, [1.5], 90.0), width=4), False),  # not the same work
        ([{"failed": "diverged"}], False),
    ],
)
def test_ratios_are_called_unreliable_if_equal_work_takes_different_time(results, busy):
    assert (comparison_tables.unreliable(results) is not None) == busy


def trial(tmp_path, objective, **more):
    """Return a short trial on a small corpus, with the settings of a language model."""
    text = (ROOT / "data/simplewiki.txt").read_text(encoding="utf-8").splitlines()
    (tmp_path / "train.txt").write_text("\n".join(text[:300]), encoding="utf-8")
    (tmp_path / "heldout.txt").write_text("\n".join(text[300:320]), encoding="utf-8")
    settings = {
        "objective": objective, "architecture": "cbow", "context": "left", "bias": True, "sentence_end": True,
        "window": 2, "vector_size": 10, "threads": 1, **more,
    }  # fmt: skip
    about = comparison.Comparison(
        [str(tmp_path / "train.txt")], str(tmp_path / "heldout.txt"), tmp_path, Settings(**settings),
        [Contender(objective, {"objective": objective})],
    )  # fmt: skip
    return next(iter(comparison.trials(about, {})))


@pytest.fixture(autouse=True, scope="module")
def short_turns():
    """Measure the speed of scoring for a moment only: no test in this process looks at it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trial_module, "TURN_CPU_SECONDS", 0.005)
        yield


@pytest.fixture(scope="module")
def timed(tmp_path_factory):
    """Return the result of a trial with a time limit. On its clock, every chunk takes 0.02 CPU seconds."""
    ticks = count()
    clock = SimpleNamespace(monotonic=time.process_time, thread_time=lambda: 0.02 * next(ticks))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("w2vtrain.training.trainer.time", clock)
        return trial_module.train(trial(tmp_path_factory.mktemp("timed"), "softmax", seconds=0.6, epochs=1000))


def test_heldout_text_is_scored_at_fractions_of_a_time_limit(timed):
    points = timed["curve"]
    seconds = [point["seconds"] for point in points]
    assert 2 <= len(points) <= len(trial_module.FRACTIONS) + 1
    assert seconds == sorted(seconds)
    assert seconds[-1] == pytest.approx(comparison_tables.cpu_seconds(timed))
    assert points[-1]["perplexity"] == timed["test"]["perplexity"]
    assert points[0]["perplexity"] != points[-1]["perplexity"]


def test_a_trial_that_diverged_advises_no_option_of_fit(tmp_path, monkeypatch):
    def diverge(*_):
        raise Diverged("training diverged")

    monkeypatch.setattr("w2vtrain.training.checkpointing.EPOCH_END_SHARE", 0.0)  # a checkpoint after each epoch
    monkeypatch.setattr(trial_module, "scoring", diverge)
    with pytest.raises(Diverged, match=r"^training diverged$"):
        trial_module.train(trial(tmp_path, "hs", epochs=2), path=tmp_path / "trial.json")


@pytest.mark.parametrize("interrupted", ["scored", "scoring"])
def test_an_interrupted_trial_continues_where_it_was(tmp_path, monkeypatch, interrupted):
    """Killed while the curve or the test text is scored, it has the result of a trial that nothing interrupted."""
    found = trial(tmp_path, "hs", epochs=4, alpha=0.1)
    monkeypatch.setattr("w2vtrain.training.checkpointing.EPOCH_END_SHARE", 0.0)  # a checkpoint after each epoch
    whole = trial_module.train(found, path=tmp_path / "whole.json")
    owner = trial_module.Curve if interrupted != "scoring" else trial_module
    calls, before = count(), getattr(owner, interrupted)

    def killed(*args):
        if next(calls) == (0 if interrupted == "scoring" else 2):
            raise KeyboardInterrupt
        return before(*args)

    path = tmp_path / "trial.json"
    with monkeypatch.context() as patch:
        patch.setattr(owner, interrupted, killed)
        with pytest.raises(KeyboardInterrupt):
            trial_module.train(found, path=path)
    assert not path.exists()
    resumed = []
    monkeypatch.setattr(trial_module.Curve, "resumed", spied(trial_module.Curve.resumed, resumed))
    again = trial_module.train(found, path=path)
    assert json.loads(path.read_text()) == json.loads(json_text(again))
    assert [state.epoch for _, state in resumed] == [{"scored": 3, "scoring": 4}[interrupted]]
    assert {**again["test"], "seconds": 0} == {**whole["test"], "seconds": 0}
    assert [point["perplexity"] for point in again["curve"]] == [point["perplexity"] for point in whole["curve"]]
    assert [epoch["loss"] for epoch in again["epochs"]] == [epoch["loss"] for epoch in whole["epochs"]]
    assert again["curve"][-1]["seconds"] == pytest.approx(comparison_tables.cpu_seconds(again))


def spied(function, calls):
    """Return a function that also notes its arguments."""

    def noted(*args):
        calls.append(args)
        return function(*args)

    return noted


@pytest.mark.parametrize("points", [3, 5])
def test_a_timed_trial_that_was_interrupted_keeps_its_curve(tmp_path, monkeypatch, points):
    """The CPU seconds of training go on where they were, and every fraction of the limit is scored once.

    After the fifth point nothing is left to learn, and the test text is scored.
    """
    found = trial(tmp_path, "softmax", seconds=0.6, epochs=1000)
    path, add = tmp_path / "trial.json", trial_module.Curve.add
    ticks = count()
    clock = SimpleNamespace(monotonic=time.process_time, thread_time=lambda: 0.02 * next(ticks))
    monkeypatch.setattr("w2vtrain.training.trainer.time", clock)
    monkeypatch.setattr("w2vtrain.training.checkpointing.EPOCH_END_SHARE", 0.0)  # a checkpoint at each pause

    def killed(curve, perplexity):
        if len(curve.points) == points:
            raise KeyboardInterrupt
        add(curve, perplexity)

    with monkeypatch.context() as patch:
        patch.setattr(trial_module.Curve, "add", killed)
        with pytest.raises(KeyboardInterrupt):
            trial_module.train(found, path=path)
    resumed = []
    monkeypatch.setattr(trial_module.Curve, "resumed", spied(trial_module.Curve.resumed, resumed))
    again = trial_module.train(found, path=path)
    [(_, state)] = resumed
    seconds = [point["seconds"] for point in again["curve"]]
    assert state.is_over == (points == 5)
    assert len([moment for moment in seconds if moment <= state.cpu]) >= points
    assert seconds == sorted(set(seconds))
    assert len(seconds) == len(trial_module.FRACTIONS) + 1
    assert all(epoch["words"] for epoch in again["epochs"])
    assert seconds[-1] == pytest.approx(comparison_tables.cpu_seconds(again))


def test_the_vectors_that_fit_writes_are_scored(tmp_path, monkeypatch):
    scored = []
    monkeypatch.setattr(trial_module, "evaluate", lambda vectors, *_: scored.append(vectors.matrix) or {})
    for words in (1, 1 << 40):
        monkeypatch.setattr(Cbow, "blend", staticmethod(lambda words=words: Blend(0.9, words)))
        trial_module.train(replace(trial(tmp_path, "neg", epochs=1), pairs=["pairs.tsv"]))
    assert not np.allclose(*scored)


def test_results_of_trials_are_what_a_result_file_may_have(timed, tmp_path):
    brief = trial_module.train(replace(trial(tmp_path, "hs", epochs=1), brief=True))
    for found in (timed, brief, {"job": {}, "failed": "diverged", "exit_code": 76}):
        check_result(json.loads(json_text(found)), "", "")


def test_identical_scorers_are_marked(timed, tmp_path):
    """The softmax does what its reference does; hierarchical softmax scores only a path."""
    assert timed["scoring"]["same"]
    assert len(timed["scoring"]["ratios"]) == 7
    brief = trial_module.train(replace(trial(tmp_path, "hs", epochs=1), brief=True))
    assert not brief["scoring"]["same"]
    assert len(brief["scoring"]["ratios"]) == 1
    assert len(brief["curve"]) == 1


def test_scoring_during_training_is_not_training_time(tmp_path):
    """The clock is stopped while a probe looks at the weights."""

    class Slow:
        visits = 0

        def due(self):
            return self.visits < 3

        def visit(self, found):
            assert np.isfinite(found.layer.rows).all()
            self.visits += 1
            time.sleep(0.4)  # measured: a longer wait on a busy machine changes nothing

    probe, started = Slow(), time.monotonic()
    settings = Settings(**trial(tmp_path, "nce", epochs=4).settings)
    model = trained(Plan.of(Inputs([str(tmp_path / "train.txt")]), settings), probe=probe).model()
    assert probe.visits == 3
    assert model.record["seconds"]["training"] <= time.monotonic() - started - 3 * 0.4
    assert model.record["words_per_second"] > 0
    assert model.record["words_per_cpu_second"] > 0


def test_the_table_shows_ratios_means_and_ranges(tmp_path, monkeypatch):
    monkeypatch.setattr(
        comparison, "_train_apart", lambda trial, run, say: found(trial, 100.0 * trial.settings["seed"])
    )
    results = comparison.train_all(
        small_comparison(tmp_path, contenders=contenders("softmax(alpha=0.0125), neg(alpha=0.00025)")), lambda _: None
    )
    head, softmax, neg = comparison_tables.table(results)
    line = dict(zip(head, neg, strict=True))
    assert (line["alpha"], softmax[1]) == ("0.00025", "0.0125")
    assert line["training"] == "30x"
    assert line["scoring"] == "2x (1.8x-2.2x)"
    assert line["epochs"] == "1.25"
    assert line["perplexity"] == "150.0 (100.0-200.0)"
    assert line["output parameters"] == "50.0%"
    assert line["analogies"] == "0.250"
    assert dict(zip(head, softmax, strict=True))["training"] == "1x"
    assert comparison_tables.markdown([head, softmax, neg]).count("\n") == 4


def test_the_command_trains_writes_reports_and_reuses_results(tmp_path, w2vtrain_here, monkeypatch):
    """Run the command with real training runs; the next times, it does not train again.

    Without Matplotlib it leaves out the picture, which the same command draws once Matplotlib is installed.
    """
    text = (ROOT / "data/simplewiki.txt").read_text(encoding="utf-8").splitlines()
    (tmp_path / "train.txt").write_text("\n".join(text[:600]), encoding="utf-8")
    (tmp_path / "heldout.txt").write_bytes("\n".join([*text[600:700], ""]).encode() + b"\xff")
    command = [
        sys.executable, "-m", "w2vtrain", "compare", "train.txt", "--heldout", "heldout.txt", "-o", "out",
        "--objectives", "softmax, hs", "--architecture", "cbow", "--context", "left",
        "--bias", "--sentence-end", "--window", "2", "--vector-size", "10", "--epochs", "2", "--seconds", "0.5",
        "--threads", "1", "--pairs", str(ROOT / "data/eval/wordsim353.tsv"), "--pairs", "few.tsv",
    ]  # fmt: skip
    (tmp_path / "few.tsv").write_text("xyzzy\tplugh\t1\n")
    first = forked.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert first.returncode == 0, first.stderr
    assert first.stdout.splitlines()[0].split() == [
        "objective", "epochs", "words/s", "training", "scoring", "perplexity",
    ]  # fmt: skip
    assert (tmp_path / "out/table.md").read_text().startswith("| objective ")
    assert "2 of 2, hs seed 1: perplexity " in first.stderr
    results = json.loads((tmp_path / "out/compare.json").read_text())
    assert [r["job"]["name"] for r in results] == ["softmax seed 1", "hs seed 1"]
    assert all(1 < r["test"]["perplexity"] < r["vocabulary"] for r in results)
    assert results[1]["test"]["log_z_variance"] < 1e-6
    assert results[0]["scores"]["wordsim353"] is not None
    assert results[0]["scores"]["few"] is None
    assert first.stderr.count("warning: heldout.txt: ") == 1
    assert "warning: hs seed 1: no score: few.tsv: none of its 1 pairs has both words" in first.stderr
    assert (tmp_path / "out/curves.png").read_bytes().startswith(b"\x89PNG")
    assert len((tmp_path / "out/table.csv").read_text().splitlines()) == 3
    about = json.loads(w2vtrain_here(["info", "out", "--json"], tmp_path)[1])
    assert (about["kind"], about["status"], about["results"]) == ("comparison", "complete", 2)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out/runs").iterdir()}
    (tmp_path / "out/curves.png").unlink()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "matplotlib", None)
        found, out, said = w2vtrain_here(command[3:], tmp_path)
    assert (found, out) == (0, first.stdout)
    assert said.count("note: curves.png needs the package matplotlib: pip install 'w2vtrain[plot]', then the same") == 1
    assert not (tmp_path / "out/curves.png").exists()
    forced = {**os.environ, "OPENBLAS_CORETYPE": "Haswell"}
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=forced)
    assert again.stdout == first.stdout
    assert "warning: OPENBLAS_CORETYPE is Haswell" in again.stderr.splitlines()[-1]
    assert "OPENBLAS" not in first.stderr
    assert "matplotlib" not in again.stderr
    assert (tmp_path / "out/curves.png").read_bytes().startswith(b"\x89PNG")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out/runs").iterdir()} == before
    (tmp_path / "seed.toml").write_text("seed = 5\n")
    for wrong, code in (
        (["--objectives", "softmacks"], 78), (["--heldout", "none.txt"], 66), (["--rates", "x"], 78),
        (["--pairs", "train.txt"], 65), (["--questions", "train.txt"], 65), (["--patience", "1"], 78),
        (["--config", "seed.toml"], 78),
    ):  # fmt: skip
        found, _, said = w2vtrain_here([*command[3:], *wrong], tmp_path)
        assert found == code
        assert len(said.splitlines()) == 1


def test_the_command_fails_with_all_reports_if_every_run_diverges(tmp_path, w2vtrain_here, monkeypatch):
    def run_child(*_):
        raise Relayed("training diverged", 76)

    monkeypatch.setattr(comparison, "run_child", run_child)
    (tmp_path / "text").write_text("a b\n" * 9)
    words = ["compare", "text", "--heldout", "text", "-o", "out", "--objectives", "neg, hs"]
    for _ in range(2):  # the second time, results are reused
        code, out, said = w2vtrain_here(words, tmp_path)
        assert (code, "neg: training diverged" in out) == (76, True)
        assert said.splitlines()[-1].endswith("out: all 2 runs diverged; the first: training diverged")
        assert (tmp_path / "out/table.md").exists()


def test_a_result_is_not_reused_if_a_text_has_changed(tmp_path, w2vtrain_here):
    texts = [tmp_path / name for name in ("train.txt", "heldout.txt")]
    for path in texts:
        path.write_text("a b c d\n" * 20)
    command = [
        "compare", "train.txt", "--heldout", "heldout.txt", "-o", "out", "--objectives", "neg", "--seconds", "0.05",
        "--vector-size", "4", "--sample", "0",
    ]  # fmt: skip
    code, table, said = w2vtrain_here(command, tmp_path)
    assert code == 0, said
    assert w2vtrain_here(command, tmp_path)[:2] == (0, table)
    for path in texts:
        before = path.read_text()
        path.write_text(before + "a b c d\n")
        code, _, said = w2vtrain_here(command, tmp_path)
        assert code == 78
        assert "out/runs/neg-seed-1.json: what it was trained or scored with has changed since; choose another" in said
        path.write_text(before)


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "-", "-o", "out", "--heldout", "text"],
        ["compare", "text", "-o", "out", "--heldout", "-"],
        ["compare", "text", "-o", "out", "--heldout", "text", "--pairs", "/dev/fd/63"],
        pytest.param(
            ["compare", "text", "-o", "out", "--heldout", "pipe"],
            marks=pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes"),
        ),
        ["bench", "-"],
    ],
)
def test_what_several_runs_read_cannot_be_standard_input_or_a_pipe(tmp_path, w2vtrain_here, words):
    (tmp_path / "text").write_text("a b\n" * 9)
    if "pipe" in words:
        os.mkfifo(tmp_path / "pipe")
    code, _, said = w2vtrain_here(words, tmp_path)
    assert (code, "write it to a file" in said) == (2, True)


@pytest.mark.parametrize(("output", "inside"), [("texts/out", "texts/out"), ("texts", "texts/runs")])
def test_no_results_are_written_into_the_corpus(tmp_path, w2vtrain_here, output, inside):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/text").write_text("a b\n" * 9)
    code, _, said = w2vtrain_here(["compare", "texts", "-o", output, "--heldout", "texts/text"], tmp_path)
    assert (code, f"{inside}: is inside texts, whose files are read as text" in said) == (2, True), said
    assert not (tmp_path / inside).exists()


def test_files_that_no_comparison_wrote_are_not_overwritten(tmp_path, w2vtrain_here):
    (tmp_path / "runs").mkdir()  # as other programs name a folder, too
    for name in ("text", "compare.json", "table.md"):
        (tmp_path / name).write_text("a b\n" * 9)
    words = ["compare", "text", "-o", ".", "--heldout", "text", "--objectives", "neg", "--epochs", 1, "--min-count", 1]
    code, _, said = w2vtrain_here(words, tmp_path)
    assert (code, ".: has compare.json, table.md, but no results of a comparison" in said) == (73, True), said
    assert (tmp_path / "table.md").read_text() == "a b\n" * 9


def test_a_test_text_that_cannot_be_scored_is_noticed_before_training(tmp_path):
    found = replace(trial(tmp_path, "softmax", seconds=600, epochs=1000), test=str(tmp_path / "test.txt"))
    (tmp_path / "test.txt").write_text("xyzzy\n")
    with pytest.raises(DataError, match=r"none of the 1 tokens of .*test\.txt is in"):
        trial_module.train(found)


@pytest.mark.parametrize(
    ("error", "message", "code"),
    [(Relayed("no memory", 71), "no memory", 71), (children.ChildEnded(-9), "exited with code -9 and no result", 71)],
)
def test_the_error_of_a_trial_keeps_its_exit_code(tmp_path, monkeypatch, error, message, code):
    def run_child(*_):
        raise error

    monkeypatch.setattr(comparison, "run_child", run_child)
    with pytest.raises(W2VError, match=f"neg seed 1: .*{message}") as raised:
        comparison.train_all(small_comparison(tmp_path), lambda _: None)
    assert raised.value.exit_code == code


def endless(tmp_path, at_once):
    """Return a command that trains for ten minutes."""
    about = trial(tmp_path, "softmax")
    return [
        sys.executable, "-m", "w2vtrain", "compare", *about.sources, "--heldout", about.heldout, "--seconds", "600",
        "--objectives", "softmax, neg", "-o", str(tmp_path / "out"), "--jobs", at_once, "--threads", "1",
    ]  # fmt: skip


@pytest.mark.parametrize("at_once", ["1", "2"])
def test_ctrl_c_ends_the_command_with_one_line(tmp_path, at_once):
    """The processes that train are in the same process group, so Ctrl-C reaches them, too."""
    process = subprocess.Popen(
        endless(tmp_path, at_once), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while not psutil.Process(process.pid).children():
        time.sleep(0.05)
    time.sleep(0.5)  # whether it trains or still imports modules makes no difference
    os.killpg(process.pid, signal.SIGINT)
    out, said = process.communicate(timeout=300)
    assert (process.returncode, out, said.splitlines()[-1]) == (130, "", "w2vtrain: interrupted")
    assert "Traceback" not in said


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize("name", [pytest.param("SIGTERM", marks=pytest.mark.slow), "SIGKILL"])
def test_no_trial_outlives_the_command(tmp_path, name):
    about = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(endless(tmp_path, "2"), **about) as process:
        estimates = [process.stderr.readline(), process.stderr.readline()]  # both trials train now
        assert all("scoring will take about" in line for line in estimates)
        trials = psutil.Process(process.pid).children()
        assert len(trials) == 2
        process.send_signal(getattr(signal, name))
        process.wait(300)
    assert psutil.wait_procs(trials, 300)[1] == [], "trials go on"


@pytest.mark.parametrize(
    ("more", "announced"), [({"seconds": 0.3, "epochs": 1000}, 1), ({"epochs": 2}, 1), ({"brief": True}, 0)]
)
def test_the_time_of_scoring_is_announced_before_the_first_scoring(tmp_path, monkeypatch, more, announced):
    brief = more.pop("brief", False)
    found, told = replace(trial(tmp_path, "hs", **more), brief=brief), []
    add = trial_module.Curve.add
    monkeypatch.setattr(trial_module.Curve, "add", lambda *point: (told.append("point"), add(*point)))
    trial_module.train(found, told.append)
    assert all(re.fullmatch(r"scoring will take about [\d,]+\.\d s", text) for text in told[:announced])
    assert not any(text.endswith(" 0.0 s") for text in told[:announced])
    assert set(told[announced:]) == {"point"}


def took(cpu, wall, threads=2):
    """Return a result with these times of training."""
    about = {"test": {}, "job": {"settings": {"threads": threads}}, "seconds": {"training": wall}}
    return {**about, "words_per_second": 1000 / wall, "words_per_cpu_second": 1000 / cpu if cpu else None}


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ([took(19.0, 10.0)], None),
        ([took(0.1, 0.2)], None),  # threads start and end
        ([{"failed": "diverged"}, took(0, 0.1)], None),
        ([took(10.0, 10.0)], "training got only 50% of the CPU time"),
        ([took(19.0, 10.0), took(12.0, 10.0), took(5.0, 10.0, 1)], "2 of 3 runs got as little as 50% of the CPU time"),
    ],
)
def test_training_that_gets_too_little_cpu_time_is_reported(results, message):
    said = comparison_tables.busy(results)
    assert said is None if message is None else f"the machine was busy: {message}" in said


def test_a_range_of_negative_figures_has_no_double_minus():
    assert comparison_tables.ranged([-0.25, -0.5], "{:.2f}".format) == "-0.38 (-0.50 to -0.25)"
    assert comparison_tables.ranged([-0.25, 0.5], "{:.1f}".format) == "0.1 (-0.2 to 0.5)"
    assert comparison_tables.ranged([0.25, 0.5], "{:.2f}".format) == "0.38 (0.25-0.50)"


# the paired bootstrap


def lines_of(**losses):
    """Return contenders of one seed, with these losses (P,) of parts with 100 predictions each."""
    found = []
    for name, values in losses.items():
        perplexity = math.exp(min(700, np.mean(values) / 100))
        result = {"test": {"perplexity": perplexity, "parts": [[100, x] for x in values]}}
        found.append(comparison_tables.ContenderResults(name, [result]))
    return found


def test_a_difference_that_is_equal_in_all_parts_is_certain_however_much_the_parts_differ(rng):
    losses = rng.uniform(300, 900, 80)
    found = comparison_tables.above_best(lines_of(nce=losses, hs=losses + 100 * math.log(1.25)))
    assert found == {"nce": "best", "hs": "+25.0% ± 0.0%"}


def test_the_interval_is_that_of_the_normal_approximation(rng):
    """With independent differences, half of it is 1.96 standard errors of the mean log-ratio."""
    differences = rng.normal(10.0, 20.0, 400)
    found = comparison_tables.above_best(lines_of(nce=np.full(400, 500.0), hs=500 + differences))["hs"]
    mean, half = (float(part) / 100 for part in found.replace("%", "").split(" ± "))
    ratio = math.exp(differences.mean() / 100)
    assert mean == pytest.approx(ratio - 1, abs=6e-4)
    assert half == pytest.approx(1.96 * ratio * differences.std() / 100 / math.sqrt(400), rel=0.1, abs=6e-4)


def test_only_contenders_with_the_same_parts_as_the_best_are_compared():
    lines = lines_of(nce=[500] * 12, hs=[510] * 12, neg=[900] * 11, char=[800] * 12, huge=[1e6] * 12)
    nce, hs, neg, char, _ = lines
    char.results[0]["test"]["parts"] = None
    neg.results[0]["test"]["parts"][0][1] = None  # JSON has no infinity
    assert comparison_tables.above_best(lines) == {
        "nce": "best", "hs": "+10.5% ± 0.0%", "neg": "-", "char": "-", "huge": "-",
    }  # fmt: skip
    nce.results[0]["test"]["parts"] = None
    assert set(comparison_tables.above_best([nce, hs]).values()) == {"-"}, "the best was not scored in parts"
    one_part = lines_of(nce=[500.0], hs=[510.0])
    assert set(comparison_tables.above_best(one_part).values()) == {"-"}, "one part says nothing"
    assert comparison_tables.above_best([]) == {}


def test_a_line_of_the_terminal_belongs_to_the_comparison_while_it_trains(tmp_path, monkeypatch, w2vtrain_here):
    def train(*_):
        raise DataError(f"shown: {SPINNER.busy()}")

    monkeypatch.setattr(comparison, "_train_apart", train)
    (tmp_path / "text.txt").write_text("a b c\n" * 9)
    words = ["compare", "text.txt", "--heldout", "text.txt", "--objectives", "hs", "--seconds", 1, "-o", "out"]
    assert "shown: True" in w2vtrain_here(words, tmp_path)[2]
    assert not SPINNER.busy()
