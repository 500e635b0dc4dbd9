"""The comparison of objectives: interpolated times, the best epochs, fronts, and the command that measures.

All tables and figures are on pages, which test_reference.py compares with what is generated.
"""

import importlib.util
import json
import math
from pathlib import Path

import objective_runs
import pytest

ROOT = Path(__file__).parent.parent


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / f"docs/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


yardstick = load("yardstick")
fronts = load("fronts")


def run(name, seed, cpu, perplexity, words=1000):
    """Return a run that trained `words` words in `cpu` CPU seconds, and half as many seconds on two threads."""
    return {
        "job": {
            "name": f"{name} seed {seed}", "sources": ["corpus.txt"],
            "settings": {"alpha": 0.1, "seed": seed, "weight_decay": 0.0},
        },
        "words_per_second": 2 * words / cpu, "words_per_cpu_second": words / cpu, "seconds": {"training": cpu / 2},
        "vocabulary": 50, "corpus_words": 500, "width": 10, "output_parameters": 250, "peak_memory_bytes": 1 << 20,
        "test": {"perplexity": perplexity, "unnormalized": 1.1 * perplexity, "log_z_mean": 0.0, "log_z_variance": 0.1},
        "scoring": {"per_second": 10.0, "ratios": [2.0, 3.0, 4.0], "same": False}, "scores": {},
    }  # fmt: skip


def test_the_time_to_a_perplexity_is_interpolated_between_runs():
    points = [(1.0, 200.0), (4.0, 100.0), (9.0, 90.0)]
    assert yardstick.seconds_to(points, 200.0) == 1.0
    assert yardstick.seconds_to(points, 100.0) == pytest.approx(4.0)
    assert yardstick.seconds_to(points, math.sqrt(200 * 100)) == pytest.approx(2.0)
    assert yardstick.seconds_to(points, 80.0) is None
    assert yardstick.seconds_to([], 80.0) is None


def test_validation_text_chooses_among_epochs_where_its_score_is_kept():
    results = [{**run("hs(epochs=1)", 1, 1.0, 100.0), "validation": 90.0}]
    results += [{**run("hs(epochs=2)", 1, 2.0, 110.0), "validation": 80.0}]
    assert [r["test"]["perplexity"] for r in yardstick.best(results)] == [110.0]


def test_the_perplexity_of_validation_text_is_kept_unless_there_is_a_time_limit():
    result = run("hs(epochs=2)", 1, 2.0, 110.0)
    result["curve"] = [{"seconds": at, "perplexity": value} for at, value in ((1.0, None), (2.0, 80.0), (3.0, 85.0))]
    result["job"]["settings"] |= {"epochs": 3, "seconds": None, "threads": 1}
    assert objective_runs.condensed(result)["validation"] == 80.0
    result["job"]["settings"]["seconds"] = 3.0
    assert "validation" not in objective_runs.condensed(result)


def test_another_text_is_compared_by_the_command_for_german(tmp_path, monkeypatch, capsys):
    results = [run("softmax", 1, 90.0, 100.0), run("hs", 1, 1.0, 120.0)]
    for result in results:
        result["job"]["settings"] |= {"epochs": 2, "seconds": None, "threads": 1}
    for name in ("docs", "configs"):
        (tmp_path / name).mkdir()
    (tmp_path / "results.json").write_text(json.dumps(results))
    (tmp_path / "letters.txt").write_text("one two three\n" * 50_000)
    (tmp_path / "docs/_measurements.md").write_text(
        "```sh\n# takes 1 second\nfalse -o enwiki --objectives neg\n```\n\n```sh\n# takes 1 second\n"
        "test -s german.end.txt -a -s german.curve.txt -a -d configs || exit 9  # -o german --objectives\n"
        "echo --weight-decay 0.5 > said\n"
        "mkdir german\ncp ../../../results.json german/compare.json\n```\n"
    )
    monkeypatch.setattr(objective_runs, "ROOT", tmp_path)
    monkeypatch.setattr(objective_runs, "MEASURED", tmp_path / "docs/measured")
    objective_runs.measure_other(tmp_path / "letters.txt")
    said = capsys.readouterr().out
    assert "| `hs` " in said
    assert not (tmp_path / "docs/measured").exists()
    (text,) = (tmp_path / "build/objectives").glob("letters-*/said")
    assert text.read_text() == "--weight-decay 1.5e-05\n", "that for a text of 150,000 words"


@pytest.mark.parametrize("page", ["objectives", "measurements"])
def test_the_text_of_a_page_has_all_its_figures(page):
    """A placeholder that names no run would become "not measured"."""
    assert "not measured" not in (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")


def test_a_run_is_on_the_front_if_no_quicker_one_is_as_good():
    runs = [(8.0, 100), (1.0, 200), (2.0, 250), (4.0, 120), (4.0, 110), (9.0, 100)]
    points = [fronts.Point("hs", *run) for run in runs]
    assert [point[1:] for point in fronts.front(points, is_score=False)] == [(1, 200), (4, 110), (8, 100)]
    assert [point[1:] for point in fronts.front(points, is_score=True)] == [(1, 200), (2, 250)]


@pytest.mark.parametrize("panel", fronts.PANELS, ids=lambda panel: panel.file)
def test_a_picture_names_at_most_five_objectives(panel, tmp_path):
    points = fronts.points_of(panel, yardstick.studies())
    named = {point.objective for point in fronts.front(points, panel.is_score)} | set(panel.also)
    assert 1 <= len(named) <= 5
    assert set(panel.also) <= {point.objective for point in points}
    fronts.draw(panel, points, tmp_path / "front.png")
    assert (tmp_path / "front.png").stat().st_size > 20_000


def test_words_that_belong_together_are_joined_from_left_to_right():
    found = objective_runs.phrases("new york is big\n" * 2 + "is x\n" * 100 + "york new\n")
    assert found == {("new", "york")}, "a pair must occur twice, and more often than its words make likely"
    assert objective_runs.joined(["new", "york", "new", "york", "is", "new"], found) == "new_york new_york is new"
    assert objective_runs.joined(["a", "b", "c", "d"], {("a", "b"), ("b", "c")}) == "a_b c d"
    assert objective_runs.joined([], found) == ""
